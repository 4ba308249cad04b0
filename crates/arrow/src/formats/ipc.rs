//! Reads and writes Arrow IPC. A file is a stream between two magic numbers, and is read as a
//! stream. The complete messages of a truncated file are therefore readable.
//!
//! This module reads the messages itself, because Arrow's reader allocates as much memory as a
//! message claims to need. Arrow only receives bytes that were read and lengths that are plausible.

mod message;

use super::{CountingReader, FormatError, Sink, Source, catch_panic};
use crate::rows::BatchWithErrors;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use message::EncapsulatedMessage;
use rulec::Message;
use rulec_base::message;
use std::collections::HashMap;
use std::io::{BufReader, Cursor, Read, Write};
use std::sync::Arc;

/// Magic number at the start of an Arrow IPC file, padded to eight bytes.
const ARROW_FILE_MAGIC: &[u8; 8] = b"ARROW1\0\0";

/// Maximum number of rows that one call of [`Source::next`] returns. Larger batches are returned in
/// several parts, because a batch of a few bytes can claim to have very many rows.
const MAX_PART_ROWS: usize = 1 << 16;

/// The input after its first bytes were inspected: these bytes, followed by the rest.
type PrefixedInput = std::io::Chain<Cursor<Vec<u8>>, CountingReader>;

pub(super) struct IpcSource {
    input: BufReader<PrefixedInput>,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    /// Rows of the last batch that are not yet returned; `None` if all are returned.
    pending_rows: Option<RecordBatch>,
}

impl IpcSource {
    pub fn open(mut input: CountingReader) -> Result<IpcSource, FormatError> {
        let mut prefix = Vec::new();
        input.by_ref().take(ARROW_FILE_MAGIC.len() as u64).read_to_end(&mut prefix)?;
        if prefix == ARROW_FILE_MAGIC {
            prefix.clear();
        }
        let mut input = BufReader::new(Cursor::new(prefix).chain(input));
        let schema = read_schema(&mut input)
            .map_err(|error| FormatError(message!("it is not an Arrow file or stream: {}", error)))?;
        Ok(IpcSource { input, schema, dictionaries: HashMap::new(), pending_rows: None })
    }

    /// Reads messages until a record batch is complete, and returns this batch. `None` at the end
    /// of the input.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Message> {
        while let Some(message) = EncapsulatedMessage::read(&mut self.input)? {
            let head = message.header();
            let (body, version) = (message.body(), head.version());
            if let Some(dictionary) = head.header_as_dictionary_batch() {
                let dictionaries = &mut self.dictionaries;
                catch_panic(|| read_dictionary(body, dictionary, &self.schema, dictionaries, &version))?;
            } else if let Some(batch) = head.header_as_record_batch() {
                let schema = Arc::clone(&self.schema);
                let read_batch =
                    || read_record_batch(body, batch, schema, &self.dictionaries, None, &version);
                return catch_panic(read_batch).map(Some);
            } else {
                return Err(message!("the next item is neither a record batch nor a dictionary"));
            }
        }
        Ok(None)
    }
}

/// Reads the schema from the first message of an Arrow stream.
fn read_schema(input: &mut impl Read) -> Result<SchemaRef, Message> {
    let first = EncapsulatedMessage::read(input)?;
    let Some(schema) = first.as_ref().and_then(|message| message.header().header_as_schema()) else {
        return Err(message!("it does not begin with a schema"));
    };
    let schema = catch_panic(|| Ok::<_, ArrowError>(fb_to_schema(schema)))?;
    Ok(Arc::new(schema))
}

impl Source for IpcSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&mut self) -> Result<Option<BatchWithErrors>, FormatError> {
        let batch = match self.pending_rows.take() {
            Some(batch) => Some(batch),
            None => self
                .next_batch()
                .map_err(|error| FormatError(message!("it is damaged or truncated here: {}", error)))?,
        };
        let Some(batch) = batch else { return Ok(None) };
        let rows = batch.num_rows();
        if rows <= MAX_PART_ROWS {
            return Ok(Some(BatchWithErrors::from(batch)));
        }
        self.pending_rows = Some(batch.slice(MAX_PART_ROWS, rows - MAX_PART_ROWS));
        Ok(Some(BatchWithErrors::from(batch.slice(0, MAX_PART_ROWS))))
    }

    fn fraction_read(&self) -> Option<f64> {
        self.input.get_ref().get_ref().1.fraction_read()
    }
}

pub(super) struct IpcSink<W: Write> {
    writer: StreamWriter<W>,
}

impl<W: Write> IpcSink<W> {
    pub fn create(schema: &SchemaRef, out: W) -> Result<IpcSink<W>, FormatError> {
        Ok(IpcSink { writer: StreamWriter::try_new(out, schema).map_err(FormatError::new)? })
    }
}

impl<W: Write> Sink for IpcSink<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        self.writer.write(batch).map_err(FormatError::new)?;
        self.writer.flush().map_err(FormatError::new)
    }

    fn finish(&mut self) -> Result<(), FormatError> {
        self.writer.finish().map_err(FormatError::new)
    }
}
