//! The promise of the formatter about any text, which tests and the fuzzer hold it to: the tokens that matter stay, and
//! formatting twice changes nothing more.
#![allow(dead_code, reason = "each test program uses a part of it")]

use rulec_syntax::format::format;
use rulec_syntax::lex::{Token, TokenKind, tokens};

/// The tokens that matter, the comments and their order; what ends a line in a comment is no part of it.
fn kept(text: &str) -> Vec<(TokenKind, &str)> {
    let matters =
        |token: &Token| !matches!(token.kind, TokenKind::White | TokenKind::Newline | TokenKind::Bom);
    tokens(text, 0)
        .filter(matters)
        .map(|token| {
            let slice = token.text(text);
            (token.kind, if token.kind.is_trivia() { slice.trim_end() } else { slice })
        })
        .collect()
}

/// Formats a text, which has a name where it is spoken of.
///
/// # Panics
/// When the promise is broken.
#[track_caller]
pub fn formatted(name: &str, text: &str) -> String {
    let once = match format(text) {
        Ok(formatted) => formatted.text,
        Err(changed) => panic!("{name}: {changed}:\n{text}"),
    };
    let twice = format(&once).unwrap_or_else(|changed| panic!("{name}, twice: {changed}:\n{once}")).text;
    assert!(
        once == twice,
        "{name} is not laid out for good:\n{text}\n--- once:\n{once}\n--- twice:\n{twice}"
    );
    assert!(kept(text) == kept(&once), "{name}: not the same tokens:\n{text}\n--- formatted:\n{once}");
    once
}
