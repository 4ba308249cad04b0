//! Starts the service, accepts connections, reacts to signals and changed files, and stops the
//! service.

mod acceptor;
mod activity;
mod connection;
mod slots;
mod tls;

use crate::auth::Tokens;
use crate::doors::app::App;
#[cfg(feature = "studio")]
use crate::doors::logins::StudioDoor;
use crate::doors::{mcp, router};
use crate::events::{EventSink, Events};
use crate::limits::{LimitName, Limits};
use crate::log::{DecisionLog, LogOptions};
use crate::metrics::Metrics;
#[cfg(feature = "remote")]
use crate::otlp::{Otlp, OtlpOptions};
use crate::receipt::Receipt;
use crate::rules::{
    FolderWatch, OpenHistory, RuleFolders, RuleHost, RuleSource, StartError, open_rule_sources,
};
use crate::service::Service;
use crate::web::WebGuard;
use acceptor::ConnectionAcceptor;
use rulec::VerifyingKey;
use rulec_base::message;
use serde_json::{Value as Json, json};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tls::TlsFiles;
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{mpsc, watch};

/// Time between two checks whether the token file or the files of the certificate have changed.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// An address at which the service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An IP address and a TCP port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// The settings of a service, from the options of `rulec serve`.
pub struct Options {
    /// The sources of the rules, each with the name of its rule set.
    pub rules: Vec<RuleSource>,
    /// The folders whose files are further rule sets; `None` for no folders.
    pub folders: Option<RuleFolders>,
    /// Public keys. Rules must be artifacts that one of these keys has signed. Empty if rules need
    /// no signature.
    pub trusted_keys: Vec<VerifyingKey>,
    /// The address at which the service listens.
    pub address: Address,
    /// The limits on sizes, numbers and times of requests.
    pub limits: Limits,
    /// The file that lists the tokens of the clients; `None` if requests need no token.
    pub token_file: Option<PathBuf>,
    /// The files of the certificate chain and of the private key, for TLS. `None` for no TLS.
    pub certificate_and_key_files: Option<(PathBuf, PathBuf)>,
    /// The origins of websites whose pages may send requests, such as `https://example.com`.
    pub allowed_origins: Vec<String>,
    /// Further host names by which requests may address the service. The host name is checked only
    /// at a TCP address without tokens: there, a request must name an IP address, `localhost`, or
    /// one of these hosts.
    pub further_allowed_hosts: Vec<String>,
    /// Whether the service may run without tokens at an address that other machines can reach.
    pub allows_open_access: bool,
    /// Whether the service shows the studio's page under `/studio`, to tokens with the scope
    /// `admin`. Needs `token_file`.
    #[cfg(feature = "studio")]
    pub serves_studio: bool,
    /// The settings of the export to an OpenTelemetry collector; `None` for no export.
    #[cfg(feature = "remote")]
    pub otlp: Option<OtlpOptions>,
    /// The settings of the decision log; `None` for no decision log.
    pub log: Option<LogOptions>,
    /// The function that opens the stores of recorded messages, which outlive the service. `None`
    /// to keep the messages in memory.
    pub open_history: Option<OpenHistory>,
    /// The function that receives the events of the service, such as a change of the rules.
    pub events: EventSink,
}

/// A signal to a running service, usually caused by a signal of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerSignal {
    /// Check whether the files of rules, tokens and certificates have changed.
    Reload,
    /// Stop accepting connections, answer the open requests, and then stop.
    Drain,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// The file of a Unix socket. The service removes the file when it stops.
struct SocketFile {
    path: PathBuf,
    /// The device number and the inode number, which identify the file. `None` if the path was not
    /// a socket.
    device_and_inode: Option<(u64, u64)>,
}

impl SocketFile {
    fn new(path: &Path) -> SocketFile {
        SocketFile { path: path.to_owned(), device_and_inode: socket_device_and_inode(path) }
    }

    /// Removes the file, unless another process has replaced it by its own socket.
    fn remove(&self) {
        if self.device_and_inode.is_some() && socket_device_and_inode(&self.path) == self.device_and_inode {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns the device number and the inode number of a socket file; `None` if the path is not a
/// socket.
fn socket_device_and_inode(path: &Path) -> Option<(u64, u64)> {
    let metadata = path.symlink_metadata().ok()?;
    metadata.file_type().is_socket().then(|| (metadata.dev(), metadata.ino()))
}

/// A service that has loaded its rules and listens at its address.
pub struct Server {
    app: Arc<App>,
    listener: Listener,
    tls: Option<TlsFiles>,
    token_file: Option<PathBuf>,
    allowed_origins: Vec<String>,
}

impl Server {
    /// Loads the rules and the other files, and begins to listen at the address.
    ///
    /// Must run inside a tokio runtime with its timer and its network enabled.
    ///
    /// # Errors
    /// If the rules or another file cannot be loaded, the options contradict each other, or the
    /// address is in use.
    pub async fn bind(options: Options) -> Result<Server, StartError> {
        if let Address::Tcp(address) = &options.address
            && !address.ip().is_loopback()
            && options.token_file.is_none()
            && !options.allows_open_access
        {
            return Err(StartError::Options(message!(
                "other machines reach {}: give `--tokens FILE`, or `--no-auth` if something else guards it",
                address.to_string()
            )));
        }
        if let (Address::Unix(_), Some(_)) = (&options.address, &options.certificate_and_key_files) {
            return Err(StartError::Options(message!(
                "a Unix socket has no TLS: leave out `--tls-cert` and `--tls-key`"
            )));
        }
        let tokens_file = options.token_file.clone();
        let (origins, address) = (options.allowed_origins.clone(), options.address.clone());
        let tls = options
            .certificate_and_key_files
            .clone()
            .map(|(chain, key)| TlsFiles::read(chain, key))
            .transpose()?;
        let app = open_app(options).await?;
        let listener = listen(&address).await?;
        Ok(Server { app, listener, tls, token_file: tokens_file, allowed_origins: origins })
    }

    /// Serves the Model Context Protocol on `input` and `output` instead of an address. Each line
    /// is one JSON object. Returns at the end of the input. The options `address` and `token_file`
    /// have no effect.
    ///
    /// # Errors
    /// If the rules or another file cannot be loaded, or the input or the output fails.
    pub async fn serve_mcp(
        options: Options,
        input: impl AsyncBufRead + Unpin,
        output: impl AsyncWrite + Unpin,
    ) -> Result<(), StartError> {
        let app = open_app(options).await?;
        let served = mcp::serve_lines(&app, input, output).await;
        close_log(app).await;
        served.map_err(|error| StartError::Listen("standard input".to_owned(), error))
    }

    /// Returns the [`Service`] that answers the requests, without any network protocol.
    pub fn service(&self) -> &Service {
        self.app.service()
    }

    /// Returns the address at which the service listens, such as `http://127.0.0.1:8181`.
    pub fn address(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        match &self.listener {
            Listener::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("{scheme}://{address}"),
                Err(_) => scheme.to_owned(),
            },
            Listener::Unix(_, socket) => format!("{scheme}+unix://{}", socket.path.display()),
        }
    }

    /// Returns the port at which the service listens; `None` for a Unix socket.
    pub fn port(&self) -> Option<u16> {
        match &self.listener {
            Listener::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            Listener::Unix(..) => None,
        }
    }

    /// Serves requests until `signals` receives [`ServerSignal::Drain`] or is closed. Then waits
    /// for the open requests, at most for the limit `drain`. Returns true if all requests were
    /// answered.
    pub async fn run(self, mut signals: mpsc::Receiver<ServerSignal>) -> bool {
        let limits = *self.app.service().limits();
        self.app.events().report("listening", json!({ "address": self.address() }));
        let router = router(self.app.clone(), &self.allowed_origins);
        let (stop, stopping) = watch::channel(false);
        let acceptor = ConnectionAcceptor::new(router, self.app.clone(), stopping);
        let mut files = tokio::time::interval(FILE_CHECK_INTERVAL);
        // One future for all connections, so that another event does not drop an accepted
        // connection that still waits for its slot.
        let accepting = acceptor.accept_all(&self.listener, self.tls.as_ref());
        let mut accepting = Box::pin(accepting);
        loop {
            tokio::select! {
                never = &mut accepting => match never {},
                _ = files.tick() => self.reload_tokens_and_tls(),
                () = self.app.wait_for_reload_request() => self.check_rules_and_files(),
                signal = signals.recv() => match signal {
                    Some(ServerSignal::Reload) => {
                        // A signal gets no answer, so no answer has to wait for this line of the
                        // decision log.
                        let _ = self.app.events().audit("change", json!({ "action": "reload", "by": "SIGHUP" }));
                        self.check_rules_and_files();
                    }
                    Some(ServerSignal::Drain) | None => break,
                },
            }
        }
        self.app.service().begin_stop();
        if let Listener::Unix(_, socket) = &self.listener {
            socket.remove();
        }
        drop(accepting);
        drop((self.listener, acceptor));
        // Each connection holds a receiver, so `closed` waits until all connections have ended.
        let _ = stop.send(true);
        let is_drained = tokio::time::timeout(limits.drain_time, stop.closed()).await.is_ok();
        if !is_drained {
            self.app.service().metrics().count_limit(LimitName::drain);
        }
        close_log(self.app).await;
        is_drained
    }

    fn check_rules_and_files(&self) {
        self.app.check_rules_soon();
        self.reload_tokens_and_tls();
    }

    fn report_failure(&self, error: &StartError) {
        self.app.events().report("failure", json!({ "error": error.to_string() }));
    }

    /// Reads the files of tokens and certificates again. A file with an error is reported, and its
    /// old content stays in use.
    fn reload_tokens_and_tls(&self) {
        if let Some(tokens) = self.token_file.as_deref() {
            match Tokens::read(tokens) {
                Ok(tokens) => self.app.set_tokens(tokens),
                Err(error) => self.report_failure(&error),
            }
        }
        if let Some(Err(error)) = self.tls.as_ref().map(TlsFiles::reload) {
            self.report_failure(&error);
        }
    }
}

/// Opens the decision log, loads the rules and the tokens, and creates the state that all requests
/// share. Does not listen at the address.
async fn open_app(options: Options) -> Result<Arc<App>, StartError> {
    let events = Events::new(options.events);
    let mut metrics = Metrics::new();
    metrics.add_limits(&options.limits, options.log.as_ref().map(LogOptions::limits));
    #[cfg(feature = "remote")]
    let scheme = if options.certificate_and_key_files.is_some() { "https" } else { "http" };
    #[cfg(feature = "remote")]
    let otlp = options
        .otlp
        .as_ref()
        .map(|otlp| Otlp::new(otlp, scheme, metrics.register_otlp_metrics(), events.clone()));
    #[cfg(feature = "remote")]
    let (otlp, exporter) = otlp.transpose()?.unzip();
    let log = options.log.map(|log| {
        let sink = events.clone();
        let report = move |kind: &str, fields| sink.report(kind, fields);
        let log = Arc::new(DecisionLog::open(log, metrics.register_log_metrics(), Box::new(report))?);
        // The thread of the log holds `events`. A weak reference avoids a cycle that would keep the
        // log alive.
        let weak = Arc::downgrade(&log);
        let add = move |line: &Json| weak.upgrade().map_or(Receipt::NONE, |log| log.audit(line));
        events.set_decision_log(Box::new(add));
        Ok::<_, StartError>(log)
    });
    let log = log.transpose()?;
    let in_folders = options.folders.iter().flat_map(|folders| &folders.initial_listing.sources);
    let sources: Vec<RuleSource> = options.rules.iter().chain(in_folders).cloned().collect();
    let sets = open_rule_sources(
        &sources,
        &options.trusted_keys,
        options.open_history.as_ref(),
        (&metrics, &events),
    )
    .await?;
    let tokens = options.token_file.as_deref().map(Tokens::read).transpose()?;
    let service = Service::new(sets, metrics, options.limits, log);
    #[cfg(feature = "studio")]
    let door = match (options.serves_studio, &tokens) {
        (false, _) => None,
        (true, Some(_)) => Some(StudioDoor::open(&service, options.certificate_and_key_files.is_some())?),
        (true, None) => {
            return Err(StartError::Options(message!(
                "the studio needs a token with the scope `admin`: give `--tokens FILE`"
            )));
        }
    };
    // Only a TCP service without tokens must check host names. Pages of other websites have no
    // token, and they cannot reach a Unix socket.
    let has_names = tokens.is_none() && matches!(options.address, Address::Tcp(_));
    let web = WebGuard::new(options.allowed_origins, has_names.then_some(options.further_allowed_hosts));
    let app = App::new(service, tokens, web, events);
    #[cfg(feature = "studio")]
    let app = app.with_studio(door);
    #[cfg(feature = "remote")]
    let app = app.with_otlp(otlp);
    let app = Arc::new(app);
    if let Some(folders) = options.folders {
        let host: Arc<dyn RuleHost> = app.clone();
        let weak = Arc::downgrade(&host);
        app.set_folder_watch(FolderWatch::start(folders, options.trusted_keys, options.open_history, weak)?);
    }
    #[cfg(feature = "remote")]
    if let Some(exporter) = exporter {
        let weak = Arc::downgrade(&app);
        tokio::spawn(exporter.run(move || {
            let app = weak.upgrade()?;
            Some((app.service().metrics_text(), app.otlp()?.durations()))
        }));
    }
    Ok(app)
}

/// Sends the data that still wait for the OpenTelemetry collector. Then writes the lines that still
/// wait for the decision log, and closes the log.
async fn close_log(app: Arc<App>) {
    #[cfg(feature = "remote")]
    if let Some(otlp) = app.otlp() {
        otlp.close().await;
    }
    let closed = tokio::task::spawn_blocking(move || app.service().log().map(DecisionLog::close));
    // If closing the log panics, the panic is ignored, because the service is ending anyway.
    let _ = closed.await;
}

async fn listen(address: &Address) -> Result<Listener, StartError> {
    match address {
        Address::Tcp(address) => {
            let listener = TcpListener::bind(address).await;
            listener.map(Listener::Tcp).map_err(|error| StartError::Listen(address.to_string(), error))
        }
        Address::Unix(path) => {
            let to_error = |error| StartError::Listen(path.display().to_string(), error);
            // A killed service leaves its socket file. Such a socket refuses connections, so the
            // file is removed. The socket of a running service accepts connections.
            let is_left = tokio::net::UnixStream::connect(path)
                .await
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            if is_left && socket_device_and_inode(path).is_some() {
                std::fs::remove_file(path).map_err(to_error)?;
            }
            let listener = UnixListener::bind(path).map_err(to_error)?;
            Ok(Listener::Unix(listener, SocketFile::new(path)))
        }
    }
}
