//! Tests of the live traffic: counts of the last minute, near misses and unknown conditions.

use super::admin::SECRET_HASH;
use super::{Running, start, start_with};
use serde_json::{Value as Json, json};

const RULES: &str = r#"
input { text?: string, n?: int, phone?: string @private }
route big when text contains "refund" and n > 5 -> billing
route secret when text contains "call" and phone == "555-0100" -> caller
route asked when text contains "help" -> chat
"#;

impl Running {
    /// Sends a message repeatedly, until the traffic shows its near misses. The service stores only
    /// some messages for the traffic.
    async fn near_misses_of(&self, message: Json) -> Json {
        let body = json!({ "message": message }).to_string();
        loop {
            self.post("/v1/decide", &body).await;
            let traffic = self.get("/v1/traffic").await.json();
            let near = traffic["rules"][0]["near_misses"].as_array().expect("a list");
            let is_kept = |kept: &&Json| kept["route"] == "big" || kept["route"] == "secret";
            if near.iter().any(|near| is_kept(&near)) {
                return traffic["rules"][0].clone();
            }
            tokio::task::yield_now().await;
        }
    }
}

fn sum(counts: &Json) -> u64 {
    counts["per_second"].as_array().expect("a list").iter().filter_map(Json::as_u64).sum()
}

#[tokio::test]
async fn decisions_of_the_last_minute_are_counted() {
    let service = start(RULES).await;
    for text in ["help", "help me", "other"] {
        service.post("/v1/decide", &json!({ "message": { "text": text } }).to_string()).await;
    }
    service.post("/v1/batch", r#"{"messages": [{"text": "help"}, {"text": 5}, 7]}"#).await;
    let traffic = service.get("/v1/traffic").await.json();
    let rules = &traffic["rules"][0];
    assert_eq!((&traffic["seconds"], &rules["name"]), (&json!(60), &json!("support")));
    let routes = rules["routes"].as_array().expect("a list");
    assert_eq!(
        (routes.len(), &routes[0]["route"], &routes[0]["entry"]),
        (1, &json!("asked"), &json!("routes"))
    );
    assert_eq!((&routes[0]["total"], sum(&routes[0])), (&json!(3), 3));
    let totals =
        ["undecided", "violations", "invalid"].map(|name| (&rules[name]["total"], sum(&rules[name])));
    assert_eq!(totals, [(&json!(2), 2), (&json!(1), 1), (&json!(1), 1)]);
    assert_eq!(rules["undecided"]["per_second"].as_array().map(Vec::len), Some(60));
}

#[tokio::test]
async fn near_misses_are_shown_and_private_values_masked() {
    let service = start(RULES).await;
    let message = json!({ "text": "call me", "phone": "555-0199" });
    let rules = service.near_misses_of(message).await;
    let near = &rules["near_misses"][0];
    assert_eq!((&near["route"], &near["chosen"]), (&json!("secret"), &Json::Null));
    let because = near["because"][0].as_str().expect("a text");
    assert!(because.contains("phone == \"555-0100\"` does not hold"), "{because}");
    assert!(!rules.to_string().contains("555-0199"), "{rules}");
}

/// Returns the counters of the metrics whose lines begin with `start`.
async fn counters(service: &Running, start: &str) -> Vec<(String, u64)> {
    let text = service.get("/metrics").await.text();
    let lines = text.lines().filter(|line| line.starts_with(start));
    let counter = |line: &str| {
        let (name, count) = line.rsplit_once(' ').expect("a counter");
        (name.to_owned(), count.parse().expect("a count"))
    };
    lines.map(counter).collect()
}

#[tokio::test]
async fn the_metrics_count_unknown_conditions() {
    let service = start(RULES).await;
    service.near_misses_of(json!({ "text": "a refund" })).await;
    let unknown = counters(&service, "rulec_unknown_conditions_total").await;
    let name = r#"rulec_unknown_conditions_total{rules="support",route="big",condition="n > 5"}"#;
    assert_eq!(unknown.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), [name]);
    let explained = counters(&service, "rulec_explained_messages_total").await;
    assert!(unknown[0].1 >= 1 && explained[0].1 >= unknown[0].1, "{unknown:?} {explained:?}");
    assert_eq!(counters(&service, "rulec_unknown_conditions_total").await, unknown, "each is counted once");
}

#[tokio::test]
async fn the_number_of_counted_conditions_is_bounded() {
    let routes = (0..300).map(|n| format!("route r{n} when text contains \"refund\" and n{n} > 5 -> a\n"));
    let service = start(&routes.collect::<String>()).await;
    service.post("/v1/decide", r#"{"message": {"text": "a refund"}}"#).await;
    let unknown = counters(&service, "rulec_unknown_conditions_total").await;
    assert_eq!(unknown.len(), 201);
    let other = unknown.iter().find(|(name, _)| name.contains("route=\"_other\"")).expect("the rest");
    assert_eq!(other.1, 100);
}

#[tokio::test]
async fn unknown_conditions_are_counted() {
    let service = start(RULES).await;
    let rules = service.near_misses_of(json!({ "text": "a refund" })).await;
    let unknown = &rules["unknown"][0];
    assert_eq!((&unknown["route"], &unknown["condition"]), (&json!("big"), &json!("n > 5")));
    assert!(unknown["because"][0].as_str().is_some_and(|why| why.contains("missing")), "{unknown}");
    assert!(unknown["count"].as_u64() >= Some(1));
    let request = service.client.get(format!("{}/v1/traffic", service.url));
    let chinese = service.send(request.header("accept-language", "zh-CN,en;q=0.5")).await.json();
    let because = chinese["rules"][0]["unknown"][0]["because"][0].as_str().expect("a text");
    assert!(!because.is_ascii(), "{because}");
}

/// Regression test: a near miss was explained with messages that were recorded later, so rules with
/// a history had no near misses.
#[tokio::test]
async fn near_misses_read_the_history_of_their_decision() {
    let text = "input { text?: string, now: datetime }\nhistory keep 1h\n\
        route big when text == \"pay\" and (count p in history within 1m: true) > 2 -> deny\n\
        default -> run";
    for record in [true, false] {
        let service = start(text).await;
        let message = json!({ "text": "pay", "now": "2026-01-31T12:00:00Z" });
        let body = json!({ "message": message, "record": record }).to_string();
        assert_eq!(service.post("/v1/decide", &body).await.json()["target"], "run");
        for _ in 0..5 {
            service.post("/v1/observe", &json!({ "message": message }).to_string()).await;
        }
        let rules = service.get("/v1/traffic").await.json()["rules"][0].clone();
        let near = rules["near_misses"].as_array().expect("a list");
        assert_eq!(
            (near.len(), &near[0]["route"], &near[0]["chosen"]),
            (1, &json!("big"), &json!("default"))
        );
        let because = near[0]["because"][0].as_str().expect("a text");
        assert!(because.contains("(count p in history within 1m: true) = 0"), "{because}");
    }
}

/// Regression test: only the credentials of the message itself were masked, but the explanation of
/// a near miss shows the history too.
#[tokio::test]
async fn near_misses_mask_the_credentials_of_earlier_messages() {
    let text = "input { text?: string, now: datetime, headers?: dict<string> }\nhistory keep 1h\n\
        route leak when text == \"pay\" and previous.headers.authorization == \"Bearer zzz\" -> deny\n\
        default -> run";
    let service = start(text).await;
    let message = |token: &str| json!({ "text": "pay", "now": "2026-01-31T12:00:00Z", "headers": { "authorization": token } });
    service.post("/v1/observe", &json!({ "message": message("Bearer SECRET111") }).to_string()).await;
    let body = json!({ "message": message("Bearer SECRET222") }).to_string();
    assert_eq!(service.post("/v1/decide", &body).await.json()["target"], "run");
    let rules = service.get("/v1/traffic").await.json()["rules"][0].clone();
    assert_eq!(rules["near_misses"][0]["route"], "leak", "{rules}");
    assert!(!rules.to_string().contains("SECRET"), "{rules}");
}

#[tokio::test]
async fn traffic_needs_one_of_two_scopes() {
    let service = start_with(RULES, |options, folder| {
        let path = folder.join("tokens");
        let hash = |token: &str| {
            use sha2::Digest as _;
            let bytes = sha2::Sha256::digest(token);
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let line = |scope: &str| format!("{scope} {scope} {}\n", hash(scope));
        let lines = ["decide", "explain", "admin"].map(line).concat();
        assert!(!lines.contains(SECRET_HASH));
        std::fs::write(&path, lines).expect("it can be written");
        options.token_file = Some(path);
    })
    .await;
    for (scope, status) in [("decide", 403), ("explain", 200), ("admin", 200), ("none", 401)] {
        let request = service.client.get(format!("{}/v1/traffic", service.url)).bearer_auth(scope);
        assert_eq!(service.send(request).await.status, status, "{scope}");
    }
}
