//! Tests of deadlines, and of clients that keep a connection open and do nothing.

use super::admin::with_tokens;
use super::safety::{connect, read_to_end};
use super::{RULES, Running, start_with};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

const SHORT: Duration = Duration::from_millis(300);

/// Rules whose explanations are long.
fn many_routes(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _ = writeln!(text, "route r{number} when text contains \"word{number}\" and n > {number} -> h");
    }
    text + "default -> chat\n"
}

impl Running {
    async fn metric(&self, name: &str) -> f64 {
        // On a machine with other work, even this request may exceed a short deadline.
        let text = loop {
            let answer = self.get("/metrics").await;
            match answer.status {
                504 => tokio::task::yield_now().await,
                _ => break answer.text(),
            }
        };
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or(0.0)
    }

    /// Waits until the metric `name` has at least the value `least`.
    pub(super) async fn wait_for_metric(&self, name: &str, least: f64) {
        while self.metric(name).await < least {
            tokio::task::yield_now().await;
        }
    }
}

/// A batch holds the only permit. As soon as another request is answered, the work of the batch
/// must have ended.
#[tokio::test]
async fn work_ends_at_its_deadline_and_keeps_its_permit_until_then() {
    // The explanation of one message takes longer than the deadline, but one decision does not.
    let service = start_with(&many_routes(20_000), |options, _| {
        options.limits.request_time_limit = Duration::from_millis(4);
        options.limits.max_open_requests = 1;
    })
    .await;
    let messages = vec![json!({ "text": "word1", "n": 5 }); 1000];
    let batch = json!({ "messages": messages, "explain": true }).to_string();
    let late = service.post("/v1/batch", &batch).await;
    assert_eq!(late.status, 504, "{}", late.text());
    while service.post("/v1/decide", r#"{"message": {}}"#).await.status != 200 {
        tokio::task::yield_now().await;
    }
    let name = "rulec_decisions_total{rules=\"support\",entry=\"routes\",route=\"r1\"}";
    let decided = service.metric(name).await;
    assert!(decided < 1000.0, "the work has ended early");
    assert_eq!(service.metric(name).await, decided, "no work goes on");
    assert!(service.metric("rulec_limits_hit_total{limit=\"deadline\"}").await >= 1.0);
}

#[tokio::test]
async fn a_long_answer_to_an_array_is_sent_in_parts() {
    let service = start_with(&many_routes(50), |_, _| {}).await;
    let messages: Vec<Json> = (0..300).map(|n| json!({ "text": "word1", "n": n })).collect();
    let ask = |count: usize| {
        let body = json!({ "messages": &messages[..count], "explain": true }).to_string();
        let service = &service;
        async move { service.post("/v1/batch", &body).await }
    };
    let (short, long) = (ask(2).await, ask(300).await);
    assert!(short.header("content-length").parse::<usize>().is_ok_and(|length| length == short.body.len()));
    assert_eq!(long.header("transfer-encoding"), "chunked");
    let answers = long.json();
    let answers = answers.as_array().expect("an array");
    assert_eq!(answers.len(), 300);
    for (answer, number) in answers.iter().zip(1..) {
        let chosen = if number > 2 { "r1" } else { "default" };
        assert_eq!((&answer["line"], &answer["chosen"]), (&json!(number), &json!(chosen)));
        assert!(answer["explanation"].is_object());
    }
}

/// A workflow that never ends is stopped by the deadline or by the limit of its steps. So a client
/// cannot make a run use unlimited memory.
#[tokio::test]
async fn a_workflow_without_an_end_is_stopped_and_can_be_resumed() {
    let text = "router again(output) { when output.stop -> next[1]  otherwise -> next[0] loopback }\n\
        workflow spin { node a echo -> a, end by again  node end echo }";
    let service =
        start_with(text, |options, _| options.limits.request_time_limit = Duration::from_secs(10)).await;
    let stopped = service.post("/v1/workflows/spin", r#"{"input": {"a": 1}}"#).await;
    assert_eq!(stopped.status, 200, "{}", stopped.text());
    let stopped = stopped.json();
    assert_eq!(stopped["complete"], false);
    let resumed =
        service.post("/v1/workflows/spin", &json!({ "resume": stopped["saved"] }).to_string()).await;
    assert_eq!(resumed.status, 200, "{}", resumed.text());
    let refused = service.post("/v1/workflows/spin", r#"{"input": {}, "step_limit": 1000000000}"#).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("`step_limit` must be at most 10000"), "{}", refused.text());
    let service = start_with(text, |options, _| options.limits.max_body_bytes = 1000).await;
    let long = service.post("/v1/workflows/spin", r#"{"input": {}, "step_limit": 100}"#).await.json();
    assert_eq!((&long["complete"], &long["saved"]), (&json!(false), &Json::Null));
    assert!(long["not_saved"].as_str().is_some_and(|why| why.contains("over the limit of 1000")), "{long}");
}

#[tokio::test]
async fn silent_connections_are_closed() {
    let service = start_with(RULES, |options, _| options.limits.head_time = SHORT).await;
    let mut silent = connect(&service).await;
    assert_eq!(read_to_end(&mut silent).await, "");
    let mut kept = connect(&service).await;
    kept.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("it is read");
    assert!(read_to_end(&mut kept).await.contains(" 200 "));
}

#[tokio::test]
async fn http_2_connections_without_requests_are_closed() {
    let service = start_with(RULES, |options, _| options.limits.idle_time = SHORT).await;
    let client = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().expect("a client");
    let health = client.get(format!("{}/healthz", service.url)).send().await.expect("an answer");
    assert_eq!(health.status(), 200);
    service.wait_for_metric("rulec_limits_hit_total{limit=\"idle_time\"}", 1.0).await;
    let again = client.get(format!("{}/healthz", service.url)).send().await.expect("a new connection");
    assert_eq!(again.status(), 200);
}

/// The client sends lines, but reads no answers. In the end, the service closes the connection.
#[tokio::test]
async fn clients_that_take_no_answer_are_disconnected() {
    let service = start_with(RULES, |options, _| {
        options.limits.write_time = SHORT;
        options.limits.max_open_requests = 1;
    })
    .await;
    let mut slow = connect(&service).await;
    let head = "POST /v1/batch HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: 1000000000\r\n\r\n";
    slow.write_all(head.as_bytes()).await.expect("it is read");
    let lines = "{\"text\":\"refund\"}\n".repeat(1000);
    while slow.write_all(lines.as_bytes()).await.is_ok() {}
    // The closed connection has released its slot.
    while service.post("/v1/batch", r#"{"messages": [{}]}"#).await.status != 200 {
        tokio::task::yield_now().await;
    }
}

/// If the client cancels a request, the metrics count the request with the status 499. It no longer
/// counts as open.
#[tokio::test]
async fn a_cancelled_request_is_counted() {
    let service = start_with(&many_routes(3000), |_, _| {}).await;
    let client = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().expect("a client");
    let messages = vec![json!({ "text": "word1", "n": 5 }); 1000];
    let batch = json!({ "messages": messages, "explain": true, "matched": true });
    let request = tokio::spawn(client.post(format!("{}/v1/batch", service.url)).json(&batch).send());
    service.wait_for_metric("rulec_open_requests", 2.0).await;
    request.abort();
    let _ = request.await;
    let name = "rulec_requests_total{path=\"/v1/batch\",status=\"499\"}";
    service.wait_for_metric(name, 1.0).await;
    assert_eq!(service.metric("rulec_open_requests").await, 1.0, "only the metrics are asked");
}

/// The deadline cancels the request while the service compiles the changed rules.
#[tokio::test]
async fn a_change_is_audited_also_if_its_request_is_cancelled() {
    let service = start_with(&many_routes(3000), |options, folder| {
        with_tokens(options, folder);
        options.limits.request_time_limit = Duration::from_millis(50);
    })
    .await;
    let edits = json!({ "edits": [{ "insert": "list words = [\"a\"]" }, { "insert": "route z when text in words -> z" }] });
    let late = service.change("POST", "/edits", None, &edits).await;
    assert_eq!(late.status, 504, "{}", late.text());
    let is_made = |event: &Json| event["action"] == "edit" && event["generation"].is_u64();
    while !service.events.lock().expect("no test panics here").iter().any(is_made) {
        tokio::task::yield_now().await;
    }
}
