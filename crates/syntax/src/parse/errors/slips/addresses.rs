//! Diagnostics for an address on the web without quotes, and for an address in place of a handler.

use super::super::super::context::unexpected_token;
use super::super::super::foreign;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for an address such as `https://example.com/hook` without quotes, or
    /// as a target. `None` without such a mistake.
    pub(super) fn unquoted_address_error(&self) -> Option<Diagnostic> {
        let (start, address) = self.find_written_address()?;
        let length = address.len() as u32;
        let first = self.cx.significant[start].token.start;
        let span = Span { start: first, end: first + length, ..self.span };
        let text = format!("\"{}\"", address.trim_matches('"'));
        let before = start.checked_sub(1).filter(|before| *before >= self.cx.tokens.start);
        let is_target = matches!(self.rule, Rule::route_statement | Rule::default_statement)
            && before.is_some_and(|before| matches!(self.text_of_token(before), "->" | "=>"));
        if !is_target {
            return Some(foreign::foreign_syntax_error(span, message!("a text is written in quotes"), &text));
        }
        let message = message!("a target is the name of a handler, not an address");
        let written = format!("call_address(address: {text})");
        let help = message!(
            "give the address to a handler of your program: write `-> {written}`",
            written = written.clone()
        );
        Some(unexpected_token(span, message, help).likely_fix(span, written))
    }

    /// Returns the address around the unexpected token, and the index of its first token. The
    /// lexer takes the part after `//` for a comment. `None` without an address.
    fn find_written_address(&self) -> Option<(usize, &str)> {
        let rest = &self.cx.text[self.token.start as usize..];
        if self.found_text == ":" && rest.starts_with("://") {
            let scheme = self.token_index.checked_sub(1).filter(|scheme| {
                self.kind_of_token(*scheme) == Some(TokenKind::Word)
                    && self.cx.significant[*scheme].token.end == self.token.start
            })?;
            let start = self.cx.significant[scheme].token.start as usize;
            let end =
                self.cx.text[start..].find(|c: char| c.is_whitespace() || matches!(c, ')' | ',' | '}' | ']'));
            return Some((scheme, &self.cx.text[start..end.map_or(self.cx.text.len(), |end| start + end)]));
        }
        let is_text = self.token.kind == TokenKind::String && !self.is_at_end();
        let is_address = self.found_text.contains("://") || self.found_text.starts_with("\"/");
        (is_text && is_address && self.is_preceded_by("->")).then_some((self.token_index, self.found_text))
    }
}
