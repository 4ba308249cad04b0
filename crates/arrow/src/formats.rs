//! Readers and writers of Parquet, Arrow and CSV files. Files are read and written in parts, so
//! memory use does not grow with file size. For other streams, such as a message queue, implement
//! [`Source`] or [`Sink`].

mod csv;
mod ipc;
mod parquet;

use crate::rows::BatchWithErrors;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rulec::Message;
use rulec_base::message;
use rulec_eval::host::format_host_panic;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Maximum number of rows in a batch that is read from Parquet or CSV.
const ROWS_PER_BATCH: usize = 8_192;

/// Uncompressed size in bytes up to which the compression ratio of a page or column is not checked.
const MAX_UNCHECKED_BYTES: i64 = 256 << 20;

/// Maximum compression ratio of a page or column that expands to more than [`MAX_UNCHECKED_BYTES`]
/// bytes. The limit refuses small files that would expand to fill the memory. LZ4 cannot exceed
/// this ratio; Zstandard can exceed it for constant data.
const MAX_COMPRESSION_RATIO: i64 = 255;

/// A file format for columnar data, in which messages are read and answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, as a file or a stream.
    Arrow,
    /// Comma-separated values; the first line names the columns.
    Csv,
}

impl Format {
    /// All columnar file formats that this crate reads and writes.
    pub const ALL: [Format; 3] = [Format::Parquet, Format::Arrow, Format::Csv];

    /// Returns the name of the format, which is also its file extension.
    pub fn name(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Csv => "csv",
        }
    }

    /// Returns the format of a path by its extension; `None` for another extension.
    pub fn from_path(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "pq" => Some(Format::Parquet),
            "arrows" | "ipc" | "feather" => Some(Format::Arrow),
            name => Format::ALL.into_iter().find(|format| format.name() == name),
        }
    }
}

/// Error from reading or writing a file or stream of a columnar format.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct FormatError(pub(crate) Message);

impl FormatError {
    /// Adds the name of the file before the text of this error.
    #[must_use]
    pub fn with_file_name(self, name: &str) -> FormatError {
        FormatError(message!("`{name}`: {}", self.0))
    }

    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        self.0.clone()
    }

    fn new(error: impl std::fmt::Display) -> FormatError {
        FormatError(Message::verbatim(error.to_string()))
    }
}

impl From<io::Error> for FormatError {
    fn from(error: io::Error) -> FormatError {
        FormatError::new(error)
    }
}

/// An input from which record batches are read, such as a file. All batches have the same schema.
pub trait Source: Send {
    /// Returns the schema that all batches of the stream have.
    fn schema(&self) -> SchemaRef;

    /// Reads and returns the next rows; `None` at the end of the stream.
    ///
    /// # Errors
    /// Returns an error if the rest of the stream cannot be read. The rows that earlier calls
    /// returned remain valid.
    fn next(&mut self) -> Result<Option<BatchWithErrors>, FormatError>;

    /// Returns the fraction of the input that is already read, from 0 to 1; `None` if unknown.
    fn fraction_read(&self) -> Option<f64> {
        None
    }

    /// True if the format stores no types, so that texts must be parsed; see
    /// [`Options::untyped_cells`](crate::Options::untyped_cells).
    fn is_untyped(&self) -> bool {
        false
    }

    /// If the input is a truncated file, returns a message about the lost part of the file;
    /// otherwise `None`. Only the complete part of a truncated file is read.
    fn truncation_message(&self) -> Option<&Message> {
        None
    }
}

/// A writer of answers, such as a file; see [`create_sink`].
pub trait Sink {
    /// Writes all rows of a batch.
    ///
    /// # Errors
    /// Returns an error if the batch cannot be written.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError>;

    /// Writes the end of the file. Without this call, files of some formats are incomplete or
    /// unreadable.
    ///
    /// # Errors
    /// Returns an error if the end cannot be written.
    fn finish(&mut self) -> Result<(), FormatError>;
}

/// Opens a file of the format `format` for reading.
///
/// # Errors
/// Returns an error if the file does not have the format.
pub fn open_source(format: Format, file: File) -> Result<Box<dyn Source>, FormatError> {
    Ok(match format {
        Format::Parquet => Box::new(parquet::ParquetSource::open(file)?),
        Format::Arrow | Format::Csv => {
            let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
            return open_stream(format, file, size);
        }
    })
}

/// Opens a stream of the format `format` for reading; `byte_size` is its length in bytes, if known.
/// A Parquet stream is an error, because readers need the end of the file first.
///
/// # Errors
/// Returns an error if the stream does not have the format.
pub fn open_stream(
    format: Format,
    input: impl Read + Send + 'static,
    byte_size: Option<u64>,
) -> Result<Box<dyn Source>, FormatError> {
    match format {
        Format::Parquet => {
            Err(FormatError(message!("Parquet files are read from the end; give a file instead of a stream")))
        }
        Format::Arrow => Ok(Box::new(ipc::IpcSource::open(CountingReader::new(input, byte_size))?)),
        Format::Csv => Ok(Box::new(csv::CsvSource::open(CountingReader::new(input, byte_size))?)),
    }
}

/// Creates a writer of answers, which writes a file of the given format to `out`.
///
/// # Errors
/// Returns an error if the format cannot represent the columns.
pub fn create_sink(
    format: Format,
    schema: &SchemaRef,
    out: impl Write + Send + 'static,
) -> Result<Box<dyn Sink>, FormatError> {
    Ok(match format {
        Format::Parquet => Box::new(parquet::ParquetSink::create(schema, out)?),
        Format::Arrow => Box::new(ipc::IpcSink::create(schema, out)?),
        Format::Csv => Box::new(csv::CsvSink::create(schema, out)?),
    })
}

/// Calls `read`, which uses the Arrow or Parquet library. The libraries panic on some corrupt
/// files; such a panic is caught and returned as an error.
fn catch_panic<T, E: std::fmt::Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T, Message> {
    let result = catch_unwind(AssertUnwindSafe(read));
    let result = result.map_err(|panic| Message::verbatim(format_host_panic(&*panic)))?;
    result.map_err(|error| Message::verbatim(error.to_string()))
}

/// An input that counts the bytes that were read from it, to report how much of the input is read.
struct CountingReader {
    input: Box<dyn Read + Send>,
    bytes_read: u64,
    size: Option<u64>,
}

impl CountingReader {
    fn new(input: impl Read + Send + 'static, size: Option<u64>) -> CountingReader {
        CountingReader { input: Box::new(input), bytes_read: 0, size }
    }

    #[allow(clippy::cast_precision_loss, reason = "a share needs few digits")]
    fn fraction_read(&self) -> Option<f64> {
        self.size.filter(|size| *size > 0).map(|size| self.bytes_read as f64 / size as f64)
    }
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bytes_read += count as u64;
        Ok(count)
    }
}

/// Reads the bytes of a file from an offset to the end.
fn read_from(file: &mut File, offset: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
