//! The outcome of a decision, before it is dressed for the user: the statement that was chosen, and by
//! which jumps. Every engine answers with a [`Choice`], so that they can be held against each other.

use crate::sema::hir::{Outcome, Program, RuleId, TableId};
use smallvec::SmallVec;

/// The answer of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The statement that was chosen; `None` when no route holds and no default answers.
    pub chosen: Option<Chosen>,
    /// The routes whose `goto` was taken to get there, outermost first. A `default -> goto` is no
    /// route and leaves no mark here; [`Choice::tables`] follows it all the same.
    pub path: SmallVec<[RuleId; 4]>,
}

/// The statement that was chosen. Its outcome is always a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chosen {
    /// A rule.
    Rule(RuleId),
    /// The default of this table.
    Default(TableId),
}

impl Choice {
    /// Nothing was chosen.
    pub fn nothing() -> Choice {
        Choice::default()
    }

    /// Chosen without a jump.
    #[inline]
    pub(crate) fn at_once(chosen: Chosen) -> Choice {
        Choice { chosen: Some(chosen), path: SmallVec::new() }
    }

    /// The tables walked through from `entry` to the one of the chosen statement, both included.
    pub fn tables(&self, program: &Program, entry: TableId) -> Vec<TableId> {
        let mut tables = vec![entry];
        for &jump in &self.path {
            let route = &program.rules[jump.index()];
            follow_defaults(program, &mut tables, route.table);
            if let Outcome::Goto(inner) = route.outcome {
                tables.push(inner);
            }
        }
        if let Some(chosen) = self.chosen {
            follow_defaults(program, &mut tables, chosen.table(program));
        }
        tables
    }
}

/// Appends the tables that `default -> goto` leads through, until `wanted`.
fn follow_defaults(program: &Program, tables: &mut Vec<TableId>, wanted: TableId) {
    // Jumps are acyclic, so no way is longer than the number of tables.
    for _ in &program.tables {
        match tables.last() {
            Some(&last) if last != wanted => match program.tables[last.index()].default {
                Some(Outcome::Goto(inner)) => tables.push(inner),
                _ => return,
            },
            _ => return,
        }
    }
}

impl Chosen {
    /// The outcome that it leads to.
    pub fn outcome(self, program: &Program) -> Option<&Outcome> {
        match self {
            Chosen::Rule(id) => Some(&program.rules[id.index()].outcome),
            Chosen::Default(id) => program.tables[id.index()].default.as_ref(),
        }
    }

    /// The table it stands in.
    pub fn table(self, program: &Program) -> TableId {
        match self {
            Chosen::Rule(id) => program.rules[id.index()].table,
            Chosen::Default(id) => id,
        }
    }

    /// The route's name, or `default`.
    pub fn name(self, program: &Program) -> &str {
        match self {
            Chosen::Rule(id) => &program.rules[id.index()].name,
            Chosen::Default(_) => "default",
        }
    }
}
