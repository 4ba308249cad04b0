//! Tests of enumerations, such as `tier: "free" | "gold"`: errors, input violations and analyses.
//! `tests/conformance/enumerations.jsonl` has their truth tables for every engine.

use crate::findings::codes;
use rulec::diff::Verdict;
use rulec::{Code, Rules};
use serde_json::json;

const INPUT: &str = "input { tier: \"free\" | \"gold\" | \"team\", tiers?: list<\"free\" | \"gold\"> }\n";

/// Returns the code and the message with the help of each finding.
fn findings(text: &str) -> Vec<(Code, String)> {
    let rules = Rules::from_text(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let shown = |diagnostic: &rulec::Diagnostic| {
        let help = diagnostic.help.as_ref().map(ToString::to_string).unwrap_or_default();
        (diagnostic.code, format!("{}; {help}", diagnostic.message))
    };
    rules.analyse().iter().map(|finding| shown(&finding.diagnostic)).collect()
}

#[test]
fn a_text_that_the_enumeration_lacks_is_an_error() {
    for (condition, is_error) in [
        ("tier == \"gold\"", false),
        ("tier == \"golden\"", true),
        ("\"golden\" == tier", true),
        ("tier != \"golden\"", true),
        ("tier == \"GOLD\"", true),
        ("tier == \"GOLD\" ignoring case", false),
        ("tier in [\"gold\", \"team\"]", false),
        ("tier in [\"gold\", \"tema\"]", true),
        ("tier not in [\"gold\", \"tema\"]", true),
        ("tier starts_with \"go\"", false),
        ("tier starts_with \"og\"", true),
        ("tier not contains \"e\"", false),
        ("tier not contains \"x\"", true),
        ("tier contains any [\"x\", \"e\"]", false),
        ("tier contains any [\"x\", \"y\"]", true),
        ("tier contains none [\"x\", \"y\"]", true),
        ("tier matches r\"^g\"", false),
        ("tier matches r\"^x\"", true),
        ("tier like \"*m\"", false),
        ("tier like \"x*\"", true),
        ("tiers contains \"gold\"", false),
        ("tiers contains \"golden\"", true),
        ("\"golden\" in tiers", true),
        ("tiers contains any [\"free\", \"golden\"]", true),
        ("any t in tiers: t == \"golden\"", true),
        ("is_tier(tier, \"golden\")", true),
        ("is_tier(tier, \"gold\")", false),
        ("(tier ?? \"none\") == \"none\"", false),
        ("lower(tier) == \"golden\"", false),
    ] {
        let text = format!(
            "{INPUT}def is_tier(t: \"free\" | \"gold\" | \"team\", name: string) = t == name\n\
             route r when {condition} -> h"
        );
        let expected = if is_error { vec![Code::NotInEnumeration] } else { Vec::new() };
        let found: Vec<Code> =
            codes(&text).into_iter().filter(|code| !code.as_str().starts_with('W')).collect();
        assert_eq!(found, expected, "{condition}");
    }
    let error =
        Rules::from_text(&format!("{INPUT}route r when tier == \"golden\" -> h")).expect_err("an error");
    let shown = error.to_string();
    assert!(shown.contains("did you mean \"gold\"?"), "{shown}");
}

#[test]
fn arguments_are_compared_with_their_enumeration() {
    for (value, expected) in [
        ("\"gold\"", &[][..]),
        ("\"golden\"", &[Code::NotInEnumeration]),
        ("tier", &[Code::ArgumentType]),
        ("other", &[]),
    ] {
        let text = format!(
            "{INPUT}input {{ other: \"gold\" }}\nhandler h(tier: \"free\" | \"gold\")\n\
             route r when tier == \"team\" -> h(tier: {value})"
        );
        assert_eq!(codes(&text), expected, "{value}");
    }
}

#[test]
fn an_enumeration_has_its_place() {
    for text in [
        "route r when (ctx.x as \"a\" | \"b\") == \"a\" -> h",
        "extern fn f(x: string) -> \"a\" | \"b\"\nroute r when f(text) == \"a\" -> h",
        "payload p rank 1 { kind: \"a\" | \"b\" }",
    ] {
        assert_eq!(codes(text), [Code::EnumerationMisplaced], "{text}");
    }
    assert_eq!(codes("input { x: \"a\" | \"b\" | \"a\" }\nroute r when x == \"a\" -> h"), [Code::Duplicate]);
}

#[test]
fn another_text_violates_the_input() {
    let rules = Rules::from_text(&format!("{INPUT}route r when tier == \"gold\" -> h")).expect("it compiles");
    let decision = rules.decide(&json!({ "tier": "platinum" }));
    let breaches: Vec<_> =
        decision.breaches().iter().map(|breach| (&*breach.path, &*breach.expected, &*breach.found)).collect();
    assert_eq!(breaches, [("tier", "\"free\" | \"gold\" | \"team\"", "another text")]);
    let line = br#"{"tier":"platinum"}"#;
    let main = rules.main();
    let decision = main.decide_line(line).expect("it is JSON");
    assert_eq!(decision.breaches().len(), 1, "a line is checked like a tree");
    assert_eq!(main.decide_line(br#"{"tier":"gold"}"#).expect("it is JSON").breaches(), []);
    let shown = rules.explain(&json!({ "tier": "platinum" })).to_string();
    assert!(shown.contains("tier is \"platinum\", a string, but one of"), "{shown}");
}

#[test]
fn the_analyses_know_all_values() {
    let incomplete =
        findings(&format!("{INPUT}route a when tier == \"free\" -> h\nroute b when tier == \"gold\" -> h"));
    let names_gap = |(code, text): &(Code, String)| *code == Code::NoDefault && text.contains("\"team\"");
    assert!(incomplete.iter().any(names_gap), "{incomplete:?}");
    let complete = findings(&format!(
        "{INPUT}route a when tier in [\"free\", \"team\"] -> h\nroute b when tier == \"gold\" -> h"
    ));
    let is_proven =
        |(_, text): &(Code, String)| text.contains("every message that keeps the promise matches a route");
    assert!(complete.iter().any(is_proven), "{complete:?}");
    let unsatisfiable = findings(&format!(
        "{INPUT}route a when tier != \"free\" and tier != \"gold\" and tier != \"team\" -> h\ndefault -> h"
    ));
    assert!(unsatisfiable.iter().any(|(code, _)| *code == Code::Contradiction), "{unsatisfiable:?}");
    let satisfiable = findings(&format!(
        "{INPUT}route a when tier != \"free\" and tier not contains \"gol\" -> h\ndefault -> h"
    ));
    assert!(!satisfiable.iter().any(|(code, _)| *code == Code::Contradiction), "{satisfiable:?}");
    let hidden = findings(&format!(
        "{INPUT}route a when tier in [\"free\", \"gold\", \"team\"] -> h\nroute b when tier starts_with \"g\" -> h"
    ));
    assert!(hidden.iter().any(|(code, _)| *code == Code::RouteHidden), "{hidden:?}");
}

#[test]
fn a_diff_finds_the_messages_whose_text_became_valid() {
    let rules = |values: &str| {
        let text = format!("input {{ tier: {values} }}\nroute a when tier is present -> h\ndefault -> d");
        Rules::from_text(&text).expect("it compiles")
    };
    let (old, new) = (rules("\"free\" | \"gold\""), rules("\"free\" | \"gold\" | \"team\""));
    for (before, after) in [(&old, &new), (&new, &old)] {
        let diff = before.diff(after);
        assert_eq!(diff.verdict(), Verdict::Different, "{diff:#?}");
        assert!(diff.entries.iter().all(|entry| entry.open == 0), "nothing stays open: {diff:#?}");
        let changes = diff.entries.iter().flat_map(|entry| &entry.changes);
        let mut examples = changes.flat_map(|change| &change.examples);
        assert!(examples.any(|example| example.message == json!({"tier": "team"})), "{diff:#?}");
    }
    let reordered = old.diff(&rules("\"gold\" | \"free\""));
    assert_eq!(reordered.verdict(), Verdict::Same, "{reordered:#?}");
    // No route reads the texts that the new version accepts.
    let only = |values: &str| {
        let text = format!("input {{ tier: {values} }}\nroute a when tier == \"gold\" -> h\ndefault -> d");
        Rules::from_text(&text).expect("it compiles")
    };
    let wider = only("\"free\" | \"gold\"").diff(&only("\"free\" | \"gold\" | \"team\""));
    assert_eq!(wider.verdict(), Verdict::Same, "{wider:#?}");
}

#[test]
fn a_test_gives_only_values_of_the_enumeration() {
    let rules = |given: &str| {
        format!("{INPUT}route a when tier == \"gold\" -> h\ntest \"t\" {{ given tier = {given} expect a }}")
    };
    assert_eq!(codes(&rules("\"gold\"")), []);
    assert_eq!(codes(&rules("\"golt\"")), codes(&rules("3")), "like a value of another type");
    assert_ne!(codes(&rules("\"golt\"")), []);
}

/// If the rules read hundreds of fields, the engine looks up each key of the message instead of
/// each field. The decisions must be the same.
#[test]
fn many_fields_are_read_as_few_fields_are() {
    let fields: String = (0..300).map(|at| format!("f{at}: \"a\" | \"b\", ")).collect();
    let routes: String = (0..300).map(|at| format!("route r{at} when f{at} != \"a\" -> h{at}\n")).collect();
    let rules =
        Rules::from_text(&format!("input {{ {fields} }}\n{routes}default -> d")).expect("it compiles");
    let message = json!({"f3": "a", "f5": "c", "f7": "b"});
    assert_eq!(rules.decide(&message).target(), Some("h7"));
    assert_eq!(rules.main().decide_prepared(&rules.prepare(&message)).target(), Some("h7"));
}

#[test]
fn the_json_schema_lists_the_values() {
    let text = format!("{INPUT}route r when tier == \"gold\" -> h");
    let schema = Rules::from_text(&text).expect("it compiles").input_schema();
    assert_eq!(schema["properties"]["tier"], json!({"type": "string", "enum": ["free", "gold", "team"]}));
    assert_eq!(schema["properties"]["tiers"]["items"], json!({"type": "string", "enum": ["free", "gold"]}));
    let optional =
        Rules::from_text("input { tier?: \"free\" | \"gold\" }\nroute r when tier == \"gold\" -> h");
    let schema = optional.expect("it compiles").input_schema();
    assert_eq!(
        schema["properties"]["tier"],
        json!({"type": ["string", "null"], "enum": ["free", "gold", null]})
    );
}
