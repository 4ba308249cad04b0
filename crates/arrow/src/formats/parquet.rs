//! Reads and writes Parquet files. A reader finds the columns through the footer at the end of the
//! file. To make truncated files readable, the writer adds a footer after every row group. The
//! reader of a truncated file searches for the last complete footer.

mod record;

use super::{
    FormatError, MAX_COMPRESSION_RATIO, MAX_UNCHECKED_BYTES, ROWS_PER_BATCH, Sink, Source, catch_panic,
    read_from,
};
use crate::rows::BatchWithErrors;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::SchemaDescPtr;
use record::SkippedRecord;
use rulec::Message;
use rulec_base::message;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;

/// Magic number at the start and at the end of a Parquet file.
const PARQUET_FILE_MAGIC: &[u8; 4] = b"PAR1";

/// Number of bytes at the end of a file that contain the metadata size and the magic number.
const FOOTER_TAIL_BYTES: u64 = 8;

/// Number of rows per row group. The writer adds a footer after each row group, so that a truncated
/// file can be read up to the last complete group.
const ROWS_PER_GROUP: usize = 1 << 17;

/// Maximum number of positions in a truncated file that are tried as the end of the last complete
/// footer. Each of these positions follows the bytes of the magic number, which column data can
/// also contain by chance.
const MAX_FOOTER_TRIES: usize = 100;

/// Number of bytes at the end of a truncated file that are searched for a footer.
const FOOTER_SEARCH_WINDOW_BYTES: u64 = 64 << 20;

pub(super) struct ParquetSource {
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
    /// Number of readable rows in the file, to report the progress.
    row_count: u64,
    /// Number of rows that were read so far.
    rows_read: u64,
    /// Message about the lost end of the file; `None` if the file is not truncated.
    cut_message: Option<Message>,
}

/// The first `byte_length` bytes of a file, read as if they were a complete file.
struct FilePrefix {
    file: File,
    byte_length: u64,
}

impl FilePrefix {
    /// Creates a prefix of `byte_length` bytes, and checks that the metadata at its end is
    /// complete.
    fn new(file: File, byte_length: u64) -> Result<FilePrefix, Message> {
        let prefix = FilePrefix { file, byte_length };
        let to_message = |error: ParquetError| Message::verbatim(error.to_string());
        let end = byte_length
            .checked_sub(FOOTER_TAIL_BYTES)
            .ok_or_else(|| message!("it is shorter than any Parquet file"))?;
        let end_bytes = prefix.file.get_bytes(end, FOOTER_TAIL_BYTES as usize).map_err(to_message)?;
        let size = end_bytes.first_chunk().map_or(0, |size| u32::from_le_bytes(*size));
        let start = end.checked_sub(size.into()).ok_or_else(|| message!("its metadata is incomplete"))?;
        let metadata = prefix.file.get_bytes(start, size as usize).map_err(to_message)?;
        // Encrypted metadata cannot be checked, and the library cannot read it either.
        if end_bytes.ends_with(PARQUET_FILE_MAGIC) {
            SkippedRecord::read(&*metadata).map_err(|_| message!("its metadata is incomplete"))?;
        }
        Ok(prefix)
    }
}

impl Length for FilePrefix {
    fn len(&self) -> u64 {
        self.byte_length
    }
}

impl ChunkReader for FilePrefix {
    type T = HeaderCheckingReader;

    fn get_read(&self, start: u64) -> ParquetResult<HeaderCheckingReader> {
        // The library also requests the bytes after each page header, but never uses them. These
        // bytes need not be a valid header. So a page header is read and checked only when the
        // library reads from the returned `HeaderCheckingReader`.
        let is_end = start.checked_add(FOOTER_TAIL_BYTES) == Some(self.byte_length);
        let bytes = if is_end { self.get_bytes(start, FOOTER_TAIL_BYTES as usize)? } else { Bytes::new() };
        let unread_header = if is_end { None } else { Some((self.file.try_clone()?, start)) };
        Ok(HeaderCheckingReader { unread_header, bytes: Cursor::new(bytes) })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.file.get_bytes(start, length)
    }
}

/// The reader that [`FilePrefix`] returns when the Parquet library asks for the bytes from an
/// offset. Except for the last eight bytes of the file, the library expects a page header at the
/// offset. The first read checks this header before the library gets any bytes.
struct HeaderCheckingReader {
    /// File and offset of the page header, until it is read; then `None`.
    unread_header: Option<(File, u64)>,
    bytes: Cursor<Bytes>,
}

impl Read for HeaderCheckingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some((file, start)) = self.unread_header.take() {
            let page = SkippedRecord::read(file.get_read(start).map_err(io::Error::other)?)?;
            let (compressed, uncompressed) = (page.compressed_bytes, page.uncompressed_bytes);
            if compressed < 0
                || uncompressed > MAX_UNCHECKED_BYTES.max(MAX_COMPRESSION_RATIO.saturating_mul(compressed))
            {
                return Err(io::Error::other(format!(
                    "a page of {compressed} bytes would become {uncompressed} bytes; write fewer rows per page"
                )));
            }
            if page.value_count > uncompressed {
                let values = page.value_count;
                let error_text =
                    format!("a dictionary of {uncompressed} bytes claims to have {values} values");
                return Err(io::Error::other(error_text));
            }
            self.bytes = Cursor::new(page.bytes.into());
        }
        self.bytes.read(buffer)
    }
}

impl ParquetSource {
    pub fn open(file: File) -> Result<ParquetSource, FormatError> {
        let second_handle = file.try_clone()?;
        let length = file.metadata()?.len();
        match reader_builder(file, length) {
            Ok(builder) => ParquetSource::from_builder(builder, None),
            Err(error) => {
                let Some((builder, end)) = open_longest_prefix(second_handle, length)? else {
                    return Err(FormatError(message!(
                        "it is not a Parquet file, or it is truncated: {}",
                        error
                    )));
                };
                let lost = length - end;
                let rows = builder.metadata().file_metadata().num_rows();
                ParquetSource::from_builder(
                    builder,
                    Some(message!(
                        "it is truncated: {rows} rows are complete, and {lost} bytes after them are lost"
                    )),
                )
            }
        }
    }

    fn from_builder(
        builder: ParquetRecordBatchReaderBuilder<FilePrefix>,
        cut_message: Option<Message>,
    ) -> Result<ParquetSource, FormatError> {
        let row_count = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let schema = Arc::clone(builder.schema());
        let reader = catch_panic(|| builder.with_batch_size(ROWS_PER_BATCH).build()).map_err(FormatError)?;
        Ok(ParquetSource { reader, schema, row_count, rows_read: 0, cut_message })
    }
}

fn reader_builder(file: File, length: u64) -> Result<ParquetRecordBatchReaderBuilder<FilePrefix>, Message> {
    let prefix = FilePrefix::new(file, length)?;
    catch_panic(|| ParquetRecordBatchReaderBuilder::try_new(prefix))
}

/// Finds and opens the longest prefix of a truncated file that ends in a complete footer.
/// `byte_length` is the size of the file in bytes. Returns the reader of the prefix, and the length
/// of the prefix in bytes. `None` if no footer is found.
fn open_longest_prefix(
    mut file: File,
    byte_length: u64,
) -> Result<Option<(ParquetRecordBatchReaderBuilder<FilePrefix>, u64)>, FormatError> {
    let window_start = byte_length.saturating_sub(FOOTER_SEARCH_WINDOW_BYTES);
    let bytes = read_from(&mut file, window_start)?;
    let offsets = (0..bytes.len().saturating_sub(PARQUET_FILE_MAGIC.len())).rev();
    for offset in
        offsets.filter(|offset| bytes[*offset..].starts_with(PARQUET_FILE_MAGIC)).take(MAX_FOOTER_TRIES)
    {
        let end = window_start + (offset + PARQUET_FILE_MAGIC.len()) as u64;
        if let Ok(builder) = reader_builder(file.try_clone()?, end) {
            return Ok(Some((builder, end)));
        }
    }
    Ok(None)
}

impl Source for ParquetSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&mut self) -> Result<Option<BatchWithErrors>, FormatError> {
        let first_row = self.rows_read + 1;
        let batch = catch_panic(|| self.reader.next().transpose()).map_err(|error| {
            FormatError(message!("it cannot be read from row {from} on: {}", error, from = first_row))
        })?;
        let Some(batch) = batch else { return Ok(None) };
        self.rows_read += batch.num_rows() as u64;
        Ok(Some(batch.into()))
    }

    #[allow(clippy::cast_precision_loss, reason = "a share needs few digits")]
    fn fraction_read(&self) -> Option<f64> {
        (self.row_count > 0).then(|| self.rows_read as f64 / self.row_count as f64)
    }

    fn truncation_message(&self) -> Option<&Message> {
        self.cut_message.as_ref()
    }
}

pub(super) struct ParquetSink<W: Write + Send> {
    writer: ArrowWriter<W>,
    columns: SchemaDescPtr,
    properties: WriterProperties,
    /// Number of row groups that the most recently written footer covers.
    row_groups_in_footer: usize,
}

impl<W: Write + Send> ParquetSink<W> {
    pub fn create(schema: &SchemaRef, out: W) -> Result<ParquetSink<W>, FormatError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROWS_PER_GROUP))
            .build();
        let columns = ArrowSchemaConverter::new().convert(schema).map_err(FormatError::new)?;
        let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties.clone()));
        let mut properties = properties;
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        Ok(ParquetSink {
            writer: writer.map_err(FormatError::new)?,
            columns: Arc::new(columns),
            properties,
            row_groups_in_footer: 0,
        })
    }

    /// Writes a footer for the row groups that were written so far. Readers of the complete file
    /// ignore this footer.
    fn write_footer(&mut self) -> Result<(), FormatError> {
        let groups = self.writer.flushed_row_groups();
        if groups.len() == self.row_groups_in_footer {
            return Ok(());
        }
        self.row_groups_in_footer = groups.len();
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

impl<W: Write + Send> Sink for ParquetSink<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        self.writer.write(batch).map_err(FormatError::new)?;
        self.write_footer()
    }

    fn finish(&mut self) -> Result<(), FormatError> {
        self.writer.finish().map(drop).map_err(FormatError::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the page header at the start of a file; returns its bytes or the error message.
    fn read_page_header(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[bytes, &[0; 100]].concat()).expect("it can be written");
        let beginning = FilePrefix { file, byte_length: bytes.len() as u64 + 100 };
        let mut head = Vec::new();
        let mut read = beginning.get_read(0).expect("it is not read yet");
        read.read_to_end(&mut head).map(|_| head).map_err(|error| error.to_string())
    }

    /// Regression test: the Parquet library requests the bytes after a page header without using
    /// them. Because these bytes were checked, valid files were refused.
    #[test]
    fn unread_bytes_are_not_checked() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[0xff; 100]).expect("it can be written");
        let mut read = FilePrefix { file, byte_length: 100 }.get_read(7).expect("it is not read yet");
        assert!(read.read(&mut [0; 8]).is_err());
    }

    #[test]
    fn implausible_page_sizes_are_refused() {
        // The page type, the uncompressed size (100), the compressed size (50), and a dictionary of
        // nine values.
        let page = [0x15, 0x04, 0x15, 0xc8, 0x01, 0x15, 0x64, 0x4c, 0x15, 0x12, 0x00, 0x00];
        assert_eq!(read_page_header(&page), Ok(page.to_vec()));
        let mut larger = page.to_vec();
        larger.splice(3..5, [0xfe, 0xff, 0xff, 0xff, 0x0f]);
        let words = "a page of 50 bytes would become 2147483647 bytes; write fewer rows per page";
        assert_eq!(read_page_header(&larger), Err(words.to_owned()));
        let mut many = page.to_vec();
        many.splice(9..10, [0xd0, 0x0f]);
        let words = "a dictionary of 100 bytes claims to have 1000 values";
        assert_eq!(read_page_header(&many), Err(words.to_owned()));
    }
}
