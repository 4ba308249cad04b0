//! Rules of each kind over fields that are all private, and messages for them: each private value
//! and key contains [`TOKEN`]. The tests of the program and of the studio share them.

/// A text that is part of each private value and key.
pub const TOKEN: &str = "TOKEN";

/// Rules of each kind, over fields that are all private.
pub const RULES: &str = r#"
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
router rounds(output) {
  when output.phone == "1" -> next[0]
  otherwise -> next[0]
}
workflow review {
  node first echo -> second by rounds
  node second echo
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
pub fn messages() -> Vec<String> {
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
pub const BROKEN: [&str; 5] = [
    r#"{"codes": {"TOKEN": 1, "TOKEN": 2}}"#,
    r#"{"codes": {"TOKEN": 1e999}}"#,
    r#"{"users": [{"book": {"TOKEN": {"TOKEN": 1, "TOKEN": 2}}}]}"#,
    r#"{"card": {"TOKEN": {"TOKEN": 1e999}}}"#,
    r#"{"user": {"TOKEN": "TOKEN", "TOKEN": "TOKEN"}}"#,
];

/// Payloads of the kind `send`, with private keys and values.
pub const PAYLOADS: [&str; 5] = [
    r#"{"to": "a", "note": "b", "inner": {"id": "TOKEN", "phone": "TOKEN ==", "book": {"TOKEN": "TOKEN"}}}"#,
    r#"{"to": 3, "inner": {"phone": ["TOKEN"], "TOKEN": "TOKEN"}}"#,
    r#"{"to": "a", "inner": ["TOKEN"]}"#,
    r#"{"to": "a", "inner": {"book": {"TOKEN": 1, "TOKEN": 2}}}"#,
    r#"{"to": "a", "inner": {"book": {"TOKEN": 1e999}}}"#,
];

/// Values of the context in which payloads are judged.
pub const CONTEXT: &str =
    r#"{"id": "TOKEN", "phone": "TOKEN phone", "tags": ["TOKEN tag"], "book": {"TOKEN key": "TOKEN value"}}"#;

/// Returns the messages as lines of a decision log that masks nothing.
pub fn log() -> String {
    let line = |message| {
        format!(
            r#"{{"time": "2026-01-31T09:00:00Z", "generation": 1, "entry": "routes", "path": ["routes"], "route": "default", "message": {message}}}"#
        )
    };
    messages().into_iter().map(line).collect::<Vec<_>>().join("\n")
}
