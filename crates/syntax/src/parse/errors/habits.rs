//! Diagnostics for syntax of other languages at the token where parsing fails: comments,
//! separators, types and schema keywords. Each diagnostic gives the syntax of this language
//! instead.

use super::super::foreign_comments::foreign_comment_error;
use super::super::{Rule, foreign, remedy};
use super::{ParseFailure, is_payload_item};
use crate::lex::TokenKind;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;

impl ParseFailure<'_, '_> {
    /// Returns a diagnostic for syntax of another language, in any kind of statement. `None`
    /// without such a mistake.
    pub(super) fn foreign_syntax_in_statement_error(&self) -> Option<Diagnostic> {
        if self.is_at_end() {
            return None;
        }
        // `/*` and `(*` are two tokens, and the first one may continue a statement.
        let touching = self.token_before().filter(|before| before.end == self.token.start);
        if let Some(before) = touching.filter(|before| matches!(self.token_text(*before), "/" | "("))
            && self.found_text == "*"
        {
            return foreign_comment_error(self.cx.file, self.cx.text, before.start as usize)
                .map(|diagnostic| Diagnostic { code: Code::Unexpected, ..diagnostic });
        }
        if self.rest_of_source().starts_with("--") && !self.is_value_expected()
            || self.rest_of_source().starts_with("/*")
        {
            let start = self.span.range().start;
            return foreign_comment_error(self.cx.file, self.cx.text, start)
                .map(|diagnostic| Diagnostic { code: Code::Unexpected, ..diagnostic });
        }
        if is_payload_item(self.rule) {
            return self.foreign_schema_error();
        }
        if self.statement_declares_fields() {
            return self.foreign_type_error();
        }
        self.foreign_symbol_error().or_else(|| self.foreign_value_error())
    }

    /// Returns the source text from the unexpected token on.
    fn rest_of_source(&self) -> &str {
        &self.cx.text[self.token.start as usize..]
    }

    /// Returns the text of the token `count` positions after the unexpected one.
    fn token_text_ahead(&self, count: usize) -> &str {
        self.cx.significant.get(self.token_index + count).map_or("", |item| self.token_text(item.token))
    }

    /// Returns a diagnostic for a symbol where this language uses another symbol or none. `None`
    /// without such a mistake.
    fn foreign_symbol_error(&self) -> Option<Diagnostic> {
        let swap = |wanted: &str, what: Message| {
            let message = message!("{what} by `{wanted}`, not `{}`", self.found_text);
            Some(foreign::foreign_syntax_error(self.span, message, wanted))
        };
        match self.found_text {
            "=" if self.expects_rule(Rule::colon) => {
                swap(":", message!("a name and its value are separated"))
            }
            ":" if self.expects_rule(Rule::equals) && self.rule == Rule::let_statement => self
                .typed_definition_error()
                .or_else(|| swap("=", message!("a name and its value are separated"))),
            ":" if self.expects_rule(Rule::equals) => {
                swap("=", message!("a name and its value are separated"))
            }
            ":" if self.is_preceded_by("when") => self.unexpected_token(
                message!("the condition follows `when` directly"),
                message!("remove the `:`: write `when CONDITION`"),
            ),
            ":" if self.expects_rule(Rule::close_bracket) && self.is_range_with_colon() => self
                .unexpected_token(
                    message!("a range is written with `..` or `..=`"),
                    message!("write it without brackets, as in `x in 1..=3`"),
                ),
            ":" if self.expects_rule(Rule::close_bracket) => self.text_slice_error().or_else(|| {
                self.unexpected_token(
                    message!("an index must be one value"),
                    message!("write `list[0]`; slices of a list are not supported"),
                )
            }),
            ":" if self.is_preceded_by("rank") => self.unexpected_token(
                message!("write the rank without `:`"),
                message!("write for example `rank 3`"),
            ),
            ";" | "," if self.rule == Rule::test_statement => self.unexpected_token(
                message!("the parts of a test are not separated by `{}`", self.found_text),
                message!("remove the `{}`", self.found_text),
            ),
            "," | ";" if self.rule == Rule::router_statement && self.expects_rule(Rule::router_case) => self
                .unexpected_token(
                    message!("the cases of a router are not separated by `{}`", self.found_text),
                    message!("remove the `{}`", self.found_text),
                ),
            ";" if self.expects_rule(Rule::close_paren) && self.expects_rule(Rule::comma) => {
                swap(",", message!("arguments are separated"))
            }
            ";" if self.expects_rule(Rule::close_bracket) => {
                swap(",", message!("the elements of a list are separated"))
            }
            "," if self.expects_rule(Rule::EOI) && self.rule == Rule::list_statement => {
                self.list_without_brackets_error()
            }
            "->" | "=>" if self.expects_rule(Rule::EOI) && self.is_route() => self.unexpected_token(
                message!("a route can lead to only one handler"),
                message!("remove this arrow and what follows it; steps one after another are a `workflow`"),
            ),
            "," if self.expects_rule(Rule::EOI) && self.is_route() => self.unexpected_token(
                message!("a route can lead to only one handler"),
                message!("write a route for each handler"),
            ),
            _ => None,
        }
    }

    /// True if the nearest `[` before the unexpected token follows `in`. If this token is a colon,
    /// the author meant a range, as in `n in [1:3]`.
    fn is_range_with_colon(&self) -> bool {
        let open = (self.cx.tokens.start..self.token_index)
            .rfind(|index| self.cx.significant[*index].token.kind == TokenKind::OpenBracket);
        let before = open.and_then(|open| open.checked_sub(1));
        before.is_some_and(|before| self.token_text(self.cx.significant[before].token) == "in")
    }

    /// Returns a diagnostic for a value in the syntax of another language. `None` without such a
    /// mistake.
    fn foreign_value_error(&self) -> Option<Diagnostic> {
        let is_number = |token: Option<TokenKind>| token == Some(TokenKind::Number);
        let before = self.token_before().map(|token| token.kind);
        if self.expects_rule(Rule::kw_then)
            || self.expects_rule(Rule::kw_else) && !super::is_payload_item(self.rule)
        {
            let word = if self.expects_rule(Rule::kw_then) { "then" } else { "else" };
            let message = message!("expected `{word}`, found {}", self.describe_found());
            let help = message!(
                "to choose between two values, write `if C then a else b`; put a field that is named `if` \
                in backquotes"
            );
            return self.unexpected_token(message, help);
        }
        match self.found_text {
            "," if self.expects_rule(Rule::arrow)
                && is_number(before)
                && self.token_text_ahead(1).starts_with(|c: char| c.is_ascii_digit()) =>
            {
                self.unexpected_token(
                    message!("a number cannot contain `,`"),
                    message!("group digits with `_`, as in `1_000`, and write a fraction after `.`"),
                )
            }
            "," if self.expects_rule(Rule::arrow) => self.unexpected_token(
                message!("several values need a list"),
                message!("write `in [\"a\", \"b\"]` or `contains any [\"a\", \"b\"]`"),
            ),
            "=>" | ":" | "->" if self.expects_rule(Rule::close_paren) => self.unnamed_function_error(),
            "else" | "otherwise" | "default" if self.is_preceded_by("when") => self.unexpected_token(
                message!("`{}` is not a condition", self.found_text),
                message!("for messages that no route matches, write `default -> HANDLER`"),
            ),
            "then" | "else" => self.foreign_condition_error(),
            "input" if self.token_text_ahead(1) == "." => self.unexpected_token(
                message!("`input` is not a value"),
                message!(
                    "read a field of the message by its name alone: write `{}`",
                    self.token_text_ahead(2)
                ),
            ),
            "[" | "("
                if self.is_route()
                    && self.is_preceded_by("->")
                    && (self.found_text == "[" || self.token_text_ahead(2) == ",") =>
            {
                self.unexpected_token(
                    message!("a route can lead to only one handler"),
                    message!("write `-> HANDLER`, and a separate route for each other handler"),
                )
            }
            _ if self.is_preceded_by(".") && is_number(Some(self.token.kind)) => {
                self.number_after_dot_error()
            }
            _ if self.rule == Rule::default_statement && self.is_preceded_by("default") => {
                self.words_after_default_error()
            }
            _ => None,
        }
    }

    /// Returns a diagnostic for the unexpected token, a number after a dot. The author meant the
    /// index of an element, as in `list.0`, or a fraction without its first digit, as in `.5`.
    fn number_after_dot_error(&self) -> Option<Diagnostic> {
        let number = self.found_text;
        let before_dot = self.token_index.checked_sub(2).filter(|index| *index >= self.cx.tokens.start);
        let before_dot = before_dot.map(|index| self.cx.significant[index].token);
        let indexed = before_dot.filter(|token| {
            token.kind.ends_operand()
                && token.kind != TokenKind::Number
                && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        match indexed {
            Some(token) => {
                let dot = self.token_before()?.span(self.cx.file);
                let help = message!("write `{}[{number}]`", self.token_text(token));
                let diagnostic =
                    self.unexpected_token(message!("an element of a list is read by `[` and `]`"), help)?;
                Some(diagnostic.fix(dot.to(self.span), format!("[{number}]")))
            }
            None => self.unexpected_token(
                message!("a number must begin with a digit"),
                message!("write `0.{number}`"),
            ),
        }
    }

    /// Returns a diagnostic for words between `default` and its arrow: a condition or a name, which
    /// a default does not have, or a handler without the arrow. `None` without such words.
    fn words_after_default_error(&self) -> Option<Diagnostic> {
        let target_index = (self.token_index..self.cx.tokens.end)
            .find(|index| self.token_text(self.cx.significant[*index].token) == "->")
            .map(|index| index + 1);
        let target = target_index
            .and_then(|index| self.cx.significant.get(index))
            .map_or("HANDLER", |item| self.token_text(item.token));
        if matches!(self.found_text, "when" | "if" | "unless") {
            let message = message!("a default has no condition");
            let help = message!("with a condition it is a route: write `route NAME when … -> {target}`");
            return self.unexpected_token(message, help);
        }
        if self.token.kind != TokenKind::Word {
            return None;
        }
        let gap = Span { end: self.span.start, ..self.span };
        match target_index {
            Some(index) if index == self.token_index + 2 => {
                let message = message!("a default has no name");
                let help = message!("write `default -> {target}`");
                let arrow = self.cx.significant[index - 1].token.span(self.cx.file);
                let name = Span { end: arrow.start, ..self.span };
                Some(self.unexpected_token(message, help)?.fix(name, ""))
            }
            Some(_) => None,
            None => {
                let message = message!("the handler must follow `->`");
                let is_possible = self.cx.declared().declares("handler", self.found_text)
                    || !self.cx.declared().declares_any("handler");
                let written =
                    format!("default -> {}", self.source_of_tokens(self.token_index..self.cx.tokens.end));
                if !is_possible || !remedy::is_valid_short_statement(&written) {
                    return self.unexpected_token(message, message!("write `default -> HANDLER`"));
                }
                let help = message!("write `{written}`");
                Some(self.unexpected_token(message, help)?.likely_fix(gap, "-> "))
            }
        }
    }

    fn is_route(&self) -> bool {
        matches!(self.rule, Rule::route_statement | Rule::default_statement)
    }

    /// Returns a diagnostic for a type in the syntax of another language, or for a foreign mark
    /// such as `?` after a field. `None` without such a mistake.
    fn foreign_type_error(&self) -> Option<Diagnostic> {
        let (message, help) = match self.found_text {
            "[" | "(" if self.is_preceded_by("list") => {
                (message!("write the type of the elements in `<` and `>`"), message!("write `list<string>`"))
            }
            "[" => (message!("a type of lists is written `list<…>`"), message!("write `list<string>`")),
            "<" if self.generic_type_error().is_some() => return self.generic_type_error(),
            "<" => (
                message!("only `list` and `dict` take a type in `<` and `>`"),
                message!("write `list<string>`, or `dict<int>` for values with string keys"),
            ),
            "," if self.expects_rule(Rule::greater) => (
                message!("the keys of a dict are always strings"),
                message!("write only the type of the values: `dict<int>`"),
            ),
            "=" => (
                message!("a field cannot have a default here"),
                message!("give the default where the field is used: `x ?? \"value\"`"),
            ),
            "|" => (
                message!("a field can have only one type"),
                message!("to allow a missing or null field, write `?` after its name: `name?: string`"),
            ),
            ")" | "," if self.expects_rule(Rule::colon) => {
                let name = self.token_before().map_or("x", |token| self.token_text(token));
                if let Some(diagnostic) = self.parameter_without_type_error() {
                    return Some(diagnostic);
                }
                let help = message!("write its type after it, such as `{name}: string` or `{name}: int`");
                (message!("a parameter needs a type"), help)
            }
            "}" | "," if self.expects_rule(Rule::colon) => {
                match self.token_before().map(|token| self.token_text(token)) {
                    Some("required" | "optional" | "nullable") => (
                        message!("a field is required unless `?` follows its name"),
                        message!("write `name: type` or `name?: type`"),
                    ),
                    _ => return None,
                }
            }
            _ => return None,
        };
        self.unexpected_token(message, help)
    }

    /// Returns a diagnostic for a schema keyword or symbol of another system in an item of a
    /// payload. `None` without such a mistake.
    fn foreign_schema_error(&self) -> Option<Diagnostic> {
        let found = self.found_text;
        let (message, help) = match (self.rule, found) {
            (Rule::closed_item, "[") => (
                message!("write the rule name after `closed` without brackets"),
                message!("write `closed \"name\"`"),
            ),
            (Rule::require_item | Rule::forbid_item, _)
                if self.is_preceded_by("require") || self.is_preceded_by("forbid") =>
            {
                (
                    message!("a rule needs a name"),
                    message!("write it in quotes: `require \"amount.small\": amount < 100`"),
                )
            }
            (_, ":")
                if self.is_preceded_by("default")
                    || self.is_preceded_by("in")
                    || self.is_preceded_by("rank") =>
            {
                (message!("write the value without `{found}`"), message!("write for example `default 3`"))
            }
            (_, "not") => (
                message!("only `not blank` is allowed here"),
                message!(
                    "write `not blank` for a text; for a list write a separate rule: `require \"tags.some\" \
                    at tags: len(tags) > 0`"
                ),
            ),
            (Rule::field_item, _) if self.expects_rule(Rule::EOI) => (
                message!("`{}` is not part of a field declaration", self.cx.shorten_source(self.span)),
                foreign::schema_help(
                    found,
                    self.token_text(self.cx.significant[self.cx.tokens.start].token),
                )?,
            ),
            (_, ",") => {
                (message!("items are not separated by `,`"), message!("begin a new line, or write `;`"))
            }
            _ => return None,
        };
        self.unexpected_token(message, help)
    }

    /// Returns a diagnostic for a time of day or a duration with colons, as in `00:30:00`. The
    /// unexpected token is the first colon.
    fn time_of_day_error(&self) -> Option<Diagnostic> {
        let first = self.token_index.checked_sub(1)?;
        let mut parts = vec![self.token_text(self.cx.significant[first].token)];
        let mut last = first;
        while self.cx.significant.get(last + 1).is_some_and(|item| self.token_text(item.token) == ":")
            && self.cx.significant.get(last + 2).is_some_and(|item| item.token.kind == TokenKind::Number)
        {
            last += 2;
            parts.push(self.token_text(self.cx.significant[last].token));
        }
        let span = self.cx.significant[first]
            .token
            .span(self.cx.file)
            .to(self.cx.significant[last].token.span(self.cx.file));
        let written = parts.join(":");
        let message = message!("a time of day is not a value");
        let numbers =
            parts.iter().map(|part| part.parse::<u32>().map(u64::from)).collect::<Result<Vec<_>, _>>();
        let seconds = match numbers.as_deref() {
            // `10:30` is probably a time of day, `00:30` a duration.
            Ok([0, minutes]) => Some(minutes * 60),
            Ok([hours, minutes, seconds]) => Some(hours * 3600 + minutes * 60 + seconds),
            _ => None,
        };
        let Some(seconds) = seconds.filter(|seconds| *seconds > 0) else {
            let help =
                message!("write it as a text, and compare it with `time(at)`, as in `time(at) >= \"10:30\"`");
            return Some(super::unexpected_token(span, message, help));
        };
        let units = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)];
        let (unit, length) = units.into_iter().find(|(_, length)| seconds % length == 0)?;
        let duration = format!("{}{unit}", seconds / length);
        let help = message!(
            "for a duration write `{duration}`; a time of day is a text that is compared with `time(at)`, as in \
            `time(at) >= \"{written}\"`"
        );
        Some(super::unexpected_token(span, message, help))
    }

    /// Returns a diagnostic for a route without an arrow. Its condition contains a conditional,
    /// quantifier or time of day in the syntax of another language. `None` without such a mistake.
    pub(super) fn foreign_condition_error(&self) -> Option<Diagnostic> {
        let file = self.cx.file;
        let significant = &self.cx.significant[self.cx.tokens.start..self.token_index];
        let word = |index: usize| self.token_text(significant[index].token);
        let is_free_word = |index: usize| index > 0 && word(index - 1) != ".";
        if let Some(position) = (0..significant.len()).find(|position| {
            is_free_word(*position) && matches!(word(*position), "IF" | "CASE" | "switch" | "?")
        }) {
            let span = significant[position].token.span(file);
            return Some(super::unexpected_token(
                span,
                message!("`{}` cannot be used in a condition", word(position)),
                foreign::NO_IF_HELP,
            ));
        }
        let is_quantifier = |position: &usize| {
            is_free_word(*position)
                && matches!(word(*position), "some" | "exists" | "every" | "forall" | "each" | "for")
                && significant.get(position + 2).is_some_and(|third| self.token_text(third.token) == "in")
        };
        if let Some(position) = (0..significant.len()).find(is_quantifier) {
            let message = message!("`{}` must be written as `any` or `all`", word(position));
            let help = message!("write `any x in list: condition` or `all x in list: condition`");
            return Some(super::unexpected_token(significant[position].token.span(file), message, help));
        }
        let is_number = |kind: Option<TokenKind>| kind == Some(TokenKind::Number);
        if self.found_text == ":"
            && is_number(self.token_before().map(|token| token.kind))
            && is_number(self.cx.significant.get(self.token_index + 1).map(|item| item.token.kind))
        {
            return self.time_of_day_error();
        }
        None
    }
}
