//! Tests of completion. `completion.txt` has the positions, with what completion offers at each.

use super::{HELPDESK, MAIN, analyse, split_at_mark};
use crate::complete::CompletionKind;

#[test]
fn completion_offers_the_valid_items_at_the_position() {
    let offers = |mark: &str| {
        let (line, at) = split_at_mark(mark);
        let text = format!("{HELPDESK}{line}\n");
        let completion = analyse(&text).complete(MAIN, HELPDESK.len() as u32 + at);
        (completion.items, completion.replaced_span.len())
    };
    let check = |mark: &str, kind: CompletionKind, wanted: &[&str], not: &[&str]| {
        let (items, _) = offers(mark);
        let has = |label: &str| items.iter().any(|item| item.label == label);
        for label in wanted {
            assert!(
                items.iter().any(|item| item.label == *label && item.kind == kind),
                "{label} in {mark}: {items:?}"
            );
        }
        assert!(!not.iter().any(|label| has(label)), "{mark}: {items:?}");
    };
    check("route x when ctx.┃", CompletionKind::Field, &["tier", "orders"], &["text", "when"]);
    check("route x when ctx.ti┃", CompletionKind::Field, &["tier"], &[]);
    check("route x when ┃", CompletionKind::Value, &["money", "tiers"], &["billing"]);
    check("route x when ┃", CompletionKind::Function, &["over", "len"], &[]);
    check("route x when ┃", CompletionKind::Field, &["text", "ctx"], &[]);
    check(
        "route x when text ┃",
        CompletionKind::Operator,
        &["contains", "==", "starts_with"],
        &["money", "len"],
    );
    check("route x when ctx.orders ┃", CompletionKind::Operator, &["contains"], &["starts_with"]);
    check("route x when money -> ┃", CompletionKind::Handler, &["billing"], &["money"]);
    check("route x when money -> goto ┃", CompletionKind::Statement, &["rest"], &[]);
    check("route x ┃", CompletionKind::Keyword, &["when", "priority"], &[]);
    check("ro┃", CompletionKind::Keyword, &["route", "table", "let"], &[]);
    check("handler h(a: ┃", CompletionKind::Type, &["string", "Ctx"], &[]);
    check("let y = x as ┃", CompletionKind::Type, &["int", "Ctx"], &[]);
    check("test \"z\" { given text = \"a\" expect ┃", CompletionKind::Statement, &["refund", "many"], &[]);
    assert_eq!(offers("route x when ctx.ti┃er").1, 4);
    assert!(offers("# a comm┃ent").0.is_empty());
    assert!(offers("let a = \"some te┃xt\"").0.is_empty());
    // Without any token before the cursor.
    for first in
        ["\"", "\"a", "(", "[", "{", ".", ":", "->", "==", "in", ",", "\"a\", \"", "# c\n\"", "]", "}"]
    {
        analyse(first).complete(MAIN, first.len() as u32);
    }
    assert!(analyse("").complete(MAIN, 9).items.iter().any(|item| item.label == "route"), "an empty file");
}

#[test]
fn completion_offers_the_values_of_an_enumeration() {
    let input =
        "input { ctx: { tier: \"free\" | \"gold\", tiers?: list<\"free\" | \"gold\">, name: string } }\n";
    for (mark, is_offered) in [
        ("route x when ctx.tier == ┃", true),
        ("route x when ctx.tier != ┃ -> h", true),
        ("route x when ctx.tier == \"g┃\" -> h", true),
        ("route x when ctx.tier in [┃", true),
        ("route x when ctx.tier not in [\"free\", ┃", true),
        ("route x when ctx.tiers contains ┃", true),
        ("route x when ctx.tiers contains any [\"┃\"]", true),
        ("route x when ctx.name == ┃", false),
        ("route x when ctx.name == \"┃\"", false),
        ("route x when ctx.tier == \"free\" and ┃", false),
        ("route x when ctx.tier == \"free\"┃", false),
        ("route x when [\"free\", ┃", false),
    ] {
        let (line, at) = split_at_mark(mark);
        let items = analyse(&format!("{input}{line}\n")).complete(MAIN, input.len() as u32 + at).items;
        let offered: Vec<&str> =
            items.iter().map(|item| item.label.as_str()).filter(|label| label.starts_with('"')).collect();
        assert_eq!(offered, if is_offered { vec!["\"free\"", "\"gold\""] } else { Vec::new() }, "{mark}");
    }
}

#[test]
fn fields_without_a_declaration_are_offered_as_they_are_used() {
    let text = "route a when ctx.user.age > 3 and ctx.name == \"a\" -> h\nroute b when ctx. -> h\n";
    let at = text.find("ctx. ").expect("it is there") as u32 + 4;
    let labels: Vec<_> =
        analyse(text).complete(MAIN, at).items.into_iter().map(|item| (item.label, item.detail)).collect();
    assert!(
        labels.iter().any(|(name, _)| name == "user") && labels.iter().any(|(name, _)| name == "name"),
        "{labels:?}"
    );
}

/// A case of `completion.txt`: a text with the cursor at `|`, and the expected items.
struct Case<'t> {
    text: String,
    offered: Vec<&'t str>,
    not_offered: Vec<&'t str>,
}

/// Splits the text of `completion.txt` into the declarations that all cases share, and the cases.
fn read_cases(file: &str) -> (String, Vec<Case<'_>>) {
    let mut parts = file.split("\n\n");
    let comment = parts.next().expect("the file begins with a comment");
    assert!(comment.lines().all(|line| line.starts_with('#')), "{comment}");
    let declarations = parts.next().expect("the declarations follow").replace('%', "|");
    let read_case = |part| {
        let mut lines: Vec<&str> = str::lines(part).collect();
        let mut items = |mark| {
            let line = lines.pop().and_then(|line| line.strip_prefix(mark));
            let line: &str = line.unwrap_or_else(|| panic!("no line with `{mark}` ends {part}"));
            line.split(", ").map(str::trim).filter(|label| !label.is_empty()).collect()
        };
        let (not_offered, offered) = (items("-"), items("+"));
        Case { text: lines.join("\n"), offered, not_offered }
    };
    (declarations, parts.map(read_case).collect())
}

/// An item `>first WORD` must be the first of the list.
#[test]
fn completion_offers_what_the_table_says() {
    let (declarations, cases) = read_cases(include_str!("completion.txt"));
    let mut errors = Vec::new();
    for case in &cases {
        let at = case.text.find('|').unwrap_or_else(|| panic!("no cursor in {}", case.text));
        let text = format!("{declarations}\n{}\n", case.text.replacen('|', "", 1));
        let mut analysis = analyse(&text);
        analysis.importable_files =
            ["a.rules", "more.rules", "shared/words.rules"].map(str::to_owned).to_vec();
        let items = analysis.complete(MAIN, (declarations.len() + 1 + at) as u32).items;
        let labels: Vec<&str> = items.iter().map(|item| item.label.as_str()).collect();
        for label in &case.offered {
            let is_right = match label.strip_prefix(">first ") {
                Some(word) => labels.first() == Some(&word),
                None => labels.contains(label),
            };
            if !is_right {
                errors.push(format!("{}\n  lacks {label}: {labels:?}", case.text));
            }
        }
        for label in case.not_offered.iter().filter(|label| labels.contains(label)) {
            errors.push(format!("{}\n  has {label}", case.text));
        }
    }
    assert!(cases.len() >= 60, "{} positions", cases.len());
    assert!(errors.is_empty(), "{} errors:\n{}", errors.len(), errors.join("\n"));
}
