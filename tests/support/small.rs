//! Generates random small programs over small domains, with all inputs that their conditions can
//! distinguish. Claims about such a program can be checked by brute force.

use super::random::Random;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// A message field with conditions on it, and all values that these conditions can distinguish. The
/// value `null` means that the field is missing.
pub struct Field {
    name: &'static str,
    values: Vec<Json>,
    conditions: Vec<String>,
}

fn numbers(name: &'static str) -> Field {
    let values =
        (-1..=9).map(|half| if half % 2 == 0 { json!(half / 2) } else { json!(f64::from(half) / 2.0) });
    let mut conditions = Vec::new();
    for n in 1..=3 {
        for op in ["==", "!=", "<", "<=", ">", ">="] {
            conditions.push(format!("{name} {op} {n}"));
        }
    }
    for range in ["1..3", "1..=2", "2..=3", "3..1", "2..2", "2..=2"] {
        conditions.push(format!("{name} in {range}"));
    }
    conditions.extend(["in [1, 3]", "in [2]", "not in [1, 2]"].map(|test| format!("{name} {test}")));
    conditions.extend([format!("({name} ?? 2) > 1"), format!("{name} + 1 == 3"), format!("abs({name}) < 0")]);
    Field { name, values: values.chain([json!(null)]).collect(), conditions }
}

fn flags(name: &'static str) -> Field {
    let values = vec![json!(true), json!(false), json!(null)];
    Field {
        name,
        values,
        conditions: ["== true", "!= true", "== false"].map(|test| format!("{name} {test}")).to_vec(),
    }
}

fn texts(name: &'static str) -> Field {
    let mut values = vec![json!(null), json!("")];
    let letters = ["a", "b", "A", "B", "c"];
    let mut last: Vec<String> = vec![String::new()];
    for _ in 0..3 {
        last = last
            .iter()
            .flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")))
            .collect();
        values.extend(last.iter().cloned().map(Json::from));
    }
    values.extend(["abab", "baba", "abba", "baab", "aabb", "bbaa", "ABAB"].map(Json::from));
    let mut conditions = Vec::new();
    for word in ["a", "b", "ab"] {
        for op in ["==", "!=", "contains", "starts_with", "ends_with", "not contains", "not starts_with"] {
            conditions.push(format!("{name} {op} \"{word}\""));
        }
    }
    for test in [
        "contains \"A\" ignoring case",
        "== \"AB\" ignoring case",
        "in [\"a\", \"b\"]",
        "not in [\"a\", \"ab\"]",
        "contains any [\"a\", \"ab\"]",
        "contains all [\"a\", \"b\"]",
        "contains none [\"a\", \"b\"]",
        "like \"a*b\"",
        "like \"?\"",
        "matches \"^a+$\"",
        "matches \"b\"",
    ] {
        conditions.push(format!("{name} {test}"));
    }
    conditions.extend(
        ["lower({}) == \"ab\"", "lower({}) contains \"A\"", "len({}) == 2", "len({}) < 0"]
            .map(|test| test.replace("{}", name)),
    );
    Field { name, values, conditions }
}

fn lists(name: &'static str) -> Field {
    let mut values = vec![json!(null)];
    for set in 0..8 {
        let of = ["x", "y", "z"].iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
        values.push(of.map(|(_, text)| Json::from(*text)).collect());
    }
    values.extend([json!([5]), json!(["x", 5]), json!(["y", 5])]);
    let tests = [
        "{} contains \"x\"",
        "{} contains \"y\"",
        "{} not contains \"x\"",
        "{} contains any [\"x\", \"y\"]",
        "{} contains all [\"x\", \"y\"]",
        "{} contains none [\"x\", \"y\"]",
        "\"x\" in {}",
        "len({}) >= 0",
        "any e in {}: e == \"x\"",
        "any e in {}: e == \"x\" or e == \"y\"",
        "all e in {}: e != \"x\"",
        "all e in {}: e not in [\"x\", \"y\"]",
    ];
    Field { name, values, conditions: tests.map(|test| test.replace("{}", name)).to_vec() }
}

fn addresses(name: &'static str) -> Field {
    let edges = ["9.255.255.255", "10.0.0.0", "10.0.0.1", "10.0.255.255", "10.1.0.0", "10.255.255.255"];
    let others = ["11.0.0.0", "0.0.0.0", "255.255.255.255", "::", "2001:db8::", "2001:db8::1", "2001:db9::"];
    let mapped =
        ["::ffff:10.0.0.0", "::ffff:10.1.0.0", "::ffff:9.255.255.255", "::ffff:11.0.0.0", "::1:0:0:0"];
    let texts = [" 10.0.0.1", "10.0.0.2", "2001:db8::2", "", "10.0.0", "x"];
    let values = edges.iter().chain(&others).chain(&mapped).chain(&texts).map(|text| json!(text));
    let networks =
        ["10.0.0.0/8", "10.0.0.1/8", "10.0.0.0/16", "10.0.0.1", "0.0.0.0/0", "::/0", "::ffff:0:0/96"];
    let mut conditions = Vec::new();
    for network in networks.iter().chain(&["2001:db8::/32"]) {
        conditions.extend(["", "not "].map(|not| format!("{name} {not}in_network \"{network}\"")));
    }
    for test in [
        "in_network any [\"10.0.0.0/8\", \"::/0\"]",
        "in_network none [\"10.0.0.0/16\", \"10.0.0.1\"]",
        "== \"10.0.0.1\"",
        "!= \"10.0.0.1\"",
        "not in [\"10.0.0.0\", \"10.0.0.1\"]",
    ] {
        conditions.push(format!("{name} {test}"));
    }
    Field { name, values: values.chain([json!(null)]).collect(), conditions }
}

fn versions(name: &'static str) -> Field {
    let values =
        ["0.0.0-0", "0.0.0", "1.2.2", "1.2.3-a", "1.2.3-a.0", "1.2.3-b", "1.2.3", "1.2.4-0", "1.2.4"];
    let others = ["v1.10", "1.9.0", "1.10.1", "2", "2.0.1", " 1.2.3", "x", ""];
    let values = values.iter().chain(&others).map(|text| json!(text));
    let mut conditions = Vec::new();
    for version in ["1.2.3", "1.2.3-a", "1.10", "2.0"] {
        for op in ["==", "!=", "<", "<=", ">", ">="] {
            conditions.push(format!("version({name}) {op} \"{version}\""));
        }
    }
    conditions.push(format!("version({name}) is missing"));
    Field { name, values: values.chain([json!(null)]).collect(), conditions }
}

/// Returns a field whose type is an enumeration. Its values include a text that is not in the
/// enumeration.
fn enumeration(name: &'static str) -> Field {
    let values = ["a", "ab", "c", ANOTHER_TEXT].map(|text| json!(text));
    let tests = [
        "{} == \"a\"",
        "{} != \"a\"",
        "{} == \"ab\"",
        "{} != \"c\"",
        "{} in [\"a\", \"ab\"]",
        "{} in [\"a\", \"ab\", \"c\"]",
        "{} not in [\"ab\", \"c\"]",
        "{} contains \"a\"",
        "{} not contains \"b\"",
        "{} starts_with \"a\"",
        "{} not ends_with \"b\"",
        "{} contains any [\"b\", \"c\"]",
        "{} == \"AB\" ignoring case",
        "{} like \"a*\"",
        "{} matches \"^[ac]$\"",
        "lower({}) == \"a\"",
        "({} ?? \"d\") == \"d\"",
    ];
    let conditions = tests.map(|test| test.replace("{}", name)).to_vec();
    Field { name, values: values.into_iter().chain([json!(null)]).collect(), conditions }
}

/// A text that the enumeration of [`INPUT`] does not have.
const ANOTHER_TEXT: &str = "z";

/// A route of a small program.
#[derive(Clone)]
pub struct Route {
    pub name: String,
    pub priority: Option<usize>,
    pub condition: String,
    pub target: String,
}

impl Program {
    /// True if an input has a value of the right type for each field that the program reads.
    /// `input` blocks promise this if their fields are required.
    pub fn keeps_promise(&self, input: &Json) -> bool {
        let is_right = |field: &Field| {
            let value = &input[field.name];
            !value.is_null() && (field.name != "e" || value != ANOTHER_TEXT)
        };
        self.fields.iter().all(is_right)
    }
}

/// A random program over some fields, with all its inputs.
pub struct Program {
    #[allow(dead_code, reason = "not every test looks at them")]
    pub fields: Vec<Field>,
    pub routes: Vec<Route>,
    pub default: Option<String>,
    /// Whether `input` promises that every field is present.
    pub required: bool,
    pub inputs: Vec<Json>,
}

/// The `input` block that declares the fields of each program.
pub const INPUT: &str = "input { n?: number, f?: bool, t?: string, l?: list<string>, a?: string, v?: string, \
    e?: \"a\" | \"ab\" | \"c\" }\n";

/// True if the program text contains no functions of fields, arithmetic or quantifiers. The
/// analysis promises complete results only for such programs.
pub fn is_plain(text: &str) -> bool {
    let words = ["n + 1", "??", "abs(", "len(", "lower(", "any e in", "all e in", "version("];
    !words.iter().any(|word| text.contains(word))
}

impl Program {
    pub fn text(&self) -> String {
        let mut text = INPUT.replace("?:", if self.required { ":" } else { "?:" });
        for Route { name, priority, condition, target } in &self.routes {
            let priority = priority.map_or_else(String::new, |priority| format!("priority {priority} "));
            let _ = writeln!(text, "route {name} {priority}when {condition} -> {target}");
        }
        if let Some(target) = &self.default {
            let _ = writeln!(text, "default -> {target}");
        }
        text
    }
}

pub fn condition(random: &mut Random, fields: &[&Field], depth: usize) -> String {
    let field = fields[random.below(fields.len())];
    match random.below(if depth == 0 { 3 } else { 9 }) {
        0..=1 => field.conditions[random.below(field.conditions.len())].clone(),
        2 => format!("{} is {}", field.name, random.pick(&["missing", "present"])),
        3 => format!("not ({})", condition(random, fields, depth - 1)),
        4 => format!(
            "({} unless {})",
            condition(random, fields, depth - 1),
            condition(random, fields, depth - 1)
        ),
        5..=7 => {
            format!("({} and {})", condition(random, fields, depth - 1), condition(random, fields, depth - 1))
        }
        _ => {
            format!("({} or {})", condition(random, fields, depth - 1), condition(random, fields, depth - 1))
        }
    }
}

pub fn program(random: &mut Random) -> Program {
    let mut fields = vec![numbers("n"), flags("f"), texts("t"), lists("l"), addresses("a"), versions("v")];
    fields.push(enumeration("e"));
    let first = random.below(fields.len());
    let second = random.below(fields.len());
    let mut own = vec![fields.remove(first)];
    if first != second {
        own.push(fields.remove(if second > first { second - 1 } else { second }));
    }
    let used: Vec<&Field> = own.iter().collect();
    let priorities = random.chance(30);
    let routes = (0..=random.below(4)).map(|at| {
        let priority = priorities.then(|| random.below(2) + 1);
        let condition = condition(random, &used, 2);
        Route { name: format!("r{at}"), priority, condition, target: format!("h{at}") }
    });
    let routes = routes.collect();
    let default = random.chance(70).then(|| "last".to_owned());
    let mut inputs = vec![Map::new()];
    for field in &own {
        let with = |input: &Map<String, Json>, value: &Json| {
            let mut input = input.clone();
            if !value.is_null() {
                input.insert(field.name.to_owned(), value.clone());
            }
            input
        };
        inputs =
            inputs.iter().flat_map(|input| field.values.iter().map(|value| with(input, value))).collect();
    }
    let required = random.chance(30);
    Program { fields: own, routes, default, required, inputs: inputs.into_iter().map(Json::Object).collect() }
}
