//! Diagnostics for functions without a name, which other languages apply to each element of a list.

use super::super::super::context::unexpected_token;
use super::super::super::lambdas;
use super::super::ParseFailure;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a function without a name, as in `items.some(i => i.price >
    /// 100)`. The unexpected token is the arrow or colon of the function. `None` without such a
    /// function.
    pub(in super::super) fn unnamed_function_error(&self) -> Option<Diagnostic> {
        let mut depth = 0_usize;
        let open = (self.cx.tokens.start..self.token_index).rev().find(|index| {
            let kind = self.cx.significant[*index].token.kind;
            depth += usize::from(kind.closes_bracket());
            let is_open = kind.opens_bracket() && depth == 0;
            depth = depth.saturating_sub(usize::from(kind.opens_bracket()));
            is_open && self.text_of_token(*index) == "("
        });
        // `(x) => …` has parentheses of its own.
        let is_lambda = (self.cx.tokens.start..self.token_index)
            .any(|index| matches!(self.text_of_token(index), "lambda" | "function"));
        if self.found_text != "=>" && !is_lambda {
            return None;
        }
        let message = message!("functions without a name are not supported");
        let general = || {
            let help = message!("write `any x in list: condition` or `all x in list: condition`");
            self.unexpected_token(message.clone(), help)
        };
        let Some(name) = open.and_then(|open| open.checked_sub(1)) else { return general() };
        let (open, dot) = (name + 1, name.checked_sub(1));
        let Some(start) =
            dot.filter(|dot| self.text_of_token(*dot) == ".").and_then(|dot| self.path_start(dot))
        else {
            return general();
        };
        // A `<` or `>` in the function compares two values.
        let mut depth = 0_usize;
        let close = (open..self.cx.tokens.end).find(|index| {
            let kind = self.cx.significant[*index].token.kind;
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
            depth == 0
        });
        let Some(close) = close else { return general() };
        let (base, method) = (self.source_of_tokens(start..name - 1), self.text_of_token(name));
        let args = self.source_of_tokens(open + 1..close);
        let is_length = matches!(self.text_of_token(close + 2), "length" | "size" | "count" | "len")
            && self.text_of_token(close + 1) == ".";
        let counted = lambdas::translate_counting_method(base, method, args).filter(|_| is_length);
        let has_parentheses = self.text_of_token(close + 3) == "(";
        let end = close + 1 + if counted.is_some() { 2 + 2 * usize::from(has_parentheses) } else { 0 };
        let Some(written) = counted.or_else(|| lambdas::translate_quantifier_method(base, method, args))
        else {
            return general();
        };
        let span = self.span_of_tokens(start..end.min(self.cx.tokens.end));
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(span, written))
    }
}
