//! Tests of `rulec run --history`, and of `test` blocks with a `given history`.

use super::Folder;
use serde_json::json;

const RULES: &str = r#"input { tool: string, user: string, now: datetime }
history by user keep 1h
route too_fast when (count p in history within 1m: p.tool == tool) >= 2 -> slow_down
route leak when tool == "mail" and any p in history: p.tool == "secret" -> deny
default -> run
test "a secret was read" {
  given tool = "mail"
  given user = "ann"
  given now = "2026-01-31T12:00:00Z"
  given history = [{ tool: "secret", ago: 5m }]
  expect leak -> deny
}
"#;

fn call(tool: &str, user: &str, second: u32) -> String {
    let call = json!({"tool": tool, "user": user, "now": format!("2026-01-31T12:00:{second:02}Z")});
    format!("{call}\n")
}

#[test]
fn earlier_lines_decide_with_the_option_only() {
    let lines: String = (0..4).map(|second| call("search", "ann", second)).collect();
    let other = call("search", "bob", 5);
    let folder = Folder::with(RULES);
    let targets = |args: &[&str]| {
        let ran = folder.fed(args, format!("{lines}{other}")).expect(0);
        let targets = ran.json().iter().map(|line| line["target"].clone()).collect::<Vec<_>>();
        (json!(targets), ran.err)
    };
    let (with, _) = targets(&["run", "a.rules", "--history"]);
    assert_eq!(with, json!(["run", "run", "slow_down", "slow_down", "run"]));
    let (threads, _) = targets(&["run", "a.rules", "--history", "--jobs", "4", "--engine", "reference"]);
    assert_eq!(threads, with);
    let (without, notes) = targets(&["run", "a.rules"]);
    assert_eq!(without, json!(["run", "run", "run", "run", "run"]));
    assert!(notes.contains("`--history` records the messages"), "{notes}");
}

#[test]
fn observed_messages_are_recorded_and_not_decided() {
    let observed = r#"{"tool": "secret", "user": "ann", "now": "2026-01-31T12:00:00Z", "observe": true}"#;
    let without_time = r#"{"tool": "mail", "user": "ann"}"#;
    let lines = format!("{observed}\n{}{without_time}\n", call("mail", "ann", 1));
    let ran = Folder::with(RULES).fed(&["run", "a.rules", "--history", "--explain"], lines).expect(0);
    let answers = ran.json();
    assert_eq!(answers[0], json!({"line": 1, "observed": true}));
    assert_eq!(answers[1]["target"], "deny");
    assert_eq!(answers[2]["target"], "deny");
    assert!(ran.err.contains("no key of the history: 1"), "{}", ran.err);
}

#[test]
fn rules_without_a_history_refuse_the_option() {
    let ran = Folder::with("default -> a").fed(&["run", "a.rules", "--history"], "{}\n").expect(2);
    assert!(ran.err.contains("the rules keep no history"), "{}", ran.err);
}

#[test]
fn tests_give_a_past() {
    let folder = Folder::with(RULES);
    folder.rulec(&["test", "a.rules"]).expect(0);
    let broken =
        RULES.replace("ago: 5m", "ago: 2h").replace("in history: p.tool", "in history within 1h: p.tool");
    let ran = Folder::with(&broken).rulec(&["test", "a.rules"]).expect(1);
    assert!(ran.out.contains("a secret was read"), "{}", ran.out);
    Folder::with(RULES).rulec(&["fmt", "--check", "a.rules"]).expect(0);
}

const JUDGED: &str = r#"input { user: string, now: datetime, tool?: string }
history by user keep 1h
payload action {
  name: string
  require "action.rate" at name: (count p in history within 1m: p.tool == name) < 2 else "too many calls"
}
"#;

#[test]
fn payloads_are_judged_with_the_earlier_lines() {
    let folder = Folder::with(JUDGED);
    let line = |user: &str, second: u32, more: serde_json::Value| {
        let mut line = json!({"user": user, "now": format!("2026-01-31T12:00:{second:02}Z"), "tool": "x"});
        line.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        format!("{line}\n")
    };
    let payload = json!({"payload": {"name": "x"}});
    let lines = [
        line("ann", 0, payload.clone()),
        line("ann", 1, json!({"observe": true})),
        line("ann", 2, payload.clone()),
        line("bob", 3, payload.clone()),
        line("ann", 4, json!({})),
        line("ann", 5, json!({"payload": {"name": "x"}, "now": 7})),
    ];
    let outcomes = |args: &[&str], lines: &str, status: i32| {
        let ran = folder.fed(args, lines).expect(status);
        let outcome = |line: &serde_json::Value| match (&line["outcome"], &line["observed"]) {
            (outcome, _) if outcome.is_string() => outcome.clone(),
            (_, observed) if observed.is_boolean() => json!("observed"),
            _ => line["error"]["message"].clone(),
        };
        ran.json().iter().map(outcome).collect::<Vec<_>>()
    };
    let args = ["run", "a.rules", "--decision", "action", "--history"];
    let found = outcomes(&args, &lines.concat(), 1);
    assert_eq!(found[..5], ["accept", "observed", "reject", "accept", "the line has no object `payload`"]);
    assert!(found[5].as_str().is_some_and(|error| error.contains("now")), "{found:?}");
    let rejected = folder.fed(&args, lines[..3].concat()).expect(0);
    assert!(rejected.out.contains("action.rate"), "{}", rejected.out);
    let without_key = json!({"now": "2026-01-31T12:00:00Z", "payload": {"name": "x"}}).to_string();
    let judged = folder.fed(&args, without_key).json();
    assert_eq!((&judged[0]["outcome"], &judged[0]["history_gap"]), (&json!("accept"), &json!("no_key")));
    let csv = ["run", "a.rules", "--decision", "action", "--history", "--output", "a.csv"];
    assert!(folder.fed(&csv, "").expect(2).err.contains("--history"));
}

#[cfg(feature = "history")]
#[test]
fn a_folder_keeps_the_messages_of_judged_payloads() {
    let folder = Folder::with(JUDGED);
    let line = |second: u32| {
        let now = format!("2026-01-31T12:00:{second:02}Z");
        json!({"user": "ann", "now": now, "tool": "x", "payload": {"name": "x"}}).to_string()
    };
    let run = ["run", "a.rules", "--decision", "action", "--history", "past"];
    for second in 0..2 {
        assert!(folder.fed(&run, line(second)).expect(0).out.contains("\"accept\""));
    }
    let why = ["why", "a.rules", "--decision", "action", "--history", "past", "--input", &line(2)];
    assert!(folder.rulec(&why).expect(0).out.contains("too many calls"));
    assert!(folder.fed(&run, line(2)).expect(0).out.contains("\"reject\""));
}

/// The log of a run has the observed messages, so a replay of the log decides as the messages do.
#[test]
fn a_decision_log_has_the_observed_messages() {
    let mut observed: serde_json::Value = serde_json::from_str(&call("secret", "ann", 0)).expect("JSON");
    observed["observe"] = json!(true);
    let lines = format!("{observed}\n{}", call("mail", "ann", 1));
    let changed = RULES.replace("tool == \"mail\" and", "tool == \"letter\" and");
    let folder = Folder::with(RULES).file("b.rules", &changed).file("calls.jsonl", &lines);
    folder.rulec(&["run", "a.rules", "calls.jsonl", "--history", "--log", "log.jsonl"]).expect(0);
    let log = std::fs::read_to_string(folder.path("log.jsonl")).expect("a log");
    let line: serde_json::Value = serde_json::from_str(log.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&line["observed"], &line["message"]["tool"]), (&json!(true), &json!("secret")));
    assert_eq!((line.get("route"), line["message"].get("observe")), (None, None));
    for file in ["calls.jsonl", "log.jsonl"] {
        let ran = folder.rulec(&["diff", "a.rules", "b.rules", "--replay", file]).expect(1);
        assert!(ran.out.contains("1 message replayed: 1 answered differently"), "{file}: {}", ran.out);
    }
    let doctor = folder.rulec(&["doctor", "a.rules", "--log", "log.jsonl"]);
    assert!(!format!("{}{}", doctor.out, doctor.err).contains("lines are"), "{}{}", doctor.out, doctor.err);
}

/// Regression test: `doctor` decided each message of a log without a history. It reported decisions
/// as changed, and routes that read the history as never chosen.
#[test]
fn doctor_replays_the_log_with_its_history() {
    let mut observed: serde_json::Value = serde_json::from_str(&call("secret", "ann", 0)).expect("JSON");
    observed["observe"] = json!(true);
    let calls: String = (2..5).map(|second| call("search", "bob", second)).collect();
    let lines = format!("{observed}\n{}{calls}", call("mail", "ann", 1));
    let folder = Folder::with(RULES).file("calls.jsonl", &lines);
    folder.rulec(&["run", "a.rules", "calls.jsonl", "--history", "--log", "log.jsonl"]).expect(0);
    let doctor = folder.rulec(&["doctor", "a.rules", "--log", "log.jsonl"]).expect(0);
    assert!(doctor.out.contains("4 decisions from "), "{}", doctor.out);
    assert!(doctor.out.contains("2 of 2 routes chosen"), "{}", doctor.out);
    assert!(!doctor.out.contains("would differ") && !doctor.out.contains("never chosen"), "{}", doctor.out);
    let changed = RULES.replace("tool == \"mail\" and", "tool == \"letter\" and");
    let folder = folder.file("b.rules", &changed);
    let doctor = folder.rulec(&["doctor", "b.rules", "--log", "log.jsonl"]).expect(0);
    assert!(
        doctor.out.contains("1 decision would differ") && doctor.out.contains("at line 2"),
        "{}",
        doctor.out
    );
    assert!(doctor.out.contains("other messages than the log"), "{}", doctor.out);
}

/// Regression test: an explanation of a sum printed whole earlier messages before the reason.
#[test]
fn an_explanation_of_a_sum_counts_the_earlier_messages() {
    let rules = "input { tool: string, cents: int, now: datetime }\nhistory keep 1d\n\
        let paid = sum p.cents for p in history within 1d: p.tool == \"pay\"\n\
        route within when paid + cents <= 100 -> run\ndefault -> ask\n\
        test \"the sum\" {\n  given tool = \"pay\"\n  given cents = 90\n  given now = \"2026-01-31T12:00:00Z\"\n  \
        given history = [{ tool: \"pay\", cents: 70, ago: 2h }, { tool: \"pay\", cents: 10, ago: 1h }]\n  \
        expect within\n}\n";
    let ran = Folder::with(rules).rulec(&["test", "a.rules"]).expect(1);
    assert!(ran.out.contains("history = 2 earlier messages"), "{}", ran.out);
    assert!(!ran.out.contains("{ at:"), "{}", ran.out);
}

/// An explanation names the message that decided, however long the history is.
#[cfg(feature = "history")]
#[test]
fn why_names_the_message_that_decided() {
    let mut lines: String = (0..30).map(|second| call("other", "ann", second)).collect();
    lines += &call("secret", "ann", 30);
    lines += &(31..50).map(|second| call("search", "ann", second)).collect::<String>();
    let folder = Folder::with(RULES);
    folder.fed(&["run", "a.rules", "--history", "past"], lines).expect(0);
    let why = |tool: &str| {
        let input = call(tool, "ann", 55);
        folder.rulec(&["why", "a.rules", "--history", "past", "--input", &input]).expect(0).out
    };
    let leak = why("mail");
    assert!(leak.contains("(because of the message of 2026-01-31T12:00:30Z (25s before))"), "{leak}");
    assert!(!leak.contains("{ tool:"), "{leak}");
    let fast = why("search");
    assert!(fast.contains("because of 19 messages, the last of 2026-01-31T12:00:49Z (6s before)"), "{fast}");
    let near = why("mail").replace("secret", "");
    assert!(near.starts_with("`leak` is chosen"), "{near}");
}
