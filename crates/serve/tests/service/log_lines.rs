//! Tests of what a line of the decision log contains: no credentials of a request, and the gaps of
//! a history. Also tests explanations of recorded messages.

use super::log::log_options;
use super::{Running, start_with};
use rulec_serve::LogMode;
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
