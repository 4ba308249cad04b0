//! Listeners, connections, and the life of the service.

mod tls;

use crate::auth::Tokens;
use crate::doors::app::App;
use crate::doors::{mcp, router};
use crate::events::{EventSink, Events};
use crate::limits::Limits;
use crate::log::{DecisionLog, LogOptions};
use crate::metrics::{LimitName, Metrics};
use crate::rules::{RuleSource, StartError, open_all};
use crate::service::Service;
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rulec::VerifyingKey;
use rulec_base::message;
use serde_json::json;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tls::TlsFiles;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_rustls::Accept;

/// Pause after a connection could not be accepted, for example because no descriptor is free.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);
/// Maximum number of requests that one HTTP/2 connection may have open.
const MAX_STREAMS: u32 = 128;
/// Maximum number of bytes of the head of a request.
const MAX_HEAD_BYTES: usize = 32 << 10;
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
    /// The socket, and the path of its file, which the service removes at its end.
    Unix(UnixListener, PathBuf),
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
            Listener::Unix(_, path) => format!("{scheme}+unix://{}", path.display()),
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
        let connections = Connections {
            router,
            app: self.app.clone(),
            open: Arc::new(Semaphore::new(limits.connections)),
            graceful: GracefulShutdown::new(),
        };
        let mut files = tokio::time::interval(FILE_CHECK_INTERVAL);
        loop {
            tokio::select! {
                () = connections.accept(&self.listener, self.tls.as_ref()) => {}
                _ = files.tick() => self.check_files(),
                signal = signals.recv() => match signal {
                    Some(Stop::Reload) => {
                        self.app.service().reload();
                        self.check_files();
                    }
                    Some(Stop::Drain) | None => break,
                },
            }
        }
        self.app.service().begin_stop();
        if let Listener::Unix(_, path) = &self.listener {
            let _ = std::fs::remove_file(path);
        }
        drop(self.listener);
        let is_drained = tokio::time::timeout(limits.drain, connections.graceful.shutdown()).await.is_ok();
        close_log(self.app).await;
        is_drained
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
    let sets = open_all(&options.rules, &options.trusted, &metrics, &events).await?;
    let tokens = options.tokens.as_deref().map(Tokens::read).transpose()?;
    let log = options.log.map(|log| DecisionLog::open(log, metrics.add_log())).transpose()?;
    let service = Service::new(sets, metrics, options.limits, log);
    Ok(Arc::new(App::new(service, tokens, options.origins, events)))
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
            // The file of a service that was killed is left over. A living service answers.
            if tokio::net::UnixStream::connect(path).await.is_err() && is_socket(path) {
                std::fs::remove_file(path).map_err(to_error)?;
            }
            let listener = UnixListener::bind(path).map_err(to_error)?;
            Ok(Listener::Unix(listener, path.clone()))
        }
    }
}

fn is_socket(path: &std::path::Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// The open connections, and what each new one needs.
struct Connections {
    router: Router,
    app: Arc<App>,
    open: Arc<Semaphore>,
    graceful: GracefulShutdown,
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
            limits: *self.app.service().limits(),
            watcher: self.graceful.watcher(),
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

/// One connection that was accepted.
struct Connection {
    router: Router,
    limits: Limits,
    watcher: Watcher,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_time)
            // A client may close its half after its request.
            .half_close(true)
            .max_buf_size(MAX_HEAD_BYTES);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEAD_BYTES as u32)
            .keep_alive_interval(self.limits.head_time)
            .keep_alive_timeout(self.limits.head_time);
        let service = TowerToHyperService::new(self.router);
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        // An error concerns one client, which has gone or sent no HTTP.
        let _ = self.watcher.watch(connection).await;
    }

    async fn serve_tls(self, handshake: Accept<TcpStream>) {
        let shaken = tokio::time::timeout(self.limits.head_time, handshake).await;
        if let Ok(Ok(stream)) = shaken {
            self.serve(stream).await;
        }
    }
}
