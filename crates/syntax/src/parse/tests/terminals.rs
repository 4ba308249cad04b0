//! Tests of the terminals: `grammar/tokens.pest` must match the table, and the lexer must emit the
//! table's codes.

use crate::lex::{self, MAX_RAW_STRING_HASHES};
use crate::parse::terminals::{self, TerminalClass};
use crate::parse::{Grammar, Rule, phrase, stream};
use pest::Parser;
use rulec_lang::operators;
use std::collections::HashSet;
use std::fmt::Write;

/// Returns all words with a special meaning in the language.
fn keywords() -> Vec<&'static str> {
    let words = terminals::terminals_with_codes().map(|(terminal, _)| terminal.text);
    let reserved = words.filter(|word| terminals::is_reserved(word));
    let others = [
        "priority", "disabled", "goto", "from", "fn", "case", "count", "given", "expect", "private", "null",
        "nil", "then", "if", "dict", "string", "len", "now", "r", "case",
    ];
    reserved.chain(rulec_lang::operators::reserved_words()).chain(others).collect()
}

/// Returns the codes that the lexer gives for a text.
fn lex_codes(text: &str) -> String {
    stream::tokenize_in_parts(text, 1).token_codes
}

/// True if the rule matches exactly these codes.
fn rule_matches(rule: Rule, codes: &str) -> bool {
    Grammar::parse(rule, codes).is_ok_and(|pairs| pairs.as_str() == codes)
}

/// Returns the contents of `grammar/tokens.pest` as generated from the table.
fn generate_tokens_pest() -> String {
    let code = |code: u8| match char::from(code) {
        plain if plain.is_ascii_alphanumeric() => plain.to_string(),
        _ => format!("\\x{code:02X}"),
    };
    let range = |from: TerminalClass, to: TerminalClass| {
        let (first, last) = terminals::code_range(from, to);
        format!("'{}'..'{}'", code(first), code(last))
    };
    let mut out = format!(
        "// The terminals of the rules language: each is one character, the code of a token. Written from the table in\n\
         // `crates/syntax/src/parse/terminals.rs` by `INSTA_UPDATE=always cargo test -p rulec-syntax --lib terminals`; do not edit it by hand,\n// except that the rule of a new terminal is added by hand first, with any code, so that the table compiles.\n\n\
         // A name that is declared or referred to outside expressions; reserved words are names in backquotes.\n\
         name = {{ {} }}\n\
         // A name after `.` or before `:`, where every word will do.\n\
         key = {{ {} }}\n\n",
        range(TerminalClass::Cast, TerminalClass::Name),
        range(TerminalClass::Statement, TerminalClass::Name)
    );
    for (terminal, at) in terminals::terminals_with_codes() {
        let spelling =
            if terminal.text.is_empty() { String::new() } else { format!("  // `{}`", terminal.text) };
        writeln!(out, "{:?} = {{ \"{}\" }}{spelling}", terminal.rule, code(at)).expect("a string takes it");
    }
    out.push_str("\n// These match without a node of the tree, and messages never list them as expected.\n");
    for (terminal, at) in terminals::terminals_with_codes().filter(|(terminal, _)| terminal.has_bare_rule()) {
        let rule = format!("{:?}", terminal.rule);
        let name = rule.trim_start_matches("kw_");
        writeln!(out, "bare_{name} = _{{ \"{}\" }}", code(at)).expect("a string takes it");
    }
    for (name, from, to) in [
        ("quantity", TerminalClass::Quantity, TerminalClass::Quantity),
        ("inner_statement", TerminalClass::InnerStatement, TerminalClass::InnerStatement),
        ("plain", TerminalClass::Contextual, TerminalClass::MemberDot),
        ("behind_value", TerminalClass::Closing, TerminalClass::Closing),
    ] {
        writeln!(out, "{name} = _{{ {} }}", range(from, to)).expect("a string takes it");
    }
    out
}

#[test]
fn the_grammars_terminals_are_those_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../grammar/tokens.pest");
    let wanted = generate_tokens_pest();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| matches!(&*update, "always" | "force")) {
        std::fs::write(path, &wanted).expect("the grammar's folder can be written");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == wanted, "run INSTA_UPDATE=always cargo test --lib terminals");
}

#[test]
fn every_rule_has_a_phrase_or_is_never_expected() {
    let silent = [
        "alone",
        "statement",
        "statements",
        "piece",
        "nested",
        "other",
        "clause_piece",
        "clause_word",
        "entry_start",
        "element",
        "element_in",
        "quantity",
        "inner_statement",
        "plain",
        "behind_value",
    ];
    for rule in Rule::all_rules() {
        let name = format!("{rule:?}");
        let expected = !name.starts_with("bare_") && !silent.contains(&&*name);
        assert!(!expected || phrase::rule_phrase(*rule).is_some(), "{name}");
    }
}

#[test]
fn codes_are_one_ascii_character_and_their_own() {
    let mut seen = HashSet::new();
    for (terminal, code) in terminals::terminals_with_codes() {
        assert!(code.is_ascii() && seen.insert(code), "{:?}", terminal.rule);
        assert_eq!(terminals::terminal(code).rule, terminal.rule);
        if let Some(rule) = terminal.statement_rule {
            assert_eq!(format!("{rule:?}"), format!("{}_statement", terminal.text));
            assert_eq!(terminals::statement_word(rule), Some(terminal.text));
        }
        if !format!("{:?}", terminal.rule).starts_with("kw_") || terminal.text.is_empty() {
            continue;
        }
        let word = terminal.text;
        assert_eq!(lex_codes(word).as_bytes(), [code], "{word}");
        assert_eq!(terminals::find_word(word).map(|found| found.rule), Some(terminal.rule));
        for other in [format!("{word}x"), format!("x{word}"), word[1..].to_owned(), word.to_uppercase()] {
            let known = terminals::terminals_with_codes().any(|(terminal, _)| terminal.text == other);
            assert_eq!(lex_codes(&other).as_bytes() == [terminals::PLAIN_NAME], !known, "{other}");
        }
    }
    assert!(terminals::find_word("x").is_none() && terminals::find_word("").is_none());
    // pest counts line breaks everywhere, so no code may be one.
    assert!(!seen.contains(&b'\n') && !seen.contains(&b'\r'));
}

/// Returns the words that must be in backquotes where a name is declared.
fn reserved_words() -> impl Iterator<Item = &'static str> {
    let words = terminals::terminals_with_codes().map(|(terminal, _)| terminal.text);
    words.filter(|word| !word.is_empty() && terminals::is_reserved(word))
}

#[test]
fn reserved_words_are_no_names() {
    for word in reserved_words() {
        assert!(
            !rule_matches(Rule::name, &lex_codes(word)) && !rule_matches(Rule::type_name, &lex_codes(word)),
            "{word}"
        );
        assert!(
            rule_matches(Rule::key, &lex_codes(word))
                && rule_matches(Rule::name, &lex_codes(&format!("{word}_x"))),
            "{word}"
        );
        let name_inside = ["payload", "group", "intent"].contains(&word);
        assert_eq!(rule_matches(Rule::run, &lex_codes(word)), name_inside, "{word}");
        assert!(rule_matches(Rule::run, &lex_codes(&format!("`{word}`"))), "{word}");
    }
    for word in keywords().into_iter().chain(["x", "`x`", "查"]).filter(|word| !terminals::is_reserved(word))
    {
        assert!(
            rule_matches(Rule::name, &lex_codes(word)) && rule_matches(Rule::key, &lex_codes(word)),
            "{word}"
        );
        assert_eq!(rule_matches(Rule::run, &lex_codes(word)), word != "as", "{word}");
    }
    assert!(operators::is_reserved_word("not") && rule_matches(Rule::run, &lex_codes("not")));
}

#[test]
fn every_other_token_is_its_terminal() {
    use Rule as R;
    let raw = format!("r{0}\"a\"{0}", "#".repeat(MAX_RAW_STRING_HASHES));
    let check = |texts: &[&str], rules: &[Rule]| {
        for text in texts {
            let codes = lex_codes(text);
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
                R::run,
                R::name,
                R::key,
            ];
            for rule in terminals {
                assert_eq!(rule_matches(rule, &codes), rules.contains(&rule), "{text} {rule:?}");
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
    assert!(rule_matches(Rule::atom, &lex_codes(".x")) && rule_matches(Rule::member, &lex_codes(".when")));
    check(&["<"], &[R::less, R::run]);
    check(&[">"], &[R::greater, R::run]);
    check(&["?"], &[R::optional_mark, R::run]);
    check(&["-"], &[R::minus, R::run]);
    check(&["|"], &[R::bar, R::run]);
    check(&["=", "==", ":=", "==="], &[R::equals, R::run]);
    check(&["->", "=>", "→"], &[R::arrow]);
    check(&["\"a\"", "r\"a\"", "r#\"a\"#", &raw], &[R::string, R::run]);
    check(&["1", "0.5", "10ms", "1_0", "1e3"], &[R::number, R::run]);
    let symbols = [
        "!==", "!=", "<=", ">=", "<>", "=~", "&&", "||", "??", "**", "..=", "...", "..", "++", "+=", "-=",
        "+", "*", "/", "%", "!", "&", "^", "~",
    ];
    check(&symbols, &[R::run]);
    check(&["x", "`x`", "priority", "private"], &[R::run, R::name, R::key]);
    assert!(rule_matches(R::private, &lex_codes("@private")));
    // `@` and its word must touch, and no other word is allowed.
    for text in ["@ private", "@privately", "@public", "private"] {
        assert!(!rule_matches(R::private, &lex_codes(text)), "{text}");
    }
    // An unreadable token has a code that no rule accepts.
    for text in ["'a'", "“a”", "\"a", "（", "r\"a"] {
        assert_eq!(lex_codes(text).as_bytes()[0], terminals::UNREADABLE, "{text}");
    }
    check(&["（"], &[]);
}

#[test]
fn a_code_stands_for_each_token_that_matters() {
    let text = "route a # note\n  when ctx.n >= 3 and ctx.when -> h(x: 1) @private {}";
    let rules: Vec<_> =
        lex_codes(text).bytes().map(|code| format!("{:?}", terminals::terminal(code).rule)).collect();
    let tokens = lex::tokenize(text, 0).filter(|token| !token.kind.is_trivia()).count();
    assert_eq!(rules.len(), tokens);
    let expected = "kw_route plain_name kw_when plain_name member_dot plain_name symbol number plain_name plain_name dot \
                    kw_when arrow plain_name open_paren plain_name colon number close_paren at_sign kw_private \
                    open_brace close_brace";
    assert_eq!(rules.join(" "), expected);
}
