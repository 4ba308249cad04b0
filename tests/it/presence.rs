//! Tests of E0308: a required argument needs no `??` if the condition of its route proves that the
//! value is present. Random conditions are compared with every small message.

use crate::findings::codes;
use crate::support::random::Random;
use rulec::{Code, Rules};
use serde_json::{Value as Json, json};
use std::fmt::Write;

const INPUT: &str = "input { a?: int, b?: int, s?: string, l?: list<int>, u?: { n: int, m?: int, c?: decimal }, d?: dict<int>, c?: decimal }\n\
                     list words = [\"x\", \"y\"]\n\
                     let a_known = a > 0 and b > 0\n\
                     let double = a * 2\n\
                     let user = u\n\
                     def over(x: int, limit: int) = x > limit\n\
                     def maybe(x: int) = (x ?? 0) > 1\n\
                     def twice(x: int) = x * 2\n";

/// Returns rules with one route, which passes the value as a required argument.
fn source(condition: &str, value: &str) -> String {
    format!("{INPUT}handler h(x: any)\nroute r when {condition} -> h(x: {value})")
}

fn is_proven(condition: &str, value: &str) -> bool {
    let source = source(condition, value);
    let error = Rules::from_text(&source).err();
    let findings = error.iter().flat_map(|error| error.diagnostics());
    let errors: Vec<Code> = findings.filter(|found| found.is_error()).map(|found| found.code).collect();
    assert!(errors.iter().all(|code| *code == Code::MaybeMissing), "{source}\n{errors:?}");
    errors.is_empty()
}

#[test]
fn a_condition_that_needs_a_value_proves_it() {
    for (condition, value) in [
        ("a > 3", "a"),
        ("3 < a", "a"),
        ("c > 1.5", "c"),
        ("c > 1.5", "round(c / 3, 2)"),
        ("u.c > 1.5", "u.c"),
        ("s as decimal > 1.5", "s as decimal"),
        ("a != 3", "a"),
        ("a is present", "a"),
        ("not (a is missing)", "a"),
        ("not (a > 3)", "a"),
        ("not not (a > 3)", "a"),
        ("a in [1, 2]", "a"),
        ("a not in [1, 2]", "a"),
        ("a in 1..5", "a"),
        ("a not in 1..5", "a"),
        ("1 in b..a", "a"),
        ("a * 2 > b", "a + b"),
        ("a > 3 and b > 3", "a"),
        ("a > 3 and b > 3", "b"),
        ("a > 3 or a < 0", "a"),
        ("a > 3 or (b > 3 and a == 0)", "a"),
        ("not (a > 3 or b > 3)", "b"),
        ("not (a > 3 and a < 9)", "a"),
        ("none { a > 3; b > 3 }", "b"),
        ("all { a > 3; any { b > 3; b < 0 } }", "b"),
        ("a > 3 unless b > 3", "a"),
        ("a_known", "b"),
        ("not (not a_known)", "a"),
        ("double > 4", "double"),
        ("double > 4", "a"),
        ("over(a, 3)", "a"),
        ("not over(a, b)", "b"),
        ("s contains any words", "s"),
        ("s not contains any words ignoring case", "s"),
        ("s matches r\"x\"", "upper(s)"),
        ("number(s) > 3", "number(s)"),
        ("s matches r\"#(x+)\"", "capture(s, r\"#(x+)\")"),
        ("not (s not matches r\"#(x+)\")", "capture(s, r\"#(x+)\", 0)"),
        ("s matches r\"(?<n>x|y){1,3}\" and a > 1", "capture(s, r\"(?<n>x|y){1,3}\", \"n\")"),
        ("s matches r\"x|yz\"", "capture(s, r\"x|yz\")"),
        ("s matches r\"#(x)\" ignoring case", "capture(s, r\"(?i)#(x)\")"),
        ("capture(s, r\"x|(y)\") == \"y\"", "capture(s, r\"x|(y)\")"),
        ("lower(s) == \"x\"", "s"),
        ("u.n == 1", "u"),
        ("u.n == 1", "u.n"),
        ("u.m == 1", "u.n"),
        ("user.m == 1", "u.m"),
        ("u.m == 1", "user.m"),
        ("u is present", "u.n"),
        ("u is present", "user.n"),
        ("d[\"k\"] == 1", "d"),
        ("d[\"k\"] == 1", "d[\"k\"]"),
        ("d[s] == 1", "d[s]"),
        ("l[0] == 1", "l[0]"),
        ("l[0] == 1", "l"),
        ("first(l) == 1", "first(l)"),
        ("len(l) > 0", "l"),
        ("l contains 3", "l"),
        ("any x in l: x > 3", "l"),
        ("any x in l: x > a", "a"),
        ("all x in l: x > a", "l"),
        ("not (all x in l: x > a)", "a"),
        ("(count x in l: x > a) > 1", "l"),
        ("(a ?? b) > 3 and b > 3", "a ?? b"),
        ("(a ?? a) > 3", "a"),
        ("(if b > 3 then a else a) > 3", "a"),
        ("a > 3 or false", "a"),
        ("(a > 3) ?? (a > 4)", "a"),
        ("true", "a ?? 0"),
        ("true", "if a is present then a else 0"),
        ("true", "if a > 3 then twice(a) else 0"),
        ("a > 3", "twice(a)"),
        ("a > 3", "a > 4"),
        ("a > 3", "a / 2"),
        ("a > 3", "[a]"),
    ] {
        assert!(is_proven(condition, value), "`{condition}` proves `{value}`");
    }
}

#[test]
fn a_condition_that_may_be_true_without_a_value_proves_nothing() {
    for (condition, value) in [
        ("true", "a"),
        ("a is missing", "a"),
        ("c > 1.5", "u.c"),
        ("c > 1.5", "c as int"),
        ("s is present", "s as decimal"),
        ("not (a is present)", "a"),
        ("a > 3", "b"),
        ("a > 3 or b > 3", "a"),
        ("a > 3 or b > 3", "b"),
        ("not (a > 3 and b > 3)", "a"),
        ("any { a > 3; b > 3 }", "b"),
        ("b > 3 unless a > 3", "a"),
        ("b > 3 unless not (a > 3)", "a"),
        ("(a ?? 0) > 3", "a"),
        ("maybe(a)", "a"),
        ("(a ?? b) > 3", "a"),
        ("(a ?? b) > 3", "b"),
        ("1 not in b..a", "a"),
        ("1 not in b..a", "b"),
        ("not a_known", "a"),
        ("all x in l: x > a", "a"),
        ("not (any x in l: x > a)", "a"),
        ("(count x in l: x > a) == 0", "a"),
        ("any x in l: x > 3", "l[0]"),
        ("len(l) > 0", "l[0]"),
        ("l[0] == 1", "l[1]"),
        ("u is present", "u.m"),
        ("u.n == 1", "u.m"),
        ("d is present", "d[\"k\"]"),
        ("d[\"k\"] == 1", "d[\"j\"]"),
        ("s matches r\"x\"", "number(s)"),
        ("s matches r\"#(x)?\"", "capture(s, r\"#(x)?\")"),
        ("s matches r\"x|(y)\"", "capture(s, r\"x|(y)\")"),
        ("s matches r\"(x(y)*)\"", "capture(s, r\"(x(y)*)\", 2)"),
        ("s matches r\"#(x)\"", "capture(s, r\"#(y)\")"),
        ("s matches r\"#(x)\" ignoring case", "capture(s, r\"#(x)\")"),
        ("s not matches r\"#(x)\"", "capture(s, r\"#(x)\")"),
        ("s matches r\"#(x)\" or a > 1", "capture(s, r\"#(x)\")"),
        ("s matches any [r\"#(x)\", r\"y\"]", "capture(s, r\"#(x)\")"),
        ("(if b > 3 then a else 0) > 3", "a"),
        ("(if a > 3 then 1 else 0) < 3", "a"),
        ("b > 3", "twice(a)"),
        ("b > 3", "if a > 3 then 1 else a"),
        ("b > 3", "a > 4"),
        ("a > 3", "b / a"),
        ("b > 3 and a > 3", "b / a"),
    ] {
        assert!(!is_proven(condition, value), "`{condition}` does not prove `{value}`");
    }
    let reached_from_elsewhere = "input { a?: int }\nhandler h(x: int)\nroute t when a > 3 -> goto more\n\
                                  table more { route r when true -> h(x: a) }\ndefault -> h(x: a)";
    let found = codes(reached_from_elsewhere);
    assert_eq!(found.iter().filter(|code| **code == Code::MaybeMissing).count(), 2, "{found:?}");
}

/// An int is a float too, so a float argument takes it without a proof of its type.
#[test]
fn an_int_field_fits_a_float_argument() {
    for (input, condition, proven) in [
        ("n: int", "true", true),
        ("n?: int", "n > 3", true),
        ("n?: int", "true", false),
        ("n: number", "n > 3", true),
    ] {
        let source = format!("input {{ {input} }}\nhandler h(v: float)\nroute r when {condition} -> h(v: n)");
        let is_proven = !codes(&source).contains(&Code::MaybeMissing);
        // A number may be an int, which a float argument takes.
        assert_eq!(is_proven, proven, "{source}");
    }
}

/// An argument may read a field as a type (`x as int`). Then only a condition that reads the field
/// as this type, or as a narrower one, proves that the value is present.
#[test]
fn a_typed_read_needs_a_proof_of_its_type() {
    for (condition, value, proven) in [
        ("x is present", "x", true),
        ("x is present", "x as int", false),
        ("(x as int) > 3", "x as int", true),
        ("(x as int) > 3", "x as number", true),
        ("(x as number) > 3", "x as int", false),
        ("(x as number) > 3", "x", true),
        ("(x as string) == \"2026-01-01T00:00:00Z\"", "x as datetime", false),
        ("y > 3", "y", true),
        ("true", "y", true),
        ("(y as int) > 3", "y as int", true),
        ("y > 3", "y as int", false),
    ] {
        let source = format!(
            "input {{ x?: any, y: number }}\nhandler h(v: any)\nroute r when {condition} -> h(v: {value})"
        );
        assert_eq!(!codes(&source).contains(&Code::MaybeMissing), proven, "{source}");
    }
}

/// Writes a random condition, which may read every field of [`INPUT`].
fn write_condition(random: &mut Random, depth: usize, out: &mut String) {
    const TESTS: [&str; 25] = [
        "a > 1",
        "b == 1",
        "a != b",
        "a is present",
        "b is missing",
        "s == \"x\"",
        "s contains any words",
        "s matches r\"(x)|z\"",
        "u.n == 1",
        "u.m != 1",
        "u is present",
        "l contains 1",
        "l[0] == 1",
        "len(l) > 0",
        "a_known",
        "over(a, b)",
        "maybe(b)",
        "a in b..3",
        "a not in b..3",
        "(a ?? b) > 1",
        "(if a > 1 then b else u.m) == 1",
        "double > 2",
        "user.m == 1",
        "((a > 1) ?? (b > 1))",
        "d[s] == 1",
    ];
    let form = if depth == 0 { 99 } else { random.below(10) };
    let write_parts = |random: &mut Random, out: &mut String, [start, middle, end]: [&str; 3]| {
        out.push_str(start);
        write_condition(random, depth - 1, out);
        if !middle.is_empty() {
            out.push_str(middle);
            write_condition(random, depth - 1, out);
        }
        out.push_str(end);
    };
    match form {
        0 | 1 => write_parts(random, out, ["(", " and ", ")"]),
        2 | 3 => write_parts(random, out, ["(", " or ", ")"]),
        4 => write_parts(random, out, ["(", " unless ", ")"]),
        5 => write_parts(random, out, ["(not ", "", ")"]),
        6 => write_parts(random, out, ["none { ", "; ", " }"]),
        7 => write_parts(random, out, ["(any x in l: ", "", ")"]),
        8 => write_parts(random, out, ["(all x in l: x > 1 and ", "", ")"]),
        _ => out.push_str(random.pick(&TESTS)),
    }
}

fn small_messages() -> Vec<Json> {
    let mut messages = vec![json!({})];
    for (field, values) in [
        ("a", json!([1, 2])),
        ("b", json!([1, 3])),
        ("s", json!(["x", "z"])),
        ("l", json!([[], [1], [2, 1]])),
        ("u", json!([{ "n": 1 }, { "n": 1, "m": 1 }, { "n": 2, "m": 2 }])),
        ("d", json!([{ "x": 1 }])),
    ] {
        let values = values.as_array().expect("a list").clone();
        let with_value = |message: &Json, value: &Json| {
            let mut message = message.clone();
            message[field] = value.clone();
            message
        };
        let larger =
            messages.iter().flat_map(|message| values.iter().map(move |value| with_value(message, value)));
        let larger: Vec<Json> = larger.collect();
        messages.extend(larger);
    }
    messages
}

/// If a route is chosen, every argument that E0308 accepts has a value.
#[test]
fn what_is_proven_is_present() {
    const VALUES: [&str; 14] = [
        "a",
        "b",
        "s",
        "l",
        "u",
        "u.n",
        "u.m",
        "a + b",
        "l[0]",
        "d[s]",
        "a ?? b",
        "if b > 1 then a else b",
        "capture(s, r\"(x)|z\", 0)",
        "capture(s, r\"(x)|z\", 1)",
    ];
    let messages = small_messages();
    let (mut proven, mut refused, mut decided) = (0, 0, 0);
    for seed in 0..120 {
        let mut condition = String::new();
        write_condition(&mut Random::new(seed), 3, &mut condition);
        let names = || VALUES.iter().enumerate().map(|(index, value)| (format!("v{index}"), value));
        let rules_with = |wanted: &dyn Fn(&str) -> bool| {
            let (mut params, mut args) = (String::new(), String::new());
            for (name, value) in names().filter(|(name, _)| wanted(name)) {
                let _ = write!(params, "{name}: any, ");
                let _ = write!(args, "{name}: {value}, ");
            }
            let [params, args] = [&params, &args].map(|list| list.trim_end_matches(", "));
            format!("{INPUT}handler h({params})\nroute r when {condition} -> h({args})")
        };
        let source = rules_with(&|_| true);
        let error = Rules::from_text(&source).err();
        let errors: Vec<String> = error
            .iter()
            .flat_map(|error| error.diagnostics())
            .filter(|found| found.code == Code::MaybeMissing)
            .map(|found| found.message.to_string())
            .collect();
        let is_refused = |name: &str| errors.iter().any(|text| text.contains(&format!("needs `{name}`,")));
        let source = rules_with(&|name| !is_refused(name));
        let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{source}\n{error}"));
        let accepted = names().filter(|(name, _)| !is_refused(name)).count();
        proven += accepted;
        refused += VALUES.len() - accepted;
        for message in &messages {
            let decision = rules.decide(message);
            if decision.chosen() != Some("r") {
                continue;
            }
            decided += 1;
            for (name, value) in decision.args() {
                assert!(!value.is_null(), "{source}\n{message}: {name} is missing");
            }
        }
    }
    assert!(proven > 200 && refused > 200 && decided > 10_000, "{proven} {refused} {decided}");
}
