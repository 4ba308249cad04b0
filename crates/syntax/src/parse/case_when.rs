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
    // In Drools, the first word of a value may be `when`.
    let is_value = |index: usize| {
        matches!(word(index.saturating_sub(1)).as_str(), ":" | "(" | "," | "=" | "[" | "??")
            && matches!(word(index).as_str(), "when" | "当")
    };
    let is_case = |index: &usize| {
        word(*index) == "case"
            && !matches!(word(index.saturating_sub(1)).as_str(), "ignoring" | "matching" | ".")
            || is_value(*index)
    };
    let case = (cx.tokens.start + 1..=last).rev().find(is_case)?;
    let mut depth = 0_usize;
    let is_end = |index: &usize| {
        let Some(item) = cx.significant.get(*index).filter(|_| *index < cx.tokens.end) else { return true };
        let closes = depth == 0 && (item.token.kind.closes_bracket() || word(*index) == ",");
        depth += usize::from(item.token.kind.opens_bracket());
        depth = depth.saturating_sub(usize::from(item.token.kind.closes_bracket()));
        closes || matches!(word(*index).as_str(), "end" | "->" | "=>" | "结束")
    };
    let end = (case + 1..=cx.tokens.end).find(is_end)?;
    let is_mark = |index: &usize| {
        matches!(word(*index).as_str(), "when" | "then" | "else" | "当" | "则" | "那么" | "否则")
    };
    let first_mark = case + usize::from(word(case) == "case");
    let marks: Vec<usize> = (first_mark..end).filter(is_mark).collect();
    let word = |index: usize| match word(index).as_str() {
        "当" => "when".to_owned(),
        "则" | "那么" => "then".to_owned(),
        "否则" => "else".to_owned(),
        "结束" => "end".to_owned(),
        word => word.to_owned(),
    };
    let first = *marks.first().filter(|first| word(**first) == "when")?;
    let source = |tokens: Range<usize>| {
        (!tokens.is_empty()).then(|| cx.text[shapes::span_of(cx, tokens).range()].replace('\'', "\""))
    };
    let operand = if first > case { source(case + 1..first) } else { None };
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
