//! Values of `@private` fields are in no answer of the studio: each value and key of the messages
//! contains a token, and no answer contains the token.

use crate::support::Open;
use serde_json::{Value as Json, json};

const TOKEN: &str = "TOKEN";

const RULES: &str = r#"type User = { id: string @private, book?: dict<string> @private }
input {
  text: string @private
  users?: list<User>
  codes?: dict<int> @private
  context?: User
}
route users when any u in users: u.id == "1" -> h(u: users[0])
route texts when text matches "TOK.*" -> h(t: text)
default -> other(u: users)
payload send {
  to: string
  copy: string default context.id
  inner?: User
  require "to" at to: to == context.id default context.id
  each key, value in inner.book { require "inner" at value: value == "n" }
}
test "fails" {
  given text = "no"
  expect users
}
"#;

#[test]
fn no_answer_shows_a_private_value() {
    let messages = [
        r#"{"text": "TOKEN", "users": [{"id": "TOKEN", "book": {"TOKEN": "TOKEN"}}], "codes": {"TOKEN": 1}}"#,
        r#"{"text": ["TOKEN"], "users": {"TOKEN": {"id": "TOKEN"}}, "codes": ["TOKEN"]}"#,
        r#"{"text": "TOKEN", "users": [["TOKEN"], {"TOKEN": "TOKEN"}], "codes": "TOKEN"}"#,
        r#"{"codes": {"TOKEN": 1, "TOKEN": 2}}"#,
        r#"{"codes": {"TOKEN": 1e999}}"#,
    ];
    let input = messages.join("\n");
    let open = Open::new(&[("desk.rules", RULES), ("input.jsonl", &input)]);
    let (id, counts) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    check("replay", &counts);
    let rows = open.ask("GET", &format!("/api/replays/{id}/rows?from=0&count=10"), None);
    check("rows", &Json::from(rows.body));
    let version = json!({"rules": 0});
    for message in messages {
        let ask = json!({"version": version, "entry": "routes", "message": message});
        check("decide", &open.post("/api/decide", ask.clone()));
        for path in ["/api/near", "/api/test"] {
            check(path, &Json::from(open.ask("POST", path, Some(&ask)).body));
        }
    }
    let context = r#"{"context": {"id": "TOKEN", "book": {"TOKEN": "TOKEN"}}}"#;
    for payload in [r#"{"to": "x", "inner": {"book": {"TOKEN": "TOKEN"}}}"#, r#"{"to": "x"}"#] {
        let ask = json!({"version": version, "entry": "send", "message": payload, "context": context});
        let answer = open.post("/api/decide", ask);
        assert_eq!(answer["kind"], "payload", "{answer}");
        check("payload", &answer);
    }
    for report in [json!({"version": version}), json!({"version": version, "replay": id})] {
        check("report", &open.post("/api/report", report));
    }
    let text =
        RULES.replace("given text = \"no\"", "given text = \"TOKEN\"\n  given users = [{ id: \"TOKEN\" }]");
    let checked =
        open.post("/api/check", json!({"rules": 0, "file": "desk.rules", "text": text, "findings": true}));
    check("check", &checked);
}

/// Another program, or older rules, may have written a log without masks.
#[test]
fn a_log_without_masks_is_masked_and_cannot_be_searched_for_private_values() {
    let line = |extra: Json| {
        let mut line = json!({
            "generation": 1, "entry": "routes", "route": "texts", "path": ["routes"], "args": {"t": "TOKEN"},
            "context": {"id": "TOKEN", "text": "TOKEN"}, "text": "TOKEN",
        });
        line.as_object_mut().expect("it is an object").extend(extra.as_object().cloned().unwrap_or_default());
        line.to_string()
    };
    let lines = [
        line(json!({})),
        line(json!({"message": {"text": "TOKEN", "place": "here"}})),
        line(json!({"message": "TOKEN", "route": "gone"})),
        line(json!({"args": {"other": "TOKEN"}, "route": "default", "context": ["TOKEN"]})),
    ];
    let open = Open::new(&[("desk.rules", RULES), ("log.jsonl", &lines.join("\n"))]);
    let (id, _) = open.replay(json!({"version": {"rules": 0}, "source": 0}));
    let rows = |text: &str| open.post(&format!("/api/replays/{id}/rows"), json!({"limit": 9, "text": text}));
    let all = rows("");
    assert_eq!(all["total"], 4, "{all}");
    check("rows", &all);
    for row in 1..=4 {
        check("row", &open.get(&format!("/api/replays/{id}/rows/{row}")));
    }
    assert_eq!((&rows("tok")["total"], &rows("TOKEN")["total"]), (&json!(0), &json!(0)));
    assert_eq!((&rows("here")["total"], &rows("texts")["total"]), (&json!(1), &json!(2)));
}

fn check(what: &str, answer: &Json) {
    let text = answer.to_string();
    let found =
        text.find(TOKEN).map(|at| text[..at + TOKEN.len()].chars().rev().take(200).collect::<String>());
    assert_eq!(found.map(|found| found.chars().rev().collect::<String>()), None, "{what}");
}
