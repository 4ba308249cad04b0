//! Listeners, connections, and the life of the service.

mod activity;
mod connection;
mod tls;

use crate::auth::Tokens;
use crate::doors::app::App;
use crate::doors::{mcp, router};
use crate::events::{EventSink, Events};
use crate::limits::Limits;
use crate::log::{DecisionLog, LogOptions};
use crate::metrics::{LimitName, Metrics};
use crate::receipt::Receipt;
use crate::rules::{RuleSource, StartError, open_all};
use crate::service::Service;
use crate::web::WebGuard;
use axum::Router;
use connection::Connection;
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
use tokio::sync::{Semaphore, mpsc, watch};

/// Pause after a connection could not be accepted, for example because no descriptor is free.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);
/// How often the files of tokens and certificates are checked.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// An address at which the service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A Unix socket: the path of its file.
    Unix(PathBuf),
}

/// The settings of a service.
pub struct Options {
    /// Where the rules come from.
    pub rules: Vec<RuleSource>,
    /// The keys of which one must have signed the rules; empty if rules need no signature.
    pub trusted: Vec<VerifyingKey>,
    /// Where the service listens.
    pub address: Address,
    /// The limits.
    pub limits: Limits,
    /// The file of the tokens; `None` if requests need no token.
    pub tokens: Option<PathBuf>,
    /// The files of the certificate chain and of the private key, for TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The websites whose pages may ask, such as `https://example.com`.
    pub origins: Vec<String>,
    /// Further names of the service, which requests use. A service at a TCP port without tokens is
    /// asked by its addresses, as `localhost`, and by these names.
    pub hosts: Vec<String>,
    /// Whether a service that other machines reach may have no tokens.
    pub open: bool,
    /// The decision log; `None` to log no decision.
    pub log: Option<LogOptions>,
    /// Receives events, such as edits of the rules.
    pub events: EventSink,
}

/// What a signal asks of a running service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// To look whether the files have changed.
    Reload,
    /// To answer the open requests, and to end.
    Drain,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// The file of a Unix socket, which the service removes at its end.
struct SocketFile {
    path: PathBuf,
    /// The device and the number of the file, which identify it.
    id: Option<(u64, u64)>,
}

impl SocketFile {
    fn new(path: &Path) -> SocketFile {
        SocketFile { path: path.to_owned(), id: socket_id(path) }
    }

    /// Removes the file, unless another process has put its own in the place.
    fn remove(&self) {
        if self.id.is_some() && socket_id(&self.path) == self.id {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns what identifies the file of a socket; `None` if there is no socket at this path.
fn socket_id(path: &Path) -> Option<(u64, u64)> {
    let metadata = path.symlink_metadata().ok()?;
    metadata.file_type().is_socket().then(|| (metadata.dev(), metadata.ino()))
}

/// A service that listens.
pub struct Server {
    app: Arc<App>,
    listener: Listener,
    tls: Option<TlsFiles>,
    tokens: Option<PathBuf>,
    origins: Vec<String>,
}

impl Server {
    /// Loads the rules and listens.
    ///
    /// Must run inside a tokio runtime with its timer and its network enabled.
    ///
    /// # Errors
    /// If the rules or another file cannot be loaded, or the address is taken.
    pub async fn bind(options: Options) -> Result<Server, StartError> {
        if let Address::Tcp(address) = &options.address
            && !address.ip().is_loopback()
            && options.tokens.is_none()
            && !options.open
        {
            return Err(StartError::Options(message!(
                "other machines reach {}: give `--tokens FILE`, or `--no-auth` if something else guards it",
                address.to_string()
            )));
        }
        if let (Address::Unix(_), Some(_)) = (&options.address, &options.tls) {
            return Err(StartError::Options(message!(
                "a Unix socket has no TLS: leave out `--tls-cert` and `--tls-key`"
            )));
        }
        let tokens_file = options.tokens.clone();
        let (origins, address) = (options.origins.clone(), options.address.clone());
        let tls = options.tls.clone().map(|(chain, key)| TlsFiles::read(chain, key)).transpose()?;
        let app = open_app(options).await?;
        let listener = listen(&address).await?;
        Ok(Server { app, listener, tls, tokens: tokens_file, origins })
    }

    /// Answers the Model Context Protocol, one JSON object per line, until the input ends. The
    /// address and the tokens have no effect.
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

    /// Returns the core of the service.
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

    /// Serves requests until `signals` receives [`Stop::Drain`] or is closed. Then answers the open
    /// requests, for at most the limit `drain`. Returns whether all of them were answered.
    pub async fn run(self, mut signals: mpsc::Receiver<Stop>) -> bool {
        let limits = *self.app.service().limits();
        let router = router(self.app.clone(), &self.origins);
        let (stop, stopping) = watch::channel(false);
        let connections = Connections {
            router,
            app: self.app.clone(),
            open: Arc::new(Semaphore::new(limits.connections)),
            stopping,
        };
        let mut files = tokio::time::interval(FILE_CHECK_INTERVAL);
        loop {
            tokio::select! {
                () = connections.accept(&self.listener, self.tls.as_ref()) => {}
                _ = files.tick() => self.check_files(),
                () = self.app.reload_asked() => self.reload(),
                signal = signals.recv() => match signal {
                    Some(Stop::Reload) => {
                        // No answer waits for the line.
                        let _ = self.app.events().audit("change", json!({ "action": "reload", "by": "SIGHUP" }));
                        self.reload();
                    }
                    Some(Stop::Drain) | None => break,
                },
            }
        }
        self.app.service().begin_stop();
        if let Listener::Unix(_, socket) = &self.listener {
            socket.remove();
        }
        drop((self.listener, connections));
        // A connection has a receiver until its end.
        let _ = stop.send(true);
        let is_drained = tokio::time::timeout(limits.drain, stop.closed()).await.is_ok();
        close_log(self.app).await;
        is_drained
    }

    fn reload(&self) {
        self.app.service().reload();
        self.check_files();
    }

    fn report_failure(&self, error: &StartError) {
        self.app.events().report("failure", json!({ "error": error.to_string() }));
    }

    /// Reads the files of tokens and certificates again. Files that cannot be used change nothing.
    fn check_files(&self) {
        if let Some(tokens) = self.tokens.as_deref() {
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

/// Loads what the options name, except the address and TLS.
async fn open_app(options: Options) -> Result<Arc<App>, StartError> {
    let events = Events::new(options.events);
    let mut metrics = Metrics::new();
    metrics.add_limits(&options.limits);
    let log = options.log.map(|log| {
        let sink = events.clone();
        let report = move |kind: &str, fields| sink.report(kind, fields);
        let log = Arc::new(DecisionLog::open(log, metrics.add_log(), Box::new(report))?);
        // The thread of the log has the events, so the events must not keep the log.
        let weak = Arc::downgrade(&log);
        let add = move |line: &Json| weak.upgrade().map_or(Receipt::NONE, |log| log.audit(line));
        events.set_log(Box::new(add));
        Ok::<_, StartError>(log)
    });
    let log = log.transpose()?;
    let sets = open_all(&options.rules, &options.trusted, &metrics, &events).await?;
    let tokens = options.tokens.as_deref().map(Tokens::read).transpose()?;
    let service = Service::new(sets, metrics, options.limits, log);
    // A page has no token, and cannot ask a Unix socket.
    let has_names = tokens.is_none() && matches!(options.address, Address::Tcp(_));
    let web = WebGuard::new(options.origins, has_names.then_some(options.hosts));
    Ok(Arc::new(App::new(service, tokens, web, events)))
}

/// Writes the rest of the decision log.
async fn close_log(app: Arc<App>) {
    let closed = tokio::task::spawn_blocking(move || app.service().log().map(DecisionLog::close));
    // A panic while the log is closed is counted by the log.
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
            // The file of a service that was killed is left over, and refuses. A living service
            // accepts, or is too busy.
            let is_left = tokio::net::UnixStream::connect(path)
                .await
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            if is_left && socket_id(path).is_some() {
                std::fs::remove_file(path).map_err(to_error)?;
            }
            let listener = UnixListener::bind(path).map_err(to_error)?;
            Ok(Listener::Unix(listener, SocketFile::new(path)))
        }
    }
}

/// The open connections, and what each new one needs.
struct Connections {
    router: Router,
    app: Arc<App>,
    open: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

impl Connections {
    /// Accepts one connection, and serves it on a task of its own. Waits while as many connections
    /// are open as the limit allows.
    async fn accept(&self, listener: &Listener, tls: Option<&TlsFiles>) {
        if self.open.available_permits() == 0 {
            self.app.service().metrics().count_limit(LimitName::connections);
        }
        let Ok(permit) = self.open.clone().acquire_owned().await else { return };
        let connection = Connection {
            router: self.router.clone(),
            app: self.app.clone(),
            stopping: self.stopping.clone(),
            _permit: permit,
        };
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                // Small answers are sent at once.
                let _ = stream.set_nodelay(true);
                match tls {
                    Some(tls) => drop(tokio::spawn(connection.serve_tls(tls.accept(stream)))),
                    None => drop(tokio::spawn(connection.serve(stream))),
                }
            }),
            Listener::Unix(listener, _) => {
                listener.accept().await.map(|(stream, _)| drop(tokio::spawn(connection.serve(stream))))
            }
        };
        if let Err(error) = accepted
            && error.kind() != io::ErrorKind::ConnectionAborted
        {
            tokio::time::sleep(PAUSE_AFTER_ERROR).await;
        }
    }
}
