//! Fills slots column by column, for columns whose values all have one type. A slot is the engine's
//! variable for one message field. Checks of types, nulls and the declared input happen once per
//! column, not once per row.

use crate::bind::BoundField;
use crate::block::RowBlock;
use crate::cell::{CellValue, TypedColumn};
use crate::rows::cell_to_value;
use arrow_buffer::bit_chunk_iterator::BitChunks;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use bumpalo::Bump;
use rulec_lang::ty::{Enumeration, KindSet};
use rulec_lang::value::Value;
use rulec_vm::input::{InputPlan, PathId, ROOT_PATH};
use std::ops::Range;

/// The columns of a batch, each with the slots (the engine's variables for message fields) that it
/// fills.
pub(crate) struct ColumnsWithSlots<'b> {
    column_slots: Vec<ColumnSlot<'b>>,
    slots_per_row: usize,
    /// Number of rows in the batch whose columns fill the slots.
    row_count: usize,
    /// Rows that have all fields that the declared input requires; `None` if every row has all
    /// these fields.
    complete_rows: Option<BooleanBuffer>,
}

struct ColumnSlot<'b> {
    typed_column: &'b TypedColumn<'b>,
    /// Rows in which the column or an object around it is null.
    nulls: Option<NullBuffer>,
    slots_and_kinds: Vec<(usize, KindSet)>,
    /// Kinds of value that the declared input requires. `None` if the column type already
    /// guarantees them.
    required_kinds: Option<KindSet>,
    /// The only texts that the declared input allows; `None` if it allows every text.
    allowed_texts: Option<Enumeration>,
    /// Whether the rules also read this field as text. In that case, a time must be converted to
    /// text.
    is_read_as_text: bool,
}

impl<'b> ColumnsWithSlots<'b> {
    /// Pairs the columns of a batch with the slots (the engine's variables for message fields) that
    /// they fill.
    pub fn new(
        plan: &InputPlan,
        bound_fields: &[BoundField],
        message: &'b TypedColumn<'b>,
        row_count: usize,
    ) -> ColumnsWithSlots<'b> {
        let mut column_fill = ColumnsWithSlots {
            column_slots: Vec::new(),
            slots_per_row: plan.slot_count(),
            row_count,
            complete_rows: None,
        };
        column_fill.add_object_columns(plan, ROOT_PATH, bound_fields, message.fields(), None);
        column_fill
    }

    /// Adds the columns of an object's fields, including the fields of inner objects.
    /// `parent_nulls` is the object's null buffer.
    fn add_object_columns(
        &mut self,
        plan: &InputPlan,
        object: PathId,
        bound_fields: &[BoundField],
        columns: &'b [(&'b str, TypedColumn<'b>)],
        parent_nulls: Option<&NullBuffer>,
    ) {
        for (_, child) in plan.child_paths(object) {
            let is_required = plan.input_contract(child).is_some_and(|(_, optional)| !optional);
            let field = bound_fields.iter().find(|field| field.path_id == child);
            let column = field.and_then(|field| Some((field, &columns.get(field.column_index)?.1)));
            let Some((field, reader)) = column else {
                if is_required {
                    self.keep_rows_with_field(parent_nulls, Some(&BooleanBuffer::new_unset(self.row_count)));
                }
                continue;
            };
            let nulls = NullBuffer::union(parent_nulls, reader.nulls());
            if is_required {
                self.keep_rows_with_field(parent_nulls, nulls.as_ref().map(NullBuffer::inner));
            }
            if field.is_object {
                self.add_object_columns(plan, child, &field.inner_fields, reader.fields(), nulls.as_ref());
                continue;
            }
            let slots: Vec<(usize, KindSet)> =
                plan.slots_at(child).map(|(slot, kinds)| (slot as usize, kinds)).collect();
            let required_kinds = plan
                .input_contract(child)
                .map(|(kinds, _)| kinds)
                .filter(|kinds| !field.always_has_kinds(*kinds));
            let allowed_values = plan.allowed_texts(child).cloned();
            if !slots.is_empty() || required_kinds.is_some() || allowed_values.is_some() {
                let is_read_as_text = field.is_read_as_text;
                self.column_slots.push(ColumnSlot {
                    typed_column: reader,
                    nulls,
                    slots_and_kinds: slots,
                    required_kinds,
                    allowed_texts: allowed_values,
                    is_read_as_text,
                });
            }
        }
    }

    /// Removes the rows from `complete_rows` that lack a required field. The bits of
    /// `field_present` are set for the rows that have the field; `None` if every row has it.
    /// `parent_nulls` is the null buffer of the object that contains the field. Where this object
    /// is null, the row is kept, because the field is required only inside the object.
    fn keep_rows_with_field(
        &mut self,
        parent_nulls: Option<&NullBuffer>,
        field_present: Option<&BooleanBuffer>,
    ) {
        let Some(field_present) = field_present else { return };
        let complete_rows = parent_nulls
            .map_or_else(|| field_present.clone(), |parent_nulls| &!parent_nulls.inner() | field_present);
        self.complete_rows = Some(match self.complete_rows.take() {
            Some(earlier_rows) => &earlier_rows & &complete_rows,
            None => complete_rows,
        });
    }

    /// Fills the slots (the engine's variables for message fields) of a range of at most
    /// [`ROWS_PER_BLOCK`](crate::block::ROWS_PER_BLOCK) rows.
    pub fn fill_block<'v>(&'v self, rows: Range<usize>, bump: &'v Bump, block: &mut RowBlock<'v>) {
        block.reset(self.slots_per_row, rows.len());
        if let Some(complete_rows) = &self.complete_rows {
            block.tree_row_bits = !row_bits(complete_rows, &rows);
        }
        for column_slot in &self.column_slots {
            column_slot.fill_slot(rows.clone(), bump, block);
        }
    }
}

/// Returns the bits of a range of at most [`ROWS_PER_BLOCK`](crate::block::ROWS_PER_BLOCK) rows as
/// one integer. The lowest bit belongs to the first row.
fn row_bits(buffer: &BooleanBuffer, rows: &Range<usize>) -> u64 {
    let chunks = BitChunks::new(buffer.values(), buffer.offset() + rows.start, rows.len());
    chunks.iter_padded().next().unwrap_or_default()
}

impl ColumnSlot<'_> {
    fn fill_slot<'v>(&'v self, rows: Range<usize>, bump: &'v Bump, block: &mut RowBlock<'v>) {
        let nulls = self.nulls.as_ref().filter(|nulls| nulls.null_count() > 0);
        let present = nulls.map_or(u64::MAX, |nulls| row_bits(nulls.inner(), &rows));
        let is_filled = self.required_kinds.is_none()
            && self.allowed_texts.is_none()
            && self.slots_and_kinds.iter().all(|(slot, kinds)| {
                self.typed_column.fill_slots(rows.clone(), bump, *kinds, block.cells_of_slot(*slot, present))
            });
        if is_filled {
            return;
        }
        for (index, row) in rows.enumerate() {
            if present >> index & 1 == 0 {
                continue;
            }
            let value = match self.typed_column.cell(row) {
                // The cell is a null in a dictionary, or a non-finite number. A decision from the
                // JSON tree reports the missing field.
                CellValue::Null => None,
                CellValue::Time(time) if !self.is_read_as_text => Some(Value::DateTime(time)),
                cell => cell_to_value(bump, cell),
            };
            let meets_contract = |value: &Value<'_>| {
                let value = value.read_one_of(self.allowed_texts.as_ref());
                !self.required_kinds.map_or(value, |kinds| value.read_as(kinds)).is_missing()
            };
            match value.filter(meets_contract) {
                Some(value) => self.put_value(block, index, value),
                None => block.tree_row_bits |= 1 << index,
            }
        }
    }

    fn put_value<'v>(&self, block: &mut RowBlock<'v>, row: usize, value: Value<'v>) {
        for (slot, kinds) in &self.slots_and_kinds {
            block.put_value(row, *slot, value.read_as(*kinds));
        }
    }
}
