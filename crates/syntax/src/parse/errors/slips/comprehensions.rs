//! Diagnostics for conditions on elements in the order of other languages: a quantifier in front of
//! parentheses, `any(C for x in L)`, and `a if C else b`.

use super::super::super::context::unexpected_token;
use super::super::super::remedy;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a condition on elements in the order of another language. `None`
    /// without such a condition.
    pub(super) fn foreign_element_condition_error(&self) -> Option<Diagnostic> {
        self.quantifier_before_parenthesis_error()
            .or_else(|| self.condition_before_list_error())
            .or_else(|| self.value_before_if_error())
    }

    /// Returns the diagnostic for a parenthesis between a quantifier and its element, as in `count
    /// (p in history: p.tool == tool)`. `None` without such a parenthesis.
    fn quantifier_before_parenthesis_error(&self) -> Option<Diagnostic> {
        let is_quantifier = |index: usize| {
            matches!(self.text_of_token(index), "any" | "all" | "count" | "first" | "last")
                && self.text_of_token(index + 1) == "("
                && self.kind_of_token(index + 2) == Some(TokenKind::Word)
                && self.text_of_token(index + 3) == "in"
        };
        let word = (self.cx.tokens.start..self.token_index).rev().find(|index| is_quantifier(*index))?;
        let open = word + 1;
        let close = self.cx.end_of_brackets(open);
        if close >= self.cx.tokens.end || self.token_index > close + 1 {
            return None;
        }
        let inner = self.source_of_tokens(open + 1..close);
        let written = format!("({} {inner})", self.text_of_token(word));
        if inner.contains(['\n', '#']) || !remedy::is_valid_expression(&written) {
            return None;
        }
        let message = message!("the parentheses enclose the whole quantifier");
        let help = message!("write `{written}`", written = written.clone());
        let span = self.span_of_tokens(open..open + 1);
        Some(unexpected_token(span, message, help).fix(self.span_of_tokens(word..close + 1), written))
    }

    /// Returns the diagnostic for the condition before the list, as in `any(x > 3 for x in list)`.
    /// `None` without such a condition.
    fn condition_before_list_error(&self) -> Option<Diagnostic> {
        let is_for = |index: &usize| {
            self.text_of_token(*index) == "for"
                && self.kind_of_token(index + 1) == Some(TokenKind::Word)
                && self.text_of_token(index + 2) == "in"
        };
        let joint = (self.cx.tokens.start..self.token_index).rev().find(is_for)?;
        // The bracket in which the generator lies.
        let mut depth = 0_usize;
        let open = (self.cx.tokens.start..joint).rev().find(|index| {
            let kind = self.cx.significant[*index].token.kind;
            let is_outer = kind.opens_bracket() && depth == 0;
            depth += usize::from(kind.closes_bracket());
            depth = depth.saturating_sub(usize::from(kind.opens_bracket()));
            is_outer
        })?;
        let close = self.cx.end_of_brackets(open);
        let is_bracketed = self.text_of_token(open) == "[" && self.text_of_token(open - 1) == "(";
        let (open, close) = if is_bracketed { (open - 1, close + 1) } else { (open, close) };
        let word = open.checked_sub(1).filter(|word| *word > self.cx.tokens.start)?;
        if close >= self.cx.tokens.end || self.text_of_token(open) != "(" {
            return None;
        }
        let first = open + 1 + usize::from(is_bracketed);
        let last = close - usize::from(is_bracketed);
        let is_if = |index: &usize| self.text_of_token(*index) == "if";
        let filter = (joint + 3..last).find(is_if);
        let value = self.source_of_tokens(first..joint);
        let elements = self.source_of_tokens(joint + 1..filter.unwrap_or(last));
        let condition = filter.map(|filter| self.source_of_tokens(filter + 1..last));
        let (name, quantifier) = (self.text_of_token(joint + 1), self.text_of_token(word).to_lowercase());
        let counts = value == "1" || value == name || matches!(quantifier.as_str(), "len" | "count");
        let written = match (quantifier.as_str(), condition) {
            ("any" | "some" | "exists", None) => format!("any {elements}: {value}"),
            ("all" | "every", None) => format!("all {elements}: {value}"),
            ("any" | "some", Some(condition)) => format!("any {elements}: {condition} and {value}"),
            ("all" | "every", Some(condition)) => format!("all {elements}: not ({condition}) or {value}"),
            ("sum" | "len" | "count", Some(condition)) if counts => {
                format!("count {elements}: {condition}")
            }
            ("sum", Some(condition)) => format!("sum {value} for {elements}: {condition}"),
            ("sum", None) if value != "1" => format!("sum {value} for {elements}: true"),
            _ => return None,
        };
        let written = match quantifier.as_str() {
            "sum" | "len" | "count" => format!("({written})"),
            _ if self.text_of_token(close + 1).starts_with(['a', 'o', 'u']) => format!("({written})"),
            _ => written,
        };
        if written.contains(['\n', '#']) || !remedy::is_valid_expression(&written) {
            return None;
        }
        let span = self.span_of_tokens(joint..joint + 1);
        let message = message!("a quantifier names the element first, and its condition follows `:`");
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(self.span_of_tokens(word..close + 1), written))
    }

    /// Returns the diagnostic for a value before its condition, as in `"a" if vip else "b"`. `None`
    /// without such a value.
    fn value_before_if_error(&self) -> Option<Diagnostic> {
        if !self.expects_rule(Rule::kw_then) || self.found_text != "else" {
            return None;
        }
        let word = (self.cx.tokens.start..self.token_index)
            .rev()
            .find(|index| self.text_of_token(*index) == "if")?;
        let start = self.expression_start(word);
        let end = self.expression_end(self.token_index + 1);
        let parts = [start..word, word + 1..self.token_index, self.token_index + 1..end];
        if parts.iter().any(std::ops::Range::is_empty) {
            return None;
        }
        let [then, condition, other] = parts.map(|part| self.source_of_tokens(part));
        let written = format!("if {condition} then {then} else {other}");
        if written.contains(['\n', '#']) || !remedy::is_valid_expression(&written) {
            return None;
        }
        let message = message!("the condition of `if` comes before both values");
        let span = self.span_of_tokens(word..word + 1);
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(self.span_of_tokens(start..end), written))
    }

    /// Returns the diagnostic for another symbol or word than `:` after the list of a quantifier,
    /// as in `any x in items, x.cost > 3`. The list ends before the token `separator`, and
    /// `quantifier` is the source text up to there. `None` if no condition on the element follows.
    pub(super) fn condition_after_separator_error(
        &self,
        quantifier: &str,
        name: &str,
        separator: usize,
    ) -> Option<Diagnostic> {
        let sign = self.text_of_token(separator);
        let is_pair = sign == "such" && self.text_of_token(separator + 1) == "that";
        let is_separator = is_pair
            || matches!(
                sign,
                "," | "|"
                    | ";"
                    | "=>"
                    | "->"
                    | "where"
                    | "with"
                    | "if"
                    | "when"
                    | "satisfies"
                    | "having"
                    | "meets"
                    | "do"
                    | "::"
                    | "||"
            );
        let first = separator + 1 + usize::from(is_pair);
        let end = self.expression_end(first);
        let reads_element = (first..end).any(|index| self.text_of_token(index) == name);
        if !is_separator || !reads_element {
            return None;
        }
        let written = format!("{quantifier}: {}", self.source_of_tokens(first..end));
        if written.contains(['\n', '#']) || !remedy::is_valid_expression(&written) {
            return None;
        }
        let span = self.span_of_tokens(separator..first);
        let message = message!(
            "the condition on each element follows `:`, not `{}`",
            self.source_of_tokens(separator..first)
        );
        let gap = rulec_base::span::Span { start: self.cx.significant[separator - 1].token.end, ..span };
        Some(unexpected_token(span, message, message!("write `{written}`")).fix(gap, ":"))
    }
}
