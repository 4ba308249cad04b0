//! Converts rows of a batch to messages. Values are borrowed from the columns and written directly
//! into the engine's slots, one per message field. A JSON tree (a parsed JSON message) is built
//! only for a row that slots cannot represent.

use crate::bind::BoundField;
use crate::cell::{CellValue, TypedColumn};
use crate::decimal::decimal_text;
use arrow_array::RecordBatch;
use bumpalo::Bump;
use rulec::{JsonError, Message};
use rulec_base::json::{self, DecimalPaths};
use rulec_base::message;
use rulec_lang::ty::Kind;
use rulec_lang::value::{Value, format_datetime};
use rulec_vm::input::{ROOT_PATH, SlotFiller};
use serde_json::{Map, Value as Json};

/// Fills the slots (the engine's variables for message fields) of a row. Returns `None` if the row
/// must be decided from a JSON tree (a parsed JSON message).
pub(crate) fn fill_row_slots<'b>(
    filler: &mut SlotFiller<'b>,
    bound_fields: &[BoundField],
    message: &'b TypedColumn<'b>,
    row_index: usize,
) -> Option<()> {
    if filler.plan().reads_kind(ROOT_PATH, Kind::Dict) {
        return None;
    }
    let required_present = fill_object_fields(filler, bound_fields, message.fields(), row_index)?;
    filler.end_object(ROOT_PATH, required_present);
    Some(())
}

/// Fills the slots of an object's fields. Returns the number of fields that are present and that
/// the declared input requires. The caller compares this number with the number of required fields.
/// `None` if the row needs a JSON tree (a parsed JSON message).
fn fill_object_fields<'b>(
    filler: &mut SlotFiller<'b>,
    bound_fields: &[BoundField],
    columns: &'b [(&'b str, TypedColumn<'b>)],
    row_index: usize,
) -> Option<u32> {
    let mut required_present = 0;
    for field in bound_fields {
        let Some((_, column)) = columns.get(field.column_index) else { continue };
        required_present += fill_field_slots(filler, field, column.cell(row_index))?;
    }
    Some(required_present)
}

#[inline]
fn fill_field_slots<'b>(filler: &mut SlotFiller<'b>, field: &BoundField, cell: CellValue<'b>) -> Option<u32> {
    let path_id = field.path_id;
    let value = match cell {
        CellValue::Null => return Some(0),
        CellValue::Json(text) => return filler.read_json(path_id, text),
        CellValue::List(..) if field.whole_kinds.has(Kind::List) => {
            let list = cell_to_value(filler.bump(), cell)?;
            return Some(filler.put_built_value(path_id, list));
        }
        CellValue::Struct(..) | CellValue::Map(..) if field.whole_kinds.has(Kind::Dict) => {
            let dict = cell_to_value(filler.bump(), cell)?;
            return Some(filler.put_built_value(path_id, dict));
        }
        CellValue::List(..) => return Some(filler.check_unread_value(path_id, Kind::List)),
        CellValue::Struct(columns, row) if field.is_object => {
            let required_present = fill_object_fields(filler, &field.inner_fields, columns, row)?;
            filler.end_object(path_id, required_present);
            return Some(filler.check_unread_value(path_id, Kind::Dict));
        }
        CellValue::Struct(..) | CellValue::Map(..) => return fill_object_slots(filler, field, cell),
        CellValue::Time(time) if !field.is_read_as_text => Value::DateTime(time),
        cell => cell_to_value(filler.bump(), cell)?,
    };
    Some(filler.put_value(path_id, value))
}

/// Fills the slots of the fields of an object whose keys differ between rows, such as a map.
/// Returns 1 if the declared input requires this object in the enclosing object, else 0. `None` if
/// the row needs a JSON tree (a parsed JSON message).
fn fill_object_slots<'b>(
    filler: &mut SlotFiller<'b>,
    field: &BoundField,
    cell: CellValue<'b>,
) -> Option<u32> {
    let value = cell_to_value(filler.bump(), cell)?;
    let Value::Entries(entries) = value else { return None };
    let (plan, mut required_present) = (filler.plan(), 0);
    for (key, value) in entries {
        required_present += filler.put_built_value(plan.child_named(field.path_id, key), *value);
    }
    filler.end_object(field.path_id, required_present);
    Some(filler.check_unread_value(field.path_id, Kind::Dict))
}

/// Converts a cell to a value, including all elements of a list or dict. `None` if the cell needs a
/// JSON tree (a parsed JSON message), for example because of a duplicate key.
pub(crate) fn cell_to_value<'b>(bump: &'b Bump, cell: CellValue<'b>) -> Option<Value<'b>> {
    Some(match cell {
        CellValue::Null => Value::Missing,
        CellValue::Bool(value) => Value::Bool(value),
        CellValue::Int(value) => Value::Int(value),
        CellValue::Str(text) => Value::Str(text),
        CellValue::Wide(value) => Value::Wide(value),
        CellValue::Float(value) => Value::Float(value),
        CellValue::Json(_) => return None,
        CellValue::Digits(value, scale) => Value::Str(bump.alloc_str(&decimal_text(value, scale))),
        CellValue::Time(time) => Value::Str(bump.alloc_str(&format_datetime(time))),
        CellValue::Day(count) => {
            crate::moment::format_day(count).map_or(Value::Missing, |day| Value::Str(bump.alloc_str(&day)))
        }
        CellValue::List(items, start, end) => {
            let mut representable = Some(());
            let list = Value::list_in(
                bump,
                (start..end).map(|row| inner_cell_to_value(bump, items.cell(row), &mut representable)),
            );
            representable.map(|()| list)?
        }
        CellValue::Struct(columns, row) => {
            let mut representable = Some(());
            let present_cells = columns.iter().filter_map(|(name, column)| match column.cell(row) {
                CellValue::Null => None,
                cell => Some((*name, cell)),
            });
            let entries =
                present_cells.map(|(name, cell)| (name, inner_cell_to_value(bump, cell, &mut representable)));
            let dict = Value::dict_in(bump, entries);
            representable.map(|()| dict)?
        }
        CellValue::Map(inner, start, end) => {
            let mut representable = Some(());
            let entries = (start..end).map(|row| match inner.0.cell(row) {
                CellValue::Str(key) => {
                    (key, inner_cell_to_value(bump, inner.1.cell(row), &mut representable))
                }
                _ => ("", Value::Missing),
            });
            let dict = Value::dict_in(bump, entries);
            // A duplicate key needs a JSON tree, which keeps the last value of the key.
            if let Value::Entries(entries) = dict
                && entries.windows(2).any(|pair| pair[0].0 == pair[1].0)
            {
                return None;
            }
            representable.map(|()| dict)?
        }
    })
}

/// Converts a cell inside a list or dict. If only a JSON tree (a parsed JSON message) can represent
/// the cell, sets `representable` to `None` and returns `Value::Missing`. Otherwise `representable`
/// stays unchanged.
fn inner_cell_to_value<'b>(bump: &'b Bump, cell: CellValue<'b>, representable: &mut Option<()>) -> Value<'b> {
    cell_to_value(bump, cell).unwrap_or_else(|| {
        *representable = None;
        Value::Missing
    })
}

/// Converts a row to a parsed JSON message. Numbers at the paths `decimal_paths` keep all their
/// digits. In an error about invalid JSON, `mask_error` hides the keys that the caller treats as
/// private.
///
/// # Errors
/// Returns an error if a cell of a JSON column is not valid JSON.
pub(crate) fn row_to_json(
    message: &TypedColumn<'_>,
    row_index: usize,
    decimal_paths: &DecimalPaths,
    mask_error: impl Fn(JsonError) -> JsonError,
) -> Result<Json, RowError> {
    let mut object = Map::new();
    for (name, column) in message.fields() {
        match column.cell(row_index) {
            CellValue::Null => {}
            CellValue::Json(text) => {
                let error = |error: JsonError| {
                    RowError::from_json_error(name, &mask_error(error.with_keys_added(name)))
                };
                let decimal_paths = decimal_paths.field(name).unwrap_or(DecimalPaths::none());
                let value = json::parse_exact(text, decimal_paths).map_err(error)?;
                object.insert((*name).to_owned(), value);
            }
            cell => {
                let value =
                    serde_json::to_value(cell).map_err(|error| RowError::from_serde_error(name, &error))?;
                object.insert((*name).to_owned(), value);
            }
        }
    }
    Ok(Json::Object(object))
}

/// A batch of rows that were read together, with errors for rows that could not be read.
#[derive(Clone, Debug)]
pub struct BatchWithErrors {
    /// The rows; a row that could not be read is present and null.
    pub batch: RecordBatch,
    /// Indices of the rows that could not be read, in ascending order, each with the row's error.
    pub row_errors: Vec<(usize, RowError)>,
}

impl BatchWithErrors {
    /// Returns the error of a row that could not be read; `None` for other rows.
    pub(crate) fn error(&self, row: usize) -> Option<RowError> {
        let index = self.row_errors.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(self.row_errors[index].1.clone())
    }
}

impl From<RecordBatch> for BatchWithErrors {
    fn from(batch: RecordBatch) -> BatchWithErrors {
        BatchWithErrors { batch, row_errors: Vec::new() }
    }
}

/// Error of a row that is not a valid message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct RowError {
    code: rulec::Code,
    message: Message,
}

impl RowError {
    fn from_json_error(column: &str, error: &JsonError) -> RowError {
        RowError {
            code: error.kind().code(),
            message: message!("the value in the column `{column}` is not valid JSON: {}", error.to_message()),
        }
    }

    fn from_serde_error(column: &str, error: &serde_json::Error) -> RowError {
        let code = rulec::JsonErrorKind::Syntax.code();
        RowError { code, message: message!("the column `{column}` cannot be read here: {error}") }
    }

    /// Creates the error of a row that could not be read, such as a CSV line with too few cells.
    pub fn new(code: rulec::Code, message: Message) -> RowError {
        RowError { code, message }
    }

    /// Returns the diagnostic code of this row's error.
    pub fn code(&self) -> rulec::Code {
        self.code
    }

    /// Returns the error as a localized message.
    pub fn to_message(&self) -> Message {
        self.message.clone()
    }
}
