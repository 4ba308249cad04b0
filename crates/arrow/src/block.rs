//! The values of some rows in the slots that rules read: laid out row by row, filled slot by slot.

use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::Value;

/// Rows that are filled at a time: their values stay in the nearest memory.
pub(crate) const BLOCK: usize = 64;

/// The values of a block of rows.
pub(crate) struct Block<'v> {
    values: Vec<Value<'v>>,
    slots: usize,
    /// The rows that only a tree will do for.
    pub trees: u64,
}

impl<'v> Block<'v> {
    /// No rows yet.
    pub fn new() -> Block<'v> {
        Block { values: Vec::new(), slots: 0, trees: 0 }
    }

    /// Makes room for so many rows, without a value yet.
    pub fn begin(&mut self, slots: usize, rows: usize) {
        self.values.clear();
        self.values.resize(slots * rows, Value::Missing);
        self.slots = slots;
        self.trees = 0;
    }

    /// The cells of a slot in the rows whose bits are set.
    pub fn cells(&mut self, slot: usize, there: u64) -> Cells<'_, 'v> {
        Cells { values: &mut self.values, width: self.slots, slot, there }
    }

    /// Puts a value into the slot of a row.
    pub fn put(&mut self, at: usize, slot: usize, value: Value<'v>) {
        if let Some(cell) = self.values.get_mut(at * self.slots + slot) {
            *cell = value;
        }
    }

    /// The values of a row of the block; `None` when only a tree will do.
    pub fn slots(&self, at: usize) -> Option<&[Value<'v>]> {
        if self.trees >> at & 1 == 1 {
            return None;
        }
        self.values.get(at * self.slots..(at + 1) * self.slots)
    }
}

/// The cells of a slot in the rows of a block.
pub(crate) struct Cells<'c, 'v> {
    values: &'c mut [Value<'v>],
    /// Slots of a row.
    width: usize,
    slot: usize,
    /// A bit for each row that has a value.
    there: u64,
}

impl<'v> Cells<'_, 'v> {
    /// Puts values of one kind, as they are read at other kinds, into the cells of the rows that have one.
    #[inline(always)]
    pub fn put(self, kind: Kind, kinds: KindSet, values: impl Iterator<Item = Value<'v>>) {
        if kinds.has(kind) {
            self.put_all(values);
        } else {
            self.put_all(values.map(|value| value.read(kinds)));
        }
    }

    #[inline(always)]
    fn put_all(self, values: impl Iterator<Item = Value<'v>>) {
        let Cells { slot, there, .. } = self;
        let rows = self.values.chunks_exact_mut(self.width.max(1)).zip(values);
        if there == u64::MAX {
            rows.for_each(|(row, value)| set(row, slot, value));
        } else {
            rows.enumerate()
                .filter(|(at, _)| there >> at & 1 == 1)
                .for_each(|(_, (row, value))| set(row, slot, value));
        }
    }
}

#[inline(always)]
fn set<'v>(row: &mut [Value<'v>], slot: usize, value: Value<'v>) {
    if let Some(cell) = row.get_mut(slot) {
        *cell = value;
    }
}
