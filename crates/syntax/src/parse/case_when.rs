//! Translates the conditional of SQL, `case when C then A else B end`, to `if C then A else B`.

use super::context::{StatementContext, unexpected_token};
use super::{remedy, shapes};
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use std::ops::Range;

/// Returns the diagnostic for the conditional of SQL that contains the token at `index`. `None` if
/// the statement has no `case` before this token, or no `then` after the `case`.
pub(super) fn case_when_error(cx: &StatementContext<'_>, index: usize) -> Option<Diagnostic> {
    let word = |index: usize| {
        let is_inside = cx.tokens.contains(&index);
        cx.significant
            .get(index)
            .filter(|_| is_inside)
            .map_or("", |item| item.token.text(cx.text))
            .to_lowercase()
    };
    let last = index.min(cx.tokens.end - 1);
    let is_case = |index: &usize| {
        word(*index) == "case"
            && !matches!(word(index.saturating_sub(1)).as_str(), "ignoring" | "matching" | ".")
    };
    let case = (cx.tokens.start + 1..=last).rev().find(is_case)?;
    let is_end =
        |index: &usize| matches!(word(*index).as_str(), "end" | "->" | "=>") || *index == cx.tokens.end;
    let end = (case + 1..=cx.tokens.end).find(is_end)?;
    let marks: Vec<usize> =
        (case + 1..end).filter(|index| matches!(word(*index).as_str(), "when" | "then" | "else")).collect();
    let first = *marks.first().filter(|first| word(**first) == "when")?;
    let source = |tokens: Range<usize>| {
        (!tokens.is_empty()).then(|| cx.text[shapes::span_of(cx, tokens).range()].replace('\'', "\""))
    };
    let operand = source(case + 1..first);
    let (mut written, mut position) = (String::new(), 0);
    while marks.get(position).is_some_and(|mark| word(*mark) == "when") {
        let (when, then) = (marks[position], *marks.get(position + 1)?);
        let value_end = marks.get(position + 2).copied().unwrap_or(end);
        let (condition, value) = (source(when + 1..then)?, source(then + 1..value_end)?);
        let condition = match &operand {
            Some(operand) => format!("{operand} == {condition}"),
            None => condition,
        };
        written.push_str(&format!("if {condition} then {value} else "));
        position += 2;
    }
    let other = marks.get(position).filter(|mark| word(**mark) == "else");
    let other = other.and_then(|mark| source(mark + 1..end));
    written.push_str(other.as_deref().unwrap_or("VALUE"));
    let span = shapes::span_of(cx, case..case + 1);
    let message = message!("`{}` is not an expression of this language", &cx.text[span.range()]);
    if !remedy::is_valid_expression(&written) {
        let help = message!("write `if CONDITION then VALUE else VALUE`, without `end`");
        return Some(unexpected_token(span, message, help));
    }
    let diagnostic =
        unexpected_token(span, message, message!("write `{written}`", written = written.clone()));
    let has_end = word(end) == "end";
    let whole = shapes::span_of(cx, case..end + usize::from(has_end));
    Some(if other.is_some() { diagnostic.likely_fix(whole, written) } else { diagnostic })
}
