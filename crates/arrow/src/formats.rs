//! The sources of batches and the sinks of answers: files of Parquet, Arrow and CSV, read and written in parts, so that
//! memory does not grow with them. A stream of another kind, such as a queue of messages, is a [`Source`] or a [`Sink`]
//! of its own.

mod csv;
mod ipc;
mod parquet;

use crate::rows::Part;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rulec::Message;
use rulec_base::message;
use rulec_eval::host::panic_text;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Rows of a batch that is read at a time.
const ROWS: usize = 8_192;

/// Bytes that what stands together in a file may become by decompression, however few they were.
const DECOMPRESSED: i64 = 256 << 20;

/// The most by which LZ4 makes bytes fewer. Zstandard makes them fewer yet where all are alike.
const RATIO: i64 = 255;

/// A form of files of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Arrow's own format, as a file or a stream.
    Arrow,
    /// Comma-separated values, the first line naming the columns.
    Csv,
}

impl Format {
    /// Every form.
    pub const ALL: [Format; 3] = [Format::Parquet, Format::Arrow, Format::Csv];

    /// The name of the form, which is the extension of its files as well.
    pub fn name(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Csv => "csv",
        }
    }

    /// The form that a file's extension names.
    pub fn of_path(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "pq" => Some(Format::Parquet),
            "arrows" | "ipc" | "feather" => Some(Format::Arrow),
            name => Format::ALL.into_iter().find(|format| format.name() == name),
        }
    }
}

/// Why columns cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FormatError(pub(crate) Message);

impl FormatError {
    /// The same about a file of that name.
    #[must_use]
    pub fn of(self, name: &str) -> FormatError {
        FormatError(message!("`{name}`: {}", self.0))
    }

    /// The reason, which can be told in each language.
    pub fn in_words(&self) -> &Message {
        &self.0
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

/// A stream of batches of one schema.
pub trait Source: Send {
    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// When the rest cannot be read; what was handed out before is whole.
    fn next(&mut self) -> Result<Option<Part>, FormatError>;

    /// The share of it that was read, out of 1, where that is known.
    fn share(&self) -> Option<f64> {
        None
    }

    /// True when texts have no type of their own; see [`Options::untyped`](crate::Options::untyped).
    fn is_untyped(&self) -> bool {
        false
    }

    /// The rest that is lost, when the file was cut short and what is whole of it is read.
    fn cut(&self) -> Option<&Message> {
        None
    }
}

/// A place that answers are written to.
pub trait Sink {
    /// Writes a batch.
    ///
    /// # Errors
    /// When it cannot be written.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError>;

    /// Writes what stands at the end. What was written before is lost in some forms when this is not called.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(&mut self) -> Result<(), FormatError>;
}

/// Opens a file of columns.
///
/// # Errors
/// When it is not of the form.
pub fn open(format: Format, file: File) -> Result<Box<dyn Source>, FormatError> {
    Ok(match format {
        Format::Parquet => Box::new(parquet::Reader::open(file)?),
        Format::Arrow | Format::Csv => {
            let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
            return stream(format, file, size);
        }
    })
}

/// Opens a stream of columns, of so many bytes where that is known. Parquet is read from its end, and can be no stream.
///
/// # Errors
/// When it is not of the form.
pub fn stream(
    format: Format,
    input: impl Read + Send + 'static,
    size: Option<u64>,
) -> Result<Box<dyn Source>, FormatError> {
    match format {
        Format::Parquet => {
            Err(FormatError(message!("Parquet is read from its end; name a file instead of a stream")))
        }
        Format::Arrow => Ok(Box::new(ipc::Reader::open(Counted::new(input, size))?)),
        Format::Csv => Ok(Box::new(csv::Reader::open(Counted::new(input, size))?)),
    }
}

/// Opens a sink of columns.
///
/// # Errors
/// When the columns cannot be written in the form.
pub fn create(
    format: Format,
    schema: &SchemaRef,
    out: impl Write + Send + 'static,
) -> Result<Box<dyn Sink>, FormatError> {
    Ok(match format {
        Format::Parquet => Box::new(parquet::Writer::create(schema, out)?),
        Format::Arrow => Box::new(ipc::Writer::create(schema, out)?),
        Format::Csv => Box::new(csv::Writer::create(schema, out)?),
    })
}

/// Has a library read something. Those of Arrow and Parquet panic over some of what is wrong in a file.
fn caught<T, E: std::fmt::Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T, Message> {
    let read = catch_unwind(AssertUnwindSafe(read));
    let read = read.map_err(|panic| Message::verbatim(panic_text(&*panic)))?;
    read.map_err(|error| Message::verbatim(error.to_string()))
}

/// An input whose bytes are counted.
struct Counted {
    input: Box<dyn Read + Send>,
    read: u64,
    size: Option<u64>,
}

impl Counted {
    fn new(input: impl Read + Send + 'static, size: Option<u64>) -> Counted {
        Counted { input: Box::new(input), read: 0, size }
    }

    #[allow(clippy::cast_precision_loss, reason = "a share needs few digits")]
    fn share(&self) -> Option<f64> {
        self.size.filter(|size| *size > 0).map(|size| self.read as f64 / size as f64)
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// The bytes of a file from a place on.
fn tail(file: &mut File, from: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
