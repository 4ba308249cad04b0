//! Tests of `rulec why`.

use super::{Folder, SMALL};

#[test]
fn a_decision_is_shown_as_a_tree() {
    let args = ["why", "a.rules", "--full", "--text", "show it!", "--ctx", "{\"message_count\": \"7\"}"];
    let ran = Folder::with(SMALL).rulec(&args).expect(0);
    insta::assert_snapshot!(ran.out, @r#"
    why: shout → shout_handler
      message   text = "show it!"
                ctx.message_count = "7"

    ? show_files  (priority 100)   unknown: ctx.message_count is "7", a string, but a number is needed
    │  ✓ text contains "show"      text = "show it!"
    │  ? ctx.message_count > 3     ctx.message_count is "7", a string, but a number is needed
    ✓ shout  → shout_handler
    │  ✓ text ends_with "!"        text = "show it!"
    "#);
}

#[test]
fn a_decision_is_told_in_a_sentence_first() {
    let folder = Folder::with(SMALL);
    let ran = folder
        .rulec(&["why", "a.rules", "--text", "show it!", "--ctx", "{\"message_count\": \"7\"}"])
        .expect(0);
    insta::assert_snapshot!(ran.out);
    let ran =
        folder.rulec(&["why", "a.rules", "--text", "show", "--ctx", "{\"message_count\": 2}"]).expect(0);
    insta::assert_snapshot!(ran.out);
    let jumps = "route to when n > 1 and text contains \"a\" -> goto t\ntable t { route x when any w in words: w == \"b\" -> x }\n";
    let folder = Folder::with(jumps);
    let ran = folder
        .rulec(&["why", "a.rules", "--input", "{\"n\": 2, \"text\": \"a\", \"words\": [\"b\"]}"])
        .expect(0);
    insta::assert_snapshot!(ran.out);
    let ran = folder.rulec(&["why", "a.rules", "--input", "{\"n\": 2, \"text\": \"b\"}"]).expect(0);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn the_message_comes_in_three_ways() {
    let folder = Folder::with(SMALL);
    let message = "{\"text\": \"show\", \"ctx\": {\"message_count\": 4}}";
    let parts = folder
        .rulec(&["why", "a.rules", "--full", "--text", "show", "--ctx", "{\"message_count\": 4}"])
        .expect(0);
    let whole = folder.rulec(&["why", "a.rules", "--full", "--input", message]).expect(0);
    let piped =
        folder.fed(&["why", "a.rules", "--full", "--input", "-"], format!("\u{feff}{message}\r\n")).expect(0);
    assert!(parts.out.starts_with("why: show_files"), "{}", parts.out);
    assert_eq!(parts.out, whole.out);
    assert_eq!(parts.out, piped.out);
}

#[test]
fn the_same_as_data() {
    let rules = "input { text: string }\nroute a when text == \"a\" -> h\n";
    let ran = Folder::with(rules)
        .rulec(&["why", "a.rules", "--full", "--input", "{}", "--format", "json"])
        .expect(0);
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(json["chosen"], serde_json::Value::Null);
    assert_eq!(json["trace"]["routes"][0]["result"], "unknown");
    assert_eq!(json["breaches"][0]["path"], "text");
}

/// `why` suggests the field that a misspelt key of the message may mean, and says from which use a
/// type was inferred.
#[test]
fn breaches_say_what_may_be_the_cause() {
    let rules = "input { text: string }\nroute a when text == \"a\" -> h\n";
    let ran =
        Folder::with(rules).rulec(&["why", "a.rules", "--full", "--input", "{\"txt\": \"a\"}"]).expect(0);
    let said = "  text: expected string, found missing; the message has `txt`: did you mean `text`?\n";
    assert!(ran.out.contains(said), "{}", ran.out);
    let rules = "route a when c.tags in [\"y\"] -> h\nroute b when c.tags contains \"x\" -> h\n";
    let message = "{\"c\": {\"tags\": [\"x\"]}}";
    let ran = Folder::with(rules).rulec(&["why", "a.rules", "--full", "--input", message]).expect(0);
    let said = "  c.tags: expected string, found list; a.rules:1 uses it as string, left of `in`\n";
    assert!(ran.out.contains(said), "{}", ran.out);
}

#[test]
fn private_values_are_masked_unless_asked_for() {
    let rules =
        "input { user: { phone: string @private } }\nroute a when user.phone starts_with \"+49\" -> h\n";
    let folder = Folder::with(rules);
    let message = "{\"user\": {\"phone\": \"+49 351 4711\"}}";
    let ran = folder.rulec(&["why", "a.rules", "--full", "--input", message]).expect(0);
    assert!(!ran.out.contains("4711"), "{}", ran.out);
    let ran = folder.rulec(&["why", "a.rules", "--full", "--input", message, "--show-private"]).expect(0);
    assert!(ran.out.contains("4711"), "{}", ran.out);
}

#[test]
fn bad_messages_and_wrong_usage() {
    let folder = Folder::with(SMALL);
    let check = |args: &[&str], status: i32, said: &str| {
        let ran = folder.rulec(&[&["why", "a.rules"], args].concat()).expect(status);
        assert!(ran.out.is_empty() && ran.err.contains(said), "{args:?}: {}", ran.err);
    };
    check(
        &["--input", "[]"],
        1,
        "`--input` is not a valid message: expected an object, found a list at line 1, column 1",
    );
    check(&["--input", "{"], 1, "(E0601)");
    check(&["--ctx", "{\"a\": 1e400}"], 1, "(E0605)");
    check(&["--ctx", "{\"a\": 1, \"a\": 1}"], 1, "(E0604)");
    check(&[], 2, "--text <TEXT>|--ctx <JSON>|--input <JSON>");
    check(&["--input", "{}", "--text", "x"], 2, "cannot be used with");
    check(&["--text", "x", "--entry", "t"], 2, "there is no entry `t`");
    let ran = folder.fed(&["why", "a.rules", "--full", "--input", "-"], b"{\"a\": \"\xff\"}").expect(1);
    assert!(ran.err.contains("(E0606)"), "{}", ran.err);
    folder.rulec(&["why", "none.rules", "--text", "x"]).expect(2);
}

/// The patterns of a flow have no condition in the source text. Regression test: the name of the
/// list or flow was shown instead of the patterns.
#[test]
fn flows_show_their_patterns() {
    let rules = "list words = [\"my order\", \"invoice\"]\nflow orders \"o\" keyword contains words -> \"o\"\n\
                 flow hi \"h\" keyword exact [\"hello\"] -> \"h\"\nflow rx \"r\" keyword regex [r\"h.l+o\\s\"] -> \"r\"\n";
    let ran = Folder::with(rules).rulec(&["why", "a.rules", "--full", "--text", " hello you"]).expect(0);
    for line in ["contains \"my order\"", "contains \"invoice\"", "exact \"hello\"", "regex \"h.l+o\\\\s\""] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    assert!(!ran.out.contains("words") && !ran.out.contains("hi ="), "{}", ran.out);
}

#[test]
fn the_text_may_follow_the_rules() {
    let folder = Folder::with(super::SMALL);
    let named = folder.rulec(&["why", "a.rules", "--text", "a"]).expect(0);
    assert_eq!(folder.rulec(&["why", "a.rules", "a"]).expect(0).out, named.out);
    folder.rulec(&["why", "a.rules", "a", "--text", "a"]).expect(2);
    // A message in place of the text is read as a text, with a note.
    let ran = folder.rulec(&["why", "a.rules", "{\"text\": \"a\"}"]).expect(0);
    assert!(ran.err.contains("write `--input` before it"), "{}", ran.err);
    assert_eq!(named.err, "");
}

#[test]
fn the_sentence_names_the_word_that_was_found() {
    let words: Vec<String> = (0..1000).map(|number| format!("\"word{number}x\"")).collect();
    let rules = format!(
        "list words = [{}]\nlet known = text contains any words\nroute a when known -> h\n",
        words.join(", ")
    );
    let ran = Folder::with(rules).rulec(&["why", "a.rules", "say word77x"]).expect(0);
    assert!(ran.out.contains("found \"word77x\""), "{}", ran.out);
}

#[test]
fn the_sentence_names_a_skipped_condition_of_a_choice() {
    let rules = "choice size {\n  default branch small\n  branch large { n > 3; m > 2 }\n  branch huge { m > 9 }\n}\n";
    let folder = Folder::with(rules);
    let ran = folder.rulec(&["why", "a.rules", "--input", "{\"n\": 5}"]).expect(0);
    assert!(ran.out.contains("`m > 2` is skipped: m is missing"), "{}", ran.out);
    let ran = folder.rulec(&["why", "a.rules", "--input", "{}"]).expect(0);
    assert!(ran.out.contains("`small` is chosen"), "{}", ran.out);
    assert!(ran.out.contains("huge: `m > 9` is skipped: m is missing"), "{}", ran.out);
}
