//! Arrow's own format. A file is a stream between two marks, and is read as one: what is whole of one that was cut short
//! is there.

use super::{Counted, FormatError, Sink, Source};
use crate::rows::Part;
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use rulec::internals::diag::said;
use std::io::{BufReader, Read, Write};

/// The mark that a file begins with, filled up to eight bytes.
const MARK: &[u8; 8] = b"ARROW1\0\0";

/// The bytes that were looked at, and the rest behind them.
type Input = std::io::Chain<std::io::Cursor<Vec<u8>>, Counted>;

pub(super) struct Reader {
    reader: StreamReader<BufReader<Input>>,
}

impl Reader {
    pub fn open(mut input: Counted) -> Result<Reader, FormatError> {
        let mut first = Vec::new();
        input.by_ref().take(MARK.len() as u64).read_to_end(&mut first)?;
        if first == MARK {
            first.clear();
        }
        let input = BufReader::new(std::io::Cursor::new(first).chain(input));
        let reader = StreamReader::try_new(input, None)
            .map_err(|error| FormatError(said!("it is no Arrow file or stream: {}", error.to_string())))?;
        Ok(Reader { reader })
    }
}

impl Source for Reader {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }

    fn next(&mut self) -> Result<Option<Part>, FormatError> {
        let batch = self.reader.next().transpose();
        Ok(batch
            .map_err(|error| FormatError(said!("it is broken or cut short here: {}", error.to_string())))?
            .map(Part::from))
    }

    fn share(&self) -> Option<f64> {
        self.reader.get_ref().get_ref().get_ref().1.share()
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
