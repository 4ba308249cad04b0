//! Tests of the requests for decisions, payloads, workflows, analyses and runs of `test` blocks.

use super::{RULES, start};
use rulec::{Rules, payload::Judge};
use serde_json::{Value as Json, json};

fn library_answer(rules: &Rules, entry: &str, message: &str) -> String {
    let entry = rules.entry(entry).expect("an entry");
    let mut bytes = Vec::new();
    entry.decide_line(message.as_bytes()).expect("a message").write_json(&mut bytes);
    String::from_utf8(bytes).expect("UTF-8")
}

#[tokio::test]
async fn a_decision_has_the_bytes_of_the_library() {
    let service = start(RULES).await;
    let rules = Rules::from_text(RULES).expect("they compile");
    for (entry, message) in [
        ("routes", r#"{"text": "a refund", "n": 5, "phone": "1"}"#),
        ("routes", r#"{"text": "a human", "n": 500}"#),
        ("routes", r#"{"text": "hello"}"#),
        ("routes", r#"{"text": 7}"#),
        ("people", r#"{"n": 1}"#),
    ] {
        let body = format!(r#"{{"entry": "{entry}", "message": {message}}}"#);
        let response = service.post("/v1/decide", &body).await;
        assert_eq!((response.status, response.header("content-type")), (200, "application/json"));
        assert_eq!(response.text(), library_answer(&rules, entry, message));
        let generation: u64 = response.header("rulec-generation").parse().expect("a number");
        assert!(generation > 0);
    }
}

/// The page on the service shows how to ask a router for the next nodes.
#[tokio::test]
async fn a_router_names_the_next_nodes_as_documented() {
    let page = include_str!("../../../../docs/serve.md");
    let example = page.split("$ rulec serve examples/council.rules\n").nth(1).expect("the example");
    let (command, answer) = example.split_once('\n').expect("a command and its answer");
    let body = command.split('\'').nth(3).expect("the body of the request");
    let service = start(include_str!("../../../../examples/council.rules")).await;
    let response = service.post("/v1/decide", body).await;
    assert_eq!(Some(response.text()), answer.lines().next().map(str::to_owned));
}

#[tokio::test]
async fn options_add_parts_to_the_answer() {
    let service = start(RULES).await;
    let body = json!({
        "message": {"text": "hello", "phone": "555"}, "explain": true, "matched": true, "why_not": "refund"
    });
    let answer = service.post("/v1/decide", &body.to_string()).await.json();
    assert_eq!(answer["chosen"], "default");
    assert_eq!(answer["matched"], json!([]));
    assert_eq!(answer["why_not"]["route"], "refund");
    assert!(answer["why_not"]["remedy"]["change"]["fields"].is_array(), "{answer}");
    assert_eq!(answer["explanation"]["entry"], "routes");
    let rules = Rules::from_path(service.folder.path().join("support.rules")).expect("they compile");
    let message = json!({"text": "hello", "phone": "555"});
    assert_eq!(answer["explanation"], json!(rules.explain(&message)));
    let choice = service.post("/v1/decide", r#"{"entry": "mood", "message": {"text": "no!"}}"#).await.json();
    assert_eq!((&choice["branch"], &choice["default"]), (&json!("angry"), &json!(false)));
}

#[tokio::test]
async fn errors_are_problems_with_the_codes_of_the_library() {
    let service = start(RULES).await;
    let cases = [
        (r#"{"message": {"text": "a", "text": "b"}}"#, 400, json!("E0604")),
        (r#"{"message": [1]}"#, 400, json!("E0602")),
        (r#"{"message": {"text": "#, 400, json!("E0601")),
        (r#"{"message": {}, "entri": "x"}"#, 400, Json::Null),
        (r#"{}"#, 400, Json::Null),
        (r#"{"message": {}, "entry": "peeple"}"#, 404, Json::Null),
        (r#"{"message": {}, "rules": "other"}"#, 404, Json::Null),
    ];
    for (body, status, code) in cases {
        let response = service.post("/v1/decide", body).await;
        let problem = response.json();
        assert_eq!(
            (response.status, &problem["code"], &problem["status"]),
            (status, &code, &json!(status)),
            "{problem}"
        );
        assert_eq!(response.header("content-type"), "application/problem+json");
        assert!(!problem["detail"].as_str().expect("a text").is_empty());
    }
    let near = service.post("/v1/decide", r#"{"message": {}, "entry": "peeple"}"#).await.json();
    assert!(near["detail"].as_str().expect("a text").contains("did you mean `people`?"), "{near}");
    assert_eq!(service.get("/v1/nothing").await.status, 404);
    assert_eq!(service.get("/v1/decide").await.status, 405);
    let request = service.client.post(format!("{}/v1/decide", service.url)).body("{}");
    assert_eq!(service.send(request).await.status, 415);
}

/// Returns `count` lines of several kinds: valid messages, empty lines and invalid JSON. Also
/// returns the lines that `rulec run` prints for them.
fn lines_and_answers(rules: &Rules, count: usize) -> (String, String) {
    let (mut lines, mut answers) = (String::new(), String::new());
    for number in 1..=count {
        let line = match number % 5 {
            0 => String::new(),
            1 => format!(r#"{{"text": "refund {number}", "n": {number}}}"#),
            2 => format!(r#"{{"text": "human", "n": {number}}}"#),
            3 => "{\"text\": 1,}".to_owned(),
            _ => r#"{"text": "hello"}"#.to_owned(),
        };
        lines.push_str(&line);
        lines.push('\n');
        match rules.decide_line(line.as_bytes()) {
            _ if line.is_empty() => {}
            Ok(decision) => {
                let mut bytes = Vec::new();
                decision.write_json_fields(&mut bytes);
                let fields = String::from_utf8(bytes).expect("UTF-8");
                answers.push_str(&format!("{{\"line\":{number},{fields}}}\n"));
            }
            Err(error) => {
                let error = rulec_report::answer::LineError::from(&error);
                let line = rulec_report::answer::RejectedLine { line: number as u64, error };
                answers.push_str(&serde_json::to_string(&line).expect("it is JSON"));
                answers.push('\n');
            }
        }
    }
    (lines, answers)
}

#[tokio::test]
async fn a_stream_of_lines_is_answered_in_order() {
    let service = start(RULES).await;
    let rules = Rules::from_text(RULES).expect("they compile");
    let (lines, answers) = lines_and_answers(&rules, 20_000);
    let request = service.client.post(format!("{}/v1/batch", service.url));
    let response = service.send(request.header("content-type", "application/x-ndjson").body(lines)).await;
    assert_eq!((response.status, response.header("content-type")), (200, "application/x-ndjson"));
    assert_eq!(response.text(), answers);
    let entry = format!("{}/v1/batch?entry=people&matched=true", service.url);
    let request = service.client.post(entry).header("content-type", "application/x-ndjson");
    let response = service.send(request.body("{\"n\": 200}")).await;
    let answer: Json = serde_json::from_str(response.text().trim_end()).expect("JSON");
    assert_eq!((&answer["line"], &answer["matched"]), (&json!(1), &json!(["boss"])));
}

#[tokio::test]
async fn an_array_is_answered_as_an_array() {
    let service = start(RULES).await;
    let body = r#"{"messages": [{"text": "refund"}, 5, {"text": "x"}]}"#;
    let answers = service.post("/v1/batch", body).await.json();
    assert_eq!(answers[0]["chosen"], "refund");
    assert_eq!((&answers[1]["line"], &answers[1]["error"]["code"]), (&json!(2), &json!("E0602")));
    assert_eq!(answers[2]["chosen"], "default");
    assert_eq!(service.post("/v1/batch", r#"{"messages": []}"#).await.text(), "[]");
}

#[tokio::test]
async fn payloads_are_judged_as_the_library_judges_them() {
    let service = start(RULES).await;
    let rules = Rules::from_text(RULES).expect("they compile");
    let judge = Judge::new(&rules, "order").expect("a kind");
    for payload in [json!({"item": "x", "count": 70}), json!({"item": " "}), json!({"item": 1})] {
        let body = json!({ "payload": payload }).to_string();
        let response = service.post("/v1/judge/order", &body).await;
        let expected = serde_json::to_string(&judge.judge(&payload)).expect("JSON");
        assert_eq!((response.status, response.text()), (200, expected));
    }
    assert_eq!(service.post("/v1/judge/ordr", r#"{"payload": {}}"#).await.status, 404);
}

/// Regression test: a judgement read an empty history.
#[tokio::test]
async fn judgements_read_the_history_of_their_message() {
    let text = r#"
        input { session: string, now: datetime }
        history by session keep 1h
        payload call {
          tool: string
          require "rate" at tool: (count p in history within 10m: true) < 2 else "too many calls"
        }
    "#;
    let service = start(text).await;
    let judged = |session: &str, record: bool| {
        let message = json!({ "session": session, "now": "2026-01-31T12:00:00Z" });
        let body = json!({ "payload": { "tool": "x" }, "message": message, "record": record }).to_string();
        let service = &service;
        async move { service.post("/v1/judge/call", &body).await.json()["outcome"].clone() }
    };
    for _ in 0..2 {
        assert_eq!(judged("a", true).await, "accept");
    }
    assert_eq!((judged("a", false).await, judged("b", false).await), (json!("reject"), json!("accept")));
    let alone = service.post("/v1/judge/call", r#"{"payload": {"tool": "x"}, "record": true}"#).await;
    assert_eq!(alone.status, 400, "{}", alone.text());
    let timeless = r#"{"payload": {"tool": "x"}, "message": {"session": "a"}, "record": true}"#;
    assert_eq!(service.post("/v1/judge/call", timeless).await.status, 422);
}

/// Regression test: `why_not` decided with an empty history, so it asked for a change of a message
/// that selects the route already.
#[tokio::test]
async fn why_not_reads_the_history() {
    let text = r#"
        input { tool: string, now: datetime, session: string }
        history by session keep 1h
        route leak when tool == "send" and any p in history within 10m: p.tool == "read" -> deny
        default -> run
    "#;
    let service = start(text).await;
    let message = |tool: &str, session: &str| json!({ "tool": tool, "now": "2026-01-31T12:00:00Z", "session": session });
    service.post("/v1/observe", &json!({ "message": message("read", "a") }).to_string()).await;
    for (session, taken_by, is_chosen) in [("a", "leak", true), ("b", "default", false)] {
        let body = json!({ "message": message("send", session), "why_not": "leak" }).to_string();
        let why_not = service.post("/v1/decide", &body).await.json()["why_not"].clone();
        assert_eq!(why_not["taken_by"], taken_by, "{why_not}");
        assert_eq!(why_not["remedy"] == "chosen", is_chosen, "{why_not}");
    }
}

#[tokio::test]
async fn workflows_run_and_can_be_resumed() {
    let service = start(RULES).await;
    let answer = service.post("/v1/workflows/twice", r#"{"input": {"a": 1}}"#).await.json();
    assert_eq!(
        (&answer["complete"], &answer["report"]["executed"]),
        (&json!(true), &json!(["first", "second"]))
    );
    let part = service.post("/v1/workflows/twice", r#"{"input": {}, "step_limit": 1}"#).await.json();
    assert_eq!(part["complete"], false);
    let rest = json!({ "resume": part["saved"] }).to_string();
    let rest = service.post("/v1/workflows/twice", &rest).await.json();
    assert_eq!(rest["complete"], true, "{rest}");
    assert_eq!(service.post("/v1/workflows/thrice", "{}").await.status, 404);
}

#[tokio::test]
async fn flows_analyses_and_tests_are_the_library_s() {
    let text = r#"
        flow hello keyword exact ["hello"] -> "greeting"
        flow refund "gives money back" intent ["I want my money back", "refund my order"] -> "refund_v2"
        flow status "says where an order is" intent ["where is my parcel", "track my order"] -> "status"
        default -> chat
        test "chat" { given text = "x" expect default }
        test "wrong" { given text = "x" expect none }
    "#;
    let service = start(text).await;
    let found = service.post("/v1/flows", r#"{"message": {"text": "hello"}}"#).await.json();
    assert_eq!(found["flow"], "greeting");
    let found =
        service.post("/v1/flows", r#"{"message": {"text": "please give my money back"}}"#).await.json();
    assert_eq!(found["flow"], "refund_v2");
    assert!(found["score"].as_f64().expect("a score") > 0.0);
    let analysis = service.post("/v1/analyze", r#"{"message": {"text": "track my order"}}"#).await.json();
    let rules = Rules::from_text(text).expect("they compile");
    let expected = rules.analyze_text("track my order", &Json::Null).expect("it can be learned");
    assert_eq!(analysis, json!(expected));
    let tests = service.post("/v1/test", "{}").await.json();
    assert_eq!((&tests["passed"], &tests["failed"]), (&json!(1), &json!(1)));
    assert_eq!(
        (&tests["tests"][1]["name"], &tests["tests"][1]["actual"]),
        (&json!("wrong"), &json!("default"))
    );
}

#[tokio::test]
async fn rules_see_the_messages_that_were_recorded() {
    let text = r#"
        input { tool: string, now: datetime, session: string }
        history by session keep 1h
        route leak when tool == "send" and any p in history within 10m: p.tool == "read" -> deny
        default -> run
    "#;
    let service = start(text).await;
    let message = |tool: &str, session: &str| json!({ "tool": tool, "now": "2026-01-31T12:00:00Z", "session": session });
    let decide = |tool: &str, session: &str, record: bool| {
        let body = json!({ "message": message(tool, session), "record": record, "explain": !record });
        let service = &service;
        async move { service.post("/v1/decide", &body.to_string()).await.json()["target"].clone() }
    };
    assert_eq!(decide("read", "a", false).await, "run");
    assert_eq!(decide("send", "a", false).await, "run", "nothing was recorded");
    assert_eq!(decide("read", "a", true).await, "run");
    assert_eq!(
        (decide("send", "a", false).await, decide("send", "b", false).await),
        (json!("deny"), json!("run"))
    );
    let observed = json!({ "message": message("read", "b") }).to_string();
    assert_eq!(service.post("/v1/observe", &observed).await.json(), json!({ "observed": true }));
    assert_eq!(decide("send", "b", true).await, "deny");
    let lines = format!("{}\n", message("send", "b"));
    let request = service.client.post(format!("{}/v1/batch", service.url));
    let lines = service.send(request.header("content-type", "application/x-ndjson").body(lines)).await.text();
    assert!(lines.contains("\"deny\""), "{lines}");
    assert_eq!(decide("x", "c", true).await, "run");
    let timeless = r#"{"message": {"tool": "x", "session": "a"}, "record": true}"#;
    assert_eq!(service.post("/v1/decide", timeless).await.status, 422);
    let plain = start(RULES).await;
    let refused = plain.post("/v1/decide", r#"{"message": {}, "record": true}"#).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
}

/// Each decision of a batch with `record` reads the messages before it. A block has 16 messages, so
/// decisions also read messages of earlier blocks.
#[tokio::test]
async fn a_batch_records_its_messages_in_order() {
    let text = r#"
        input { n: int, now: datetime, session: string }
        history by session keep 1h
        route many when (count p in history: true) >= 100 -> deny
        route next when previous.n == n - 1 and previous.decision.target == "run" -> run
        default -> run
    "#;
    let service = start(text).await;
    let message = |n: i64| json!({ "n": n, "now": "2026-01-31T12:00:00Z", "session": "a" });
    let mut lines: Vec<Json> = (0..110).map(message).collect();
    lines.insert(50, json!({ "n": 50, "session": "a" }));
    let expected = |number: usize| match number {
        50 => "error",
        0 => "default",
        1..=100 => "next",
        _ => "many",
    };
    let check = |answers: &[Json]| {
        assert_eq!(answers.len(), 111);
        for (number, answer) in answers.iter().enumerate() {
            let found = answer["chosen"].as_str().or_else(|| answer.get("error").map(|_| "error"));
            assert_eq!(found, Some(expected(number)), "{number}: {answer}");
        }
        assert!(answers[50]["error"]["message"].as_str().expect("a text").contains("no time `now`"));
    };
    let body = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let request = service.client.post(format!("{}/v1/batch?record=true", service.url));
    let answers =
        service.send(request.header("content-type", "application/x-ndjson").body(body)).await.text();
    check(&answers.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<_>>());
    let array = start(text).await;
    let body = json!({ "messages": lines, "record": true }).to_string();
    check(array.post("/v1/batch", &body).await.json().as_array().expect("an array"));
    // Without `record`, the decisions read the recorded messages, and record nothing.
    for _ in 0..2 {
        let read = array.post("/v1/batch", &json!({ "messages": [message(0)] }).to_string()).await.json();
        assert_eq!(read[0]["chosen"], "many");
    }
    let plain = start(RULES).await;
    let refused = plain.post("/v1/batch", r#"{"messages": [{}], "record": true}"#).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
}
