//! Parts of a quantifier's condition that do not depend on its element are computed once. Work in
//! the other parts counts for each element.

use super::{check, decide_message};
use serde_json::json;
use std::time::{Duration, Instant};

/// Former bug: a part that does not depend on the element was computed for each element.
#[test]
fn what_does_not_depend_on_the_element_is_computed_once() {
    let message = json!({ "text": "A".repeat(1 << 20), "l": (0..100_000).collect::<Vec<_>>() });
    let start = Instant::now();
    check("", "any x in l: x > 99_998 and len(lower(text)) > x + 10", &message, Ok(true));
    check("", "all x in l: lower(text) contains \"a\"", &message, Ok(true));
    // A part that does not depend on the element may also be an operand of a part that does.
    check("", "all x in l: len(lower(text)) + x >= 0", &message, Ok(true));
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// Former bug: the VM evaluated a cheap comparison that does not depend on the element again for
/// each element, and counted each repetition. Its result was unknown where the reference evaluator
/// had compared once.
#[test]
fn a_comparison_that_does_not_depend_on_the_element_counts_once() {
    let message = json!({ "u": "ABCDE", "v": [1, 2], "w": [1, 2], "l": [1, 2, 3] });
    for condition in ["u == \"abcde\" ignoring case", "u == (v[5] as string ?? \"ABCDE\")", "v == w"] {
        check("search_work: 16", &format!("all x in l: {condition}"), &message, Ok(true));
        check(
            "search_work: 16",
            &format!("any x in l: (count y in l: y > 0 and {condition}) == 3"),
            &message,
            Ok(true),
        );
    }
    // Former bug: a condition that two rules share was cached for the other rule, but computed here
    // for each element.
    let shared = "settings { search_work: 16 }
        let d = not (ctx.f == 1e300 or trim(u) contains \"x\" ignoring case or ctx.f <= 2)
        route b when all x in l: d -> h
        route a when d -> h";
    let message = json!({ "u": "ABCDE", "ctx": { "f": 3 }, "l": [1, 2, 3] });
    assert_eq!(decide_message(shared, &message), (Some("b".to_owned()), json!({}), vec![]));
    // Comparisons that read the element count each time.
    let message = json!({ "v": [1, 2], "l": [[1, 2], [1, 2]] });
    check("search_work: 16", "any x in l: x == v", &message, Err("search_work"));
}

/// Former bug: the VM counted only what constant folding had left of a condition. The reference
/// evaluator counts the condition as written.
#[test]
fn an_element_that_constants_take_away_counts_as_written() {
    let message = json!({ "u": "ABCDE", "l": (0..10).collect::<Vec<_>>() });
    for decided in [
        "1 < 2 or x == 3",
        "not (1 > 2 and x == 3)",
        "(count y in l: 1 > 2 and x == y) == 0",
        "1 in 0..2 or x == 3",
    ] {
        for value in [format!("(if {decided} then u else \"\")"), format!("[{decided}, u][1]")] {
            let condition = format!("any x in l: {value} == \"abcde\" ignoring case");
            check("search_work: 100", &condition, &message, Ok(true));
            check("search_work: 16", &condition, &message, Err("search_work"));
            check("search_work: 16", &condition.replace("x ==", "1 =="), &message, Ok(true));
        }
    }
}
