//! Tests of tokens, limits, hostile clients, and the end of the service.

use super::{RULES, Running, start, start_with};
use rulec_serve::{Address, Server, ServerSignal};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Hashes of the tokens `reader` and `decider`.
const READER: &str = "reader explain 3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30\n";
const DECIDER: &str = "decider decide 61704f674c7b4ade5327ddcf63706766f2e0a5513c531f039021589bbba0a3f4\n";

pub(super) async fn connect(service: &Running) -> TcpStream {
    let address = service.url.trim_start_matches("http://");
    TcpStream::connect(address).await.expect("a connection")
}

/// Reads until the service closes the connection.
pub(super) async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that the service resets has ended too.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn tokens_have_scopes() {
    let service = start_with(RULES, |options, folder| {
        let path = folder.join("tokens");
        std::fs::write(&path, format!("{READER}{DECIDER}")).expect("it can be written");
        options.token_file = Some(path);
    })
    .await;
    let body = r#"{"message": {}}"#;
    let status = |request: reqwest::RequestBuilder| async { service.send(request).await.status };
    let decide = || service.post_request("/v1/decide", body);
    assert_eq!(service.send(decide()).await.header("www-authenticate"), "Bearer");
    assert_eq!(status(decide()).await, 401);
    assert_eq!(status(decide().bearer_auth("wrong")).await, 401);
    assert_eq!(status(decide().header("authorization", "Basic cmVhZGVy")).await, 401);
    assert_eq!(status(decide().bearer_auth("reader")).await, 403);
    let rules = || service.client.get(format!("{}/v1/rules", service.url));
    assert_eq!(status(rules().bearer_auth("reader")).await, 200);
    let edit = service.post_request("/v1/rules/support/edits", r#"{"edits": []}"#);
    assert_eq!(status(edit.bearer_auth("reader")).await, 403);
    assert_eq!(service.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn changes_need_a_token() {
    let service = start(RULES).await;
    let problem = service.post("/v1/rules/support/edits", r#"{"edits": []}"#).await;
    assert_eq!(problem.status, 403);
    assert!(problem.text().contains("--tokens"), "{}", problem.text());
}

#[tokio::test]
async fn an_address_that_others_reach_needs_tokens() {
    let service = start(RULES).await;
    let path = service.folder.path().join("support.rules");
    let options = |allows_open_access| rulec_serve::Options {
        address: Address::Tcp("0.0.0.0:0".parse().expect("an address")),
        allows_open_access,
        ..super::options(path.clone(), std::sync::Arc::new(|_| {}))
    };
    let error = Server::bind(options(false)).await.err().expect("it has no tokens");
    assert!(error.to_string().contains("--tokens"), "{error}");
    assert!(Server::bind(options(true)).await.is_ok());
}

#[tokio::test]
async fn pages_of_websites_are_refused_unless_named() {
    let service =
        start_with(RULES, |options, _| options.allowed_origins = vec!["https://good.example".to_owned()])
            .await;
    let from =
        |origin: &str| service.post_request("/v1/decide", r#"{"message": {}}"#).header("origin", origin);
    let allowed = service.send(from("https://good.example")).await;
    assert_eq!(
        (allowed.status, allowed.header("access-control-allow-origin")),
        (200, "https://good.example")
    );
    let refused = service.send(from("https://evil.example")).await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, ""));
}

#[tokio::test]
async fn a_large_body_and_a_long_line_are_refused() {
    let service = start_with(RULES, |options, _| options.limits.max_body_bytes = 1000).await;
    let long = "x".repeat(2000);
    let body = json!({ "message": { "text": long } }).to_string();
    let response = service.post("/v1/decide", &body).await;
    assert_eq!(response.status, 413, "{}", response.text());
    let lines = format!("{{\"text\": \"{long}\"}}\n{{\"text\": \"refund\"}}\n");
    let request = service.client.post(format!("{}/v1/batch", service.url));
    let lines = service.send(request.header("content-type", "application/x-ndjson").body(lines)).await.text();
    let lines: Vec<&str> = lines.lines().collect();
    assert!(lines[0].contains("E0607") && lines[1].contains("\"chosen\":\"refund\""), "{lines:?}");
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("rulec_limits_hit_total{limit=\"body\"} 1"), "{metrics}");
    assert!(metrics.contains("rulec_limit{limit=\"body\",unit=\"bytes\"} 1000"), "{metrics}");
}

#[tokio::test]
async fn requests_over_the_limit_are_shed_at_once() {
    let service = start_with(RULES, |options, _| options.limits.max_open_requests = 0).await;
    let shed = service.post("/v1/decide", r#"{"message": {}}"#).await;
    assert_eq!((shed.status, shed.header("retry-after")), (503, "1"));
    assert_eq!(service.get("/healthz").await.status, 200);
}

/// Opens a stream of lines, and waits until its first line is answered.
pub(super) async fn open_stream(service: &Running) -> TcpStream {
    let mut stream = connect(service).await;
    let head = "POST /v1/batch HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n";
    let line = "{\"text\":\"refund\"}\n";
    stream.write_all(format!("{head}{:x}\r\n{line}\r\n", line.len()).as_bytes()).await.expect("it is read");
    let mut answer = vec![0; 1024];
    let mut seen = String::new();
    while !seen.contains("\"chosen\":\"refund\"") {
        let count = stream.read(&mut answer).await.expect("an answer");
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&answer[..count]));
    }
    stream
}

#[tokio::test]
async fn streams_that_wait_for_their_clients_take_no_permit() {
    let service = start_with(RULES, |options, _| options.limits.max_open_requests = 1).await;
    let mut stream = open_stream(&service).await;
    let body = r#"{"message": {"text": "refund"}}"#;
    assert_eq!(service.post("/v1/decide", body).await.json()["chosen"], "refund");
    // Further streams are shed until the first one ends.
    let array = r#"{"messages": [{}]}"#;
    assert_eq!(service.post("/v1/batch", array).await.status, 503);
    stream.write_all(b"0\r\n\r\n").await.expect("it is read");
    while service.post("/v1/batch", array).await.status == 503 {
        tokio::task::yield_now().await;
    }
}

/// Sends the head of a request, and waits until the service asks for the body.
async fn open_body(service: &Running, path: &str, length: usize) -> TcpStream {
    let mut stream = connect(service).await;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("it is read");
    let mut seen = [0; 25];
    stream.read_exact(&mut seen).await.expect("an answer");
    assert!(seen.starts_with(b"HTTP/1.1 100 Continue"));
    stream
}

#[tokio::test]
async fn slow_bodies_take_no_permit() {
    let service = start_with(RULES, |options, _| options.limits.max_open_requests = 2).await;
    let mut slow = Vec::new();
    let grpc = cfg!(feature = "grpc").then_some("/rulec.v1.Rules/Decide");
    let paths = ["/v1/decide", "/v1/batch", "/v1/judge/order", "/v1/data/routes", "/mcp"];
    for path in paths.into_iter().chain(grpc) {
        for _ in 0..3 {
            let mut stream = open_body(&service, path, 99).await;
            stream.write_all(b"{").await.expect("it is read");
            slow.push(stream);
        }
    }
    for _ in 0..10 {
        let answer = service.post("/v1/decide", r#"{"message": {"text": "refund"}}"#).await;
        assert_eq!((answer.status, answer.json()["chosen"].as_str()), (200, Some("refund")));
    }
    drop(slow);
}

#[tokio::test]
async fn the_oldest_slow_body_is_given_up_if_they_take_too_much_memory() {
    let service = start_with(RULES, |options, _| {
        options.limits.max_open_requests = 1;
        options.limits.max_body_bytes = 16 << 10;
    })
    .await;
    // Two bodies fit as long as they are empty, because each counts for 16 KiB.
    let mut oldest = open_body(&service, "/v1/decide", 9000).await;
    let mut newer = open_body(&service, "/v1/decide", 31).await;
    oldest.write_all(&[b' '; 8000]).await.expect("it is read");
    assert!(read_to_end(&mut oldest).await.contains(" 503 "));
    newer.write_all(br#"{"message": {"text": "refund"}}"#).await.expect("it is read");
    let mut start = [0; 15];
    newer.read_exact(&mut start).await.expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("rulec_limits_hit_total{limit=\"bodies\"} 1"), "{metrics}");
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_at_once() {
    let service = start(RULES).await;
    let mut stream = connect(&service).await;
    let head = "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.expect("it is read");
    let mut start = [0; 13];
    stream.read_exact(&mut start).await.expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 413 ");
}

#[tokio::test]
async fn slow_and_broken_clients_are_disconnected() {
    let short = Duration::from_millis(300);
    let service = start_with(RULES, |options, _| {
        options.limits.head_time = short;
        options.limits.request_time_limit = short;
    })
    .await;
    let mut slow_head = connect(&service).await;
    slow_head.write_all(b"POST /v1/decide HTTP/1.1\r\nhost:").await.expect("it is read");
    let mut slow_body = connect(&service).await;
    let head = "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
    slow_body.write_all(head.as_bytes()).await.expect("it is read");
    let mut huge_head = connect(&service).await;
    let _ =
        huge_head.write_all(format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(100_000)).as_bytes()).await;
    let mut half_closed = connect(&service).await;
    half_closed.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("it is read");
    half_closed.shutdown().await.expect("it is open");
    let mut bad_chunks = connect(&service).await;
    let head = "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n";
    bad_chunks.write_all(head.as_bytes()).await.expect("it is read");
    assert!(!read_to_end(&mut slow_head).await.contains(" 200 "));
    assert!(read_to_end(&mut slow_body).await.contains(" 504 "));
    assert!(!read_to_end(&mut huge_head).await.contains(" 200 "));
    assert!(read_to_end(&mut half_closed).await.contains(" 200 "));
    assert!(read_to_end(&mut bad_chunks).await.contains(" 400 "));
    let deep = format!(r#"{{"message": {{"text": {}{}}}}}"#, "[".repeat(200), "]".repeat(200));
    assert!(service.post("/v1/decide", &deep).await.text().contains("E0603"));
    for limit in ["head", "head_time", "deadline", "depth"] {
        let counted = format!("rulec_limits_hit_total{{limit=\"{limit}\"}}");
        while !service.get("/metrics").await.text().contains(&counted) {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(
        service.post("/v1/decide", r#"{"message": {"text": "refund"}}"#).await.json()["chosen"],
        "refund"
    );
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let service = start(RULES).await;
    let mut stream = connect(&service).await;
    let request = |text: &str, close: &str| {
        let body = json!({ "message": { "text": text } }).to_string();
        format!(
            "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\n{close}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let both = format!("{}{}", request("refund", ""), request("hello", "connection: close\r\n"));
    stream.write_all(both.as_bytes()).await.expect("it is read");
    let answers = read_to_end(&mut stream).await;
    let (first, second) = (answers.find("\"refund\""), answers.find("\"default\""));
    assert!(first.is_some() && first < second, "{answers}");
}

#[tokio::test]
async fn http_2_is_served() {
    let service = start(RULES).await;
    let client = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().expect("a client");
    let request =
        client.post(format!("{}/v1/decide", service.url)).header("content-type", "application/json");
    let response = request.body(r#"{"message": {"text": "refund"}}"#).send().await.expect("an answer");
    assert_eq!((response.version(), response.status().as_u16()), (reqwest::Version::HTTP_2, 200));
}

#[tokio::test]
async fn open_requests_are_answered_before_the_end() {
    let service = start(RULES).await;
    let mut stream = connect(&service).await;
    let head = "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 32\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("it is read");
    let mut seen = [0; 25];
    // The service asks the client for the body. So the service has accepted the request.
    stream.read_exact(&mut seen).await.expect("an answer");
    assert!(seen.starts_with(b"HTTP/1.1 100 Continue"));
    service.stop.send(ServerSignal::Drain).await.expect("it runs");
    // At its end, the service first closes the listener. Wait until then.
    while TcpStream::connect(service.url.trim_start_matches("http://")).await.is_ok() {
        tokio::task::yield_now().await;
    }
    stream.write_all(br#"{"message": {"text": "refund"}} "#).await.expect("it is read");
    let answer = read_to_end(&mut stream).await;
    assert!(answer.contains("\"chosen\":\"refund\""), "{answer}");
    assert!(service.ended.await.expect("it ends"), "all requests were answered");
}

#[tokio::test]
async fn the_drain_has_a_limit() {
    let service = start_with(RULES, |options, _| options.limits.drain_time = Duration::from_millis(50)).await;
    let mut stream = connect(&service).await;
    let head = "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 32\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("it is read");
    stream.read_exact(&mut [0; 25]).await.expect("an answer");
    service.stop.send(ServerSignal::Drain).await.expect("it runs");
    assert!(!service.ended.await.expect("it ends"), "a request was left");
}

#[tokio::test]
async fn a_unix_socket_is_served_and_removed() {
    let service =
        start_with(RULES, |options, folder| options.address = Address::Unix(folder.join("socket"))).await;
    let path = service.folder.path().join("socket");
    let mut stream = tokio::net::UnixStream::connect(&path).await.expect("a connection");
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await
        .expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.contains("{\"ready\":true}"), "{answer}");
    service.stop.send(ServerSignal::Drain).await.expect("it runs");
    service.ended.await.expect("it ends");
    assert!(!path.exists());
}

#[tokio::test]
async fn the_file_of_a_socket_in_use_is_kept() {
    let service =
        start_with(RULES, |options, folder| options.address = Address::Unix(folder.join("socket"))).await;
    let path = service.folder.path().join("socket");
    let again = rulec_serve::Options {
        address: Address::Unix(path.clone()),
        ..super::options(service.folder.path().join("support.rules"), std::sync::Arc::new(|_| {}))
    };
    assert!(Server::bind(again).await.is_err(), "the service lives");
    assert!(tokio::net::UnixStream::connect(&path).await.is_ok());
    // Another process removes the socket's file, and opens its own socket at the same path.
    std::fs::remove_file(&path).expect("it is there");
    let _other = tokio::net::UnixListener::bind(&path).expect("a socket");
    service.stop.send(ServerSignal::Drain).await.expect("it runs");
    service.ended.await.expect("it ends");
    assert!(path.exists());
}

#[tokio::test]
async fn a_unix_socket_has_no_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = rulec_serve::Options {
        address: Address::Unix(folder.path().join("socket")),
        certificate_and_key_files: Some((folder.path().join("chain.pem"), folder.path().join("key.pem"))),
        ..super::options(super::write_rules(folder.path(), RULES), std::sync::Arc::new(|_| {}))
    };
    let error = Server::bind(options).await.err().expect("it cannot be");
    assert!(error.to_string().contains("leave out `--tls-cert`"), "{error}");
}

#[tokio::test]
async fn names_that_are_not_the_service_s_are_refused() {
    let service =
        start_with(RULES, |options, _| options.further_allowed_hosts = vec!["rules.example".to_owned()])
            .await;
    let decide = |host: &'static str| {
        let request = service.post_request("/v1/decide", r#"{"message": {}}"#).header("host", host);
        let service = &service;
        async move { service.send(request).await.status }
    };
    assert_eq!((decide("localhost").await, decide("rules.example").await), (200, 200));
    assert_eq!(decide("evil.example").await, 403);
    let page = service.client.get(format!("{}/v1/rules", service.url)).header("sec-fetch-site", "cross-site");
    assert_eq!(service.send(page).await.status, 403);
    // A service with tokens accepts any host name, because an attacker's page has no token.
    let service = start_with(RULES, super::admin::with_tokens).await;
    let request = service.post_request("/v1/decide", r#"{"message": {}}"#).bearer_auth("secret");
    assert_eq!(service.send(request.header("host", "rules.example")).await.status, 200);
}
