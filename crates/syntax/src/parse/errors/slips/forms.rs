//! Diagnostics for a part with right words in the form of another language. Examples: the head of
//! a quantifier, the name of a definition at its end, and a handler with a condition.

mod blocks;
mod nodes;

use super::super::super::context::unexpected_token;
use super::super::super::{foreign, remedy};
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use crate::parse::is_reserved;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use std::ops::Range;

/// The words that begin a quantifier.
const QUANTIFIERS: [&str; 6] = ["any", "all", "count", "first", "last", "sum"];

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a part in the form of another language. `None` without such a
    /// part.
    pub(super) fn foreign_part_error(&self) -> Option<Diagnostic> {
        self.quantifier_without_in_error()
            .or_else(|| self.foreign_history_window_error())
            .or_else(|| self.name_after_value_error())
            .or_else(|| self.target_with_condition_error())
            .or_else(|| self.foreign_entity_error())
            .or_else(|| self.permission_in_other_words_error())
            .or_else(|| self.keyword_before_group_error())
            .or_else(|| self.semicolon_between_parameters_error())
            .or_else(|| self.branches_as_cases_error())
            .or_else(|| self.foreign_node_form_error())
    }

    /// Returns the diagnostic for a quantifier with another sign or word than `in` before its list:
    /// `any one := range items: …`, `any one : items: …`. `None` without such a quantifier.
    fn quantifier_without_in_error(&self) -> Option<Diagnostic> {
        let is_sign = |index: usize| {
            let text = self.text_of_token(index);
            let is_word = matches!(text, "属于" | "在" | "来自" | "range" | "over");
            is_word || matches!(text, ":=" | "=" | "<-" | "←" | ":" | "∈")
        };
        let start = (self.cx.tokens.start..self.token_index)
            .rev()
            .find(|index| QUANTIFIERS.contains(&self.text_of_token(*index)) && self.is_word(index + 1))?;
        // Go writes `_, one := range items`: the first name is the index.
        let name =
            start + if self.text_of_token(start + 2) == "," && self.is_word(start + 3) { 3 } else { 1 };
        // `<-` is two tokens.
        let sign = name + 1;
        let is_arrow = self.text_of_token(sign) == "<" && self.text_of_token(sign + 1) == "-";
        let sign_end = sign + 1 + usize::from(is_arrow);
        let list = sign_end + usize::from(matches!(self.text_of_token(sign_end), "range" | "each" | "in"));
        let end = self.path_end(list);
        if !(is_arrow || is_sign(sign))
            || !self.is_word(list)
            || self.text_of_token(end) != ":"
            || !(start + 1..=end).contains(&self.token_index)
        {
            return None;
        }
        let (quantifier, element) = (self.text_of_token(start), self.text_of_token(name));
        let written = format!("{quantifier} {element} in {}:", self.source_of_tokens(list..end));
        if !remedy::is_valid_expression(&format!("{written} true")) {
            return None;
        }
        let message = message!("the list of a quantifier follows `in`");
        let help = message!("write `{written} …`", written = written.clone());
        let span = self.span_of_tokens(sign..list);
        Some(unexpected_token(span, message, help).likely_fix(self.span_of_tokens(start..end + 1), written))
    }

    /// Returns the diagnostic for a window of earlier messages in the form of another language:
    /// `history over window:time(1h)`, `history[1h]`. `None` without such a window.
    fn foreign_history_window_error(&self) -> Option<Diagnostic> {
        let is_history = |index: &usize| {
            self.text_of_token(*index) == "history" && matches!(self.text_of_token(index - 1), "in" | "(")
        };
        let history = (self.cx.tokens.start + 1..self.token_index).rev().find(is_history)?;
        let element = self.text_of_token(history.checked_sub(2)?);
        let begins_condition = |index: usize| {
            self.text_of_token(index) == element || matches!(self.text_of_token(index), "(" | "not")
        };
        let mut depth = 0_usize;
        let end = (history + 1..self.cx.tokens.end).find(|index| {
            let kind = self.cx.significant[*index].token.kind;
            let closes = kind.closes_bracket() && depth == 0;
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
            closes || depth == 0 && self.text_of_token(*index) == ":" && begins_condition(index + 1)
        })?;
        let window = history + 1..end;
        let is_duration = |index: &usize| {
            let is_number = self.kind_of_token(*index) == Some(TokenKind::Number);
            is_number && self.text_of_token(*index).ends_with(|c: char| c.is_ascii_alphabetic())
        };
        let mut durations = window.clone().filter(is_duration);
        let (duration, None) = (durations.next()?, durations.next()) else { return None };
        let is_part = |index: usize| {
            let text = self.text_of_token(index);
            is_duration(&index)
                || self.is_word(index) && !is_reserved(text) && !matches!(text, "and" | "or")
                || matches!(text, ":" | "." | "(" | ")" | "[" | "]" | "over" | "within" | "in" | "for")
        };
        let written = format!("within {}", self.text_of_token(duration));
        // Another diagnostic explains `within: 1h`.
        let is_right = self.source_of_tokens(window.clone()).replace(':', "") == written;
        if is_right
            || !window.contains(&self.token_index) && self.token_index != end
            || !window.clone().all(is_part)
        {
            return None;
        }
        if !remedy::is_valid_expression(&format!("any p in history {written}: true")) {
            return None;
        }
        let message = message!("a part of the history follows `within`");
        let help = message!("write `history {written}`", written = written.clone());
        let span = self.span_of_tokens(window);
        Some(unexpected_token(span, message, help).likely_fix(span, written))
    }

    /// Returns the diagnostic for a definition whose name follows its value, as in
    /// `let user.role == "admin" = trusted`. `None` without such a name.
    fn name_after_value_error(&self) -> Option<Diagnostic> {
        let (start, end) = (self.cx.tokens.start, self.cx.tokens.end);
        let (name, sign) = (end.checked_sub(1)?, end.checked_sub(2)?);
        let is_sign = matches!(self.text_of_token(sign), "=" | ":=" | "as");
        let is_definition = matches!(self.rule, Rule::let_statement | Rule::list_statement);
        if !is_definition || !is_sign || sign < start + 3 || !self.is_name(name) {
            return None;
        }
        let value = self.source_of_tokens(start + 1..sign);
        let written = format!("{} {} = {value}", self.text_of_token(start), self.text_of_token(name));
        if !remedy::is_valid_short_statement(&written) {
            return None;
        }
        let message = message!("the name of a definition comes before its value");
        let help = message!("write `{written}`", written = written.clone());
        let span = self.span_of_tokens(name..end);
        Some(unexpected_token(span, message, help).likely_fix(self.span_of_tokens(start..end), written))
    }

    /// Returns the diagnostic for a target with a condition: `default -> IF(n > 3, a, b)`, `-> if n
    /// > 3 then a else b`. `None` without such a target.
    fn target_with_condition_error(&self) -> Option<Diagnostic> {
        if !matches!(self.rule, Rule::route_statement | Rule::default_statement) {
            return None;
        }
        let arrow = (self.cx.tokens.start..self.token_index)
            .rev()
            .find(|index| matches!(self.text_of_token(*index), "->" | "=>"))?;
        let word = arrow + 1;
        let is_if = matches!(
            self.text_of_token(word).to_lowercase().as_str(),
            "if" | "iif"
                | "ifelse"
                | "if_else"
                | "ifs"
                | "cond"
                | "ternary"
                | "如果"
                | "若"
                | "when"
                | "case"
        );
        let parts = if is_if { self.split_conditional(word) } else { self.split_ternary(word) };
        let [condition, first, second] = parts?.map(|part| self.source_of_tokens(part));
        let is_target = |target: &str| remedy::is_valid_short_statement(&format!("default -> {target}"));
        if !remedy::is_valid_expression(condition) || !is_target(first) || !is_target(second) {
            return None;
        }
        let span = self.span_of_tokens(word..word + 1);
        let message = message!("a target has no condition");
        let help = match self.rule {
            Rule::default_statement => message!(
                "write `route NAME when {condition} -> {first}` before it, and `default -> {second}`"
            ),
            _ => message!(
                "write two routes: one with `and {condition} -> {then}`, and after it one with `-> {other}`",
                then = first.to_owned(),
                other = second.to_owned()
            ),
        };
        Some(unexpected_token(span, message, help))
    }

    /// Returns the condition and the two targets of `C ? a : b` or `a if C else b`. The choice
    /// begins at the token `first`. `None` for other forms.
    fn split_ternary(&self, first: usize) -> Option<[Range<usize>; 3]> {
        let end = self.cx.tokens.end;
        let find = |text: &str, from: usize| (from..end).find(|index| self.text_of_token(*index) == text);
        let parts = match find("?", first) {
            // Another diagnostic explains the choice in a route.
            Some(_) if self.rule == Rule::route_statement => return None,
            Some(mark) => {
                let colon = find(":", mark)?;
                [first..mark, mark + 1..colon, colon + 1..end]
            }
            None => {
                let word = find("if", first)?;
                let other = find("else", word)?;
                [word + 1..other, first..word, other + 1..end]
            }
        };
        parts.iter().all(|part| !part.is_empty()).then_some(parts)
    }

    /// Returns the condition and the two values of `IF(C, a, b)` or `if C then a else b`. The token
    /// `word` is the `if`. `None` for other forms.
    fn split_conditional(&self, word: usize) -> Option<[Range<usize>; 3]> {
        let end = self.cx.tokens.end;
        let open = word + 1;
        let is_call = self.text_of_token(open) == "(";
        let close = if is_call { self.cx.end_of_brackets(open) } else { end };
        let separators = |first: usize, last: usize, words: [&[&str]; 2]| {
            let mut depth = 0_usize;
            let mut found = Vec::new();
            for index in first..last {
                let kind = self.cx.significant[index].token.kind;
                depth += usize::from(kind.opens_bracket());
                depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
                if depth == 0 && found.len() < 2 && words[found.len()].contains(&self.text_of_token(index)) {
                    found.push(index);
                }
            }
            (found.len() == 2).then(|| [first..found[0], found[0] + 1..found[1], found[1] + 1..last])
        };
        let is_whole = is_call && close + 1 == end;
        let arguments = is_whole.then(|| separators(open + 1, close, [&[",", ";"], &[",", ";"]])).flatten();
        let last = if self.text_of_token(end - 1) == "end" { end - 1 } else { end };
        let words: [&[&str]; 2] = [&["then", "->", "那么", "则"], &["else", "否则"]];
        let parts = arguments.or_else(|| separators(open, last, words))?;
        parts.iter().all(|part| !part.is_empty()).then_some(parts)
    }

    /// Returns the diagnostic for a text with the type of an entity, as in `Role::"admin"`. `None`
    /// without such a text.
    fn foreign_entity_error(&self) -> Option<Diagnostic> {
        let is_colon = |index: usize| matches!(self.text_of_token(index), ":" | "::");
        let text = (self.token_index..self.cx.tokens.end)
            .find(|index| !is_colon(*index) && !self.is_word(*index))?;
        let mut start = text;
        while start > self.cx.tokens.start + 1
            && (is_colon(start - 1) || self.is_word(start - 1))
            && self.cx.significant[start - 1].token.end == self.cx.significant[start].token.start
        {
            start -= 1;
        }
        let has_colons = self.source_of_tokens(start..text).ends_with("::");
        let is_text = self.kind_of_token(text) == Some(TokenKind::String);
        if !is_text || !has_colons || !(start..text).contains(&self.token_index) {
            return None;
        }
        let message = message!("there are no entities: a value is compared with a text");
        let span = self.span_of_tokens(start..text + 1);
        Some(foreign::foreign_syntax_error(span, message, self.text_of_token(text)))
    }

    /// Returns the diagnostic for the permission of a handler in other words, as in `needs
    /// permission "refund"` and `permission: "refund"`. `None` without such words.
    fn permission_in_other_words_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::handler_statement || self.is_at_end() {
            return None;
        }
        let is_word = |index: usize| {
            matches!(
                self.text_of_token(index).to_lowercase().as_str(),
                "needs"
                    | "need"
                    | "requiring"
                    | "require"
                    | "required"
                    | "demands"
                    | "wants"
                    | "with"
                    | "permission"
                    | "permissions"
                    | "role"
                    | "scope"
                    | "right"
                    | "authorize"
                    | "auth"
                    | "需要"
                    | "要求"
                    | "必须"
                    | "权限"
                    | "需"
            )
        };
        let is_sign = |index: usize| matches!(self.text_of_token(index), ":" | "=" | "(" | "[");
        // `requires permission ["refund"]`
        let is_complete = self.is_preceded_by("permission")
            && self.text_of_token(self.token_index.saturating_sub(2)) == "requires";
        let first = self.token_index - if is_complete { 2 } else { 0 };
        let is_colon = is_sign(first) && is_word(first + 1);
        let text =
            (self.token_index..self.cx.tokens.end).find(|index| !is_word(*index) && !is_sign(*index))?;
        let is_text = self.kind_of_token(text) == Some(TokenKind::String);
        let closes = |index: usize| matches!(self.text_of_token(index), ")" | "]");
        let end = (text + 1..self.cx.tokens.end).find(|index| !closes(*index)).unwrap_or(self.cx.tokens.end);
        if !is_text || !(is_word(first) || is_colon || is_complete) || self.is_preceded_by("requires") {
            return None;
        }
        let written = format!("requires permission {}", self.text_of_token(text));
        let head = self.source_of_tokens(self.cx.tokens.start..first);
        if !remedy::is_valid_short_statement(&format!("{head} {written}")) {
            return None;
        }
        let message = message!("the permission of a handler follows `requires permission`");
        let help = message!("write `{written}`", written = written.clone());
        let span = if is_complete { self.span } else { self.span_of_tokens(first..text) };
        Some(unexpected_token(span, message, help).likely_fix(self.span_of_tokens(first..end), written))
    }

    /// Returns the diagnostic for a keyword before the name of an included group, as in `include
    /// group general`. `None` without such a keyword.
    fn keyword_before_group_error(&self) -> Option<Diagnostic> {
        let is_keyword = matches!(self.found_text, "group" | "groups" | "组" | "规则组" | "payload" | "from");
        if self.rule != Rule::include_item || !is_keyword || !self.is_name(self.token_index + 1) {
            return None;
        }
        let next = self.cx.significant[self.token_index + 1].token;
        let written = format!("include {}", self.token_text(next));
        let message = message!("the name of the group follows `include`");
        let removed = rulec_base::span::Span { end: next.start, ..self.span };
        let help = message!("write `{written}`, without `{word}`", word = self.found_text);
        Some(unexpected_token(self.span, message, help).fix(removed, ""))
    }

    /// Returns the diagnostic for a `;` between two parameters. `None` for another token.
    fn semicolon_between_parameters_error(&self) -> Option<Diagnostic> {
        let has_parameters =
            matches!(self.rule, Rule::def_statement | Rule::handler_statement | Rule::extern_statement);
        let is_separator = matches!(self.found_text, ";" | "|" | "/") && self.expects_rule(Rule::comma);
        if !has_parameters || !is_separator || self.text_of_token(self.token_index + 2) != ":" {
            return None;
        }
        let message = message!("parameters are separated by `,`, not `{}`", self.found_text);
        Some(foreign::foreign_syntax_error(self.span, message, ","))
    }

    /// True for a word that can be a name without backquotes.
    fn is_name(&self, index: usize) -> bool {
        self.is_word(index) && !is_reserved(self.text_of_token(index))
    }
}
