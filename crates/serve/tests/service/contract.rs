//! Tests that the service obeys its OpenAPI document. Sends random requests, valid and invalid, to
//! every operation. No answer may have a status of 500 or more, and each answer must be documented.
//! `RULEC_TIMES=50` sends fifty times as many requests.

use super::admin::with_tokens;
use super::support::random::Random;
use super::support::trials::seeds;
use super::{RULES, Running, start_with};
use serde_json::{Value as Json, json};

/// Number of random requests to each operation.
const REQUESTS: u64 = 25;

fn document() -> Json {
    serde_json::from_str(include_str!("../../openapi.json")).expect("JSON")
}

/// Returns a random body that is valid or almost valid for an operation.
fn body(path: &str, random: &mut Random) -> Json {
    let message = json!({ "text": random.pick(&["refund", "human", "x"]), "n": random.below(200) });
    let subject = json!({ "type": "user", "id": "a" });
    let evaluation = json!({ "subject": subject, "action": { "name": "read" }, "resource": subject });
    let whole = match path {
        "/v1/decide" => json!({
            "message": message, "explain": random.chance(50), "matched": random.chance(50),
            "why_not": random.pick(&["refund", "human", "none"]), "entry": random.pick(&["routes", "people", "mood", "no"])
        }),
        "/v1/batch" => json!({ "messages": [message, 5, {}], "explain": random.chance(50) }),
        "/v1/judge/{kind}" => json!({ "payload": { "item": "x", "count": random.below(20) } }),
        "/v1/workflows/{name}" => json!({ "input": message, "step_limit": random.below(3) }),
        "/v1/flows" | "/v1/analyze" | "/v1/observe" | "/v1/why" => json!({ "message": message }),
        "/v1/data" | "/v1/data/{path}" => json!({ "input": message }),
        "/v1/rules/{rules}/edits" => {
            json!({ "edits": [{ "insert": format!("route x{} when n == 1 -> chat", random.below(9)) }] })
        }
        "/v1/rules/{rules}/rollback" => json!({ "generation": random.below(50) }),
        "/v1/rules/{rules}/shadow" => json!({ "edits": [{ "remove": "human" }] }),
        "/access/v1/evaluation" => evaluation,
        "/access/v1/evaluations" => json!({ "evaluations": [evaluation, {}] }),
        "/mcp" => {
            json!({ "jsonrpc": "2.0", "id": 1, "method": random.pick(&["ping", "tools/list", "tools/call", "x"]) })
        }
        _ => json!({}),
    };
    mutated(whole, random)
}

/// Replaces, removes or adds parts of a value, each with a chance of a few percent.
fn mutated(value: Json, random: &mut Random) -> Json {
    if random.chance(4) {
        return random_value(random);
    }
    match value {
        Json::Object(fields) => {
            let keep = |(key, value)| (!random.chance(4)).then(|| (key, mutated(value, random)));
            let mut fields: serde_json::Map<String, Json> = fields.into_iter().filter_map(keep).collect();
            if random.chance(5) {
                fields.insert("unknown".to_owned(), random_value(random));
            }
            Json::Object(fields)
        }
        Json::Array(values) => values.into_iter().map(|value| mutated(value, random)).collect(),
        other => other,
    }
}

fn random_value(random: &mut Random) -> Json {
    match random.below(8) {
        0 => Json::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(1e300),
        4 => json!(""),
        5 => json!("\u{0}\u{1F600}"),
        6 => json!([]),
        _ => json!({ "": {} }),
    }
}

fn address(path: &str, random: &mut Random) -> String {
    let mut address = path.to_owned();
    for (name, values) in [
        ("{kind}", ["order", "ordr", "%00"]),
        ("{name}", ["twice", "once", "%F0%9F"]),
        ("{rules}", ["support", "suport", "a%2Fb"]),
        ("{path}", ["routes", "support/people", "none/of/these"]),
    ] {
        let value = if random.chance(70) { values[0] } else { random.pick(&values) };
        address = address.replace(name, value);
    }
    address
}

impl Running {
    /// Sends a random request to an operation, and checks that the answer agrees with the
    /// description of the operation.
    async fn check_operation(&self, document: &Json, method: &str, path: &str, random: &mut Random) {
        let operation = &document["paths"][path][method];
        let verb = method.to_uppercase().parse().expect("a method");
        let address = address(path, random);
        let mut request = self.client.request(verb, format!("{}{address}", self.url)).bearer_auth("secret");
        let mut sent = Json::Null;
        if operation.get("requestBody").is_some() {
            sent = body(path, random);
            let mut text = sent.to_string();
            if random.chance(5) {
                text.truncate(text.len() / 2);
                text = text.trim_end_matches(|c: char| !c.is_ascii()).to_owned();
            }
            request = request.header("content-type", "application/json").body(text);
        }
        let what = format!("{method} {address} {sent}");
        let response = self.send(request).await;
        // Some operations answer 503 if the service is overloaded or not ready. In this test,
        // neither happens.
        assert!(response.status < 500, "{what}: {} {}", response.status, response.text());
        let described = operation["responses"].get(response.status.to_string());
        let described = described.unwrap_or(&operation["responses"]["default"]);
        if response.body.is_empty() {
            return;
        }
        let media_type = response.header("content-type").split(';').next().unwrap_or_default().to_owned();
        let content = &described["content"][&media_type];
        assert!(content.is_object(), "{what}: {} {media_type} is not documented", response.status);
        if media_type.ends_with("json") {
            let mut schema = content["schema"].clone();
            schema["components"] = document["components"].clone();
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            let answer = response.json();
            let errors: Vec<String> = validator.iter_errors(&answer).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{what}: {answer}: {errors:?}");
        }
    }
}

#[tokio::test]
async fn every_answer_is_documented_and_none_is_an_error_of_the_service() {
    let document = document();
    let service = start_with(RULES, with_tokens).await;
    for seed in seeds(REQUESTS) {
        let mut random = Random::new(seed);
        for (path, operations) in document["paths"].as_object().expect("paths") {
            for method in operations.as_object().expect("operations").keys() {
                service.check_operation(&document, method, path, &mut random).await;
            }
        }
    }
}

fn validator(document: &Json, path: &str, method: &str) -> jsonschema::Validator {
    let body = &document["paths"][path][method]["requestBody"]["content"]["application/json"];
    let mut schema = body["schema"].clone();
    schema["components"] = document["components"].clone();
    jsonschema::validator_for(&schema).expect("a schema")
}

/// The document and the service agree on which requests are valid.
#[tokio::test]
async fn valid_requests_are_accepted_and_invalid_ones_refused() {
    let document = document();
    let service = start_with(RULES, with_tokens).await;
    let (user, read) = (json!({ "type": "user", "id": "a" }), json!({ "name": "read" }));
    let question = json!({ "subject": user, "action": read, "resource": user });
    let with = |key: &str, value: Json| {
        let mut changed = question.clone();
        changed[key] = value;
        changed
    };
    let listed = json!({ "type": "user", "id": "a", "properties": ["x"] });
    let edits = "/v1/rules/{rules}/edits";
    let cases = [
        ("/v1/decide", json!({ "message": {}, "rules": null, "entry": null, "why_not": null }), true),
        ("/v1/decide", json!({ "message": {}, "explain": null }), false),
        ("/v1/decide", json!([null, null, {}]), false),
        ("/v1/flows", json!({ "message": {}, "entry": "people" }), false),
        ("/v1/batch", json!({ "messages": [1, {}], "rules": null }), true),
        ("/v1/judge/{kind}", json!({ "payload": { "item": "x" }, "context": null, "message": null }), true),
        ("/v1/judge/{kind}", json!({ "payload": { "item": "x" }, "record": true }), false),
        ("/v1/workflows/{name}", json!({ "input": null, "step_limit": null }), true),
        ("/v1/workflows/{name}", json!({ "step_limit": -1 }), false),
        ("/v1/test", json!({ "language": null, "generation": null }), true),
        ("/v1/test", json!({ "language": "xx" }), false),
        (edits, json!({ "edits": [] }), true),
        (edits, json!({ "edits": [{}] }), false),
        (edits, json!({ "edits": [["route a -> b"]] }), false),
        (edits, json!({ "edits": [{ "insert": "route a when n == 1 -> chat", "table": 5 }] }), false),
        (edits, json!({ "edits": [{ "insert": "route a when n == 1 -> chat", "remove": "a" }] }), false),
        (edits, json!({ "edits": [{ "insert": "route a when n == 1 -> chat", "more": 1 }] }), false),
        (edits, json!({ "edits": [{ "insert": "route a when n == 1 -> chat", "table": null }] }), true),
        ("/v1/rules/{rules}/shadow", json!({ "text": null, "edits": [{ "remove": "human" }] }), true),
        ("/v1/rules/{rules}/shadow", json!({ "edits": [{}] }), false),
        ("/v1/rules/{rules}/rollback", json!({ "generation": null }), false),
        ("/v1/data", json!({ "input": {} }), true),
        ("/v1/data", json!({}), true),
        ("/v1/data", json!([{}]), false),
        ("/v1/data", json!({ "input": null }), false),
        ("/access/v1/evaluation", question.clone(), true),
        ("/access/v1/evaluation", json!({}), false),
        ("/access/v1/evaluation", with("subject", listed), false),
        ("/access/v1/evaluation", with("context", json!([])), false),
        ("/access/v1/evaluation", with("context", json!({})), true),
        ("/access/v1/evaluations", question.clone(), true),
        ("/access/v1/evaluations", json!({}), false),
        ("/access/v1/evaluations", json!({ "evaluations": [] }), false),
        ("/access/v1/evaluations", json!({ "evaluations": [{}] }), true),
        ("/access/v1/evaluations", json!({ "evaluations": [[]] }), false),
        ("/access/v1/evaluations", json!({ "evaluations": [question], "options": ["execute_all"] }), false),
        ("/access/v1/evaluations", with("options", json!({ "evaluations_semantic": "execute_all" })), true),
        ("/access/v1/evaluations", with("options", json!({ "evaluations_semantic": "none" })), false),
        ("/mcp", json!({ "method": "ping", "id": 1 }), true),
        ("/mcp", json!({ "result": {}, "id": 1 }), true),
        ("/mcp", json!({}), false),
        ("/mcp", json!({ "method": null, "id": 1 }), false),
        ("/mcp", json!([]), false),
    ];
    for (path, sent, is_valid) in cases {
        let method = if path.ends_with("/shadow") { "put" } else { "post" };
        assert_eq!(
            validator(&document, path, method).is_valid(&sent),
            is_valid,
            "the document: {path} {sent}"
        );
        let address =
            path.replace("{kind}", "order").replace("{name}", "twice").replace("{rules}", "support");
        let verb = method.to_uppercase().parse().expect("a method");
        let request = service.client.request(verb, format!("{}{address}", service.url)).bearer_auth("secret");
        let request = request.header("content-type", "application/json").body(sent.to_string());
        let response = service.send(request).await;
        let is_accepted = (200..300).contains(&response.status);
        assert_eq!(is_accepted, is_valid, "{path} {sent}: {} {}", response.status, response.text());
    }
}

/// The settings in the query string hold for an array of messages, as for a stream of lines.
#[tokio::test]
async fn the_address_of_an_array_has_settings() {
    let service = start_with(RULES, with_tokens).await;
    let ask = |query: &'static str| {
        let request =
            service.post_request(&format!("/v1/batch?{query}"), r#"{"messages": [{"text": "refund"}]}"#);
        service.send(request.bearer_auth("secret"))
    };
    assert_eq!(ask("explain=x").await.status, 400);
    assert!(ask("explain=true").await.json()[0]["explanation"].is_object());
    assert_eq!(ask("entry=people").await.json()[0]["entry"], "people");
}
