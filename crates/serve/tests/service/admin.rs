//! Tests of the answers about the active rules, and of the operations that change the rules.

use super::{RULES, Running, start, start_with, write_rules};
use rulec_serve::Options;
use serde_json::{Value as Json, json};
use std::path::Path;

/// The SHA-256 hash of `secret`, which is the token of the tests.
pub(super) const SECRET_HASH: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

pub(super) fn with_tokens(options: &mut Options, folder: &Path) {
    let path = folder.join("tokens");
    let line = format!("ops decide,explain,admin {SECRET_HASH}\n");
    std::fs::write(&path, line).expect("it can be written");
    options.token_file = Some(path);
}

impl Running {
    pub(super) async fn change(
        &self,
        method: &str,
        path: &str,
        if_match: Option<&str>,
        body: &Json,
    ) -> super::Response {
        let method = method.parse().expect("a method");
        let request = self.client.request(method, format!("{}/v1/rules/support{path}", self.url));
        let mut request = request.bearer_auth("secret").json(body);
        if let Some(tag) = if_match {
            request = request.header("if-match", tag);
        }
        self.send(request).await
    }

    async fn target(&self, text: &str) -> String {
        let body = json!({ "message": { "text": text } }).to_string();
        let answer = self.send(self.post_request("/v1/decide", &body).bearer_auth("secret")).await.json();
        answer["target"].as_str().unwrap_or_default().to_owned()
    }
}

#[tokio::test]
async fn rules_are_described() {
    let service = start(RULES).await;
    let overview = service.get("/v1/rules").await.json();
    let set = &overview["rules"][0];
    assert_eq!(
        (&set["name"], &set["origin"], &set["source"]["loaded"]),
        (&json!("support"), &json!("source"), &json!(1))
    );
    let response = service.get("/v1/rules/support").await;
    let rules = response.json();
    assert_eq!(rules["hash"].as_str().expect("a hash").len(), 64);
    let names: Vec<_> =
        rules["entries"].as_array().expect("a list").iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["routes", "people", "mood"]);
    assert_eq!(rules["input"]["properties"]["n"]["type"], json!(["integer", "null"]));
    assert_eq!(rules["handlers"]["billing"]["properties"]["amount"]["type"], "integer");
    assert_eq!(rules["payloads"]["order"]["properties"]["item"]["type"], "string");
    assert_eq!(rules["workflows"], json!(["twice"]));
    let tag = response.header("etag").to_owned();
    let request = service.client.get(format!("{}/v1/rules/support", service.url));
    let again = service.send(request.header("if-none-match", &tag)).await;
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, &*tag));
    assert_eq!(service.get("/v1/rules/other").await.status, 404);
}

#[tokio::test]
async fn a_broken_version_leaves_the_last_good_one_in_force() {
    let service = start("default -> first").await;
    let target = || async { service.post("/v1/decide", r#"{"message": {}}"#).await.json()["target"].clone() };
    assert_eq!(target().await, "first");
    write_rules(service.folder.path(), "route broken");
    let is_refused = |answer: &Json| answer["rules"][0]["source"]["refused"] == 1;
    let overview = service.wait_for("/v1/rules", is_refused).await;
    assert!(overview["rules"][0]["source"]["error"].is_string(), "{overview}");
    assert_eq!(target().await, "first");
    assert!(
        service.get("/metrics").await.text().contains("rulec_refused_versions_total{rules=\"support\"} 1")
    );
    write_rules(service.folder.path(), "default -> second");
    service.wait_for("/v1/rules", |answer| answer["rules"][0]["source"]["loaded"] == 2).await;
    assert_eq!(target().await, "second");
}

#[tokio::test]
async fn edits_are_applied_and_rolled_back() {
    let service = start_with("route a when text == \"a\" -> one\ndefault -> chat", with_tokens).await;
    let describe = || async {
        let request = service.client.get(format!("{}/v1/rules/support", service.url));
        service.send(request.bearer_auth("secret")).await
    };
    let before = describe().await;
    let (tag, generation) = (before.header("etag").to_owned(), before.json()["generation"].clone());
    let edits = json!({"edits": [{"insert": "route b when text == \"b\" -> two"}]});
    let edited = service.change("POST", "/edits", Some(&tag), &edits).await;
    assert_eq!(edited.status, 200, "{}", edited.text());
    assert_eq!(service.target("b").await, "two");
    let stale = service.change("POST", "/edits", Some(&tag), &edits).await;
    assert_eq!(stale.status, 412);
    let twice = service.change("POST", "/edits", None, &edits).await;
    assert_eq!(twice.status, 409, "{}", twice.text());
    let wrong = json!({"edits": [{"insert": "route c when -> x"}]});
    let wrong = service.change("POST", "/edits", None, &wrong).await;
    assert_eq!((wrong.status, wrong.json()["code"].is_string()), (409, true), "{}", wrong.text());
    let removed = json!({"edits": [{"remove": "a"}]});
    assert_eq!(service.change("POST", "/edits", None, &removed).await.status, 200);
    assert_eq!(service.target("a").await, "chat");
    let back = json!({ "generation": generation });
    let back = service.change("POST", "/rollback", None, &back).await;
    assert_eq!(back.status, 200, "{}", back.text());
    assert_eq!((&*service.target("a").await, &*service.target("b").await), ("one", "chat"));
    let unknown = service.change("POST", "/rollback", None, &json!({"generation": 999_999_999})).await;
    assert_eq!(unknown.status, 409);
    let events = service.events.lock().expect("no test panics here");
    let made: Vec<_> = events.iter().map(|event| (event["action"].clone(), event["by"].clone())).collect();
    assert!(
        made.contains(&(json!("edit"), json!("ops"))) && made.contains(&(json!("rollback"), json!("ops")))
    );
    assert_eq!(events.iter().filter(|event| event["error"].is_string()).count(), 4, "{events:?}");
}

#[tokio::test]
async fn shadow_rules_are_compared_and_promoted() {
    let service = start_with("route a when text == \"a\" -> one\ndefault -> chat", with_tokens).await;
    let none = service.change("POST", "/promote", None, &json!({})).await;
    assert_eq!(none.status, 409);
    let shadow = json!({"edits": [{"replace": "route a when text == \"a\" -> other"}]});
    let set = service.change("PUT", "/shadow", None, &shadow).await;
    assert_eq!(set.status, 200, "{}", set.text());
    assert_eq!((&*service.target("a").await, &*service.target("x").await), ("one", "chat"));
    let request = service.client.get(format!("{}/v1/rules", service.url)).bearer_auth("secret");
    let counts = service.send(request).await.json()["rules"][0]["shadow"].clone();
    assert_eq!((&counts["same"], &counts["different"]), (&json!(1), &json!(1)));
    assert_eq!(service.change("POST", "/promote", None, &json!({})).await.status, 200);
    assert_eq!(service.target("a").await, "other");
    let text = json!({"text": "default -> everyone"});
    assert_eq!(service.change("PUT", "/shadow", None, &text).await.status, 200);
    assert_eq!(service.change("DELETE", "/shadow", None, &json!({})).await.status, 200);
    assert_eq!(service.target("a").await, "other");
}

#[tokio::test]
async fn only_signed_rules_are_loaded_if_keys_are_given() {
    let key = include_str!("../../../../tests/keys/only-for-tests.pem");
    let key = rulec::SigningKey::from_pem(key).expect("a key");
    let signed = rulec::Rules::from_text("default -> signed").expect("they compile");
    let signed = signed.to_signed_artifact(true, &key);
    let service = start_with("default -> text", |options, folder| {
        std::fs::write(folder.join("support.rules"), &signed).expect("it can be written");
        options.trusted_keys = vec![key.verifying_key()];
    })
    .await;
    let body = r#"{"message": {}}"#;
    assert_eq!(service.post("/v1/decide", body).await.json()["target"], "signed");
    write_rules(service.folder.path(), "default -> text");
    let refused = service.wait_for("/v1/rules", |answer| answer["rules"][0]["source"]["refused"] == 1).await;
    let error = refused["rules"][0]["source"]["error"].as_str().expect("a reason");
    assert!(error.contains("has no signature"), "{error}");
    assert_eq!(service.post("/v1/decide", body).await.json()["target"], "signed");
}

/// Right after an edit, each kind of answer names the generation of the edited rules.
#[tokio::test]
async fn an_answer_has_the_generation_of_the_rules_that_decided() {
    let service = start_with("route a when text == \"a\" -> one\ndefault -> chat", with_tokens).await;
    for number in 0..3 {
        let edit = json!({"edits": [{"insert": format!("route n{number} when text == \"n{number}\" -> h{number}")}]});
        let edited = service.change("POST", "/edits", None, &edit).await.json();
        for explain in [false, true] {
            let body = json!({ "message": { "text": format!("n{number}") }, "explain": explain });
            let request = service.post_request("/v1/decide", &body.to_string()).bearer_auth("secret");
            let answer = service.send(request).await;
            assert_eq!(answer.json()["target"], format!("h{number}"));
            assert_eq!(answer.header("rulec-generation"), edited["generation"].to_string(), "{explain}");
        }
    }
}

/// The entity tag, the generation, the text and the handlers of one answer belong to the same
/// version of the rules. This holds also while the rules are edited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_description_is_of_one_generation() {
    let service = start_with("default -> chat", with_tokens).await;
    let edit = async {
        for number in 0..20 {
            let edit =
                json!({"edits": [{"insert": format!("route n{number} when n == {number} -> h{number}")}]});
            assert_eq!(service.change("POST", "/edits", None, &edit).await.status, 200);
        }
    };
    let describe = async {
        let mut seen = 0;
        while seen < 20 {
            let request = service.client.get(format!("{}/v1/rules/support", service.url));
            let response = service.send(request.bearer_auth("secret")).await;
            let rules = response.json();
            let tag =
                format!("\"{}-{}\"", rules["generation"], &rules["hash"].as_str().expect("a hash")[..16]);
            assert_eq!(response.header("etag"), tag);
            let texts = rules["texts"].as_object().expect("texts").values();
            let routes: usize =
                texts.map(|text| text.as_str().expect("a text").matches("route n").count()).sum();
            seen = rules["handlers"].as_object().expect("handlers").len() - 1;
            assert_eq!(routes, seen);
        }
    };
    tokio::join!(edit, describe);
}

#[tokio::test]
async fn reloads_read_the_tokens_again_and_are_audited() {
    let service = start_with("default -> chat", |options, folder| {
        with_tokens(options, folder);
        options.log = Some(super::log::log_options(folder.join("log.jsonl"), rulec_serve::LogMode::Sync));
    })
    .await;
    let add_token = |name: &str, hash: &str| {
        let path = service.folder.path().join("tokens");
        let old = std::fs::read_to_string(&path).expect("a file");
        std::fs::write(&path, format!("{old}{name} decide {hash}\n")).expect("it can be written");
    };
    let running = &service;
    let wait_for_token = |token: &'static str| async move {
        let decide = || running.post_request("/v1/decide", r#"{"message": {}}"#).bearer_auth(token);
        while running.send(decide()).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    add_token("one", "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30");
    let reload = service.client.post(format!("{}/v1/reload", service.url)).bearer_auth("secret");
    assert_eq!(service.send(reload).await.status, 202);
    wait_for_token("reader").await;
    add_token("two", "61704f674c7b4ade5327ddcf63706766f2e0a5513c531f039021589bbba0a3f4");
    service.stop.send(rulec_serve::ServerSignal::Reload).await.expect("it runs");
    wait_for_token("decider").await;
    write_rules(service.folder.path(), "default -> other");
    let is_loaded = |event: &Json| event["event"] == "in_force" && event["origin"] == "source";
    while !service.events.lock().expect("no test panics here").iter().any(is_loaded) {
        tokio::task::yield_now().await;
    }
    let folder = service.end().await;
    let log = std::fs::read_to_string(folder.path().join("log.jsonl")).expect("a log");
    for part in ["\"by\":\"ops\"", "\"by\":\"SIGHUP\"", "\"in_force\":{"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    let lines = log.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    let mut about_rules = lines.filter(|line| line["change"].is_object() || line["in_force"].is_object());
    assert!(about_rules.all(|line| line["time"].as_str().is_some_and(|time| time.ends_with('Z'))), "{log}");
}
