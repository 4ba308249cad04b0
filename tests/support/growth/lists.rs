//! Kinds of sources whose statements contain long lists.

use super::FindingCount::Right;
use super::{Kind, ROUTE, each, input, join};

pub const KINDS: &[Kind] = &[
    ("input fields", |n| input(&each(n, |i| format!("  f{i}?: int,\n"))) + ROUTE, Right),
    (
        "input fields used",
        |n| {
            input(&each(n, |i| format!("  f{i}?: int,\n")))
                + &each(n, |i| format!("route r{i} when f{i} > {i} -> h\n"))
        },
        Right,
    ),
    (
        "record fields",
        |n| {
            input(&format!("ctx: {{\n{} }}", each(n, |i| format!("  f{i}?: int,\n"))))
                + &each(n, |i| format!("route r{i} when ctx.f{i} > {i} -> h\n"))
        },
        Right,
    ),
    (
        "type fields",
        |n| format!("type t = {{ {} }}\n", each(n, |i| format!("f{i}: int, "))) + &input("x: t") + ROUTE,
        Right,
    ),
    (
        "undeclared fields",
        |n| format!("route r when {} -> h", join(n, " or ", |i| format!("ctx.f{i} == {i}"))),
        Right,
    ),
    (
        "handler parameters",
        |n| {
            format!(
                "handler h({})\nroute r when text == \"\" -> h({})",
                join(n, ", ", |i| format!("a{i}: int")),
                join(n, ", ", |i| format!("a{i}: {i}"))
            )
        },
        Right,
    ),
    (
        "arguments",
        |n| format!("route r when text == \"\" -> h({})", join(n, ", ", |i| format!("a{i}: ctx.n + {i}"))),
        Right,
    ),
    (
        "metadata",
        |n| format!("route r when text == \"\" -> h {{ {} }}", join(n, ", ", |i| format!("k{i}: {i}"))),
        Right,
    ),
    (
        "metadata quoted",
        |n| {
            format!("route r when text == \"\" -> h {{ {} }}", join(n, ", ", |i| format!("\"k {i}\": [{i}]")))
        },
        Right,
    ),
    (
        "extern parameters",
        |n| {
            format!(
                "extern fn e({}) -> bool\nroute r when e({}) -> h",
                join(n.min(100), ", ", |i| format!("a{i}: int")),
                join(n.min(100), ", ", |i| i.to_string())
            )
        },
        Right,
    ),
    (
        "def parameters",
        |n| {
            format!(
                "def d({}) = {}\nroute r when d({}) -> h",
                join(n, ", ", |i| format!("a{i}: int")),
                join(n, " and ", |i| format!("a{i} > ctx.n")),
                join(n, ", ", |i| i.to_string())
            )
        },
        Right,
    ),
    (
        "list elements",
        |n| {
            format!(
                "list l = [{}]\nroute r when text contains any l -> h",
                join(n, ", ", |i| format!("\"w{i}\""))
            )
        },
        Right,
    ),
    (
        "list numbers",
        |n| format!("list l = [{}]\nroute r when ctx.n in l -> h", join(n, ", ", |i| i.to_string())),
        Right,
    ),
    (
        "list mixed",
        |n| {
            format!("list l = [\"a\", {}]\nroute r when ctx.n in l -> h", join(n, ", ", |i| format!("{i}.5")))
        },
        Right,
    ),
    (
        "list lists",
        |n| format!("list l = [{}]\nroute r when ctx.n in l -> h", join(n, ", ", |i| format!("[{i}]"))),
        Right,
    ),
    (
        "list in place",
        |n| format!("route r when text in [{}] -> h", join(n, ", ", |i| format!("\"w{i}\""))),
        Right,
    ),
    (
        "list of fields",
        |n| format!("route r when text in [{}] -> h", join(n, ", ", |i| format!("ctx.f{i}"))),
        Right,
    ),
    (
        "words",
        |n| {
            format!(
                "route r when text contains word any [{}] ignoring case -> h",
                join(n, ", ", |i| format!("\"w{i}\""))
            )
        },
        Right,
    ),
    (
        "prefixes",
        |n| format!("route r when text starts_with any [{}] -> h", join(n, ", ", |i| format!("\"w{i}\""))),
        Right,
    ),
    (
        "patterns",
        |n| format!("route r when text matches any [{}] -> h", join(n, ", ", |i| format!("r\"w{i}+\""))),
        Right,
    ),
    (
        "globs",
        |n| format!("route r when text like any [{}] -> h", join(n, ", ", |i| format!("\"w{i}*x\""))),
        Right,
    ),
    (
        "or",
        |n| format!("route r when {} -> h", join(n, " or ", |i| format!("text contains \"w{i}\""))),
        Right,
    ),
    ("and", |n| format!("route r when {} -> h", join(n, " and ", |i| format!("ctx.n != {i}"))), Right),
    (
        "and or",
        |n| {
            format!(
                "route r when {} -> h",
                join(n / 2, " or ", |i| format!("ctx.n == {i} and text == \"{i}\""))
            )
        },
        Right,
    ),
    (
        "or and",
        |n| {
            format!(
                "route r when {} -> h",
                join(n / 2, " and ", |i| format!("(ctx.n == {i} or text == \"{i}\")"))
            )
        },
        Right,
    ),
    (
        "all block",
        |n| format!("route r when all {{ {} }} -> h", join(n, "; ", |i| format!("ctx.n != {i}"))),
        Right,
    ),
    (
        "none block",
        |n| format!("route r when none {{ {} }} -> h", join(n, "; ", |i| format!("ctx.n == {i}"))),
        Right,
    ),
    (
        "any",
        |n| format!("route r when {} -> h", join(n / 4, " or ", |i| format!("(any x in ctx.l{i}: x > {i})"))),
        Right,
    ),
    (
        "record",
        |n| format!("route r when text == \"\" -> h(a: {{ {} }})", join(n, ", ", |i| format!("k{i}: {i}"))),
        Right,
    ),
    (
        "indexes",
        |n| format!("route r when {} -> h", join(n, " or ", |i| format!("ctx.l[{i}] == {i}"))),
        Right,
    ),
    (
        "keys",
        |n| format!("route r when {} -> h", join(n, " or ", |i| format!("ctx.d[\"k{i}\"] == {i}"))),
        Right,
    ),
    (
        "branches",
        |n| {
            format!(
                "choice c {{ default branch z {} }}",
                each(n, |i| format!("branch b{i} {{ steps.x as int == {i} }}\n"))
            )
        },
        Right,
    ),
    (
        "branch conditions",
        |n| {
            format!(
                "choice c {{ default branch z branch a any {{ {} }} }}",
                join(n / 4, "; ", |i| format!("steps.x{i} as int == {i}"))
            )
        },
        Right,
    ),
    (
        "branch meanings",
        |n| {
            format!(
                "choice c ask \"which\" {{ default branch z {} }}",
                each(n, |i| format!("branch b{i} \"means {i}\"\n"))
            )
        },
        Right,
    ),
    (
        "flow words",
        |n| format!("flow f keyword contains [{}] -> \"id\"", join(n, ", ", |i| format!("\"word{i}\""))),
        Right,
    ),
    (
        "flow texts",
        |n| format!("flow f keyword exact [{}] -> \"id\"", join(n, ", ", |i| format!("\"word{i}\""))),
        Right,
    ),
    (
        "flow patterns",
        |n| format!("flow f keyword regex [{}] -> \"id\"", join(n, ", ", |i| format!("r\"word{i}\""))),
        Right,
    ),
    (
        "flow examples",
        |n| format!("flow f \"x\" intent [{}] -> \"id\"", join(n, ", ", |i| format!("\"please do {i}\""))),
        Right,
    ),
    (
        "flow kinds",
        |n| {
            format!(
                "flow k keyword contains [{}] -> \"i\"\n flow f \"x\" intent [{}] -> \"id\"",
                join(n, ", ", |i| format!("\"word{i}\"")),
                join(n, ", ", |i| format!("\"please do {i}\""))
            )
        },
        Right,
    ),
    (
        "router cases",
        |n| {
            format!(
                "router r(output) {{ {} otherwise -> a }}",
                each(n, |i| format!("when output.x == {i} -> next[0]\n"))
            )
        },
        Right,
    ),
    (
        "router nodes",
        |n| format!("router r(output) {{ when output.x == 1 -> {} }}", join(n, ", ", |i| format!("n{i}"))),
        Right,
    ),
    (
        "payload fields",
        |n| format!("payload p {{ {} }}", each(n, |i| format!("f{i}: string not blank\n"))),
        Right,
    ),
    (
        "payload closed",
        |n| {
            format!(
                "payload p {{ {} closed remove }}",
                each(n, |i| format!("f{i}?: int in 0..=9 clamp default 1\n"))
            )
        },
        Right,
    ),
    (
        "payload rules",
        |n| format!("payload p {{ a: int\n {} }}", each(n, |i| format!("require \"r{i}\": a > {i}\n"))),
        Right,
    ),
    (
        "payload places",
        |n| {
            format!(
                "payload p {{ a: int\n {} }}",
                each(n, |i| format!("forbid \"r{i}\" at a when a > {i} else \"no\" repair \"yes\"\n"))
            )
        },
        Right,
    ),
    (
        "payload lets",
        |n| {
            format!(
                "payload p {{ a: int\n {} require \"r\": l1 > 3 }}",
                each(n, |i| format!("  let l{i} = a + {i}\n"))
            )
        },
        Right,
    ),
    (
        "payload each",
        |n| {
            format!(
                "payload p {{ a: list<int>\n {} }}",
                each(n, |i| format!("each x in a {{ require \"r{i}\": x > {i} }}\n"))
            )
        },
        Right,
    ),
    (
        "payload values",
        |n| format!("payload p {{ a: string in [{}] }}", join(n, ", ", |i| format!("\"w{i}\""))),
        Right,
    ),
    (
        "include guards",
        |n| {
            "group g { require \"r\": 1 > 2 }\n".to_owned()
                + &format!(
                    "payload p {{ a: int\n {} }}",
                    each(n, |i| format!("include g as \"r{i}\" when a > {i}\n"))
                )
        },
        Right,
    ),
    (
        "group parameters",
        |n| {
            format!(
                "group g({}) {{ {} }}\npayload p {{ a: int\n include g({}) }}",
                join(n, ", ", |i| format!("x{i}: int")),
                each(n, |i| format!("require \"r{i}\": x{i} > 1\n")),
                join(n, ", ", |i| format!("x{i}: a"))
            )
        },
        Right,
    ),
    (
        "intent examples",
        |n| {
            format!(
                "intent i {{ examples [{}] }}\nroute r when request.intent == \"i\" -> h",
                join(n, ", ", |i| format!("\"please do {i}\""))
            )
        },
        Right,
    ),
    (
        "intent keywords",
        |n| {
            format!(
                "intent i {{ keywords [{}] }}\nroute r when request.intent == \"i\" -> h",
                join(n, ", ", |i| format!("\"w{i}\""))
            )
        },
        Right,
    ),
    (
        "entity words",
        |n| {
            format!(
                "entity e matches any [{}]\nroute r when request.entities.e is present -> h",
                join(n, ", ", |i| format!("\"w{i}\""))
            )
        },
        Right,
    ),
    (
        "lexicon words",
        |n| {
            format!(
                "lexicon x {{ {} }}\nroute r when request.x > 0.1 -> h",
                join(n, ", ", |i| format!("\"w{i}\": 0.5"))
            )
        },
        Right,
    ),
    (
        // With this number of words, building the automaton that finds them in one pass takes most
        // of the time.
        "lexicon words by the thousand",
        |n| {
            format!(
                "lexicon x {{ {} }}\nroute r when request.x > 0.1 -> h",
                join(20 * n, ", ", |i| format!("\"w{i}\": 0.5"))
            )
        },
        Right,
    ),
    (
        "test givens",
        |n| format!("{ROUTE}\ntest \"t\" {{ {} expect none }}", each(n, |i| format!("given f{i} = {i}\n"))),
        Right,
    ),
    (
        "test fields",
        |n| {
            format!(
                "{ROUTE}\ntest \"t\" {{ given x = {{ {} }} expect none }}",
                join(n, ", ", |i| format!("k{i}: {i}"))
            )
        },
        Right,
    ),
    (
        "expected breaks",
        |n| {
            format!(
                "payload p {{ {} }}\ntest \"t\" {{ given payload = {{ }} expect p.reject {} }}",
                each(n, |i| format!("f{i}: int\n")),
                each(n, |i| format!("\"p.f{i}.required\" "))
            )
        },
        Right,
    ),
];
