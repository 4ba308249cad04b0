//! The codes of tokens: the tables of `code.rs` and the terminals of `grammar/tokens.pest` are the same.

use super::keywords;
use crate::ops;
use crate::syntax::lex::{self, MAX_HASHES};
use crate::syntax::parse::cut::{self, CLAUSES, STATEMENTS};
use crate::syntax::parse::{Grammar, Rule, code};
use pest::Parser;
use std::collections::{HashMap, HashSet};

/// The codes of a text, read by the lexer.
fn codes(text: &str) -> String {
    cut::significant(text, |_, _| {}).codes
}

/// Whether the rule takes exactly these codes.
fn takes(rule: Rule, codes: &str) -> bool {
    Grammar::parse(rule, codes).is_ok_and(|pairs| pairs.as_str() == codes)
}

/// The terminals of `tokens.pest` that stand for one word: their names and codes.
fn keyword_rules() -> HashMap<String, String> {
    let grammar = include_str!("../../../../grammar/tokens.pest");
    let rule = |line: &str| {
        let (name, code) = line.strip_prefix("kw_")?.split_once('=')?;
        let code = code.trim().strip_prefix("{ \"")?.strip_suffix("\" }")?;
        let code = match code.strip_prefix("\\x") {
            Some(hex) => char::from(u8::from_str_radix(hex, 16).ok()?).to_string(),
            None => code.to_owned(),
        };
        Some((name.trim().to_owned(), code))
    };
    grammar.lines().filter_map(rule).collect()
}

#[test]
fn every_word_of_the_grammar_has_the_code_of_the_tables() {
    let rules = keyword_rules();
    assert!(rules.len() > 60, "{rules:?}");
    for (word, code) in &rules {
        assert_eq!(codes(word), *code, "{word}");
    }
    let used: HashSet<&String> = rules.values().collect();
    assert_eq!(used.len(), rules.len(), "a code stands for two words");
    // And the other way round, but for the words that stand in a rule with others.
    let in_other_rules = ["count", "not", "blank"];
    let tables = STATEMENTS.iter().map(|row| row.word).chain(CLAUSES.iter().copied());
    for word in tables.chain(code::CONTEXTUAL.iter().map(|(word, _)| *word)) {
        assert!(rules.contains_key(word) || in_other_rules.contains(&word), "{word}");
    }
}

#[test]
fn codes_are_one_ascii_character_and_their_own() {
    let mut seen = HashSet::new();
    let words = STATEMENTS.iter().map(|row| row.word).chain(CLAUSES.iter().copied());
    for word in words.chain(code::CONTEXTUAL.iter().map(|(word, _)| *word)) {
        let code = code::word(word);
        assert!(code.is_ascii() && seen.insert(code), "{word}");
        for other in [format!("{word}x"), format!("x{word}"), word[1..].to_owned(), word.to_uppercase()] {
            let known = keyword_rules().contains_key(&other) || ["count", "not", "blank"].contains(&&*other);
            assert_eq!(code::word(&other) == code::WORD, !known, "{other}");
        }
    }
    for (at, row) in STATEMENTS.iter().enumerate() {
        assert!(code::statement(code::word(row.word)).is_some_and(|found| found.word == row.word), "{at}");
    }
    assert!(code::statement(code::word("when")).is_none() && code::statement(code::WORD).is_none());
}

#[test]
fn reserved_words_are_no_names() {
    for word in STATEMENTS.iter().map(|row| row.word).chain(CLAUSES.iter().copied()) {
        assert!(!takes(Rule::name, &codes(word)) && !takes(Rule::type_name, &codes(word)), "{word}");
        assert!(takes(Rule::key, &codes(word)) && takes(Rule::name, &codes(&format!("{word}_x"))), "{word}");
        let name_inside = ["payload", "group", "intent"].contains(&word);
        assert_eq!(takes(Rule::word, &codes(word)), name_inside, "{word}");
        assert!(takes(Rule::word, &codes(&format!("`{word}`"))), "{word}");
    }
    for word in keywords().into_iter().chain(["x", "`x`", "查"]).filter(|word| !cut::is_reserved(word)) {
        assert!(takes(Rule::name, &codes(word)) && takes(Rule::key, &codes(word)), "{word}");
        assert_eq!(takes(Rule::word, &codes(word)), word != "as", "{word}");
    }
    assert!(ops::is_reserved_word("not") && takes(Rule::word, &codes("not")));
}

#[test]
fn every_other_token_is_its_terminal() {
    use Rule as R;
    let raw = format!("r{0}\"a\"{0}", "#".repeat(MAX_HASHES));
    let check = |texts: &[&str], rules: &[Rule]| {
        for text in texts {
            let codes = codes(text);
            assert_eq!(codes.len(), 1, "{text}");
            let terminals = [
                R::open_paren,
                R::close_paren,
                R::open_bracket,
                R::close_bracket,
                R::open_brace,
                R::close_brace,
                R::comma,
                R::semicolon,
                R::colon,
                R::less,
                R::greater,
                R::optional_mark,
                R::minus,
                R::bar,
                R::arrow,
                R::equals,
                R::string,
                R::number,
                R::operator,
                R::word,
                R::name,
                R::key,
            ];
            for rule in terminals {
                assert_eq!(takes(rule, &codes), rules.contains(&rule), "{text} {rule:?}");
            }
        }
    };
    check(&["("], &[R::open_paren]);
    check(&[")"], &[R::close_paren]);
    check(&["["], &[R::open_bracket]);
    check(&["]"], &[R::close_bracket]);
    check(&["{"], &[R::open_brace]);
    check(&["}"], &[R::close_brace]);
    check(&[","], &[R::comma]);
    check(&[";"], &[R::semicolon]);
    check(&[":"], &[R::colon]);
    check(&["."], &[]);
    assert!(takes(Rule::member, &codes(".x")) && takes(Rule::member, &codes(".when")));
    check(&["<"], &[R::less, R::operator]);
    check(&[">"], &[R::greater, R::operator]);
    check(&["?"], &[R::optional_mark, R::operator]);
    check(&["-"], &[R::minus, R::operator]);
    check(&["|"], &[R::bar, R::operator]);
    check(&["=", "==", ":=", "==="], &[R::equals, R::operator]);
    check(&["->", "=>", "→"], &[R::arrow]);
    check(&["\"a\"", "r\"a\"", "r#\"a\"#", &raw], &[R::string]);
    check(&["1", "0.5", "10ms", "1_0", "1e3"], &[R::number]);
    let symbols = [
        "!==", "!=", "<=", ">=", "<>", "=~", "&&", "||", "??", "**", "..=", "...", "..", "++", "+=", "-=",
        "+", "*", "/", "%", "!", "&", "^", "~",
    ];
    check(&symbols, &[R::operator]);
    check(&["x", "`x`", "priority", "private"], &[R::word, R::name, R::key]);
    assert!(takes(R::private, &codes("@private")));
    // The mark and its word are glued, and no other word will do.
    for text in ["@ private", "@privately", "@public", "private"] {
        assert!(!takes(R::private, &codes(text)), "{text}");
    }
    // What cannot be read has a code that fits nowhere.
    for text in ["'a'", "“a”", "\"a", "（", "r\"a"] {
        assert_eq!(codes(text).as_bytes()[0], code::UNREADABLE, "{text}");
    }
    check(&["（"], &[]);
}

#[test]
fn a_code_stands_for_each_token_that_matters() {
    let text = "route a # note\n  when ctx.n >= 3 -> h(x: 1) @private {}";
    let codes = codes(text);
    let tokens = lex::tokenize(text).into_iter().filter(|token| !token.kind.is_trivia()).count();
    assert_eq!((codes.len(), codes.as_str()), (tokens, "\x0Aw\x16w.w+0/w(w:0)@p{}"));
}
