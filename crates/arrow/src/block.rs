//! Slot values of a block of rows. A slot stores a message field that the rules read. The values of
//! a row are adjacent in memory, but one slot is filled for many rows at a time.

use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::Value;

/// Number of rows whose slot values (values of message fields) are filled together. Small enough
/// that these values stay in the processor's cache.
pub(crate) const ROWS_PER_BLOCK: usize = 64;

/// The slot values (values of the message fields that the rules read) of up to [`ROWS_PER_BLOCK`]
/// rows.
pub(crate) struct RowBlock<'v> {
    values: Vec<Value<'v>>,
    slots_per_row: usize,
    /// Bit mask of the rows that slots cannot represent. Such a row is decided from its JSON tree
    /// (the row as a parsed JSON message).
    pub tree_row_bits: u64,
}

impl<'v> RowBlock<'v> {
    /// Creates an empty block, which must be reset before it can hold rows.
    pub fn new() -> RowBlock<'v> {
        RowBlock { values: Vec::new(), slots_per_row: 0, tree_row_bits: 0 }
    }

    /// Prepares the block for `rows` rows with `slots_per_row` slots (message fields) each.
    /// Afterwards all values are missing.
    pub fn reset(&mut self, slots_per_row: usize, rows: usize) {
        self.values.clear();
        self.values.resize(slots_per_row * rows, Value::Missing);
        self.slots_per_row = slots_per_row;
        self.tree_row_bits = 0;
    }

    /// Returns the cells of a slot (a message field that the rules read) in all rows.
    /// `present_row_bits` is the bit mask of the rows that have a value.
    pub fn cells_of_slot(&mut self, slot: usize, present_row_bits: u64) -> SlotCells<'_, 'v> {
        SlotCells {
            values: &mut self.values,
            slots_per_row: self.slots_per_row,
            slot_index: slot,
            present_row_bits,
        }
    }

    /// Stores the value of one slot (a message field) of one row.
    pub fn put_value(&mut self, row: usize, slot: usize, value: Value<'v>) {
        if let Some(cell) = self.values.get_mut(row * self.slots_per_row + slot) {
            *cell = value;
        }
    }

    /// Returns the slot values of a row. `None` if slots cannot represent the row, so that it must
    /// be decided from a JSON tree (a parsed JSON message).
    pub fn row_slots(&self, row: usize) -> Option<&[Value<'v>]> {
        if self.tree_row_bits >> row & 1 == 1 {
            return None;
        }
        self.values.get(row * self.slots_per_row..(row + 1) * self.slots_per_row)
    }
}

/// The values of one slot (a message field) in all rows of a block.
pub(crate) struct SlotCells<'c, 'v> {
    values: &'c mut [Value<'v>],
    /// Number of slots (message fields that the rules read) in each row.
    slots_per_row: usize,
    slot_index: usize,
    /// Bit mask of the rows of the block in which this slot (a message field) has a value.
    present_row_bits: u64,
}

impl<'v> SlotCells<'_, 'v> {
    /// Stores the values of the rows whose bit in `present_row_bits` is set. `values` has one value
    /// for each row of the block, in order; the values of other rows are ignored. `kind` is the
    /// kind of all `values`, and `kinds` are the kinds that the slot accepts. If the slot does not
    /// accept `kind`, each value is first converted to an accepted kind.
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
        let SlotCells { slot_index: slot, present_row_bits, .. } = self;
        let rows = self.values.chunks_exact_mut(self.slots_per_row.max(1)).zip(values);
        if present_row_bits == u64::MAX {
            rows.for_each(|(row, value)| set_slot(row, slot, value));
        } else {
            rows.enumerate()
                .filter(|(index, _)| present_row_bits >> index & 1 == 1)
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
