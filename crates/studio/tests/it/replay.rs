//! Tests of replays: counts, rows, changed results, cancellation, and reports.

use crate::support::{DESK, Open};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::fs;

fn lines(messages: &[Json]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

/// Returns the number of messages that chose the statement with this key.
fn count(sums: &Json, key: &str) -> u64 {
    let found = sums["counts"].as_array().into_iter().flatten().find(|count| count["key"] == key);
    found.and_then(|count| count["count"].as_u64()).unwrap_or_else(|| panic!("no {key} in {sums}"))
}

#[test]
fn messages_are_counted_and_what_is_none_is_told() {
    let mut text = lines(&[
        json!({"text": "a refund", "ctx": {"amount": 12}}),
        json!({"text": "invoice, late"}),
        json!({"text": "invoice"}),
        json!({"text": "hello"}),
        // If a single message with a time switched the timeline to times, all other messages would
        // be left out.
        json!({"text": "hello again", "now": "2026-01-01T00:00:00Z"}),
    ]);
    text.push_str("\n[1]\n{\"text\": \n{\"text\": \"last, without a break\"}");
    let open = Open::new(&[("desk.rules", DESK), ("input.jsonl", &text)]);
    assert_eq!(open.get("/api/session")["sources"][0]["from"], "input");
    let (id, sums) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    assert_eq!((&sums["progress"]["state"], &sums["progress"]["messages"]), (&json!("done"), &json!(6)));
    assert_eq!(sums["progress"]["read"], sums["progress"]["bytes"]);
    let counts = ["routes/refunds", "billing/late", "billing/default", "routes/default", "routes/hidden"];
    assert_eq!(counts.map(|key| count(&sums, key)), [1, 1, 1, 3, 0]);
    let hidden = sums["counts"].as_array().into_iter().flatten().find(|one| one["key"] == "routes/hidden");
    assert!(hidden.is_some_and(|one| one["never"].is_string()));
    assert_eq!((&sums["refused"], &sums["refusals"][0]["line"]), (&json!(2), &json!(7)));
    assert_eq!((&sums["timeline"]["by_time"], &sums["compares"]), (&json!(false), &json!(false)));
    assert_eq!(sums["timeline"]["series"].as_array().map(Vec::len), Some(4));
    // The messages are counted, and not the lines, of which some are no messages.
    assert_eq!(sums["timeline"]["starts"], json!([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!((&sums["timeline"]["last"], &sums["timeline"]["end"]), (&json!(6.0), &json!(7.0)));
    let rows = |asked: Json| open.post(&format!("/api/replays/{id}/rows"), asked);
    let found = rows(json!({"since": 6.0, "until": 7.0, "limit": 9}));
    assert_eq!((&found["total"], &found["rows"][0]["line"]), (&json!(1), &json!(9)));
    let found = rows(json!({"key": "routes/default", "limit": 2}));
    assert_eq!((&found["total"], &found["rows"][0]["line"]), (&json!(3), &json!(4)));
    let found = rows(json!({"text": "AGAIN", "limit": 9}));
    assert_eq!((&found["total"], &found["rows"][0]["line"]), (&json!(1), &json!(5)));
    let found = rows(json!({"sort": "route", "descending": true, "limit": 1, "offset": 1}));
    assert_eq!(found["rows"][0]["key"], "routes/default");
    let row = open.get(&format!("/api/replays/{id}/rows/9"));
    assert!(row["message"].as_str().is_some_and(|message| message.contains("last, without")), "{row}");
    assert_eq!(open.ask("GET", &format!("/api/replays/{id}/rows/7"), None).status, 404);
    assert_eq!(open.ask("GET", "/api/replays/77", None).status, 404);
}

#[test]
fn a_log_is_compared_with_what_it_says() {
    let logged = |n: u64, route: &str, text: &str| {
        json!({
            "time": format!("2026-01-01T00:00:{n:02}Z"), "generation": 1, "entry": "routes", "route": route,
            "path": ["routes"], "elapsed_us": 100 * n, "message": {"text": text}
        })
    };
    let mut bare = logged(9, "default", "");
    bare.as_object_mut().expect("it is an object").remove("message");
    let foreign = json!({"generation": 1, "entry": "elsewhere", "route": "a"});
    let text = lines(&[
        logged(1, "default", "hello"),
        logged(2, "default", "invoice"),
        logged(3, "default", "\u{2022}\u{2022}\u{2022}"),
        bare,
        foreign,
    ]);
    let open = Open::new(&[("desk.rules", DESK), ("log.jsonl", &text)]);
    let (id, sums) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    assert_eq!((&sums["is_log"], &sums["foreign"], &sums["bare"]), (&json!(true), &json!(1), &json!(1)));
    assert_eq!((&sums["otherwise"], &sums["masked"]), (&json!(1), &json!(1)));
    assert_eq!(sums["flips"], json!([{"before": "routes/default", "after": "billing/default", "count": 1}]));
    assert_eq!(sums["timeline"]["by_time"], true);
    let answers = sums["counts"].as_array().into_iter().flatten().find(|one| one["key"] == "routes/default");
    let answers = answers.expect("it is counted");
    assert_eq!(
        (&answers["count"], &answers["before"], &answers["longest_us"]),
        (&json!(3), &json!(4), &json!(900))
    );
    let slow = open
        .post(&format!("/api/replays/{id}/rows"), json!({"sort": "elapsed", "descending": true, "limit": 1}));
    assert_eq!((&slow["rows"][0]["line"], &slow["rows"][0]["elapsed_us"]), (&json!(4), &json!(900)));
    let row = open.get(&format!("/api/replays/{id}/rows/4"));
    assert_eq!((&row["message"], &row["logged"]["route"]), (&Json::Null, &json!("default")));
}

#[test]
fn two_versions_are_compared_message_by_message() {
    let text = lines(&[
        json!({"text": "a refund", "ctx": {"amount": 12}}),
        json!({"text": "a refund", "ctx": {"amount": 3}}),
        json!({"text": "hello"}),
    ]);
    let open = Open::new(&[("desk.rules", DESK), ("input.jsonl", &text)]);
    let edited = DESK.replace("ctx.amount > 5", "ctx.amount > 2");
    let checked = open.post("/api/check", json!({"rules": 0, "file": "desk.rules", "text": edited}));
    assert_eq!(checked["compiles"], true, "{}", checked["diagnostics"]);
    let (id, sums) = open.replay(json!({
        "version": {"rules": 0, "draft": true}, "source": 0, "against": {"rules": 0}
    }));
    assert_eq!(sums["flips"], json!([{"before": "routes/default", "after": "routes/refunds", "count": 1}]));
    assert_eq!((&sums["progress"]["flipped"], &sums["compares"]), (&json!(1), &json!(true)));
    let found = open.post(&format!("/api/replays/{id}/rows"), json!({"flipped": true, "limit": 9}));
    assert_eq!((&found["total"], &found["rows"][0]["line"]), (&json!(1), &json!(2)));
    // Compare with an uploaded version that has other arguments for the same route.
    let older = DESK.replace("amount: ctx.amount ?? 0.0", "amount: 1.0");
    let uploaded = open.post("/api/rules", json!({"name": "older.rules", "text": older}));
    assert_eq!(
        (&uploaded["id"], &uploaded["on_disk"], &uploaded["compiles"]),
        (&json!(1), &json!(false), &json!(true))
    );
    let (_, sums) = open.replay(json!({"version": {"rules": 0}, "source": 0, "against": {"rules": 1}}));
    assert_eq!(sums["flips"], json!([{"before": "routes/refunds", "after": "routes/refunds", "count": 1}]));
    // The file on disk was not changed.
    assert_eq!(fs::read_to_string(open.path("desk.rules")).ok().as_deref(), Some(DESK));
}

#[test]
fn other_entries_and_payloads_are_replayed() {
    let text = lines(&[
        json!({"response": "a", "confidence": 1.0}),
        json!({"response": " "}),
        json!({"response": "b"}),
    ]);
    let open = Open::new(&[("desk.rules", DESK), ("input.jsonl", &text)]);
    let (_, sums) = open.replay(json!({"version": {"rules": 0}, "source": 0, "entry": "respond"}));
    let counts =
        ["respond/accept", "respond/accept_corrected", "respond/reject"].map(|key| count(&sums, key));
    assert_eq!(counts, [1, 1, 1]);
    let (status, _) = open.refused(
        "POST",
        "/api/replays",
        json!({"version": {"rules": 0}, "source": 0, "entry": "nowhere"}),
    );
    assert_eq!(status, 404);
    let (status, _) = open.refused("POST", "/api/replays", json!({"version": {"rules": 0}, "source": 7}));
    assert_eq!(status, 404);
}

#[test]
fn private_values_are_masked_in_rows_and_decided_all_the_same() {
    let text = lines(&[json!({"text": "x", "ctx": {"user": {"role": "admin", "phone": "SECRET"}}})]);
    let open = Open::new(&[("desk.rules", DESK), ("input.jsonl", &text)]);
    let (id, sums) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    assert_eq!(count(&sums, "routes/admins"), 1);
    let rows = open.post(&format!("/api/replays/{id}/rows"), json!({"limit": 9}));
    let row = open.get(&format!("/api/replays/{id}/rows/1"));
    let decided = open.post(
        "/api/decide",
        json!({"version": {"rules": 0}, "entry": "routes", "message": "", "row": {"replay": id, "line": 1}}),
    );
    assert_eq!(decided["key"], "routes/admins");
    let report = open.post("/api/report", json!({"version": {"rules": 0}, "replay": id}));
    for shown in [rows, row, decided, report] {
        assert!(!shown.to_string().contains("SECRET"), "{shown}");
    }
}

#[test]
fn a_file_is_uploaded_as_it_comes_and_a_replay_can_be_cancelled() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let mut text = String::new();
    for n in 0..60_000 {
        let _ = writeln!(
            text,
            "{}",
            json!({"text": format!("message {n} {}", "word ".repeat(40)), "ctx": {"amount": n}})
        );
    }
    let host = format!("127.0.0.1:{}", open.port);
    let headers = [("host", host.as_str()), ("x-rulec-token", &open.token)];
    let uploaded = open.send("POST", "/api/uploads?name=many%20messages.jsonl", &headers, &text);
    assert_eq!(uploaded.status, 200, "{uploaded:?}");
    let source = uploaded.json();
    assert_eq!((&source["name"], &source["bytes"]), (&json!("many messages.jsonl"), &json!(text.len())));
    let started = open.post("/api/replays", json!({"version": {"rules": 0}, "source": source["id"]}));
    let id = started["id"].as_u64().expect("it has a number");
    let ended = open.ask("DELETE", &format!("/api/replays/{id}"), None).json();
    // The replay may have finished before it was cancelled. A unit test covers the cancellation
    // itself.
    assert!(
        ["cancelled", "done"].contains(&ended["progress"]["state"].as_str().unwrap_or_default()),
        "{ended}"
    );
    // The results up to then, and their rows, remain available.
    let rows = open.post(&format!("/api/replays/{id}/rows"), json!({"limit": 1}));
    assert_eq!(rows["total"], ended["progress"]["messages"]);
    let (_, sums) = open.replay(json!({"version": {"rules": 0}, "source": source["id"]}));
    assert_eq!(sums["progress"]["messages"], 60_000);
}

#[test]
fn the_stream_tells_the_end() {
    let open = Open::new(&[("desk.rules", DESK), ("input.jsonl", "{\"text\": \"a\"}\n")]);
    let id = open.post("/api/replays", json!({"version": {"rules": 0}, "source": 0}))["id"].clone();
    let events = open.ask("GET", &format!("/api/replays/{id}/events"), None);
    assert!(events.head.to_ascii_lowercase().contains("content-type: text/event-stream"), "{}", events.head);
    let last =
        events.body.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().expect("events come");
    let last: Json = serde_json::from_str(last).expect("an event is JSON");
    assert_eq!((&last["state"], &last["messages"]), (&json!("done"), &json!(1)));
}

#[test]
fn a_file_that_is_gone_or_changed_is_told() {
    let open = Open::new(&[
        ("desk.rules", DESK),
        ("input.jsonl", "{\"text\": \"aaaaaaaaaaaa\"}\n{\"text\": \"b\"}\n"),
    ]);
    let (id, _) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    fs::write(open.path("input.jsonl"), "{\"text\": \"c\"}\n").expect("it can be written");
    let (status, refusal) = open.refused("POST", &format!("/api/replays/{id}/rows"), json!({"limit": 9}));
    assert_eq!((status, &refusal["kind"]), (409, &json!("changed")));
    fs::remove_file(open.path("input.jsonl")).expect("it can be removed");
    let (_, sums) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    assert_eq!(sums["progress"]["state"], "failed");
    assert!(sums["failure"].as_str().is_some_and(|failure| failure.contains("cannot be read")), "{sums}");
}

#[test]
fn the_map_the_table_and_the_report_say_what_is_known() {
    let text = lines(&[json!({"text": "a refund", "ctx": {"amount": 12}}), json!({"text": "hello"})]);
    let open = Open::new(&[("desk.rules", DESK), ("input.jsonl", &text)]);
    // The analysis of many routes takes seconds, so the map does not wait for it.
    let map_asked = |analysed: bool| {
        let map = open.get(&format!("/api/map?rules=0&analysed={analysed}"));
        let routes = map["tables"][0]["routes"].as_array().cloned().unwrap_or_default();
        let hidden = routes.iter().find(|route| route["name"] == "hidden").cloned().unwrap_or_default();
        (map["analysed"].clone(), hidden["findings"][0]["kind"].clone())
    };
    let (unknown, known) = ((json!(false), Json::Null), (json!(true), json!("shadowed")));
    assert_eq!([map_asked(false), map_asked(true), map_asked(false)], [unknown, known.clone(), known]);
    let map = open.get("/api/map?rules=0");
    let routes = map["tables"][0]["routes"].as_array().cloned().unwrap_or_default();
    let named = |name: &str| routes.iter().find(|route| route["name"] == name).cloned().unwrap_or_default();
    assert_eq!(named("to_billing")["goto"], "billing");
    assert_eq!(
        (&named("refunds")["docs"], &named("refunds")["to"]),
        (&json!("Money back."), &json!("refund_handler"))
    );
    assert!(named("refunds")["found"]["by"].is_string() && named("default")["place"]["line"].is_u64());
    assert_eq!(map["workflows"][0]["edges"].as_array().map(Vec::len), Some(3));
    let table = open.get("/api/table?rules=0&table=routes&analysed=true");
    assert_eq!(table["columns"][0]["field"], "text");
    let row = &table["rows"][0];
    assert_eq!(row["cells"][0], "contains word \"refund\"");
    assert!(row["cells"].as_array().is_some_and(|cells| cells.contains(&json!("> 5"))), "{row}");
    let pair =
        table["overlaps"].as_array().into_iter().flatten().find(|pair| pair["second"] == "routes/hidden");
    assert!(pair.is_some_and(|pair| pair["first"] == "routes/refunds" && pair["differs"] == true), "{table}");
    let (id, _) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    let report = open.post("/api/report", json!({"version": {"rules": 0}, "replay": id}));
    assert_eq!((&report["covered_by_tests"], &report["covered_decisions"]), (&json!(false), &json!(2)));
    assert_eq!((&report["summary"]["tests"], &report["summary"]["failed"]), (&json!(1), &json!(0)));
    assert_eq!(report["samples"].as_array().map(Vec::len), Some(2));
    let gap = report["coverage"].as_array().into_iter().flatten().find(|item| item["name"] == "hidden");
    assert!(gap.is_some_and(|item| item["gap"].as_str().is_some_and(|gap| gap.starts_with("never chosen"))));
    let report = open.post("/api/report", json!({"version": {"rules": 0}}));
    assert_eq!((&report["covered_by_tests"], &report["replay"]), (&json!(true), &Json::Null));
    // A gap is a message that no row matches.
    let open = Open::new(&[("a.rules", "route a when n > 3 -> h\nroute b when n < 3 -> i")]);
    let table = open.get("/api/table?rules=0&table=routes&analysed=true");
    assert!(table["gaps"][0]["example"].is_string() && table["overlaps"] == json!([]), "{table}");
    // Other tables have gaps too, unless they have a default.
    let open = Open::new(&[(
        "a.rules",
        "choice size { branch small { n < 3 }  branch big { n > 3 } }\n\
         choice whole { default branch big  branch small { n < 3 } }\n\
         table t { route a when n == 3 -> h }\n\
         route x when n > 0 -> goto t\ndefault -> h",
    )]);
    let gaps =
        |table: &str| open.get(&format!("/api/table?rules=0&analysed=true&table={table}"))["gaps"].clone();
    assert_eq!(gaps("size")[0]["message"], "no row matches this message");
    let example = gaps("size")[0]["example"].as_str().map(|text| serde_json::from_str::<Json>(text).unwrap());
    assert!(example.is_some_and(|example| example["n"] == 3 || example["n"].is_null()));
    let example = gaps("t")[0]["example"].as_str().map(|text| serde_json::from_str::<Json>(text).unwrap());
    assert!(example.is_some_and(|example| example["n"] != 3));
    assert_eq!((gaps("whole"), gaps("routes")), (json!([]), json!([])));
}
