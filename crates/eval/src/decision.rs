//! The outcome of a decision, before it is dressed for the user: the statement that was chosen, and by
//! which jumps. Every engine answers with a [`Choice`], so that they can be held against each other.

use rulec_sema::hir::{Outcome, Program, RuleId, TableId};
use smallvec::{SmallVec, smallvec};

/// The answer of a table; `R` names a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<R = RuleId> {
    /// The statement that was chosen; `None` when no route holds and no default answers.
    pub chosen: Option<Chosen<R>>,
    /// The routes whose `goto` was taken to get there, outermost first. A `default -> goto` is no
    /// route and leaves no mark here; [`Choice::tables`] follows it all the same.
    pub path: SmallVec<[R; 4]>,
}

/// The statement that was chosen. Its outcome is always a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chosen<R = RuleId> {
    /// A rule.
    Rule(R),
    /// The default of this table.
    Default(TableId),
}

impl<R> Choice<R> {
    /// Nothing was chosen.
    pub fn nothing() -> Choice<R> {
        Choice { chosen: None, path: SmallVec::new() }
    }

    /// A statement that was chosen without a jump to another table.
    #[inline]
    pub fn at_once(chosen: Chosen<R>) -> Choice<R> {
        Choice { chosen: Some(chosen), path: SmallVec::new() }
    }
}

impl Choice {
    /// The tables walked through from `entry` to the one of the chosen statement, both included.
    pub fn tables(&self, program: &Program, entry: TableId) -> Trail {
        let jumps = self.path.iter().filter_map(|jump| {
            let route = &program.rules[jump.index()];
            match route.outcome {
                Outcome::Goto(inner) => Some((route.table, inner)),
                _ => None,
            }
        });
        trail(program, entry, jumps, self.chosen.map(|chosen| chosen.table(program)))
    }
}

/// The tables from an entry to the one of the chosen statement.
pub type Trail = SmallVec<[TableId; 4]>;

/// The tables walked through from `entry` by jumps, each from a table to another, to the last one.
pub fn trail(
    program: &Program,
    entry: TableId,
    jumps: impl Iterator<Item = (TableId, TableId)>,
    last: Option<TableId>,
) -> Trail {
    let mut tables = smallvec![entry];
    for (from, to) in jumps {
        follow_defaults(program, &mut tables, from);
        tables.push(to);
    }
    if let Some(last) = last {
        follow_defaults(program, &mut tables, last);
    }
    tables
}

/// Appends the tables that `default -> goto` leads through, until `wanted`.
fn follow_defaults(program: &Program, tables: &mut Trail, wanted: TableId) {
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
