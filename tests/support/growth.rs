//! Sources of one kind of statement or list each, of any length: what compile time is measured on as they grow.

/// What a source comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    /// It compiles.
    Right,
    /// It has errors, a number that grows with the source.
    Wrong,
}

/// A kind of statement or list: its name, and its source with so many of them.
pub type Kind = (&'static str, fn(usize) -> String, Comes);

/// Every kind of statement, and every list that an author can make long.
pub const KINDS: &[Kind] = &[
    // statements
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
    // lists inside statements
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
    // what is wrong, again and again
    (
        "names twice",
        |n| {
            each(n, |i| {
                format!(
                    "let l{i} = 1\nlet l{i} = 2\nroute r{i} when text == \"\" -> h\nroute r{i} when text == \"\" -> h\n"
                )
            })
        },
        Wrong,
    ),
    (
        "keys twice",
        |n| {
            format!(
                "route r when text == \"\" -> h(a: 1, {}) {{ {} }}",
                join(n, ", ", |_| "a: 1".to_owned()),
                join(n, ", ", |_| "k: 1".to_owned())
            )
        },
        Wrong,
    ),
    (
        "unknown fields",
        |n| {
            input("ctx: { name: string }")
                + &each(n, |i| format!("route r{i} when ctx.nam{i} == \"\" -> h\n"))
        },
        Wrong,
    ),
    (
        "unknown tables",
        |n| {
            each(n, |i| {
                format!("route r{i} when text == \"\" -> goto tabel{i}\ntable table{i} {{ default -> h }}\n")
            })
        },
        Wrong,
    ),
    (
        "unknown handlers",
        |n| each(n, |i| format!("handler handler{i}()\nroute r{i} when text == \"\" -> hanlder{i}\n")),
        Wrong,
    ),
    (
        "unknown groups",
        |n| each(n, |i| format!("group group{i} {{ a: int }}\npayload p{i} {{ include gorup{i} }}\n")),
        Wrong,
    ),
    (
        "unknown types",
        |n| each(n, |i| format!("type type{i} = int\n")) + &input(&each(n, |i| format!("f{i}: tpye{i}\n"))),
        Wrong,
    ),
    (
        "unknown arguments",
        |n| {
            format!(
                "handler h({})\nroute r when text == \"\" -> h({})",
                join(n, ", ", |i| format!("arg{i}?: int")),
                join(n, ", ", |i| format!("agr{i}: 1"))
            )
        },
        Wrong,
    ),
    (
        "unknown functions",
        |n| each(n, |i| format!("def double{i}(x: int) = x\nroute r{i} when duoble{i}(1) > 1 -> h\n")),
        Wrong,
    ),
    (
        "unknown record fields",
        |n| {
            input(&format!("ctx: {{ {} }}", each(n, |i| format!("field{i}: int\n"))))
                + &each(n, |i| format!("route r{i} when ctx.feild{i} > {i} -> h\n"))
        },
        Wrong,
    ),
    (
        "expected unknown",
        |n| {
            each(n, |i| {
                format!(
                    "route route{i} when text == \"\" -> h\ntest \"t{i}\" {{ given text = \"\" expect ruote{i} }}\n"
                )
            })
        },
        Wrong,
    ),
    ("wrong operators", |n| each(n, |i| format!("route r{i} when text contians \"a\" -> h\n")), Wrong),
    (
        "wrong types",
        |n| input("a: int") + &each(n, |i| format!("route r{i} when a == \"w{i}\" -> h\n")),
        Wrong,
    ),
    (
        "uses that differ",
        |n| each(n, |i| format!("route r{i} when ctx.n > {i} and ctx.n starts_with \"a\" -> h\n")),
        Wrong,
    ),
    ("wrong statements", |n| each(n, |i| format!("ruote r{i} when text == \"\" -> h\n")), Wrong),
    ("open brackets", |n| each(n, |i| format!("route r{i} when (text == \"\" -> h\n")), Wrong),
    ("stray signs", |n| each(n, |_| "; ) ] } \u{200b} $ ".to_owned()), Wrong),
    (
        "many tests",
        |n| {
            each(n, |i| {
                format!(
                    "route r{i} when text == \"{i}\" -> h\ntest \"t{i}\" {{ given text = \"{i}\" expect r{i} }}\n"
                )
            })
        },
        Right,
    ),
    (
        "many judged",
        |n| {
            each(n, |i| {
                format!(
                    "payload p{i} {{ a: int }}\ntest \"t{i}\" {{ given payload = {{ }} expect p{i}.reject \"p{i}.a.required\" }}\n"
                )
            })
        },
        Right,
    ),
    ("circles", |n| each(n, |i| format!("let a{i} = b{i}\nlet b{i} = a{i}\n")), Wrong),
    ("a long circle", |n| each(n, |i| format!("let l{i} = l{}\n", (i + 1) % n)) + ROUTE, Wrong),
    (
        "payload rules twice",
        |n| format!("payload p {{ a: int\n {} }}", each(n, |_| "require \"r\": a > 1\n".to_owned())),
        Wrong,
    ),
];

use Comes::{Right, Wrong};

const ROUTE: &str = "route r when text == \"a\" -> h";

fn each(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect()
}

fn join(n: usize, between: &str, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(between)
}

fn input(fields: &str) -> String {
    format!("input {{ text: string\n{fields} }}\n")
}
