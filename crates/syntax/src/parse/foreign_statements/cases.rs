//! Recognizes choices between values in other languages: `switch (x) { case "a": return h; }`,
//! `match x { "a" => h, _ => g }` and `case x when "a" then h end`.

use super::routes::{MeantRoute, written_routes};
use super::{ForeignStatement, StatementReader};
use rulec_base::message;
use std::ops::Range;

/// Maximum number of tokens in a statement such as `case x when … end`, whose end is a word and not
/// a brace.
const MAX_TOKENS: usize = 200;

impl StatementReader<'_> {
    /// Returns the `switch`, `match` or `case` statement of another language at the token `start`.
    /// `None` for other statements.
    pub(super) fn cases(&self, start: usize) -> Option<ForeignStatement> {
        let margin = self.sigs[start].indent()?;
        let line_end = self.next_line(start);
        let open = self.find_outside(start + 1..line_end, |index| {
            matches!(self.text(index), "{" | ":") || self.lower(index) == "when"
        });
        let open = open.unwrap_or(line_end);
        let (body, end) = match self.text(open) {
            "{" => (open + 1..self.closing(open)?, self.closing(open)? + 1),
            ":" => (open + 1..self.end_of_block(open, margin), self.end_of_block(open, margin)),
            _ if matches!(self.lower(open).as_str(), "when" | "in") => {
                let limit = self.sigs.len().min(open + MAX_TOKENS);
                let last = (open..limit).find(|index| self.lower(*index) == "end")?;
                (open..last, last + 1)
            }
            _ => return None,
        };
        if open == start + 1 || body.is_empty() {
            return None;
        }
        let value = self.unwrapped(start + 1..open);
        let routes = self.routes_of_cases(&value, body);
        let help = routes.and_then(|routes| written_routes(&routes)).unwrap_or_else(|| {
            message!(
                "write a route for each value: `route NAME when {value} == VALUE -> HANDLER`, and `default -> \
                HANDLER` for the rest"
            )
        });
        Some(ForeignStatement { end, help, names: Vec::new() })
    }

    /// Returns the routes that the cases between the tokens `body` mean. The cases compare the
    /// expression `value`. `None` if the meaning of a case is not certain.
    fn routes_of_cases(&self, value: &str, body: Range<usize>) -> Option<Vec<MeantRoute>> {
        let mut routes = Vec::new();
        let mut at = body.start;
        while at < body.end {
            if matches!(self.text(at), "," | ";" | "break" | "}") {
                at += 1;
                continue;
            }
            at += usize::from(matches!(self.lower(at).as_str(), "case" | "when"));
            let is_rest = matches!(self.lower(at).as_str(), "default" | "else" | "_" | "otherwise");
            let is_mark =
                |index: usize| matches!(self.text(index), ":" | "=>" | "->") || self.lower(index) == "then";
            let mark = self.find_outside(at..body.end, is_mark);
            let (condition, after) = match (is_rest, mark) {
                (true, mark) if mark == Some(at + 1) => (None, at + 2),
                (true, _) => (None, at + 1),
                (false, mark) => {
                    let values = at..mark?;
                    let is_list =
                        self.find_outside(values.clone(), |index| matches!(self.text(index), "," | "|"));
                    let written = self.translated(values.clone()).replace(" | ", ", ");
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
            let (target, end) = self.target_at(after)?;
            routes.push(MeantRoute::new(condition, target));
            at = end;
        }
        Some(routes)
    }
}
