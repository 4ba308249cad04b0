//! The walk from table to table: one for the machine, with the index or without, for compiled code and
//! for live rules, which differ in how they search one table. (The reference evaluator has its own, to
//! be held against.)

use crate::bytecode::instr::Instr;
use rulec_eval::decision::{Choice, Chosen};
use rulec_sema::hir::{RuleId, TableId};
use smallvec::SmallVec;

/// The end of a search through a table; `P` is a place in it, `R` names a rule.
pub enum End<P, R = RuleId> {
    /// That of a condition: whether it holds.
    Answer(bool),
    /// A rule holds.
    Choose(R),
    /// A rule holds that jumps to a table. When that chooses nothing the search goes on behind the rule.
    Goto {
        /// The rule that jumps.
        route: R,
        /// The table to search next.
        table: TableId,
        /// Where the search resumes if `table` chooses nothing.
        resume: P,
    },
    /// No rule holds, and the table has a default.
    Default(TableId),
    /// No rule holds, and the default is another table.
    Continue(TableId),
    /// No rule holds.
    Nothing,
}

impl End<usize> {
    /// The end to which an instruction of a condition or table leads; it is the `at`th of the code.
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
    /// The same with another name for the place behind a jump.
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

/// Whoever searches tables.
pub trait Searcher {
    /// A place in a table, from where on it is searched.
    type Place;
    /// The name of a rule.
    type Rule;

    /// The place where a table begins.
    fn start(&self, table: TableId) -> Self::Place;

    /// Searches a table from a place on.
    fn search(&mut self, from: Self::Place) -> End<Self::Place, Self::Rule>;

    /// True when a table has chosen nothing before in this decision.
    fn is_exhausted(&self, table: TableId) -> bool;

    /// Notes that a table chooses nothing in this decision.
    fn exhaust(&mut self, table: TableId);
}

/// A table that a jump led into.
struct Frame<P> {
    table: TableId,
    /// The place to go on from when it chooses nothing.
    resume: P,
}

/// Resolves the jumps behind a search that ended so: what is chosen at last.
#[inline(always)]
pub fn resolve<S: Searcher>(searcher: &mut S, end: End<S::Place, S::Rule>) -> Choice<S::Rule> {
    // Most searches end in the table they began in, and are not to pay for others.
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
        // A table that chose nothing once in a decision will choose nothing again.
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
