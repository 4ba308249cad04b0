//! Diagnostics for a list or a condition in the brackets of another language: `("a" "b")`, and
//! `when { a > 3 }`.

use super::super::context::unexpected_token;
use super::super::expr::{ExprElement, PrecedenceClimber};
use super::super::remedy;
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

impl PrecedenceClimber<'_, '_, '_> {
    fn token_text(&self, index: usize) -> &str {
        self.cx.significant.get(index).map_or("", |item| item.token.text(self.cx.text))
    }

    /// Returns the index of the first token of the statement that ends after the byte `offset`.
    fn token_index(&self, offset: u32) -> usize {
        self.cx.significant.partition_point(|item| item.token.end <= offset)
    }

    /// Returns the diagnostic for the elements of a list in parentheses and without commas, as in
    /// `("show" "list")`. The parser is at the second element. `None` for other values.
    pub(in super::super) fn list_in_other_brackets_error(&self) -> Option<Diagnostic> {
        let element = self.token_index(self.element_span(self.position).start);
        let is_element = |index: usize| {
            let kind = self.cx.significant.get(index).map(|item| item.token.kind);
            matches!(kind, Some(TokenKind::String | TokenKind::Number))
        };
        let is_inside = |index: &usize| is_element(*index) || self.token_text(*index) == ",";
        let open = (self.cx.tokens.start..element).rev().find(|index| !is_inside(index))?;
        let end = (element..self.cx.tokens.end).find(|index| !is_inside(index)).unwrap_or(self.cx.tokens.end);
        let is_list = self.token_text(self.cx.tokens.start) == "list";
        // `list words = "a" "b"` has no brackets at all.
        let (first, close) = match self.token_text(open) {
            "=" if is_list && end == self.cx.tokens.end => (open + 1, end - 1),
            "(" if self.token_text(end) == ")" => (open, end),
            _ => return None,
        };
        let elements: Vec<&str> =
            (open + 1..end).filter(|index| is_element(*index)).map(|index| self.token_text(index)).collect();
        let written = format!("[{}]", elements.join(", "));
        let token = |index: usize| self.cx.significant[index].token.span(self.cx.file);
        let message = message!("a list is written in `[` and `]`, with `,` between its elements");
        let span = token(first).to(token(close));
        if elements.len() < 2 || written.len() > remedy::MAX_PARSED_BYTES {
            return None;
        }
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(span, written))
    }

    /// Returns the diagnostic for a condition in braces after `when` or `unless`, as other
    /// languages write it. The fix removes the braces of all conditions that follow. `None` for
    /// other braces.
    pub(in super::super) fn condition_in_braces_error(&self, element: ExprElement) -> Option<Diagnostic> {
        let introduces = |index: usize| {
            index > self.cx.tokens.start
                && self.token_text(index) == "{"
                && matches!(
                    self.token_text(index - 1),
                    "when" | "unless" | "where" | "and" | "or" | "not" | ":"
                )
        };
        let first = self.token_index(element.span.start);
        if !introduces(first) {
            return None;
        }
        let (mut written, mut depth, mut open, mut last) = (String::new(), 0_usize, Vec::new(), first);
        let token = |index: usize| self.cx.significant[index].token.span(self.cx.file);
        for index in first..self.cx.tokens.end {
            let kind = self.cx.significant[index].token.kind;
            let ends = depth == 0 && matches!(self.token_text(index), "->" | "else" | ";" | "=>");
            if ends {
                break;
            }
            depth += usize::from(kind.opens_bracket());
            // The source text in place of the token.
            let text = match self.token_text(index) {
                "{" if introduces(index) => {
                    let is_part = matches!(self.token_text(index - 1), "and" | "or" | "not")
                        || matches!(self.token_text(self.cx.end_of_brackets(index) + 1), "and" | "or");
                    let (opening, closing) = if is_part { ("(", ")") } else { ("", "") };
                    open.push(closing);
                    opening
                }
                "{" => {
                    open.push("}");
                    "{"
                }
                "}" => open.pop()?,
                text => text,
            };
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
            last = index;
            let gap = index > first && self.cx.significant[index - 1].token.end < token(index).start;
            let is_tight = text.is_empty() || text == ")" || written.is_empty() || written.ends_with('(');
            written.push_str(if gap && !is_tight { " " } else { "" });
            written.push_str(text);
        }
        if !remedy::is_valid_expression(&written) {
            return None;
        }
        let word = self.token_text(first - 1).to_owned();
        let message = message!("a condition after `{word}` has no braces");
        let help = match word.as_str() {
            ":" => message!("write `{written}`", written = written.clone()),
            _ => message!("write `{written}`", written = format!("{word} {written}")),
        };
        let whole = token(first).to(token(last));
        Some(unexpected_token(token(first), message, help).likely_fix(whole, written))
    }
}
