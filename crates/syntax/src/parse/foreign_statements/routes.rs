//! Writes the routes that mean the same as a statement of another language, for a help text.

use super::super::remedy::is_valid_short_statement;
use super::StatementReader;
use crate::lex::TokenKind;
use rulec_base::diag::{Message, comma_list};
use rulec_base::message;
use std::ops::Range;

/// Maximum number of routes that a help text repeats.
const MAX_SHOWN_ROUTES: usize = 4;

/// Words that other languages write before the result of a rule.
const RESULT_VERBS: [&str; 21] = [
    "return", "goto", "call", "do", "run", "send", "to", "use", "forward", "route", "go", "invoke", "exec",
    "execute", "then", "dispatch", "yield", "handle", "redirect", "trigger", "respond",
];

/// A route that a statement of another language means. Without a condition it is the default.
pub(super) struct MeantRoute {
    pub(super) name: Option<String>,
    pub(super) priority: Option<String>,
    pub(super) condition: Option<String>,
    pub(super) target: String,
}

impl MeantRoute {
    pub(super) fn new(condition: Option<String>, target: String) -> MeantRoute {
        MeantRoute { name: None, priority: None, condition, target }
    }
}

/// Returns the help text that suggests writing these routes. `None` if there is no route, if there
/// are too many, or if one of them would have an error.
pub(super) fn routes_help(routes: &[MeantRoute]) -> Option<Message> {
    let count = routes.iter().filter(|route| route.condition.is_some()).count();
    let mut written = Vec::new();
    for (index, route) in routes.iter().enumerate() {
        let Some(condition) = &route.condition else {
            written.push(format!("default -> {}", route.target));
            continue;
        };
        let name = match &route.name {
            Some(name) => name.clone(),
            None if count > 1 => format!("NAME_{}", index + 1),
            None => "NAME".to_owned(),
        };
        let priority =
            route.priority.as_ref().map(|number| format!(" priority {number}")).unwrap_or_default();
        written.push(format!("route {name}{priority} when {condition} -> {}", route.target));
    }
    if routes.is_empty()
        || routes.len() > MAX_SHOWN_ROUTES
        || !written.iter().all(|text| is_valid_short_statement(text))
    {
        return None;
    }
    Some(match written.as_slice() {
        [one] => message!("the condition of a route follows `when`: write `{one}`"),
        _ => {
            let lines = written.iter().map(|line| format!("`{line}`"));
            message!("write a route for each condition: {}", comma_list(lines))
        }
    })
}

/// Returns the general help text, which shows how routes are written. It is used if the meaning of
/// a statement is not certain.
pub(super) fn general_routes_help() -> Message {
    message!("write `route NAME when CONDITION -> HANDLER`, and `default -> HANDLER` for the rest")
}

impl StatementReader<'_> {
    /// True if a route may lead to this name: the file declares the handler, or declares none.
    pub(super) fn is_possible_handler(&self, name: &str) -> bool {
        self.declared().declares("handler", name)
            || !self.declared().declares_any("handler") && !crate::parse::is_reserved(name)
    }

    /// Reads the target of a route at the token `start`: the name of a handler with its arguments,
    /// after an optional verb. Also returns the index after it. `None` if no name is there.
    pub(super) fn read_target(&self, start: usize) -> Option<(String, usize)> {
        let mut name = start;
        while RESULT_VERBS.contains(&self.lowercase_text(name).as_str())
            || matches!(self.text(name), "->" | "=>")
        {
            name += 1;
        }
        let text = match self.kind(name)? {
            TokenKind::Word | TokenKind::Quoted => self.text(name),
            TokenKind::String | TokenKind::SingleQuoted => self.text(name).trim_matches(['"', '\'']),
            _ => return None,
        };
        let is_called = self.text(name + 1) == "(" && !self.begins_line(name + 1);
        let end = if is_called { self.closing_bracket(name + 1)? + 1 } else { name + 1 };
        if self.declared().declares("table", text) && !self.declared().declares("handler", text) {
            return Some((format!("goto {text}"), end));
        }
        if !self.is_possible_handler(text) || text.contains(char::is_whitespace) {
            return Some(("HANDLER".to_owned(), end));
        }
        if !is_called {
            return Some((text.to_owned(), end));
        }
        let arguments = self.write_named_arguments(text, name + 2..end - 1);
        Some((arguments.map_or_else(|| "HANDLER".to_owned(), |arguments| format!("{text}{arguments}")), end))
    }

    /// Returns the arguments of a call with the names of the handler's parameters, in parentheses.
    /// Empty for no arguments. `None` if a name is not known.
    fn write_named_arguments(&self, handler: &str, tokens: Range<usize>) -> Option<String> {
        let mut values = Vec::new();
        let mut start = tokens.start;
        while start < tokens.end {
            let end = self
                .find_outside_brackets(start..tokens.end, |index| self.text(index) == ",")
                .unwrap_or(tokens.end);
            if end == start {
                return None;
            }
            values.push(start..end);
            start = end + 1;
        }
        let names = self.parameter_names(handler);
        let mut written = Vec::new();
        for (index, value) in values.iter().enumerate() {
            let is_named = self.is_word(value.start) && self.text(value.start + 1) == ":";
            let name = match is_named {
                true => String::new(),
                false => format!("{}: ", names.get(index)?),
            };
            written.push(format!("{name}{}", self.translate_expression(value.clone())));
        }
        Some(if written.is_empty() { String::new() } else { format!("({})", written.join(", ")) })
    }

    /// Returns the names of a handler's parameters. Empty for a handler that the file does not
    /// declare.
    fn parameter_names(&self, handler: &str) -> Vec<&str> {
        let Some(open) = self.declared().parameter_bracket_of(handler) else { return Vec::new() };
        let close = self.closing_bracket(open).unwrap_or(open);
        let is_start = |index: &usize| matches!(self.text(index - 1), "(" | ",") && self.is_word(*index);
        (open + 1..close).filter(is_start).map(|index| self.text(index)).collect()
    }
}
