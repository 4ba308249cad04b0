//! Checks the Thrift records of a Parquet file before the library decodes them. The metadata and
//! page headers use Thrift's compact protocol, in which lists and strings state their length. The
//! library allocates memory for the stated length. Skipping over a record first proves that all its
//! bytes exist.

use std::io::{Error, ErrorKind, Read, Result};

/// Maximum nesting of records, lists and maps; valid files stay below it.
const MAX_RECORD_DEPTH: usize = 64;

/// Field id of a page's uncompressed size, in the Thrift record of the page header.
const UNCOMPRESSED_SIZE_FIELD_ID: i16 = 2;
/// Field id of a page's compressed size, in the Thrift record of the page header.
const COMPRESSED_SIZE_FIELD_ID: i16 = 3;
/// Field id of the header of a dictionary page, in the Thrift record of the page header.
const DICTIONARY_HEADER_FIELD_ID: i16 = 7;
/// Field id of the number of values, in the Thrift record of a dictionary page's header.
const VALUE_COUNT_FIELD_ID: i16 = 1;

/// A Thrift record that was skipped over, with its bytes and the sizes that it states. The caller
/// checks these sizes before the Parquet library reads the record.
pub struct SkippedRecord<R> {
    input: R,
    /// The bytes of the record, for the Parquet library.
    pub bytes: Vec<u8>,
    /// Compressed size of a page in bytes, if the record is a page header.
    pub compressed_bytes: i64,
    /// Uncompressed size of the page in bytes, if the record is a page header.
    pub uncompressed_bytes: i64,
    /// Number of values of a dictionary page, if the record is the header of such a page.
    pub value_count: i64,
}

impl<R: Read> SkippedRecord<R> {
    /// Skips over the record at the start of the input, and keeps the record's bytes.
    ///
    /// # Errors
    /// Returns an error if the input ends inside the record, or if the bytes are not a record.
    pub fn read(input: R) -> Result<SkippedRecord<R>> {
        let mut record = SkippedRecord {
            input,
            bytes: Vec::new(),
            compressed_bytes: 0,
            uncompressed_bytes: 0,
            value_count: 0,
        };
        record.skip_fields(None, 0)?;
        Ok(record)
    }

    /// Skips over the fields of a record. `outer` is the field id under which the enclosing record
    /// contains this record; `None` at the top level. `depth` is the number of records, lists and
    /// maps that enclose this record.
    fn skip_fields(&mut self, outer: Option<i16>, depth: usize) -> Result<()> {
        if depth > MAX_RECORD_DEPTH {
            return Err(invalid_record_error());
        }
        let mut id: i16 = 0;
        loop {
            let field_header = self.read_byte()?;
            if field_header == 0 {
                return Ok(());
            }
            id = match field_header >> 4 {
                0 => decode_zigzag(self.read_varint()?) as i16,
                delta => id.wrapping_add(i16::from(delta)),
            };
            match (field_header & 0x0f, outer, id) {
                // The field header contains the value of a boolean.
                (1 | 2, ..) => {}
                (4..=6, None, COMPRESSED_SIZE_FIELD_ID) => {
                    self.compressed_bytes = decode_zigzag(self.read_varint()?)
                }
                (4..=6, None, UNCOMPRESSED_SIZE_FIELD_ID) => {
                    self.uncompressed_bytes = decode_zigzag(self.read_varint()?)
                }
                (4..=6, Some(DICTIONARY_HEADER_FIELD_ID), VALUE_COUNT_FIELD_ID) => {
                    self.value_count = decode_zigzag(self.read_varint()?)
                }
                (12, None, _) => self.skip_fields(Some(id), depth + 1)?,
                (kind, ..) => self.skip_value(kind, depth + 1)?,
            }
        }
    }

    /// Skips over a value; `kind` is the number of its type in Thrift's compact protocol. Every
    /// value consumes at least one byte of input, so a huge claimed length fails at the end of the
    /// input. `depth` is the number of records, lists and maps that enclose the value.
    fn skip_value(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth > MAX_RECORD_DEPTH {
            return Err(invalid_record_error());
        }
        match kind {
            1..=3 => self.skip_bytes(1),
            4..=6 => self.read_varint().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.read_varint()?;
                self.skip_bytes(length)
            }
            9 | 10 => {
                let list_header = self.read_byte()?;
                let length =
                    if list_header >> 4 == 15 { self.read_varint()? } else { u64::from(list_header >> 4) };
                (0..length).try_for_each(|_| self.skip_value(list_header & 0x0f, depth + 1))
            }
            11 => {
                let length = self.read_varint()?;
                let kinds = if length > 0 { self.read_byte()? } else { 0 };
                (0..length).try_for_each(|_| {
                    self.skip_value(kinds >> 4, depth + 1)?;
                    self.skip_value(kinds & 0x0f, depth + 1)
                })
            }
            12 => self.skip_fields(Some(0), depth + 1),
            13 => self.skip_bytes(16),
            _ => Err(invalid_record_error()),
        }
    }

    fn read_byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        self.bytes.extend(byte);
        Ok(byte[0])
    }

    fn skip_bytes(&mut self, length: u64) -> Result<()> {
        let count = self.input.by_ref().take(length).read_to_end(&mut self.bytes)?;
        if count as u64 == length { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    /// Reads a variable-length integer, seven bits per byte.
    fn read_varint(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.read_byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(invalid_record_error())
    }
}

/// Decodes a zigzag-encoded integer, whose lowest bit is the sign.
fn decode_zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn invalid_record_error() -> Error {
    ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<usize> {
        SkippedRecord::read(bytes).ok().map(|record| record.bytes.len())
    }

    #[test]
    fn incomplete_records_are_refused() {
        let record = [
            0x18, 0x03, b'a', b'b', b'c', // a string of three bytes
            0x19, 0x35, 0x02, 0x04, 0x06, // a list of three integers
            0x19, 0x2c, 0x11, 0x00, 0x12, 0x00, // a list of two records, each with a boolean
            0x1b, 0x01, 0x58, 0x02, 0x01, b'x', // a map from an integer to a string
            0x06, 0x28, 0x80, 0x01, // field id 20, an integer
            0x17, 1, 2, 3, 4, 5, 6, 7, 8, // a double
            0x00,
        ];
        assert_eq!(read(&record), Some(record.len()));
        assert_eq!(read(&[&record[..], &[1, 2, 3]].concat()), Some(record.len()));
        for end in 0..record.len() {
            assert_eq!(read(&record[..end]), None, "{end} bytes");
        }
    }

    #[test]
    fn lengths_that_reach_beyond_the_end_are_refused() {
        let long = [0xff, 0xff, 0xff, 0xff, 0x07];
        for (what, head) in [("a text", &[0x18][..]), ("a list", &[0x19, 0xfc]), ("a map", &[0x1b])] {
            assert_eq!(read(&[head, &long, &[0; 100]].concat()), None, "{what}");
        }
        assert_eq!(read(&[0x19; 1_000]), None, "lists in one another");
        assert_eq!(read(&[&[0x1c; 1_000][..], &[0; 2_000]].concat()), None, "records in one another");
        assert_eq!(read(&[0x1f, 0x00]), None, "a kind that there is not");
        assert_eq!(read(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00]), None);
    }
}
