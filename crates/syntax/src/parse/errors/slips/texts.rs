//! Diagnostics for a constant text that is written in parts, as `import "a_" + "b.rules"`. Also for
//! doubled quotes, as in `test "the ""big"" one"`, and for regular expressions in slashes.

use super::super::super::context::unexpected_token;
use super::super::super::foreign;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use std::ops::Range;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a regular expression between slashes whose signs the grammar
    /// cannot read, as in `text matches /refund.*/`. `None` without such an expression.
    pub(super) fn regex_between_slashes_error(&self) -> Option<Diagnostic> {
        let span_of = |index: usize| self.cx.significant[index].token.span(self.cx.file);
        // A slash after a value divides it.
        let begins_value = |index: usize| {
            let before = self.cx.significant[index - 1].token;
            let word = self.token_text(before);
            !before.kind.ends_operand() || Op::from_spelling(word).is_some() || matches!(word, "when" | "not")
        };
        let is_slash = |index: &usize| self.text_of_token(*index).starts_with('/') && begins_value(*index);
        let last = self.token_index.min(self.cx.tokens.end - 1);
        let slash = (self.cx.tokens.start + 1..=last).find(is_slash)?;
        let (literal, length) =
            foreign::slashes_to_raw_string(&self.cx.text[span_of(slash).range().start..])?;
        if span_of(slash).start + length as u32 <= self.token.start {
            return None;
        }
        let before = span_of(slash - 1);
        if matches!(self.text_of_token(slash - 1), "=~" | "~") {
            let span = Span { end: span_of(slash).start + length as u32, ..before };
            let message = message!("a regular expression is not written between slashes");
            return Some(foreign::foreign_syntax_error(span, message, &format!("matches {literal}")));
        }
        foreign::regex_between_slashes_error(self.cx.text, span_of(slash), Some(before))
    }

    fn is_text(&self, index: usize) -> bool {
        self.kind_of_token(index) == Some(TokenKind::String)
    }

    /// True for a symbol by which a language joins texts.
    fn joins_texts(&self, index: usize) -> bool {
        matches!(
            self.text_of_token(index),
            "+" | "&" | "." | ".." | "||" | "++" | "<>" | "~" | "^" | "/" | "%"
        )
    }

    /// Returns the diagnostic for a text in parts where the grammar needs one text. `None` without
    /// such a mistake.
    pub(super) fn text_in_parts_error(&self) -> Option<Diagnostic> {
        if let Some(diagnostic) = self.call_for_text_error() {
            return Some(diagnostic);
        }
        let first = self.token_index.checked_sub(1).filter(|first| *first > self.cx.tokens.start)?;
        if !self.is_text(first) || self.begins_line(self.token_index) {
            return None;
        }
        let touches = self.cx.significant[first].token.end == self.token.start;
        if self.is_text(self.token_index) && touches {
            return self.doubled_quotes_error(first);
        }
        let is_adjacent = self.is_text(self.token_index) && self.rule == Rule::settings_statement;
        if !self.joins_texts(self.token_index) && !is_adjacent {
            return None;
        }
        let mut texts = vec![first];
        let mut end = self.token_index;
        loop {
            let text = end + usize::from(self.joins_texts(end));
            if !self.is_text(text) || self.begins_line(text) {
                break;
            }
            texts.push(text);
            end = text + 1;
        }
        let is_complete = end > self.token_index && !self.joins_texts(end);
        let is_file = |index: &usize| self.text_of_token(*index).ends_with(".rules\"");
        // `import "a.rules" + "b.rules"` means two files.
        if self.rule == Rule::import_statement && texts.iter().all(is_file) {
            return None;
        }
        let message = message!("a text is not joined from parts here");
        if !is_complete {
            let help = message!("write the whole text in one pair of quotes: its value must be constant");
            return Some(unexpected_token(self.span, message, help));
        }
        let separator = if self.found_text == "/" { "/" } else { "" };
        let written = self.join_texts(&texts, separator);
        let span = self.span_of_tokens(first..end);
        let help = message!("write `{written}`");
        Some(unexpected_token(span, message, help).fix(span, written))
    }

    /// Returns one string literal with the content of several. `separator` is written between two
    /// of them, unless the first ends with it or the second begins with it.
    fn join_texts(&self, texts: &[usize], separator: &str) -> String {
        let mut inner = String::new();
        for (position, index) in texts.iter().enumerate() {
            let part = self.text_of_token(*index);
            let part = &part[1..part.len() - 1];
            let has_separator = inner.ends_with(separator) || part.starts_with(separator);
            if position > 0 && !has_separator {
                inner.push_str(separator);
            }
            inner.push_str(part);
        }
        format!("\"{inner}\"")
    }

    /// Returns the diagnostic for a text with doubled quotes inside, as in `"the ""big"" one"`. The
    /// text begins at the token `first`. `None` without doubled quotes.
    fn doubled_quotes_error(&self, first: usize) -> Option<Diagnostic> {
        let touches = |index: &usize| {
            self.cx.significant[index - 1].token.end == self.cx.significant[*index].token.start
        };
        let end = (first + 1..self.cx.tokens.end)
            .take_while(|index| self.is_text(*index) && touches(index))
            .last()?
            + 1;
        let written = self.source_of_tokens(first..end);
        let inner = written[1..written.len() - 1].replace("\"\"", "\\\"");
        let written = format!("\"{inner}\"");
        let span = self.span_of_tokens(first..end);
        let message = message!("a quote inside a text needs a backslash");
        Some(unexpected_token(span, message, message!("write `{written}`")).fix(span, written))
    }

    /// Returns the diagnostic for a call that joins constant texts where the grammar needs a text,
    /// as in `import concat("a", "b")`. `None` without such a call.
    fn call_for_text_error(&self) -> Option<Diagnostic> {
        let is_call =
            matches!(self.found_text.to_lowercase().as_str(), "concat" | "concatenate" | "join" | "cat")
                && self.text_of_token(self.token_index + 1) == "(";
        if !is_call || !self.expects_rule(Rule::string) {
            return None;
        }
        let close = self.closing_bracket_or_end(self.token_index + 1);
        let inside: Range<usize> = self.token_index + 2..close;
        let is_constant = inside.clone().all(|index| self.is_text(index) || self.text_of_token(index) == ",");
        let texts: Vec<usize> = inside.filter(|index| self.is_text(*index)).collect();
        let message = message!("a text is not joined from parts here");
        if !is_constant || texts.is_empty() || close == self.cx.tokens.end {
            let help = message!("write the whole text in one pair of quotes: its value must be constant");
            return Some(unexpected_token(self.span, message, help));
        }
        let written = self.join_texts(&texts, "");
        let span = self.span_of_tokens(self.token_index..close + 1);
        let help = message!("write `{written}`");
        Some(unexpected_token(span, message, help).likely_fix(span, written))
    }
}
