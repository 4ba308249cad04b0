//! Diagnostics for a comma or semicolon after a condition: between two conditions, between two
//! values of one comparison, and between two definitions.

use super::super::super::context::unexpected_token;
use super::super::super::{foreign, remedy};
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_lang::operators::{Negation, Op};
use std::ops::Range;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a comma in or after a condition. `None` without such a comma.
    pub(super) fn comma_after_condition_error(&self) -> Option<Diagnostic> {
        let has_condition = matches!(
            self.rule,
            Rule::route_statement
                | Rule::router_statement
                | Rule::let_statement
                | Rule::def_statement
                | Rule::require_item
                | Rule::forbid_item
        );
        let may_end = self.expects_rule(Rule::arrow) || self.expects_rule(Rule::EOI);
        let is_after_arrow = self.rule == Rule::route_statement
            && (self.cx.tokens.start..self.token_index)
                .any(|index| self.kind_of_token(index) == Some(TokenKind::Arrow));
        if !has_condition || !may_end || is_after_arrow || !matches!(self.found_text, "," | ";") {
            return None;
        }
        let left = self.expression_start(self.token_index)..self.token_index;
        let end = self.end_of_condition(self.token_index + 1);
        let right = self.token_index + 1..end;
        if left.is_empty() || right.is_empty() || self.text_of_token(end) == "=" {
            return None;
        }
        self.second_definition_error(&left)
            .or_else(|| self.comma_as_and_error(&left, &right))
            .or_else(|| self.comma_in_values_error(&left, &right))
    }

    /// Returns the index after the condition that begins at the token `start`. A comma or semicolon
    /// does not end the condition, because the author may have meant `and`.
    fn end_of_condition(&self, start: usize) -> usize {
        let mut end = self.expression_end(start);
        while matches!(self.text_of_token(end), "," | ";") {
            end = self.expression_end(end + 1);
        }
        let ends = |index: &usize| matches!(self.text_of_token(*index), "where" | "else");
        (start..end).find(ends).unwrap_or(end)
    }

    /// True if the tokens contain a comparison outside brackets.
    fn has_comparison(&self, tokens: Range<usize>) -> bool {
        let mut depth = 0_usize;
        tokens.into_iter().any(|index| {
            let (kind, text) = (self.cx.significant[index].token.kind, self.text_of_token(index));
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
            let is_comparison = || {
                Op::from_spelling(text).is_some_and(foreign::is_condition_operator)
                    || matches!(text, "is" | "=" | "===" | "<>")
            };
            depth == 0 && is_comparison()
        })
    }

    /// Returns the diagnostic for a second definition after a comma: `let a = 3, b = 4`. `left` are
    /// the tokens before the comma. `None` without such a mistake.
    fn second_definition_error(&self, left: &Range<usize>) -> Option<Diagnostic> {
        let name = self.token_index + 1;
        let is_definition = self.rule == Rule::let_statement
            && self.kind_of_token(name) == Some(TokenKind::Word)
            && matches!(self.text_of_token(name + 1), "=" | ":=")
            && left.start == self.cx.tokens.start + 3;
        let value = self
            .source_of_tokens(name + 2..self.end_of_condition(name + 2).min(self.expression_end(name + 2)));
        let written = format!("let {} = {value}", self.text_of_token(name));
        if !is_definition || !remedy::is_valid_short_statement(&written) {
            return None;
        }
        let message = message!("each definition is a statement of its own");
        let help = message!("write `{written}` on a line of its own");
        let diagnostic = unexpected_token(self.span, message, help);
        let gap = self.span_of_tokens(self.token_index..name);
        let gap = rulec_base::span::Span { end: self.cx.significant[name].token.start, ..gap };
        Some(diagnostic.likely_fix(gap, "\nlet "))
    }

    /// Returns the diagnostic for a comma between two conditions: `when a > 3, b == "x"`. `left`
    /// and `right` are the tokens before and after the comma. `None` without such a mistake.
    fn comma_as_and_error(&self, left: &Range<usize>, right: &Range<usize>) -> Option<Diagnostic> {
        let mut parts = vec![left.clone()];
        let mut start = right.start;
        while start < right.end {
            let end = self.expression_end(start).min(right.end);
            parts.push(start..end);
            start = end + 1;
        }
        // A value such as `"b"` may precede `and`, as in `contains "a", "b" and n > 3`.
        let is_condition = |part: &Range<usize>| {
            let is_joint =
                |index: &usize| matches!(self.text_of_token(*index), "and" | "or" | "unless" | "&&" | "||");
            let first = part.start..part.clone().find(is_joint).unwrap_or(part.end);
            let is_path = first.clone().all(|index| {
                matches!(
                    self.kind_of_token(index),
                    Some(TokenKind::Word | TokenKind::Quoted | TokenKind::Dot)
                )
            });
            let is_bool =
                self.text_of_token(first.start) == "not" || is_path && self.ends_with_order_comparison(left);
            !first.is_empty() && (is_bool || self.has_comparison(first))
        };
        if !parts.iter().skip(1).all(is_condition) {
            return None;
        }
        let written = |part: &Range<usize>| {
            let text = self.source_of_tokens(part.clone());
            let has_or =
                part.clone().any(|index| matches!(self.text_of_token(index), "or" | "||" | "unless"));
            if has_or { format!("({text})") } else { text.to_owned() }
        };
        let written = parts.iter().map(written).collect::<Vec<_>>().join(" and ");
        let message = message!("conditions are joined with `and`");
        let span = self.span_of_tokens(left.start..right.end);
        if !remedy::is_valid_expression(&written) {
            let help = message!("write `and` instead of `{}`", self.found_text);
            return Some(unexpected_token(self.span, message, help));
        }
        let help = message!("write `{written}`");
        Some(unexpected_token(self.span, message, help).likely_fix(span, written))
    }

    /// True if the last comparison of a condition is `<`, `<=`, `>` or `>=`. It has only one value
    /// on its right, so a name after a comma begins another condition.
    fn ends_with_order_comparison(&self, condition: &Range<usize>) -> bool {
        let mut operators =
            condition.clone().rev().filter_map(|index| Op::from_spelling(self.text_of_token(index)));
        operators
            .find(|op| foreign::is_condition_operator(*op))
            .is_some_and(|op| matches!(op, Op::Lt | Op::Le | Op::Gt | Op::Ge))
    }

    /// Returns the diagnostic for a comma between the values of one comparison: `when text contains
    /// "a", "b"`. `left` and `right` are the tokens before and after the comma. `None` without such
    /// a mistake.
    fn comma_in_values_error(&self, left: &Range<usize>, right: &Range<usize>) -> Option<Diagnostic> {
        let is_comparison = |index: &usize| {
            Op::from_spelling(self.text_of_token(*index)).is_some_and(foreign::is_condition_operator)
        };
        let sign = left.clone().rev().find(is_comparison)?;
        let first = left
            .clone()
            .rev()
            .take_while(|index| !matches!(self.text_of_token(*index), "and" | "or" | "unless"));
        let first = first.last()?;
        let op = Op::from_spelling(self.text_of_token(sign))?;
        let subject_end = sign - usize::from(self.text_of_token(sign - 1) == "not");
        let is_literal = |index: usize| {
            matches!(
                self.kind_of_token(index),
                Some(TokenKind::String | TokenKind::RawString | TokenKind::Number)
            )
        };
        let is_value = |index: &usize| {
            is_literal(*index)
                || matches!(self.text_of_token(*index), "," | ";")
                || self.text_of_token(*index) == "or" && is_literal(index + 1)
        };
        let end = right.clone().find(|index| !is_value(index)).unwrap_or(right.end);
        let is_complete = end == right.end || matches!(self.text_of_token(end), "and" | "or" | "unless");
        if subject_end <= first || !(sign + 1..left.end).all(|index| is_value(&index)) || !is_complete {
            return None;
        }
        let values =
            (sign + 1..end).filter(|index| is_literal(*index)).map(|index| self.text_of_token(index));
        let values: Vec<&str> = values.collect();
        let (subject, values) = (self.source_of_tokens(first..subject_end), values.join(", "));
        let not = if subject_end < sign { "not " } else { "" };
        let written = match op {
            Op::Eq | Op::In => format!("{subject} {not}in [{values}]"),
            Op::Ne => format!("{subject} not in [{values}]"),
            _ if op.info().accepted_modifiers.accepts_quantity && not.is_empty() => {
                format!("{subject} {} any [{values}]", op.info().spelling)
            }
            _ if op.info().accepted_modifiers.accepts_quantity
                && op.info().negation == Negation::NotBefore =>
            {
                format!("not ({subject} {} any [{values}])", op.info().spelling)
            }
            _ => return None,
        };
        if !remedy::is_valid_expression(&written) {
            return None;
        }
        let message = message!("several values need a list");
        let span = self.span_of_tokens(first..end);
        Some(unexpected_token(self.span, message, message!("write `{written}`")).likely_fix(span, written))
    }
}
