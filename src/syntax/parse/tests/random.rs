//! Random and mutilated texts: no panic, no endless loop, every token lossless, and the grammar's
//! token boundaries those of the lexer.

use super::{FILE, SUPPORT};
use crate::syntax::lex::{TokenKind, tokenize};
use crate::syntax::parse::{Grammar, Rule, cut, is_unreadable, parse};
use pest::Parser;
use std::collections::HashSet;

/// A small generator of its own (xorshift), so that a failure repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const SOUP: &[&str] = &[
    "route",
    "when",
    "let",
    "default",
    "table",
    "test",
    "given",
    "expect",
    "input",
    "list",
    "def",
    "any",
    "all",
    "none",
    "count",
    "in",
    "not",
    "and",
    "or",
    "is",
    "missing",
    "present",
    "as",
    "contains",
    "word",
    "ignoring",
    "case",
    "priority",
    "goto",
    "x",
    "ctx",
    "text",
    "查",
    "`when`",
    "1",
    "0.5",
    "10ms",
    "1_0",
    "9e999",
    "\"s\"",
    "\"o",
    "r\"a\"",
    "r#\"b\"#",
    "r#\"",
    "'q'",
    "“t”",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    ".",
    "..",
    "..=",
    "->",
    "=>",
    "=",
    "==",
    "!=",
    "<",
    ">",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "??",
    "?",
    "@private",
    "#",
    "##",
    "//",
    "\n",
    "\r\n",
    " ",
    "\t",
    "\u{FEFF}",
    "（",
    "\0",
    "\u{202E}",
    "list<string>",
    "true",
    "null",
    "intent",
    "flow",
];

fn lossless(text: &str) {
    let mut at = 0;
    for token in tokenize(text) {
        assert!(token.start == at && token.end > at, "{text:?}");
        at = token.end;
    }
    assert_eq!(at as usize, text.len(), "{text:?}");
}

fn survives(text: &str) {
    lossless(text);
    let parsed = parse(FILE, text);
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
        let space = random.pick(&["", " ", " ", "\n"]);
        let words: Vec<_> = (0..random.below(30) + 1).map(|_| random.pick(SOUP)).collect();
        survives(&words.join(space));
    }
}

#[test]
fn random_bytes() {
    let mut random = Random(42);
    for _ in 0..3000 {
        let bytes: Vec<u8> = (0..random.below(60)).map(|_| random.below(256) as u8).collect();
        survives(&String::from_utf8_lossy(&bytes));
        let ascii: String = bytes.iter().map(|byte| char::from(byte % 96 + 32)).collect();
        survives(&ascii);
    }
}

#[test]
fn every_truncation_of_the_page() {
    for (at, c) in SUPPORT.char_indices() {
        survives(&SUPPORT[..at]);
        if at % 3 == 0 {
            survives(&format!("{}{}", &SUPPORT[..at], &SUPPORT[at + c.len_utf8()..]));
        }
    }
}

#[test]
fn one_wrong_token_harms_one_statement() {
    // Whatever a token in the middle of the page is replaced by, most other statements are there.
    let mut random = Random(7);
    let whole = parse(FILE, SUPPORT).statements.len();
    let tokens: Vec<_> = tokenize(SUPPORT).into_iter().filter(|token| !token.kind.is_trivia()).collect();
    for token in &tokens {
        let by = random.pick(&["", ")", "(", "=", "foo", "\"", "}"]);
        let text = format!("{}{by}{}", &SUPPORT[..token.start as usize], &SUPPORT[token.end as usize..]);
        let left = parse(FILE, &text).statements.len();
        assert!(left + 3 >= whole, "{left} of {whole} with {by:?} for {:?}", token.text(SUPPORT));
    }
}

/// Holds the grammar's terminals against the lexer's tokens.
fn agree(text: &str) -> usize {
    let tokens = tokenize(text);
    let bounds: HashSet<u32> = tokens.iter().flat_map(|token| [token.start, token.end]).collect();
    let sigs = cut::significant(&tokens);
    let mut pairs = 0;
    for cut in cut::cut(FILE, text, &sigs, &mut Vec::new()) {
        let Some(rule) = cut.word.and_then(|word| word.rule) else { continue };
        let unreadable = sigs[cut.tokens.clone()].iter().any(|sig| is_unreadable(sig.token.kind));
        if cut.tokens.is_empty() || unreadable {
            continue;
        }
        let (start, end) = (sigs[cut.tokens.start].token.start, sigs[cut.tokens.end - 1].token.end);
        let Ok(parsed) = Grammar::parse(rule, &text[start as usize..end as usize]) else { continue };
        for pair in parsed.flatten() {
            // What holds trailing white space is no terminal.
            if pair.clone().into_inner().next().is_some() || pair.as_rule() == Rule::EOI {
                continue;
            }
            let span = pair.as_span();
            let span = (start + span.start() as u32, start + span.end() as u32);
            let trimmed = pair.as_str().trim_end();
            let inside = pair.as_rule() == Rule::braces || trimmed.is_empty();
            assert!(
                inside || (bounds.contains(&span.0) && bounds.contains(&span.1)),
                "{:?} in {text:?}",
                pair.as_str()
            );
            pairs += 1;
        }
    }
    pairs
}

#[test]
fn the_grammar_and_the_lexer_agree_on_tokens() {
    let mut pairs = agree(SUPPORT);
    let mut random = Random(99);
    for _ in 0..20_000 {
        let words: Vec<_> = (0..random.below(8) + 1).map(|_| random.pick(SOUP)).collect();
        let space = random.pick(&["", " "]);
        let text = words.join(space);
        pairs += agree(&format!("let x = {text}"));
        pairs += agree(&format!("let x = [a {text}]"));
    }
    // Most soup is no statement; enough of it must be for the test to say something.
    assert!(pairs > 20_000, "{pairs}");
    for c in (0..0x3_2000).filter_map(char::from_u32).filter(|c| !c.is_ascii_control()) {
        let word = format!("a{c}b");
        let one = matches!(tokenize(&word).as_slice(), [token] if token.kind == TokenKind::Word);
        let by_grammar = Grammar::parse(Rule::key, &word)
            .is_ok_and(|mut pairs| pairs.as_str() == word && pairs.next().is_some());
        // They know different versions of Unicode; what the lexer does not know never gets further.
        assert!(one == by_grammar || by_grammar, "U+{:04X}", c as u32);
    }
}
