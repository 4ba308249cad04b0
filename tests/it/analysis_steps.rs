//! Checks that the steps of the analysis grow in proportion to the length of lists and the size of
//! conditions. Also checks that the analysis stops at its limit of steps.

use rulec::{AnalysisOptions, Rules};
use rulec_lang::limits::MAX_ANALYSIS_STEPS;

fn ids(range: std::ops::Range<usize>) -> String {
    let ids: Vec<String> = range.map(|id| format!("\"id{id:06}\"")).collect();
    format!("[{}]", ids.join(", "))
}

fn joined(count: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(between)
}

/// Returns the codes of the findings, and the steps of the analysis.
fn codes_and_steps(text: &str) -> (Vec<&'static str>, u64) {
    let rules = Rules::from_text(text).unwrap_or_else(|error| panic!("{text:.300}\n{error}"));
    let analysis = rules.analyse_counted(AnalysisOptions::default());
    let codes = analysis.findings.iter().map(|finding| finding.diagnostic.code.as_str());
    (codes.collect(), analysis.steps)
}

#[track_caller]
fn check_steps(text: &str, expected: &[&str], most: u64) {
    let (codes, steps) = codes_and_steps(text);
    assert_eq!(codes, expected, "{text:.200}");
    assert!(steps <= most, "{steps} steps: {text:.200}");
}

/// Regression: each element of a list was compared with each element of the other.
#[test]
fn long_lists_take_steps_in_proportion_to_their_length() {
    const LENGTH: usize = 20_000;
    let pair = |test: &str, other: std::ops::Range<usize>| {
        format!(
            "input {{ id: string }}\nlist a = {}\nlist b = {}\nroute r1 when id {test} a -> h\nroute r2 when id {test} b -> g\ndefault -> d",
            ids(0..LENGTH),
            ids(other)
        )
    };
    let most = 60 * LENGTH as u64;
    check_steps(&pair("in", LENGTH / 2..LENGTH), &["W0213"], most);
    check_steps(&pair("in", LENGTH / 2..LENGTH + 1), &[], most);
    for test in ["starts_with any", "ends_with any", "contains any", "contains word any"] {
        check_steps(&pair(test, LENGTH / 2..LENGTH + 1), &[], most);
    }
}

/// Regression: the analysis of the second route took seconds if the first one had `contains any`
/// with 4,000 words.
#[test]
fn a_word_of_a_long_list_is_known_to_be_found() {
    let words = joined(4_000, ", ", |at| format!("\"Word{at:04}x.exe\""));
    let text = |other: &str| {
        let fields = if other.is_empty() { "" } else { ", f?: string" };
        format!(
            "input {{ h: string{fields} }}\nroute many priority 2 when h contains any [{words}] ignoring case -> a\nroute few when h contains \"word0007X.exe\" ignoring case{other} -> b\ndefault -> c"
        )
    };
    check_steps(&text(""), &["W0213"], 1_000_000);
    check_steps(&text(" or f ends_with any [\"x.sys\", \"y.sys\"] ignoring case"), &[], 1_000_000);
}

/// Regression: the work grew with the third power of the number of parts of a condition.
#[test]
fn conditions_of_hundreds_of_parts_are_analysed_in_full() {
    let one = |condition: &str| {
        let field = if condition.contains("text") { "text: string" } else { "x: int" };
        format!("input {{ {field} }}\nroute r when {condition} -> h\ndefault -> d")
    };
    let most = 10_000_000;
    let different = joined(500, " and ", |at| format!("x != {at}"));
    check_steps(&one(&different), &[], most);
    check_steps(&one(&format!("{different} and x != 77")), &["W0209"], most);
    check_steps(&one(&joined(500, " or ", |at| format!("x == {at}"))), &[], most);
    check_steps(&one(&format!("none {{ {} }}", joined(500, "; ", |at| format!("x == {at}")))), &[], most);
    let words = joined(500, " or ", |at| format!("text contains \"w{at:03}\""));
    check_steps(&one(&words), &[], most);
    check_steps(&one(&format!("{words} or text contains \"aw0071\"")), &["W0209"], most);
}

/// A statement that is too large keeps no other statement from being analysed.
#[test]
fn what_is_not_analysed_is_reported() {
    let large = joined(6_000, " and ", |at| format!("f{at} != {at}"));
    let text = format!("route large when {large} -> h\nroute odd when n > 5 and n < 3 -> g\ndefault -> d");
    check_steps(&text, &["W0219", "W0210"], MAX_ANALYSIS_STEPS);
}

#[test]
fn differences_of_long_lists_are_found_within_the_steps() {
    let rules =
        |list: &str| Rules::from_text(&format!("list a = {list}\nroute r when id in a -> h\ndefault -> d"));
    let [old, new] = [ids(0..20_000), ids(1..20_000)].map(|list| rules(&list).expect("the rules are right"));
    let found = old.diff(&new);
    assert_eq!(found.entries[0].changes[0].examples[0].message, serde_json::json!({"id": "id000000"}));
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    let why = new.main().why_not("r", &serde_json::json!({"id": "x"})).expect("there is such a route");
    assert!(matches!(why.remedy, rulec::why_not::Remedy::Change { is_smallest: true, .. }), "{why:?}");
}

/// Regression: each field that was read once was compared with all others. Two exchanged letters in
/// a name of four were not found.
#[test]
fn names_of_fields_are_compared_by_their_letters() {
    let routes = |names: &[String]| {
        let route = |(at, name): (usize, &String)| format!("route r{at} when ctx.{name} == \"x\" -> h\n");
        names.iter().enumerate().map(route).collect::<String>() + "default -> d"
    };
    let pair = |first: &str, second: &str| routes(&[first.to_owned(), second.to_owned()]);
    for (first, second) in
        [("tier", "teir"), ("name", "nmae"), ("status", "staus"), ("accommodation", "accomodation")]
    {
        check_steps(&pair(first, second), &["W0222"], 10_000);
    }
    for (first, second) in [("form", "from"), ("plan", "plans"), ("item_12", "item_21"), ("count", "county")]
    {
        check_steps(&pair(first, second), &[], 10_000);
    }
    let steps = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| format!("field_number_{at}")).collect();
        codes_and_steps(&routes(&names)).1
    };
    let (few, many) = (steps(1_000), steps(2_000));
    assert!(many < 3 * few, "{few} steps for 1,000 names, and {many} for 2,000");
}
