//! The invariant of the formatter, for tests and the fuzz target. For any text, formatting keeps
//! the significant tokens, and formatting twice changes nothing more.
#![allow(dead_code, reason = "each test program uses a part of it")]

use rulec_syntax::format::format;
use rulec_syntax::lex::{Token, TokenKind, tokenize};

/// Returns the significant tokens and comments in order, without trailing white space of comments.
fn kept_tokens(text: &str) -> Vec<(TokenKind, &str)> {
    let matters =
        |token: &Token| !matches!(token.kind, TokenKind::White | TokenKind::Newline | TokenKind::Bom);
    tokenize(text, 0)
        .filter(matters)
        .map(|token| {
            let slice = token.text(text);
            (token.kind, if token.kind.is_trivia() { slice.trim_end() } else { slice })
        })
        .collect()
}

/// Formats a text and checks the invariant. `name` identifies the text in panic messages.
///
/// # Panics
/// If the invariant does not hold.
#[track_caller]
pub fn check_formatted(name: &str, text: &str) -> String {
    let once = match format(text) {
        Ok(formatted) => formatted.text,
        Err(changed) => panic!("{name}: {changed}:\n{text}"),
    };
    let twice = format(&once).unwrap_or_else(|changed| panic!("{name}, twice: {changed}:\n{once}")).text;
    assert!(
        once == twice,
        "{name} is not laid out for good:\n{text}\n--- once:\n{once}\n--- twice:\n{twice}"
    );
    assert!(
        kept_tokens(text) == kept_tokens(&once),
        "{name}: not the same tokens:\n{text}\n--- formatted:\n{once}"
    );
    once
}
