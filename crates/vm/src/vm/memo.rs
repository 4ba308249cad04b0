//! Answers kept during a decision, for the dispatch loop and for compiled code.

use crate::bytecode::Chunk;
use rulec_lang::value::Tri;
use rulec_sema::hir::TableId;
use std::cell::Cell;

const ANSWER: u32 = 3;

/// Answers of predicates, then of shared conditions, then of tables that chose nothing. A cell counts
/// when it is stamped with the decision's number.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Memo<'a> {
    /// The first: compiled code reads where it lies.
    pub cells: &'a [Cell<u32>],
    /// The decision's number, a multiple of four: the answers stand in the two bits below.
    pub epoch: u32,
}

impl Memo<'_> {
    pub fn table(chunk: &Chunk, table: TableId) -> usize {
        chunk.preds.len() + chunk.shared.len() + table.index()
    }

    #[inline]
    pub fn recall(&self, cell: usize) -> Option<Tri> {
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
    pub fn keep(&self, cell: usize, answer: Tri) {
        if let Some(stamp) = self.cells.get(cell) {
            stamp.set(self.epoch | answer as u32);
        }
    }
}
