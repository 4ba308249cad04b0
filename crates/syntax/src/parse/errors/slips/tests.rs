//! Diagnostics for common mistakes in a `test` block. Examples: a value without `=`, `given` after
//! `expect`, and a condition instead of a result.

use super::super::super::context::unexpected_token;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a common mistake in a `test` block. `None` without such a
    /// mistake.
    pub(super) fn test_part_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::test_statement {
            return None;
        }
        self.other_word_for_part_error()
            .or_else(|| self.given_without_equals_error())
            .or_else(|| self.keyword_after_expect_error())
            .or_else(|| self.given_after_expect_error())
            .or_else(|| self.condition_after_expect_error())
    }

    /// Returns the diagnostic for another word in place of `given` or `expect`: `when text = "a"`,
    /// `assert route == "refund"`. `None` for other words.
    fn other_word_for_part_error(&self) -> Option<Diagnostic> {
        if !self.expects_rule(Rule::kw_expect) {
            return None;
        }
        let means_expect = |index: usize| {
            matches!(
                self.text_of_token(index),
                "assert" | "should" | "then" | "check" | "verify" | "expects" | "expected"
            )
        };
        // After a value, the parser takes the word for an operator.
        let index = self.token_index - usize::from(means_expect(self.token_index - 1));
        let (word, after) = (self.text_of_token(index), self.text_of_token(index + 2));
        let names_part = self.kind_of_token(index + 1) == Some(TokenKind::Word);
        if matches!(word, "when" | "if") && names_part && after == "=" {
            let message = message!("a field of a test begins with `given`");
            return Some(super::foreign::foreign_syntax_error(self.span, message, "given"));
        }
        if !means_expect(index) || !names_part || self.text_of_token(index + 1) == "expect" {
            return None;
        }
        let message = message!("the result of a test follows `expect`, not `{}`", word);
        let help = message!("end the test with `expect ROUTE`, `expect default` or `expect none`");
        Some(unexpected_token(self.span_of_tokens(index..index + 1), message, help))
    }

    /// Returns the index of the last token `given` or `expect` before the unexpected token.
    fn last_given_or_expect(&self) -> Option<usize> {
        (self.cx.tokens.start..self.token_index).rev().find(|index| {
            matches!(self.text_of_token(*index), "given" | "expect") && self.text_of_token(index - 1) != "."
        })
    }

    /// Returns the diagnostic for `given text "refund"` and `given text is "refund"`. `None`
    /// without such a mistake.
    fn given_without_equals_error(&self) -> Option<Diagnostic> {
        let given = self.last_given_or_expect().filter(|index| self.text_of_token(*index) == "given")?;
        if !self.expects_rule(Rule::equals) || self.token_index < given + 2 {
            return None;
        }
        let path = self.source_of_tokens(given + 1..self.token_index);
        let message = message!("a field and its value are separated by `=`");
        let value = self.token_index;
        let is_sign =
            matches!(self.found_text, "is" | "==" | ":=" | ":" | "to" | "as" | "equals" | "->" | "=>");
        if is_sign {
            let help = message!("write `given {path} =`");
            return Some(unexpected_token(self.span, message, help).fix(self.span, "="));
        }
        let is_value = matches!(
            self.kind_of_token(value)?,
            TokenKind::String | TokenKind::RawString | TokenKind::Number | TokenKind::OpenBracket
        ) || matches!(self.found_text, "true" | "false" | "null" | "{" | "-");
        if !is_value {
            return None;
        }
        let help = message!("write `given {path} = {}`", self.cx.shorten_source(self.span));
        let start = Span { end: self.span.start, ..self.span };
        Some(unexpected_token(self.span, message, help).fix(start, "= "))
    }

    /// Returns the diagnostic for a keyword before the name of a result: `expect route refunds`.
    /// `None` without such a mistake.
    fn keyword_after_expect_error(&self) -> Option<Diagnostic> {
        let expect = self.last_given_or_expect().filter(|index| self.text_of_token(*index) == "expect")?;
        let word = self.token_index - 1;
        let name = self.token_index + usize::from(matches!(self.found_text, "==" | "=" | ":"));
        if word != expect + 1 || !matches!(self.kind_of_token(name)?, TokenKind::Word | TokenKind::String) {
            return None;
        }
        let result = self.text_of_token(name).trim_matches('"').to_owned();
        let written = match self.text_of_token(word) {
            "handler" | "target" | "action" | "goto" => format!("expect -> {result}"),
            "route" | "rule" | "table" | "choice" | "branch" | "payload" | "flow" | "intent" | "to"
            | "result" | "name" | "that" => format!("expect {result}"),
            _ => return None,
        };
        let message = message!("the result follows without `{}`", self.text_of_token(word));
        let span = self.span_of_tokens(word..word + 1);
        let diagnostic = unexpected_token(span, message, message!("write `{written}`"));
        Some(diagnostic.likely_fix(self.span_of_tokens(expect..name + 1), written))
    }

    /// Returns the diagnostic for `given` after `expect`. `None` without such a mistake.
    fn given_after_expect_error(&self) -> Option<Diagnostic> {
        if self.found_text != "given" {
            return None;
        }
        let is_expect =
            |index: &usize| self.text_of_token(*index) == "expect" && self.text_of_token(index - 1) != ".";
        let first = (self.cx.tokens.start..self.token_index).find(is_expect)?;
        let last = self.cx.tokens.end - 1;
        let end = (self.token_index..last).find(is_expect).unwrap_or(last);
        let (expected, given) =
            (self.source_of_tokens(first..self.token_index), self.source_of_tokens(self.token_index..end));
        let message = message!("`given` must be written before `expect`");
        let help = match expected.lines().count() + given.lines().count() {
            2 => message!("write `{given}` before `{expected}`"),
            _ => message!("move it before the first `expect`"),
        };
        // The text between the two parts stays between them.
        let gap = &self.cx.text
            [self.cx.significant[self.token_index - 1].token.end as usize..self.span.start as usize];
        let swapped = format!("{given}{gap}{expected}");
        Some(unexpected_token(self.span, message, help).fix(self.span_of_tokens(first..end), swapped))
    }

    /// Returns the diagnostic for a condition after `expect`, as in `expect text contains "a"`.
    /// `None` without such a mistake.
    fn condition_after_expect_error(&self) -> Option<Diagnostic> {
        let expect = self.last_given_or_expect().filter(|index| self.text_of_token(*index) == "expect")?;
        let found = self.found_text;
        let is_operator = Op::from_spelling(found).is_some()
            || matches!(found, "is" | "=" | "==" | "!=" | "=~" | "not" | "to" | "be" | "equals");
        if !is_operator || self.token_index < expect + 2 {
            return None;
        }
        let message = message!("`expect` names a result, and not a condition");
        let is_route = |pair: &&[super::super::super::stream::SignificantToken]| {
            self.token_text(pair[0].token) == "route" && pair[0].indent().is_some()
        };
        let route = self.cx.significant.windows(2).find(is_route).map(|pair| self.token_text(pair[1].token));
        let value = self.text_of_token(self.token_index + 1).trim_matches('"');
        let meant = match self.text_of_token(expect + 1) {
            "route" | "result" | "decision" | "name" | "target" | "handler"
                if self.is_declared("route", value) =>
            {
                Some(value)
            }
            _ => None,
        };
        let help = match meant.or(route) {
            Some(route) => message!(
                "write the name of a route, as in `expect {route}`, a handler, as in `expect -> HANDLER`, or \
                `expect default`"
            ),
            None => message!("end the test with `expect ROUTE`, `expect default` or `expect none`"),
        };
        Some(unexpected_token(self.span, message, help))
    }
}
