//! The search through tables that lead to each other.
//!
//! The VM, the index, compiled code and live rules share it; they differ only in how they search
//! one table. The reference evaluator has a search of its own, as an independent oracle.

use crate::bytecode::instr::Instr;
use rulec_eval::decision::{Choice, Chosen};
use rulec_sema::hir::{RuleId, TableId};
use smallvec::SmallVec;

/// The result of searching a table. `P` is a position in the table, `R` identifies a rule.
pub enum End<P, R = RuleId> {
    /// The result of a condition block, which is no table: whether the condition is true.
    Answer(bool),
    /// A rule matches.
    Choose(R),
    /// The matching rule is a `goto`; if `table` selects nothing, the search resumes after the
    /// rule.
    Goto {
        /// The rule that jumps.
        route: R,
        /// The table to search next.
        table: TableId,
        /// The position at which the search resumes if `table` selects nothing.
        resume: P,
    },
    /// No rule matches, and the table has a default.
    Default(TableId),
    /// No rule matches, and the default is another table.
    Continue(TableId),
    /// No rule matches, and there is no default.
    Nothing,
}

impl End<usize> {
    /// Converts the last instruction of a condition or table, at address `at`, to the result.
    #[inline(always)]
    pub fn at(instr: &Instr, at: usize) -> End<usize> {
        match *instr {
            Instr::Answer { holds } => End::Answer(holds),
            Instr::Choose { route } => End::Choose(route),
            Instr::Goto { route, table } => End::Goto { route, table, resume: at + 1 },
            Instr::Default { table } => End::Default(table),
            Instr::Continue { table } => End::Continue(table),
            _ => End::Nothing,
        }
    }
}

impl<P, R> End<P, R> {
    /// Maps the resume position.
    #[inline]
    pub fn map<Q>(self, place: impl FnOnce(P) -> Q) -> End<Q, R> {
        match self {
            End::Answer(holds) => End::Answer(holds),
            End::Choose(route) => End::Choose(route),
            End::Goto { route, table, resume } => End::Goto { route, table, resume: place(resume) },
            End::Default(table) => End::Default(table),
            End::Continue(table) => End::Continue(table),
            End::Nothing => End::Nothing,
        }
    }
}

/// An engine that can search one table.
pub trait Searcher {
    /// A position in a table.
    type Place;
    /// The identifier of a rule.
    type Rule;

    /// Returns the position at which a table begins.
    fn start(&self, table: TableId) -> Self::Place;

    /// Searches a table from a position on.
    fn search(&mut self, from: Self::Place) -> End<Self::Place, Self::Rule>;

    /// True if the table has selected nothing before in this decision.
    fn is_exhausted(&self, table: TableId) -> bool;

    /// Records that the table selects nothing in this decision.
    fn exhaust(&mut self, table: TableId);
}

/// A table that a jump entered.
struct Frame<P> {
    table: TableId,
    /// The position at which the search resumes if the table selects nothing.
    resume: P,
}

/// Follows the jumps after a first search, and returns the final choice.
#[inline(always)]
pub fn resolve<S: Searcher>(searcher: &mut S, end: End<S::Place, S::Rule>) -> Choice<S::Rule> {
    // Most searches end in their first table, so they must not pay for the others.
    match end {
        End::Choose(route) => Choice::at_once(Chosen::Rule(route)),
        End::Default(table) => Choice::at_once(Chosen::Default(table)),
        end => resolve_jumps(searcher, end),
    }
}

#[inline(never)]
fn resolve_jumps<S: Searcher>(searcher: &mut S, mut end: End<S::Place, S::Rule>) -> Choice<S::Rule> {
    let mut path = SmallVec::<[S::Rule; 4]>::new();
    let mut frames = SmallVec::<[Frame<S::Place>; 8]>::new();
    loop {
        let next = match end {
            End::Choose(route) => return Choice { chosen: Some(Chosen::Rule(route)), path },
            End::Default(table) => return Choice { chosen: Some(Chosen::Default(table)), path },
            End::Goto { route, table, resume } => {
                path.push(route);
                frames.push(Frame { table, resume });
                Some(table)
            }
            End::Continue(table) => Some(table),
            End::Nothing | End::Answer(_) => None,
        };
        // A table that selected nothing once in a decision will select nothing again.
        let place = match next {
            Some(table) if !searcher.is_exhausted(table) => searcher.start(table),
            _ => {
                let Some(frame) = frames.pop() else { return Choice::nothing() };
                searcher.exhaust(frame.table);
                path.pop();
                frame.resume
            }
        };
        end = searcher.search(place);
    }
}
