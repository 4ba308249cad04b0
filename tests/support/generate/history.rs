//! Generates conditions and values over the history.

use super::{FIELDS, Generator, Kind};
use std::fmt::Write;

/// Returns the fields of a kind that an earlier message has.
pub(super) fn fields(event: &str, kind: Kind) -> impl Iterator<Item = String> + '_ {
    let added: &[&str] = match kind {
        Kind::Text => &["decision.chosen", "decision.target"],
        Kind::Time => &["at"],
        _ => &[],
    };
    let of_message = FIELDS.iter().filter(move |(_, other)| *other == kind).map(|(path, _)| *path);
    of_message.chain(added.iter().copied()).map(move |path| format!("{event}.{path}"))
}

impl Generator<'_> {
    /// Writes a `history` statement.
    pub(super) fn declare_history(&mut self) {
        self.history = true;
        let key = self.random.pick(&["", "", " by ctx.user.role", " by ctx.b"]);
        let keep = self.random.pick(&["", "", " keep 400d"]);
        let at_most = self.random.pick(&["", "", " at most 12", " at most 3"]);
        let _ = writeln!(self.out, "history{key}{keep}{at_most}");
    }

    /// Generates a part of the history.
    pub(super) fn history_list(&mut self) -> String {
        let mut list = "history".to_owned();
        if self.random.chance(40) {
            let length = self.random.pick(&["2h", "9h", "200d", "ctx.n * 1h"]);
            let _ = write!(list, " within {length}");
        }
        for bound in ["after", "before"] {
            let events: Vec<&str> =
                self.scope.iter().filter(|(_, kind)| *kind == Kind::Event).map(|(name, _)| &**name).collect();
            if !events.is_empty() && self.random.chance(30) {
                let event = events[self.random.below(events.len())].to_owned();
                let _ = write!(list, " {bound} {event}");
            }
        }
        list
    }

    /// Generates a value that is computed from the history. `None` for a kind without such values.
    pub(super) fn history_value(&mut self, kind: Kind, depth: usize) -> Option<String> {
        let list = self.history_list();
        let event = format!("e{}", self.vars);
        self.vars += 1;
        self.scope.push((event.clone(), Kind::Event));
        let condition = self.cond(depth);
        self.scope.pop();
        let field = fields(&event, kind).next();
        let field = field.and_then(|field| field.strip_prefix(&event).map(str::to_owned));
        Some(match (kind, self.random.below(3)) {
            (Kind::Int, 0) => format!("(count {event} in {list}: {condition})"),
            (Kind::Int | Kind::Float, 1) => {
                format!("(sum {event}{} for {event} in {list}: {condition})", field?)
            }
            (_, 2) => format!("previous{}", field?),
            _ => {
                let end = self.random.pick(&["first", "last"]);
                format!("({end} {event} in {list}: {condition}){}", field?)
            }
        })
    }
}
