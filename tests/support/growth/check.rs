//! Dimensions in which a rule file can grow, to measure how the work of `rulec check` grows.

use super::{each, input, join};
use rulec::MemoryLoader;

/// The name of the main file.
pub const MAIN_FILE: &str = "main.rules";

/// A dimension: its name, a function that builds files of size n, and how the steps grow.
pub type Dimension = (&'static str, fn(usize) -> MemoryLoader, Growth);

/// How the steps of the analysis grow with the size of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The steps grow in proportion to the size.
    Linear,
    /// Each part of a condition is compared with all others, until the limit of steps for a file is
    /// reached.
    EachWithAll,
}

impl Growth {
    /// Returns the greatest factor by which the steps may grow if the size doubles.
    pub fn most(self) -> f64 {
        match self {
            Growth::Linear => 2.5,
            Growth::EachWithAll => 4.5,
        }
    }
}

fn one(text: String) -> MemoryLoader {
    MemoryLoader::new().with(MAIN_FILE, text)
}

pub const DIMENSIONS: &[Dimension] = &[
    (
        "routes",
        |n| {
            one(each(n, |i| {
                format!("route r{i} priority {} when kind == \"k{i}\" and n > {i} -> h{}\n", i % 3, i % 7)
            }))
        },
        Growth::Linear,
    ),
    (
        "terms",
        |n| one(format!("route r when {} -> h", join(n, " and ", |i| format!("n != {i}")))),
        Growth::EachWithAll,
    ),
    (
        "operands of or",
        |n| one(format!("route r when {} -> h", join(n, " or ", |i| format!("n == {i}")))),
        Growth::EachWithAll,
    ),
    (
        "operands on fields",
        |n| one(format!("route r when {} -> h", join(n, " or ", |i| format!("f{i} == \"v{i}\"")))),
        Growth::EachWithAll,
    ),
    (
        "numbers in a list",
        |n| one(format!("route r when x in [{}] -> h", join(20 * n, ", ", |i| i.to_string()))),
        Growth::Linear,
    ),
    (
        "lengths of texts",
        |n| one(each(n, |i| format!("route r{i} when len(text) > {i} -> h\n"))),
        Growth::Linear,
    ),
    (
        "fields without input",
        |n| one(each(n, |i| format!("route r{i} when field_name_{i} > {i} -> h\n"))),
        Growth::EachWithAll,
    ),
    (
        "lists",
        |n| {
            one(format!(
                "list l = [{}]\nroute r when id in l -> h\nroute s when id starts_with any l -> g",
                join(20 * n, ", ", |i| format!("\"id{i:05}\""))
            ))
        },
        Growth::Linear,
    ),
    (
        "lets in lets",
        |n| {
            one(format!(
                "let l0 = n == 0\n{}route r when l{} -> h",
                each(n, |i| format!("let l{} = l{i} or n == {}\n", i + 1, i + 1)),
                n
            ))
        },
        Growth::Linear,
    ),
    (
        "defs",
        |n| {
            one(each(n, |i| {
                format!("def d{i}(x: string) = x contains \"w{i}.\"\nroute r{i} when d{i}(text) -> h\n")
            }))
        },
        Growth::Linear,
    ),
    (
        "types",
        |n| {
            let fields = each(n, |i| format!("  f{i}?: t{i}\n"));
            let types = each(n, |i| format!("type t{i} = {{ a: int }}\n"));
            one(input(&fields) + &types + &each(n, |i| format!("route r{i} when f{i}.a > {i} -> h\n")))
        },
        Growth::Linear,
    ),
    (
        "tables",
        |n| one(each(n, |i| format!("table t{i} {{ route r when text == \"w{i}\" -> h }}\n"))),
        Growth::Linear,
    ),
    (
        "gotos",
        |n| {
            one(each(n, |i| {
                format!(
                    "table t{i} {{ route r when text == \"w{i}\" -> h }}\nroute r{i} when n == {i} -> goto t{i}\n"
                )
            }))
        },
        Growth::Linear,
    ),
    (
        "tests",
        |n| {
            one("route r when text == \"a\" -> h\n".to_owned()
                + &each(n, |i| format!("test \"t{i}\" {{ given text = \"a\" expect r }}\n")))
        },
        Growth::Linear,
    ),
    (
        "payload rules",
        |n| {
            let rules = each(n, |i| format!("require \"r{i}\": a > {i}\n"));
            one(format!("payload p {{ a: int\n{rules}}}"))
        },
        Growth::Linear,
    ),
    (
        "workflow nodes",
        |n| {
            let nodes = each(n, |i| format!("node n{i} echo {{ n: {i} }} -> n{}\n", i + 1));
            one(format!("workflow w {{\n{nodes}node n{n} echo\n}}"))
        },
        Growth::Linear,
    ),
    (
        "imports",
        |n| {
            let main = each(n, |i| format!("import \"f{i}.rules\"\n"))
                + &each(n, |i| format!("route r{i} when l{i} -> h\n"));
            (0..n).fold(one(main), |files, i| {
                files.with(format!("f{i}.rules"), format!("let l{i} = text == \"w{i}\""))
            })
        },
        Growth::Linear,
    ),
    (
        "names",
        |n| {
            let fields = each(n, |i| format!("  a_rather_long_name_of_a_field_{i}?: int,\n"));
            let routes = each(n, |i| {
                format!(
                    "route a_rather_long_name_of_a_route_{i} when a_rather_long_name_of_a_field_{i} > {i} -> a_rather_long_name_of_a_handler_{i}\n"
                )
            });
            one(input(&fields) + &routes)
        },
        Growth::Linear,
    ),
    (
        "strings",
        |n| one(format!("route r when text contains \"{}\" -> h\ndefault -> g", "word ".repeat(20 * n))),
        Growth::Linear,
    ),
    (
        "patterns",
        |n| one(each(n, |i| format!("route r{i} when text matches r\"w{i}x+\" -> h\n"))),
        Growth::Linear,
    ),
];
