//! Tests of `rulec diff`.

use super::{Folder, SMALL};

fn folder(old: &str, new: &str) -> Folder {
    Folder::new().file("old.rules", old).file("new.rules", new)
}

const DIFF: [&str; 3] = ["diff", "old.rules", "new.rules"];

#[test]
fn a_difference_is_shown_by_messages() {
    let new = SMALL.replace("> 3", "> 5").replace("shout_handler", "loud_handler")
        + "route help priority 5 when text == \"help\" -> help_handler\n";
    let ran = folder(SMALL, &new).rulec(&DIFF).expect(1);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn spelling_is_no_difference_and_says_how_far_that_is_known() {
    let new = SMALL.replace("text contains", "(text is present) and text contains");
    let ran = folder(SMALL, &new).rulec(&DIFF).expect(0);
    assert_eq!(
        ran.out,
        "no difference in meaning: proven for every message (3 statements before and 3 after)\n"
    );
    let host = "extern fn f(a: string) -> int\nroute a when f(text) > 3 -> a\n";
    let ran = folder(host, &host.replace("> 3", "> 4")).rulec(&DIFF).expect(1);
    assert!(ran.out.contains("~ changed  a: no message with a different answer was found"), "{}", ran.out);
    assert!(ran.out.contains("but such a message may exist: 2 of"), "{}", ran.out);
    assert!(ran.out.contains("note: host functions are assumed to be the same"), "{}", ran.out);
}

#[test]
fn messages_are_replayed_from_a_file_or_a_log() {
    let new = SMALL.replace("> 3", "> 5");
    let messages = "{\"text\": \"show\", \"ctx\": {\"message_count\": 4}}\n\n{\"text\": \"hi!\"}\nno json\n\
        {\"generation\": 1, \"entry\": \"routes\", \"route\": \"show_files\", \"message\": {\"text\": \"show!\", \"ctx\": {\"message_count\": 5}}}\n";
    let folder = folder(SMALL, &new).file("log.jsonl", messages);
    let args = [&DIFF[..], &["--replay", "log.jsonl"]].concat();
    let ran = folder.rulec(&args).expect(1);
    let replayed = ran.out.split("3 messages replayed: ").nth(1).expect("a replay");
    insta::assert_snapshot!(replayed);
    let ran = folder.rulec(&[&args[..], &["--format", "json"]].concat()).expect(1);
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&json["verdict"], &json["replay"]["messages"]), (&"different".into(), &3.into()));
    assert_eq!(json["replay"]["flips"][0]["examples"][0]["line"], 1);
    assert_eq!(json["entries"][0]["changes"][0]["kind"], "changed");
    let ran =
        folder.fed(&["diff", "old.rules", "old.rules", "--replay", "-"], "{\"text\": \"show\"}\n").expect(0);
    assert!(ran.out.contains("1 message replayed: none answered differently"), "{}", ran.out);
}

#[test]
fn wrong_usage_and_bad_rules() {
    let folder = folder(SMALL, "route a when x -> \n");
    let ran = folder.rulec(&DIFF).expect(1);
    assert!(ran.out.is_empty() && ran.err.contains("E0"), "{}", ran.err);
    folder.rulec(&["diff", "old.rules"]).expect(2);
    folder.rulec(&["diff", "old.rules", "none.rules"]).expect(2);
    let ran = folder.rulec(&["diff", "old.rules", "old.rules", "--entry", "x"]).expect(2);
    assert!(ran.err.contains("--replay"), "{}", ran.err);
    let ran = folder.rulec(&["diff", "old.rules", "old.rules", "--replay", "none.jsonl"]).expect(2);
    assert!(ran.err.contains("there is no such file"), "{}", ran.err);
    let ran = folder.rulec(&["diff", "old.rules", "old.rules", "--replay", "-", "--entry", "x"]).expect(2);
    assert!(ran.err.contains("there is no entry `x`"), "{}", ran.err);
}

#[test]
fn a_difference_of_histories_is_shown_and_nothing_is_proven() {
    let old = "input { user: string, now: datetime }\nhistory keep 1h\n\
        route a when (count p in history: p.user == user) > 3 -> a\n";
    let ran = folder(old, &old.replace("1h", "2h")).rulec(&DIFF).expect(1);
    assert!(ran.out.contains("history: `keep 1h` before, `keep 2h` after"), "{}", ran.out);
    assert!(ran.out.contains("may exist, for the reason above"), "{}", ran.out);
    let added = old.replace("history keep", "history by user keep");
    let ran = folder(old, &added).rulec(&DIFF).expect(1);
    assert!(ran.out.contains("history: `by user` added"), "{}", ran.out);
    let ran = folder(&added, old).rulec(&DIFF).expect(1);
    assert!(ran.out.contains("history: `by user` before, removed after"), "{}", ran.out);
}
