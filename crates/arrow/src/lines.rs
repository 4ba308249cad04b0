//! Writes answers as JSON lines, byte for byte equal to the output of `rulec run`.

use crate::cell::{CellValue, TextFormat, TypedColumn};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};
use rulec_base::json::DecimalPaths;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io::{self, Write};

/// Names of the columns whose nulls are written as `null`. Nulls of other columns are left out, and
/// so are all nulls of a row with an error.
const COLUMNS_WRITTEN_AS_NULL: [&str; 5] = ["chosen", "target", "flow", "name", "pattern"];

/// Writes answers as JSON lines. `first` is the line number that the first answer gets in its field
/// `line`.
///
/// # Errors
/// Returns an error if writing fails.
pub fn write_lines(answers: &RecordBatch, first: u64, out: &mut impl Write) -> io::Result<()> {
    let schema = answers.schema();
    let columns: Vec<(&str, TypedColumn<'_>)> = schema
        .fields()
        .iter()
        .zip(answers.columns())
        .map(|(field, column)| {
            let mut column = TypedColumn::new(column, field, TextFormat::Text);
            column.keep_digits(&column_decimal_paths(field));
            (field.name().as_str(), column)
        })
        .collect();
    for row in 0..answers.num_rows() {
        let line = AnswerLine { columns: &columns, row_index: row, line_number: first + row as u64 };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Returns the paths of the decimal numbers in a column of answers, because decimals are written
/// with all digits.
fn column_decimal_paths(column: &Field) -> DecimalPaths {
    let mut decimal_paths = DecimalPaths::default();
    match column.data_type() {
        DataType::Decimal128(..) => decimal_paths.add_root_path(),
        DataType::Struct(fields) => {
            fields.iter().for_each(|field| {
                decimal_paths.add_field(&field.name().as_str().into(), column_decimal_paths(field))
            });
        }
        _ => {}
    }
    decimal_paths
}

/// The answer in one row of the answer columns, which is serialized as one JSON line.
struct AnswerLine<'a> {
    columns: &'a [(&'a str, TypedColumn<'a>)],
    row_index: usize,
    line_number: u64,
}

impl AnswerLine<'_> {
    fn cell(&self, name: &str) -> CellValue<'_> {
        let column = self.columns.iter().find(|(column_name, _)| *column_name == name);
        column.map_or(CellValue::Null, |(_, reader)| reader.cell(self.row_index))
    }

    /// True if the argument `name` is required and has no value. A required argument without a
    /// value is written as null; an optional argument without a value is left out.
    fn is_missing_argument(&self, name: &str) -> bool {
        let CellValue::List(names, start, end) = self.cell("missing_args") else { return false };
        (start..end)
            .any(|row| matches!(names.cell(row), CellValue::Str(missing_name) if missing_name == name))
    }
}

impl Serialize for AnswerLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("line", &self.line_number)?;
        let has_error = !matches!(self.cell("error"), CellValue::Null);
        let has_args = self.columns.iter().any(|(name, _)| *name == "args");
        for (name, reader) in self.columns {
            match (*name, reader.cell(self.row_index)) {
                ("line", _) => {}
                ("args", CellValue::Struct(args, row)) => {
                    map.serialize_entry("args", &AnswerArguments { line: self, args, row })?;
                }
                (name, CellValue::Null) if !COLUMNS_WRITTEN_AS_NULL.contains(&name) || has_error => {}
                (name, cell) => map.serialize_entry(name, &cell)?,
            }
            // If no handler has arguments, there is no column `args`, and an empty `args` is
            // written.
            if *name == "target" && !has_args && !has_error {
                map.serialize_entry("args", &serde_json::Map::new())?;
            }
        }
        map.end()
    }
}

struct AnswerArguments<'a> {
    line: &'a AnswerLine<'a>,
    args: &'a [(&'a str, TypedColumn<'a>)],
    row: usize,
}

impl Serialize for AnswerArguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, reader) in self.args {
            match reader.cell(self.row) {
                CellValue::Null if !self.line.is_missing_argument(name) => {}
                cell => map.serialize_entry(name, &cell)?,
            }
        }
        map.end()
    }
}
