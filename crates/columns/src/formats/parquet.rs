//! Parquet. Its columns are found by what stands at the end of a file; so that a file that is cut short loses nothing
//! that was written, an end is written after every group of rows, and the last one that is whole is looked for.

use super::{FormatError, ROWS, Sink, Source, tail};
use crate::rows::Part;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::Compression;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::SchemaDescPtr;
use rulec::Message;
use rulec::internals::diag::said;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// The mark at both ends of a file.
const MARK: &[u8; 4] = b"PAR1";

/// Rows between two ends.
const GROUP: usize = 1 << 17;

/// Bytes at the end of a file that is cut short that are looked through for an end at a time.
const WINDOW: u64 = 64 << 20;

pub(super) struct Reader {
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
    rows: u64,
    read: u64,
    cut: Option<Message>,
}

/// A file up to some byte.
struct Beginning {
    file: File,
    length: u64,
}

impl Length for Beginning {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Beginning {
    type T = <File as ChunkReader>::T;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<bytes::Bytes> {
        self.file.get_bytes(start, length)
    }
}

impl Reader {
    pub fn open(file: File) -> Result<Reader, FormatError> {
        let again = file.try_clone()?;
        let length = file.metadata()?.len();
        match builder(file, length) {
            Ok(builder) => Reader::new(builder, None),
            Err(error) => {
                let Some((builder, end)) = whole(again, length)? else {
                    return Err(FormatError(said!(
                        "it is no Parquet file, or was cut short: {}",
                        error.to_string()
                    )));
                };
                let lost = length - end;
                let rows = builder.metadata().file_metadata().num_rows();
                Reader::new(
                    builder,
                    Some(said!(
                        "it was cut short: {rows} rows are whole, and {lost} bytes behind them are lost"
                    )),
                )
            }
        }
    }

    fn new(
        builder: ParquetRecordBatchReaderBuilder<Beginning>,
        cut: Option<Message>,
    ) -> Result<Reader, FormatError> {
        let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let schema = Arc::clone(builder.schema());
        let reader = builder.with_batch_size(ROWS).build().map_err(FormatError::new)?;
        Ok(Reader { reader, schema, rows, read: 0, cut })
    }
}

fn builder(file: File, length: u64) -> ParquetResult<ParquetRecordBatchReaderBuilder<Beginning>> {
    ParquetRecordBatchReaderBuilder::try_new(Beginning { file, length })
}

/// The last part of a file that has an end, and how far it reaches.
fn whole(
    mut file: File,
    length: u64,
) -> Result<Option<(ParquetRecordBatchReaderBuilder<Beginning>, u64)>, FormatError> {
    let from = length.saturating_sub(WINDOW);
    let bytes = tail(&mut file, from)?;
    for at in (0..bytes.len().saturating_sub(MARK.len())).rev() {
        let end = from + (at + MARK.len()) as u64;
        if bytes[at..].starts_with(MARK)
            && end > MARK.len() as u64
            && let Ok(builder) = builder(file.try_clone()?, end)
        {
            return Ok(Some((builder, end)));
        }
    }
    Ok(None)
}

impl Source for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&mut self) -> Result<Option<Part>, FormatError> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let from = self.read + 1;
        let batch = batch.map_err(|error| {
            FormatError(said!("it cannot be read from row {from} on: {}", error.to_string()))
        })?;
        self.read += batch.num_rows() as u64;
        Ok(Some(batch.into()))
    }

    #[allow(clippy::cast_precision_loss, reason = "a share needs few digits")]
    fn share(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.read as f64 / self.rows as f64)
    }

    fn cut(&self) -> Option<&Message> {
        self.cut.as_ref()
    }
}

pub(super) struct Writer<W: Write + Send> {
    writer: ArrowWriter<W>,
    columns: SchemaDescPtr,
    properties: WriterProperties,
    /// Groups that have an end.
    ended: usize,
}

impl<W: Write + Send> Writer<W> {
    pub fn create(schema: &SchemaRef, out: W) -> Result<Writer<W>, FormatError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let columns = ArrowSchemaConverter::new().convert(schema).map_err(FormatError::new)?;
        let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties.clone()));
        let mut properties = properties;
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        Ok(Writer {
            writer: writer.map_err(FormatError::new)?,
            columns: Arc::new(columns),
            properties,
            ended: 0,
        })
    }

    /// Writes an end for the groups so far; readers of the whole file skip it.
    fn end(&mut self) -> Result<(), FormatError> {
        let groups = self.writer.flushed_row_groups();
        if groups.len() == self.ended {
            return Ok(());
        }
        self.ended = groups.len();
        let file = FileMetaData::new(
            self.properties.writer_version().as_num(),
            groups.iter().map(|group| group.num_rows()).sum(),
            Some(self.properties.created_by().to_owned()),
            self.properties.key_value_metadata().cloned(),
            Arc::clone(&self.columns),
            None,
        );
        let metadata = ParquetMetaDataBuilder::new(file).set_row_groups(groups.to_vec()).build();
        let mut end = Vec::new();
        ParquetMetaDataWriter::new(&mut end, &metadata).finish().map_err(FormatError::new)?;
        self.writer.write_all(&end)?;
        Ok(self.writer.sync()?)
    }
}

impl<W: Write + Send> Sink for Writer<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        self.writer.write(batch).map_err(FormatError::new)?;
        self.end()
    }

    fn finish(&mut self) -> Result<(), FormatError> {
        self.writer.finish().map(drop).map_err(FormatError::new)
    }
}
