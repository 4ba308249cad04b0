//! Implements `rulec run --server`: sends the messages to a service, which decides them.

use super::Args;
use crate::term::{Out, Term};
use crate::{CliError, Status};

/// Options that name a service.
#[derive(Clone, Debug, clap::Args)]
pub struct ServerArgs {
    /// Ask a service (`rulec serve`) at this address, such as http://127.0.0.1:8181; RULES is then
    /// the name of its rules, and no file is read
    #[arg(long, value_name = "URL", conflicts_with_all = [
        "judged", "log", "history", "model", "replay_answers", "root", "verify", "system", "output", "input_format",
        "output_format"
    ])]
    server: Option<String>,
    /// The environment variable with the token for the service [default: RULEC_TOKEN]
    #[arg(long, value_name = "NAME", requires = "server")]
    server_token: Option<String>,
}

#[cfg(not(feature = "http"))]
impl ServerArgs {
    /// Returns the error for `--server` in a program without HTTP calls; `None` without `--server`.
    pub fn run(&self, _: &Args, _: &Term, _: &mut Out) -> Option<Result<Status, CliError>> {
        let why = rulec_base::message!("`--server` has no effect: {}", crate::model::without_http());
        self.server.as_ref().map(|_| Err(CliError::usage(why)))
    }
}

#[cfg(feature = "http")]
mod with {
    use super::{Args, CliError, Out, ServerArgs, Status, Term};
    use crate::language::singular_or_plural;
    use crate::stream::{LineFailure, StreamArgs, Worker};
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use rulec::{Code, Message};
    use rulec_base::message;
    use rulec_http::{AllowedHosts, Body, HttpClient, Limits, Request, Secret};
    use std::borrow::Cow;
    use std::io::Write;
    use std::path::Path;
    use tokio::runtime::Runtime;

    /// The environment variable with the token, if `--server-token` names no other variable.
    const TOKEN_VARIABLE: &str = "RULEC_TOKEN";
    /// Maximum number of bytes of an answer. An explanation can be much longer than its message.
    const MAX_ANSWER_BYTES: usize = 64 << 20;
    /// The start of each answer. The service numbers the lines of a request from 1, and each
    /// request has one line.
    const FIRST_LINE: &str = "{\"line\":1,";
    /// The text after [`FIRST_LINE`] in the answer to a line that cannot be decided.
    const REJECTED: &str = "\"error\":";

    impl ServerArgs {
        /// Sends all messages to the service, and prints its answers. `None` without `--server`.
        pub fn run(&self, args: &Args, term: &Term, out: &mut Out) -> Option<Result<Status, CliError>> {
            let address = self.server.as_deref()?;
            let server = Server::open(address, self.server_token.as_deref(), args);
            Some(server.and_then(|server| server.answer_all(&args.stream, term, out)))
        }
    }

    /// The service at an address, and the tokio runtime that runs the calls to it.
    struct Server {
        client: HttpClient,
        url: String,
        token: Option<Secret>,
        runtime: Runtime,
    }

    impl Server {
        fn open(address: &str, token_variable: Option<&str>, args: &Args) -> Result<Server, CliError> {
            let to_error = |error: Message| CliError::usage(message!("`--server`: {error}"));
            let hosts = AllowedHosts::of_url(address).map_err(|error| to_error(error.to_message()))?;
            let client = HttpClient::new(hosts, Limits { body: MAX_ANSWER_BYTES, ..Limits::default() });
            let client = client.map_err(|error| to_error(error.to_message()))?;
            let token = match std::env::var(token_variable.unwrap_or(TOKEN_VARIABLE)) {
                Ok(token) => Some(Secret::new(token)),
                Err(_) => match token_variable {
                    None => None,
                    Some(name) => {
                        let why = message!("`--server-token`: there is no variable `{name}`");
                        return Err(CliError::usage(why));
                    }
                },
            };
            // One thread is enough: it keeps the connections open, and the calling threads run the
            // calls.
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
            let runtime = runtime.map_err(CliError::system)?;
            let url = format!("{}/v1/batch?{}", address.trim_end_matches('/'), query(args));
            let server = Server { client, url, token, runtime };
            // An empty request lets the service report a wrong name or token before the first
            // message.
            server.ask(b"").map_err(to_error)?;
            Ok(server)
        }

        /// Sends lines to the service, and returns its answers as text.
        fn ask(&self, lines: &[u8]) -> Result<String, Message> {
            let request = Request::post_bytes(&*self.url, "application/x-ndjson", lines.to_vec());
            let mut request = request.repeatable();
            if let Some(token) = &self.token {
                request = request.bearer(token).map_err(|error| error.to_message())?;
            }
            let response = self.runtime.block_on(self.client.send(&request));
            match response.map_err(|error| error.to_message())?.body {
                Body::Text(text) => Ok(text),
                Body::Json(json) => Ok(json.to_string()),
            }
        }

        fn answer_all(&self, stream: &StreamArgs, term: &Term, out: &mut Out) -> Result<Status, CliError> {
            let worker = || RemoteWorker { server: self, decided: 0 };
            let (workers, errors) = stream.answer_stream(term, (&mut *out, None), worker)?;
            let all = workers.iter().map(|worker| worker.decided).sum::<usize>() + errors;
            if !out.is_closed() {
                let mut line = singular_or_plural(all, message!("1 message"), message!("{all} messages"));
                if errors > 0 {
                    let errors = singular_or_plural(errors, message!("1 error"), message!("{errors} errors"));
                    line = message!("{line} · {}", errors);
                }
                term.print(&line);
            }
            Ok(if errors > 0 { Status::Errors } else { Status::Success })
        }
    }

    /// Returns the query of the service's URL, which holds the settings of the batch.
    fn query(args: &Args) -> String {
        let mut query =
            format!("rules={}", utf8_percent_encode(&rules_name(&args.rules.path), NON_ALPHANUMERIC));
        if let Some(entry) = args.entry.as_deref() {
            query.push_str(&format!("&entry={}", utf8_percent_encode(entry, NON_ALPHANUMERIC)));
        }
        let options = args.answer_options();
        let flags =
            [("explain", options.explanation), ("matched", options.matched), ("analysis", options.analysis)];
        for (name, _) in flags.iter().filter(|(_, is_set)| *is_set) {
            query.push_str(&format!("&{name}=true"));
        }
        query
    }

    /// Returns the name of the rules. If `rules` is the path of a file, this is the file's name
    /// without `.rules` or `.rulec`. Another ending belongs to the name.
    fn rules_name(rules: &Path) -> Cow<'_, str> {
        let is_file = rules.extension().is_some_and(|end| end == "rules" || end == "rulec");
        let name = if is_file { rules.file_stem() } else { rules.file_name() };
        name.unwrap_or(rules.as_os_str()).to_string_lossy()
    }

    /// A worker that sends each line to the service.
    struct RemoteWorker<'s> {
        server: &'s Server,
        decided: usize,
    }

    impl Worker for RemoteWorker<'_> {
        fn waits(&self) -> bool {
            true
        }

        fn answer(&mut self, line: u64, message: &[u8], out: &mut Vec<u8>) -> Result<(), LineFailure> {
            let answer = self.server.ask(message).map_err(|message| {
                let help = message!("the other lines are still asked; see the events of the service");
                LineFailure::NoAnswer { code: Code::DecisionFailed, message, help }
            })?;
            let Some(rest) = answer.strip_prefix(FIRST_LINE) else {
                let message = message!("the service has answered nothing that belongs to this line");
                let help = message!("check that `--server` is the address of a `rulec serve`");
                return Err(LineFailure::NoAnswer { code: Code::DecisionFailed, message, help });
            };
            // Writes the number of the line in this input in place of the service's number. Writing
            // to memory cannot fail.
            let _ = write!(out, "{{\"line\":{line},{rest}");
            if rest.starts_with(REJECTED) {
                return Err(LineFailure::Answered);
            }
            self.decided += 1;
            Ok(())
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_the_ending_of_a_file_is_removed_from_a_name() {
            for (rules, name) in [
                ("support", "support"),
                ("support.v2", "support.v2"),
                ("folder/support.rules", "support"),
                ("a.b.rulec", "a.b"),
            ] {
                assert_eq!(rules_name(Path::new(rules)), name);
            }
        }
    }
}
