//! Foreign syntax: what authors write by the habit of another language, or by mistake, and what they mean.

use crate::diag::{Code, Diagnostic, nearest};
use crate::ops::{Fixity, Op, Outcome, TABLE};
use crate::span::Span;

/// The complaint about what another language writes so, with the one thing to write instead.
pub(super) fn syntax(span: Span, message: impl Into<String>, write: &str) -> Diagnostic {
    Diagnostic::new(Code::Unexpected, span, message).help(format!("write `{write}`")).fix(span, write)
}

/// Returns true for a predicate over values, which takes modifiers on its right.
pub(super) fn is_test(op: Op) -> bool {
    !matches!(op, Op::And | Op::Or) && op.info().forms.iter().any(|form| form.result == Outcome::Condition)
}

/// A symbol of another language whose meaning is plain: it is reported and read as meant.
pub(super) fn foreign_operator(spelling: &str) -> Option<(Op, &'static str)> {
    Some(match spelling {
        "=" | "===" | ":=" => (Op::Eq, "equality is written `==`"),
        "!==" | "<>" => (Op::Ne, "inequality is written `!=`"),
        "&&" | "&" => (Op::And, "both conditions are joined by `and`"),
        "||" | "|" => (Op::Or, "alternatives are joined by `or`"),
        "=~" => (Op::Matches, "a regular expression is tried with `matches`"),
        "AND" | "And" => (Op::And, "both conditions are joined by `and`"),
        "OR" | "Or" => (Op::Or, "alternatives are joined by `or`"),
        _ => return None,
    })
}

/// The operator an unknown word is likely to mean: of another language, or one misspelt.
pub(super) fn meant_operator(word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    let known = TABLE.iter().find(|row| row.foreign.contains(&lower.as_str()));
    let words =
        || TABLE.iter().filter(|row| row.fixity == Fixity::Infix && row.op.is_word()).map(|row| row.spelling);
    known
        .map(|row| row.spelling)
        .or_else(|| words().find(|spelling| *spelling == lower))
        .or_else(|| nearest(&lower, words().filter(|spelling| spelling.len() > 2 || lower.len() <= 2)))
        .filter(|spelling| *spelling != word)
}
