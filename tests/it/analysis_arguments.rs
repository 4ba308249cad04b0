//! Checks the findings about conditions in arguments: which conditions count, and their remedies.

use rulec::{Finding, Rules};

/// Regression test: a shared definition was reported where only a narrow route calls it.
#[test]
fn conditions_of_shared_definitions_are_no_mistake_of_a_route() {
    let one = |body: &str, argument: &str, expected: &[&str]| {
        let text = format!(
            "input {{ count: int }}\ndef size(n: int) = {body}\n\
             route one when count == 1 -> h(size: {argument})\ndefault -> h(size: size(count))"
        );
        let rules = Rules::from_text(&text).expect("it compiles");
        let place = |finding: &Finding| text[finding.diagnostic.span().expect("a place").range()].to_owned();
        let found: Vec<String> = rules.analyse().iter().map(place).collect();
        assert_eq!(found, expected, "{text}");
    };
    one("if n > 100 then \"large\" else \"small\"", "size(count)", &[]);
    one("if n > 100 then 2 else if n > 10 then 1 else 0", "size(count)", &[]);
    one("n > 100", "size(count)", &[]);
    one("n > 100", "count > 100", &["count > 100"]);
}

/// Regression test: `false` was proposed for an argument that is missing.
#[test]
fn the_remedy_for_an_argument_keeps_its_value() {
    let one = |condition: &str, expected: &str| {
        let text = format!(
            "input {{ count?: int, n: int }}\n\
             route one when {condition} -> h(many: count > 100 or n > 100)\ndefault -> d"
        );
        let found = Rules::from_text(&text).expect("it compiles").analyse();
        let finding = found.iter().find(|finding| finding.diagnostic.code.as_str() == "W0210");
        let help = finding.and_then(|finding| finding.diagnostic.help.as_deref()).unwrap_or_default();
        assert_eq!(help, format!("correct one of the conditions{expected}"), "{condition}");
    };
    one("count < 5 and n < 5", ", or write `false`: the argument is always false");
    one("count is missing and n < 5", ", or remove the argument: it is always missing");
    one("not (count > 3) and n < 5", ", or write `false`: the argument is always false");
    one("(count is missing or count < 5) and n < 5", "");
}
