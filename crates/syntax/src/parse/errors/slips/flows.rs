//! Diagnostics for words of a flow: a missing or wrong keyword before the patterns, and another
//! word in place of the arrow.

use super::super::super::context::unexpected_token;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a flow with a superfluous word, or without the keyword before its
    /// patterns or examples. `None` without such a mistake.
    pub(super) fn wrong_flow_words_error(&self) -> Option<Diagnostic> {
        let (found, index) = (self.found_text, self.token_index);
        if self.rule != Rule::flow_statement {
            return None;
        }
        let before = self.token_before().map_or("", |token| self.token_text(token));
        if found == "[" && before == "keyword" {
            let message = message!("`keyword` needs the kind of comparison");
            let help = message!("write `keyword contains [`, or `exact` or `regex` in place of `contains`");
            let start = Span { end: self.span.start, ..self.span };
            return Some(unexpected_token(self.span, message, help).likely_fix(start, "contains "));
        }
        if found == "[" && matches!(before, "any" | "all" | "one" | "of" | "either" | "each" | "in") {
            let message = message!("the patterns follow without `{before}`: one of them is enough");
            return self.removal_diagnostic(index - 1, index, message);
        }
        let is_text = matches!(self.kind_of_token(index), Some(TokenKind::String | TokenKind::RawString));
        let expects_list = [Rule::open_bracket, Rule::words, Rule::list_in_place];
        if is_text && expects_list.into_iter().any(|rule| self.expects_rule(rule)) {
            let is_text = |index: usize| {
                matches!(self.kind_of_token(index), Some(TokenKind::String | TokenKind::RawString))
            };
            let mut end = index + 1;
            while matches!(self.text_of_token(end), "," | "or" | "|") && is_text(end + 1) {
                end += 2;
            }
            let texts: Vec<&str> = (index..end).step_by(2).map(|index| self.text_of_token(index)).collect();
            let list = format!("[{}]", texts.join(", "));
            // `keyword matches r"…"`
            let is_mode = matches!(before, "matches" | "match" | "like" | "pattern" | "regexp");
            let (first, replacement) = match is_mode {
                true => (index - 1, format!("regex {list}")),
                false => (index, list),
            };
            let span = self.span_of_tokens(first..end);
            let message = match is_mode {
                true => message!("`{before}` is no kind of comparison of a flow"),
                false => message!("the elements of a list are written in brackets"),
            };
            let diagnostic = unexpected_token(span, message, message!("write `{replacement}`"));
            return Some(diagnostic.fix(span, replacement));
        }
        if let Some(diagnostic) = self.flow_without_arrow_error() {
            return Some(diagnostic);
        }
        if !self.expects_rule(Rule::kw_keyword) {
            return None;
        }
        let replacement = match found {
            "examples" | "example" => "intent examples",
            "phrases" | "utterances" | "samples" | "intents" => "intent",
            "keywords" | "patterns" if self.text_of_token(index + 1) == "[" => "keyword contains",
            "keywords" | "on" | "matches" => "keyword",
            "contains" | "exact" | "regex" => &format!("keyword {found}"),
            _ => return None,
        };
        let message = message!("a flow needs `keyword` or `intent` before its patterns, found `{found}`");
        let diagnostic = unexpected_token(self.span, message, message!("write `{replacement}`"));
        Some(diagnostic.fix(self.span, replacement))
    }

    /// Returns the diagnostic for a flow without the arrow before its id, or with a wrong word in
    /// place of the arrow, as in `return "orders"`. Also reports a description after the patterns,
    /// which must follow the name. `None` without such a mistake.
    fn flow_without_arrow_error(&self) -> Option<Diagnostic> {
        let index = self.token_index;
        let is_id = |index: usize| {
            matches!(self.kind_of_token(index), Some(TokenKind::String | TokenKind::Word | TokenKind::Quoted))
        };
        let not_arrow = |word: usize, id: usize| {
            let span = self.span_of_tokens(word..word + 1);
            let written = self.text_of_token(word);
            let message = message!("the flow id must follow `->`, not `{written}`");
            let help = message!("write `-> {}`", self.text_of_token(id));
            let diagnostic = unexpected_token(span, message, help);
            let is_plain = id == word + 1;
            Some(if is_plain { diagnostic.fix(span, "->") } else { diagnostic })
        };
        if self.expects_rule(Rule::kw_case) {
            // The parser took the word for the mode `ignoring case`.
            let word = index - 1;
            if matches!(self.text_of_token(word), "ignoring" | "matching") {
                let written = format!("{} case", self.text_of_token(word));
                let span = self.span_of_tokens(word..index + 1);
                let message = message!("expected `case`, found {}", self.describe_found());
                let help = message!("write `ignoring case` or `matching case`");
                return Some(unexpected_token(self.span, message, help).likely_fix(span, written));
            }
            let id = index + usize::from(self.found_text == "(");
            return if is_id(id) { not_arrow(word, id) } else { None };
        }
        if !self.expects_rule(Rule::arrow) {
            return None;
        }
        let has_description = self.kind_of_token(self.cx.tokens.start + 2) == Some(TokenKind::String);
        if self.kind_of_token(index) == Some(TokenKind::String)
            && matches!(self.text_of_token(index + 1), "->" | "=>")
            && !has_description
        {
            let name = self.text_of_token(self.cx.tokens.start + 1);
            let message = message!("the description of a flow follows its name");
            let help = message!("write `flow {name} {}`, and remove it here", self.found_text);
            return Some(unexpected_token(self.span, message, help));
        }
        let is_last = index + 1 == self.cx.tokens.end;
        if is_id(index) && is_last {
            let message = message!("expected `->` before the flow id `{}`", self.found_text);
            let start = Span { end: self.span.start, ..self.span };
            let help = message!("write `-> {}`", self.found_text);
            return Some(unexpected_token(self.span, message, help).fix(start, "-> "));
        }
        let is_word = matches!(
            self.found_text,
            ":" | "="
                | ":="
                | "then"
                | "return"
                | "do"
                | "goto"
                | "go"
                | "to"
                | "call"
                | "run"
                | "start"
                | "is"
        );
        let id = index + 1 + usize::from(self.text_of_token(index + 1) == "(");
        (is_word && is_id(id)).then(|| not_arrow(index, id)).flatten()
    }
}
