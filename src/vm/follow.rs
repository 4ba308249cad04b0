//! The way from table to table: the same for the dispatch loop and for compiled code, which differ in
//! how they search one table.

use super::End;
use crate::bytecode::Chunk;
use crate::decision::{Choice, Chosen};
use crate::sema::hir::{RuleId, TableId};
use crate::value::Tri;
use smallvec::SmallVec;
use std::cell::Cell;

/// The bits of a memo cell that hold the answer.
const ANSWER: u32 = 3;

/// Answers kept during a decision: of predicates, then of shared conditions, then of tables that
/// chose nothing. A cell counts when it is stamped with the decision's number.
#[derive(Clone, Copy)]
pub(crate) struct Memo<'a> {
    pub(crate) cells: &'a [Cell<u32>],
    /// The decision's number, a multiple of four: the answers stand in the two bits below.
    pub(crate) epoch: u32,
}

impl Memo<'_> {
    /// The cell of a table.
    pub(crate) fn table(chunk: &Chunk, table: TableId) -> usize {
        chunk.preds.len() + chunk.shared.len() + table.index()
    }

    #[inline]
    pub(crate) fn recall(&self, cell: usize) -> Option<Tri> {
        let stamp = self.cells.get(cell)?.get();
        if stamp & !ANSWER != self.epoch {
            return None;
        }
        Some(match stamp & ANSWER {
            0 => Tri::True,
            1 => Tri::False,
            _ => Tri::Unknown,
        })
    }

    #[inline]
    pub(crate) fn keep(&self, cell: usize, answer: Tri) {
        if let Some(stamp) = self.cells.get(cell) {
            stamp.set(self.epoch | answer as u32);
        }
    }
}

/// A table that a `goto` led into.
struct Frame<P> {
    /// The table.
    table: TableId,
    /// Where to go on when it chooses nothing.
    behind: P,
}

/// Where the search of a table that ended so leads. `start` says where a table's code begins, `run`
/// searches from a place on.
#[inline(always)]
pub(crate) fn follow<S, P>(
    searcher: &mut S,
    chunk: &Chunk,
    memo: &Memo<'_>,
    end: End<P>,
    start: impl Fn(&S, TableId) -> P,
    run: impl FnMut(&mut S, P) -> End<P>,
) -> Choice {
    // Most searches end in the table they began in, and are not to pay for others.
    match end {
        End::Choose(route) => Choice::at_once(Chosen::Rule(route)),
        End::Default(table) => Choice::at_once(Chosen::Default(table)),
        end => follow_on(searcher, chunk, memo, end, start, run),
    }
}

#[inline(never)]
fn follow_on<S, P>(
    searcher: &mut S,
    chunk: &Chunk,
    memo: &Memo<'_>,
    mut end: End<P>,
    start: impl Fn(&S, TableId) -> P,
    mut run: impl FnMut(&mut S, P) -> End<P>,
) -> Choice {
    let mut path = SmallVec::<[RuleId; 4]>::new();
    let mut frames = SmallVec::<[Frame<P>; 8]>::new();
    loop {
        let next = match end {
            End::Choose(route) => return Choice { chosen: Some(Chosen::Rule(route)), path },
            End::Default(table) => return Choice { chosen: Some(Chosen::Default(table)), path },
            End::Goto { route, table, behind } => {
                path.push(route);
                frames.push(Frame { table, behind });
                Some(table)
            }
            End::Continue(table) => Some(table),
            End::Nothing | End::Answer(_) => None,
        };
        // A table that chose nothing once in a decision will choose nothing again.
        let place = match next {
            Some(table) if memo.recall(Memo::table(chunk, table)).is_none() => start(searcher, table),
            _ => {
                let Some(frame) = frames.pop() else { return Choice::nothing() };
                memo.keep(Memo::table(chunk, frame.table), Tri::False);
                path.pop();
                frame.behind
            }
        };
        end = run(searcher, place);
    }
}
