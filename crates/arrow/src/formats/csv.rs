//! Reads and writes CSV. All columns are text, and an empty cell is null. How a cell is parsed
//! depends on the types that the rules read from its column. Lists and objects are written as JSON.

use super::{CountingReader, FormatError, ROWS_PER_BATCH, Sink, Source};
use crate::cell::{CellValue, TextFormat, TypedColumn as Column};
use crate::rows::{BatchWithErrors, RowError};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use csv::{ByteRecord, ReaderBuilder};
use rulec::Code;
use rulec_base::message;
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

/// Size of a batch, in bytes of CSV. A batch ends with the row with which it reaches this size, so
/// the batch is larger by at most one row.
const MAX_BATCH_BYTES: usize = 16 << 20;

pub(super) struct CsvSource {
    reader: csv::Reader<CountingReader>,
    schema: SchemaRef,
    record: ByteRecord,
}

impl CsvSource {
    pub fn open(input: CountingReader) -> Result<CsvSource, FormatError> {
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(input);
        let names = reader.headers().map_err(|error| {
            FormatError(message!("its first line has no column names: {}", error.to_string()))
        })?;
        let mut fields: Vec<Field> =
            names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
        // Removes a byte order mark from the first column name.
        if let Some(first) = fields.first_mut()
            && let Some(name) = first.name().strip_prefix('\u{feff}')
        {
            *first = Field::new(name, DataType::Utf8, true);
        }
        Ok(CsvSource { reader, schema: Arc::new(Schema::new(fields)), record: ByteRecord::new() })
    }

    /// Returns the error of the current record if it is not a valid row.
    fn record_error(&self) -> Option<RowError> {
        let (column_count, cell_count) = (self.schema.fields().len(), self.record.len());
        let line = self.record.position().map_or(0, csv::Position::line);
        if cell_count != column_count {
            let message = message!(
                "the row at line {line} has {found} cells, but the first line names {wanted} columns",
                found = cell_count,
                wanted = column_count
            );
            return Some(RowError::new(Code::MessageSyntax, message));
        }
        let invalid_column = self.record.iter().position(|cell| std::str::from_utf8(cell).is_err())?;
        let message =
            message!("the column `{}` is not UTF-8 at line {line}", self.schema.field(invalid_column).name());
        Some(RowError::new(Code::MessageNotUtf8, message))
    }
}

impl Source for CsvSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&mut self) -> Result<Option<BatchWithErrors>, FormatError> {
        let mut columns: Vec<StringBuilder> =
            self.schema.fields().iter().map(|_| StringBuilder::new()).collect();
        let (mut rows, mut bytes, mut broken) = (0, 0, Vec::new());
        while rows < ROWS_PER_BATCH && bytes < MAX_BATCH_BYTES {
            if !self.reader.read_byte_record(&mut self.record).map_err(FormatError::new)? {
                break;
            }
            let error = self.record_error();
            for (index, column) in columns.iter_mut().enumerate() {
                let cell = self.record.get(index).filter(|cell| error.is_none() && !cell.is_empty());
                column.append_option(cell.and_then(|cell| std::str::from_utf8(cell).ok()));
            }
            broken.extend(error.map(|error| (rows, error)));
            rows += 1;
            bytes += self.record.as_slice().len();
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns = columns.iter_mut().map(|column| -> ArrayRef { Arc::new(column.finish()) }).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        Ok(Some(BatchWithErrors { batch: batch.map_err(FormatError::new)?, row_errors: broken }))
    }

    fn fraction_read(&self) -> Option<f64> {
        self.reader.get_ref().fraction_read()
    }

    fn is_untyped(&self) -> bool {
        true
    }
}

pub(super) struct CsvSink<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> CsvSink<W> {
    pub fn create(schema: &SchemaRef, out: W) -> Result<CsvSink<W>, FormatError> {
        let mut writer = csv::Writer::from_writer(out);
        let names = schema.fields().iter().map(|field| escape_csv_formula(field.name()));
        writer.write_record(names.map(|name| name.into_owned().into_bytes())).map_err(FormatError::new)?;
        Ok(CsvSink { writer })
    }
}

/// Protects a text against being read as a formula by spreadsheets, as OWASP advises: puts an
/// apostrophe before a text that begins like a formula. Numbers are not changed.
fn escape_csv_formula(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err() {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

impl<W: Write> Sink for CsvSink<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let columns: Vec<Column<'_>> =
            columns.map(|(field, column)| Column::new(column, field, TextFormat::Text)).collect();
        for row in 0..batch.num_rows() {
            for column in &columns {
                match column.cell(row) {
                    CellValue::Null => self.writer.write_field(""),
                    CellValue::Str(text) | CellValue::Json(text) => {
                        self.writer.write_field(escape_csv_formula(text).as_bytes())
                    }
                    cell => self.writer.write_field(serde_json::to_vec(&cell).map_err(FormatError::new)?),
                }
                .map_err(FormatError::new)?;
            }
            self.writer.write_record(None::<&[u8]>).map_err(FormatError::new)?;
        }
        Ok(self.writer.flush()?)
    }

    fn finish(&mut self) -> Result<(), FormatError> {
        Ok(self.writer.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::escape_csv_formula;

    #[test]
    fn no_text_is_a_formula() {
        for (text, expected) in [
            ("=HYPERLINK(\"x\")", "'=HYPERLINK(\"x\")"),
            ("+1+cmd", "'+1+cmd"),
            ("-1+cmd", "'-1+cmd"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("-1.5", "-1.5"),
            ("+7", "+7"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(escape_csv_formula(text), expected, "{text:?}");
        }
    }
}
