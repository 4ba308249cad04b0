//! Kinds of sources that repeat a mistake.

use super::FindingCount::{Right, Wrong};
use super::{Kind, ROUTE, each, input, join};

pub const KINDS: &[Kind] = &[
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
        "unnamed arguments",
        |n| {
            input("name: string")
                + "handler answer(topic: string, limit: int)\n"
                + &each(n, |i| {
                    format!(
                        "route r{i} when text == \"\" -> answer(name, 1)\nroute s{i} when text == \"\" -> h{i}(\"x\", name)\n"
                    )
                })
        },
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
