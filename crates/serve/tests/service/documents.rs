//! Tests of JSON documents of other systems as the rules of a service: a bad item is skipped and
//! shown, and a broken document leaves the last good version in force.

use super::admin::with_tokens;
use super::{Running, start_with};
use rulec_import::{DocumentOptions, Options as ImportOptions, System};
use rulec_serve::{EventSink, RuleSource, Server};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Flows of which one is good and one cannot be used.
fn flows(pattern: &str) -> String {
    json!([
        {"flow_id": "odd", "type": "keyword", "trigger_patterns": ["(?!x)"], "match_type": "regex"},
        {"flow_id": "greeting", "type": "keyword", "trigger_patterns": [pattern]},
    ])
    .to_string()
}

fn routes() -> String {
    json!([
        {"name": "files", "handler": "h", "condition": {"type": "TextCondition", "contains": ["file"]}},
        {"name": "odd", "handler": "h", "condition": {"type": "Odd"}},
    ])
    .to_string()
}

fn choice() -> String {
    let condition = json!({
        "left": {"step_id": "s", "type": "number", "value": "n"},
        "operate": "number_greater_than",
        "right": {"type": "number", "value": 3},
    });
    json!([
        {"branch_id": "default"},
        {"branch_id": "many", "is_default": false, "logic": "and", "conditions": [condition]},
        {"branch_id": "odd", "is_default": false, "logic": "XOR", "conditions": [condition]},
    ])
    .to_string()
}

fn context() -> String {
    json!({"workflows": {"sales": {"status": "READY"}, "odd": 7}, "subagents": {}}).to_string()
}

/// Starts a service with a rule set for each kind of document. `bot` has the flows.
async fn start() -> Running {
    start_with("default -> chat", |options, folder| {
        let write = |(name, text): (&str, String)| {
            let path = folder.join(format!("{name}.json"));
            std::fs::write(&path, text).expect("it can be written");
            RuleSource::from_file(name, path)
        };
        let documents =
            [("bot", flows("hi")), ("router", routes()), ("step", choice()), ("guard", context())];
        options.rules.extend(documents.map(write));
    })
    .await
}

impl Running {
    async fn ask(&self, path: &str, body: Json) -> Json {
        self.post(path, &body.to_string()).await.json()
    }

    /// Returns the description of a rule set in `GET /v1/rules`.
    async fn described(&self, name: &str) -> Json {
        let rules = self.get("/v1/rules").await.json();
        let sets = rules["rules"].as_array().expect("a list");
        sets.iter().find(|set| set["name"] == name).expect("the rule set").clone()
    }

    async fn flow_of(&self, text: &str) -> Json {
        let body = json!({"rules": "bot", "message": {"text": text}});
        self.ask("/v1/decide", body).await["flow"].clone()
    }

    fn rewrite(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("it can be written");
    }
}

#[tokio::test]
async fn each_document_is_served_without_its_bad_item() {
    let service = start().await;
    assert_eq!(service.flow_of("hi").await, "greeting");
    let started = json!({"rules": "bot", "message": {"text": "hi"}});
    assert_eq!(service.ask("/v1/flows", started).await["flow"], "greeting");
    let routed = json!({"rules": "router", "message": {"text": "my file"}});
    assert_eq!(service.ask("/v1/decide", routed).await["chosen"], "files");
    let chosen = json!({"rules": "step", "message": {"steps": {"s": {"n": 5}}}});
    assert_eq!(service.ask("/v1/decide", chosen).await["branch"], "many");
    for (name, pointer) in [
        ("bot", "/0/trigger_patterns/0"),
        ("router", "/1/condition/type"),
        ("step", "/2/logic"),
        ("guard", "/workflows/odd"),
    ] {
        let described = service.described(name).await;
        let skipped = &described["document"]["skipped"][0];
        assert_eq!(
            (&skipped["name"], &skipped["outcome"]),
            (&"odd".into(), &"skipped".into()),
            "{described}"
        );
        assert_eq!((&skipped["pointer"], &skipped["line"]), (&pointer.into(), &1.into()), "{described}");
        assert!(skipped["notes"][0].is_string(), "{described}");
        let full = service.get(&format!("/v1/rules/{name}")).await.json();
        let report = full["report"].as_array().expect("a report");
        assert!(report.len() > 1 && report.contains(skipped), "{report:?}");
    }
    let plain = service.described("support").await;
    assert_eq!((&plain["document"], &plain["source"]["error"]), (&Json::Null, &Json::Null));
    let metrics = service.get("/metrics").await.text();
    for expected in ["{rules=\"bot\"} 1", "{rules=\"support\"} 0"] {
        assert!(metrics.contains(&format!("rulec_skipped_items{expected}")), "{metrics}");
    }
    let events = service.events.lock().expect("no test panics here").clone();
    let skipped = events.iter().find(|event| event["event"] == "items_skipped" && event["rules"] == "bot");
    let item = skipped.expect("an event")["items"][0].as_str().expect("a text");
    assert!(item.starts_with("flow `odd` was skipped: ") && item.contains("line 1"), "{item}");
}

#[tokio::test]
async fn a_payload_context_judges_and_decides_nothing() {
    let service = start().await;
    let judge = async |workflow: &str, context: Option<Json>| {
        let payload = json!({"action_type": "execute_workflow", "workflow_id": workflow});
        let mut body = json!({"rules": "guard", "payload": payload});
        if let Some(context) = context {
            body["context"] = context;
        }
        let judged = service.ask("/v1/judge/execute_workflow", body).await;
        assert!(judged["outcome"].is_string(), "{judged}");
        judged["outcome"].clone()
    };
    assert_eq!((judge("sales", None).await, judge("other", None).await), ("accept".into(), "reject".into()));
    // The context of a request counts instead.
    let other = json!({"status": "READY", "inputs": {}, "nodes": {}});
    let other = json!({"workflows": {"other": other}, "subagents": {}});
    assert_eq!(judge("other", Some(other.clone())).await, "accept");
    assert_eq!(judge("sales", Some(other)).await, "reject");

    let refused = service.ask("/v1/decide", json!({"rules": "guard", "message": {}})).await;
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains("payloads are judged at `/v1/judge/KIND`"), "{detail}");

    // A new version of the document is the context of the next judgement.
    service.rewrite("guard.json", &context().replace("sales", "other"));
    while service.described("guard").await["source"]["loaded"] != 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!((judge("sales", None).await, judge("other", None).await), ("reject".into(), "accept".into()));
}

#[tokio::test]
async fn a_broken_document_leaves_the_last_good_one() {
    let service = start().await;
    service.rewrite("bot.json", &flows("hello"));
    while service.flow_of("hello").await != "greeting" {
        tokio::task::yield_now().await;
    }
    for (refused, (text, expected)) in
        [("[{\"flow_id\": ", "line 1"), ("{\"songs\": []}", "routes, choice, flows, context")]
            .iter()
            .enumerate()
    {
        service.rewrite("bot.json", text);
        let status = loop {
            let described = service.described("bot").await;
            if described["source"]["refused"] == refused + 1 {
                break described;
            }
            tokio::task::yield_now().await;
        };
        let error = status["source"]["error"].as_str().expect("an error");
        assert!(error.contains(expected), "{error}");
        assert_eq!(status["document"]["skipped"][0]["name"], "odd");
        assert_eq!(service.flow_of("hello").await, "greeting");
    }
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("rulec_refused_versions_total{rules=\"bot\"} 2"), "{metrics}");
    let events = service.events.lock().expect("no test panics here").clone();
    assert_eq!(events.iter().filter(|event| event["event"] == "refused").count(), 2);
}

/// Returns the error of a service that cannot start with this document.
async fn start_error(text: &str, document: DocumentOptions) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bot.json");
    std::fs::write(&path, text).expect("it can be written");
    let sink: EventSink = Arc::new(|_| {});
    let mut options = super::options(path, sink);
    options.rules[0].document = document;
    Server::bind(options).await.err().expect("it cannot start").to_string()
}

#[tokio::test]
async fn a_strict_service_refuses_a_bad_item() {
    let strict = DocumentOptions { options: ImportOptions::default().strict(), ..DocumentOptions::default() };
    let error = start_error(&flows("hi"), strict).await;
    assert!(
        error.contains("bot.json") && error.contains("flow `odd`") && error.contains("line 1"),
        "{error}"
    );
    let wrong = DocumentOptions { system: Some(System::Routes), ..DocumentOptions::default() };
    let error = start_error("{}", wrong).await;
    assert!(error.contains("bot.json"), "{error}");
    let literal =
        DocumentOptions { options: ImportOptions::default().literal(), ..DocumentOptions::default() };
    let error = start_error(&routes(), literal).await;
    assert!(error.contains("`flows`"), "{error}");
}

/// Starts a service with tokens whose rule set `support` is a document.
async fn start_with_document(text: &str) -> Running {
    start_with("", |options, folder| {
        let path = folder.join("support.json");
        std::fs::write(&path, text).expect("it can be written");
        options.rules = vec![RuleSource::from_file("support", path)];
        with_tokens(options, folder);
    })
    .await
}

#[tokio::test]
async fn rules_from_a_document_are_not_edited() {
    let service = start_with_document(&flows("hi")).await;
    let edits = json!({"edits": [{"insert": "route x when text == \"x\" -> x"}]});
    for (method, path) in [("POST", "/edits"), ("PUT", "/shadow")] {
        let refused = service.change(method, path, None, &edits).await;
        assert_eq!(refused.status, 409, "{}", refused.text());
        assert!(refused.text().contains("change the document"), "{}", refused.text());
    }
    // Other rules may decide next to the rules of a document.
    let text = json!({"text": "flow other keyword exact [\"hi\"] -> \"other\""});
    let shadowed = service.change("PUT", "/shadow", None, &text).await;
    assert_eq!(shadowed.status, 200, "{}", shadowed.text());
}

#[tokio::test]
async fn an_earlier_version_comes_back_with_its_context_and_report() {
    let service = start_with_document(&context()).await;
    let describe = async || {
        let request = service.client.get(format!("{}/v1/rules", service.url)).bearer_auth("secret");
        service.send(request).await.json()["rules"][0].clone()
    };
    let first = describe().await["generation"].clone();
    service.rewrite("support.json", &json!({"workflows": {"other": {"status": "READY"}}}).to_string());
    while describe().await["document"]["skipped"] != json!([]) {
        tokio::task::yield_now().await;
    }
    let rolled = service.change("POST", "/rollback", None, &json!({ "generation": first })).await;
    assert_eq!(rolled.status, 200, "{}", rolled.text());
    assert_eq!(describe().await["document"]["skipped"][0]["name"], "odd");
    let payload = json!({"action_type": "execute_workflow", "workflow_id": "sales"});
    let request =
        service.post_request("/v1/judge/execute_workflow", &json!({ "payload": payload }).to_string());
    assert_eq!(service.send(request.bearer_auth("secret")).await.json()["outcome"], "accept");
}
