//! Tests with random and mutated texts: the parser does not panic and ends, and the tokens are
//! lossless.

use super::soup::{Random, TOKEN_SOUP, rule_files};
use super::{FILE, REFERENCE_RULES};
use rulec_base::parallel::ThreadLimit;
use rulec_syntax::lex::{self, TokenKind, tokenize};
use rulec_syntax::parse::parse;

fn pick<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    from[random.next_below(from.len())]
}

fn check_lossless(text: &str) {
    let mut at = 0;
    for token in tokenize(text, 0) {
        assert!(token.start == at && token.end > at, "{text:?}");
        at = token.end;
    }
    assert_eq!(at as usize, text.len(), "{text:?}");
}

fn check_survives(text: &str) {
    check_lossless(text);
    let parsed = parse(ThreadLimit::All, FILE, text);
    for diagnostic in &parsed.diagnostics {
        for label in &diagnostic.labels {
            assert!(text.get(label.span.range()).is_some(), "{text:?} {diagnostic:?}");
        }
        for rule in ["_statement", "close_", "open_", "kw_", "Rule", "type_expr"] {
            assert!(!diagnostic.message.contains(rule) || text.contains(rule), "{diagnostic:?}");
        }
    }
    assert!(!parsed.statements.is_empty() || !parsed.diagnostics.is_empty(), "{text:?} vanished");
}

#[test]
fn random_token_soup() {
    let mut random = Random(0x5EED);
    for _ in 0..6000 {
        let space = pick(&mut random, &["", " ", " ", "\n"]);
        let words: Vec<_> = (0..random.next_below(30) + 1).map(|_| pick(&mut random, TOKEN_SOUP)).collect();
        check_survives(&words.join(space));
    }
}

#[test]
fn random_bytes() {
    let mut random = Random(42);
    for _ in 0..3000 {
        let bytes: Vec<u8> = (0..random.next_below(60)).map(|_| random.next_below(256) as u8).collect();
        check_survives(&String::from_utf8_lossy(&bytes));
        let ascii: String = bytes.iter().map(|byte| char::from(byte % 96 + 32)).collect();
        check_survives(&ascii);
    }
}

#[test]
fn every_truncation_of_the_page() {
    for (at, c) in REFERENCE_RULES.char_indices() {
        check_survives(&REFERENCE_RULES[..at]);
        if at % 3 == 0 {
            check_survives(&format!("{}{}", &REFERENCE_RULES[..at], &REFERENCE_RULES[at + c.len_utf8()..]));
        }
    }
}

#[test]
fn one_wrong_token_harms_one_statement() {
    // Each token in turn is replaced. Most other statements must still parse.
    let mut random = Random(7);
    let whole = parse(ThreadLimit::All, FILE, REFERENCE_RULES).statements.len();
    let tokens: Vec<_> = lex::tokenize(REFERENCE_RULES, 0).filter(|token| !token.kind.is_trivia()).collect();
    for token in &tokens {
        let by = pick(&mut random, &["", ")", "(", "=", "foo", "\"", "}"]);
        let text = format!(
            "{}{by}{}",
            &REFERENCE_RULES[..token.start as usize],
            &REFERENCE_RULES[token.end as usize..]
        );
        let left = parse(ThreadLimit::All, FILE, &text).statements.len();
        assert!(left + 3 >= whole, "{left} of {whole} with {by:?} for {:?}", token.text(REFERENCE_RULES));
    }
}

#[test]
fn mutilated_rule_files() {
    let mut random = Random(0xF11E5);
    let files = rule_files();
    assert!(files.len() > 20, "{}", files.len());
    for text in &files {
        check_survives(text);
        let tokens: Vec<_> = lex::tokenize(text, 0).filter(|token| !token.kind.is_trivia()).collect();
        for _ in 0..if tokens.is_empty() { 0 } else { 20 } {
            let mut mutilated = text.clone();
            let (at, other) =
                (tokens[random.next_below(tokens.len())], tokens[random.next_below(tokens.len())]);
            let place = at.start as usize..at.end as usize;
            match random.next_below(4) {
                0 => mutilated.replace_range(place, ""),
                1 => mutilated.replace_range(place, other.text(text)),
                2 => mutilated.replace_range(place, pick(&mut random, TOKEN_SOUP)),
                _ => mutilated.insert_str(place.start, pick(&mut random, TOKEN_SOUP)),
            }
            check_survives(&mutilated);
        }
    }
}

#[test]
fn comments_and_line_breaks_between_tokens_change_nothing() {
    let mut clean = 0;
    for text in rule_files() {
        let statements = parse(ThreadLimit::All, FILE, &text);
        if !statements.diagnostics.is_empty() {
            continue;
        }
        let mut spaced = String::new();
        for token in tokenize(&text, 0) {
            let slice = token.text(&text);
            match token.kind {
                TokenKind::White => spaced.push_str(&slice.repeat(3)),
                TokenKind::Newline => spaced.push_str(" # note\n\n"),
                _ => spaced.push_str(slice),
            }
        }
        let again = parse(ThreadLimit::All, FILE, &spaced);
        assert!(again.diagnostics.is_empty(), "{spaced}\n{:?}", again.diagnostics);
        assert_eq!(again.statements.len(), statements.statements.len(), "{spaced}");
        clean += 1;
    }
    assert!(clean > 10, "{clean}");
}
