//! Parses the text that a help text would suggest. If the suggestion has an error itself, following
//! it would only lead to the next error. The help text is then more general.

use super::{FileParser, scan, stream, terminals};
use crate::lex::TokenKind;

/// Maximum length, in bytes, of a statement that a help text suggests.
const MAX_STATEMENT_BYTES: usize = 240;

/// Maximum length, in bytes, of a text that is parsed again after an error.
pub(super) const MAX_PARSED_BYTES: usize = 4000;

/// True if `text` is one short line with one statement without errors. False for a payload or group
/// with items, which are parsed apart from their statement.
pub(super) fn is_valid_short_statement(text: &str) -> bool {
    text.len() <= MAX_STATEMENT_BYTES && !text.contains('\n') && is_valid_statement(text)
}

/// True if `text`, which may have several lines, is one statement without errors.
pub(super) fn is_valid_statement(text: &str) -> bool {
    if text.len() > MAX_PARSED_BYTES {
        return false;
    }
    let tokens = stream::tokenize_in_parts(text, 1);
    let is_readable = |kind: TokenKind| !kind.is_unreadable() && kind != TokenKind::SlashComment;
    let all_readable = tokens.suspicious_tokens.iter().all(|token| is_readable(token.kind));
    let word = tokens.token_codes.bytes().next().map(terminals::terminal);
    let is_statement = word.is_some_and(terminals::Terminal::starts_statement);
    let is_deep = scan::find_too_deep(text, &tokens.significant).is_some();
    if !all_readable || !is_statement || is_deep {
        return false;
    }
    FileParser::parses_as_one_statement(text, &tokens)
}

/// True if `text` is a condition or another expression without errors.
pub(super) fn is_valid_expression(text: &str) -> bool {
    is_valid_short_statement(&format!("let x = {text}"))
}
