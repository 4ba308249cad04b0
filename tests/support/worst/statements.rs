//! Worst-case messages of statements.

use super::Table::Statement;
use super::{Case, Size, Task, ask, list, searched_bytes, text};
use rulec_lang::limits::Limit;
use serde_json::{Map, Value as Json, json};

/// Names of statements that do not take part in decisions, and so have no worst case.
pub const WITHOUT: &[&str] = &["import", "test", "workflow"];

fn task(rules: impl Into<String>, message: Json) -> Task {
    Task { rules: rules.into(), message }
}

/// Returns a message with a text that is as long as the message may be.
fn long(size: &Size, letters: &str) -> Json {
    json!({ "text": letters.repeat(size.bytes / letters.len()) })
}

/// Returns a message with the longest text that the request analysis accepts.
fn analysed(size: &Size, letters: &str) -> Json {
    json!({ "text": letters.repeat(size.get(Limit::RequestBytes).min(size.bytes) / letters.len()) })
}

/// Returns a message whose text consists of distinct words.
fn words(size: &Size) -> Json {
    json!({ "text": (0..size.get(Limit::ValueBytes).min(size.bytes) / 16).map(|at| format!("{at:07} ")).collect::<String>() })
}

fn routes(count: usize, route: impl Fn(usize) -> String) -> String {
    (0..count).map(route).collect()
}

/// Returns an object with as many undeclared fields as fit into a message.
fn unknown_fields(size: &Size) -> Json {
    let fields = (0..size.bytes / 24).map(|at| (format!("field_{at:07}"), json!("a")));
    fields.collect::<Map<_, _>>().into()
}

pub const CASES: &[Case] = &[
    // The message of this case has no earlier messages. So its windows and sums run over an empty
    // history.
    (Statement, "history", "many windows, and sums over a list", |size| {
        let rules = routes(200, |at| {
            format!(
                "route r{at} when (count p in history within {at}s: p.n == n) + (sum x for x in l: x > {at}) < 0 -> h\n"
            )
        });
        let head = "input { n: int, l: list<int>, now: datetime }\nhistory keep 1h\n";
        let message = json!({ "n": 1, "l": list(size.nest(1), 1), "now": "2026-01-31T12:00:00Z" });
        task(format!("{head}{rules}"), message)
    }),
    (Statement, "route", "many that each look through a long text", |size| {
        task(
            routes(500, |at| format!("route r{at} when text contains \"w{at}\" ignoring case -> h\n")),
            long(size, "W"),
        )
    }),
    (Statement, "route", "arguments that are as large as the message", |size| {
        task(
            "route r when text == \"a\" -> h(all: ctx.l, again: ctx.l)",
            json!({ "text": "a", "ctx": { "l": list(size.bytes / 2, 1) } }),
        )
    }),
    (Statement, "default", "an argument for each element", |size| {
        task(
            "default -> h(all: (count x in ctx.l: x > 1), l: ctx.l)",
            json!({ "ctx": { "l": list(size.nest(1), 1) } }),
        )
    }),
    (Statement, "table", "jumps to many", |size| {
        let tables = routes(60, |at| {
            format!(
                "table t{at} {{ route r when text contains \"w{at}\" -> h route g when text contains \"a\" -> goto t{} }}\n",
                at + 1
            )
        });
        task(
            format!("{tables}table t60 {{ default -> h }}\nroute r when text contains \"a\" -> goto t0"),
            long(size, "a"),
        )
    }),
    (Statement, "let", "used again and again in a nest", |size| {
        let count = size.nest(2);
        task(
            "let v = any x in ctx.l: any y in ctx.m: x + y == 7\nroute r when v -> h\nroute s when v and text == \"a\" -> h\nroute t when not v and text == \"b\" -> h",
            json!({ "text": "a", "ctx": { "l": list(count, 1), "m": list(count, 1) } }),
        )
    }),
    (Statement, "let", "conditions as values, one in another, of every element", |size| {
        let inner = (0..3).fold("x > 1".to_owned(), |inner, at| format!("[{inner} and x > {at} - 9][0]"));
        task(
            format!("route r when any x in ctx.l: {inner} -> h"),
            json!({ "ctx": { "l": list(size.nest(1), 1) } }),
        )
    }),
    (Statement, "def", "in a nest", |size| {
        let count = size.nest(2);
        task(
            "def near(a: int, b: int) = abs(a - b) > 3 and a + b == 7\nroute r when any x in ctx.l: any y in ctx.m: near(x, y) -> h",
            json!({ "ctx": { "l": list(count, 1), "m": list(count, 9) } }),
        )
    }),
    (Statement, "list", "of many words", |size| {
        let words: Vec<String> = (0..2_000).map(|at| format!("\"{}{at}\"", text(at % 40))).collect();
        task(
            format!("list l = [{}]\nroute r when text contains any l ignoring case -> h", words.join(", ")),
            long(size, "A"),
        )
    }),
    (Statement, "extern", "other arguments each time", |size| {
        let count = size.nest(2) as i64;
        task(
            "extern fn plus(a: int, b: int) -> int\nroute r when any x in ctx.l: any y in ctx.m: plus(x, y) == -1 -> h",
            json!({ "ctx": {
                "l": (0..count).map(|at| at * count).collect::<Vec<_>>(),
                "m": (0..count).collect::<Vec<_>>(),
            } }),
        )
    }),
    (Statement, "settings", "texts of a list, normalised", |size| {
        task(
            "settings { normalize: nfkc, case: insensitive }\nroute r when text in ctx.l -> h",
            json!({
                "text": "b", "ctx": { "l": list(size.bytes / 100, "ﷺ".repeat(32)) },
            }),
        )
    }),
    (Statement, "type", "a list of records, all of them wrong", |size| {
        task(
            "type t = { a: int, b: list<int> }\ninput { l: list<t> }\nroute r when any x in l: x.a > 1 -> h",
            json!({
                "l": list(size.nest(1).min(size.records(10, 1)), json!({"a": "b"})),
            }),
        )
    }),
    (Statement, "input", "many fields that it does not declare", |size| {
        let fields = routes(300, |at| format!("field_{at:04}x?: int, "));
        task(
            format!("input {{ {fields} ctx?: {{ {fields} }} }}\nroute r when field_0001x > 1 -> h"),
            json!({
                "ctx": unknown_fields(size),
            }),
        )
    }),
    (Statement, "input", "elements of the wrong type", |size| {
        task(
            "input { l: list<int>, d: dict<int> }\nroute r when len(l) == 3 -> h",
            json!({
                "l": list(size.bytes / 8, "a"), "d": unknown_fields(&Size { bytes: size.bytes / 2, ..*size }),
            }),
        )
    }),
    (Statement, "handler", "arguments of the wrong type", |size| {
        task(
            "handler h(a?: list<int>, b: dict<int>)\nroute r when text == \"a\" -> h(a: ctx.l, b: ctx.d ?? { a: 1 })",
            json!({
                "text": "a", "ctx": { "l": list(size.bytes / 8, "a"), "d": unknown_fields(&Size { bytes: size.bytes / 2, ..*size }) },
            }),
        )
    }),
    (Statement, "choice", "branches that each look through a long text", |size| {
        let branches = routes(100, |at| {
            format!(
                "branch b{at} {{ steps.a as string contains \"w{at}\" ignoring case; steps.b as number > {at} }}\n"
            )
        });
        task(
            format!("choice c {{ default branch d\n{branches} }}"),
            json!({ "steps": { "a": text(size.bytes), "b": -1 } }),
        )
    }),
    (Statement, "choice", "an expression of the message", |size| {
        let pattern = r"\b(?:é?){600}[0-9]";
        let bytes = searched_bytes(size, pattern);
        task(
            "choice c { default branch d\nbranch b { steps.a as string matches steps.b as string } }",
            json!({
                "steps": { "a": "é".repeat(bytes / 2), "b": pattern },
            }),
        )
    }),
    (Statement, "choice", "objects that are compared", |size| {
        task(
            "choice c { default branch d\nbranch b { steps.a as dict<any> == steps.b as dict<any>; steps.l as list<any> != steps.m as list<any> } }",
            json!({
                "steps": {
                    "a": unknown_fields(&Size { bytes: size.bytes / 4, ..*size }), "b": unknown_fields(&Size { bytes: size.bytes / 4, ..*size }),
                    "l": list(size.bytes / 16, 0.5), "m": list(size.bytes / 16, 0.5),
                },
            }),
        )
    }),
    (Statement, "flow", "exact words and a long text", |size| {
        task(
            routes(100, |at| format!("flow f{at} keyword exact [\"w{at}\"] -> \"f{at}\"\n")),
            long(size, "W"),
        )
    }),
    (Statement, "flow", "words that a long text holds nearly", |size| {
        task(
            routes(100, |at| format!("flow f{at} keyword contains [\"{}b\"] -> \"f{at}\"\n", text(at))),
            long(size, "a"),
        )
    }),
    (Statement, "flow", "expressions and a long text", |size| {
        task(
            "flow f keyword regex [r\"\\b\\w+@\\w+\"] -> \"f\"",
            json!({ "text": "é".repeat((size.get(Limit::RegexBytes) / 2).min(size.bytes)) }),
        )
    }),
    (Statement, "router", "a list of many next nodes", |size| {
        task(
            "router n(output) { when output.ok -> output.to  otherwise -> next[0] loopback }",
            json!({
                "output": { "ok": true, "to": list(size.bytes / 16, "node") }, "next": list(size.bytes / 16, "node"),
            }),
        )
    }),
    (Statement, "intent", "a long text", |size| {
        let intents = routes(50, |at| {
            format!("intent i{at} {{ examples [\"please do thing {at} number {}\"] }}\n", at * 7)
        });
        task(format!("{intents}route r when request.intent == \"i3\" -> h"), words(size))
    }),
    (Statement, "entity", "a long text", |size| {
        task(
            r#"entity e matches r"(?<a>\w+)@(?<b>\w+)" route r when request.entities.e.a == "a" -> h"#,
            json!({ "text": "aé".repeat(size.get(Limit::RequestWork) / 1_700 / 3) }),
        )
    }),
    (Statement, "lexicon", "a long text of words that overlap", |size| {
        let words: Vec<String> = (1..60).map(|at| format!("\"{}\": 0.01", "a ".repeat(at) + "a")).collect();
        task(
            format!("lexicon x {{ {} }}\nroute r when request.x > 2 -> h", words.join(", ")),
            analysed(size, "a "),
        )
    }),
    (Statement, "lexicon", "a long text, normalised", |size| {
        task("lexicon x { \"b\": 0.1 }\nroute r when request.x > 2 -> h", analysed(size, "\u{fdfa}"))
    }),
    (Statement, "route", "all keywords of a text", |size| ask("len(request.keywords) == 1", words(size))),
    (Statement, "payload", "an object with fields that nothing declares", |size| {
        let fields = routes(200, |at| format!("field_{at:04}x?: int\n"));
        task(format!("payload p {{ {fields} closed }}"), unknown_fields(size))
    }),
    (Statement, "payload", "elements that are removed", |size| {
        let mut list = vec![json!(1); size.nest(1)];
        list[..size.get(Limit::Violations)].fill(json!(2));
        task(
            "payload p { l: list\n each x in l { require \"r\" at x: x == 1 else \"one\" remove } }",
            json!({ "l": list }),
        )
    }),
    (Statement, "payload", "each of a long list, all of them wrong", |size| {
        task(
            "payload p { l: list\n each x in l { require \"r\" at x: x.a == 2 else \"two\" } }",
            json!({
                "l": list(size.get(Limit::Violations), json!({"a": 1})),
            }),
        )
    }),
    (Statement, "payload", "a nest of lists", |size| {
        let count = size.nest(2);
        task(
            "payload p { l: list; m: list\n each x in l { each y in m { require \"r\": x + y != 3 else \"three\" } } }",
            json!({
                "l": list(count, 1), "m": list(count, 3),
            }),
        )
    }),
    (Statement, "payload", "corrections of a long list", |size| {
        task(
            "payload p { l: list\n each x in l { require \"r\" at x.a: x.a == 2 else \"two\" clamp 2 } }",
            json!({
                "l": list(size.get(Limit::Violations), json!({"a": 1})),
            }),
        )
    }),
    (Statement, "group", "the records of a long list", |size| {
        task(
            "group g { a: string not blank\n b?: int\n closed }\npayload p { l: list<g> }",
            json!({
                "l": list(size.get(Limit::Violations) / 2, json!({"a": " ", "c": 1})),
            }),
        )
    }),
];
