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
    assert!(ran.err.contains("1 messages were not recorded"), "{}", ran.err);
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
