//! Runs the service of `rulec serve`: converts the arguments to the options of the crate
//! `rulec-serve`, and signals of the operating system to requests to the service.

use super::{Args, CliError, ExitStatus, KeyLocation, LogModeArg, Out, Term};
use crate::compiled::are_rules_unreadable;
#[cfg(feature = "http")]
use crate::variables::read_secret;
use crate::{files, stdio};
use rulec_base::message;
use rulec_import::DocumentOptions;
use rulec_serve::{
    Address, Limits, LogMode, LogOptions, LogSampling, LogShare, LogTarget, Options, RuleFolders,
    RuleListing, RuleSource, RulesLocation, Server, ServerSignal, StartError,
};
#[cfg(feature = "http")]
use rulec_serve::{LogProtocol, RemoteLog};
use serde_json::Value as Json;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Maximum number of lines of the decision log that wait in memory.
const MAX_LOG_QUEUE_LINES: usize = 10_000;
/// Maximum number of bytes of the messages in the lines of the decision log that wait in
/// memory.
const MAX_LOG_QUEUE_BYTES: usize = 64 << 20;
/// Maximum time from a line of the decision log to the next checkpoint.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(10);
/// The value of `--log` that selects the collector of `--otlp`.
const COLLECTOR_LOG: &str = "otlp";
/// Maximum time of a request that sends lines of the decision log to a server.
#[cfg(feature = "http")]
const LOG_SEND_TIME: Duration = Duration::from_secs(5);
/// The first and the longest pause before lines of the decision log are sent again.
#[cfg(feature = "http")]
const LOG_RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let options = service_options(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::usage_error(message!("the service cannot be started: {error}")))?;
    if args.mcp {
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let served = runtime.block_on(Server::serve_mcp(options, BufReader::new(input), output));
        runtime.shutdown_background();
        return served.map(|()| ExitStatus::Success).map_err(|error| service_start_error(&error));
    }
    let is_drained = runtime.block_on(async {
        let server = Server::bind(options).await.map_err(|error| service_start_error(&error))?;
        let signals = listen_for_signals().map_err(CliError::from_io_error)?;
        out.write_line(&server.address())?;
        out.flush()?;
        // Programs that read the events read the event `listening` instead.
        if std::io::stderr().is_terminal() {
            term.print_note(&message!("the service runs at this address; press ctrl-c to stop it"));
        }
        Ok::<bool, CliError>(server.run(signals).await)
    })?;
    // Ends without waiting for work of requests whose clients have disconnected.
    runtime.shutdown_background();
    Ok(if is_drained { ExitStatus::Success } else { ExitStatus::Errors })
}

fn service_start_error(error: &StartError) -> CliError {
    let status = match error {
        StartError::Compile(_, error) if are_rules_unreadable(error.sources(), error.diagnostics()) => {
            ExitStatus::Usage
        }
        StartError::Rules(..) | StartError::Compile(..) => ExitStatus::Errors,
        _ => ExitStatus::Usage,
    };
    CliError { status, message: Some(error.to_message()) }
}

fn service_options(args: &Args) -> Result<Options, CliError> {
    #[cfg(not(feature = "http"))]
    if args.otlp.is_some() {
        return Err(CliError::usage_error(message!(
            "`--otlp` has no effect: {}",
            crate::model::no_http_message()
        )));
    }
    #[cfg(not(feature = "studio"))]
    if args.studio {
        return Err(crate::studio::unsupported_error());
    }
    let millis = Duration::from_millis;
    let (rules, folders) = rule_sources(args)?;
    let folders = rule_folders(folders, args)?;
    let in_folders = folders.as_ref().map_or(0, |folders| folders.initial_listing.sources.len());
    let sets = rules.len() + in_folders;
    let events = |event: &Json| stdio::write_stderr_line(&event.to_string());
    Ok(Options {
        rules,
        folders,
        trusted_keys: args.trust.iter().map(KeyLocation::read_verifying_key).collect::<Result<_, _>>()?,
        address: parse_address(&args.listen)?,
        limits: Limits {
            max_body_bytes: args.max_body,
            max_connections: args.max_connections,
            max_open_requests: args.max_requests,
            request_time_limit: millis(args.deadline),
            head_time: millis(args.head_time),
            idle_time: millis(args.idle_time),
            write_time: millis(args.write_time),
            drain_time: millis(args.drain),
        },
        token_file: args.tokens.clone(),
        certificate_and_key_files: args.tls_cert.clone().zip(args.tls_key.clone()),
        allowed_origins: args.cors_origin.clone(),
        further_allowed_hosts: args.host.clone(),
        allows_open_access: args.no_auth,
        #[cfg(feature = "studio")]
        serves_studio: args.studio,
        #[cfg(feature = "http")]
        otlp: otlp_options(args)?,
        log: log_options(args)?,
        open_history: open_history(args, sets)?,
        events: Arc::new(events),
    })
}

#[cfg(feature = "http")]
fn otlp_options(args: &Args) -> Result<Option<rulec_serve::OtlpOptions>, CliError> {
    let Some(url) = &args.otlp else { return Ok(None) };
    Ok(Some(rulec_serve::OtlpOptions {
        url: url.clone(),
        token: read_secret("--otlp-token", args.otlp_token.as_deref(), None)?,
        interval: Duration::from_millis(args.otlp_interval),
        // The variable that all programs with OpenTelemetry read.
        service_name: std::env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| "rulec".to_owned()),
    }))
}

/// Returns the function that opens the history of a rule set, given the name of the rule set.
/// `sets` is the number of rule sets. In a folder, each rule set has a subfolder; at a server,
/// each has a history of its own. `None` without `--history`.
#[cfg(feature = "history")]
fn open_history(args: &Args, sets: usize) -> Result<Option<rulec_serve::OpenHistory>, CliError> {
    use crate::history::{is_server_address, open};
    use rulec::history::Store;
    use rulec_base::diag::Message;
    use std::path::Component;

    let Some(place) = args.history.clone() else { return Ok(None) };
    let has_name = is_server_address(&place) && place.to_string_lossy().contains('#');
    if has_name && sets > 1 {
        return Err(CliError::usage_error(message!(
            "several rule sets cannot share one history; leave out `#NAME`, and each gets a history of its own name"
        )));
    }
    let open = move |name: &str| -> Result<Arc<dyn Store>, Message> {
        let own = match is_server_address(&place) {
            true => place.clone(),
            false if Path::new(name).components().ne([Component::Normal(name.as_ref())]) => {
                return Err(message!(
                    "`{name}` cannot be the name of a history's folder; name the rules, as in `NAME={name}`"
                ));
            }
            false => place.join(name),
        };
        let store = open(&own, name).map_err(|error| error.message.unwrap_or_default())?;
        Ok(Arc::new(store))
    };
    Ok(Some(Arc::new(open)))
}

#[cfg(not(feature = "history"))]
fn open_history(args: &Args, _: usize) -> Result<Option<rulec_serve::OpenHistory>, CliError> {
    args.history.as_ref().map_or(Ok(None), |_| Err(crate::history::not_built_error()))
}

fn log_options(args: &Args) -> Result<Option<LogOptions>, CliError> {
    let Some(path) = &args.log else { return Ok(None) };
    let shares = args.log_sample.iter().map(|share| share.parse::<LogShare>());
    let shares = shares
        .collect::<Result<_, _>>()
        .map_err(|why| CliError::usage_error(message!("`--log-sample`: {why}")))?;
    Ok(Some(LogOptions {
        target: match path.to_str() {
            Some("-") => LogTarget::Writer(stdio::open_stdout()),
            Some(url) if url == COLLECTOR_LOG || is_http_address(url) => log_server(url, args)?,
            _ => LogTarget::File(path.clone()),
        },
        mode: match args.log_mode {
            LogModeArg::Drop => LogMode::Drop,
            LogModeArg::Spill => LogMode::Spill,
            LogModeArg::Sync => LogMode::Sync,
        },
        max_waiting_lines: MAX_LOG_QUEUE_LINES,
        max_waiting_bytes: MAX_LOG_QUEUE_BYTES,
        max_spill_bytes: args.log_spill_max,
        rotate_bytes: args.log_rotate,
        key: args.log_key.as_ref().map(KeyLocation::read_signing_key).transpose()?,
        checkpoint_interval: CHECKPOINT_INTERVAL,
        sampling: LogSampling { shares, includes_exceptional: args.log_sample_all },
    }))
}

#[cfg(not(feature = "http"))]
fn log_server(_: &str, _: &Args) -> Result<LogTarget, CliError> {
    Err(CliError::usage_error(message!("`--log` cannot name a server: {}", crate::model::no_http_message())))
}

/// Returns the server to which the lines of the decision log are sent: the one at `address`, or the
/// collector of `--otlp`.
#[cfg(feature = "http")]
fn log_server(address: &str, args: &Args) -> Result<LogTarget, CliError> {
    let log_token = read_secret("--log-token", args.log_token.as_deref(), None)?;
    let (url, token, protocol) = match (address, otlp_options(args)?) {
        (COLLECTOR_LOG, Some(otlp)) => {
            let protocol = LogProtocol::Otlp { service_name: otlp.service_name };
            (otlp.url, log_token.or(otlp.token), protocol)
        }
        (COLLECTOR_LOG, None) => {
            return Err(CliError::usage_error(message!(
                "`--log otlp` sends the lines to the collector of `--otlp URL`, which is missing; `--log ./otlp` is a file"
            )));
        }
        (url, _) => (url.to_owned(), log_token, LogProtocol::Lines),
    };
    Ok(LogTarget::Remote(RemoteLog {
        url,
        token,
        protocol,
        spill_path: args.log_spill.clone(),
        send_time: LOG_SEND_TIME,
        retry_pauses: LOG_RETRY_PAUSES,
    }))
}

fn parse_address(text: &str) -> Result<Address, CliError> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Ok(Address::Unix(PathBuf::from(path)));
    }
    text.parse().map(Address::Tcp).map_err(|_| {
        CliError::usage_error(message!(
            "`{text}` is no address to listen on; give one such as `127.0.0.1:8181` or `unix:/run/rulec/socket`"
        ))
    })
}

/// Splits the arguments for rules into two lists: the files and HTTP addresses, each as a
/// source of one rule set, and the folders.
fn rule_sources(args: &Args) -> Result<(Vec<RuleSource>, Vec<PathBuf>), CliError> {
    let (mut sources, mut folders) = (Vec::new(), Vec::new());
    let mut has_document = false;
    for argument in &args.rules {
        if let Some((name, url)) = split_name_and_url(argument) {
            let source = address_source(name, url, args)?;
            has_document |= source.document.applies_to(url_path(url));
            sources.push(source);
            continue;
        }
        let (name, path) = match argument.split_once('=') {
            Some((name, path)) if !Path::new(argument).exists() => (Some(name), Path::new(path)),
            _ => (None, Path::new(argument)),
        };
        if path.is_dir() {
            has_document |= args.document.system.is_some();
            folders.push(path.to_owned());
            continue;
        }
        let name = name.map_or_else(|| file_stem(path), str::to_owned);
        let source = file_source(name, path.to_owned(), args.root.clone(), args);
        has_document |= source.document.applies_to(&path.to_string_lossy());
        sources.push(source);
    }
    if !has_document {
        args.document.check_literal_allowed(None).map_err(CliError::usage_error)?;
        if args.strict {
            return Err(CliError::usage_error(message!(
                "`--strict` refuses JSON documents with bad items, but no document is given"
            )));
        }
    }
    Ok((sources, folders))
}

fn file_source(name: String, path: PathBuf, root: Option<PathBuf>, args: &Args) -> RuleSource {
    let document = document_options(&path, args);
    let location = RulesLocation::File { path, import_root: root };
    RuleSource { rule_set_name: name, location, document }
}

/// Returns how the source with this path is read if it is a JSON document. `--as` names the system
/// of every source, except of files named `.rules` and `.rulec`.
fn document_options(path: &Path, args: &Args) -> DocumentOptions {
    let mut document = args.document.document_options();
    if args.strict {
        document.options = document.options.strict();
    }
    if path.extension().is_some_and(|extension| extension == "rules" || extension == "rulec") {
        document.system = None;
    }
    document
}

/// Lists the rule files in folders as sources of rule sets. A file that another file of the
/// same folder imports is not a source, because it belongs to the rules of that file. With `--as`,
/// each `.json` file is a source, too.
fn list_rule_files(paths: &[PathBuf], args: &Args) -> Result<RuleListing, CliError> {
    let root = args.root.as_deref();
    let mut listing = RuleListing { is_complete: true, ..RuleListing::default() };
    for path in paths {
        if args.document.system.is_some() {
            let documents = files::files_below(path, "json")?;
            let has_documents = !documents.is_empty();
            let sources = documents.into_iter().map(|path| file_source(file_stem(&path), path, None, args));
            listing.sources.extend(sources);
            if has_documents && files::files_below(path, "rules")?.is_empty() {
                continue;
            }
        }
        for file in files::compile_files(std::slice::from_ref(path), root)? {
            listing.is_complete &= file.compiled.result.is_ok();
            let (path, root) = (file.compiled.target.path, file.compiled.target.root);
            match file.is_imported {
                true => listing.imported_paths.push(path),
                false => listing.sources.push(file_source(file_stem(&path), path, root, args)),
            }
        }
    }
    Ok(listing)
}

fn rule_folders(paths: Vec<PathBuf>, args: &Args) -> Result<Option<RuleFolders>, CliError> {
    if paths.is_empty() {
        return Ok(None);
    }
    let first = list_rule_files(&paths, args)?;
    let (listed, args) = (paths.clone(), args.clone());
    let list = move || list_rule_files(&listed, &args).map_err(|error| error.message.unwrap_or_default());
    Ok(Some(RuleFolders { paths, initial_listing: first, list_rules: Arc::new(list) }))
}

/// Splits an argument `NAME=URL` or `URL` into the name and the HTTP address of rules. `None`
/// if the argument names a file.
fn split_name_and_url(argument: &str) -> Option<(Option<&str>, &str)> {
    match argument.split_once('=') {
        _ if is_http_address(argument) => Some((None, argument)),
        Some((name, url)) if is_http_address(url) => Some((Some(name), url)),
        _ => None,
    }
}

fn is_http_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

#[cfg(not(feature = "http"))]
fn address_source(_: Option<&str>, url: &str, _: &Args) -> Result<RuleSource, CliError> {
    Err(CliError::usage_error(message!("`{url}` cannot be fetched: {}", crate::model::no_http_message())))
}

#[cfg(feature = "http")]
fn address_source(name: Option<&str>, url: &str, args: &Args) -> Result<RuleSource, CliError> {
    let path = Path::new(url_path(url));
    let name = name.map_or_else(|| file_stem(path), str::to_owned);
    if name.is_empty() {
        return Err(CliError::usage_error(message!("the rules at `{url}` have no name: write `NAME={url}`")));
    }
    let token = read_secret("--fetch-token", args.fetch_token.as_deref(), None)?;
    let interval = Duration::from_millis(args.fetch_interval);
    let remote = rulec_serve::RemoteSource {
        token,
        request_interval: interval,
        ..rulec_serve::RemoteSource::new(url)
    };
    let document = document_options(path, args);
    Ok(RuleSource { rule_set_name: name, location: RulesLocation::Address(remote), document })
}

/// Returns the path of a URL, without the host and the query.
fn url_path(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default().split_once("://");
    path.map(|(_, path)| path.split_once('/').unwrap_or_default().1).unwrap_or_default()
}

fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Converts signals of the operating system to requests to the service: SIGHUP to
/// [`ServerSignal::Reload`], SIGTERM and SIGINT to [`ServerSignal::Drain`].
fn listen_for_signals() -> std::io::Result<mpsc::Receiver<ServerSignal>> {
    let (sender, receiver) = mpsc::channel(1);
    for (kind, stop) in [
        (SignalKind::hangup(), ServerSignal::Reload),
        (SignalKind::terminate(), ServerSignal::Drain),
        (SignalKind::interrupt(), ServerSignal::Drain),
    ] {
        let (mut signals, sender) = (signal(kind)?, sender.clone());
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if sender.send(stop).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::split_name_and_url;

    #[test]
    fn an_address_may_have_a_name() {
        for (argument, expected) in [
            ("https://h/a.rules?x=y", Some((None, "https://h/a.rules?x=y"))),
            ("shop=http://127.0.0.1/a", Some((Some("shop"), "http://127.0.0.1/a"))),
            ("shop=a.rules", None),
            ("a.rules", None),
        ] {
            assert_eq!(split_name_and_url(argument), expected);
        }
    }
}
