//! The habits of other languages, where the grammar cannot go on: comments, separators, types and the words of schemas,
//! each with the right spelling.

use super::super::{Rule, foreign};
use super::{Failure, is_item};
use crate::diag::{Diagnostic, Message};
use crate::syntax::lex::TokenKind;

impl Failure<'_, '_> {
    /// The complaint about a habit, in a statement of any kind.
    pub(super) fn habit(&self) -> Option<Diagnostic> {
        if self.at_end() {
            return None;
        }
        if self.rest().starts_with("--") && !self.value_wanted() || self.rest().starts_with("/*") {
            return self.unexpected(said!("comments start with `#`"), said!("write `#` instead"));
        }
        if is_item(self.rule) {
            return self.habit_of_schemas();
        }
        if self.in_fields() {
            return self.habit_of_types();
        }
        self.habit_of_signs().or_else(|| self.habit_of_values())
    }

    /// The text from here on.
    fn rest(&self) -> &str {
        &self.cx.text[self.token.start as usize..]
    }

    /// The text of the token so many behind this one.
    fn ahead(&self, count: usize) -> &str {
        self.cx.sigs.get(self.at + count).map_or("", |sig| self.text(sig.token))
    }

    /// A sign that another one is meant by.
    fn habit_of_signs(&self) -> Option<Diagnostic> {
        let swap = |wanted: &str, what: Message| {
            let message = said!("{what} by `{wanted}`, not `{}`", self.found);
            Some(foreign::syntax(self.span, message, wanted))
        };
        match self.found {
            "=" if self.wants(Rule::colon) => swap(":", said!("a name and its value are joined")),
            ":" if self.wants(Rule::equals) => swap("=", said!("a name and its value are joined")),
            ":" if self.is_behind("when") => self.unexpected(
                said!("the condition follows `when` at once"),
                said!("remove the `:`: write `when CONDITION`"),
            ),
            ":" if self.wants(Rule::close_bracket) => self.unexpected(
                said!("an index is one value"),
                said!("write `list[0]`; there are no parts of a list"),
            ),
            ":" if self.is_behind("rank") => {
                self.unexpected(said!("the rank follows without `:`"), said!("write for example `rank 3`"))
            }
            ";" | "," if self.rule == Rule::test_statement => self.unexpected(
                said!("the parts of a test are not separated by `{}`", self.found),
                said!("remove the `{}`", self.found),
            ),
            "," | ";" if self.rule == Rule::router_statement && self.wants(Rule::router_case) => self
                .unexpected(
                    said!("the cases of a router are not separated by `{}`", self.found),
                    said!("remove the `{}`", self.found),
                ),
            ";" if self.wants(Rule::close_bracket) => {
                swap(",", said!("the elements of a list are separated"))
            }
            "," if self.wants(Rule::EOI) && self.rule == Rule::list_statement => self.unexpected(
                said!("several values stand in brackets"),
                said!("write a list: `[\"a\", \"b\"]`"),
            ),
            "," if self.wants(Rule::EOI) && self.is_route() => self
                .unexpected(said!("a route leads to one handler"), said!("write a route for each handler")),
            _ => None,
        }
    }

    /// A value in the way of another language.
    fn habit_of_values(&self) -> Option<Diagnostic> {
        let number = |token: Option<TokenKind>| token == Some(TokenKind::Number);
        let before = self.before().map(|token| token.kind);
        if self.wants(Rule::kw_then) || self.wants(Rule::kw_else) && !super::is_item(self.rule) {
            let word = if self.wants(Rule::kw_then) { "then" } else { "else" };
            let message = said!("expected `{word}`, found {}", self.found_words());
            let help = said!(
                "one of two values is written `if C then a else b`; a field whose name is `if` stands in backquotes"
            );
            return self.unexpected(message, help);
        }
        match self.found {
            "," if self.wants(Rule::arrow)
                && number(before)
                && self.ahead(1).starts_with(|c: char| c.is_ascii_digit()) =>
            {
                self.unexpected(
                    said!("a number has no `,` in it"),
                    said!("digits are grouped by `_`, as in `1_000`, and a fraction stands behind `.`"),
                )
            }
            "," if self.wants(Rule::arrow) => self.unexpected(
                said!("several values stand in a list"),
                said!("write `in [\"a\", \"b\"]` or `contains any [\"a\", \"b\"]`"),
            ),
            "=>" if self.wants(Rule::close_paren) => self.unexpected(
                said!("there are no functions without a name"),
                said!("write `any x in list: condition` or `all x in list: condition`"),
            ),
            "else" | "otherwise" | "default" if self.is_behind("when") => self.unexpected(
                said!("`{}` is no condition", self.found),
                said!("what no route takes goes to the default: write `default -> HANDLER`"),
            ),
            "then" | "else" => self.no_condition(),
            "input" if self.ahead(1) == "." => self.unexpected(
                said!("`input` is no value"),
                said!("the message's fields are read by their names alone: write `{}`", self.ahead(2)),
            ),
            "[" if self.is_route() && self.is_behind("->") => self.unexpected(
                said!("a route leads to one handler"),
                said!("write `-> HANDLER`, and a route for each further one"),
            ),
            _ if self.is_behind(".") && number(Some(self.token.kind)) => {
                self.unexpected(said!("a number begins with a digit"), said!("write `0.{}`", self.found))
            }
            _ if self.rule == Rule::default_statement
                && self.is_behind("default")
                && self.token.kind == TokenKind::Word =>
            {
                let diagnostic = self.unexpected(
                    said!("the handler stands after `->`"),
                    said!("write `default -> {}`", self.found),
                )?;
                Some(diagnostic.likely_fix(crate::span::Span { end: self.span.start, ..self.span }, "-> "))
            }
            _ => None,
        }
    }

    fn is_route(&self) -> bool {
        matches!(self.rule, Rule::route_statement | Rule::default_statement)
    }

    /// A type, or what stands beside a field, as other languages write them.
    fn habit_of_types(&self) -> Option<Diagnostic> {
        let (message, help) = match self.found {
            "[" | "(" if self.is_behind("list") => {
                (said!("the type of the elements stands in `<` and `>`"), said!("write `list<string>`"))
            }
            "[" => (said!("a type of lists is written `list<…>`"), said!("write `list<string>`")),
            "<" => (
                said!("only `list` and `dict` have a type inside"),
                said!("write `list<string>`, or `dict<int>` for values by their names"),
            ),
            "," if self.wants(Rule::greater) => (
                said!("the keys of a dict are always strings"),
                said!("write the type of its values alone: `dict<int>`"),
            ),
            "=" => (
                said!("a field has no default here"),
                said!("give it where the field is used: `x ?? \"value\"`"),
            ),
            "|" => (
                said!("a field has one type"),
                said!("what may be missing or null has `?` behind its name: `name?: string`"),
            ),
            ")" | "," if self.wants(Rule::colon) => {
                (said!("a parameter has a type"), said!("write for example `x: string`"))
            }
            "}" | "," if self.wants(Rule::colon) => match self.before().map(|token| self.text(token)) {
                Some("required" | "optional" | "nullable") => (
                    said!("a field is required unless `?` stands behind its name"),
                    said!("write `name: type` or `name?: type`"),
                ),
                _ => return None,
            },
            _ if self.wants(Rule::type_expr) && self.token.kind == TokenKind::String => {
                (said!("a type is written without quotes"), said!("write for example `name: string`"))
            }
            _ => return None,
        };
        self.unexpected(message, help)
    }

    /// A word or sign of a schema in an item of a payload.
    fn habit_of_schemas(&self) -> Option<Diagnostic> {
        let found = self.found;
        let (message, help) = match (self.rule, found) {
            (Rule::closed_item, "[") => (
                said!("the rule's name stands behind `closed` without brackets"),
                said!("write `closed \"name\"`"),
            ),
            (Rule::require_item | Rule::forbid_item, _)
                if self.is_behind("require") || self.is_behind("forbid") =>
            {
                (
                    said!("a rule has a name"),
                    said!("write it in quotes: `require \"amount.small\": amount < 100`"),
                )
            }
            (_, ":") if self.is_behind("default") || self.is_behind("in") || self.is_behind("rank") => {
                (said!("the value follows without `{found}`"), said!("write for example `default 3`"))
            }
            (_, "not") => (
                said!("only `not blank` stands here"),
                said!(
                    "write `not blank` for a text; for a list write a rule: `require \"tags.some\" at tags: len(tags) > 0`"
                ),
            ),
            (Rule::field_item, _) if self.wants(Rule::EOI) => {
                (said!("`{}` is no part of a field", self.cx.short(self.span)), foreign::schema_help(found)?)
            }
            (_, ",") => (said!("items are not separated by `,`"), said!("begin a new line, or write `;`")),
            _ => return None,
        };
        self.unexpected(message, help)
    }

    /// A condition with two ways, or a time of day, in a route whose arrow is missing.
    pub(super) fn no_condition(&self) -> Option<Diagnostic> {
        let file = self.cx.file;
        let sigs = &self.cx.sigs[self.cx.tokens.start..self.at];
        let word = |index: usize| self.text(sigs[index].token);
        let free = |index: usize| index > 0 && word(index - 1) != ".";
        if let Some(at) =
            (0..sigs.len()).find(|at| free(*at) && matches!(word(*at), "IF" | "CASE" | "switch" | "?"))
        {
            let span = sigs[at].token.span(file);
            return Some(super::unexpected(
                span,
                said!("`{}` cannot stand in a condition", word(at)),
                foreign::NO_IF,
            ));
        }
        let quantifies = |at: &usize| {
            free(*at)
                && matches!(word(*at), "some" | "exists" | "every" | "forall" | "each" | "for")
                && sigs.get(at + 2).is_some_and(|third| self.text(third.token) == "in")
        };
        if let Some(at) = (0..sigs.len()).find(quantifies) {
            let message = said!("`{}` is written `any` or `all`", word(at));
            let help = said!("write `any x in list: condition` or `all x in list: condition`");
            return Some(super::unexpected(sigs[at].token.span(file), message, help));
        }
        let number = |kind: Option<TokenKind>| kind == Some(TokenKind::Number);
        if self.found == ":"
            && number(self.before().map(|token| token.kind))
            && number(self.cx.sigs.get(self.at + 1).map(|sig| sig.token.kind))
        {
            let help =
                said!("compare the hour, as in `hour(at) >= 10`, or a whole time: \"2026-11-22T10:30:00Z\"");
            return self.unexpected(said!("a time of day is no value"), help);
        }
        None
    }
}
