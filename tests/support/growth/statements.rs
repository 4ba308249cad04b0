//! Kinds of sources with many statements of one kind.

use super::FindingCount::Right;
use super::{Kind, ROUTE, each, input};

pub const KINDS: &[Kind] = &[
    (
        "route",
        |n| each(n, |i| format!("route r{i} when text contains \"w{i}\" and ctx.n > {i} -> h\n")),
        Right,
    ),
    (
        "route priority",
        |n| each(n, |i| format!("route r{i} priority {i} when ctx.f{i} == {i} -> h\n")),
        Right,
    ),
    ("route equal", |n| each(n, |i| format!("route r{i} when ctx.kind == \"k{i}\" -> h\n")), Right),
    (
        "route handler",
        |n| each(n, |i| format!("handler h{i}(a: int)\nroute r{i} when ctx.n > {i} -> h{i}(a: {i})\n")),
        Right,
    ),
    ("default", |n| each(n, |i| format!("table t{i} {{ default -> h }}\n")) + ROUTE, Right),
    (
        "let",
        |n| each(n, |i| format!("let l{i} = text contains \"w{i}\"\nroute r{i} when l{i} -> h\n")),
        Right,
    ),
    ("let once", |n| each(n, |i| format!("let l{i} = ctx.n + {i}\n")) + "route r when l1 > 3 -> h", Right),
    (
        "let chain",
        |n| {
            each(n, |i| {
                if i % 50 == 0 {
                    format!("let l{i} = ctx.n\nroute r{i} when l{i} > 3 -> h\n")
                } else {
                    format!("let l{i} = l{} + 1\n", i - 1)
                }
            })
        },
        Right,
    ),
    (
        "def",
        |n| {
            each(n, |i| {
                format!("def d{i}(x: string) = x contains \"w{i}\"\nroute r{i} when d{i}(text) -> h\n")
            })
        },
        Right,
    ),
    (
        "list",
        |n| {
            each(n, |i| {
                format!("list l{i} = [\"a{i}\", \"b\"]\nroute r{i} when text contains any l{i} -> h\n")
            })
        },
        Right,
    ),
    (
        "extern",
        |n| each(n, |i| format!("extern fn e{i}(a: string) -> bool\nroute r{i} when e{i}(text) -> h\n")),
        Right,
    ),
    (
        "type",
        |n| {
            input(&each(n, |i| format!("  f{i}: t{i}\n")))
                + &each(n, |i| format!("type t{i} = {{ a: int }}\n"))
                + ROUTE
        },
        Right,
    ),
    (
        "input",
        |n| each(n, |i| format!("input {{ f{i}?: int }}\n")) + "input { text: string }\n" + ROUTE,
        Right,
    ),
    ("handler", |n| each(n, |i| format!("handler h{i}()\n")) + "handler h()\n" + ROUTE, Right),
    (
        "table",
        |n| each(n, |i| format!("table t{i} {{ route r when text == \"w{i}\" -> h }}\n")) + ROUTE,
        Right,
    ),
    (
        "goto",
        |n| {
            each(n, |i| {
                format!(
                    "table t{i} {{ route r when text == \"w{i}\" -> h }}\nroute r{i} when ctx.n == {i} -> goto t{i}\n"
                )
            })
        },
        Right,
    ),
    (
        "goto one",
        |n| {
            "table t { default -> h }\n".to_owned()
                + &each(n, |i| format!("route r{i} when ctx.n == {i} -> goto t\n"))
        },
        Right,
    ),
    (
        "choice",
        |n| {
            each(n, |i| format!("choice c{i} {{ default branch a  branch b {{ steps.x as int == {i} }} }}\n"))
        },
        Right,
    ),
    (
        "flow",
        |n| each(n, |i| format!("flow f{i} \"flow {i}\" keyword contains [\"word{i}\"] -> \"id{i}\"\n")),
        Right,
    ),
    ("flow exact", |n| each(n, |i| format!("flow f{i} keyword exact [\"word{i}\"] -> \"id{i}\"\n")), Right),
    ("flow regex", |n| each(n, |i| format!("flow f{i} keyword regex [r\"word{i}\"] -> \"id{i}\"\n")), Right),
    (
        "flow intent",
        |n| {
            each(n, |i| format!("flow f{i} \"does {i}\" intent [\"please do the thing {i}\"] -> \"id{i}\"\n"))
        },
        Right,
    ),
    (
        "router",
        |n| {
            each(n, |i| format!("router r{i}(output) {{ when output.x == {i} -> next[0] otherwise -> a }}\n"))
        },
        Right,
    ),
    (
        "workflow",
        |n| each(n, |i| format!("workflow w{i} {{ node a echo {{ n: {i} }} -> b  node b echo }}\n")),
        Right,
    ),
    ("payload", |n| each(n, |i| format!("payload p{i} rank {i} {{ a: int in 0..=9 }}\n")), Right),
    (
        "group",
        |n| {
            each(n, |i| format!("group g{i} {{ f{i}?: string not blank }}\n"))
                + "payload p {\n"
                + &each(n, |i| format!("include g{i}\n"))
                + "}\n"
        },
        Right,
    ),
    (
        "group type",
        |n| {
            each(n, |i| format!("group g{i} {{ a: string }}\n"))
                + "payload p {\n"
                + &each(n, |i| format!("f{i}?: list<g{i}>\n"))
                + "}\n"
        },
        Right,
    ),
    (
        "intent",
        |n| {
            each(n, |i| format!("intent i{i} {{ examples [\"please do {i}\"] }}\n"))
                + "route r when request.intent == \"i1\" -> h"
        },
        Right,
    ),
    (
        "entity",
        |n| {
            each(n, |i| {
                format!(
                    "entity e{i} matches r\"w{i}\"\nroute r{i} when request.entities.e{i} is present -> h\n"
                )
            })
        },
        Right,
    ),
    (
        "lexicon",
        |n| {
            each(n, |i| {
                format!("lexicon x{i} {{ \"w{i}\": 0.5 }}\nroute r{i} when request.x{i} > 0.1 -> h\n")
            })
        },
        Right,
    ),
    (
        "test",
        |n| ROUTE.to_owned() + &each(n, |i| format!("\ntest \"t{i}\" {{ given text = \"a\" expect r }}")),
        Right,
    ),
    ("comment", |n| each(n, |i| format!("# comment {i}\n")) + ROUTE, Right),
    ("doc comment", |n| each(n, |i| format!("## comment {i}\n")) + ROUTE, Right),
    ("allow", |n| each(n, |i| format!("# rulec: allow W0201 reason\nlet a{i} = 1\n")) + ROUTE, Right),
];
