//! Diagnostics for words after the target of a route: arguments in the syntax of other languages,
//! and anything after the table of a `goto`.

use super::super::super::context::unexpected_token;
use super::super::super::remedy;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

/// The words and symbols that authors write between the name and the value of an argument.
const ARGUMENT_SEPARATORS: [&str; 8] = ["=", ":", "as", "==", ":=", "to", "is", "=>"];

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for surplus words or brackets after the table of a `goto`, as in
    /// `goto billing(text)`. `table` is the token of the table's name. `None` without such a
    /// mistake.
    pub(super) fn surplus_after_goto_error(&self, table: usize) -> Option<Diagnostic> {
        let index = self.token_index;
        if self.begins_line(index) || index >= self.cx.tokens.end || !self.begins_surplus_part(index) {
            return None;
        }
        let end = (index..self.cx.tokens.end).find(|token| self.begins_line(*token));
        let end = end.unwrap_or(self.cx.tokens.end);
        let name = self.text_of_token(table);
        self.removal_diagnostic(
            index,
            end,
            message!("`goto` takes only a table, and `{name}` reads the same message"),
        )
    }

    /// Returns the diagnostic for a condition, a second handler or a change of a value after a
    /// target. `handler` is the token of the handler's name. `None` for other words.
    pub(super) fn part_after_target_error(&self, handler: usize) -> Option<Diagnostic> {
        if let Some(diagnostic) =
            self.assignment_after_target_error(handler).or_else(|| self.number_after_target_error(handler))
        {
            return Some(diagnostic);
        }
        let name = self.text_of_token(handler);
        let next = self.kind_of_token(self.token_index + 1);
        let has_next = matches!(next, Some(TokenKind::Word | TokenKind::Quoted));
        match self.found_text {
            "if" | "when" | "unless" if has_next || next.is_some() => {
                self.condition_after_target_error(handler)
            }
            "then" if has_next && !self.is_declared("handler", name) => None,
            "and" | "then" | "or" | "&" | "+" | "&&" | "|" | "||" | ">" | ">>" if has_next => {
                let message = message!("a route can lead to only one handler");
                self.unexpected_token(message, message!("write a route for each handler"))
            }
            _ => None,
        }
    }

    /// Returns the diagnostic for a weight, a share or an order after a target: `-> deploy weight
    /// 50`, `-> deploy 50%`. `handler` is the token of the handler's name. `None` without such a
    /// number.
    fn number_after_target_error(&self, handler: usize) -> Option<Diagnostic> {
        let is_number = |index: usize| self.kind_of_token(index) == Some(TokenKind::Number);
        let word = self.found_text.to_lowercase();
        let after = self.token_index + 1;
        let has_sign = !is_number(self.token_index);
        let number = match () {
            () if !has_sign => self.token_index,
            () if is_number(after) => after,
            () if matches!(self.text_of_token(after), "=" | ":" | "==") && is_number(after + 1) => after + 1,
            () => return None,
        };
        let value = self.text_of_token(number);
        let is_share = self.text_of_token(number + 1) == "%"
            || matches!(word.as_str(), "percent" | "share" | "probability" | "chance" | "traffic" | "ratio");
        let is_order = matches!(word.as_str(), "salience" | "order" | "rank" | "prio" | "importance")
            || !has_sign && !is_share;
        if !is_share && !is_order && word != "weight" && word != "weighted" {
            return None;
        }
        let name = match self.rule {
            Rule::route_statement => self.text_of_token(self.cx.tokens.start + 1),
            _ => return None,
        };
        let end = self.end_of_line(self.token_index);
        let span = self.span_of_tokens(self.token_index..end);
        let target = self.text_of_token(handler);
        let message = message!("only arguments and metadata follow the handler `{name}`", name = target);
        let help = match () {
            () if is_share => message!(
                "for a share of the messages, write `and bucket(KEY) in 0..{value}` before `->`; `KEY` is a \
                field such as `user.id`"
            ),
            () if is_order => {
                message!(
                    "the order of routes is set before `when`: write `route {name} priority {value} when …`"
                )
            }
            () => message!(
                "for the order of routes, write `route {name} priority {value} when …`; for a share of the \
                messages, `and bucket(KEY) in 0..{value}` before `->`"
            ),
        };
        Some(unexpected_token(span, message, help))
    }

    /// Returns the diagnostic for a condition after a target: `-> deploy if n > 3`. `handler` is
    /// the token of the handler's name. `None` if the route would still have an error with the
    /// condition after its `when`.
    fn condition_after_target_error(&self, handler: usize) -> Option<Diagnostic> {
        let end = self.end_of_line(self.token_index);
        let (word, condition) = (self.found_text, self.source_of_tokens(self.token_index + 1..end));
        let target = self.text_of_token(handler);
        let start = self.cx.tokens.start;
        let when = (start..handler).find(|index| self.text_of_token(*index) == "when");
        let in_parentheses = |tokens: std::ops::Range<usize>| {
            let has_or = tokens.clone().any(|index| matches!(self.text_of_token(index), "or" | "unless"));
            let text = self.source_of_tokens(tokens);
            if has_or { format!("({text})") } else { text.to_owned() }
        };
        let written = match (self.rule, when) {
            (Rule::route_statement, Some(when)) => {
                let joint = if word == "unless" { "unless" } else { "and" };
                let (head, left) =
                    (self.source_of_tokens(start..when + 1), in_parentheses(when + 1..handler - 1));
                let right = in_parentheses(self.token_index + 1..end);
                format!("{head} {left} {joint} {right} -> {target}")
            }
            (Rule::default_statement, _) if word == "unless" => {
                format!("route NAME when not ({condition}) -> {target}")
            }
            (Rule::default_statement, _) => format!("route NAME when {condition} -> {target}"),
            _ => return None,
        };
        if !remedy::is_valid_short_statement(&written) {
            return None;
        }
        let message = message!("the whole condition of a route comes before `->`");
        let whole = self.span_of_tokens(start..end);
        Some(unexpected_token(self.span, message, message!("write `{written}`")).likely_fix(whole, written))
    }

    /// Returns the diagnostic for a change of a value after a target: `-> deploy set user.role =
    /// "a"`. `handler` is the token of the handler's name. `None` without such a change.
    fn assignment_after_target_error(&self, handler: usize) -> Option<Diagnostic> {
        let index = handler + 1;
        let end = self.end_of_line(index);
        let is_sign = |at: &usize| matches!(self.text_of_token(*at), "=" | ":=" | "+=" | "-=" | "++");
        let sign = (index..end).find(is_sign)?;
        let name = sign - 1;
        let has_bracket =
            (index..sign).any(|at| self.kind_of_token(at).is_some_and(TokenKind::opens_bracket));
        // `-> deploy with n = 3` gives arguments.
        let gives = matches!(
            self.found_text,
            "with" | "using" | "given" | "passing" | "if" | "when" | "unless" | "where"
        );
        if self.kind_of_token(name) != Some(TokenKind::Word) || has_bracket || gives {
            return None;
        }
        let message = message!("rules cannot change a value of the message");
        let metadata =
            format!("{{ {}: {} }}", self.text_of_token(name), self.source_of_tokens(sign + 1..end));
        let is_verb =
            matches!(self.text_of_token(handler), "set" | "update" | "let" | "assign" | "modify" | "put");
        let has_handler =
            name > handler && (!is_verb || self.is_declared("handler", self.text_of_token(handler)));
        let target = if has_handler { self.text_of_token(handler) } else { "HANDLER" };
        let is_literal = matches!(self.kind_of_token(sign + 1), Some(TokenKind::String | TokenKind::Number))
            || matches!(self.text_of_token(sign + 1), "true" | "false");
        let is_value = is_literal
            && sign + 2 == end
            && matches!(self.text_of_token(sign), "=" | ":=")
            && remedy::is_valid_short_statement(&format!("default -> {target} {metadata}"));
        let written = self.source_of_tokens(index..end);
        let help = match (has_handler, is_value) {
            (true, true) => message!(
                "remove `{written}`, or give it to the handler as metadata: write `-> {} {metadata}`",
                target.to_owned()
            ),
            (true, false) => message!("remove `{written}`"),
            (false, true) => {
                message!("give the value to a handler as metadata: write `-> HANDLER {metadata}`")
            }
            (false, false) => message!("write the name of a handler after `->`"),
        };
        let first = if has_handler { index } else { handler };
        Some(unexpected_token(self.span_of_tokens(first..end), message, help))
    }

    /// Returns the diagnostic for words after a declared handler, as in `-> deploy notify`.
    /// `handler` is the token of the handler's name.
    pub(super) fn words_after_handler_error(&self, handler: usize) -> Option<Diagnostic> {
        let (index, end) = (handler + 1, self.end_of_line(handler + 1));
        let has_other = (index..end).any(|at| self.is_declared("handler", self.text_of_token(at)));
        if has_other {
            let message = message!("a route can lead to only one handler");
            return self.unexpected_token(message, message!("write a route for each handler"));
        }
        let name = self.text_of_token(handler);
        self.removal_diagnostic(
            index,
            end,
            message!("only arguments and metadata follow the handler `{name}`"),
        )
    }

    /// Returns the index of the first token after the line of the token `index`.
    fn end_of_line(&self, index: usize) -> usize {
        (index + 1..self.cx.tokens.end).find(|token| self.begins_line(*token)).unwrap_or(self.cx.tokens.end)
    }

    /// True if the token begins words or brackets that can be removed after a target. False for the
    /// first word of a condition, a priority or another route, which other diagnostics report.
    fn begins_surplus_part(&self, index: usize) -> bool {
        let word = self.text_of_token(index).to_lowercase();
        let is_clause = matches!(
            word.as_str(),
            "if" | "when"
                | "unless"
                | "else"
                | "otherwise"
                | "elif"
                | "priority"
                | "disabled"
                | "goto"
                | "or"
        );
        self.is_word(index) && !is_clause || matches!(self.text_of_token(index), "(" | "{" | "[")
    }

    /// Returns the diagnostic for the arguments of a handler in words and without parentheses, as
    /// in `-> reply with text as "hi"`. `handler` is the token of the handler's name. `None`
    /// without such arguments.
    pub(super) fn worded_arguments_error(&self, handler: usize) -> Option<Diagnostic> {
        let begins_argument = self.text_of_token(self.token_index + 1) == ":";
        let (mut arguments, mut index) = (Vec::new(), self.token_index + usize::from(!begins_argument));
        let takes_values = matches!(self.found_text, "with" | "using" | "given" | "passing");
        if takes_values
            && self.is_word(index)
            && (index + 1 == self.cx.tokens.end || self.begins_line(index + 1))
        {
            let written = format!("{}(NAME: {})", self.text_of_token(handler), self.text_of_token(index));
            let message = message!("the arguments of a handler are written in parentheses");
            return Some(unexpected_token(self.span, message, message!("write `-> {written}`")));
        }
        let line_end = self.end_of_line(index).min(self.cx.tokens.end);
        let is_assigned = matches!(self.text_of_token(index + 1), ":" | "=");
        let has_comma = (index..line_end).any(|at| self.text_of_token(at) == ",");
        if takes_values && self.is_word(index) && is_assigned && !has_comma && index + 2 < line_end {
            let value = self.source_of_tokens(index + 2..line_end);
            let written = format!("{}({}: {value})", self.text_of_token(handler), self.text_of_token(index));
            if remedy::is_valid_short_statement(&format!("default -> {written}")) {
                let message = message!("the arguments of a handler are written in parentheses");
                let help = message!("write `-> {written}`");
                let whole = self.span_of_tokens(handler..line_end);
                return Some(unexpected_token(self.span, message, help).fix(whole, written));
            }
        }
        loop {
            let (joint, value) = (index + 1, index + 2);
            let is_pair = self.kind_of_token(index) == Some(TokenKind::Word)
                && ARGUMENT_SEPARATORS.contains(&self.text_of_token(joint));
            let is_value = matches!(
                self.kind_of_token(value),
                Some(TokenKind::String | TokenKind::RawString | TokenKind::Number | TokenKind::Word)
            );
            if !is_pair || !is_value || self.begins_line(index) {
                return None;
            }
            let end = match self.kind_of_token(value) {
                Some(TokenKind::Word) => self.path_end(value).min(self.cx.tokens.end),
                _ => value + 1,
            };
            arguments.push(format!("{}: {}", self.text_of_token(index), self.source_of_tokens(value..end)));
            index = end;
            if !matches!(self.text_of_token(index), "," | "and" | "&") {
                break;
            }
            index += 1;
        }
        if index < self.cx.tokens.end && !self.begins_line(index) {
            return None;
        }
        let written = format!("{}({})", self.text_of_token(handler), arguments.join(", "));
        let message = message!("the arguments of a handler are written in parentheses");
        let help = message!("write `-> {written}`");
        Some(unexpected_token(self.span, message, help).fix(self.span_of_tokens(handler..index), written))
    }
}
