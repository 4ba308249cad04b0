//! Tests of the service over a loopback port, as its clients see it. No test waits for a fixed
//! time.

mod admin;
mod contract;
mod decide;
mod differential;
mod documents;
mod doors;
mod floods;
mod folders;
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(feature = "grpc")]
mod grpc_envoy;
mod log;
mod log_lines;
#[cfg(feature = "remote")]
mod log_server;
#[cfg(feature = "remote")]
mod otlp;
mod private;
#[cfg(feature = "remote")]
mod remote;
mod safety;
mod slots;
#[cfg(feature = "studio")]
mod studio;
mod time;
mod tls;
mod traffic;

/// The generator of random programs, which the tests of the engines use too.
#[allow(dead_code, reason = "the tests of the service use a part of it")]
#[path = "../../../../tests/support"]
mod support {
    pub mod generate;
    pub mod random;
    pub mod trials;
}

use rulec_serve::{Address, EventSink, Limits, Options, RuleSource, Server, ServerSignal};
use serde_json::Value as Json;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Rules with each kind of statement that decides.
const RULES: &str = include_str!("support.rules");

/// A service that runs until the value is dropped.
struct Running {
    url: String,
    folder: TempDir,
    stop: mpsc::Sender<ServerSignal>,
    ended: JoinHandle<bool>,
    events: Arc<Mutex<Vec<Json>>>,
    client: reqwest::Client,
}

/// A response: its status, its headers and its body.
struct Response {
    status: u16,
    headers: reqwest::header::HeaderMap,
    body: Vec<u8>,
}

impl Response {
    #[track_caller]
    fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

fn write_rules(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("support.rules");
    std::fs::write(&path, text).expect("it can be written");
    path
}

/// Returns the settings of a service with one rule set, at a free port.
fn options(path: PathBuf, events: EventSink) -> Options {
    Options {
        rules: vec![RuleSource::from_file("support", path)],
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
        events,
    }
}

/// Starts a service with one rule set, after `change` has changed its settings.
async fn start_with(text: &str, change: impl FnOnce(&mut Options, &Path)) -> Running {
    // The client needs a default crypto provider, although it uses no TLS here. Only the first call
    // in a process installs it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().expect("a folder");
    let path = write_rules(folder.path(), text);
    let events: Arc<Mutex<Vec<Json>>> = Arc::default();
    let sink = events.clone();
    let report = move |event: &Json| sink.lock().expect("no test panics here").push(event.clone());
    let mut options = options(path, Arc::new(report));
    change(&mut options, folder.path());
    let server = Server::bind(options).await.expect("it starts");
    let url = server.address();
    let (stop, signals) = mpsc::channel(1);
    let ended = tokio::spawn(server.run(signals));
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    Running { url, folder, stop, ended, events, client }
}

async fn start(text: &str) -> Running {
    start_with(text, |_, _| {}).await
}

impl Running {
    async fn send(&self, request: reqwest::RequestBuilder) -> Response {
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Response { status, headers, body: response.bytes().await.expect("a body").to_vec() }
    }

    async fn get(&self, path: &str) -> Response {
        self.send(self.client.get(format!("{}{path}", self.url))).await
    }

    async fn post(&self, path: &str, body: &str) -> Response {
        self.send(self.post_request(path, body)).await
    }

    fn post_request(&self, path: &str, body: &str) -> reqwest::RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.url));
        request.header("content-type", "application/json").body(body.to_owned())
    }

    /// Sends the same request until `is_right` accepts the answer. The service makes some changes
    /// on its own, for example after a rule file has changed.
    async fn wait_for(&self, path: &str, is_right: impl Fn(&Json) -> bool) -> Json {
        loop {
            let answer = self.get(path).await.json();
            if is_right(&answer) {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    }
}
