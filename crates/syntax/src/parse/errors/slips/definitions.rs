//! Diagnostics for definitions in the words of other languages: a `let` with parameters, and names
//! after `where` with a `let` or a colon.

use super::super::super::context::unexpected_token;
use super::super::super::{foreign, remedy};
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;

/// Words with which authors begin the names of parts of a condition.
const WORDS_FOR_WHERE: [&str; 10] =
    ["where", "with", "given", "let", "using", "having", "as", "for", "const", "var"];

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a `let` with parameters, as in `let big(x) = x > 3`. `None`
    /// without such a mistake.
    pub(super) fn let_with_parameters_error(&self) -> Option<Diagnostic> {
        let start = self.cx.tokens.start;
        if self.rule != Rule::let_statement || self.found_text != "(" || self.token_index != start + 2 {
            return None;
        }
        let close = self.closing_bracket_or_end(self.token_index);
        let sign = close + 1;
        if !matches!(self.text_of_token(sign), "=" | ":=" | "=>" | "->") || sign + 1 >= self.cx.tokens.end {
            return None;
        }
        let value = self.source_of_tokens(sign + 1..self.cx.tokens.end);
        let params: Vec<&str> = self.source_of_tokens(self.token_index + 1..close).split(',').collect();
        let params: Vec<&str> = params.into_iter().map(str::trim).filter(|name| !name.is_empty()).collect();
        let name = self.text_of_token(start + 1);
        let head = format!("def {name}({})", foreign::write_typed_parameters(&params, value));
        let message = message!("a definition with parameters begins with `def`, not `let`");
        let written = format!("{head} = {value}");
        if !remedy::is_valid_short_statement(&written) {
            let diagnostic = unexpected_token(self.span_of_tokens(start..start + 1), message, {
                message!("write `{head} = …`", head = head.clone())
            });
            return Some(diagnostic.likely_fix(self.span_of_tokens(start..sign + 1), format!("{head} =")));
        }
        let help = message!("write `{written}`", written = written.clone());
        let diagnostic = unexpected_token(self.span_of_tokens(start..start + 1), message, help);
        Some(diagnostic.likely_fix(self.span_of_tokens(start..self.cx.tokens.end), written))
    }

    /// Returns the diagnostic for a `def` with a parameter without a type, as in `def big(x) = x >
    /// 3`. `None` for another statement, and for a `def` that would still have an error.
    pub(in super::super) fn parameter_without_type_error(&self) -> Option<Diagnostic> {
        let start = self.cx.tokens.start;
        let close = self.closing_bracket_or_end(start + 2);
        let sign = Some(close + 1).filter(|sign| self.text_of_token(*sign) == "=")?;
        if self.rule != Rule::def_statement || sign + 1 >= self.cx.tokens.end {
            return None;
        }
        let value = self.source_of_tokens(sign + 1..self.cx.tokens.end);
        let params: Vec<&str> = self.source_of_tokens(start + 3..close).split(',').map(str::trim).collect();
        let params = foreign::write_typed_parameters(&params, value);
        let head = format!("{}({params})", self.source_of_tokens(start..start + 2));
        if !remedy::is_valid_statement(&format!("{head} = {value}")) {
            return None;
        }
        let help = message!("write `{head} = …`, with the types that the callers give", head = head.clone());
        let span = self.span_of_tokens(start..close + 1);
        let message = message!("a parameter needs a type");
        Some(unexpected_token(self.span, message, help).likely_fix(span, head))
    }

    /// Returns the diagnostic for a `let` after `where`, as in `where let big = n > 3`. `None`
    /// without such a mistake.
    pub(super) fn let_after_where_error(&self) -> Option<Diagnostic> {
        let is_word = matches!(self.found_text, "let" | "const" | "var" | "val" | "def");
        let is_definition = self.kind_of_token(self.token_index + 1) == Some(TokenKind::Word);
        let where_word = (self.cx.tokens.start..self.token_index)
            .rev()
            .find(|index| self.text_of_token(*index) == "where")?;
        let follows = where_word + 1 == self.token_index || self.is_preceded_by(",");
        if !is_word || !is_definition || !follows {
            return None;
        }
        let message = message!("the names after `where` are written without `{}`", self.found_text);
        let removed = Span { end: self.cx.significant[self.token_index + 1].token.start, ..self.span };
        let help = message!("remove the `{}`", self.found_text);
        Some(unexpected_token(self.span, message, help).fix(removed, ""))
    }

    /// Returns the diagnostic for the name of a part of a condition with a colon, as in `with
    /// waited: now - sent`. The unexpected token is the colon. `None` without such a mistake.
    pub(super) fn local_name_with_colon_error(&self) -> Option<Diagnostic> {
        let name = self.token_index.checked_sub(1)?;
        let word = name.checked_sub(1)?;
        let has_locals = matches!(self.rule, Rule::route_statement | Rule::router_statement);
        let is_head = WORDS_FOR_WHERE.contains(&self.text_of_token(word))
            && self.kind_of_token(name) == Some(TokenKind::Word);
        let has_condition = (self.cx.tokens.start..word).any(|index| self.text_of_token(index) == "when");
        let before = self.text_of_token(word.checked_sub(1)?);
        // `any x with x: …` is a quantifier.
        let is_quantifier = (word.saturating_sub(3)..word).any(|index| {
            matches!(self.text_of_token(index), "any" | "all" | "count" | "first" | "last" | "sum")
        }) || matches!(before, "any" | "all" | "." | "when" | "and" | "or" | "not");
        let arrow = (self.token_index..self.cx.tokens.end)
            .find(|index| matches!(self.text_of_token(*index), "->" | "=>"))?;
        if self.found_text != ":" || !has_locals || !is_head || !has_condition || is_quantifier {
            return None;
        }
        let value = self.source_of_tokens(self.token_index + 1..arrow);
        let head = format!("where {} =", self.text_of_token(name));
        let message = message!("the names of parts of a condition follow `where`, with `=`");
        let help = match value.contains('\n') || value.is_empty() {
            true => message!("write `{head}`", head = head.clone()),
            false => message!("write `{written}`", written = format!("{head} {value}")),
        };
        let span = self.span_of_tokens(word..self.token_index + 1);
        Some(unexpected_token(span, message, help).likely_fix(span, head))
    }
}
