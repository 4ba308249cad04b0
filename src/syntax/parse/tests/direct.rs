//! What is read without pest is what pest reads: for the statements of the language page, and for those with
//! their codes exchanged, doubled and left out, right ones and wrong ones.

use super::SUPPORT;
use super::random::Random;
use crate::syntax::parse::tree::Tree;
use crate::syntax::parse::{Grammar, Rule, cut, direct};
use pest::Parser;

/// Statements with every shape that is read directly.
const SHAPES: &str = r#"
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

/// The statements of a text as codes, those of tables too.
fn statements(text: &str) -> Vec<(Rule, String)> {
    let significant = cut::significant(text, |_, _| {});
    let mut found = Vec::new();
    let mut cuts = cut::cut(super::FILE, text, &significant, &mut Vec::new());
    while let Some(cut) = cuts.pop() {
        let rule = cut.word.and_then(|word| word.rule);
        found.extend(rule.map(|rule| (rule, significant.codes[cut.tokens].to_owned())));
        cuts.extend(cut.table.into_iter().flat_map(|(inner, _)| inner));
    }
    found
}

/// What is read directly, which must be what pest reads.
fn agreed(rule: Rule, codes: &str) -> bool {
    let (mut direct, mut by_pest) = (Tree::default(), Tree::default());
    if !direct::read(rule, codes, &mut direct) {
        return false;
    }
    match Grammar::parse(rule, codes) {
        Ok(pairs) => by_pest.take_over(pairs),
        Err(error) => panic!("pest refuses {codes:?}: {error}"),
    }
    assert_eq!(direct, by_pest, "{codes:?}");
    true
}

#[test]
fn routes_are_read_without_pest() {
    let mut read = 0;
    for (rule, codes) in statements(&format!("{SUPPORT}{SHAPES}")) {
        let right = Grammar::parse(rule, &codes).is_ok();
        let plain = !codes.contains("A\x04") && !codes.contains("AK");
        let wanted = rule == Rule::route_statement && right;
        assert!(agreed(rule, &codes) || !wanted || !plain, "{codes:?}");
        read += usize::from(wanted);
    }
    assert!(read >= 8, "{read}");
}

#[test]
fn mutilated_statements_are_read_as_pest_reads_them() {
    let statements = statements(&format!("{SUPPORT}{SHAPES}"));
    let alphabet: Vec<char> =
        ('\x01'..='\x1C').chain("ABCDEKLSTVewqx0\"/=<+-|?()[]{},;:.@p".chars()).collect();
    let mut random = Random(0x5EED_0FC0_DE5A_11AD);
    let mut read = 0;
    for _ in 0..40_000 {
        let (rule, codes) = &statements[random.below(statements.len())];
        let mut codes: Vec<char> = codes.chars().collect();
        for _ in 0..=random.below(3) {
            let at = random.below(codes.len());
            match random.below(4) {
                0 if codes.len() > 1 => drop(codes.remove(at)),
                1 => codes.insert(at, codes[random.below(codes.len())]),
                2 => codes.insert(at, alphabet[random.below(alphabet.len())]),
                _ => codes[at] = alphabet[random.below(alphabet.len())],
            }
        }
        read += usize::from(agreed(*rule, &codes.into_iter().collect::<String>()));
    }
    // Most are wrong; enough are right.
    assert!(read > 2_000, "{read}");
}
