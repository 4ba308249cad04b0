//! Reports a word or symbol that is written twice in a row, such as `unless unless`. The error
//! where parsing fails does not show the mistake. So the statement is parsed again without the
//! second copy, and if it has no error then, the copy is reported.

use super::context::unexpected_token;
use super::remedy;
use super::splitter::RawStatement;
use super::stream::SignificantToken;
use super::terminals;
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use std::ops::Range;

/// Maximum number of tokens of a phrase that may be doubled, such as `ignoring case`.
const MAX_PHRASE_TOKENS: usize = 3;

/// Maximum number of copies whose removal is tried for one statement.
const MAX_REMOVAL_TRIES: usize = 6;

/// Returns the diagnostic for a doubled word, symbol or phrase in a statement with an error.
/// `errors` are the errors of the statement. `None` if the statement still has an error without the
/// second copy.
pub(super) fn doubled_phrase_error(
    file: FileId,
    text: &str,
    significant: &[SignificantToken],
    raw: &RawStatement,
    errors: &[Diagnostic],
) -> Option<Diagnostic> {
    let token_text = |index: usize| significant[index].token.text(text);
    let tokens = raw.tokens.clone();
    // `default default -> h`: the second word begins a statement of its own.
    let is_head_alone = tokens.len() == 1
        && raw.keyword.is_some()
        && significant
            .get(tokens.end)
            .is_some_and(|next| next.indent().is_none() && next.token.text(text) == token_text(tokens.start));
    if is_head_alone {
        return Some(removal_diagnostic(file, text, significant, tokens.start..tokens.end + 1));
    }
    let is_part = |index: usize| {
        let kind = significant[index].token.kind;
        let is_symbol =
            matches!(kind, TokenKind::Comma | TokenKind::Colon | TokenKind::Arrow | TokenKind::Operator);
        matches!(kind, TokenKind::Word) || is_symbol && !matches!(token_text(index), "-" | "!" | "?")
    };
    let is_word = |index: usize| significant[index].token.kind == TokenKind::Word;
    let touches_error = |copies: &Range<usize>| {
        let range = significant[copies.start].token.start..=significant[copies.end - 1].token.end;
        let next = significant.get(copies.end).map(|item| item.token.start);
        errors
            .iter()
            .filter_map(Diagnostic::span)
            .any(|span| range.contains(&span.start) || Some(span.start) == next)
    };
    let bytes =
        significant[tokens.start].token.start as usize..significant[tokens.end - 1].token.end as usize;
    if bytes.len() > remedy::MAX_PARSED_BYTES {
        return None;
    }
    let mut tries = 0;
    for length in 1..=MAX_PHRASE_TOKENS {
        for first in tokens.start..tokens.end.saturating_sub(2 * length - 1) {
            let copies = first..first + 2 * length;
            let is_doubled = (first..first + length).all(|index| {
                (is_part(index) && length == 1 || is_word(index))
                    && token_text(index) == token_text(index + length)
                    && significant[index + length].indent().is_none()
            });
            if !is_doubled || tries == MAX_REMOVAL_TRIES {
                continue;
            }
            tries += 1;
            let kept_until = significant[first + length - 1].token.end as usize;
            let resumed = significant[first + 2 * length - 1].token.end as usize;
            let without = format!("{}{}", &text[bytes.start..kept_until], &text[resumed..bytes.end]);
            let word = token_text(first);
            // The items of a payload are parsed apart from its head.
            let is_head = raw.keyword.is_some_and(|word| matches!(word.text, "payload" | "group"));
            let is_clear = is_head && length == 1 && terminals::find_word(word).is_some();
            if is_clear && touches_error(&copies) || remedy::is_valid_statement(&without) {
                return Some(removal_diagnostic(file, text, significant, copies));
            }
        }
    }
    None
}

/// Returns the diagnostic for a word, symbol or phrase that is written twice. The fix removes the
/// second half of the tokens `copies`.
fn removal_diagnostic(
    file: FileId,
    text: &str,
    significant: &[SignificantToken],
    copies: Range<usize>,
) -> Diagnostic {
    let half = copies.start + copies.len() / 2;
    let second =
        Span { file, start: significant[half].token.start, end: significant[copies.end - 1].token.end };
    let written = &text[second.range()];
    let removed = Span { start: significant[half - 1].token.end, ..second };
    let message = message!("`{written}` is written twice");
    unexpected_token(second, message, message!("remove one `{written}`")).fix(removed, "")
}
