//! Tests of the earlier messages of a session: decisions and near misses that read them, tests that
//! list them, and replays that record them.

use crate::support::Open;
use serde_json::{Value as Json, json};

const GUARD: &str = r#"input { tool: string, now: datetime, cents?: int, ctx: { session: string, user?: string @private } }
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

/// Returns a message of session `a` at a minute after noon.
fn call(minute: u32, tool: &str) -> Json {
    json!({"tool": tool, "now": format!("2026-01-31T12:{minute:02}:00Z"), "ctx": {"session": "a"}})
}

/// Returns an earlier message of a request. The rules decide it if `more` does not say otherwise.
fn earlier(message: &Json, more: Json) -> Json {
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

fn lines(messages: &[Json]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
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

const SECRETS: &str = r#"input { tool: string, now: datetime, cents?: int, ctx: { session: string, user?: string @private } }
history by ctx.session keep 24h at most 9
route many when (count p in history within 1h: p.ctx.user == ctx.user) >= 9 -> a
route last_own when (last p in history: p.ctx.user == ctx.user).tool == "none" -> b
route paid when (sum p.cents for p in history within 1h: p.tool == "pay") >= 9 -> c
route again when previous.tool == "none" -> d
default -> run
"#;

/// Cause: the positions of the messages showed what a masked value was.
#[test]
fn a_masked_value_does_not_name_its_messages() {
    let by = |minute: u32, tool: &str| {
        let mut message = call(minute, tool);
        message["ctx"]["user"] = json!("SECRET");
        message["cents"] = json!(4);
        message
    };
    let history = [earlier(&by(1, "pay"), json!({})), earlier(&call(2, "pay"), json!({}))];
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
    assert_eq!((&again["value"], &again["recorded"]), (&json!("pay"), &json!([1])), "{again}");
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
fn a_replay_records_its_messages_and_a_row_has_those_of_its_session() {
    let of_session = |session: &str, minute: u32, tool: &str| {
        let mut message = call(minute, tool);
        message["ctx"]["session"] = json!(session);
        message
    };
    let mut observed = of_session("a", 2, "read_secret");
    observed["observe"] = json!(true);
    observed["ctx"]["user"] = json!("SECRET");
    let text = lines(&[
        of_session("a", 1, "search"),
        of_session("b", 1, "search"),
        observed,
        of_session("b", 3, "send_email"),
        of_session("a", 4, "send_email"),
        json!({"tool": "search", "ctx": {"session": "a"}}),
    ]);
    let open = Open::new(&[("guard.rules", GUARD), ("input.jsonl", &text)]);
    let (id, sums) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    assert_eq!(
        (&sums["progress"]["messages"], &sums["observed"], &sums["unrecorded"]),
        (&json!(5), &json!(1), &json!(1))
    );
    let count = |key: &str| {
        let counts = sums["counts"].as_array().into_iter().flatten();
        counts.filter(|count| count["key"] == key).filter_map(|count| count["count"].as_u64()).sum::<u64>()
    };
    assert_eq!((count("routes/exfiltration"), count("routes/default")), (1, 4));
    let row = open.get(&format!("/api/replays/{id}/rows/5"));
    let history = row["history"].as_array().cloned().unwrap_or_default();
    let places: Vec<&Json> = history.iter().map(|earlier| &earlier["row"]["line"]).collect();
    assert_eq!((places, &row["older"]), (vec![&json!(1), &json!(3)], &json!(0)));
    assert_eq!(history[0]["decision"], json!({"chosen": "default", "target": "run"}));
    assert_eq!((&history[1]["observed"], &history[1]["decision"]), (&json!(true), &Json::Null));
    // The page sends the rows back, and the decision is the same as in the replay.
    let decided = open.post(
        "/api/decide",
        json!({
            "version": {"rules": 0}, "entry": "routes", "message": "", "row": {"replay": id, "line": 5},
            "history": history,
        }),
    );
    assert_eq!(decided["key"], "routes/exfiltration");
    let report = open.post("/api/report", json!({"version": {"rules": 0}, "replay": id}));
    let samples = report["samples"].as_array().cloned().unwrap_or_default();
    assert!(samples.iter().any(|sample| sample["key"] == "routes/exfiltration"), "{samples:?}");
    for shown in [row, decided, report] {
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
    }
}

/// Cause: the names of an earlier decision were read from the key of its row.
#[test]
fn a_row_has_the_decisions_that_the_replay_recorded() {
    let rules = r#"input { text: string, now: datetime, ctx: { session: string } }
history by ctx.session keep 24h at most 5
choice `a/b` { default branch `c/d`  branch seen { (count p in history within 1h: p.decision.chosen == "c/d") >= 1 } }
table `t/u` { route `v/w` when text contains "pay" -> `pay` (cents: 1) }
flow opening "Opening hours" intent ["when do you open", "are you open today"] -> "F2"
flow greeting "Says hello" when text == "hello" and history is not empty -> "F3"
payload action rank 1 { name: string }
"#;
    let line = |minute: u32, text: &str| json!({"text": text, "now": format!("2026-01-31T12:{minute:02}:00Z"), "ctx": {"session": "a"}});
    let messages = [line(1, "please pay"), line(2, "when do you open"), line(3, "hello")];
    let open = Open::new(&[("names.rules", rules), ("input.jsonl", &lines(&messages))]);
    for (entry, expected) in [
        ("a/b", [json!("c/d"), json!("seen")]),
        ("t/u", [json!("v/w"), Json::Null]),
        ("flows", [Json::Null, Json::Null]),
    ] {
        let version = json!({"rules": 0});
        let (id, _) = open.replay(json!({"version": version, "source": 0, "entry": entry}));
        let row = open.get(&format!("/api/replays/{id}/rows/3"));
        let of_row = |index: usize| row["history"][index]["decision"].clone();
        assert_eq!([0, 1].map(|index| of_row(index)["chosen"].clone()), expected, "{entry}: {row}");
        // The rules decide each message in the same way.
        let history: Vec<Json> = messages[..2].iter().map(|message| earlier(message, json!({}))).collect();
        let asked = json!({
            "version": version, "entry": entry, "message": messages[2].to_string(), "history": history,
        });
        let decided = open.post("/api/decide", asked);
        let made = |index: usize| decided["history"]["messages"][index]["decision"].clone();
        assert_eq!([0, 1].map(of_row), [0, 1].map(made), "{entry}");
    }
}

#[test]
fn a_line_without_a_payload_is_in_no_session() {
    let rules = GUARD.replace("history by ctx.session ", "history ");
    let bare = json!({"name": "x", "now": "2026-01-31T12:00:00Z"});
    let mut line = call(1, "search");
    line["payload"] = json!({"name": "x"});
    let open = Open::new(&[("guard.rules", &rules), ("input.jsonl", &lines(&[bare, line.clone(), line]))]);
    let (id, sums) = open.replay(json!({"version": {"rules": 0}, "source": 0, "entry": "action"}));
    assert_eq!(sums["unrecorded"], 1, "{sums}");
    let row = open.get(&format!("/api/replays/{id}/rows/3"));
    let places: Vec<&Json> = row["history"].as_array().into_iter().flatten().map(|one| &one["row"]["line"]).collect();
    assert_eq!(places, [&json!(2)]);
}

/// Cause: messages that the rules do not keep were counted as left out.
#[test]
fn a_row_leaves_out_only_messages_that_the_rules_keep() {
    let messages: Vec<Json> = (0..1003)
        .map(|second| {
            let mut message = call(0, "search");
            message["now"] = json!(format!("2026-01-31T12:{:02}:{:02}Z", second / 60, second % 60));
            message["observe"] = json!(second < 1002);
            message
        })
        .collect();
    let row = |rules: &str| {
        let open = Open::new(&[("guard.rules", rules), ("input.jsonl", &lines(&messages))]);
        let (id, _) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
        open.get(&format!("/api/replays/{id}/rows/1003"))
    };
    let kept = row(GUARD);
    assert_eq!((kept["history"].as_array().map(Vec::len), &kept["older"]), (Some(5), &json!(0)));
    assert!(kept["gap"].as_str().is_some_and(|gap| gap.contains("at most")), "{}", kept["gap"]);
    let kept = row(&GUARD.replace("at most 5", "at most 5_000"));
    assert_eq!((kept["history"].as_array().map(Vec::len), &kept["older"]), (Some(1000), &json!(2)));
    assert_eq!(kept["gap"], Json::Null);
}

#[test]
fn two_versions_have_their_own_history() {
    let pay = |minute: u32| {
        let mut message = call(minute, "pay");
        message["cents"] = json!(600);
        message
    };
    let logged = |message: Json| json!({"generation": 1, "entry": "routes", "route": "payment", "path": ["routes"], "message": message});
    // The first version pays only once, and the second one never refuses.
    let text = lines(&[logged(pay(1)), pay(2), pay(3)]);
    let open = Open::new(&[("guard.rules", GUARD), ("input.jsonl", &text)]);
    let newer = GUARD.replace("> 1_000", "> 10_000");
    open.post("/api/check", json!({"rules": 0, "file": "guard.rules", "text": newer}));
    let (_, sums) = open.replay(json!({
        "version": {"rules": 0, "draft": true}, "source": 0, "against": {"rules": 0}
    }));
    let flip = json!([{"before": "routes/over_budget", "after": "routes/payment", "count": 2}]);
    assert_eq!(sums["flips"], flip);
}

#[test]
fn payloads_of_a_replay_are_judged_in_order() {
    let line = |minute: u32| {
        let mut line = call(minute, "search");
        line["payload"] = json!({"name": "x"});
        line
    };
    let text = lines(&[line(1), line(1), line(1), line(9)]);
    let open = Open::new(&[("guard.rules", GUARD), ("input.jsonl", &text)]);
    let (id, sums) = open.replay(json!({"version": {"rules": 0}, "source": 0, "entry": "action"}));
    let rejected = sums["counts"].as_array().into_iter().flatten().find(|one| one["key"] == "action/reject");
    assert_eq!(rejected.map(|one| &one["count"]), Some(&json!(1)), "{sums}");
    let row = open.get(&format!("/api/replays/{id}/rows/3"));
    assert_eq!(row["history"].as_array().map(Vec::len), Some(2));
    assert!(row["context"].as_str().is_some_and(|context| context.contains("search")), "{row}");
    let decided = open.post(
        "/api/decide",
        json!({
            "version": {"rules": 0}, "entry": "action", "message": "", "row": {"replay": id, "line": 3},
            "history": row["history"],
        }),
    );
    assert_eq!(decided["outcome"], "reject");
}

/// Cause: the wrong input of a line took the other inputs with it, so nothing was judged by them.
#[test]
fn a_line_with_a_wrong_input_is_refused() {
    let line = |cents: Json| {
        let mut line = call(1, "search");
        line["payload"] = json!({"name": "x"});
        line["cents"] = cents;
        line
    };
    let text = lines(&[line(json!(1)), line(json!("nine")), line(json!(2)), line(json!(3))]);
    let open = Open::new(&[("guard.rules", GUARD), ("input.jsonl", &text)]);
    let asked = json!({"version": {"rules": 0}, "source": 0, "entry": "action", "against": {"rules": 0}});
    let (id, sums) = open.replay(asked);
    assert_eq!((&sums["progress"]["messages"], &sums["refused"]), (&json!(3), &json!(1)), "{sums}");
    assert_eq!(sums["refusals"][0]["line"], 2);
    assert!(sums["refusals"][0]["message"].as_str().is_some_and(|text| text.contains("`cents`")), "{sums}");
    assert_eq!(open.ask("GET", &format!("/api/replays/{id}/rows/2"), None).status, 404);
    // The refused line is not recorded: only one message is before the third line.
    let key = |line: u64| {
        let rows = open.post(&format!("/api/replays/{id}/rows"), json!({"offset": 0, "limit": 9}));
        let mut rows = rows["rows"].as_array().cloned().unwrap_or_default().into_iter();
        rows.find(|row| row["line"] == line).map(|row| row["key"].clone()).unwrap_or_default()
    };
    assert_eq!([1, 3, 4].map(key), ["action/accept", "action/accept", "action/reject"].map(Json::from));
    let report = open.post("/api/report", json!({"version": {"rules": 0}, "replay": id}));
    assert!(!report.to_string().contains("nine"), "{report}");
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
