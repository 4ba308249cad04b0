//! Values of `@private` fields are printed nowhere: each value and each key of the messages
//! contains a token, and no output of any command contains the token.

use super::Folder;

/// A text that is part of each private value and key.
const TOKEN: &str = "TOKEN";

/// Rules of each kind, over fields that are all private.
const RULES: &str = r#"
type User = { id: string @private, phone?: string @private, book?: dict<string> @private, tags?: list<string> @private }
input {
  text: string @private
  user?: User
  users?: list<User>
  by_name?: dict<User> @private
  grid?: list<list<User>>
  codes?: dict<int> @private
  card?: { pin: int, deep: { owner: string } } @private
  context?: User
  steps?: { out?: string @private }
  answers?: { mood?: string @private }
}
let first_user = first(users)
route phones when any u in users: u.phone == "1" or u.tags contains "x" -> h(u: first_user, n: users[0])
route rows when any row in grid: any u in row: u.phone matches "^[0-9]+$" -> h(u: grid)
route books when user.book["a"] == "b" or by_name["x"].phone == "y" -> h(u: user)
route cards when card.deep.owner starts_with "TO" and card.pin > 3 -> h(u: card.deep, n: codes)
route texts when text matches "TOK.*" or text contains "TOK" -> h(u: text)
route codes when codes["x"] > 3 and users[0].id == "z" -> h(u: codes)
default -> other(u: users)
choice tone {
  default branch plain
  branch loud all { steps.out == "x"; text contains "!" }
}
choice mood ask "How does it sound?" {
  default branch calm "calm"
  branch angry "angry"
}
flow billing "Bills" keyword contains ["bill"] -> "F1"
payload send {
  to: string
  copy: string default context.phone
  note?: string
  inner?: User
  require "to" at to: to == context.phone default context.phone
  require "tags" at note when note is present: note in context.tags default context.id
  each tag in context.tags { require "tag" at to: to == tag }
  each key, value in context.book { require "book" at to: to == value and to == key }
  each key, value in inner.book { require "inner" at value: value == "n" }
  compiles "c" at inner.phone
}
test "fails" {
  given text = "TOKEN text"
  given users = [{ id: "TOKEN id", phone: "TOKEN phone" }]
  given codes = { TOKENKEY: 1 }
  expect phones -> h(u: { id: "TOKEN id", phone: "TOKEN phone" })
}
test "payload" {
  given payload = { to: "x" }
  given context = { id: "TOKEN", phone: "TOKEN", tags: ["TOKEN"] }
  expect send.accept
}
"#;

/// Messages that fit the declared types, and messages of other shapes.
fn messages() -> Vec<String> {
    let shapes = [
        r#""TOKEN""#,
        r#"["TOKEN"]"#,
        r#"[["TOKEN", ["TOKEN"]]]"#,
        r#"{"TOKEN": "TOKEN"}"#,
        r#"{"id": "TOKEN", "phone": "TOKEN", "book": {"TOKEN": "TOKEN"}, "tags": ["TOKEN"]}"#,
        r#"{"id": ["TOKEN"], "phone": {"TOKEN": 1}, "book": ["TOKEN"], "tags": {"TOKEN": "TOKEN"}}"#,
        r#"{"fone": "TOKEN", "x": [{"TOKEN": "TOKEN"}]}"#,
        r#"[{"id": "TOKEN", "phone": "TOKEN", "book": {"TOKEN": "TOKEN"}, "tags": ["TOKEN"]}]"#,
        r#"[{"id": ["TOKEN"], "phone": {"TOKEN": 1}, "book": ["TOKEN"], "tags": {"TOKEN": "TOKEN"}, "TOKEN": 1}]"#,
        r#"[[{"id": "TOKEN", "phone": "TOKEN", "book": {"TOKEN": "TOKEN"}, "tags": ["TOKEN"]}]]"#,
        r#"{"x": {"id": "TOKEN", "phone": "TOKEN", "TOKEN": "TOKEN"}}"#,
        r#"{"pin": "TOKEN", "deep": {"owner": "TOKEN", "TOKEN": "TOKEN"}, "TOKEN": 1}"#,
        r#"{"pin": 4, "deep": ["TOKEN"]}"#,
    ];
    let fields = ["text", "user", "users", "by_name", "grid", "codes", "card", "context", "steps", "answers"];
    let mut all: Vec<String> = Vec::new();
    for shape in shapes {
        all.extend(fields.iter().map(|field| format!(r#"{{"text": "TOKEN!", "{field}": {shape}}}"#)));
    }
    all.push(r#"{"text": "a bill, TOKEN", "answers": {"mood": "TOKEN"}, "steps": {"out": "TOKEN"}}"#.into());
    all.push(r#"{"text": "TOKEN", "Users": ["TOKEN"], "txt": "TOKEN", "user": {"idd": "TOKEN"}}"#.into());
    all
}

/// Texts that are not messages, with keys of private dicts.
const BROKEN: [&str; 5] = [
    r#"{"codes": {"TOKEN": 1, "TOKEN": 2}}"#,
    r#"{"codes": {"TOKEN": 1e999}}"#,
    r#"{"users": [{"book": {"TOKEN": {"TOKEN": 1, "TOKEN": 2}}}]}"#,
    r#"{"card": {"TOKEN": {"TOKEN": 1e999}}}"#,
    r#"{"user": {"TOKEN": "TOKEN", "TOKEN": "TOKEN"}}"#,
];

const PAYLOADS: [&str; 5] = [
    r#"{"to": "a", "note": "b", "inner": {"id": "TOKEN", "phone": "TOKEN ==", "book": {"TOKEN": "TOKEN"}}}"#,
    r#"{"to": 3, "inner": {"phone": ["TOKEN"], "TOKEN": "TOKEN"}}"#,
    r#"{"to": "a", "inner": ["TOKEN"]}"#,
    r#"{"to": "a", "inner": {"book": {"TOKEN": 1, "TOKEN": 2}}}"#,
    r#"{"to": "a", "inner": {"book": {"TOKEN": 1e999}}}"#,
];

/// Returns a folder with the rules, messages and payloads.
fn folder() -> Folder {
    let lines = messages().into_iter().chain(BROKEN.map(str::to_owned)).collect::<Vec<_>>().join("\n");
    let context = r#"{"id": "TOKEN", "phone": "TOKEN phone", "tags": ["TOKEN tag"], "book": {"TOKEN key": "TOKEN value"}}"#;
    let log = messages().into_iter().map(|message| {
        format!(r#"{{"time": "2026-01-31T09:00:00Z", "generation": 1, "entry": "routes", "path": ["routes"], "route": "default", "message": {message}}}"#)
    });
    let other =
        RULES.replace("-> other(u: users)", "-> changed(u: users)").replace("-> h(u: text)", "-> g(u: text)");
    Folder::with(RULES)
        .file("b.rules", other)
        .file("m.jsonl", lines)
        .file("p.jsonl", PAYLOADS.join("\n"))
        .file("c.json", context)
        .file("log.jsonl", log.collect::<Vec<_>>().join("\n"))
}

/// Removes from an output the arguments of handlers and the corrected payload. They are results for
/// the caller, so they may contain private values.
fn without_results(out: &str) -> String {
    let mut text = out.to_owned();
    while let (Some(start), Some(end)) = (text.find("\"args\":{"), text.find(",\"metadata\":{}")) {
        if end < start {
            break;
        }
        text.replace_range(start..end + ",\"metadata\":{}".len(), "");
    }
    while let Some(start) = text.find(",\"corrected\":{") {
        let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
        text.replace_range(start..end, "");
    }
    text
}

#[track_caller]
fn check(folder: &Folder, args: &[&str], stdin: &str) {
    let ran = folder.fed(args, stdin);
    for text in [&ran.out, &ran.err] {
        let text = without_results(text);
        let found: Vec<&str> = text.lines().filter(|line| line.contains(TOKEN)).take(3).collect();
        assert!(found.is_empty(), "{args:?} {stdin}: {found:#?}");
    }
}

#[test]
fn no_command_prints_a_private_value() {
    let folder = folder();
    folder.rulec(&["run", "a.rules", "m.jsonl"]).expect(1);
    for entry in ["routes", "tone", "mood", "flows"] {
        for more in [&[][..], &["--all"], &["--explain"]] {
            check(&folder, &[&["run", "a.rules", "m.jsonl", "--entry", entry], more].concat(), "");
        }
    }
    for args in [
        &["run", "a.rules", "p.jsonl", "--decision", "send", "--context", "c.json"][..],
        &["run", "a.rules", "p.jsonl", "--decision", "send", "--context", "c.json", "--strict"],
        &["run", "a.rules", "m.jsonl", "--format", "csv"],
        &["test"],
        &["test", "a.rules", "--format", "json"],
        &["test", "a.rules", "--format", "junit"],
        &["test", "a.rules", "--coverage"],
        &["diff", "a.rules", "b.rules", "--replay", "m.jsonl"],
        &["diff", "a.rules", "b.rules", "--replay", "m.jsonl", "--format", "json"],
        &["diff", "a.rules", "b.rules", "--replay", "log.jsonl"],
        &["doctor", "a.rules", "--log", "log.jsonl"],
        &["bench", "a.rules", "m.jsonl"],
        &["plan", "a.rules"],
        &["check", "a.rules"],
        &["check", "a.rules", "--format", "json"],
        &["schema", "a.rules"],
        &["prompt", "a.rules"],
        &["graph", "a.rules"],
    ] {
        check(&folder, args, "");
    }
    let lines = messages().join("\n");
    check(&folder, &["repl", "a.rules"], &[&lines, "\n", &BROKEN.join("\n")].concat());
}

/// Former bug: `why-not` printed the changed message with the private values of fields that do not
/// change.
#[test]
fn why_not_prints_no_private_value_of_an_unchanged_field() {
    let folder = Folder::with(
        "input { text: string, user: { role: string, phone: string @private } }\n\
         route a when text contains \"x\" and user.role == \"admin\" -> h\ndefault -> d\n",
    );
    let message = r#"{"text": "x", "user": {"role": "u", "phone": "TOKEN"}}"#;
    let args = ["why-not", "a.rules", "a", "--format", "json", "--input", message];
    let shown = folder.rulec(&args).expect(0).out;
    assert!(shown.contains(r#""message": null"#) && !shown.contains("TOKEN"), "{shown}");
    let shown = folder.rulec(&[&args[..], &["--show-private"]].concat()).expect(0).out;
    assert!(shown.contains(r#""phone": "TOKEN""#), "{shown}");
}

#[test]
fn no_explanation_prints_a_private_value() {
    let folder = folder();
    // One message of each shape for each field; the shapes of one field follow each other.
    let kept = messages().into_iter().enumerate().filter(|(at, _)| at % 3 == 0 || *at > 120);
    for (_, message) in kept {
        check(&folder, &["why", "a.rules", "--full", "--input", &message], "");
        check(&folder, &["why", "a.rules", "--format", "json", "--input", &message], "");
    }
    for message in messages().iter().step_by(17) {
        for entry in ["tone", "mood", "flows"] {
            check(&folder, &["why", "a.rules", "--full", "--entry", entry, "--input", message], "");
        }
        for route in ["phones", "cards", "codes", "default"] {
            check(&folder, &["why-not", "a.rules", route, "--input", message], "");
            check(&folder, &["why-not", "a.rules", route, "--format", "json", "--input", message], "");
        }
    }
    for text in BROKEN {
        check(&folder, &["why", "a.rules", "--input", text], "");
        check(&folder, &["why", "a.rules", "--input", "-"], text);
    }
    for payload in PAYLOADS {
        for format in ["human", "json"] {
            let args = ["why", "a.rules", "--decision", "send", "--context", "c.json", "--format", format];
            check(&folder, &[&args[..], &["--input", payload]].concat(), "");
        }
    }
}

/// With `--show-private`, the outputs contain the private values. So the tests above do not pass
/// merely because the outputs lack these values.
#[test]
fn show_private_shows_them() {
    let folder = folder();
    let message = &messages()[2];
    for args in [
        &["test", "a.rules", "--show-private"][..],
        &["why", "a.rules", "--full", "--show-private", "--input", message],
        &["diff", "a.rules", "b.rules", "--replay", "m.jsonl", "--show-private"],
    ] {
        let ran = folder.rulec(args);
        assert!(without_results(&ran.out).contains(TOKEN), "{args:?}: {}", ran.out);
    }
}
