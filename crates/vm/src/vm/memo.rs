//! Results that are memoized during a decision, by the VM and by compiled code. Each decision has a
//! number, its *epoch*. A memoized result is stored together with the epoch, so that later
//! decisions ignore it.

use crate::bytecode::Chunk;
use rulec_lang::value::Tri;
use rulec_sema::hir::TableId;
use std::cell::Cell;

/// Mask of the bits of a memo cell that contain the memoized result. The other bits contain the
/// number of the decision that wrote it.
const RESULT_MASK: u32 = 3;

/// Memo cells of a decision: results of predicates, followed by results of shared conditions,
/// followed by flags for tables that selected nothing. A cell is valid if it contains the epoch
/// (the decision's number).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Memo<'a> {
    /// The memo cells. This field comes first, because compiled code reads it at a fixed offset.
    pub cells: &'a [Cell<u32>],
    /// The number of the decision, a multiple of four. A cell that is valid contains this number,
    /// with the memoized result in the two lowest bits.
    pub epoch: u32,
}

impl Memo<'_> {
    pub fn table_cell_index(chunk: &Chunk, table: TableId) -> usize {
        chunk.preds.len() + chunk.shared_conditions.len() + table.index()
    }

    #[inline]
    pub fn memoized_result(&self, cell: usize) -> Option<Tri> {
        let stamp = self.cells.get(cell)?.get();
        if stamp & !RESULT_MASK != self.epoch {
            return None;
        }
        Some(match stamp & RESULT_MASK {
            0 => Tri::True,
            1 => Tri::False,
            _ => Tri::Unknown,
        })
    }

    #[inline]
    pub fn store(&self, cell: usize, answer: Tri) {
        if let Some(stamp) = self.cells.get(cell) {
            stamp.set(self.epoch | answer as u32);
        }
    }
}
