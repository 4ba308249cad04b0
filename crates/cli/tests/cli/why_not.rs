//! Tests of `rulec why-not`.

use super::{Folder, SMALL};

#[test]
fn the_smallest_change_is_told() {
    let folder = Folder::with(SMALL);
    let ran = folder
        .rulec(&["why-not", "a.rules", "show_files", "--text", "show", "--ctx", "{\"message_count\": 2}"])
        .expect(0);
    insta::assert_snapshot!(ran.out);
    let ran = folder.rulec(&["why-not", "a.rules", "show_files", "--text", "hello"]).expect(0);
    insta::assert_snapshot!(ran.out);
    let ran = folder.rulec(&["why-not", "a.rules", "shout", "--text", "hello!"]).expect(0);
    assert_eq!(ran.out, "`shout` already takes the message; `rulec why` explains why\n");
    let ran = folder.rulec(&["why-not", "a.rules", "shout", "--text", "hello", "--format", "json"]).expect(0);
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(json["taken_by"], "default");
    assert_eq!(json["remedy"]["change"]["fields"][0]["field"], "text");
}

#[test]
fn what_cannot_be_is_said() {
    let folder = Folder::with("route a when n > 1 -> a\nroute b when n > 2 -> b\ndefault -> d\n");
    let ran = folder.rulec(&["why-not", "a.rules", "b", "--input", "{\"n\": 3}"]).expect(0);
    assert!(ran.out.starts_with("no message can reach `b`;"), "{}", ran.out);
    let folder = Folder::with("extern fn f(a: string) -> int\nroute a when f(text) > 3 -> a\n");
    let ran = folder.rulec(&["why-not", "a.rules", "a", "--text", "x"]).expect(0);
    assert!(ran.out.starts_with("no route takes the message. No change was found"), "{}", ran.out);
}

#[test]
fn private_values_are_masked_unless_asked_for() {
    let rules =
        "input { user: { phone: string @private } }\nroute a when user.phone starts_with \"+49\" -> h\n";
    let folder = Folder::with(rules);
    let args = ["why-not", "a.rules", "a", "--input", "{\"user\": {\"phone\": \"+48 4711\"}}"];
    for format in ["human", "json"] {
        let ran = folder.rulec(&[&args[..], &["--format", format]].concat()).expect(0);
        assert!(!ran.out.contains("4711") && ran.out.contains("user.phone"), "{}", ran.out);
    }
    let ran = folder.rulec(&[&args[..], &["--show-private"]].concat()).expect(0);
    assert!(ran.out.contains("4711"), "{}", ran.out);
}

#[test]
fn wrong_usage() {
    let folder = Folder::with(SMALL);
    let check = |args: &[&str], status: i32, said: &str| {
        let ran = folder.rulec(&[&["why-not", "a.rules"], args].concat()).expect(status);
        assert!(ran.out.is_empty() && ran.err.contains(said), "{args:?}: {}", ran.err);
    };
    check(&["shuot", "--text", "x"], 2, "there is no route `shuot`; did you mean `shout`?");
    check(&["shout"], 2, "--text <TEXT>|--ctx <JSON>|--input <JSON>");
    check(&["--text", "x"], 2, "ROUTE");
    check(&["shout", "--input", "[]"], 1, "`--input` is not a valid message");
    check(&["shout", "--text", "x", "--entry", "t"], 2, "there is no entry `t`");
}
