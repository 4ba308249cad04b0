//! Tests of replays that record a history: their decisions, and rows with the earlier messages of
//! their session.

use super::history::{GUARD, call, earlier};
use crate::support::Open;
use serde_json::{Value as Json, json};

fn lines(messages: &[Json]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
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

/// Regression test: the names of an earlier decision were parsed from the key of its row, which
/// fails for names with a `/`.
#[test]
fn a_row_has_the_decisions_that_the_replay_recorded() {
    let rules = r#"input { text: string, now: datetime, ctx: { session: string } }
history by ctx.session keep 24h at most 5
choice `a/b` { default branch `c/d`  branch seen { (count p in history within 1h: p.decision.chosen == "c/d") >= 1 } }
table `t/u` { route `v/w` when text contains "pay" -> pay }
flow opening "Opening hours" intent ["when do you open", "are you open today"] -> "F2"
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
    let places: Vec<&Json> =
        row["history"].as_array().into_iter().flatten().map(|one| &one["row"]["line"]).collect();
    assert_eq!(places, [&json!(2)]);
}

/// Regression test: messages that the rules do not keep were counted as omitted.
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

/// Regression test: if one input of a line had a wrong type, the other inputs were ignored too.
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
