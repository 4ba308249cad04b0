//! Tests of decisions of every kind, of near misses, and of tests made from decisions.

use crate::support::{DESK, Open};
use serde_json::{Value as Json, json};
use std::fs;

#[test]
fn a_message_is_decided_with_its_way() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let decided = open.decide("routes", &json!({"text": "a refund", "ctx": {"amount": 12.5}}));
    assert_eq!((&decided["kind"], &decided["key"]), (&json!("decision"), &json!("routes/refunds")));
    assert_eq!(decided["decision"]["args"], json!({"amount": 12.5}));
    let children = &decided["explanation"]["trace"]["routes"][0]["when"]["children"];
    assert_eq!(children.as_array().map(Vec::len), Some(2));
    // This message is decided through a `goto`. A condition on a missing value is unknown.
    let decided = open.decide("routes", &json!({"text": "my invoice is late, no refund"}));
    assert_eq!(decided["key"], "billing/late");
    assert_eq!(decided["explanation"]["trace"]["routes"][0]["result"], "unknown");
    assert!(
        decided["summary"].as_str().is_some_and(|summary| summary.contains("`late` is chosen")),
        "{decided}"
    );
    // A message that violates the declared input is decided, and the violation is reported.
    let decided = open.decide("routes", &json!({"text": 3}));
    assert_eq!(
        (&decided["key"], &decided["breaches"][0]["path"]),
        (&json!("routes/default"), &json!("text"))
    );
}

#[test]
fn choices_flows_and_routers_are_decided() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let decided = open.decide("tone", &json!({"text": "thanks"}));
    assert_eq!(decided["key"], "tone/calm");
    assert_eq!(decided["left_out"][0]["condition"], "steps.score >= 5");
    assert_eq!(decided["explanation"]["chosen"], "calm");
    let decided = open.decide("flows", &json!({"text": "a refund please"}));
    assert_eq!((&decided["key"], &decided["decision"]["flow"]), (&json!("flows/refund_flow"), &json!("F1")));
    let decided = open.decide("flows", &json!({"text": "when do you open"}));
    assert_eq!(decided["key"], "flows/opening_flow");
    let best = &decided["explanation"]["intents"]["ranked"][0];
    assert_eq!(best["chosen"], true);
    assert!(best["score"].as_f64().is_some_and(|score| score > 0.5), "{best}");
    let decided = open.decide("rounds", &json!({"output": {"n": 3}, "next": ["a", "b"]}));
    assert_eq!(decided["decision"]["next"], json!(["b"]));
}

#[test]
fn a_payload_is_judged_with_places_and_repairs() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let message = "{\"r\u{e9}\": 1,\n \"response\": \"hi\", \"confidence\": 7}";
    let decided =
        open.post("/api/decide", json!({"version": {"rules": 0}, "entry": "respond", "message": message}));
    assert_eq!((&decided["kind"], &decided["outcome"]), (&json!("payload"), &json!("accept_corrected")));
    let range =
        decided["violations"].as_array().into_iter().flatten().find(|one| one["path"] == "$.confidence");
    let range = range.expect("7 is out of range");
    // Offsets are in UTF-16 units.
    let units: Vec<u16> = message.encode_utf16().collect();
    let place = |key: &str| range[key].as_u64().expect("it has a place") as usize;
    assert_eq!(String::from_utf16_lossy(&units[place("from")..place("to")]), "7");
    assert_eq!(range["value"], 7);
    let changed: Vec<&Json> =
        decided["diff"].as_array().into_iter().flatten().filter(|line| line["kind"] != "same").collect();
    assert!(
        changed.iter().any(|line| line["kind"] == "removed" && line["text"] == "  \"confidence\": 7,"),
        "{changed:?}"
    );
    let rejected = open.decide("respond", &json!({"response": " "}));
    assert_eq!(rejected["outcome"], "reject");
    assert!(rejected["feedback"].as_str().is_some_and(|text| text.contains("must not be blank")));
}

#[test]
fn a_workflow_runs_step_by_step() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let run = open.decide("review", &json!({"n": 1}));
    assert_eq!(run["kind"], "workflow");
    let nodes: Vec<&Json> =
        run["steps"].as_array().into_iter().flatten().map(|step| &step["nodes"]).collect();
    assert_eq!(nodes[..3], [&json!(["first"]), &json!(["second"]), &json!(["first"])]);
    // The input has its own `n`, so the workflow loops until the step limit.
    assert_eq!(run["limit_hit"], true);
    let deliveries = run["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|step| step["deliveries"].as_array().into_iter().flatten());
    let back = deliveries.filter(|one| one["to"] == "second").map(|one| one["round"].as_u64());
    assert_eq!(back.take(3).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
    let run = open.decide("review", &json!({}));
    assert_eq!((&run["limit_hit"], &run["steps"][1]["nodes"]), (&json!(false), &json!(["last"])));
}

#[test]
fn a_decision_of_a_router_in_a_run_becomes_a_test() {
    // A router reads fields that `input` does not declare, so the test must keep them.
    let rules = "input { text: string }\n\
        router way(output) { when output.n > 0 -> next[1]   otherwise -> again loopback }\n\
        workflow w { node first echo -> again, last by way   node again echo { n: 1 } -> again, last by way\n\
        node last echo }";
    let open = Open::new(&[("w.rules", rules)]);
    let run = open.decide("w", &json!({}));
    let decisions: Vec<&Json> = run["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|step| step["decisions"].as_array().into_iter().flatten())
        .collect();
    assert_eq!(decisions.len(), 2, "{run}");
    for (decision, expected) in decisions.iter().zip(["way.otherwise", "way.`when 1`"]) {
        let asked = json!({
            "version": {"rules": 0}, "entry": decision["router"], "message": decision["message"],
        });
        let made = open.post("/api/test", asked);
        let block = made["block"].as_str().unwrap_or_default();
        assert!(block.contains(&format!("expect {expected}")) && made["passes"] == true, "{made}");
    }
}

#[test]
fn what_is_no_message_is_told_with_its_place() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let ask = |message: &str| {
        open.post("/api/decide", json!({"version": {"rules": 0}, "entry": "routes", "message": message}))
    };
    let refused = ask("{\"text\": \"\u{1F600}\",\n \"a\" 1}");
    assert_eq!((&refused["kind"], &refused["line"]), (&json!("refused"), &json!(2)));
    assert!(refused["code"].as_str().is_some_and(|code| code.starts_with('E')), "{refused}");
    for message in
        ["", "[1]", "{\"text\": \"a\", \"text\": \"b\"}", "{\"n\": 1e999}", &"[".repeat(5000), "\u{0}"]
    {
        assert_eq!(ask(message)["kind"], "refused", "{message:?}");
    }
    let (status, refusal) =
        open.refused("POST", "/api/decide", json!({"version": {"rules": 9}, "entry": "a", "message": "{}"}));
    assert_eq!((status, &refusal["kind"]), (404, &json!("missing")));
    let (status, _) = open.refused(
        "POST",
        "/api/decide",
        json!({"version": {"rules": 0}, "entry": "nowhere", "message": "{}"}),
    );
    assert_eq!(status, 404);
    for body in ["", "{", "null", "[]", "{\"version\": 1}"] {
        let host = format!("127.0.0.1:{}", open.port);
        let headers =
            [("host", host.as_str()), ("x-rulec-token", &open.token), ("content-type", "application/json")];
        let answer = open.send("POST", "/api/decide", &headers, body);
        assert!((400..500).contains(&answer.status), "{body}: {answer:?}");
        assert_eq!(answer.json()["kind"], "invalid");
    }
}

#[test]
fn near_misses_name_the_change() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let message = json!({"text": "a refund", "ctx": {"amount": 2.0}}).to_string();
    let near =
        open.post("/api/near", json!({"version": {"rules": 0}, "entry": "routes", "message": message}));
    let refunds =
        near.as_array().into_iter().flatten().find(|near| near["route"] == "refunds").expect("it is near");
    assert_eq!(
        (&refunds["remedy"], &refunds["fields"][0]["field"]),
        (&json!("change"), &json!("ctx.amount"))
    );
    assert_eq!(refunds["smallest"], true);
    // The returned message does lead to the route.
    assert_eq!(open.decide("routes", &refunds["message"])["key"], "routes/refunds");
    let one = open.post(
        "/api/near",
        json!({"version": {"rules": 0}, "entry": "routes", "message": message, "route": "hidden"}),
    );
    assert_eq!(one[0]["remedy"], "never");
}

#[test]
fn private_values_are_masked_unless_they_are_asked_for() {
    let message = json!({"text": "x", "ctx": {"user": {"role": "admin", "phone": "0170-SECRET"}}});
    let open = Open::new(&[("desk.rules", DESK)]);
    let shown = open.decide("routes", &message);
    assert_eq!(shown["key"], "routes/admins");
    assert!(!shown.to_string().contains("SECRET"), "{shown}");
    let open = Open::with(&[("desk.rules", DESK)], |options| options.show_private = true);
    assert!(open.decide("routes", &message).to_string().contains("SECRET"));
    assert_eq!(open.get("/api/session")["show_private"], true);
}

#[test]
fn a_decision_becomes_a_test_that_passes() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let make = |entry: &str, message: Json| {
        open.post(
            "/api/test",
            json!({"version": {"rules": 0}, "entry": entry, "message": message.to_string()}),
        )
    };
    let cases = [
        ("routes", json!({"text": "a \"refund\"\n\\ \u{202e}", "ctx": {"amount": 12.5}}), "expect refunds"),
        ("routes", json!({"text": "invoice, late"}), "expect billing.late"),
        (
            "routes",
            json!({"text": "x", "unknown": [1, {"a b": null}], "ctx": {"amount": "wrong"}}),
            "expect default",
        ),
        ("tone", json!({"text": "thanks"}), "expect tone.calm"),
        ("flows", json!({"text": "when do you open"}), "expect flows.opening_flow"),
        ("respond", json!({"response": " "}), "expect respond.reject"),
    ];
    for (entry, message, expected) in cases {
        let made = make(entry, message.clone());
        let block = made["block"].as_str().expect("there is a block");
        assert!(block.contains(expected), "{message}: {block}");
        assert_eq!(made["passes"], true, "{block}");
        // The returned text is the original text followed by the block, and its tests pass.
        let text = made["text"].as_str().expect("there is a text");
        assert!(text.starts_with(DESK.trim_end()) && text.ends_with(block), "{text}");
        let rules = rulec::Rules::from_text(text).unwrap_or_else(|error| panic!("{}", error.render()));
        let outcomes = rulec::run_tests(&rules);
        assert!(
            outcomes.len() == 2 && outcomes.iter().all(|outcome| outcome.passed),
            "{block}: {outcomes:?}"
        );
    }
    // A test that states another outcome fails until the rules are fixed.
    let asked = json!({"version": {"rules": 0}, "entry": "routes", "message": "{\"text\": \"refund\"}", "expect": "refunds", "name": "mine"});
    let made = open.post("/api/test", asked);
    assert_eq!(made["passes"], false);
    assert!(made["block"].as_str().is_some_and(|block| block.starts_with("test \"mine\"")));
    // The test would show private values, so the request is refused.
    let private = json!({"text": "x", "ctx": {"user": {"role": "admin", "phone": "1"}}}).to_string();
    let (_, refusal) = open.refused(
        "POST",
        "/api/test",
        json!({"version": {"rules": 0}, "entry": "routes", "message": private}),
    );
    assert!(
        refusal["message"].as_str().is_some_and(|message| message.contains("--show-private")),
        "{refusal}"
    );
}

#[test]
fn hostile_rules_and_messages_are_texts() {
    let script = "</script><script>alert(1)</script>";
    let rules = format!(
        "route `{script}` when text contains \"{script}\" -> `{script}` {{ note: \"{script}\" }}\ndefault -> d"
    );
    let open = Open::new(&[("hostile.rules", &rules)]);
    let decided = open.decide("routes", &json!({"text": format!("x {script}"), script: "y".repeat(1 << 20)}));
    assert_eq!(decided["key"], format!("routes/{script}"));
    let answer = open.ask("GET", "/api/map?rules=0", None);
    assert!(answer.head.to_ascii_lowercase().contains("content-type: application/json"), "{}", answer.head);
    assert_eq!(answer.json()["tables"][0]["routes"][0]["name"], script);
}

#[test]
fn a_near_miss_is_asked_for_by_the_name_that_a_test_has() {
    let open = Open::new(&[("desk.rules", DESK)]);
    for route in ["refunds", "billing.late", "billing.default", "default"] {
        let near = open.post(
            "/api/near",
            json!({"version": {"rules": 0}, "entry": "routes", "message": "{\"text\": \"x\"}", "route": route}),
        );
        assert_eq!(near.as_array().map(Vec::len), Some(1), "{route}: {near}");
    }
}

#[test]
fn what_can_be_asked_has_a_form() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let overview = open.get("/api/overview?rules=0");
    let names: Vec<&str> = overview["entries"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["name"].as_str())
        .collect();
    assert_eq!(names, ["routes", "billing", "tone", "rounds", "flows", "respond", "review"]);
    // The outcomes that a test can expect: all that can be chosen, also in a table that a jump
    // reaches. The jump itself is not an outcome.
    let outcomes = |entry: usize| &overview["entries"][entry]["outcomes"];
    let of_routes = ["refunds", "billing.late", "billing.default", "admins", "hidden", "default"];
    assert_eq!(outcomes(0), &json!(of_routes));
    assert_eq!(outcomes(2), &json!(["tone.calm", "tone.neutral"]));
    assert_eq!(outcomes(4), &json!(["flows.refund_flow", "flows.opening_flow", "flows.none"]));
    assert_eq!(outcomes(5), &json!(["respond.accept", "respond.accept_corrected", "respond.reject"]));
    let fields = &overview["entries"][0]["fields"];
    assert_eq!((&fields[0]["name"], &fields[0]["control"]), (&json!("text"), &json!("text")));
    let user = &fields[1]["fields"][1];
    assert_eq!(user["fields"][0]["suggestions"], json!(["admin"]));
    assert_eq!(user["fields"][1]["private"], true);
    assert_eq!(overview["example"], json!({"text": "a refund", "ctx": {"amount": 12.5}}));
    // Without a declared input, the form has the fields that the rules read.
    let open =
        Open::new(&[("a.rules", "route a when ctx.n > 3 and ctx.tags contains \"x\" -> h\ndefault -> d")]);
    let overview = open.get("/api/overview?rules=0");
    let fields = &overview["entries"][0]["fields"][0]["fields"];
    assert_eq!((&fields[0]["name"], &fields[1]["name"]), (&json!("n"), &json!("tags")));
    // For rules with errors, the overview reports the errors.
    let open = Open::new(&[("a.rules", "route a when -> h")]);
    let overview = open.get("/api/overview?rules=0");
    assert!(overview["errors"].as_u64() >= Some(1) && overview["first_error"].as_str().is_some());
    assert_eq!(open.decide("routes", &json!({}))["kind"], "broken");
}

#[test]
fn messages_are_kept_by_name_and_never_written_over() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let kept = open.get("/api/messages?rules=0");
    assert_eq!((&kept["file"], &kept["messages"]), (&json!("desk.messages.json"), &json!([])));
    let message = json!({"name": "the odd one", "entry": "routes", "message": "{\"text\": \"x\"}"});
    let keep = |stamp: &Json| json!({"rules": 0, "stamp": stamp, "messages": [message]});
    let answer = open.ask("PUT", "/api/messages", Some(&keep(&kept["stamp"])));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(open.get("/api/messages?rules=0")["messages"], json!([message]));
    // Another program has changed the file since.
    let path = open.path("desk.messages.json");
    fs::write(&path, "[]\n").expect("it can be written");
    let (status, refusal) = open.refused("PUT", "/api/messages", keep(&answer.json()["stamp"]));
    assert_eq!((status, &refusal["kind"]), (409, &json!("changed")));
    assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("[]\n"));
    fs::write(&path, "broken").expect("it can be written");
    assert_eq!(open.ask("GET", "/api/messages?rules=0", None).status, 422);
}
