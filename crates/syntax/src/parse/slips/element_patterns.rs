//! Diagnostics for the pattern of an element in a rule language, such as Drools' `exists
//! Item(cost > 3) from items`.

use super::super::context::unexpected_token;
use super::super::expr::PrecedenceClimber;
use super::super::remedy;
use crate::lex::TokenKind;
use crate::parse::is_reserved;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;

impl PrecedenceClimber<'_, '_, '_> {
    /// Returns the diagnostic for a pattern of an element after a quantifier of another language,
    /// as in `exists Item(cost > 3) from items`. The parser is after the word `quantifier` with the
    /// span `span`. `None` without such a pattern.
    pub(in super::super) fn element_pattern_error(&self, quantifier: &str, span: Span) -> Option<Diagnostic> {
        let meant = match quantifier.to_lowercase().as_str() {
            "exists" | "exist" | "some" | "any" => "any",
            "forall" | "every" | "all" => "all",
            _ => return None,
        };
        let first = self.cx.significant.partition_point(|item| item.token.start < span.end);
        let text = |index: usize| {
            let is_inside = self.cx.tokens.contains(&index);
            self.cx
                .significant
                .get(index)
                .filter(|_| is_inside)
                .map_or("", |item| item.token.text(self.cx.text))
        };
        let kind = |index: usize| self.cx.significant.get(index).map(|item| item.token.kind);
        // The type of the element may be missing, and the whole may be in parentheses.
        let open = first + usize::from(kind(first) == Some(TokenKind::Word));
        let mut depth = 0_usize;
        let close = (open..self.cx.tokens.end).find(|index| {
            depth += usize::from(kind(*index).is_some_and(TokenKind::opens_bracket));
            depth = depth.saturating_sub(usize::from(kind(*index).is_some_and(TokenKind::closes_bracket)));
            depth == 0
        })?;
        let list = close + 2;
        if text(open) != "("
            || !matches!(text(close + 1), "from" | "in" | "of")
            || kind(list) != Some(TokenKind::Word)
        {
            return None;
        }
        let mut end = list + 1;
        while text(end) == "." && kind(end + 1) == Some(TokenKind::Word) {
            end += 2;
        }
        let mut condition = String::new();
        for index in open + 1..close {
            let (word, before) = (text(index), text(index - 1));
            let gap = index > open + 1
                && self.cx.significant[index - 1].token.end < self.cx.significant[index].token.start;
            condition.push_str(if gap && word != "," { " " } else { "" });
            let is_field = kind(index) == Some(TokenKind::Word)
                && before != "."
                && text(index + 1) != "("
                && !is_reserved(word)
                && !matches!(word, "true" | "false" | "null");
            let is_operand =
                index == open + 1 || matches!(before, "," | "(" | "and" | "or" | "not" | "&&" | "||");
            match word {
                "," => condition.push_str(" and"),
                "&&" => condition.push_str("and"),
                "||" => condition.push_str("or"),
                _ if is_field && is_operand => condition.push_str(&format!("x.{word}")),
                _ => condition.push_str(word),
            }
        }
        let span_of = |tokens: std::ops::Range<usize>| {
            let (first, last) = (self.cx.significant[tokens.start], self.cx.significant[tokens.end - 1]);
            first.token.span(self.cx.file).to(last.token.span(self.cx.file))
        };
        let list = &self.cx.text[span_of(list..end).range()];
        let written = format!("{meant} x in {list}: {condition}");
        if condition.is_empty() || !remedy::is_valid_expression(&written) {
            return None;
        }
        let message = message!("`{quantifier}` is not a quantifier", quantifier = quantifier.to_owned());
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(span.to(span_of(close..end)), written))
    }
}
