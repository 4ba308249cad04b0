//! Tests of `rulec serve` with JSON documents of other systems in place of rules.

#![cfg(all(feature = "http", feature = "serve"))]

use super::serve::Service;
use super::{Folder, Ran};
use serde_json::Value as Json;

/// Flows of which `odd` cannot be used.
fn flows(pattern: &str) -> String {
    format!(
        r#"[{{"flow_id": "odd", "type": "keyword", "trigger_patterns": ["(?!x)"], "match_type": "regex"}},
{{"flow_id": "greeting", "type": "keyword", "trigger_patterns": ["{pattern}"]}}]"#
    )
}

/// Asks the rules `name` of a service for the flow that a text starts.
fn flow(folder: &Folder, service: &Service, name: &str, text: &str) -> Json {
    let message = format!("{{\"text\": \"{text}\"}}\n");
    let ran = folder.fed(&["run", name, "--server", &service.url], message).expect(0);
    ran.json()[0]["flow"].clone()
}

fn wait_for_flow(folder: &Folder, service: &Service, (name, text, expected): (&str, &str, &str)) {
    while flow(folder, service, name, text) != expected {
        std::thread::yield_now();
    }
}

#[test]
fn a_document_is_served_and_follows_its_file() {
    let folder = Folder::new().file("bot.json", flows("hi"));
    let service = Service::start_with(&folder, &["bot.json"]);
    let here = folder.fed(&["run", "bot.json"], "{\"text\": \"hi\"}\n").expect(0);
    assert_eq!(
        (flow(&folder, &service, "bot", "hi"), &here.json()[0]["flow"]),
        ("greeting".into(), &"greeting".into())
    );
    let folder = folder.file("bot.json", "[{").file("bot.json", flows("hello"));
    wait_for_flow(&folder, &service, ("bot", "hello", "greeting"));
    assert_eq!(flow(&folder, &service, "bot", "hi"), Json::Null);
    let why = folder.rulec(&["why", "bot", "hello", "--server", &service.url]).expect(0);
    assert!(why.out.starts_with("`greeting` is chosen"), "{}", why.out);
}

#[test]
fn the_documents_of_a_folder_are_served() {
    let folder = Folder::new().file("bots/one.json", flows("one")).file("bots/note.txt", "no rules");
    folder.rulec(&["serve", "bots"]).expect(2);
    let service = Service::start_with(&folder, &["bots", "--as", "flows"]);
    assert_eq!(flow(&folder, &service, "one", "one"), "greeting");
    // A new document that is broken is refused, and joins when it is corrected.
    let folder = folder.file("bots/two.json", "[{");
    let folder = folder.file("bots/two.json", flows("two"));
    let joined =
        || folder.fed(&["run", "two", "--server", &service.url], "{\"text\": \"two\"}\n").status == Some(0);
    while !joined() {
        std::thread::yield_now();
    }
    assert_eq!(flow(&folder, &service, "two", "two"), "greeting");
}

#[test]
fn a_document_that_is_refused_says_why() {
    let folder =
        Folder::with("default -> chat").file("bot.json", flows("hi")).file("songs.json", "{\"songs\": []}");
    let refuse = |args: &[&str], status: i32, expected: &str| {
        let ran: Ran = folder.rulec(&[&["serve", "--listen", "127.0.0.1:0"], args].concat()).expect(status);
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    };
    refuse(&["bot.json", "--strict"], 1, "`bot.json`: flow `odd`: ");
    refuse(&["songs.json"], 1, "name its kind: routes, choice, flows, context");
    refuse(&["songs.json", "--as", "flows"], 1, "needs `flows`");
    refuse(&["a.rules", "--strict"], 2, "no document is given");
    refuse(&["a.rules", "--literal"], 2, "only `flows`");
    // `--as` does not concern files of rules, whose names say what they are.
    refuse(&["a.rules", "bot.json", "--as", "flows", "--strict"], 1, "flow `odd`");
}

#[test]
fn a_signed_artifact_of_a_document_is_trusted() {
    let key = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/keys/only-for-tests.pem");
    let public = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/keys/only-for-tests.pub");
    let context = r#"{"workflows": {}, "subagents": {}}"#;
    let folder = Folder::new().file("bot.json", flows("hi")).file("guard.json", context);
    let ran = folder.rulec(&["serve", "bot.json", "--trust", public]).expect(1);
    assert!(
        ran.err.contains("`bot.json` has no signature; only files that `rulec build --sign`"),
        "{}",
        ran.err
    );
    folder.rulec(&["build", "bot.json", "--sign", key]).expect(0);
    let service = Service::start_with(&folder, &["bot.rulec", "--trust", public]);
    assert_eq!(flow(&folder, &service, "bot", "hi"), "greeting");
    // The context of payload rules would be lost.
    let ran = folder.rulec(&["build", "guard.json"]).expect(2);
    assert!(ran.err.contains("payload context of `guard.json`"), "{}", ran.err);
}
