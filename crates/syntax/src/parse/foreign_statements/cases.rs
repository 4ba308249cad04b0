//! Recognizes choices between values in other languages: `switch (x) { case "a": return h; }`,
//! `match x { "a" => h, _ => g }` and `case x when "a" then h end`.

use super::routes::{MeantRoute, routes_help};
use super::{ForeignStatement, StatementReader};
use rulec_base::message;
use std::ops::Range;

/// Maximum number of tokens in a statement such as `case x when … end`, whose end is a word and not
/// a brace.
const MAX_SWITCH_TOKENS: usize = 200;

impl StatementReader<'_> {
    /// Returns the `switch`, `match` or `case` statement of another language at the token `start`.
    /// `None` for other statements.
    pub(super) fn read_switch_statement(&self, start: usize) -> Option<ForeignStatement> {
        let margin = self.significant[start].indent()?;
        let line_end = self.next_line_start(start);
        let open = self.find_outside_brackets(start + 1..line_end, |index| {
            matches!(self.text(index), "{" | ":") || self.lowercase_text(index) == "when"
        });
        let open = open.unwrap_or(line_end);
        let (body, end) = match self.text(open) {
            "{" => (open + 1..self.closing_bracket(open)?, self.closing_bracket(open)? + 1),
            ":" => (open + 1..self.index_after_block(open, margin), self.index_after_block(open, margin)),
            _ if matches!(self.lowercase_text(open).as_str(), "when" | "in") => {
                let limit = self.significant.len().min(open + MAX_SWITCH_TOKENS);
                let last = (open..limit).find(|index| self.lowercase_text(*index) == "end")?;
                (open..last, last + 1)
            }
            _ => return None,
        };
        if open == start + 1 || body.is_empty() {
            return None;
        }
        let value = self.translate_without_parentheses(start + 1..open);
        let routes = self.translate_cases_to_routes(&value, body);
        let help = routes.and_then(|routes| routes_help(&routes)).unwrap_or_else(|| {
            message!(
                "write a route for each value: `route NAME when {value} == VALUE -> HANDLER`, and `default -> \
                HANDLER` for the rest"
            )
        });
        Some(ForeignStatement { end_token: end, help, declared_names: Vec::new() })
    }

    /// Returns the routes that the cases between the tokens `body` mean. The cases compare the
    /// expression `value`. `None` if the meaning of a case is not certain.
    fn translate_cases_to_routes(&self, value: &str, body: Range<usize>) -> Option<Vec<MeantRoute>> {
        let mut routes = Vec::new();
        let mut at = body.start;
        while at < body.end {
            if matches!(self.text(at), "," | ";" | "break" | "}") {
                at += 1;
                continue;
            }
            at += usize::from(matches!(self.lowercase_text(at).as_str(), "case" | "when"));
            let is_rest = matches!(self.lowercase_text(at).as_str(), "default" | "else" | "_" | "otherwise");
            let is_mark = |index: usize| {
                matches!(self.text(index), ":" | "=>" | "->") || self.lowercase_text(index) == "then"
            };
            let mark = self.find_outside_brackets(at..body.end, is_mark);
            let (condition, after) = match (is_rest, mark) {
                (true, mark) if mark == Some(at + 1) => (None, at + 2),
                (true, _) => (None, at + 1),
                (false, mark) => {
                    let values = at..mark?;
                    let is_list = self
                        .find_outside_brackets(values.clone(), |index| matches!(self.text(index), "," | "|"));
                    let written = self.translate_expression(values.clone()).replace(" | ", ", ");
                    if values.is_empty() {
                        return None;
                    }
                    let condition = match is_list {
                        Some(_) => format!("{value} in [{written}]"),
                        None => format!("{value} == {written}"),
                    };
                    (Some(condition), mark? + 1)
                }
            };
            let (target, end) = self.read_target(after)?;
            routes.push(MeantRoute::new(condition, target));
            at = end;
        }
        Some(routes)
    }
}
