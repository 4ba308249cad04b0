//! Arrow's own format. A file is a stream between two marks, and is read as one: what is whole of one that was cut short
//! is there.
//!
//! Messages are read here and not by Arrow's reader, which asks for as much memory as a message says that it has; Arrow is
//! handed what is there and has lengths that can be true.

mod message;

use super::{Counted, FormatError, Sink, Source, caught};
use crate::rows::Part;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use message::Encapsulated;
use rulec::Message;
use rulec_base::message;
use std::collections::HashMap;
use std::io::{BufReader, Cursor, Read, Write};
use std::sync::Arc;

/// The mark that a file begins with, filled up to eight bytes.
const MARK: &[u8; 8] = b"ARROW1\0\0";

/// Rows that are handed out at a time: a few bytes may say that a batch has many.
const ROWS: usize = 1 << 16;

/// The bytes that were looked at, and the rest behind them.
type Input = std::io::Chain<Cursor<Vec<u8>>, Counted>;

pub(super) struct Reader {
    input: BufReader<Input>,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The rows of the last batch that have not been handed out.
    left: Option<RecordBatch>,
}

impl Reader {
    pub fn open(mut input: Counted) -> Result<Reader, FormatError> {
        let mut first = Vec::new();
        input.by_ref().take(MARK.len() as u64).read_to_end(&mut first)?;
        if first == MARK {
            first.clear();
        }
        let mut input = BufReader::new(Cursor::new(first).chain(input));
        let schema = schema(&mut input)
            .map_err(|error| FormatError(message!("it is no Arrow file or stream: {}", error)))?;
        Ok(Reader { input, schema, dictionaries: HashMap::new(), left: None })
    }

    /// The next batch; `None` at the end.
    fn batch(&mut self) -> Result<Option<RecordBatch>, Message> {
        while let Some(message) = Encapsulated::read(&mut self.input)? {
            let head = message.head();
            let (body, version) = (message.body(), head.version());
            if let Some(dictionary) = head.header_as_dictionary_batch() {
                let dictionaries = &mut self.dictionaries;
                caught(|| read_dictionary(body, dictionary, &self.schema, dictionaries, &version))?;
            } else if let Some(batch) = head.header_as_record_batch() {
                let schema = Arc::clone(&self.schema);
                let read = || read_record_batch(body, batch, schema, &self.dictionaries, None, &version);
                return caught(read).map(Some);
            } else {
                return Err(message!("what comes is neither rows nor a dictionary"));
            }
        }
        Ok(None)
    }
}

/// The columns, which the first message tells.
fn schema(input: &mut impl Read) -> Result<SchemaRef, Message> {
    let first = Encapsulated::read(input)?;
    let Some(schema) = first.as_ref().and_then(|message| message.head().header_as_schema()) else {
        return Err(message!("it does not begin with its columns"));
    };
    let schema = caught(|| Ok::<_, ArrowError>(fb_to_schema(schema)))?;
    Ok(Arc::new(schema))
}

impl Source for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&mut self) -> Result<Option<Part>, FormatError> {
        let batch = match self.left.take() {
            Some(batch) => Some(batch),
            None => self
                .batch()
                .map_err(|error| FormatError(message!("it is broken or cut short here: {}", error)))?,
        };
        let Some(batch) = batch else { return Ok(None) };
        let rows = batch.num_rows();
        if rows <= ROWS {
            return Ok(Some(Part::from(batch)));
        }
        self.left = Some(batch.slice(ROWS, rows - ROWS));
        Ok(Some(Part::from(batch.slice(0, ROWS))))
    }

    fn share(&self) -> Option<f64> {
        self.input.get_ref().get_ref().1.share()
    }
}

pub(super) struct Writer<W: Write> {
    writer: StreamWriter<W>,
}

impl<W: Write> Writer<W> {
    pub fn create(schema: &SchemaRef, out: W) -> Result<Writer<W>, FormatError> {
        Ok(Writer { writer: StreamWriter::try_new(out, schema).map_err(FormatError::new)? })
    }
}

impl<W: Write> Sink for Writer<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        self.writer.write(batch).map_err(FormatError::new)?;
        self.writer.flush().map_err(FormatError::new)
    }

    fn finish(&mut self) -> Result<(), FormatError> {
        self.writer.finish().map_err(FormatError::new)
    }
}
