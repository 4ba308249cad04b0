//! Tests with common statements, valid and mutated. Parsing many statements together must give the
//! same trees as parsing each alone. Tokenizing with several threads must give the same tokens as
//! with one.

use super::REFERENCE_RULES;
use super::soup::{Random, TOKEN_SOUP, rule_files};
use crate::parse::stream::{self, TokenStream};
use crate::parse::{Pair, ParseTree, Rule, splitter, terminals};

/// Valid common statements in many variants, which the tests parse and mutate.
const STATEMENT_FORMS: &str = r#"
route a priority -3 disabled when not a.b["c"][0] in 1..=3 and x.when as number >= -1 -> h(a: b, list: [c,]) { k: {}, "q": 1, }
route b when any x in [1, 2,]: all y in x: y contains any { a: 1 } and count -> goto other
route c when any { a; b, c == 1; } or all{} or none { x } or count z in l: z and f() ?? g(1, 2) -> payload
route d when (count x in l: x.y is missing) > 2 and t matches word any ["a", r"b"] ignoring case -> `a b`
let words = ["a", ("b"), {c: d}]
list names = ["a", "b",]
list file = from "a.txt"
list word = from
default -> h({a: 1}, b)
default -> h(a: {b: c}) {}
let quantities = any + all.count == count x in y
let types = a as list or b as dict<string> or c as dict or d as any or e as text in f
"#;

/// Returns the statements of a text, including those inside tables, each as its rule and its codes
/// (one character per token).
fn statement_codes(text: &str) -> Vec<(Rule, String)> {
    let stream = stream::tokenize_in_parts(text, 1);
    let mut found = Vec::new();
    let mut raw = splitter::split_statements(super::FILE, text, &stream, &mut Vec::new());
    while let Some(statement) = raw.pop() {
        let rule = statement.keyword.and_then(|word| word.statement_rule);
        found.extend(rule.map(|rule| (rule, stream.token_codes[statement.tokens].to_owned())));
        raw.extend(statement.table_body.into_iter().flat_map(|(inner, _)| inner));
    }
    found
}

/// Formats a tree as text. Each node is its grammar rule, its codes (one character per token) and
/// its children.
fn format_tree(pair: Pair<'_>, codes: &str) -> String {
    let inside: Vec<_> = pair.into_inner().map(|inner| format_tree(inner, codes)).collect();
    format!("{:?} {:?} [{}]", pair.as_rule(), &codes[pair.tokens()], inside.join(" "))
}

/// Returns the tree of a statement that is parsed alone, as text.
fn parse_alone_as_text(codes: &str) -> Option<String> {
    ParseTree::parse(Rule::alone, codes).ok()?.root().map(|root| format_tree(root, codes))
}

#[test]
fn every_shape_is_read_by_its_rule() {
    let all = statement_codes(&format!("{REFERENCE_RULES}{STATEMENT_FORMS}"));
    let mut routes = 0;
    for (rule, codes) in &all {
        // Three of these statements are invalid: arguments without names, a quantifier without a
        // condition, and a reserved word as a handler.
        let right = parse_alone_as_text(codes);
        assert!(right.as_ref().is_none_or(|read| read.starts_with(&format!("{rule:?}"))), "{codes:?}");
        routes += usize::from(*rule == Rule::route_statement && right.is_some());
    }
    assert!(routes >= 8, "{routes}");
    let wrong = all.iter().filter(|(_, codes)| parse_alone_as_text(codes).is_none()).count();
    assert_eq!(wrong, 3);
}

/// Returns mutated statements, some of which are still valid.
fn mutilated_statements(rounds: usize) -> impl Iterator<Item = String> {
    let statements = statement_codes(&format!("{REFERENCE_RULES}{STATEMENT_FORMS}"));
    let alphabet: Vec<char> = terminals::terminals_with_codes().map(|(_, code)| char::from(code)).collect();
    let mut random = Random(0x5EED_0FC0_DE5A_11AD);
    (0..rounds).map(move |_| {
        let (_, codes) = &statements[random.next_below(statements.len())];
        let mut codes: Vec<char> = codes.chars().collect();
        for _ in 0..=random.next_below(3) {
            let at = random.next_below(codes.len());
            match random.next_below(4) {
                0 if codes.len() > 1 => drop(codes.remove(at)),
                1 => codes.insert(at, codes[random.next_below(codes.len())]),
                2 => codes.insert(at, alphabet[random.next_below(alphabet.len())]),
                _ => codes[at] = alphabet[random.next_below(alphabet.len())],
            }
        }
        codes.into_iter().collect()
    })
}

#[test]
fn mutilated_statements_are_read_at_once_as_they_are_alone() {
    let mut read = 0;
    let behind = &statement_codes("default -> h")[0].1;
    for codes in mutilated_statements(40_000) {
        // A following statement shows whether the grammar ends this statement at the right token.
        let followed = format!("{codes}{behind}");
        let at_once = ParseTree::parse(Rule::statements, &followed).expect("as many as are right");
        let first = at_once.node_at(1).filter(|pair| pair.tokens() == (0..codes.len()));
        let alone = parse_alone_as_text(&codes);
        assert!(alone.is_some() || first.is_none(), "{codes:?}");
        assert!(first.is_none() || first.map(|first| format_tree(first, &codes)) == alone, "{codes:?}");
        // The last statement is parsed by its own rule. Payloads and groups are parsed in parts.
        let in_parts = |rule: &Rule| matches!(rule, Rule::payload_statement | Rule::group_statement);
        let rule = terminals::terminal(codes.as_bytes()[0]).statement_rule.filter(|rule| !in_parts(rule));
        let own = rule.and_then(|rule| ParseTree::parse(rule, &codes).ok());
        let own = own.as_ref().and_then(ParseTree::root).filter(|own| own.tokens() == (0..codes.len()));
        assert!(own.is_none_or(|own| Some(format_tree(own, &codes)) == alone), "{codes:?}");
        assert!(own.is_some() || first.is_none_or(|first| Some(first.as_rule()) != rule), "{codes:?}");
        read += usize::from(alone.is_some());
    }
    // Most mutated statements are invalid; enough of them must stay valid.
    assert!(read > 2_000, "{read}");
}

#[test]
fn several_threads_cut_as_one_does() {
    let mut random = Random(0xC0FFEE);
    let long = "let s = r#\"a\n\"b\n# c\n\"#\nlet t = ctx.\n  name\nlet u = ctx.\nwhen @\nprivate r\"\n\n\n\" // c\n";
    let mut texts = rule_files();
    texts.extend([String::new(), "\n".to_owned(), long.repeat(3), format!("\u{FEFF}{long}r\"open\n{long}")]);
    for text in texts {
        for _ in 0..6 {
            let mut text = text.clone();
            let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
            if !breaks.is_empty() {
                let more = ["r\"", "\"", "r#\"a\nb\"#", TOKEN_SOUP[random.next_below(TOKEN_SOUP.len())]];
                text.insert_str(breaks[random.next_below(breaks.len())], more[random.next_below(more.len())]);
            }
            let one: TokenStream = stream::tokenize_in_parts(&text, 1);
            for parts in [2, 3, 7, 16] {
                assert_eq!(stream::tokenize_in_parts(&text, parts), one, "{parts} parts of {text:?}");
            }
        }
    }
}
