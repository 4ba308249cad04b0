//! The search through tables whose rules can jump to other tables with `goto`.
//!
//! The VM, the index, compiled code and live rules share the search through several tables; only
//! their search of one table differs. The reference evaluator has its own search, so that tests can
//! compare the results of two independent implementations.

use crate::bytecode::instr::Instr;
use rulec_eval::decision::{Choice, Chosen};
use rulec_sema::hir::{RuleId, TableId};
use smallvec::SmallVec;

/// The result of searching a table. `P` is a position in the table, `R` identifies a rule.
pub enum SearchResult<P, R = RuleId> {
    /// A rule's condition is true, and the rule is chosen.
    Choose(R),
    /// The condition of a rule with the target `goto TABLE` is true. If that table selects nothing,
    /// the search resumes after the rule.
    Goto {
        /// The rule whose condition is true and whose target is another table (`goto`).
        route: R,
        /// The table to which this rule leads, and which is searched next.
        table: TableId,
        /// The position at which the search resumes if `table` selects nothing.
        resume_position: P,
    },
    /// No rule's condition is true, and the default of this table is chosen.
    Default(TableId),
    /// No rule's condition is true, and the table's default continues the search in this other
    /// table.
    Continue(TableId),
    /// No rule's condition is true, and the table has no default.
    Nothing,
}

impl SearchResult<usize> {
    /// Returns the result of a search that ended with the instruction `instr` at address `at`.
    #[inline(always)]
    pub fn from_instr(instr: &Instr, at: usize) -> SearchResult<usize> {
        match *instr {
            Instr::Choose { route } => SearchResult::Choose(route),
            Instr::Goto { route, table } => SearchResult::Goto { route, table, resume_position: at + 1 },
            Instr::Default { table } => SearchResult::Default(table),
            Instr::Continue { table } => SearchResult::Continue(table),
            _ => SearchResult::Nothing,
        }
    }
}

impl<P, R> SearchResult<P, R> {
    /// Converts the resume position of a `Goto` with the function `convert`. Returns any other
    /// result unchanged.
    #[inline]
    pub fn map_position<Q>(self, convert: impl FnOnce(P) -> Q) -> SearchResult<Q, R> {
        match self {
            SearchResult::Choose(route) => SearchResult::Choose(route),
            SearchResult::Goto { route, table, resume_position: resume } => {
                SearchResult::Goto { route, table, resume_position: convert(resume) }
            }
            SearchResult::Default(table) => SearchResult::Default(table),
            SearchResult::Continue(table) => SearchResult::Continue(table),
            SearchResult::Nothing => SearchResult::Nothing,
        }
    }
}

/// An engine that can search one table. The search through several tables is the same for all
/// engines.
pub trait Searcher {
    /// A position in a table, at which a search can begin or resume.
    type Position;
    /// The type by which the engine identifies a rule in its search results.
    type Rule;

    /// Returns the position at which a table begins.
    fn start_position(&self, table: TableId) -> Self::Position;

    /// Searches the table of a position, beginning at this position.
    fn search_from(&mut self, from: Self::Position) -> SearchResult<Self::Position, Self::Rule>;

    /// True if the table was searched before in this decision and selected nothing. The table is
    /// then not searched again.
    fn is_exhausted(&self, table: TableId) -> bool;

    /// Records that the table selected nothing in this decision, so that it need not be searched
    /// again.
    fn mark_exhausted(&mut self, table: TableId);
}

/// A table to which a rule with `goto` led, with the position after this rule.
struct ResumeFrame<P> {
    table: TableId,
    /// The position at which the search resumes if the table selects nothing.
    resume_position: P,
}

/// Completes a decision, given the result `end` of searching the first table. Follows jumps to
/// other tables. If such a table selects nothing, continues in the earlier table after the jump.
#[inline(always)]
pub fn resolve_choice<S: Searcher>(
    searcher: &mut S,
    first_result: SearchResult<S::Position, S::Rule>,
) -> Choice<S::Rule> {
    // Most searches end in their first table, so they must not pay for the others.
    match first_result {
        SearchResult::Choose(route) => Choice::without_goto(Chosen::Rule(route)),
        SearchResult::Default(table) => Choice::without_goto(Chosen::Default(table)),
        end => resolve_jumps(searcher, end),
    }
}

#[inline(never)]
fn resolve_jumps<S: Searcher>(
    searcher: &mut S,
    mut end: SearchResult<S::Position, S::Rule>,
) -> Choice<S::Rule> {
    let mut path = SmallVec::<[S::Rule; 4]>::new();
    let mut frames = SmallVec::<[ResumeFrame<S::Position>; 8]>::new();
    loop {
        let next_table = match end {
            SearchResult::Choose(route) => return Choice { chosen: Some(Chosen::Rule(route)), path },
            SearchResult::Default(table) => return Choice { chosen: Some(Chosen::Default(table)), path },
            SearchResult::Goto { route, table, resume_position: resume } => {
                path.push(route);
                frames.push(ResumeFrame { table, resume_position: resume });
                Some(table)
            }
            SearchResult::Continue(table) => Some(table),
            SearchResult::Nothing => None,
        };
        // A table that selected nothing once in a decision will select nothing again.
        let position = match next_table {
            Some(table) if !searcher.is_exhausted(table) => searcher.start_position(table),
            _ => {
                let Some(frame) = frames.pop() else { return Choice::none_chosen() };
                searcher.mark_exhausted(frame.table);
                path.pop();
                frame.resume_position
            }
        };
        end = searcher.search_from(position);
    }
}
