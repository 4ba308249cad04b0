//! The two servers that are measured, in one runtime: the service, and a bare axum server that
//! reads JSON and sends it back. Also their rules and messages.

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use rulec_serve::{Address, Limits, Options, RuleSource, Server, ServerSignal};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub const ROUTES: usize = 1000;
pub const MESSAGE_BYTES: usize = 1024;

/// Both servers, which run until [`Servers::stop`] is called.
pub struct Servers {
    pub service: SocketAddr,
    pub bare: SocketAddr,
    pub rules_path: PathBuf,
    /// Number of versions of the rules that came into force.
    pub loaded_versions: Arc<AtomicUsize>,
    runtime: Runtime,
    service_signals: mpsc::Sender<ServerSignal>,
    service_end: JoinHandle<bool>,
}

/// Returns the text of the rules. `version` changes one route of them.
pub fn rules(version: usize) -> String {
    let mut text = String::new();
    for number in 0..ROUTES {
        let _ = writeln!(
            text,
            "route r{number} when text contains \"word{number}x\" and ctx.count > {} -> desk(id: ctx.id)",
            number % 7
        );
    }
    let _ = writeln!(text, "route changed when text contains \"version {version}\" -> desk(id: ctx.id)");
    text + "default -> chat\n"
}

/// Returns the JSON text of a message. About half of the messages contain the word of a route.
pub fn message(number: usize) -> String {
    let mut message = json!({
        "text": format!("please look at word{}x today", number * 37 % (2 * ROUTES)),
        "ctx": { "count": number % 11, "id": format!("id-{number}") },
        "padding": "",
    });
    let padding = MESSAGE_BYTES.saturating_sub(message.to_string().len());
    message["padding"] = "p".repeat(padding).into();
    message.to_string()
}

async fn echo(body: Bytes) -> Result<String, StatusCode> {
    let json: Json = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    Ok(json.to_string())
}

impl Servers {
    /// Starts both servers. One processor is left to the client.
    pub fn start(folder: &Path) -> Servers {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = processors.saturating_sub(1).max(1);
        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let rules_path = folder.join("bench.rules");
        std::fs::write(&rules_path, rules(0)).expect("it can be written");
        let loaded_versions = Arc::<AtomicUsize>::default();
        let options = options(&rules_path, loaded_versions.clone());
        let (service_signals, signals) = mpsc::channel(1);
        let (service, bare, service_end) = runtime.block_on(async move {
            let server = Server::bind(options).await.expect("it starts");
            let service = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port().expect("a port")));
            let service_end = tokio::spawn(server.run(signals));
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
            let bare = listener.local_addr().expect("an address");
            tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(echo))).await });
            (service, bare, service_end)
        });
        Servers { service, bare, rules_path, loaded_versions, runtime, service_signals, service_end }
    }

    pub fn stop(self) {
        let Servers { runtime, service_signals, service_end, .. } = self;
        runtime.block_on(async {
            service_signals.send(ServerSignal::Drain).await.expect("it runs");
            service_end.await.expect("it ends");
        });
    }
}

fn options(rules_path: &Path, loaded_versions: Arc<AtomicUsize>) -> Options {
    Options {
        rules: vec![RuleSource::from_file("bench", rules_path)],
        folders: None,
        trusted_keys: Vec::new(),
        address: Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        limits: Limits::default(),
        token_file: None,
        certificate_and_key_files: None,
        allowed_origins: Vec::new(),
        further_allowed_hosts: Vec::new(),
        allows_open_access: false,
        #[cfg(feature = "studio")]
        serves_studio: false,
        #[cfg(feature = "remote")]
        otlp: None,
        log: None,
        open_history: None,
        events: Arc::new(move |event| {
            if event["event"] == "in_force" {
                loaded_versions.fetch_add(1, Ordering::Relaxed);
            }
        }),
    }
}
