//! Diagnostics for brackets, defaults and paths that another language writes at a definition or a
//! target: `def f[a: int]`, `handler h(a: int = 3)`, `-> [h]` and `goto billing!refund`.

use super::super::super::context::unexpected_token;
use super::super::super::remedy;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a definition or target with parts of another language. `None`
    /// without such a part.
    pub(super) fn foreign_definition_or_target_error(&self) -> Option<Diagnostic> {
        self.parameters_in_other_brackets_error()
            .or_else(|| self.parameter_with_default_error())
            .or_else(|| self.target_in_brackets_error())
            .or_else(|| self.goto_into_table_error())
    }

    /// Returns the diagnostic for parameters in square brackets or braces, as in `def f[a: int] =
    /// a > 3`. `None` without such parameters.
    fn parameters_in_other_brackets_error(&self) -> Option<Diagnostic> {
        let start = self.cx.tokens.start;
        let (name, prefix, suffix) = match self.rule {
            Rule::def_statement => (start + 1, "def", " = true"),
            Rule::handler_statement => (start + 1, "handler", ""),
            Rule::extern_statement => (start + 2, "extern fn", " -> bool"),
            _ => return None,
        };
        let open = self.token_index;
        if open != name + 1 || !matches!(self.found_text, "[" | "{" | "<") {
            return None;
        }
        let close = self.closing_bracket_or_end(open);
        if close >= self.cx.tokens.end {
            return None;
        }
        let parameters = format!("({})", self.source_of_tokens(open + 1..close));
        let name = self.text_of_token(name);
        let message = message!("parameters are written in parentheses");
        let is_valid = remedy::is_valid_short_statement(&format!("{prefix} {name}{parameters}{suffix}"));
        if !is_valid {
            let help = message!("write `{prefix} {name}(PARAMETER: TYPE, …)`", name = name.to_owned());
            return self.unexpected_token(message, help);
        }
        let help = message!("write `{}`", format!("{prefix} {name}{parameters}"));
        Some(unexpected_token(self.span, message, help).fix(self.span_of_tokens(open..close + 1), parameters))
    }

    /// Returns the diagnostic for a parameter with a default, as in `handler h(kind: string =
    /// "list")`. `None` without such a parameter.
    fn parameter_with_default_error(&self) -> Option<Diagnostic> {
        let is_declaration =
            matches!(self.rule, Rule::handler_statement | Rule::def_statement | Rule::extern_statement);
        let colon = self.colon_before(self.token_index).filter(|_| is_declaration)?;
        let is_name =
            |index: usize| matches!(self.kind_of_token(index), Some(TokenKind::Word | TokenKind::Quoted));
        let end = self.expression_end(self.token_index + 1);
        if self.found_text != "=" || end == self.token_index + 1 || self.text_of_token(end).is_empty() {
            return None;
        }
        let mark = colon - 1;
        let name = if self.text_of_token(mark) == "?" { mark - 1 } else { mark };
        if !is_name(name) {
            return None;
        }
        let (name_text, value) = (self.text_of_token(name), self.source_of_tokens(self.token_index + 1..end));
        let ty = self.source_of_tokens(colon + 1..self.token_index);
        let message = message!("a parameter has no default");
        let help = match self.rule {
            Rule::handler_statement => message!(
                "declare `{name_text}?: {ty}`, and give the value where a route calls the handler: \
                `{name_text}: {value}`"
            ),
            _ => message!("write only `{name_text}: {ty}`, and give the value {value} in each call"),
        };
        Some(unexpected_token(self.span, message, help))
    }

    /// Returns the diagnostic for one target in brackets or quotes, as in `-> [h]`. `None` for
    /// several targets.
    fn target_in_brackets_error(&self) -> Option<Diagnostic> {
        let is_route = matches!(self.rule, Rule::route_statement | Rule::default_statement);
        let open = self.token_index;
        let is_bracket = matches!(self.found_text, "[" | "(" | "{");
        if !is_route || !is_bracket || !self.is_preceded_by("->") {
            return None;
        }
        let close = self.cx.end_of_brackets(open);
        let target = self.source_of_tokens(open + 1..close.max(open + 1));
        let is_target = close > open + 1
            && self.kind_of_token(open + 1) == Some(TokenKind::Word)
            && close < self.cx.tokens.end
            && remedy::is_valid_short_statement(&format!("default -> {target}"));
        if !is_target {
            return None;
        }
        let message = message!("a target is written without brackets");
        let span = self.span_of_tokens(open..close + 1);
        let help = message!("write `-> {target}`");
        Some(unexpected_token(self.span, message, help).fix(span, target.to_owned()))
    }

    /// Returns the diagnostic for a route of a table after `goto`, as in `goto billing!refund`, or
    /// for a path such as `goto data.billing`. `None` without such a path.
    fn goto_into_table_error(&self) -> Option<Diagnostic> {
        let is_route = matches!(self.rule, Rule::route_statement | Rule::default_statement);
        let goto = (self.cx.tokens.start..self.token_index)
            .rev()
            .find(|index| self.text_of_token(*index) == "goto")
            .filter(|_| is_route)?;
        let is_joint =
            |index: usize| matches!(self.text_of_token(index), "!" | "." | ":" | "/" | "#" | "::" | "->");
        let begins_path = self.token_index <= goto + 3 && self.token_index > goto;
        let mut end = goto + 1;
        while end < self.cx.tokens.end && !self.begins_line(end) && (self.is_word(end) || is_joint(end)) {
            end += 1;
        }
        let names: Vec<&str> = (goto + 1..end)
            .filter(|index| self.is_word(*index))
            .map(|index| self.text_of_token(index))
            .collect();
        let has_joint = (goto + 1..end).any(is_joint);
        if !begins_path || !has_joint || names.len() < 2 || self.token_index > end {
            return None;
        }
        let message = message!("`goto` enters a whole table by its name");
        let span = self.span_of_tokens(goto + 1..end);
        let table = names.iter().find(|name| self.is_declared("table", name));
        Some(match table {
            Some(table) => unexpected_token(span, message, message!("write `goto {}`", (*table).to_owned()))
                .likely_fix(span, (*table).to_owned()),
            None => unexpected_token(span, message, message!("write `goto TABLE`")),
        })
    }
}
