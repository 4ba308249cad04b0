//! Any text as rules: formatting keeps its tokens, and doing it twice changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec::internals::syntax::format::format;
use rulec::internals::syntax::lex::{TokenKind, tokens};

/// The tokens that matter.
fn kept(text: &str) -> Vec<(TokenKind, &str)> {
    tokens(text, 0)
        .filter(|token| !matches!(token.kind, TokenKind::White | TokenKind::Newline | TokenKind::Bom))
        .map(|token| {
            (token.kind, if token.kind.is_trivia() { token.text(text).trim_end() } else { token.text(text) })
        })
        .collect()
}

fuzz_target!(|text: &str| {
    let once = format(text).unwrap_or_else(|changed| panic!("{changed}")).text;
    let twice = format(&once).unwrap_or_else(|changed| panic!("twice: {changed}")).text;
    assert_eq!(once, twice, "not laid out for good");
    assert_eq!(kept(text), kept(&once), "not the same tokens");
});
