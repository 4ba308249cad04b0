//! Limits of a decision: every engine applies each at the same place, and the decision says so.

#[path = "support/engines.rs"]
mod engines;

use engines::COLUMNS;
use rulec::Rules;
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

/// The answer of every engine: the chosen route, the arguments, and the limits exceeded.
#[track_caller]
fn decided(rules: &str, message: &Json) -> (Option<String>, Json, Vec<&'static str>) {
    let rules = Rules::from_text(rules).unwrap_or_else(|error| panic!("{}", error.render()));
    let mut answers = COLUMNS.iter().map(|column| {
        let decision = column.of(&rules).decide(message);
        let exceeded = decision.exceeded().iter().map(|exceeded| exceeded.limit()).collect();
        (decision.chosen().map(str::to_owned), Json::Object(decision.args().clone()), exceeded)
    });
    let first = answers.next().expect("there are engines");
    for (answer, column) in answers.zip(&COLUMNS[1..]) {
        assert_eq!(answer, first, "{column:?}: {message:.300}");
    }
    first
}

/// Holds a condition and its negation against a message: `Some` truth within, `None` and the limit beyond.
#[track_caller]
fn check(settings: &str, condition: &str, message: &Json, expected: Result<bool, &str>) {
    let head = if settings.is_empty() { String::new() } else { format!("settings {{ {settings} }}\n") };
    for (text, wanted) in [(condition.to_owned(), true), (format!("not ({condition})"), false)] {
        let (chosen, _, exceeded) = decided(&format!("{head}route r when {text} -> h"), message);
        match expected {
            Ok(truth) => assert_eq!((chosen.is_some(), exceeded), (truth == wanted, vec![]), "{text}"),
            Err(limit) => assert_eq!((chosen, exceeded), (None, vec![limit]), "{text}"),
        }
    }
}

fn text(letter: &str, count: usize) -> Json {
    json!({ "text": letter.repeat(count), "u": letter.repeat(count) })
}

fn list(count: usize) -> Json {
    json!({ "l": vec![1; count] })
}

#[test]
fn a_quantifier_reads_so_many_elements() {
    let small = "quantifier_elements: 16";
    for (nest, most) in [("", 16), ("any a in l: ", 4)] {
        for quantifier in ["any x in l: x > 1", "all x in l: x > 0", "(count x in l: x > 0) > 2"] {
            let holds = !quantifier.starts_with("any");
            // A quantifier that does not depend on the one around it forms no nest with it.
            let condition = match nest {
                "" => quantifier.to_owned(),
                nest => nest.to_owned() + &quantifier.replace("x > ", "x * a > "),
            };
            check(small, &condition, &list(most), Ok(holds));
            check(small, &condition, &list(most + 1), Err("quantifier_elements"));
        }
    }
    check(small, "any a in l: a > 0 and (any x in l: x > 0)", &list(16), Ok(true));
    check("quantifier_elements: 0", "any x in l: x > 0", &list(0), Ok(false));
    check("", "any x in l: x > 1", &list(1_000_001), Err("quantifier_elements"));
    check("", "any x in l: any y in l: x + y > 3", &list(1_001), Err("quantifier_elements"));
}

#[test]
fn a_similarity_compares_so_many_characters() {
    for condition in ["similarity(text, u) == 1", r#"similarity(text, "文文文文文") > 0.1"#] {
        check("similarity_characters: 5", condition, &text("文", 5), Ok(true));
        check("similarity_characters: 5", condition, &text("文", 6), Err("similarity_characters"));
    }
    check("", "similarity(text, u) == 1", &text("a", 4_097), Err("similarity_characters"));
}

#[test]
fn an_expression_searches_so_many_bytes() {
    for condition in
        [r#"text matches r"b+""#, r#"text matches any [r"b+", r"^c"]"#, r#"lower(text) matches r"b""#]
    {
        check("regex_bytes: 10", condition, &text("a", 10), Ok(false));
        // The index knows without the expression that `b` is not there, and must not say so.
        check("regex_bytes: 10", condition, &text("a", 11), Err("regex_bytes"));
        check("regex_work: 1_000", condition, &text("a", 500), Err("regex_work"));
    }
    let message = text("a", 100_000);
    check("", r#"text matches r"\p{L}{200}b""#, &message, Err("regex_work"));
    check("", r#"text matches r"\b\w+@\w+\b""#, &message, Ok(false));
}

#[test]
fn a_pattern_of_like_that_goes_back_is_bounded() {
    check("search_work: 100", r#"text like "*b*c*""#, &text("a", 1_000), Ok(false));
    check("search_work: 100", r#"text like "*b?c*""#, &text("a", 33), Ok(false));
    check("search_work: 100", r#"text like "*b?c*""#, &text("a", 34), Err("search_work"));
    let message = json!({ "text": "a".repeat(140_000), "u": format!("*{}b*", "a?".repeat(70_000)) });
    check("", "text like u", &message, Err("search_work"));
}

#[test]
fn a_value_that_is_built_has_so_many_bytes() {
    let message = json!({ "text": "ab", "l": ["ab", "cd"], "d": { "ab": 1, "cd": "x" } });
    for (condition, bytes) in [
        (r#"join(l, "--") == "ab--cd""#, 6),
        (r#"lower(text) == "ab""#, 2),
        (r#"upper(text) == "AB""#, 2),
        (r#"split(text, "")[1] == "b""#, 18),
        (r#"[text, "c"][0] == "ab""#, 19),
        (r#"keys(d)[0] == "ab""#, 20),
        (r#"values(d)[1] == "x""#, 17),
        (r#"without(l, ["ab"])[0] == "cd""#, 10),
        (r#"len(updated(d, d)) == 2"#, 21),
    ] {
        check(&format!("value_bytes: {bytes}"), condition, &message, Ok(true));
        check(&format!("value_bytes: {}", bytes - 1), condition, &message, Err("value_bytes"));
    }
    check("", "len(text) > 0 and len(lower(text)) > 3", &text("A", (1 << 20) + 1), Err("value_bytes"));
}

/// Joining the letters of a text with the text made gigabytes of kilobytes, and ended the process.
#[test]
fn a_product_of_two_texts_is_not_built() {
    let start = Instant::now();
    check("", r#"len(join(split(text, ""), u)) > 3"#, &text("x", 60_000), Err("value_bytes"));
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn values_of_a_message_are_searched_for_each_other_within_bounds() {
    let small = "search_work: 100";
    let words =
        |count: usize| json!({ "text": "a".repeat(10), "l": vec!["b"; count], "u": "a".repeat(count) });
    check(small, "text contains any l", &words(10), Ok(false));
    check(small, "text contains any l", &words(11), Err("search_work"));
    check(small, "text contains word u", &words(10), Ok(true));
    check(small, "text contains word u", &words(11), Err("search_work"));
    check(small, "any x in l: text contains x", &words(10), Ok(false));
    check(small, "any x in l: text contains x", &words(11), Err("search_work"));
    check(small, "any x in l: l contains join([x], \"\") and x != \"b\"", &words(10), Ok(false));
    check(small, "any x in l: x == u and x in l", &words(10), Ok(false));
    // What is written in the rules has no such bound.
    check(
        small,
        r#"text contains any ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]"#,
        &words(1),
        Ok(false),
    );
}

/// A part that does not depend on the element was computed for each.
#[test]
fn what_does_not_depend_on_the_element_is_computed_once() {
    let message = json!({ "text": "A".repeat(1 << 20), "l": (0..100_000).collect::<Vec<_>>() });
    let start = Instant::now();
    check("", "any x in l: x > 99_998 and len(lower(text)) > x + 10", &message, Ok(true));
    check("", "all x in l: lower(text) contains \"a\"", &message, Ok(true));
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn settings_of_limits_are_whole_numbers() {
    let error = |text: &str| Rules::from_text(text).expect_err("it is wrong").render();
    for value in ["0.5", "\"many\"", "many"] {
        let shown = error(&format!("settings {{ value_bytes: {value} }}\nroute r when text == \"a\" -> h"));
        assert!(shown.contains("value_bytes") && shown.contains("a whole number of bytes"), "{shown}");
    }
    let shown = error("settings { value_byte: 1 }\nroute r when text == \"a\" -> h");
    assert!(shown.contains("did you mean `value_bytes`"), "{shown}");
    Rules::from_text("settings { value_bytes: 4MiB }\nroute r when text == \"a\" -> h").expect("units work");
}

/// A constant `-0.0` went through JSON and came back as the integer 0.
#[test]
fn a_float_constant_keeps_kind_and_sign() {
    let (_, args, _) = decided(
        "default -> h(a: -0.0, b: 0.0 * -1, c: ctx.n * -0.0, d: [-0.0, 1.0][0], e: [0.0 * -1][0])",
        &json!({ "ctx": { "n": 1 } }),
    );
    assert_eq!(args.to_string(), r#"{"a":-0.0,"b":-0.0,"c":-0.0,"d":-0.0,"e":-0.0}"#);
}
