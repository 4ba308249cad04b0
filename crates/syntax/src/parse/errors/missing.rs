//! Diagnostics for statements that lack `when`, `case` or `->`. They suggest where to write the
//! missing word.

use super::super::context::unexpected_token;
use super::super::terminals::is_reserved;
use super::super::{Rule, foreign};
use super::ParseFailure;
use crate::lex::{Token, TokenKind};
use rulec_base::diag::{Diagnostic, nearest};
use rulec_base::message;
use rulec_base::span::Span;

/// The type names that are recognized in `let total = price: decimal`, for which the help suggests
/// `as`.
const SUGGESTED_TYPE_NAMES: [&str; 8] =
    ["string", "int", "number", "float", "bool", "decimal", "datetime", "list"];

impl ParseFailure<'_, '_> {
    pub(super) fn missing_when_error(&self) -> Option<Diagnostic> {
        let (span, found) = (self.span, self.found_text);
        if self.rule == Rule::router_statement {
            return self.missing_router_case_word_error();
        }
        if matches!(found, "salience" | "order" | "weight" | "rank") {
            let message = message!("the order of routes is set with `priority`, not `{found}`");
            return Some(foreign::foreign_syntax_error(span, message, "priority"));
        }
        if matches!(
            found,
            "if" | "where" | "match" | "unless" | "on" | "当" | "如果" | "WHEN" | "When" | "IF"
        ) {
            let message = message!("the condition of a route must follow `when`, not `{found}`");
            return match found {
                "unless" => self.unexpected_token(
                    message,
                    message!("write `when CONDITION unless EXCEPTION`, or `when not (…)`"),
                ),
                _ => Some(foreign::foreign_syntax_error(span, message, "when")),
            };
        }
        let is_colon_before_when = found == ":"
            && self
                .cx
                .significant
                .get(self.token_index + 1)
                .is_some_and(|item| self.token_text(item.token) == "when");
        if matches!(found, ":" | "=" | "{") && !is_colon_before_when {
            let message = message!("expected `when` and a condition, found `{found}`");
            return self.unexpected_token(message, message!("write `route NAME when CONDITION -> HANDLER`"));
        }
        if found == "<" {
            let message = message!("expected `when` and a condition, found `<`");
            return self.unexpected_token(message, message!("write `route NAME when CONDITION -> HANDLER`"));
        }
        if found == "->" || found == "=>" {
            let help =
                message!("write `when` and a condition before `->`; for the rest write `default -> HANDLER`");
            return self.unexpected_token(message!("this route has no condition"), help);
        }
        if self.is_at_end() {
            return None;
        }
        let next =
            self.cx.significant.get(self.token_index + 1).map_or("", |item| self.token_text(item.token));
        if found == ":"
            || matches!(found, "with" | "has" | "at" | "and") && matches!(next, "priority" | "disabled")
        {
            let message = message!("a route has no `{}` here", found);
            let diagnostic = unexpected_token(span, message, message!("remove the `{found}`"));
            return Some(diagnostic.fix(span, ""));
        }
        if let Some(joined) = foreign::join_words_to_name(self.cx.text, self.span.range().start) {
            return self.unexpected_token(
                message!("a name is one word, but `{found}` is a second word"),
                message!("write `{joined}`"),
            );
        }
        let message = message!("expected `when` before the condition, found {}", self.describe_found());
        let diagnostic = self.unexpected_token(message, message!("write `when` before the condition"))?;
        Some(diagnostic.likely_fix(Span { end: span.start, ..span }, "when "))
    }

    /// Returns a diagnostic for a router case that has neither `when` nor `otherwise`. `None`
    /// without such a mistake.
    pub(super) fn missing_router_case_word_error(&self) -> Option<Diagnostic> {
        let fallback_word_error = |token: Token| {
            let message =
                message!("the fallback case of a router is `otherwise`, not `{}`", self.token_text(token));
            Some(foreign::foreign_syntax_error(token.span(self.cx.file), message, "otherwise"))
        };
        match self.found_text {
            "default" | "else" | "_" => return fallback_word_error(self.token),
            "->" | "=>" => {}
            _ => return None,
        }
        // If `otherwise` is misspelt, the grammar parsed the word as part of the previous case.
        let word = self.token_before().filter(|token| token.kind == TokenKind::Word);
        if let Some(word) = word.filter(|word| nearest(self.token_text(*word), ["otherwise"]).is_some()) {
            return fallback_word_error(word);
        }
        let help =
            message!("write `when` and a condition before `->`; for the rest write `otherwise -> NODE`");
        self.unexpected_token(message!("this case has no condition"), help)
    }

    /// Returns a diagnostic for a condition without `->` after it. The author may have meant
    /// another word or symbol as the arrow. `None` without such a mistake.
    pub(super) fn missing_arrow_error(&self) -> Option<Diagnostic> {
        let file = self.cx.file;
        let arrow_error = |span: Span| {
            let what = &self.cx.text[span.range()];
            Some(foreign::foreign_syntax_error(
                span,
                message!("the handler must follow `->`, not `{what}`"),
                "->",
            ))
        };
        if let Some(diagnostic) = self.foreign_condition_error() {
            return Some(diagnostic);
        }
        if matches!(self.found_text, ":" | "then" | "THEN" | "Then") {
            return self.foreign_mark_in_condition_error().or_else(|| arrow_error(self.span));
        }
        let significant = &self.cx.significant[self.cx.tokens.start..self.token_index];
        let has_text = |index: usize, word: &str| self.token_text(significant[index].token) == word;
        let word = |word| {
            (0..significant.len())
                .rfind(|index| has_text(*index, word) && (*index == 0 || !has_text(index - 1, ".")))
        };
        if word("if").is_some() {
            let message = message!("expected `->` and a handler, found {}", self.describe_found());
            return self.unexpected_token(message, foreign::NO_IF_HELP);
        }
        if let Some(then_index) = word("then") {
            return arrow_error(significant[then_index].token.span(file));
        }
        if let Some(minus) =
            (2..significant.len()).rfind(|index| has_text(*index, ">") && has_text(index - 1, "-"))
        {
            return arrow_error(
                significant[minus - 1].token.span(file).to(significant[minus].token.span(file)),
            );
        }
        // `when text == "x" handler`: the handler was parsed as part of the condition.
        let [.., head, name] = significant else { return None };
        let (head, name) = (head.token, name.token);
        let before = self.token_index.checked_sub(3).filter(|index| *index >= self.cx.tokens.start);
        let follows_operand = before.is_some_and(|index| {
            let before = self.cx.significant[index].token;
            before.kind.ends_operand() && !rulec_lang::operators::is_reserved_word(self.token_text(before))
        });
        if follows_operand && name.kind == TokenKind::Word {
            match self.token_text(head) {
                "goto" => {
                    let jump = head.span(file);
                    let message = message!("expected `->` before `goto`");
                    let help = message!("write `-> goto {}`", self.token_text(name));
                    let diagnostic = unexpected_token(jump, message, help);
                    return Some(diagnostic.fix(Span { end: jump.start, ..jump }, "-> "));
                }
                "return" | "do" | "call" | "to" | "go" | "run" | "use" => {
                    return arrow_error(head.span(file));
                }
                _ => {}
            }
        }
        if !matches!(name.kind, TokenKind::Word | TokenKind::Quoted) {
            return None;
        }
        let word = self.token_text(head);
        let is_operand = head.kind.ends_operand()
            && !(head.kind == TokenKind::Word
                && (is_reserved(word) || rulec_lang::operators::is_reserved_word(word)));
        if !is_operand || !self.is_at_end() && self.found_text != "{" {
            return None;
        }
        let (span, handler) = (name.span(file), self.token_text(name));
        let message = message!("expected `->` before the handler `{handler}`");
        let diagnostic = unexpected_token(span, message, message!("write `-> {handler}`"));
        Some(diagnostic.fix(Span { end: span.start, ..span }, "-> "))
    }

    /// Returns a diagnostic for `:` or `then` within the condition of a route, where an arrow
    /// follows later. `None` if no arrow follows, because the symbol or word was then meant as the
    /// arrow.
    fn foreign_mark_in_condition_error(&self) -> Option<Diagnostic> {
        let after = self.token_index + 1;
        let is_arrow = |index: &usize| matches!(self.text_of_token(*index), "->" | "=>");
        (after..self.cx.tokens.end).find(is_arrow)?;
        let found = self.found_text;
        // In `history within: 1h: …`, the first colon was read as the colon of the quantifier.
        let early = (self.cx.tokens.start + 1..self.token_index).find(|index| {
            self.text_of_token(*index) == ":"
                && matches!(self.text_of_token(index - 1), "within" | "after" | "before")
        });
        if let Some(colon) = early {
            let span = self.span_of_tokens(colon..colon + 1);
            let message = message!("no `{found}` is written here", found = ":");
            return Some(
                unexpected_token(span, message, message!("remove the `{found}`", found = ":")).fix(span, ""),
            );
        }
        if is_arrow(&after) {
            let message = message!("no `{found}` is written here");
            let diagnostic = unexpected_token(self.span, message, message!("remove the `{found}`"));
            let start = self.token_before()?.end;
            return Some(diagnostic.fix(Span { start, ..self.span }, ""));
        }
        let message = message!("a condition contains no `{found}`");
        let help = message!("join conditions with `and` or `or`, and write the handler after `->`");
        self.unexpected_token(message, help)
    }

    /// Returns a diagnostic for a field and its value with `:` between them, as in a JSON object:
    /// `when n: 3 -> h`. The unexpected token is the colon. `None` without such a mistake.
    pub(super) fn colon_as_comparison_error(&self) -> Option<Diagnostic> {
        let is_condition = matches!(
            self.rule,
            Rule::route_statement | Rule::let_statement | Rule::def_statement | Rule::router_statement
        );
        let name = self.token_index.checked_sub(1)?;
        if self.found_text != ":" || !is_condition {
            return None;
        }
        let is_quoted = self.kind_of_token(name) == Some(TokenKind::String);
        let start = if is_quoted { name } else { self.path_start(self.token_index)? };
        let field = self.source_of_tokens(start..name + 1).trim_matches('"');
        let is_path = field.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
            && field.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let follows_logic = matches!(
            self.text_of_token(start.checked_sub(1)?),
            "when" | "and" | "or" | "unless" | "not" | "&&" | "||" | "(" | "="
        );
        let value = self.token_index + 1;
        let ends = |index: &usize| {
            matches!(
                self.text_of_token(*index),
                "and" | "or" | "unless" | "->" | "=>" | "&&" | "||" | "where"
            )
        };
        let end = self.expression_end(value);
        let end = (value..end).find(ends).unwrap_or(end);
        let has_arrow =
            (value + 1..self.cx.tokens.end).any(|index| matches!(self.text_of_token(index), "->" | "=>"));
        if !is_path || !follows_logic || end == value || self.rule == Rule::route_statement && !has_arrow {
            return None;
        }
        let word = self.text_of_token(value);
        let is_name = end == value + 1
            && self.kind_of_token(value) == Some(TokenKind::Word)
            && !matches!(word, "true" | "false" | "null");
        // `let total = price: decimal`
        if is_name && self.rule == Rule::let_statement && SUGGESTED_TYPE_NAMES.contains(&word) {
            let span = self.span_of_tokens(start..end);
            let written = format!("{field} as {word}");
            let message = message!("the type of a value follows `as`, not `:`");
            let help = message!("write `{written}`");
            return Some(unexpected_token(self.span, message, help).likely_fix(span, written));
        }
        // In `when vip: h -> x`, the colon was meant as the arrow.
        if is_name && self.rule == Rule::route_statement {
            return None;
        }
        let written = match word {
            "{" => self.write_comparisons_of_record(field, value)?,
            "[" => format!("{field} in {}", self.source_of_tokens(value..end)),
            "null" => format!("{field} is missing"),
            _ => format!("{field} == {}", self.source_of_tokens(value..end)),
        };
        let span = self.span_of_tokens(start..end);
        let message = message!("a field is compared with `==`, not with `:`");
        let help = message!("write `{written}`");
        Some(unexpected_token(self.span, message, help).likely_fix(span, written))
    }

    /// Returns the comparisons of a field that a record of operators means: `n >= 3 and n < 9` for
    /// `{ gte: 3, lt: 9 }`. `open` is the token of the record's opening brace. `None` for other
    /// records.
    fn write_comparisons_of_record(&self, field: &str, open: usize) -> Option<String> {
        let close = self.closing_bracket_or_end(open);
        let mut comparisons = Vec::new();
        let mut index = open + 1;
        while index < close {
            let operator = foreign::operator_for_query_name(self.text_of_token(index).trim_matches('"'))?;
            let end = (index + 2..close).find(|end| self.text_of_token(*end) == ",").unwrap_or(close);
            if self.text_of_token(index + 1) != ":"
                || end == index + 2
                || self.text_of_token(index + 2) == "{"
            {
                return None;
            }
            comparisons.push(format!("{field} {operator} {}", self.source_of_tokens(index + 2..end)));
            index = end + 1;
        }
        (!comparisons.is_empty()).then(|| comparisons.join(" and "))
    }
}
