//! The records of a Parquet file, looked at before the library counts on them. Its metadata and the heads of its pages
//! are written by Thrift's compact protocol: lists and texts say how long they are, and the library asks for as much
//! memory. Whoever has stepped over a record has seen that all of it is there.

use std::io::{Error, ErrorKind, Read, Result};

/// Records, lists and maps inside one another, as deep as none is.
const DEPTH: usize = 64;

/// The numbers of fields in the head of a page.
const UNCOMPRESSED: i16 = 2;
const COMPRESSED: i16 = 3;
const DICTIONARY: i16 = 7;
/// The number of the field with the count of values, in the part of a head about dictionaries.
const VALUES: i16 = 1;

/// A record that was stepped over.
pub struct Record<R> {
    input: R,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// If it is the head of a page: the bytes of the page as it stands in the file, and once it is decompressed.
    pub compressed: i64,
    pub uncompressed: i64,
    /// The number of values of a page that is a dictionary.
    pub values: i64,
}

impl<R: Read> Record<R> {
    /// Steps over a record.
    ///
    /// # Errors
    /// When the input ends within it, or it is none.
    pub fn read(input: R) -> Result<Record<R>> {
        let mut record = Record { input, bytes: Vec::new(), compressed: 0, uncompressed: 0, values: 0 };
        record.fields(None, 0)?;
        Ok(record)
    }

    /// Steps over the fields of a record, in the field of that number where it stands in another.
    fn fields(&mut self, outer: Option<i16>, depth: usize) -> Result<()> {
        if depth > DEPTH {
            return Err(wrong());
        }
        let mut id: i16 = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => signed(self.varint()?) as i16,
                more => id.wrapping_add(i16::from(more)),
            };
            match (head & 0x0f, outer, id) {
                // A truth is all in the head of its field.
                (1 | 2, ..) => {}
                (4..=6, None, COMPRESSED) => self.compressed = signed(self.varint()?),
                (4..=6, None, UNCOMPRESSED) => self.uncompressed = signed(self.varint()?),
                (4..=6, Some(DICTIONARY), VALUES) => self.values = signed(self.varint()?),
                (12, None, _) => self.fields(Some(id), depth + 1)?,
                (kind, ..) => self.value(kind, depth + 1)?,
            }
        }
    }

    /// Steps over a value of a kind, as an element or in a field; each has a byte at least.
    fn value(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth > DEPTH {
            return Err(wrong());
        }
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let length = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                (0..length).try_for_each(|_| self.value(head & 0x0f, depth + 1))
            }
            11 => {
                let length = self.varint()?;
                let kinds = if length > 0 { self.byte()? } else { 0 };
                (0..length).try_for_each(|_| {
                    self.value(kinds >> 4, depth + 1)?;
                    self.value(kinds & 0x0f, depth + 1)
                })
            }
            12 => self.fields(Some(0), depth + 1),
            13 => self.skip(16),
            _ => Err(wrong()),
        }
    }

    fn byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        self.bytes.extend(byte);
        Ok(byte[0])
    }

    fn skip(&mut self, length: u64) -> Result<()> {
        let read = self.input.by_ref().take(length).read_to_end(&mut self.bytes)?;
        if read as u64 == length { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    /// A whole number, seven bits a byte.
    fn varint(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(wrong())
    }
}

/// The number that stands with its sign in the lowest bit.
fn signed(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn wrong() -> Error {
    ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<usize> {
        Record::read(bytes).ok().map(|record| record.bytes.len())
    }

    #[test]
    fn a_record_is_there_as_a_whole_or_refused() {
        let record = [
            0x18, 0x03, b'a', b'b', b'c', // a text of three bytes
            0x19, 0x35, 0x02, 0x04, 0x06, // a list of three numbers
            0x19, 0x2c, 0x11, 0x00, 0x12, 0x00, // a list of two records, each a truth
            0x1b, 0x01, 0x58, 0x02, 0x01, b'x', // a map of a number to a text
            0x06, 0x28, 0x80, 0x01, // the field 20, a whole number
            0x17, 1, 2, 3, 4, 5, 6, 7, 8, // a float
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
