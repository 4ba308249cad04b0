//! Fills slots column by column, for columns whose values all have one type. Checks of types, nulls
//! and the declared input happen once per column, not once per row.

use crate::bind::BoundField;
use crate::block::RowBlock;
use crate::cell::{CellValue, TypedColumn};
use crate::rows::cell_to_value;
use arrow_buffer::bit_chunk_iterator::BitChunks;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use bumpalo::Bump;
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_vm::input::{InputPlan, PathId, ROOT_PATH};
use std::ops::Range;

/// The columns of a batch, each with the slots that it fills.
pub(crate) struct ColumnFill<'b> {
    lanes: Vec<ColumnSlot<'b>>,
    slots: usize,
    /// Number of rows in the batch.
    rows: usize,
    /// Rows that have all fields that the declared input requires; `None` if every row has all
    /// these fields.
    kept: Option<BooleanBuffer>,
}

struct ColumnSlot<'b> {
    reader: &'b TypedColumn<'b>,
    /// Rows in which the column or an object around it is null.
    nulls: Option<NullBuffer>,
    slots: Vec<(usize, KindSet)>,
    /// Kinds that the declared input requires, if the column type does not already guarantee them.
    contract: Option<KindSet>,
    /// Whether the rules also read this field as text. In that case, a time must be converted to
    /// text.
    as_text: bool,
}

impl<'b> ColumnFill<'b> {
    /// Pairs the columns of a batch with the slots that they fill.
    pub fn new(
        plan: &InputPlan,
        bound: &[BoundField],
        message: &'b TypedColumn<'b>,
        rows: usize,
    ) -> ColumnFill<'b> {
        let mut lanes = ColumnFill { lanes: Vec::new(), slots: plan.slot_count(), rows, kept: None };
        lanes.add_object(plan, ROOT_PATH, bound, message.fields(), None);
        lanes
    }

    /// Adds the columns of an object's fields, including the fields of inner objects. `around` is
    /// the object's null buffer.
    fn add_object(
        &mut self,
        plan: &InputPlan,
        place: PathId,
        bound: &[BoundField],
        columns: &'b [(&'b str, TypedColumn<'b>)],
        around: Option<&NullBuffer>,
    ) {
        for (_, inside) in plan.child_paths(place) {
            let wanted = plan.input_contract(inside).is_some_and(|(_, optional)| !optional);
            let field = bound.iter().find(|field| field.place == inside);
            let column = field.and_then(|field| Some((field, &columns.get(field.at)?.1)));
            let Some((field, reader)) = column else {
                if wanted {
                    self.keep_rows_with(around, Some(&BooleanBuffer::new_unset(self.rows)));
                }
                continue;
            };
            let nulls = NullBuffer::union(around, reader.nulls());
            if wanted {
                self.keep_rows_with(around, nulls.as_ref().map(NullBuffer::inner));
            }
            if field.is_object {
                self.add_object(plan, inside, &field.inside, reader.fields(), nulls.as_ref());
                continue;
            }
            let slots: Vec<(usize, KindSet)> =
                plan.slots_at(inside).map(|(slot, kinds)| (slot as usize, kinds)).collect();
            let contract = plan
                .input_contract(inside)
                .map(|(kinds, _)| kinds)
                .filter(|kinds| !field.is_always_of(*kinds));
            if !slots.is_empty() || contract.is_some() {
                self.lanes.push(ColumnSlot { reader, nulls, slots, contract, as_text: field.as_text });
            }
        }
    }

    /// Removes rows from `kept`: the rows in which a required field is missing although the
    /// enclosing object is present.
    fn keep_rows_with(&mut self, around: Option<&NullBuffer>, there: Option<&BooleanBuffer>) {
        let Some(there) = there else { return };
        let kept = around.map_or_else(|| there.clone(), |around| &!around.inner() | there);
        self.kept = Some(match self.kept.take() {
            Some(before) => &before & &kept,
            None => kept,
        });
    }

    /// Fills the slots of a range of at most [`BLOCK_ROWS`](crate::block::BLOCK_ROWS) rows.
    pub fn fill_block<'v>(&'v self, rows: Range<usize>, bump: &'v Bump, block: &mut RowBlock<'v>) {
        block.reset(self.slots, rows.len());
        if let Some(kept) = &self.kept {
            block.trees = !row_bits(kept, &rows);
        }
        for lane in &self.lanes {
            lane.fill_slot(rows.clone(), bump, block);
        }
    }
}

/// Returns the bits of a range of at most [`BLOCK_ROWS`](crate::block::BLOCK_ROWS) rows as one
/// integer. The lowest bit belongs to the first row.
fn row_bits(buffer: &BooleanBuffer, rows: &Range<usize>) -> u64 {
    let chunks = BitChunks::new(buffer.values(), buffer.offset() + rows.start, rows.len());
    chunks.iter_padded().next().unwrap_or_default()
}

impl ColumnSlot<'_> {
    fn fill_slot<'v>(&'v self, rows: Range<usize>, bump: &'v Bump, block: &mut RowBlock<'v>) {
        let nulls = self.nulls.as_ref().filter(|nulls| nulls.null_count() > 0);
        let there = nulls.map_or(u64::MAX, |nulls| row_bits(nulls.inner(), &rows));
        let simple = self.contract.is_none()
            && self.slots.iter().all(|(slot, kinds)| {
                self.reader.spread_to_slots(rows.clone(), bump, *kinds, block.cells_of_slot(*slot, there))
            });
        if simple {
            return;
        }
        for (at, row) in rows.enumerate() {
            if there >> at & 1 == 0 {
                continue;
            }
            let value = match self.reader.cell(row) {
                // A null dictionary value or a non-finite number: deciding from the JSON tree
                // reports the missing field.
                CellValue::Null => None,
                CellValue::Time(time) if !self.as_text => Some(Value::DateTime(time)),
                cell => cell_to_value(bump, cell),
            };
            let fits =
                |value: &Value<'_>| self.contract.is_none_or(|kinds| !value.read_as(kinds).is_missing());
            match value.filter(fits) {
                Some(value) => self.put_value(block, at, value),
                None => block.trees |= 1 << at,
            }
        }
    }

    fn put_value<'v>(&self, block: &mut RowBlock<'v>, at: usize, value: Value<'v>) {
        for (slot, kinds) in &self.slots {
            block.put_value(at, *slot, value.read_as(*kinds));
        }
    }
}
