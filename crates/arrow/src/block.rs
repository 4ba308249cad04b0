//! Slot values of a block of rows. A slot stores a message field that the rules read. The values of
//! a row are adjacent in memory, but one slot is filled for many rows at a time.

use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::Value;

/// Number of rows in a block, small enough that the block's values stay in the cache.
pub(crate) const BLOCK_ROWS: usize = 64;

/// The slot values of a block of rows.
pub(crate) struct RowBlock<'v> {
    values: Vec<Value<'v>>,
    slots: usize,
    /// Bit mask of the rows that cannot be decided from slots, only from a JSON tree.
    pub trees: u64,
}

impl<'v> RowBlock<'v> {
    /// Creates an empty block.
    pub fn new() -> RowBlock<'v> {
        RowBlock { values: Vec::new(), slots: 0, trees: 0 }
    }

    /// Clears the block and sizes it for `rows` rows; all values are missing.
    pub fn reset(&mut self, slots: usize, rows: usize) {
        self.values.clear();
        self.values.resize(slots * rows, Value::Missing);
        self.slots = slots;
        self.trees = 0;
    }

    /// Returns the cells of a slot in all rows. `there` has the bits of the rows that have a value.
    pub fn cells_of_slot(&mut self, slot: usize, there: u64) -> Cells<'_, 'v> {
        Cells { values: &mut self.values, width: self.slots, slot, there }
    }

    /// Stores a value in the slot of a row.
    pub fn put_value(&mut self, at: usize, slot: usize, value: Value<'v>) {
        if let Some(cell) = self.values.get_mut(at * self.slots + slot) {
            *cell = value;
        }
    }

    /// Returns the values of a row; `None` if the row must be decided from a JSON tree.
    pub fn row_slots(&self, at: usize) -> Option<&[Value<'v>]> {
        if self.trees >> at & 1 == 1 {
            return None;
        }
        self.values.get(at * self.slots..(at + 1) * self.slots)
    }
}

/// The cells of one slot in the rows of a block.
pub(crate) struct Cells<'c, 'v> {
    values: &'c mut [Value<'v>],
    /// Number of slots per row.
    width: usize,
    slot: usize,
    /// Bit mask of the rows that have a value.
    there: u64,
}

impl<'v> Cells<'_, 'v> {
    /// Stores values of one kind in the cells of the rows that have a value. If `kinds` lacks this
    /// kind, each value is converted to one of `kinds`.
    #[inline(always)]
    pub fn put_values(self, kind: Kind, kinds: KindSet, values: impl Iterator<Item = Value<'v>>) {
        if kinds.has(kind) {
            self.store_all(values);
        } else {
            self.store_all(values.map(|value| value.read_as(kinds)));
        }
    }

    #[inline(always)]
    fn store_all(self, values: impl Iterator<Item = Value<'v>>) {
        let Cells { slot, there, .. } = self;
        let rows = self.values.chunks_exact_mut(self.width.max(1)).zip(values);
        if there == u64::MAX {
            rows.for_each(|(row, value)| set_slot(row, slot, value));
        } else {
            rows.enumerate()
                .filter(|(at, _)| there >> at & 1 == 1)
                .for_each(|(_, (row, value))| set_slot(row, slot, value));
        }
    }
}

#[inline(always)]
fn set_slot<'v>(row: &mut [Value<'v>], slot: usize, value: Value<'v>) {
    if let Some(cell) = row.get_mut(slot) {
        *cell = value;
    }
}
