//! Tests of the doors (adapters) for other protocols. Each must follow the published contract of
//! its protocol.

use super::{Running, start, start_with};
use serde_json::{Value as Json, json};

const ACCESS: &str = r#"
route owner when resource.properties.owner == subject.id -> allow
route read when action.name == "read" and subject.type == "user" -> allow
route get when method == "GET" and path starts_with "/public/" and headers["x-team"] == "a" -> allow
default -> deny
table other { default -> elsewhere }
"#;

#[tokio::test]
async fn opa_s_data_api_is_answered() {
    let service = start(ACCESS).await;
    let body = json!({"input": {"action": {"name": "read"}, "subject": {"type": "user"}}}).to_string();
    for path in ["/v1/data", "/v1/data/support", "/v1/data/routes", "/v1/data/support/routes"] {
        let answer = service.post(path, &body).await;
        assert_eq!(answer.json()["result"]["target"], "allow", "{path}: {}", answer.text());
    }
    let other = service.post("/v1/data/other?pretty=true", &body).await.json();
    assert_eq!(other["result"]["target"], "elsewhere");
    let plain = service.post("/v1/decide", r#"{"message": {"action": {"name": "read"}}}"#).await.text();
    let result = service.post("/v1/data", r#"{"input": {"action": {"name": "read"}}}"#).await.text();
    assert_eq!(result, format!("{{\"result\":{plain}}}"));
    assert_eq!(service.post("/v1/data", "{}").await.text(), "{}");
    for wrong in ["{", r#"[{"action": {"name": "read"}}]"#, "[]", "null"] {
        assert_eq!(service.post("/v1/data", wrong).await.status, 400, "{wrong}");
    }
    // OPA answers with an empty object if nothing has the requested path.
    let undefined = service.post("/v1/data/nothing", &body).await;
    assert_eq!((undefined.status, undefined.text().as_str()), (200, "{}"));
}

/// OPA's paths lead into the result, so a client can ask for one value.
#[tokio::test]
async fn opa_s_paths_select_a_part_of_the_decision() {
    let rules = "handler pay(amount: decimal, tags: list<string>)\nhandler chat()\n\
        route a when kind == \"a\" -> pay(amount: n, tags: tags) { team: \"money\" }\ndefault -> chat\n";
    let service = start(rules).await;
    let body = r#"{"input": {"kind": "a", "n": 0.10000000000000000000001, "tags": ["x", "y\"z"]}}"#;
    for (path, expected) in [
        ("support/routes/target", r#"{"result":"pay"}"#),
        ("routes/target", r#"{"result":"pay"}"#),
        ("routes/args/amount/", r#"{"result":"0.10000000000000000000001"}"#),
        ("routes/args/tags/1", r#"{"result":"y\"z"}"#),
        ("routes/metadata", r#"{"result":{"team":"money"}}"#),
        ("routes/args/tags/2", "{}"),
        ("routes/args/tags/x", "{}"),
        ("routes/target/more", "{}"),
        ("routes/none", "{}"),
        ("target", "{}"),
    ] {
        assert_eq!(service.post(&format!("/v1/data/{path}"), body).await.text(), expected, "{path}");
    }
}

fn question(subject: &str, action: &str, owner: &str) -> Json {
    json!({
        "subject": {"type": "user", "id": subject},
        "action": {"name": action},
        "resource": {"type": "record", "id": "1", "properties": {"owner": owner}}
    })
}

#[tokio::test]
async fn authzen_evaluates_one_question() {
    let service = start(ACCESS).await;
    let service = &service;
    let evaluate = |question: Json| async move {
        let request = service.post_request("/access/v1/evaluation", &question.to_string());
        service.send(request.header("x-request-id", "42")).await
    };
    let allowed = evaluate(question("alice", "write", "alice")).await;
    assert_eq!((allowed.status, allowed.header("x-request-id")), (200, "42"));
    assert_eq!(
        (&allowed.json()["decision"], &allowed.json()["context"]["route"]),
        (&json!(true), &json!("owner"))
    );
    assert_eq!(evaluate(question("bob", "write", "alice")).await.json()["decision"], false);
    let mut without_action = question("a", "b", "c");
    without_action["action"].take();
    assert_eq!(evaluate(without_action).await.status, 400);
}

#[tokio::test]
async fn authzen_evaluates_several_questions() {
    let service = start(ACCESS).await;
    let ask = |semantic: Option<&str>| {
        let mut body = question("alice", "write", "bob");
        body["evaluations"] = json!([
            {"action": {"name": "read"}}, {}, {"resource": {"type": "record"}},
            {"resource": {"type": "record", "id": "2", "properties": {"owner": "alice"}}}
        ]);
        if let Some(semantic) = semantic {
            body["options"] = json!({ "evaluations_semantic": semantic });
        }
        let service = &service;
        async move {
            let answer = service.post("/access/v1/evaluations", &body.to_string()).await.json();
            let answers = answer["evaluations"].as_array().expect("a list").clone();
            answers.iter().map(|answer| answer["decision"].as_bool().expect("a decision")).collect::<Vec<_>>()
        }
    };
    assert_eq!(ask(None).await, [true, false, false, true]);
    assert_eq!(ask(Some("execute_all")).await, [true, false, false, true]);
    assert_eq!(ask(Some("deny_on_first_deny")).await, [true, false]);
    assert_eq!(ask(Some("permit_on_first_permit")).await, [true]);
    let single = service.post("/access/v1/evaluations", &question("a", "read", "b").to_string()).await.json();
    assert_eq!(single["decision"], true);
    let too_many = json!({ "evaluations": vec![question("a", "read", "b"); 1001] });
    let refused = service.post("/access/v1/evaluations", &too_many.to_string()).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("at most 1000 questions"), "{}", refused.text());
}

const EXACT: &str = r#"
input { text?: string, resource?: { properties: { amount: decimal } }, amount?: decimal }
flow paid keyword exact ["paid"] -> "paid"
route exact when resource.properties.amount == decimal("0.1000000000000000000001") -> allow
route plain when amount == decimal("0.1000000000000000000001") -> allow
default -> deny
"#;

/// Each door passes a message on as the exact text that the client has sent.
#[tokio::test]
async fn exact_decimals_stay_exact() {
    let service = start(EXACT).await;
    let amount = "0.1000000000000000000001";
    let question = format!(
        r#"{{"subject": {{"type": "u", "id": "a"}}, "action": {{"name": "pay"}}, "resource": {{"type": "r", "id": "1", "properties": {{"amount": {amount}}}}}}}"#
    );
    assert_eq!(service.post("/access/v1/evaluation", &question).await.json()["decision"], true);
    let several = format!(r#"{{"evaluations": [{question}]}}"#);
    let several = service.post("/access/v1/evaluations", &several).await.json();
    assert_eq!(several["evaluations"][0]["decision"], true, "{several}");
    let call = format!(
        r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "decide", "arguments": {{"entry": "routes", "message": {{"amount": {amount}}}}}}}}}"#
    );
    let called = service.post("/mcp", &call).await.json();
    assert_eq!(called["result"]["structuredContent"]["target"], "allow", "{called}");
}

#[tokio::test]
async fn repeated_keys_of_a_message_are_refused() {
    let service = start(EXACT).await;
    let message = r#"{"text": "paid", "text": "x"}"#;
    let flow = service.post("/v1/flows", &format!(r#"{{"message": {message}}}"#)).await;
    assert_eq!((flow.status, &flow.json()["code"]), (400, &json!("E0604")));
    let question = format!(
        r#"{{"subject": {{"type": "u", "id": "a"}}, "action": {{"name": "x"}}, "resource": {{"type": "r", "id": "1"}}, "context": {message}}}"#
    );
    let question = service.post("/access/v1/evaluation", &question).await;
    assert_eq!((question.status, &question.json()["code"]), (400, &json!("E0604")));
    let call = format!(
        r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "decide", "arguments": {{"message": {message}}}}}}}"#
    );
    let called = service.post("/mcp", &call).await.json();
    assert_eq!(called["result"]["isError"], true, "{called}");
}

#[tokio::test]
async fn envoy_s_checks_are_answered_by_status() {
    let service = start(ACCESS).await;
    let check = |method: &str, path: &str, team: &str| {
        let method = method.parse().expect("a method");
        let request = service.client.request(method, format!("{}/ext_authz{path}", service.url));
        service.send(request.header("x-team", team))
    };
    let allowed = check("GET", "/public/a?b=c", "a").await;
    assert_eq!((allowed.status, allowed.header("x-rulec-route")), (200, "get"));
    for (method, path, team) in
        [("POST", "/public/a", "a"), ("GET", "/private", "a"), ("GET", "/public/a", "b"), ("GET", "", "a")]
    {
        assert_eq!(check(method, path, team).await.status, 403, "{method} {path}");
    }
    // Envoy passes on the headers that the browser of its client has sent.
    let request = service.client.get(format!("{}/ext_authz/public/a", service.url)).header("x-team", "a");
    let request = request.header("origin", "https://shop.example").header("sec-fetch-site", "same-site");
    assert_eq!(service.send(request).await.status, 200);
}

/// At the other doors, a browser may send `OPTIONS` before its request, and the service permits it.
/// Envoy takes any answer with the status 200 as permission. So the rules must decide such a check.
#[tokio::test]
async fn envoy_s_check_of_options_is_decided() {
    let service =
        start_with(ACCESS, |options, _| options.allowed_origins = vec!["https://good.example".to_owned()])
            .await;
    let options = |path: &str| {
        let address = format!("{}{path}", service.url);
        service.send(service.client.request(reqwest::Method::OPTIONS, address))
    };
    assert_eq!(options("/v1/decide").await.status, 200);
    for path in ["/ext_authz", "/ext_authz/", "/ext_authz/public/a"] {
        assert_eq!(options(path).await.status, 403, "{path}");
    }
}

/// Rules read the values of a repeated header as one text. They read the path without the prefix.
#[tokio::test]
async fn envoy_s_request_is_read_as_a_whole() {
    const RULES: &str = r#"
route joined when headers["x-team"] == "a, b" and path == "/" and host starts_with "127.0.0.1:" -> allow
default -> deny
"#;
    let service = start(RULES).await;
    let request = service.client.get(format!("{}/ext_authz/", service.url));
    assert_eq!(service.send(request.header("x-team", "a").header("x-team", "b")).await.status, 200);
    // The HTTP/2 client sends the host in the request's URI, not as a header.
    let client = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().expect("a client");
    let request = client.get(format!("{}/ext_authz/", service.url));
    assert_eq!(service.send(request.header("x-team", "a, b")).await.status, 200);
}

async fn call(service: &Running, id: u32, method: &str, params: Json) -> Json {
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let answer = service.post("/mcp", &body.to_string()).await.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)));
    answer
}

#[tokio::test]
async fn an_agent_calls_tools() {
    let service = start("route refund when text contains \"refund\" -> billing\ndefault -> chat\ntest \"t\" { given text = \"x\" expect default }").await;
    let hello = call(&service, 1, "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})).await;
    assert_eq!(
        (&hello["result"]["protocolVersion"], &hello["result"]["serverInfo"]["name"]),
        (&json!("2025-06-18"), &json!("rulec"))
    );
    let note = service.post("/mcp", r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#).await;
    assert_eq!((note.status, note.body.len()), (202, 0));
    let tools = call(&service, 2, "tools/list", json!({})).await;
    let names: Vec<_> =
        tools["result"]["tools"].as_array().expect("a list").iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["decide", "explain", "check", "test"]);
    let decide = call(
        &service,
        3,
        "tools/call",
        json!({"name": "decide", "arguments": {"message": {"text": "a refund"}}}),
    )
    .await;
    assert_eq!(decide["result"]["structuredContent"]["target"], "billing");
    let explain = call(
        &service,
        4,
        "tools/call",
        json!({"name": "explain", "arguments": {"message": {"text": "x"}, "why_not": "refund"}}),
    )
    .await;
    assert!(
        explain["result"]["structuredContent"]["explanation"].is_object()
            && explain["result"]["structuredContent"]["why_not"].is_object()
    );
    let check =
        call(&service, 5, "tools/call", json!({"name": "check", "arguments": {"text": "route x when -> y"}}))
            .await;
    assert_eq!(check["result"]["structuredContent"]["ok"], false);
    let test = call(&service, 6, "tools/call", json!({"name": "test"})).await;
    assert_eq!(test["result"]["structuredContent"]["passed"], 1);
    let wrong = call(&service, 7, "tools/call", json!({"name": "decide", "arguments": {"message": 5}})).await;
    assert_eq!(wrong["result"]["isError"], true);
    assert_eq!(call(&service, 8, "tools/call", json!({"name": "none"})).await["error"]["code"], -32602);
    assert_eq!(call(&service, 9, "none", json!({})).await["error"]["code"], -32601);
    assert_eq!(service.post("/mcp", "{").await.json()["error"]["code"], -32700);
    for (wrong, code) in [
        (r#"[null, "ping"]"#, -32600),
        ("5", -32600),
        (r#"{"id": 1, "method": "tools/call", "params": 5}"#, -32602),
        (r#"{"id": 1, "method": "tools/call", "params": ["test"]}"#, -32602),
    ] {
        let error = service.post("/mcp", wrong).await.json()["error"].clone();
        let message = error["message"].as_str().expect("a text");
        assert!(error["code"] == code && message.contains("object"), "{wrong}: {error}");
        assert!(!message.contains("struct") && !message.contains("Rpc"), "{message}");
    }
    let request = service.post_request("/mcp", r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#);
    assert_eq!(service.send(request.header("mcp-protocol-version", "1999-01-01")).await.status, 400);
}

#[tokio::test]
async fn the_document_is_served_without_a_token() {
    let service = start_with("default -> chat", |options, folder| {
        std::fs::write(folder.join("tokens"), "").expect("it can be written");
        options.token_file = Some(folder.join("tokens"));
    })
    .await;
    let served = service.get("/openapi.json").await;
    let file: Json = serde_json::from_str(include_str!("../../openapi.json")).expect("JSON");
    assert_eq!((served.status, served.json()), (200, file));
}

#[tokio::test]
async fn an_agent_may_speak_over_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = super::write_rules(folder.path(), "default -> chat");
    let options = super::options(path, std::sync::Arc::new(|_| {}));
    let input = "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}\n\n{\"method\": \"notifications/initialized\"}\n{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/call\", \"params\": {\"name\": \"decide\", \"arguments\": {\"message\": {}}}}\n";
    let mut output = Vec::new();
    rulec_serve::Server::serve_mcp(options, input.as_bytes(), &mut output).await.expect("it is served");
    let answers: Vec<Json> = serde_json::Deserializer::from_slice(&output)
        .into_iter()
        .map(|answer| answer.expect("JSON"))
        .collect();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[1]["result"]["structuredContent"]["target"], "chat");
}
