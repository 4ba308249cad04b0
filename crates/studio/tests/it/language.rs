//! Tests that the server's texts are in the language that the page sends with each request.

use crate::support::{Answer, DESK, Open};
use rulec::Language;
use serde_json::{Value as Json, json};

/// Sends a request like a page that is shown in the given language.
fn ask(open: &Open, language: &str, method: &str, path: &str, body: &Json) -> Answer {
    let host = format!("127.0.0.1:{}", open.port);
    let headers = [
        ("host", host.as_str()),
        ("x-rulec-token", &open.token),
        ("content-type", "application/json"),
        ("accept-language", language),
    ];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    open.send(method, path, &headers, &body)
}

fn is_chinese(text: &str) -> bool {
    text.contains(|c: char| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

#[test]
fn what_is_said_of_rules_and_messages_is_said_in_the_language_of_the_page() {
    let open = Open::new(&[("desk.rules", DESK), ("input.jsonl", "{\"text\": \"hello\"}\n{broken\n")]);
    let (id, _) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    let replay = format!("/api/replays/{id}");
    let check = |text: &str| json!({"rules": 0, "file": "desk.rules", "text": text, "findings": true});
    let decide = json!({"version": {"rules": 0}, "entry": "routes", "message": "{\"text\": }"});
    let missing = json!({"version": {"rules": 0}, "entry": "tone", "message": "{}"});
    let other = json!({"version": {"rules": 0}, "entry": "nowhere", "message": "{}"});
    let near = json!({"version": {"rules": 0}, "entry": "routes", "message": "{\"text\": \"a refund\", \"ctx\": {\"amount\": 1.0}}"});
    let payload = json!({"version": {"rules": 0}, "entry": "respond", "message": "{\"response\": 3}"});
    let refund = json!({"version": {"rules": 0}, "entry": "routes", "message": "{\"text\": \"a refund\"}"});
    let report = json!({"version": {"rules": 0}});
    let kept = json!({"rules": 0, "stamp": "another", "messages": []});
    for (method, path, body, place) in [
        ("POST", "/api/check", check("route a when -> h"), "/diagnostics/0/message"),
        ("POST", "/api/check", check(DESK), "/diagnostics/0/message"),
        (
            "POST",
            "/api/check",
            check("default -> h\nroute a when text containss \"x\" -> h"),
            "/diagnostics/0/fixes/0/title",
        ),
        ("POST", "/api/decide", decide, "/message"),
        ("POST", "/api/decide", missing, "/left_out/0/reason"),
        ("POST", "/api/decide", other, "/message"),
        ("POST", "/api/decide", payload, "/violations/0/message"),
        ("POST", "/api/decide", refund.clone(), "/explanation/trace/routes/0/when/children/1/because/0"),
        ("POST", "/api/decide", refund, "/summary"),
        ("POST", "/api/near", near, "/0/fields/0/needs/0"),
        ("GET", replay.as_str(), Json::Null, "/refusals/0/message"),
        ("GET", replay.as_str(), Json::Null, "/counts/2/never"),
        ("POST", "/api/report", report, "/coverage/1/gap"),
        ("PUT", "/api/messages", kept, "/message"),
        ("GET", "/api/table?rules=0&table=nowhere", Json::Null, "/message"),
        ("GET", "/api/file?rules=0&file=nowhere", Json::Null, "/message"),
        ("GET", "/api/nowhere", Json::Null, "/message"),
    ] {
        let told = |language| {
            let answer = ask(&open, language, method, path, &body).json();
            let words = answer.pointer(place).and_then(Json::as_str);
            words.unwrap_or_else(|| panic!("{path} has no {place}: {answer}")).to_owned()
        };
        assert!(is_chinese(&told("zh")), "{path} {place}: {}", told("zh"));
        assert!(!is_chinese(&told("en")), "{path} {place}: {}", told("en"));
    }
}

/// Regression test: a report that was saved from a Chinese page opened in English, with Chinese
/// findings.
#[test]
fn a_report_is_in_the_language_of_who_asks_for_it() {
    let open = Open::new(&[("desk.rules", DESK)]);
    assert_eq!(open.get("/api/session")["language"], Json::Null);
    for language in ["en", "zh"] {
        let report = ask(&open, language, "POST", "/api/report", &json!({"version": {"rules": 0}})).json();
        assert_eq!(report["language"], language);
    }
}

#[test]
fn a_page_that_says_no_language_is_answered_in_that_of_the_command_line() {
    let open = Open::with(&[("desk.rules", DESK)], |options| options.language = Some(Language::Chinese));
    assert_eq!(open.get("/api/session")["language"], "zh");
    let (status, refusal) = open.refused("GET", "/api/table?rules=0&table=nowhere", Json::Null);
    assert_eq!((status, is_chinese(&refusal["message"].to_string())), (404, true), "{refusal}");
    // A request that the access control refuses gets its error in the same language.
    let host = format!("127.0.0.1:{}", open.port);
    let refused = open.send("GET", "/api/session", &[("host", host.as_str())], "");
    assert_eq!((refused.status, is_chinese(&refused.body)), (401, true), "{refused:?}");
}
