//! Tests of the earlier messages of a session: decisions and near misses that read them, and tests
//! that list them.

use crate::support::Open;
use serde_json::{Value as Json, json};

pub const GUARD: &str = r#"input { tool: string, now: datetime, cents?: int, ctx: { session: string, user?: string @private } }
history by ctx.session keep 24h at most 5

route exfiltration when tool == "send_email"
  and any p in history within 1h: p.tool == "read_secret" -> deny
route over_budget when (sum p.cents for p in history within 1d: p.decision.target == "pay") + cents > 1_000 -> ask
route same_user when ctx.user == previous.ctx.user -> note
route payment when tool == "pay" -> pay
default -> run

choice plain { default branch calm  branch loud { tool == "shout" } }

payload action rank 1 {
  name: string
  require "rate" at name: (count p in history within 1m: p.tool == tool) < 2 else "too many calls"
}
"#;

/// Returns a message of session `a`, sent `minute` minutes after noon.
pub fn call(minute: u32, tool: &str) -> Json {
    json!({"tool": tool, "now": format!("2026-01-31T12:{minute:02}:00Z"), "ctx": {"session": "a"}})
}

/// Returns an earlier message for a request. `more` contains further fields, such as the decision.
/// Without them, the rules decide the message.
pub fn earlier(message: &Json, more: Json) -> Json {
    let mut earlier = json!({"message": message.to_string()});
    let more = more.as_object().cloned().unwrap_or_default();
    earlier.as_object_mut().expect("it is an object").extend(more);
    earlier
}

fn decide(open: &Open, message: &Json, history: &[Json]) -> Json {
    let asked = json!({
        "version": {"rules": 0}, "entry": "routes", "message": message.to_string(), "history": history,
    });
    open.post("/api/decide", asked)
}

#[test]
fn entries_say_whether_they_read_a_history() {
    let open = Open::new(&[("guard.rules", GUARD)]);
    let overview = open.get("/api/overview?rules=0");
    let reads = |name: &str| {
        let mut entries = overview["entries"].as_array().into_iter().flatten();
        let entry = entries.rfind(|entry| entry["name"] == name);
        entry.unwrap_or_else(|| panic!("no {name} in {overview}"))["reads_history"].clone()
    };
    assert_eq!(["routes", "plain", "action"].map(reads), [json!(true), json!(false), json!(true)]);
}

#[test]
fn a_decision_reads_the_earlier_messages_and_names_the_one_that_decided() {
    let open = Open::new(&[("guard.rules", GUARD)]);
    let mail = call(10, "send_email");
    assert_eq!(decide(&open, &mail, &[])["key"], "routes/default");
    let other = json!({"tool": "read_secret", "now": "2026-01-31T12:05:00Z", "ctx": {"session": "b"}});
    // The order of the request does not matter, only the times.
    let history = [
        earlier(&call(8, "search"), json!({"observed": true})),
        earlier(&call(1, "read_secret"), json!({})),
        earlier(&other, json!({})),
        earlier(&json!({"tool": "x", "ctx": {"session": "a"}}), json!({})),
        json!({"message": "{"}),
    ];
    let decided = decide(&open, &mail, &history);
    assert_eq!(decided["key"], "routes/exfiltration");
    let messages = &decided["history"]["messages"];
    let positions: Vec<&Json> = (0..5).map(|index| &messages[index]["position"]).collect();
    assert_eq!(positions, [&json!(1), &json!(0), &Json::Null, &Json::Null, &Json::Null]);
    let reasons: Vec<bool> = (0..5).map(|index| messages[index]["unread"].is_string()).collect();
    assert_eq!(reasons, [false, false, true, true, true], "{messages}");
    assert_eq!(
        (&messages[0]["decision"], &messages[1]["decision"]),
        (&Json::Null, &json!({"chosen": "default", "target": "run"}))
    );
    assert_eq!(messages[1]["fields"], "ctx.session a · now 2026-01-31T12:01:00Z · tool read_secret");
    let because = decided["because"].as_array().cloned().unwrap_or_default();
    let element = &because[1]["elements"]["shown"][0]["element"];
    assert_eq!(element["recorded"], json!([0]), "{because:?}");
}

#[test]
fn given_decisions_count_and_computed_values_name_their_messages() {
    let open = Open::new(&[("guard.rules", GUARD)]);
    let pay = |minute: u32, cents: u32| {
        let mut message = call(minute, "pay");
        message["cents"] = json!(cents);
        message
    };
    let paid = json!({"decision": {"chosen": "payment", "target": "pay"}});
    let refused = json!({"decision": {"chosen": "over_budget", "target": "ask"}});
    let history =
        [earlier(&pay(1, 600), paid.clone()), earlier(&pay(2, 900), refused), earlier(&pay(3, 300), paid)];
    let decided = decide(&open, &pay(5, 200), &history);
    assert_eq!(decided["key"], "routes/over_budget");
    assert_eq!(decided["because"][0]["operands"][0]["recorded"], json!([0, 2]), "{}", decided["because"]);
    assert_eq!(decide(&open, &pay(5, 100), &history)["key"], "routes/payment");
    // Without decisions in the request, the rules decide each message with those before it.
    let history = [earlier(&pay(1, 600), json!({})), earlier(&pay(2, 900), json!({}))];
    let decided = decide(&open, &pay(5, 200), &history);
    let targets = [0, 1].map(|index| decided["history"]["messages"][index]["decision"]["target"].clone());
    assert_eq!((targets, &decided["key"]), ([json!("pay"), json!("ask")], &json!("routes/payment")));
}

#[test]
fn a_length_and_a_condition_inside_a_value_name_their_messages() {
    let rules = r#"input { tool: string, now: datetime, ctx: { session: string } }
history by ctx.session keep 24h at most 9
route long when len(history within 5m) >= 9 -> a
route whole when len(history) >= 9 -> b
route some when (if any p in history: p.tool == "pay" then 1 else len(history)) >= 9 -> c
route each when (if all p in history: p.tool == "pay" then len(history) else 1) >= 9 -> d
default -> run
"#;
    let open = Open::new(&[("length.rules", rules)]);
    let history = [(1, "pay"), (6, "search"), (7, "pay"), (8, "search")]
        .map(|(minute, tool)| earlier(&call(minute, tool), json!({"observed": true})));
    let decided = decide(&open, &call(9, "search"), &history);
    let routes = &decided["explanation"]["trace"]["routes"];
    let recorded = [0, 1, 2, 3].map(|route| routes[route]["when"]["operands"][0]["recorded"].clone());
    assert_eq!(recorded, [json!([1, 2, 3]), json!([0, 1, 2, 3]), json!([0]), json!([1])], "{routes}");
}

#[test]
fn of_the_history_that_a_quantifier_searches_only_the_elements_name_messages() {
    let rules = r#"input { tool: string, now: datetime, ctx: { session: string } }
history by ctx.session keep 24h
route paid when any p in history within 1h: p.tool == "pay" -> a
default -> run
"#;
    let open = Open::new(&[("paid.rules", rules)]);
    let history = [(1, "search"), (2, "pay")]
        .map(|(minute, tool)| earlier(&call(minute, tool), json!({"observed": true})));
    let decided = decide(&open, &call(9, "search"), &history);
    let when = &decided["explanation"]["trace"]["routes"][0]["when"];
    assert_eq!(when["operands"][0]["text"], json!("history within 1h"), "{when}");
    assert_eq!(when["operands"][0]["recorded"], json!(null), "{when}");
    let shown = [0, 1].map(|index| &when["elements"]["shown"][index]);
    let elements = shown.map(|each| (&each["element"]["recorded"], &each["when"]["result"]));
    let expected = [(&json!([0]), &json!("false")), (&json!([1]), &json!("true"))];
    assert_eq!(elements, expected, "{when}");
}

const SECRETS: &str = r#"input { tool: string, now: datetime, cents?: int, ctx: { session: string, user?: string @private } }
history by ctx.session keep 24h at most 9
route many when (count p in history within 1h: p.ctx.user == ctx.user) >= 9 -> a
route last_own when (last p in history: p.ctx.user == ctx.user).tool == "none" -> b
route paid when (sum p.cents for p in history within 1h: p.tool == "pay") >= 9 -> c
route again when previous.tool == "none" -> d
default -> run
"#;

/// Regression test: the explanation masked a private value, but listed the positions of the
/// messages from which the value was read.
#[test]
fn a_masked_value_does_not_name_its_messages() {
    let by = |minute: u32, tool: &str| {
        let mut message = call(minute, tool);
        message["ctx"]["user"] = json!("SECRET");
        message["cents"] = json!(4);
        message
    };
    let history = [earlier(&by(1, "pay"), json!({})), earlier(&call(2, "mail"), json!({}))];
    let operand = |decided: &Json, route: usize| {
        decided["explanation"]["trace"]["routes"][route]["when"]["operands"][0].clone()
    };
    let open = Open::new(&[("secrets.rules", SECRETS)]);
    let decided = decide(&open, &by(3, "search"), &history);
    for route in [0, 1] {
        let operand = operand(&decided, route);
        assert_eq!((&operand["value"], &operand["masked"]), (&json!("•••"), &json!(true)), "{operand}");
        assert_eq!((&operand["recorded"], &operand["elements"]), (&Json::Null, &Json::Null), "{operand}");
    }
    // These values come from no private field.
    let paid = operand(&decided, 2);
    assert_eq!((&paid["value"], &paid["recorded"]), (&json!(4), &json!([0])), "{paid}");
    let again = operand(&decided, 3);
    assert_eq!((&again["value"], &again["recorded"]), (&json!("mail"), &json!([1])), "{again}");
    assert!(!decided.to_string().contains("SECRET"), "{decided}");
    let open = Open::with(&[("secrets.rules", SECRETS)], |options| options.show_private = true);
    let decided = decide(&open, &by(3, "search"), &history);
    let shown = [0, 1].map(|route| operand(&decided, route)["recorded"].clone());
    assert_eq!(shown, [json!([0]), json!([0])]);
}

#[test]
fn what_the_rules_no_longer_keep_is_not_read_and_the_gap_is_reported() {
    let open = Open::new(&[("guard.rules", GUARD)]);
    let old = json!({"tool": "read_secret", "now": "2026-01-29T12:00:00Z", "ctx": {"session": "a"}});
    let mut history = vec![earlier(&old, json!({"observed": true}))];
    history.extend((1..=6).map(|minute| earlier(&call(minute, "search"), json!({"observed": true}))));
    let decided = decide(&open, &call(10, "search"), &history);
    let messages = &decided["history"]["messages"];
    let positions: Vec<&Json> = (0..7).map(|index| &messages[index]["position"]).collect();
    let expected = [Json::Null, Json::Null, json!(2), json!(3), json!(4), json!(5), json!(6)];
    assert_eq!(positions, expected.iter().collect::<Vec<_>>());
    assert!(decided["history"]["gap"].as_str().is_some_and(|gap| gap.contains("at most")), "{decided}");
    let keyless = json!({"tool": "search", "now": "2026-01-31T12:10:00Z"});
    let decided = decide(&open, &keyless, &history);
    assert_eq!(decided["history"]["messages"][6]["position"], Json::Null);
    assert!(decided["history"]["gap"].as_str().is_some_and(|gap| gap.contains("no key")), "{decided}");
}

#[test]
fn a_request_has_a_limited_number_of_earlier_messages() {
    let open = Open::new(&[("guard.rules", GUARD)]);
    let asked = |count: u32| {
        let message = earlier(&call(1, "search"), json!({"observed": true}));
        json!({
            "version": {"rules": 0}, "entry": "routes", "message": call(10, "search").to_string(),
            "history": vec![message; count as usize],
        })
    };
    let decided = open.post("/api/decide", asked(1000));
    assert_eq!(decided["history"]["messages"][999]["position"], 999, "{}", decided["key"]);
    let (status, refusal) = open.refused("POST", "/api/decide", asked(1001));
    assert_eq!(status, 422);
    assert!(refusal["message"].as_str().is_some_and(|text| text.contains("at most 1000")), "{refusal}");
}

#[test]
fn near_misses_read_the_history() {
    let open = Open::new(&[("guard.rules", GUARD)]);
    let near = |route: &str, history: &[Json]| {
        let asked = json!({
            "version": {"rules": 0}, "entry": "routes", "message": call(10, "send_email").to_string(),
            "route": route, "history": history,
        });
        open.post("/api/near", asked)[0].clone()
    };
    let history = [earlier(&call(1, "read_secret"), json!({"observed": true}))];
    assert_eq!(near("exfiltration", &history)["remedy"], "chosen");
    assert_ne!(near("exfiltration", &[])["remedy"], "chosen");
    assert_eq!(near("default", &[])["remedy"], "chosen");
    let away = near("default", &history);
    assert_eq!((&away["remedy"], &away["fields"][0]["field"]), (&json!("change"), &json!("tool")), "{away}");
}

#[test]
fn a_test_lists_the_earlier_messages_and_passes() {
    let open = Open::new(&[("guard.rules", GUARD)]);
    let make = |message: &Json, history: &[Json]| {
        let asked = json!({
            "version": {"rules": 0}, "entry": "routes", "message": message.to_string(), "history": history,
        });
        open.post("/api/test", asked)
    };
    let history = [
        earlier(&call(5, "read_secret"), json!({"observed": true})),
        earlier(&call(8, "search"), json!({"decision": {"chosen": "default", "target": "run"}})),
        // A late message is given its time.
        earlier(&call(11, "search"), json!({"observed": true})),
    ];
    let made = make(&call(10, "send_email"), &history);
    let block = made["block"].as_str().unwrap_or_default();
    assert_eq!(made["passes"], true, "{block}");
    let expected = "  given history = [\n    \
        { ctx: { session: \"a\" }, tool: \"read_secret\", ago: 5m },\n    \
        { ctx: { session: \"a\" }, decision: { chosen: \"default\", target: \"run\" }, tool: \"search\", ago: 2m },\n    \
        { at: \"2026-01-31T12:11:00Z\", ctx: { session: \"a\" }, tool: \"search\" }\n  ]\n  expect exfiltration\n";
    assert!(block.contains(expected), "{block}");
    // A private value of an earlier message is not written into the rules.
    let mut private = call(5, "search");
    private["ctx"]["user"] = json!("SECRET");
    let asked = json!({
        "version": {"rules": 0}, "entry": "routes", "message": call(10, "search").to_string(),
        "history": [earlier(&private, json!({}))],
    });
    let (status, refusal) = open.refused("POST", "/api/test", asked);
    assert_eq!(status, 422);
    assert!(!refusal.to_string().contains("SECRET"), "{refusal}");
    let shown = decide(&open, &call(10, "search"), &[earlier(&private, json!({}))]);
    assert!(!shown.to_string().contains("SECRET"), "{shown}");
}

#[test]
fn a_payload_is_judged_with_the_messages_of_its_context() {
    let open = Open::new(&[("guard.rules", GUARD)]);
    let asked = |path: &str, count: u32| {
        let history: Vec<Json> =
            (0..count).map(|_| earlier(&call(10, "search"), json!({"observed": true}))).collect();
        open.post(
            path,
            json!({
                "version": {"rules": 0}, "entry": "action", "message": "{\"name\": \"x\"}",
                "context": call(10, "search").to_string(), "history": history,
            }),
        )
    };
    assert_eq!(asked("/api/decide", 1)["outcome"], "accept");
    let judged = asked("/api/decide", 2);
    assert_eq!(
        (&judged["outcome"], &judged["history"]["messages"][1]["position"]),
        (&json!("reject"), &json!(1))
    );
    let made = asked("/api/test", 2);
    assert_eq!(made["passes"], true, "{made}");
    assert!(made["block"].as_str().is_some_and(|block| block.contains("expect action.reject \"rate\"")));
}

#[test]
fn a_kept_message_keeps_its_session_and_its_context() {
    let open = Open::new(&[("guard.rules", GUARD)]);
    let kept = json!([
        {"name": "mail", "entry": "routes", "message": "{}", "history": [{
            "message": "{\"tool\": \"x\"}", "row": null, "observed": true, "decision": null,
        }]},
        {"name": "alone", "entry": "routes", "message": "{}"},
        {"name": "judged", "entry": "action", "message": "{}", "context": "{\"tool\": \"x\"}"},
    ]);
    let stamp = open.get("/api/messages?rules=0")["stamp"].clone();
    let asked = json!({"rules": 0, "stamp": stamp, "messages": kept});
    assert_eq!(open.ask("PUT", "/api/messages", Some(&asked)).status, 200);
    assert_eq!(open.get("/api/messages?rules=0")["messages"], kept);
}

/// Regression test: only 200 messages were counted if the rules read a history.
#[test]
fn the_report_covers_all_messages_with_their_history() {
    let mut messages: Vec<Json> = (0..299).map(|number| call(number / 6, "search")).collect();
    let mut observed = call(50, "read_secret");
    observed["observe"] = json!(true);
    messages.extend([observed, call(50, "send_email")]);
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let open = Open::new(&[("guard.rules", GUARD), ("input.jsonl", &lines)]);
    let (id, _) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    let report = open.post("/api/report", json!({"version": {"rules": 0}, "replay": id}));
    assert_eq!(report["covered_decisions"], 300);
    let items = report["coverage"].as_array().cloned().unwrap_or_default();
    let yes = |name: &str| {
        items.iter().find(|item| item["name"] == name).map(|item| item["yes"].clone()).unwrap_or_default()
    };
    assert_eq!((yes("exfiltration"), yes("default")), (json!(1), json!(299)));
}
