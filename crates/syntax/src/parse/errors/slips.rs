//! Diagnostics for small mistakes at the token where parsing fails, such as a missing quote. The
//! suggested fix contains the author's own words. These diagnostics are tried before the more
//! general ones of the module `habits`.

mod addresses;
mod allowed_values;
mod arguments;
mod bodies;
mod commas;
mod comprehensions;
mod definitions;
mod english;
mod field_words;
mod fields;
mod flows;
mod foreign_types;
mod forms;
mod functions;
mod graphs;
mod imports;
mod items;
mod nodes;
mod order;
mod parts;
mod quantifiers;
mod statements;
mod synonyms;
mod targets;
mod tests;
mod texts;
mod words;

use super::super::case_when::case_when_error;
use super::super::{Rule, foreign, permissions, shapes};
use super::ParseFailure;
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;
use std::ops::Range;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a small mistake at the unexpected token. `None` if none is
    /// recognized.
    pub(super) fn small_mistake_error(&self) -> Option<Diagnostic> {
        let first = self.spaced_unit_error().or_else(|| self.foreign_element_condition_error());
        let first = first.or_else(|| self.loop_as_quantifier_error());
        if let Some(diagnostic) = first.or_else(|| case_when_error(self.cx, self.token_index)) {
            return Some(diagnostic);
        }
        if self.is_at_end() {
            return self.quantifier_without_condition_error();
        }
        if let Some(diagnostic) = self.malformed_list_file_error() {
            return Some(diagnostic);
        }
        permissions::permission_of_route_error(self.cx, self.token_index)
            .or_else(|| self.foreign_part_error())
            .or_else(|| self.unquoted_address_error())
            .or_else(|| self.workflow_or_router_part_error())
            .or_else(|| self.foreign_definition_or_target_error())
            .or_else(|| self.element_after_list_error())
            .or_else(|| self.let_with_parameters_error())
            .or_else(|| self.let_after_where_error())
            .or_else(|| self.local_name_with_colon_error())
            .or_else(|| self.declaration_in_words_error())
            .or_else(|| self.window_before_list_error())
            .or_else(|| self.quantifier_with_number_error())
            .or_else(|| self.regex_between_slashes_error())
            .or_else(|| self.bound_in_type_error())
            .or_else(|| self.text_in_parts_error())
            .or_else(|| self.keyword_before_name_error())
            .or_else(|| self.test_part_error())
            .or_else(|| self.misused_word_error())
            .or_else(|| self.type_of_definition_error())
            .or_else(|| self.body_of_extern_error())
            .or_else(|| self.symbol_in_name_error())
            .or_else(|| self.misplaced_word_or_symbol_error())
            .or_else(|| self.misordered_clauses_error())
            .or_else(|| self.field_declaration_error())
            .or_else(|| self.foreign_type_form_error())
            .or_else(|| self.comma_after_condition_error())
            .or_else(|| self.colon_as_comparison_error())
            .or_else(|| self.unquoted_literal_error())
            .or_else(|| self.ternary_error())
            .or_else(|| self.unnamed_arguments_error())
            .or_else(|| self.entry_without_value_error())
            .or_else(|| self.arrow_as_comparison_error())
            .or_else(|| self.else_after_route_error())
            .or_else(|| self.wrong_quantifier_separator_error())
            .or_else(|| self.allowed_values_in_type_error())
            .or_else(|| self.dashed_list_error())
            .or_else(|| self.comma_in_test_error())
            .or_else(|| self.next_index_in_test_error())
            .or_else(|| self.priority_after_target_error())
            .or_else(|| self.unquoted_text_error())
            .or_else(|| self.foreign_part_word_error())
    }

    /// Returns the diagnostic for a list with elements from a file if the `=` or the quotes are
    /// missing: `list words from "a.txt"`, `list words = a.txt`. `None` without such a mistake.
    fn malformed_list_file_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::list_statement {
            return None;
        }
        if self.found_text == "from" && self.expects_rule(Rule::equals) {
            let start = Span { end: self.span.start, ..self.span };
            let message = message!("the name and its value are separated by `=`");
            let written = format!("{} = from", self.source_of_tokens(self.cx.tokens.start..self.token_index));
            return Some(
                super::unexpected_token(self.span, message, message!("write `{written}`")).fix(start, "= "),
            );
        }
        shapes::unquoted_file_name_error(self.cx)
    }

    /// Returns the text of a token of the statement, or an empty text. `index` is the index of the
    /// token among the significant tokens of the file.
    pub(super) fn text_of_token(&self, index: usize) -> &str {
        let is_inside = self.cx.tokens.contains(&index);
        self.cx.significant.get(index).filter(|_| is_inside).map_or("", |item| self.token_text(item.token))
    }

    pub(super) fn kind_of_token(&self, index: usize) -> Option<TokenKind> {
        self.cx.significant.get(index).filter(|_| self.cx.tokens.contains(&index)).map(|item| item.token.kind)
    }

    /// Returns the span of a range of tokens, which must not be empty.
    pub(super) fn span_of_tokens(&self, tokens: Range<usize>) -> Span {
        let span = |index: usize| self.cx.significant[index].token.span(self.cx.file);
        span(tokens.start).to(span(tokens.end - 1))
    }

    pub(super) fn source_of_tokens(&self, tokens: Range<usize>) -> &str {
        match tokens.is_empty() {
            true => "",
            false => &self.cx.text[self.span_of_tokens(tokens).range()],
        }
    }

    /// Returns the diagnostic for a declaration keyword before a name that the statement only
    /// refers to: `-> handler bot`. `None` without such a mistake.
    fn keyword_before_name_error(&self) -> Option<Diagnostic> {
        let expects_name = self.expects_rule(Rule::name) || self.expects_rule(Rule::target);
        let is_keyword = matches!(self.found_text, "handler" | "table" | "route" | "flow" | "list" | "let");
        let after = self.token_index + 1;
        let is_name = matches!(self.kind_of_token(after), Some(TokenKind::Word | TokenKind::Quoted))
            && !super::is_reserved(self.text_of_token(after));
        let is_reference = self.is_preceded_by("->") || self.is_preceded_by("goto");
        // At the start of a line, or before `=`, `when` or `priority`, the keyword begins the next
        // statement.
        let begins_line =
            self.cx.significant.get(self.token_index).is_some_and(|item| item.indent().is_some());
        let begins_statement =
            begins_line || matches!(self.text_of_token(after + 1), "=" | "when" | "priority");
        if !expects_name || !is_keyword || !is_name || !is_reference || begins_statement {
            return None;
        }
        let name = self.text_of_token(after);
        let span = self.span_of_tokens(self.token_index..after + 1);
        if self.found_text == "table" && self.is_preceded_by("->") {
            let message = message!("a table is entered by `goto`");
            return Some(foreign::foreign_syntax_error(span, message, &format!("goto {name}")));
        }
        let message = message!("the name follows without `{}`", self.found_text);
        Some(super::unexpected_token(self.span, message, message!("write `{name}`")).fix(span, name))
    }

    /// Returns the diagnostic for an address, version or date without quotes: `10.0.0.1`, `1.2.3`,
    /// `2026-01-31T10:00:00Z`. `None` without such a mistake.
    fn unquoted_literal_error(&self) -> Option<Diagnostic> {
        let is_part = |index: usize| {
            use TokenKind::{Colon, Dot, Number, Operator};
            let kind = self.kind_of_token(index)?;
            let is_sign = matches!(self.text_of_token(index), "-" | "+" | "/");
            (matches!(kind, Number | Dot | Colon) || kind == Operator && is_sign).then_some(())
        };
        let touches =
            |index: usize| self.cx.significant[index - 1].token.end == self.cx.significant[index].token.start;
        is_part(self.token_index)?;
        let mut first = self.token_index;
        while first > self.cx.tokens.start && touches(first) && is_part(first - 1).is_some() {
            first -= 1;
        }
        let mut end = self.token_index + 1;
        while end < self.cx.tokens.end && touches(end) && is_part(end).is_some() {
            end += 1;
        }
        if first + 3 > end {
            return None;
        }
        foreign::bare_literal_error(self.span_of_tokens(first..end), self.source_of_tokens(first..end))
    }

    /// Returns the end of the expression that begins at the token `start`. This is the index of the
    /// first token outside brackets that cannot continue the expression.
    pub(super) fn expression_end(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        for index in start..self.cx.tokens.end {
            let kind = self.cx.significant[index].token.kind;
            let ends = kind.closes_bracket()
                || matches!(kind, TokenKind::Arrow | TokenKind::Comma | TokenKind::Semicolon);
            if depth == 0 && ends {
                return index;
            }
            depth += usize::from(kind.opens_bracket());
            depth -= usize::from(kind.closes_bracket());
        }
        self.cx.tokens.end
    }

    /// Returns the index of the first token of the expression that ends before the token `end`.
    pub(super) fn expression_start(&self, end: usize) -> usize {
        let mut depth = 0_usize;
        for index in (self.cx.tokens.start..end).rev() {
            let (kind, text) = (self.cx.significant[index].token.kind, self.text_of_token(index));
            use TokenKind::{Arrow, Colon, Comma, Semicolon};
            let begins = kind.opens_bracket()
                || matches!(kind, Arrow | Comma | Semicolon | Colon)
                || matches!(text, "when" | "=");
            if depth == 0 && begins {
                return index + 1;
            }
            depth += usize::from(kind.closes_bracket());
            depth -= usize::from(kind.opens_bracket());
        }
        self.cx.tokens.start
    }

    /// Returns the diagnostic for `a ? b : c`, as a value or as the target of a route. `None`
    /// without such a mistake.
    fn ternary_error(&self) -> Option<Diagnostic> {
        let is_mark = |index: &usize| self.text_of_token(*index) == "?";
        let is_value = self.found_text == ":";
        let mark = match is_value {
            true => (self.cx.tokens.start..self.token_index).rev().find(is_mark)?,
            // In `-> ctx.vip ? a : b`, parsing fails at the `.`, because `ctx` was parsed as a
            // handler.
            false if matches!(self.found_text, "." | "?") => {
                (self.token_index..self.cx.tokens.end).find(is_mark)?
            }
            false => return None,
        };
        let start = self.expression_start(mark);
        let colon = (mark..self.cx.tokens.end).find(|index| self.text_of_token(*index) == ":")?;
        let end = self.expression_end(colon + 1);
        if start == mark || mark + 1 == colon || colon + 1 == end {
            return None;
        }
        let parts = [start..mark, mark + 1..colon, colon + 1..end].map(|part| self.source_of_tokens(part));
        let [condition, then, other] = parts;
        let span = self.cx.significant[mark].token.span(self.cx.file);
        let message = message!("`? :` is not an operator");
        let before = start.checked_sub(1).filter(|before| *before >= self.cx.tokens.start);
        if before.is_some_and(|before| self.text_of_token(before) == "->") {
            let help = message!(
                "write two routes: one with `and {condition} -> {then}`, and after it one with `-> {other}`"
            );
            return Some(super::unexpected_token(span, message, help));
        }
        if !is_value {
            return None;
        }
        let replacement = format!("if {condition} then {then} else {other}");
        let diagnostic = super::unexpected_token(span, message, message!("write `{replacement}`"));
        Some(diagnostic.likely_fix(self.span_of_tokens(start..end), replacement))
    }

    /// Returns the diagnostic for an arrow instead of `>=`, as in `n => 3`. `None` without such a
    /// mistake.
    fn arrow_as_comparison_error(&self) -> Option<Diagnostic> {
        let is_arrow = |index: usize| self.text_of_token(index) == "=>";
        let is_literal =
            |index: usize| matches!(self.kind_of_token(index), Some(TokenKind::Number | TokenKind::String));
        let arrow = match self.token_index.checked_sub(1) {
            Some(before) if is_arrow(before) && is_literal(self.token_index) => before,
            _ if is_arrow(self.token_index) && is_literal(self.token_index + 1) => self.token_index,
            // In `when n => limit -> h`, the first arrow was parsed as the arrow of the route.
            _ if matches!(self.found_text, "->" | ".")
                && self.rule == Rule::route_statement
                && (self.token_index..self.cx.tokens.end).any(|index| self.text_of_token(index) == "->") =>
            {
                (self.cx.tokens.start..self.token_index).find(|index| is_arrow(*index))?
            }
            _ => return None,
        };
        let span = self.cx.significant[arrow].token.span(self.cx.file);
        let message = message!("`=>` is not a comparison");
        Some(foreign::foreign_syntax_error(span, message, ">="))
    }

    /// Returns the diagnostic for an `else` after a route: `-> h else -> g`, `else if C -> g`.
    /// `None` without such a mistake.
    fn else_after_route_error(&self) -> Option<Diagnostic> {
        let is_route = matches!(self.rule, Rule::route_statement | Rule::default_statement);
        let is_else =
            matches!(self.found_text, "else" | "otherwise" | "elif" | "elsif" | "elseif" | "ELSE" | "Else");
        if !is_route || !is_else || !self.expects_rule(Rule::EOI) {
            return None;
        }
        let after = self.token_index + 1;
        let message = message!("a route has no `{}`", self.found_text);
        if matches!(self.text_of_token(after), "->" | "=>" | ":") {
            let target = self.text_of_token(after + 1);
            let help = message!(
                "for messages that no route matches, write `default -> {target}` on a line of its own"
            );
            let span = self.span_of_tokens(self.token_index..after + 1);
            let diagnostic = super::unexpected_token(self.span, message, help);
            return Some(diagnostic.fix(span, "\ndefault ->"));
        }
        self.unexpected_token(
            message,
            message!(
                "write a route for each condition: `route NAME when CONDITION -> HANDLER`; routes are tried \
                in their order"
            ),
        )
    }

    /// Returns the diagnostic for a quantifier that has another word or symbol where `:` is
    /// required, such as `any a in list where a > 3`. `None` without such a mistake.
    fn wrong_quantifier_separator_error(&self) -> Option<Diagnostic> {
        let is_separator =
            matches!(self.found_text, "where" | "if" | "with" | "having" | "|" | "=>" | "satisfies");
        let expects_condition = self.expects_rule(Rule::colon)
            && (self.cx.tokens.start..self.token_index)
                .any(|index| matches!(self.text_of_token(index), "any" | "all" | "count"));
        if !is_separator || !expects_condition {
            return None;
        }
        let message = message!("the condition on each element follows `:`, not `{}`", self.found_text);
        let before = self.token_before()?;
        let span = Span { start: before.end, ..self.span };
        Some(super::unexpected_token(self.span, message, message!("write `:`")).fix(span, ":"))
    }

    /// Returns the index of the bracket that closes the bracket at `open`, or the end of the
    /// statement if the bracket is unclosed.
    pub(super) fn closing_bracket_or_end(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for index in open..self.cx.tokens.end {
            let (kind, text) = (self.cx.significant[index].token.kind, self.text_of_token(index));
            depth += usize::from(kind.opens_bracket() || text == "<");
            depth -= usize::from(kind.closes_bracket() || text == ">");
            if depth == 0 {
                return index;
            }
        }
        self.cx.tokens.end
    }

    /// Returns the diagnostic for `list words:` with a dash before each element, as in YAML. `None`
    /// without such a mistake.
    fn dashed_list_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::list_statement || self.found_text != ":" {
            return None;
        }
        let elements = self.token_index + 1..self.cx.tokens.end;
        let list = foreign::dashed_lines_to_list(self.source_of_tokens(elements))?;
        let span = self.span_of_tokens(self.token_index..self.cx.tokens.end);
        let message = message!("the elements of a list are written in brackets");
        let diagnostic = super::unexpected_token(self.span, message, message!("write `= {list}`"));
        Some(diagnostic.fix(span, format!(" = {list}")))
    }

    /// Returns the diagnostic for `next[0]` where a test expects a node, as in `expect check ->
    /// next[0]`. A test must name the node itself. `None` without such a mistake.
    fn next_index_in_test_error(&self) -> Option<Diagnostic> {
        let is_next = self.found_text == "["
            && self.is_preceded_by("next")
            && self.token_index >= 2
            && matches!(self.text_of_token(self.token_index - 2), "->" | ",");
        if self.rule != Rule::test_statement || !is_next {
            return None;
        }
        let message = message!("a test names the next node itself");
        let help = message!(
            "give the nodes, as in `given next = [\"draft\", \"done\"]`, and expect one of them, as in \
            `-> draft`"
        );
        self.unexpected_token(message, help)
    }

    /// Returns the diagnostic for a definition with a type: `let x: bool = …`. `None` without such
    /// a mistake.
    pub(super) fn typed_definition_error(&self) -> Option<Diagnostic> {
        let equals =
            (self.token_index..self.cx.tokens.end).find(|index| self.text_of_token(*index) == "=")?;
        let span = self.span_of_tokens(self.token_index..equals);
        let message = message!("a definition has no type: the type follows from its value");
        let help = message!("remove `{}`", self.source_of_tokens(self.token_index..equals));
        Some(super::unexpected_token(self.span, message, help).fix(span, ""))
    }

    /// Returns the diagnostic for a list without brackets: `list words = "a", "b"`. `None` without
    /// such a mistake.
    pub(super) fn list_without_brackets_error(&self) -> Option<Diagnostic> {
        let equals =
            (self.cx.tokens.start..self.token_index).find(|index| self.text_of_token(*index) == "=")?;
        let elements = equals + 1..self.cx.tokens.end;
        let (span, list) =
            (self.span_of_tokens(elements.clone()), format!("[{}]", self.source_of_tokens(elements)));
        let message = message!("the elements of a list are written in brackets");
        let diagnostic = super::unexpected_token(self.span, message, message!("write `{list}`"));
        Some(diagnostic.fix(span, list))
    }

    /// Finds a field whose `?` follows its type, as in `n: int?`, and returns its span and its
    /// correct spelling. The unexpected token is the `?`. `None` if no field ends before the `?`.
    pub(super) fn find_misplaced_optional_mark(&self) -> Option<(Span, String)> {
        let colon = self.colon_before(self.token_index)?;
        let first = colon - 1;
        let field =
            format!("{}?: {}", self.text_of_token(first), self.source_of_tokens(colon + 1..self.token_index));
        Some((self.span_of_tokens(first..self.token_index + 1), field))
    }

    /// Returns the diagnostic for `priority` or `disabled` at the end of a route, as in `-> h
    /// priority 10`. Both must precede `when`. `None` without such a mistake.
    fn priority_after_target_error(&self) -> Option<Diagnostic> {
        let is_late = self.rule == Rule::route_statement
            && matches!(self.found_text, "priority" | "disabled")
            && self.expects_rule(Rule::EOI);
        let rest = self.source_of_tokens(self.token_index..self.cx.tokens.end);
        is_late.then_some(())?;
        self.unexpected_token(
            message!("`{word}` must be written before `when`", word = self.found_text),
            message!("write `route NAME {rest} when … -> …`"),
        )
    }

    /// Returns the diagnostic for a text without quotes that contains `@`: `contains @example.com`.
    /// `None` without such a mistake.
    fn unquoted_text_error(&self) -> Option<Diagnostic> {
        if self.found_text != "@" || self.statement_declares_fields() {
            return None;
        }
        let touches =
            |index: usize| self.cx.significant[index - 1].token.end == self.cx.significant[index].token.start;
        let end = (self.token_index + 1..self.cx.tokens.end)
            .find(|index| !touches(*index))
            .unwrap_or(self.cx.tokens.end);
        let text = format!("\"{}\"", self.source_of_tokens(self.token_index..end));
        let span = self.span_of_tokens(self.token_index..end);
        Some(foreign::foreign_syntax_error(span, message!("a text is written in quotes"), &text))
    }

    /// Returns the diagnostic for several fields or results after one `given` or `expect` of a
    /// test: `given a = 1, b = 2`. `None` without such a mistake.
    fn comma_in_test_error(&self) -> Option<Diagnostic> {
        let next = self.text_of_token(self.token_index + 1);
        if self.rule != Rule::test_statement
            || !matches!(self.found_text, "," | ";")
            || matches!(next, "given" | "expect" | "}")
        {
            return None;
        }
        let before = (self.cx.tokens.start..self.token_index).rev();
        let word =
            before.map(|index| self.text_of_token(index)).find(|text| matches!(*text, "given" | "expect"))?;
        let message = message!("each `{word}` has one part");
        let diagnostic =
            super::unexpected_token(self.span, message, message!("write `{word} {next} …` on its own"));
        Some(diagnostic.fix(self.span, format!(" {word}")))
    }
}
