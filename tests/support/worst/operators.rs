//! Worst-case messages of operators.

use super::Table::Operator;
use super::{Case, Size, Task, ask, each, indexed, list, pairs, searched_bytes, text};
use rulec_lang::limits::Limit;
use serde_json::json;

/// Returns the number of letters of each text in a message with two lists of texts. The lists are
/// as long as two nested quantifiers may read.
fn letters(size: &Size) -> usize {
    (size.bytes / size.nest(2) / 2).saturating_sub(4)
}

/// Builds a task that compares every pair of texts from two lists. The texts are long and differ
/// only in the last letter.
fn long_pairs(size: &Size, condition: &str, letters: usize) -> Task {
    let long = text(letters - 2);
    pairs(size, condition, format!("{long}b"), format!("{long}c"))
}

/// Builds a task that compares every pair of lists from two lists. The lists are long and differ
/// only in the last element.
fn pairs_of_lists(size: &Size, condition: &str) -> Task {
    let ones = vec![1; (size.work_of_pair() / 8).saturating_sub(3)];
    pairs(size, condition, json!([[ones, 2]]), json!([[ones, 3]]))
}

/// Builds a task that searches each text of one list for each text of another list. The searched
/// texts have `bytes` letters; the other texts are `wanted`.
fn searched_pairs(size: &Size, condition: &str, bytes: usize, wanted: &str) -> Task {
    pairs(size, condition, text(bytes), wanted)
}

/// Builds a task that searches one text for another. A search that reads the text `passes` times
/// reaches the search-work limit.
fn searched(size: &Size, condition: &str, passes: usize, wanted: String) -> Task {
    let bytes = (size.get(Limit::SearchWork) / passes).min(size.bytes / 2);
    ask(condition, json!({ "text": text(bytes), "u": wanted }))
}

/// Builds a task that searches a text for a regex. The text is so long that the search reaches the
/// regex-work limit.
fn matched(size: &Size, pattern: &str, letters: &str) -> Task {
    let bytes = searched_bytes(size, pattern);
    let letters: String = letters.repeat(bytes / letters.len());
    ask(&format!("text matches r\"{pattern}\""), json!({ "text": letters }))
}

/// Returns pseudo-random letters, so that a regex automaton rarely revisits cached states.
fn mixed_letters() -> String {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'c' }
    };
    (0..1_000).map(|_| next()).collect()
}

const TIME: &str = "2026-01-05T09:30:00.123456789+08:00";

pub const CASES: &[Case] = &[
    (Operator, "Or", "in a nest", |size| pairs(size, "(x > y or x + 1 < y or x == 7 or y == 8)", 1, 1)),
    (Operator, "And", "in a nest", |size| pairs(size, "(x == y and x <= y and x + 1 > y and y == 8)", 1, 1)),
    (Operator, "Not", "in a nest", |size| pairs(size, "not (x == y or not (x > y))", 1, 1)),
    (Operator, "Eq", "long texts in a nest", |size| long_pairs(size, "x == y", letters(size))),
    (Operator, "Eq", "long texts in a nest, ignoring case", |size| {
        long_pairs(size, "x == y ignoring case", size.work_of_pair() / 2)
    }),
    (Operator, "Eq", "long lists in a nest", |size| pairs_of_lists(size, "x == y")),
    (Operator, "Eq", "two texts, normalised", |size| {
        let mut task = ask(
            "text == u",
            json!({ "text": "\u{fdfa}".repeat(size.bytes / 6), "u": "\u{fdfa}".repeat(size.bytes / 6 - 1) }),
        );
        task.rules.insert_str(0, "settings { normalize: nfkc }\n");
        task
    }),
    (Operator, "Ne", "long texts in a nest, ignoring case", |size| {
        pairs(
            size,
            "x != y ignoring case",
            format!("A{}", text(size.work_of_pair() / 2 - 1)),
            format!("a{}", text(size.work_of_pair() / 2 - 1)),
        )
    }),
    (Operator, "Ne", "long lists in a nest", |size| {
        let ones = json!([vec![1; size.work_of_pair() / 8 - 1]]);
        pairs(size, "x != y", ones.clone(), ones)
    }),
    (Operator, "Lt", "times in a nest", |size| {
        indexed(size, "($ as datetime) < \"2000-01-01T00:00:00Z\"", TIME)
    }),
    (Operator, "Le", "numbers in a nest", |size| pairs(size, "x <= y - 1", 1, 1.0)),
    (Operator, "Gt", "numbers in a nest", |size| pairs(size, "x > y + 1", 1, 1.0)),
    (Operator, "Ge", "times in a nest", |size| {
        indexed(size, "($ as datetime) >= \"2030-01-01T00:00:00Z\"", TIME)
    }),
    (Operator, "In", "a long list", |size| {
        ask("ctx.n in ctx.l", json!({ "ctx": { "n": 2, "l": list(size.bytes / 2, 1) } }))
    }),
    (Operator, "In", "a list of texts, ignoring case", |size| {
        ask(
            "text in ctx.l ignoring case",
            json!({ "text": "aaa", "ctx": { "l": list(size.bytes / 8, "AAAb") } }),
        )
    }),
    (Operator, "In", "numbers in a nest", |size| pairs(size, "x in y", 2, list(size.work_of_pair() / 8, 1))),
    (Operator, "In", "texts in a nest, ignoring case", |size| {
        let wanted = text(size.work_of_pair() / 8 - 12);
        pairs(size, "x in y ignoring case", format!("A{wanted}b"), list(8, format!("A{wanted}c")))
    }),
    (Operator, "In", "long texts in a nest", |size| {
        pairs(
            size,
            "x in y",
            text(size.work_of_pair() / 4 - 9),
            list(4, text(size.work_of_pair() / 4 - 10) + "b"),
        )
    }),
    (Operator, "In", "lists in a nest", |size| pairs_of_lists(size, "x in y")),
    (Operator, "InNetwork", "in a nest", |size| {
        pairs(size, "(x in_network any [\"10.0.0.0/8\", \"2001:db8::/32\"] and y == 2)", "::ffff:11.1.2.3", 1)
    }),
    (Operator, "Unless", "in a nest", |size| pairs(size, "((x > y unless x == 7) and y == 8)", 2, 1)),
    (Operator, "Contains", "a long text", |size| {
        ask("text contains \"aaab\"", json!({ "text": text(size.bytes) }))
    }),
    (Operator, "Contains", "a long text, ignoring case", |size| {
        ask(
            "text contains any [\"aaab\", \"b\"] ignoring case",
            json!({ "text": "AÉ".repeat(size.bytes / 3) }),
        )
    }),
    (Operator, "Contains", "a long text, normalised", |size| {
        let mut task = ask("text contains \"b\"", json!({ "text": "\u{fdfa}".repeat(size.bytes / 3) }));
        task.rules.insert_str(0, "settings { normalize: nfkc }\n");
        task
    }),
    (Operator, "Contains", "a long text, normalised and folded", |size| {
        let mut task =
            ask("text contains \"b\"", json!({ "text": "J\u{30c}\u{323}".repeat(size.bytes / 5) }));
        task.rules.insert_str(0, "settings { normalize: nfc, case: insensitive }\n");
        task
    }),
    (Operator, "Contains", "half a text in the other half", |size| {
        searched(size, "text contains u", 1, format!("{}b", text(size.bytes / 4)))
    }),
    (Operator, "Contains", "words that overlap themselves", |size| {
        let wanted = size.bytes / 500;
        searched(size, "text contains word u", wanted, text(wanted))
    }),
    (Operator, "Contains", "any word of a rule's list", |size| {
        let words: Vec<String> = (1..200).map(|n| format!("{:?}", text(n))).collect();
        ask(
            &format!("text contains word any [{}]", words.join(", ")),
            json!({ "text": text(size.bytes / 100) }),
        )
    }),
    (Operator, "Contains", "many keywords of the message", |size| {
        let count = size.bytes / 8;
        let bytes = size.get(Limit::SearchWork) / count / 2;
        ask("text contains any ctx.l", json!({ "text": text(bytes), "ctx": { "l": list(count, "aaba") } }))
    }),
    (Operator, "Contains", "words in a nest", |size| {
        let wanted = text(size.work_of_pair() / 32);
        searched_pairs(size, "x contains word y", 16, &wanted)
    }),
    (Operator, "Contains", "texts in a nest, ignoring case", |size| {
        let bytes = size.work_of_pair() / 2;
        searched_pairs(size, "x contains y ignoring case", bytes, &format!("B{}", text(bytes - 1)))
    }),
    (Operator, "Contains", "elements of a list in another", |size| {
        let count = (size.get(Limit::SearchWork) as f64 / 8.0).sqrt() as usize;
        ask("ctx.l contains any ctx.m", json!({ "ctx": { "l": list(count, 1), "m": list(count, 2) } }))
    }),
    (Operator, "Contains", "an element in a nest", |size| {
        pairs(size, "x contains y", list(size.work_of_pair() / 8, 1), 2)
    }),
    (Operator, "StartsWith", "texts in a nest, ignoring case", |size| {
        let bytes = size.work_of_pair() / 2;
        searched_pairs(size, "x starts_with y ignoring case", bytes, &format!("{}B", text(bytes - 1)))
    }),
    (Operator, "StartsWith", "many prefixes of the message", |size| {
        let count = size.bytes / 8;
        let bytes = size.get(Limit::SearchWork) / count / 2;
        ask(
            "text starts_with any ctx.l ignoring case",
            json!({ "text": text(bytes), "ctx": { "l": list(count, "aaBa") } }),
        )
    }),
    (Operator, "EndsWith", "texts in a nest, ignoring case", |size| {
        let bytes = size.work_of_pair() / 2;
        searched_pairs(size, "x ends_with y ignoring case", bytes, &format!("B{}", text(bytes - 1)))
    }),
    (Operator, "EndsWith", "a word at the end of texts", |size| {
        let count = size.bytes / 8;
        let bytes = size.get(Limit::SearchWork) / count / 8;
        ask(
            "text ends_with word any ctx.l",
            json!({ "text": text(bytes), "ctx": { "l": list(count, "aaaa") } }),
        )
    }),
    (Operator, "Like", "many stars", |size| {
        ask(&format!("text like {:?}", "a*".repeat(400) + "b*"), json!({ "text": text(size.bytes) }))
    }),
    (Operator, "Like", "a piece that goes back", |size| {
        let pattern = format!("*{}b*", "a?".repeat(100));
        let bytes = (size.get(Limit::SearchWork) / 201).min(size.bytes);
        ask(&format!("text like {pattern:?}"), json!({ "text": text(bytes) }))
    }),
    (Operator, "Like", "a pattern of the message that goes back", |size| {
        let pieces = size.bytes / 1_000;
        searched(size, "text like u", 2 * pieces + 1, format!("*{}b*", "a?".repeat(pieces)))
    }),
    (Operator, "Like", "a long pattern of the message", |size| {
        searched(size, "text like u", 1, "a*".repeat(size.get(Limit::ValueBytes) / 2))
    }),
    (Operator, "Like", "patterns in a nest", |size| {
        searched_pairs(size, "x like y", size.work_of_pair() / 2, "a*b")
    }),
    (Operator, "Matches", "an automaton that no cache holds", |size| {
        matched(size, "a[ac]{200}b", &mixed_letters())
    }),
    (Operator, "Matches", "repeated classes", |size| matched(size, r"\p{L}{200}b", "é")),
    (Operator, "Matches", "optional letters", |size| matched(size, r"\b(?:é?){200}[0-9]", "é")),
    (Operator, "Matches", "word edges beyond ASCII", |size| matched(size, r"\b\w{1,30}[^\w]", "é")),
    (Operator, "Matches", "a long text", |size| matched(size, r"\b\w+@\w+\b", "é")),
    (Operator, "Matches", "texts in a nest", |size| {
        indexed(size, r#"$ matches r"\bé?é?é?é?@""#, "é".repeat(size.work_of_pair() / 120))
    }),
    (Operator, "HasKey", "keys in a nest", |size| {
        let key = text(letters(size) / 4);
        pairs(
            size,
            "y has_key x",
            text(letters(size)),
            json!({ format!("{key}b"): 1, format!("{key}c"): 1, format!("{key}d"): 1 }),
        )
    }),
    (Operator, "IsMissing", "in a nest", |size| {
        pairs(size, "(x.a.b is missing or y.a is missing)", json!({"a": {"b": 1}}), json!({"a": 1}))
    }),
    (Operator, "IsPresent", "in a nest", |size| {
        pairs(size, "(x.a.b is present or y.a is present)", json!({"a": {"c": 1}}), json!({"b": 1}))
    }),
    (Operator, "Coalesce", "in a nest", |size| pairs(size, "(x.a ?? y.a ?? 1) == 2", json!({}), json!({}))),
    (Operator, "Add", "in a nest", |size| pairs(size, "x + y + x + y == 5", 1, 1)),
    (Operator, "Sub", "times in a nest", |size| {
        pairs(size, "(x as datetime) - (y as datetime) > 3", TIME, TIME)
    }),
    (Operator, "Mul", "in a nest", |size| pairs(size, "x * y * x * y == 5", 1, 1.5)),
    (Operator, "Div", "in a nest", |size| pairs(size, "x / y / x / y == 5", 1, 1.5)),
    (Operator, "Rem", "in a nest", |size| pairs(size, "x % y % x % y == 5", 1, 1.5)),
    (Operator, "Neg", "in a nest", |size| pairs(size, "-(x + y) == 5", 1, 1.5)),
    (Operator, "As", "times of every element", |size| {
        each(size, "(x as datetime) == \"2030-01-01T00:00:00Z\"", "2026-01-05T")
    }),
    (Operator, "As", "times in a nest", |size| {
        indexed(size, "($ as datetime) == \"2030-01-01T00:00:00Z\"", TIME)
    }),
];
