//! Tests of histories in a folder: `rulec run --history DIR` and `rulec history`.

use super::Folder;
use serde_json::{Value as Json, json};

const RULES: &str = "input { tool: string, user: string, card?: string @private, now: datetime }
history by user keep 1h
route busy when (count p in history within 10m: p.tool == tool) >= 2 -> slow_down
route paid when any p in history: p.card == card -> again
default -> run
";

fn call(tool: &str, user: &str, second: u32) -> String {
    let now = format!("2026-01-31T12:00:{second:02}Z");
    format!("{}\n", json!({"tool": tool, "user": user, "card": format!("card of {user}"), "now": now}))
}

fn targets(answers: &[Json]) -> Vec<&str> {
    answers.iter().filter_map(|answer| answer["target"].as_str()).collect()
}

#[cfg(feature = "history")]
#[test]
fn a_folder_keeps_the_messages_for_the_next_run() {
    let folder = Folder::with(RULES);
    let run = ["run", "a.rules", "--history", "past"];
    let first = folder.fed(&run, call("search", "ann", 0) + &call("search", "bob", 1)).expect(0);
    assert_eq!(targets(&first.json()), ["run", "run"]);
    let second = folder.fed(&run, call("search", "ann", 2) + &call("search", "ann", 3)).expect(0);
    assert_eq!(targets(&second.json()), ["again", "slow_down"]);
    let checked = folder.rulec(&["history", "check", "past"]).expect(0);
    assert!(checked.err.contains("keys: 2; messages: 4; wrong: 0"), "{}", checked.err);
    let shown = folder.rulec(&["history", "show", "past", "--key", "ann"]).expect(0);
    assert_eq!(shown.json().len(), 3);
    assert_eq!(shown.json()[0]["key"], "ann");
    assert_eq!(shown.json()[0]["message"]["at"], "2026-01-31T12:00:00Z");
    assert!(!shown.out.contains("card of ann"), "{}", shown.out);
    let explained = |folder_name: &str, message: &str| {
        folder.rulec(&["why", "a.rules", "--input", message, "--history", folder_name])
    };
    let busy = explained("past", &call("search", "ann", 4)).expect(0);
    assert!(busy.out.contains("`busy` is chosen"), "{}", busy.out);
    let message = call("search", "ann", 4);
    for options in [&["--full"][..], &["--format", "json"]] {
        let args = ["why", "a.rules", "--input", &message, "--history", "past"];
        let shown = folder.rulec(&[&args, options].concat()).expect(0).out;
        assert!(
            shown.contains("2026-01-31T12:00:02Z") && !shown.contains("\"#\"") && !shown.contains("#:"),
            "{shown}"
        );
    }
    let idle = explained("past", &call("search", "eve", 4)).expect(0);
    assert!(idle.out.contains("`default` is chosen"), "{}", idle.out);
    let keyless = explained("past", "{\"tool\": \"search\"}").expect(0);
    assert!(keyless.out.contains("the message has no key"), "{}", keyless.out);
    assert!(explained("nothing", "{}").expect(2).err.contains("there is no folder `nothing`"));
    // An explanation records nothing.
    assert_eq!(folder.rulec(&["history", "show", "past"]).expect(0).json().len(), 4);
    folder.rulec(&["history", "compact", "past", "--before", "2026-01-31T12:00:02Z"]).expect(0);
    assert_eq!(folder.rulec(&["history", "show", "past"]).expect(0).json().len(), 2);
    let refused = folder.rulec(&["history", "check", "nothing"]).expect(2);
    assert!(refused.err.contains("there is no folder `nothing`"), "{}", refused.err);
    // A folder without a history stays as it is.
    let refused = folder.rulec(&["history", "check", "."]).expect(2);
    assert!(refused.err.contains("has no history"), "{}", refused.err);
    assert!(!folder.path("history.sqlite").exists());
    let refused = folder.fed(&["run", "--history", "a.rules"], String::new());
    assert!(refused.err.contains("rules"), "{}", refused.err);
}

/// Cause: a message for which the keyword patterns chose no flow was answered before the history
/// was asked, so it was neither observed nor recorded.
#[cfg(feature = "history")]
#[test]
fn messages_that_match_no_pattern_are_recorded_too() {
    let folder = Folder::with(
        "input { text: string, now: datetime }\nhistory keep 1h\n\
         flow hello keyword exact [\"hello\"] -> \"greeting\"\n\
         flow refund intent [\"I want my money back\", \"return my payment\"] -> \"refund\"\n\
         route often when (count p in history within 1h: true) > 2 -> slow_down\ndefault -> run",
    );
    let line = |text: &str, observe: bool| {
        format!("{}\n", json!({"text": text, "now": "2026-01-31T12:00:00Z", "observe": observe}))
    };
    let lines = [line("hello", false), line("give my money back", false), line("hamlet", true)].concat();
    let ran = folder.fed(&["run", "a.rules", "--entry", "flows", "--history", "past"], lines).expect(0);
    let answers = ran.json();
    assert_eq!((&answers[0]["flow"], &answers[1]["flow"]), (&json!("greeting"), &json!("refund")));
    assert_eq!(answers[2]["observed"], true);
    let shown = folder.rulec(&["history", "show", "past"]).expect(0);
    assert_eq!(shown.out.lines().count(), 3, "{}", shown.out);
}

#[cfg(not(feature = "history"))]
#[test]
fn a_program_without_folders_says_how_to_build_one() {
    let folder = Folder::with(RULES);
    let refused = folder.fed(&["run", "a.rules", "--history", "past"], call("search", "ann", 0)).expect(2);
    assert!(refused.err.contains("--features history"), "{}", refused.err);
    let refused = folder.rulec(&["history", "check", "past"]).expect(2);
    assert!(refused.err.contains("--features history"), "{}", refused.err);
    assert!(targets(&[]).is_empty());
}

#[test]
fn a_run_reports_what_the_history_lacks() {
    let folder = Folder::with(RULES);
    let without_key = json!({"tool": "search", "now": "2026-01-31T12:00:00Z"}).to_string();
    let ran = folder.fed(&["run", "a.rules", "--history"], without_key).expect(0);
    assert_eq!(ran.json()[0]["history_gap"], "no_key");
}

#[test]
fn a_replay_has_a_history() {
    let observed = call("search", "ann", 0).replace('}', ",\"observe\":true}");
    let calls = observed + &call("search", "ann", 1) + &call("search", "ann", 2);
    let folder =
        Folder::with(RULES).file("b.rules", RULES.replace(">= 2", ">= 3")).file("calls.jsonl", calls);
    let ran = folder.rulec(&["diff", "a.rules", "b.rules", "--replay", "calls.jsonl"]);
    assert!(ran.out.contains("2 messages replayed: 1 answered differently"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("busy → paid"), "{}", ran.out);
}

#[test]
fn a_replay_without_a_history_decides_every_message() {
    let rules = "input { observe?: bool, n: int }\nroute big when n > 5 -> a\ndefault -> b\n";
    let calls = "{\"observe\": true, \"n\": 6}\n{\"n\": 6}\n";
    let folder = Folder::with(rules).file("b.rules", rules.replace("> 5", "> 6")).file("calls.jsonl", calls);
    let ran = folder.rulec(&["diff", "a.rules", "b.rules", "--replay", "calls.jsonl"]);
    assert!(ran.out.contains("2 messages replayed: 2 answered differently"), "{}{}", ran.out, ran.err);
}

#[test]
fn costs_name_rules_that_grow_with_the_history() {
    let rules = "input { n: int, now: datetime }
history keep 1h
route counted when (count p in history: p.n == n) >= 2 -> a
route compared when any p in history: p.n > n -> b
route paired when any p in history: any q in history after p: p.n < q.n -> c
default -> d
";
    let ran = Folder::with(rules).rulec(&["check", "a.rules", "--cost"]);
    let line = |name: &str| ran.out.lines().rfind(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(line("compared").contains("grows with the history"), "{}", ran.out);
    assert!(line("paired").contains("grows with the history"), "{}", ran.out);
    assert!(!line("counted").contains("grows with the history"), "{}", ran.out);
}
