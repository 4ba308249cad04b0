//! Tests of the decision log at a server, which fails, hangs, refuses and recovers. The server runs
//! on a loopback port.

use super::log::{log_options, read_lines};
use super::{RULES, Running, options, start_with, write_rules};
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use rulec_http::Secret;
use rulec_serve::{LogMode, LogOptions, LogProtocol, LogTarget, RemoteLog, Server};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// What the server does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Accept,
    /// Answers with this status, and keeps nothing.
    Fail(u16),
    /// Keeps the lines, and answers with the status 500 all the same.
    KeepAndFail,
    /// Answers only after the behaviour has changed.
    Hang,
}

/// A request that the server has kept: its path, its content type, its header `authorization`, and
/// its body.
#[derive(Clone, Debug)]
struct Kept {
    path: String,
    media_type: String,
    token: String,
    body: String,
}

impl Kept {
    fn without_body(request: &Request) -> Kept {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        Kept {
            path: request.uri().path().to_owned(),
            media_type: header(CONTENT_TYPE).unwrap_or_default().to_owned(),
            token: header(AUTHORIZATION).unwrap_or_default().to_owned(),
            body: String::new(),
        }
    }
}

struct LogServer {
    url: String,
    behaviour: watch::Sender<Behaviour>,
    kept: Arc<Mutex<Vec<Kept>>>,
    /// Number of requests so far, kept or not.
    requests: Arc<Mutex<usize>>,
}

impl LogServer {
    /// Starts a server, which answers accepted requests with `answer`.
    async fn start(first: Behaviour, answer: Json) -> LogServer {
        let (behaviour, watched) = watch::channel(first);
        let (kept, requests) = (Arc::<Mutex<Vec<Kept>>>::default(), Arc::<Mutex<usize>>::default());
        let (stored, counted) = (kept.clone(), requests.clone());
        let handle = move |request: Request| {
            let (mut watched, stored, counted, answer) =
                (watched.clone(), stored.clone(), counted.clone(), answer.to_string());
            async move {
                let kept = Kept::without_body(&request);
                let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap_or_default();
                let kept = Kept { body: String::from_utf8_lossy(&body).into_owned(), ..kept };
                *counted.lock().expect("no test panics here") += 1;
                let behaviour = *watched.borrow_and_update();
                let status = match behaviour {
                    Behaviour::Accept => 200,
                    Behaviour::Fail(status) => status,
                    Behaviour::KeepAndFail => 500,
                    Behaviour::Hang => {
                        let _ = watched.changed().await;
                        503
                    }
                };
                if matches!(behaviour, Behaviour::Accept | Behaviour::KeepAndFail) {
                    stored.lock().expect("no test panics here").push(kept);
                }
                let status = StatusCode::from_u16(status).expect("a status");
                (status, [(CONTENT_TYPE, "application/json")], answer)
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/lines", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handle)).await });
        LogServer { url, behaviour, kept, requests }
    }

    fn behave(&self, behaviour: Behaviour) {
        self.behaviour.send_replace(behaviour);
    }

    fn kept(&self) -> Vec<Kept> {
        self.kept.lock().expect("no test panics here").clone()
    }

    /// Returns the lines that the server has kept. Of lines with the same bytes, only the first.
    fn lines(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for line in self.kept().iter().flat_map(|kept| kept.body.lines()) {
            if !lines.iter().any(|known| known == line) {
                lines.push(line.to_owned());
            }
        }
        lines.join("\n")
    }

    async fn wait_for_requests(&self, count: usize) {
        while *self.requests.lock().expect("no test panics here") < count {
            tokio::task::yield_now().await;
        }
    }

    fn options(&self, mode: LogMode, spill_path: Option<&Path>) -> LogOptions {
        let target = RemoteLog {
            url: self.url.clone(),
            token: Some(Secret::new("t-1")),
            protocol: LogProtocol::Lines,
            spill_path: spill_path.map(Path::to_owned),
            send_time: Duration::from_millis(400),
            retry_pauses: (Duration::from_millis(1), Duration::from_millis(4)),
        };
        LogOptions { target: LogTarget::Remote(target), ..log_options("unused".into(), mode) }
    }
}

async fn start(log: LogOptions) -> Running {
    start_with(RULES, |options, _| options.log = Some(log)).await
}

async fn decide(service: &Running, number: usize) -> u16 {
    let body = json!({ "message": { "text": "refund", "n": number, "phone": "555-0100" } });
    service.post("/v1/decide", &body.to_string()).await.status
}

/// Returns the values of `n` in the messages of the decisions, in the order of the lines.
fn numbers(text: &str) -> Vec<u64> {
    read_lines(text).iter().filter_map(|line| line["message"]["n"].as_u64()).collect()
}

async fn metric(service: &Running, name: &str) -> u64 {
    let text = service.get("/metrics").await.text();
    let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).map(str::to_owned);
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"))
}

async fn wait_for_metric(service: &Running, name: &str, count: u64) {
    while metric(service, name).await < count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_answer_waits_until_the_server_has_its_line() {
    let server = LogServer::start(Behaviour::Accept, json!({})).await;
    let service = start(server.options(LogMode::Sync, None)).await;
    for number in 1..=3 {
        assert_eq!(decide(&service, number).await, 200);
        assert_eq!(numbers(&server.lines()), (1..=number as u64).collect::<Vec<_>>());
    }
    // The server fails: no decision is answered. Its last request may have arrived.
    server.behave(Behaviour::KeepAndFail);
    assert_eq!(decide(&service, 4).await, 503);
    server.behave(Behaviour::Fail(503));
    assert_eq!(decide(&service, 5).await, 503);
    server.behave(Behaviour::Hang);
    assert_eq!(decide(&service, 6).await, 503);
    assert_eq!(metric(&service, "rulec_log_failed_total").await, 3);
    server.behave(Behaviour::Accept);
    assert_eq!(decide(&service, 7).await, 200);
    let events = service.events.clone();
    service.end().await;
    // The chain has no gap and no second line of the same number.
    assert_eq!(numbers(&server.lines()), [1, 2, 3, 4, 7]);
    let kept = server.kept();
    assert!(kept.iter().all(|kept| kept.token == "Bearer t-1" && kept.path == "/lines"), "{kept:?}");
    assert!(kept.iter().all(|kept| kept.media_type == "application/x-ndjson"), "{kept:?}");
    assert!(!server.lines().contains("555-0100"), "private values are masked");
    let failed = |event: &&Json| event["event"] == "log_failed";
    let events = events.lock().expect("no test panics here");
    assert_eq!(events.iter().filter(failed).count(), 1, "failures in a row are one event: {events:?}");
}

#[tokio::test]
async fn lines_for_a_server_that_hangs_are_dropped_and_counted() {
    let server = LogServer::start(Behaviour::Hang, json!({})).await;
    let mut log = server.options(LogMode::Drop, None);
    log.max_waiting_lines = 3;
    let service = start(log).await;
    assert_eq!(decide(&service, 0).await, 200);
    // The thread of the log has taken the first line. Of the next ones, three have a place.
    server.wait_for_requests(1).await;
    for number in 1..=8 {
        assert_eq!(decide(&service, number).await, 200, "no request waits for the server");
    }
    wait_for_metric(&service, "rulec_log_dropped_total", 5).await;
    server.wait_for_requests(3).await;
    server.behave(Behaviour::Accept);
    wait_for_metric(&service, "rulec_log_written_total", 4).await;
    assert_eq!(decide(&service, 9).await, 200);
    service.end().await;
    assert_eq!(numbers(&server.lines()), [0, 1, 2, 3, 9]);
    assert!(server.lines().contains("{\"dropped\":5,"), "{}", server.lines());
}

/// A closing service tries once more, and then counts what it loses.
#[tokio::test]
async fn a_service_ends_although_its_server_fails() {
    let server = LogServer::start(Behaviour::Fail(500), json!({})).await;
    let service = start(server.options(LogMode::Drop, None)).await;
    for number in 0..3 {
        assert_eq!(decide(&service, number).await, 200);
    }
    server.wait_for_requests(3).await;
    let events = service.events.clone();
    service.end().await;
    assert_eq!(server.lines(), "");
    let events = events.lock().expect("no test panics here");
    let closed = events.iter().find(|event| event["event"] == "log_closed").expect("an event");
    assert_eq!(closed["lines"], 0, "nothing was accepted: {events:?}");
}

#[tokio::test]
async fn spilled_lines_reach_the_server_after_a_restart() {
    let server = LogServer::start(Behaviour::Fail(503), json!({})).await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lines");
    let service = start(server.options(LogMode::Spill, Some(&path))).await;
    for number in 0..5 {
        assert_eq!(decide(&service, number).await, 200);
    }
    server.wait_for_requests(2).await;
    assert_eq!(metric(&service, "rulec_log_spilled_total").await, 5);
    let busy = start_refused(server.options(LogMode::Spill, Some(&path))).await;
    assert!(busy.contains("another process writes this log"), "{busy}");
    service.end().await;
    let service = start(server.options(LogMode::Spill, Some(&path))).await;
    for number in 5..8 {
        assert_eq!(decide(&service, number).await, 200);
    }
    server.behave(Behaviour::Accept);
    // The address of the server is correct from the beginning: only its answers were not.
    wait_for_metric(&service, "rulec_log_written_total", 8).await;
    service.end().await;
    assert_eq!(numbers(&server.lines()), (0..8).collect::<Vec<_>>());
    let left = std::fs::read_to_string(folder.path().join("lines.spill")).expect("a file");
    assert_eq!(left, "", "accepted lines leave the disk");
    assert!(!folder.path().join("lines.spill.draining").exists());
}

/// Without a maximum size, a server that is away for long would let the lines fill the disk.
#[tokio::test]
async fn a_full_spill_file_drops_and_counts_lines() {
    let server = LogServer::start(Behaviour::Fail(503), json!({})).await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lines");
    let options = LogOptions { max_spill_bytes: 2000, ..server.options(LogMode::Spill, Some(&path)) };
    let service = start(options).await;
    for number in 0..20 {
        assert_eq!(decide(&service, number).await, 200, "no request waits for the server");
    }
    let spilled = metric(&service, "rulec_log_spilled_total").await;
    let dropped = metric(&service, "rulec_log_dropped_total").await;
    assert!((1..20).contains(&spilled), "{spilled} lines have 2,000 bytes");
    assert_eq!(spilled + dropped, 20);
    let size = |name: &str| std::fs::metadata(folder.path().join(name)).map_or(0, |file| file.len());
    assert!(size("lines.spill") + size("lines.spill.draining") <= 2000);
    server.behave(Behaviour::Accept);
    wait_for_metric(&service, "rulec_log_written_total", spilled).await;
    assert_eq!(decide(&service, 20).await, 200);
    service.end().await;
    assert_eq!(numbers(&server.lines()), (0..spilled).chain([20]).collect::<Vec<_>>());
    assert!(server.lines().contains(&format!("{{\"dropped\":{dropped},")), "{}", server.lines());
}

/// Starts a service that cannot start, and returns the error.
async fn start_refused(log: LogOptions) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = options(write_rules(folder.path(), RULES), Arc::new(|_| {}));
    options.log = Some(log);
    Server::bind(options).await.err().expect("the log cannot be used").to_string()
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused() {
    let server = LogServer::start(Behaviour::Accept, json!({})).await;
    let without_file = start_refused(server.options(LogMode::Spill, None)).await;
    assert!(without_file.contains("`--log-spill FILE`"), "{without_file}");
    let with = |url: &str| {
        let target = RemoteLog { url: url.to_owned(), ..remote(server.options(LogMode::Drop, None)) };
        LogOptions { target: LogTarget::Remote(target), ..server.options(LogMode::Drop, None) }
    };
    let user = start_refused(with("http://user:secret@127.0.0.1/lines")).await;
    assert!(user.starts_with("`--log`: ") && !user.contains("secret"), "{user}");
}

fn remote(log: LogOptions) -> RemoteLog {
    match log.target {
        LogTarget::Remote(remote) => remote,
        _ => unreachable!("the log has a server"),
    }
}

#[tokio::test]
async fn refused_lines_are_counted_and_not_sent_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lines");
    for mode in [LogMode::Drop, LogMode::Spill, LogMode::Sync] {
        let server = LogServer::start(Behaviour::Fail(400), json!({})).await;
        let service = start(server.options(mode, Some(&path))).await;
        let expected = if mode == LogMode::Sync { 503 } else { 200 };
        assert_eq!(decide(&service, 1).await, expected);
        wait_for_metric(&service, "rulec_log_failed_total", 1).await;
        server.behave(Behaviour::Accept);
        assert_eq!(decide(&service, 2).await, 200);
        service.end().await;
        assert_eq!(numbers(&server.lines()), [2], "{mode:?}");
    }
}

#[tokio::test]
async fn a_wrong_token_is_tried_again() {
    let server = LogServer::start(Behaviour::Fail(401), json!({})).await;
    let service = start(server.options(LogMode::Drop, None)).await;
    assert_eq!(decide(&service, 1).await, 200);
    server.wait_for_requests(2).await;
    server.behave(Behaviour::Accept);
    wait_for_metric(&service, "rulec_log_written_total", 1).await;
    service.end().await;
    assert_eq!(numbers(&server.lines()), [1]);
}

#[tokio::test]
async fn a_collector_gets_a_log_record_for_each_line() {
    let answer = json!({ "partialSuccess": { "rejectedLogRecords": "1" } });
    let server = LogServer::start(Behaviour::Accept, answer).await;
    let log = server.options(LogMode::Sync, None);
    let protocol = LogProtocol::Otlp { service_name: "shop".to_owned() };
    let target = RemoteLog { protocol, url: server.url.replace("/lines", ""), ..remote(log) };
    let log = LogOptions { target: LogTarget::Remote(target), ..server.options(LogMode::Sync, None) };
    let service = start(log).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let body = r#"{"message": {"text": "refund", "n": 3, "phone": "555-0100"}}"#;
    let request = service.post_request("/v1/decide", body);
    let request = request.header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
    assert_eq!(service.send(request).await.status, 200);
    assert_eq!(metric(&service, "rulec_log_failed_total").await, 1, "the collector has rejected a record");
    service.end().await;
    let kept = server.kept();
    assert!(kept.iter().all(|kept| kept.path == "/v1/logs" && kept.token == "Bearer t-1"), "{kept:?}");
    let resources: Vec<Json> = kept
        .iter()
        .map(|kept| serde_json::from_str::<Json>(&kept.body).expect("JSON")["resourceLogs"][0].clone())
        .collect();
    let records: Vec<Json> = resources
        .iter()
        .flat_map(|resource| resource["scopeLogs"][0]["logRecords"].as_array().expect("a list").clone())
        .collect();
    let lines = records.iter().map(|record| record["body"]["stringValue"].as_str().expect("a text"));
    let lines = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(numbers(&lines), [3], "the chain verifies");
    assert!(!lines.contains("555-0100"), "private values are masked");
    let record = records.iter().find(|record| record["eventName"] == "rulec.decision").expect("a decision");
    assert_eq!((&record["traceId"], &record["severityNumber"]), (&json!(trace), &json!(9)));
    let attributes = super::otlp::attributes(record);
    let found = ["rulec.rules", "rulec.entry", "rulec.route"].map(|name| attributes[name].as_str());
    assert_eq!(found, [Some("support"), Some("routes"), Some("refund")]);
    assert!(attributes["rulec.generation"].is_string(), "{attributes}");
    let resource = super::otlp::attributes(&resources[0]["resource"]);
    assert_eq!(resource["service.name"], "shop");
}
