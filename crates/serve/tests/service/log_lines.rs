//! Tests of what a line of the decision log contains: no credentials of a request, and the gaps of
//! a history. Also tests explanations of recorded messages, and which decisions are logged.

use super::log::log_options;
use super::{RULES, Running, start_with};
use rulec_serve::{LogMode, LogOptions, LogSampling};
use serde_json::{Value as Json, json};

const MASK: &str = "\u{2022}\u{2022}\u{2022}";

async fn start_logging(rules: &str) -> Running {
    start_with(rules, |options, folder| {
        options.log = Some(log_options(folder.join("log.jsonl"), LogMode::Sync));
    })
    .await
}

/// Returns the text of the log, and its lines about decisions.
fn read(service: &Running) -> (String, Vec<Json>) {
    let text = std::fs::read_to_string(service.folder.path().join("log.jsonl")).expect("a file");
    let lines = text.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    let lines = lines.filter(|line| line["entry"].is_string()).collect();
    (text, lines)
}

#[tokio::test]
async fn credentials_in_headers_are_masked() {
    let service = start_logging(
        "route known when headers[\"x-api-key\"] == \"key-4711\" -> allow(key: headers[\"x-api-key\"])\n\
         default -> deny",
    )
    .await;
    let request = service.client.get(format!("{}/ext_authz/public/a", service.url));
    let request = request.header("cookie", "sid=secret-1").header("proxy-authorization", "Basic secret-2");
    let request = request.header("x-api-key", "key-4711").header("x-team", "a");
    assert_eq!(service.send(request).await.status, 200);
    // The message of Envoy's plugin for Open Policy Agent.
    let headers = json!({ "Authorization": "Bearer secret-3", "accept": "text" });
    let input = json!({ "input": { "attributes": { "request": { "http": { "headers": headers } } } } });
    assert_eq!(service.post("/v1/data", &input.to_string()).await.status, 200);
    let (text, lines) = read(&service);
    assert!(!text.contains("secret-") && !text.contains("key-4711"), "{text}");
    let sent = &lines[0]["message"]["headers"];
    assert_eq!((&sent["cookie"], &sent["x-team"]), (&json!(MASK), &json!("a")));
    assert_eq!((&sent["proxy-authorization"], &sent["x-api-key"]), (&json!(MASK), &json!(MASK)));
    assert_eq!((&lines[0]["route"], &lines[0]["args"]["key"]), (&json!("known"), &json!(MASK)));
    let sent = &lines[1]["message"]["attributes"]["request"]["http"]["headers"];
    assert_eq!(*sent, json!({ "Authorization": MASK, "accept": "text" }));
}

const REMEMBERS: &str = "input { now: datetime, session?: string, n?: int }
history by session keep 1h at most 2
route again when any p in history within 10m: p.n == n -> deny
default -> run";

fn body(n: u32, second: u32, more: Json) -> String {
    let message = json!({ "now": format!("2026-01-31T12:00:{second:02}Z"), "session": "a", "n": n });
    let mut body = json!({ "message": message });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
    body.to_string()
}

#[tokio::test]
async fn a_gap_of_the_history_is_logged() {
    let service = start_logging(REMEMBERS).await;
    service.post("/v1/decide", r#"{"message": {"now": "2026-01-31T12:00:00Z"}}"#).await.json();
    for second in 0..4 {
        service.post("/v1/decide", &body(second, second, json!({ "record": true }))).await.json();
    }
    let (_, lines) = read(&service);
    let gaps: Vec<_> = lines.iter().map(|line| line["history_gap"].as_str()).collect();
    assert_eq!(gaps, [Some("no_key"), None, None, None, Some("dropped")]);
}

/// The explanation must come from the messages that the decision has read, without the message that
/// the request records.
#[tokio::test]
async fn a_recorded_decision_is_explained_by_the_history_that_it_has_read() {
    let service = start_logging(REMEMBERS).await;
    let ask = |second| body(7, second, json!({ "record": true, "explain": true }));
    for (second, chosen) in [(0, "default"), (1, "again"), (2, "again")] {
        let answer = service.post("/v1/decide", &ask(second)).await.json();
        assert_eq!((&answer["chosen"], &answer["explanation"]["chosen"]), (&json!(chosen), &json!(chosen)));
        let shown = &answer["explanation"]["trace"]["routes"][0]["when"]["elements"]["shown"];
        let count = shown.as_array().map_or(0, Vec::len);
        assert_eq!(count, usize::from(second > 0), "{answer}");
        if count > 0 {
            let element = &shown[0]["element"]["value"];
            assert_eq!((&element["n"], element.get("#")), (&json!(7), None), "{element}");
        }
    }
}

/// Starts a service that logs the given shares of decisions.
async fn start_sampling(shares: &[&str], includes_exceptional: bool) -> Running {
    start_with(RULES, |options, folder| {
        let shares = shares.iter().map(|share| share.parse().expect("a share")).collect();
        let log = log_options(folder.join("log.jsonl"), LogMode::Sync);
        options.log = Some(LogOptions { sampling: LogSampling { shares, includes_exceptional }, ..log });
    })
    .await
}

/// Decides messages for the routes `refund`, `boss` and `default`, and one that violates the input.
/// Returns the routes of the lines, the shares in them, and the number of decisions left out.
async fn sampled(service: Running) -> (Vec<Json>, Vec<Json>, u64) {
    for n in 0..100 {
        for text in ["refund", "human"] {
            let body = json!({ "message": { "text": text, "n": n * 2 } });
            service.post("/v1/decide", &body.to_string()).await.json();
        }
    }
    service.post("/v1/decide", r#"{"message": {"text": "refund", "n": "five"}}"#).await.json();
    let metrics = service.get("/metrics").await.text();
    let count = metrics.lines().find_map(|line| line.strip_prefix("rulec_log_sampled_out_total "));
    let folder = service.end().await;
    let text = std::fs::read_to_string(folder.path().join("log.jsonl")).expect("a file");
    let lines = super::log::read_lines(&text);
    let lines: Vec<&Json> = lines.iter().filter(|line| line["entry"].is_string()).collect();
    let field = |name: &str| lines.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    (field("route"), field("sample_share"), count.and_then(|count| count.parse().ok()).expect("a count"))
}

#[tokio::test]
async fn a_share_of_the_decisions_is_logged() {
    let count = |routes: &[Json], route: &str| routes.iter().filter(|found| **found == route).count();
    let (routes, shares, left_out) = sampled(start_sampling(&["0.2", "people/boss=1"], false).await).await;
    // The share of a route counts more than the share of all decisions.
    assert_eq!(count(&routes, "boss"), 49);
    let (refunds, clerks) = (count(&routes, "refund"), count(&routes, "default"));
    assert!((5..40).contains(&refunds) && (1..30).contains(&clerks), "{refunds} {clerks}");
    assert_eq!(
        routes.len() as u64 + left_out,
        201,
        "the metrics count the decisions that the log leaves out"
    );
    for (route, share) in routes.iter().zip(&shares).take(routes.len() - 1) {
        assert_eq!(*share, if route == "boss" { Json::Null } else { json!(0.2) }, "{route}");
    }
    assert_eq!(shares.last(), Some(&Json::Null), "a message that violates the input is always logged");
    // The hash depends on nothing but the message, so a second service makes the same choice.
    let again = sampled(start_sampling(&["0.2", "people/boss=1"], false).await).await;
    assert_eq!(again, (routes, shares, left_out));
}

#[tokio::test]
async fn exceptional_decisions_can_be_left_out_too() {
    let (routes, _, left_out) = sampled(start_sampling(&["0", "other:*=1"], false).await).await;
    assert_eq!((routes, left_out), (vec![json!("refund")], 200));
    let (routes, _, left_out) = sampled(start_sampling(&["0", "support:routes/refund=0"], true).await).await;
    assert_eq!((routes, left_out), (Vec::new(), 201));
}

#[tokio::test]
async fn all_services_keep_the_same_traces() {
    let service = start_sampling(&["0.5"], false).await;
    for number in 1..40_u32 {
        let trace = format!("{number:032x}");
        for text in ["refund", "human"] {
            let body = json!({ "message": { "text": text } }).to_string();
            let header = format!("00-{trace}-00f067aa0ba902b7-01");
            service.send(service.post_request("/v1/decide", &body).header("traceparent", header)).await;
        }
    }
    let folder = service.end().await;
    let text = std::fs::read_to_string(folder.path().join("log.jsonl")).expect("a file");
    let lines = super::log::read_lines(&text);
    let logged = |route: &str| -> Vec<String> {
        let lines = lines.iter().filter(|line| line["route"] == route);
        lines.filter_map(|line| line["trace_id"].as_str().map(str::to_owned)).collect()
    };
    let refunds = logged("refund");
    assert!((5..35).contains(&refunds.len()), "{refunds:?}");
    assert_eq!(refunds, logged("default"), "the decisions of a trace are kept together");
}

#[tokio::test]
async fn a_recorded_decision_is_never_left_out() {
    let rules = "input { now: datetime, session: string }\nhistory by session keep 1h\n\
        route again when any p in history within 10m: p.session == session -> deny\ndefault -> run\n";
    let service = start_with(rules, |options, folder| {
        let sampling =
            LogSampling { shares: vec!["0".parse().expect("a share")], includes_exceptional: true };
        let log = log_options(folder.join("log.jsonl"), LogMode::Sync);
        options.log = Some(LogOptions { sampling, ..log });
    })
    .await;
    for record in [true, false] {
        let message = json!({ "now": "2026-01-31T12:00:00Z", "session": "a" });
        let body = json!({ "message": message, "record": record });
        service.post("/v1/decide", &body.to_string()).await.json();
    }
    let text = std::fs::read_to_string(service.folder.path().join("log.jsonl")).expect("a file");
    let lines = super::log::read_lines(&text);
    assert_eq!(lines.iter().filter(|line| line["entry"].is_string()).count(), 1, "{text}");
}
