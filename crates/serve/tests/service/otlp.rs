//! Tests of the export to an OpenTelemetry collector. A small collector on a loopback port stores
//! the requests that it receives.

use super::log::log_options;
use super::{RULES, Running, start_with};
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use rulec_http::Secret;
use rulec_serve::{LogMode, OtlpOptions};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A collector that stores each request: its path, its header `authorization`, and its body.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<(String, String, Json)>>>);

impl Collector {
    /// Starts the collector, which answers with `answer`. Returns its address.
    async fn start(&self, answer: Json) -> String {
        let kept = self.0.clone();
        let keep = move |request: Request| async move {
            let path = request.uri().path().to_owned();
            let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
            let token = token.unwrap_or_default().to_owned();
            let kind = request.headers().get("content-type").and_then(|value| value.to_str().ok());
            if kind != Some("application/json") {
                return (StatusCode::UNSUPPORTED_MEDIA_TYPE, [(CONTENT_TYPE, "text/plain")], String::new());
            }
            let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.expect("a body");
            let body = serde_json::from_slice(&body).expect("JSON");
            kept.lock().expect("no test panics here").push((path, token, body));
            (StatusCode::OK, [(CONTENT_TYPE, "application/json")], answer.to_string())
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new().fallback(keep);
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    /// Returns the spans (path `/v1/traces`) or the metrics (path `/v1/metrics`) that have arrived.
    fn got(&self, path: &str) -> Vec<Json> {
        let (resources, scopes, items) = match path {
            "/v1/traces" => ("resourceSpans", "scopeSpans", "spans"),
            _ => ("resourceMetrics", "scopeMetrics", "metrics"),
        };
        let kept = self.0.lock().expect("no test panics here");
        let bodies = kept.iter().filter(|(found, ..)| found == path);
        bodies
            .flat_map(|(_, _, body)| body[resources][0][scopes][0][items].as_array().expect("a list").clone())
            .collect()
    }
}

async fn start(url: String, interval: Duration) -> Running {
    start_with(RULES, |options, folder| {
        options.log = Some(log_options(folder.join("log.jsonl"), LogMode::Sync));
        options.otlp = Some(OtlpOptions {
            url,
            token: Some(Secret::new("t-1")),
            interval,
            service_name: "shop".to_owned(),
        });
    })
    .await
}

pub(super) fn attributes(span: &Json) -> Json {
    let list = span["attributes"].as_array().expect("a list");
    let value = |value: &Json| value.as_object().and_then(|value| value.values().next().cloned());
    list.iter()
        .filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), value(&pair["value"])?)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn a_request_is_a_span_of_the_caller_s_trace() {
    let collector = Collector::default();
    let service = start(collector.start(json!({})).await, Duration::from_secs(3600)).await;
    let service_port = service.url.rsplit(':').next().expect("a port").to_owned();
    let body = r#"{"message": {"text": "a refund"}}"#;
    let request = service.post_request("/v1/decide", body).header("user-agent", "shop/1");
    let answer = service.send(request.header("traceparent", format!("00-{TRACE}-{PARENT}-01"))).await;
    let generation = answer.header("rulec-generation").to_owned();
    let quiet = service.post_request("/v1/decide", body);
    service.send(quiet.header("traceparent", format!("00-{TRACE}-{PARENT}-00"))).await.json();
    service.post("/v1/decide", r#"{"message": 5}"#).await;
    service.post("/v1/decide", body).await.json();
    let path = service.folder.path().join("log.jsonl");
    let log = std::fs::read_to_string(&path).expect("a file");
    // When the service ends, it sends the spans that wait.
    service.end().await;
    let spans = collector.got("/v1/traces");
    assert_eq!(spans.len(), 3, "the caller does not record one trace: {spans:?}");
    let span = &spans[0];
    assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!((&span["name"], &span["kind"]), (&json!("POST /v1/decide"), &json!(2)));
    let expected = json!({
        "http.request.method": "POST", "http.route": "/v1/decide", "network.protocol.version": "1.1",
        "user_agent.original": "shop/1", "http.response.status_code": "200", "rulec.rules": "support",
        "rulec.entry": "routes", "rulec.generation": generation, "rulec.route": "refund",
        "url.scheme": "http", "server.address": "127.0.0.1",
        "server.port": service_port
    });
    assert_eq!(attributes(span), expected);
    let time = |name: &str| span[name].as_str().and_then(|time| time.parse::<u64>().ok()).expect("a time");
    assert!(time("startTimeUnixNano") > 1 << 60 && time("endTimeUnixNano") >= time("startTimeUnixNano"));
    assert_eq!(attributes(&spans[1])["http.response.status_code"], "400");
    // A request without a trace begins one, which the decision log names.
    let own = spans[2]["traceId"].as_str().expect("an id");
    assert!(own.len() == 32 && own != TRACE && spans[2].get("parentSpanId").is_none());
    assert_eq!(log.matches(&format!("\"trace_id\":\"{own}\"")).count(), 1, "{log}");
    assert!(spans.iter().all(|span| span["spanId"].as_str().is_some_and(|id| id.len() == 16)));
    let kept = collector.0.lock().expect("no test panics here");
    assert!(kept.iter().all(|(_, token, _)| token == "Bearer t-1"));
    let resource = &kept[0].2["resourceSpans"][0]["resource"];
    assert_eq!(attributes(resource)["service.name"], "shop");
}

#[tokio::test]
async fn metrics_are_those_of_prometheus_and_the_durations_of_requests() {
    let collector = Collector::default();
    let service = start(collector.start(json!({})).await, Duration::from_millis(100)).await;
    for _ in 0..3 {
        service.post("/v1/decide", r#"{"message": {"text": "a refund"}}"#).await.json();
    }
    let find =
        |name: &str| collector.got("/v1/metrics").into_iter().rev().find(|metric| metric["name"] == name);
    let decided = |metric: &Json| metric["sum"]["dataPoints"][0]["asInt"] == "3";
    while !find("rulec.decisions").is_some_and(|metric| decided(&metric)) {
        tokio::task::yield_now().await;
    }
    // A request is measured a moment after its decision.
    let measured = |metric: &Json| metric["histogram"]["dataPoints"][0]["count"] == "3";
    while !find("http.server.request.duration").is_some_and(|metric| measured(&metric)) {
        tokio::task::yield_now().await;
    }
    let decisions = find("rulec.decisions").expect("it is there");
    let point = &decisions["sum"]["dataPoints"][0];
    let expected = json!({ "rulec.rules": "support", "rulec.entry": "routes", "rulec.route": "refund" });
    assert_eq!(attributes(point), expected);
    let requests = find("http.server.request.duration").expect("it is there");
    let point = &requests["histogram"]["dataPoints"][0];
    let expected = json!({
        "http.request.method": "POST", "http.route": "/v1/decide", "http.response.status_code": "200",
        "url.scheme": "http"
    });
    assert_eq!((attributes(point), &point["count"]), (expected, &json!("3")));
    assert_eq!(point["bucketCounts"].as_array().map(Vec::len), Some(15));
    let time = find("rulec.decision_time").expect("it is there");
    assert_eq!(time["histogram"]["dataPoints"][0]["count"], "3");
}

#[tokio::test]
async fn what_a_collector_refuses_is_counted() {
    let collector = Collector::default();
    let partial = json!({ "partialSuccess": { "rejectedSpans": "1", "errorMessage": "too old" } });
    let service = start(collector.start(partial).await, Duration::from_secs(3600)).await;
    service.post("/v1/decide", r#"{"message": {}}"#).await.json();
    service.wait_for_metric("rulec_otlp_lost_total{signal=\"traces\"}", 1.0).await;
}

#[tokio::test]
async fn a_service_answers_without_its_collector() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let service = start(url, Duration::from_secs(3600)).await;
    for _ in 0..3 {
        service.post("/v1/decide", r#"{"message": {}}"#).await.json();
    }
    service.wait_for_metric("rulec_otlp_lost_total{signal=\"traces\"}", 3.0).await;
    let failed = |event: &&Json| event["event"] == "otlp_failed";
    let events = service.events.lock().expect("no test panics here");
    assert_eq!(events.iter().filter(failed).count(), 1, "a failure that lasts is one event");
}

/// A collector that never answers must cost no memory, and no request may wait for it.
#[tokio::test]
async fn spans_over_the_queue_are_lost_and_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let service = start(url, Duration::from_secs(3600)).await;
    // The queue, a batch that is being sent, and one that is being filled.
    for _ in 0..(2048 + 2 * 512 + 10) {
        let request = service.client.post(format!("{}/v1/batch", service.url));
        let request = request.header("content-type", "application/x-ndjson").body("{}\n");
        assert_eq!(service.send(request).await.status, 200);
    }
    let text = service.get("/metrics").await.text();
    let lost = text.lines().find_map(|line| line.strip_prefix("rulec_otlp_lost_total{signal=\"traces\"} "));
    assert!(lost.and_then(|lost| lost.parse::<u64>().ok()) > Some(0), "{lost:?}");
    drop(listener);
}
