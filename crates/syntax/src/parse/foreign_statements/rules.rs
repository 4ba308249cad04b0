//! Recognizes rules of other languages: the rules of production systems (`rule "a" when … then …
//! end`), policies (`permit (…) when { … }`) and rules in braces (`allow { … }`).

use super::routes::{MeantRoute, general_routes_help, routes_help};
use super::{ForeignStatement, StatementReader};
use crate::lex::{TokenKind, is_name};
use crate::parse::is_reserved;
use rulec_base::message;
use std::ops::Range;

/// Maximum number of tokens of a rule of another language. A longer rule is not recognized.
const MAX_RULE_TOKENS: usize = 200;

impl StatementReader<'_> {
    /// Returns the rule `rule NAME when CONDITION then RESULT end` at the token `start`. `None` for
    /// other statements.
    pub(super) fn read_production_rule(&self, start: usize) -> Option<ForeignStatement> {
        let name = match self.kind(start + 1)? {
            TokenKind::String | TokenKind::SingleQuoted | TokenKind::Word => self.text(start + 1),
            _ => return None,
        };
        let limit = self.significant.len().min(start + MAX_RULE_TOKENS);
        // `no-loop true` and other attributes may precede the condition.
        let is_word = |words: &'static [&'static str]| {
            move |index: usize| words.contains(&self.lowercase_text(index).as_str())
        };
        let when = self.find_outside_brackets(start + 1..limit, is_word(&["when", "if"]))?;
        let then = self.find_outside_brackets(when + 1..limit, is_word(&["then"]))?;
        let begins_next = |index: usize| self.begins_line(index) && self.lowercase_text(index) == "rule";
        if (start + 1..then).any(begins_next) || then == when + 1 {
            return None;
        }
        let end = self.find_outside_brackets(then + 1..limit, is_word(&["end"]));
        let end = end.filter(|end| !(then..*end).any(begins_next));
        let result = then + 1..end.unwrap_or_else(|| self.next_line_start(then));
        let mut after = end.map_or(result.end, |end| end + 1);
        after += usize::from(self.text(after) == ";");
        let salience = (start + 2..when)
            .find(|index| matches!(self.lowercase_text(*index).as_str(), "salience" | "priority"));
        let priority = salience.filter(|index| self.kind(index + 1) == Some(TokenKind::Number));
        let routes = self
            .translate_rule_target(result)
            .zip(self.translate_rule_condition(when + 1..then))
            .map(|(target, condition)| MeantRoute {
                name: Some(to_route_name(name)),
                priority: priority.map(|index| self.text(index + 1).to_owned()),
                condition: Some(condition),
                target,
            });
        let help = routes_help(routes.as_slice()).unwrap_or_else(|| {
            message!("a rule is written `route {name} when CONDITION -> HANDLER`", name = to_route_name(name))
        });
        Some(ForeignStatement { end_token: after, help, declared_names: Vec::new() })
    }

    /// Returns the condition of a rule, which may consist of patterns such as `$m : Message(text ==
    /// "a", size > 3)`. `None` for patterns that have no equivalent.
    fn translate_rule_condition(&self, tokens: Range<usize>) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = tokens.start;
        while at < tokens.end {
            if matches!(self.lowercase_text(at).as_str(), "and" | "&&" | "," | ";") {
                at += 1;
                continue;
            }
            let mut ty = at + usize::from(self.text(at) == "$");
            if self.text(ty + 1) == ":" {
                ty += 2;
            }
            let is_pattern = self.text(ty).starts_with(char::is_uppercase) && self.text(ty + 1) == "(";
            let close = self.closing_bracket(ty + 1).filter(|close| is_pattern && *close < tokens.end);
            let Some(close) = close else {
                // No patterns: the whole is a condition, as in other languages with `rule`.
                return (parts.is_empty() && at == tokens.start)
                    .then(|| self.translate_without_parentheses(tokens));
            };
            let mut start = ty + 2;
            while start < close {
                let end = self
                    .find_outside_brackets(start..close, |index| self.text(index) == ",")
                    .unwrap_or(close);
                if end == start || (start..end).any(|index| self.text(index) == ":") {
                    return None;
                }
                let condition = self.translate_expression(start..end);
                let has_or = self
                    .find_outside_brackets(start..end, |index| matches!(self.text(index), "||" | "or"))
                    .is_some();
                parts.push(if has_or { format!("({condition})") } else { condition });
                start = end + 1;
            }
            at = close + 1;
        }
        match parts.as_slice() {
            [] => None,
            [one] => Some(one.trim_start_matches('(').trim_end_matches(')').to_owned())
                .filter(|_| one.starts_with('('))
                .or_else(|| Some(one.clone())),
            _ => Some(parts.join(" and ")),
        }
    }

    /// Returns the target of a rule. If the rule has several results, this is the placeholder
    /// `HANDLER`. `None` if the first result is no target.
    fn translate_rule_target(&self, tokens: Range<usize>) -> Option<String> {
        let (target, end) = self.read_target(tokens.start)?;
        let end = end + usize::from(self.text(end) == ";");
        Some(if end == tokens.end { target } else { "HANDLER".to_owned() })
    }

    /// Returns the policy `permit (…) when { … };` at the token `start`. `None` for other
    /// statements.
    pub(super) fn read_permission_policy(&self, start: usize) -> Option<ForeignStatement> {
        let mut end = self.closing_bracket(start + 1)? + 1;
        let mut conditions = Vec::new();
        let mut is_clear = true;
        while matches!(self.text(end), "when" | "unless") && self.text(end + 1) == "{" {
            let close = self.closing_bracket(end + 1)?;
            is_clear &= close > end + 2;
            if close > end + 2 {
                let condition = self.translate_expression(end + 2..close);
                conditions.push(match self.text(end) {
                    "when" => condition,
                    _ => format!("not ({condition})"),
                });
            }
            end = close + 1;
        }
        end += usize::from(self.text(end) == ";");
        let routes: Vec<MeantRoute> = (is_clear && !conditions.is_empty())
            .then(|| MeantRoute::new(Some(conditions.join(" and ")), "HANDLER".to_owned()))
            .into_iter()
            .collect();
        let help = routes_help(&routes).unwrap_or_else(general_routes_help);
        Some(ForeignStatement { end_token: end, help, declared_names: Vec::new() })
    }

    /// Returns the rule `allow { … }`, `allow if { … }` or `deny[msg] { … }` at the token `start`.
    /// `None` for other statements.
    pub(super) fn read_rule_in_braces(&self, start: usize) -> Option<ForeignStatement> {
        if !self.is_name(start) {
            return None;
        }
        let line_end = self.next_line_start(start);
        let mut at = start + 1;
        if self.text(at) == "[" {
            at = self.closing_bracket(at)? + 1;
        }
        let mut is_rule = at > start + 1;
        if matches!(self.text(at), "contains") && self.is_word(at + 1) {
            (at, is_rule) = (at + 2, true);
        }
        if matches!(self.text(at), "=" | ":=") && matches!(self.text(at + 1), "true" | "false") {
            (at, is_rule) = (at + 2, true);
        }
        if self.text(at) == "if" {
            (at, is_rule) = (at + 1, true);
        }
        let name = self.text(start);
        is_rule |= matches!(name, "allow" | "deny" | "violation" | "permit" | "reject" | "accept");
        if !is_rule || at >= line_end && self.text(at) != "{" {
            return None;
        }
        let (body, end) = match self.text(at) {
            "{" => (at + 1..self.closing_bracket(at)?, self.closing_bracket(at)? + 1),
            _ if self.text(at - 1) == "if" => (at..line_end, line_end),
            _ => return None,
        };
        if body.is_empty() {
            return None;
        }
        let mut conditions = Vec::new();
        let mut first = body.start;
        while first < body.end {
            let is_next = |index: usize| index > first && self.begins_line(index) || self.text(index) == ";";
            let next = self.find_outside_brackets(first..body.end, is_next).unwrap_or(body.end);
            if next > first {
                conditions.push(self.translate_expression(first..next));
            }
            first = next + usize::from(self.text(next) == ";" && next < body.end);
        }
        let target = if self.is_possible_handler(name) { name } else { "HANDLER" };
        let route = MeantRoute {
            name: Some(name.to_owned()),
            ..MeantRoute::new(Some(conditions.join(" and ")), target.to_owned())
        };
        let help = routes_help(&[route]).unwrap_or_else(|| {
            message!("a rule is written `route {name} when CONDITION -> HANDLER`", name = name.to_owned())
        });
        Some(ForeignStatement { end_token: end, help, declared_names: Vec::new() })
    }
}

/// Converts the name of a rule, which may be a text with spaces, to the name of a route. Returns
/// the placeholder `NAME` if the result cannot be a name.
fn to_route_name(name: &str) -> String {
    let name = name.trim_matches(['"', '\'']).trim();
    let joined: String =
        name.chars().map(|c| if unicode_ident::is_xid_continue(c) { c } else { '_' }).collect();
    match is_name(&joined) && !is_reserved(&joined) && joined != "none" {
        true => joined,
        false => "NAME".to_owned(),
    }
}
