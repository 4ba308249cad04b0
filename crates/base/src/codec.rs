//! The binary encoding of compiled rules. Small numbers take one byte, and a repeated text is
//! written once.
//!
//! The decoder does not trust its input. It checks counts against the remaining bytes, ids against
//! the size of their table, and nesting against a limit. Decoding any bytes therefore returns
//! either an error or a value that is safe to use.
//!
//! Each type lists its encoded fields next to its definition, with one line of `impl_codec!`. A
//! field missing from that list is a compile error.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// The reason why bytes cannot be decoded to a value, such as bytes that end too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct DecodeError(pub &'static str);

/// A value that can be encoded to bytes and decoded from them, to store compiled rules. Equal
/// values are encoded as equal bytes.
pub trait Codec: Sized {
    fn write(&self, writer: &mut Writer);
    /// Decodes bytes that [`write`](Codec::write) encoded. Returns an error for bytes that are no
    /// encoded value of this type.
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// The tables of the compiled rules, such as the table of fields. A reference to an entry is
/// encoded as the id of the entry. The decoder checks each id against the size of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexedTable {
    File,
    Slot,
    Let,
    Extern,
    Table,
    Rule,
    Flow,
    Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounts([u32; 8]);

impl IndexedTable {
    pub const ALL: [IndexedTable; 8] = [
        IndexedTable::File,
        IndexedTable::Slot,
        IndexedTable::Let,
        IndexedTable::Extern,
        IndexedTable::Table,
        IndexedTable::Rule,
        IndexedTable::Flow,
        IndexedTable::Value,
    ];
}

impl TableCounts {
    #[must_use]
    pub fn with_count(mut self, table: IndexedTable, count: usize) -> TableCounts {
        self.0[table as usize] = u32::try_from(count).unwrap_or(u32::MAX);
        self
    }

    pub fn count_of(&self, table: IndexedTable) -> usize {
        self.0[table as usize] as usize
    }
}

/// Maximum nesting depth of decoded values, which bounds the stack of the recursive decoder. This
/// limit is twice the depth that the compiler allows.
const MAX_NESTING_DEPTH: u32 = 512;

/// A buffer of encoded values, called *parts*. Each part is decoded separately and on demand.
#[derive(Clone, Debug, Default)]
pub struct LazyValues {
    pub bytes: Box<[u8]>,
    pub counts: TableCounts,
}

impl LazyValues {
    /// Decodes the part (a value that is decoded on demand) at the byte range `range`. Returns an
    /// error if its bytes are invalid, or if bytes remain after the value.
    pub fn decode_part<T: Codec>(&self, range: &Range<u32>) -> Result<T, DecodeError> {
        let mut reader = Reader { earlier_texts: None, ..Reader::new(self.bytes(range), self.counts) };
        let part = T::read(&mut reader)?;
        reader.expect_end().map(|()| part)
    }

    pub fn bytes(&self, range: &Range<u32>) -> &[u8] {
        self.bytes.get(range.start as usize..range.end as usize).unwrap_or_default()
    }
}

#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// The id of each text written before, so that a repeated text is written as its id. `None`
    /// while a part (a value that is decoded separately) is written, because a part must be
    /// decodable without earlier texts.
    text_ids: Option<HashMap<Arc<str>, u32>>,
    /// File id and start offset of the last span written. The start of the next span is encoded as
    /// the difference from this offset, and its file id only if the file is another one.
    last_file_and_start: (u32, u32),
    /// The bytes of the parts written so far. A part is a value that is decoded separately and on
    /// demand.
    part_bytes: Vec<u8>,
}

impl Writer {
    pub fn new() -> Writer {
        Writer { text_ids: Some(HashMap::new()), ..Writer::default() }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the parts (values that are decoded on demand) written before this call, and removes
    /// them from the writer. `counts` are the table sizes against which the decoder checks ids.
    pub fn take_parts(&mut self, counts: TableCounts) -> LazyValues {
        LazyValues { bytes: std::mem::take(&mut self.part_bytes).into(), counts }
    }

    /// Writes a value with `write` as a separate part, which is decoded on demand. The main output
    /// gets only the length of the part. Returns the byte range of the part in the buffer of parts.
    pub fn write_part(&mut self, write: impl FnOnce(&mut Writer)) -> Range<u32> {
        let start = self.part_bytes.len();
        let mut writer = Writer { bytes: std::mem::take(&mut self.part_bytes), ..Writer::default() };
        write(&mut writer);
        self.part_bytes = writer.bytes;
        self.write_number((self.part_bytes.len() - start) as u64);
        // If the parts exceed four gigabytes, offsets saturate, and decoding such a part fails.
        let to_offset = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
        to_offset(start)..to_offset(self.part_bytes.len())
    }

    pub fn write_byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Writes a number as LEB128: seven bits per byte, lowest bits first.
    pub fn write_number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    pub fn write_signed(&mut self, number: i64) {
        self.write_number(zigzag(number));
    }

    pub fn write_raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a text, or the id of an equal text that was written before.
    pub fn write_text(&mut self, text: &str) {
        if let Some(texts) = &mut self.text_ids {
            let next = texts.len() as u32;
            if let Some(id) = texts.get(text) {
                let id = u64::from(*id) << 1 | 1;
                return self.write_number(id);
            }
            texts.insert(text.into(), next);
        }
        self.write_number((text.len() as u64) << 1);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub fn write_span(&mut self, file: u32, start: u32, end: u32) {
        let (last_file, last_start) = self.last_file_and_start;
        let step = zigzag(i64::from(start) - i64::from(last_start));
        self.write_number(step << 1 | u64::from(file != last_file));
        if file != last_file {
            self.write_number(u64::from(file));
        }
        self.write_number(u64::from(end.saturating_sub(start)));
        self.last_file_and_start = (file, start);
    }
}

/// Maps signed numbers near zero to small unsigned numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[derive(Debug)]
pub struct Reader<'b> {
    unread_bytes: &'b [u8],
    pub counts: TableCounts,
    /// The texts read before, indexed by id. `None` while a part (a value that is decoded
    /// separately) is read, because a part does not refer to earlier texts.
    earlier_texts: Option<Vec<Arc<str>>>,
    /// File id and start offset of the last span read. The start of the next span is encoded as the
    /// difference from this offset, and its file id only if the file is another one.
    last_file_and_start: (u32, u32),
    nesting_depth: u32,
    /// The parts of the encoded value. A part is a value that is decoded separately and on demand.
    pub parts: Arc<LazyValues>,
    /// The byte offset in `parts` at which the next part begins. A part is a value that is decoded
    /// separately.
    next_part_offset: u32,
}

const UNEXPECTED_END: DecodeError = DecodeError("it ends too early");

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8], counts: TableCounts) -> Reader<'b> {
        Reader {
            unread_bytes: bytes,
            counts,
            earlier_texts: Some(Vec::new()),
            last_file_and_start: (0, 0),
            nesting_depth: 0,
            parts: Arc::default(),
            next_part_offset: 0,
        }
    }

    /// Returns an error if some bytes are not read yet, or if some parts (values that are decoded
    /// on demand) were not requested yet.
    pub fn expect_end(&self) -> Result<(), DecodeError> {
        let at_end = self.unread_bytes.is_empty() && self.next_part_offset as usize == self.parts.bytes.len();
        if at_end { Ok(()) } else { Err(DecodeError("something follows the end")) }
    }

    /// Reads the length of the next part, a value that is decoded separately, but does not decode
    /// the part. Returns the buffer of all parts, and the byte range of this part in the buffer.
    /// Returns an error if the buffer is too short.
    pub fn read_part_range(&mut self) -> Result<(Arc<LazyValues>, Range<u32>), DecodeError> {
        let start = self.next_part_offset;
        let end = start.checked_add(u32::read(self)?).filter(|end| *end as usize <= self.parts.bytes.len());
        self.next_part_offset = end.ok_or(UNEXPECTED_END)?;
        Ok((self.parts.clone(), start..self.next_part_offset))
    }

    pub fn read_byte(&mut self) -> Result<u8, DecodeError> {
        let (first, rest) = self.unread_bytes.split_first().ok_or(UNEXPECTED_END)?;
        self.unread_bytes = rest;
        Ok(*first)
    }

    pub fn read_number(&mut self) -> Result<u64, DecodeError> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.read_byte()?;
            if shift == 63 && byte > 1 {
                return Err(DecodeError("a number is too large"));
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
            shift += 7;
        }
    }

    pub fn read_signed(&mut self) -> Result<i64, DecodeError> {
        self.read_number().map(unzigzag)
    }

    pub fn read_raw(&mut self, count: usize) -> Result<&'b [u8], DecodeError> {
        let (bytes, rest) = self.unread_bytes.split_at_checked(count).ok_or(UNEXPECTED_END)?;
        self.unread_bytes = rest;
        Ok(bytes)
    }

    /// Reads the number of elements of a collection. Each element takes at least one byte, so a
    /// count above the number of remaining bytes is an error.
    pub fn read_count(&mut self) -> Result<usize, DecodeError> {
        let count = self.read_number()?;
        usize::try_from(count).ok().filter(|count| *count <= self.unread_bytes.len()).ok_or(UNEXPECTED_END)
    }

    pub fn read_text(&mut self) -> Result<Arc<str>, DecodeError> {
        let head = self.read_number()?;
        if head & 1 != 0 {
            let earlier_text = usize::try_from(head >> 1)
                .ok()
                .and_then(|earlier_text| self.earlier_texts.as_ref()?.get(earlier_text));
            return earlier_text.cloned().ok_or(DecodeError("a text is referred to that is not there"));
        }
        let length = usize::try_from(head >> 1).map_err(|_| UNEXPECTED_END)?;
        let text =
            std::str::from_utf8(self.read_raw(length)?).map_err(|_| DecodeError("a text is not UTF-8"))?;
        let text: Arc<str> = text.into();
        if let Some(texts) = &mut self.earlier_texts {
            texts.push(text.clone());
        }
        Ok(text)
    }

    /// Reads an id of an entry of the table `table`. Returns an error if the table has no entry
    /// with this id.
    pub fn read_id(&mut self, table: IndexedTable) -> Result<u32, DecodeError> {
        let number = self.read_number()?;
        u32::try_from(number)
            .ok()
            .filter(|number| (*number as usize) < self.counts.count_of(table))
            .ok_or(DecodeError("something is numbered that is not there"))
    }

    /// Reads a span of source text. Returns its file id, and its start and end as byte offsets in
    /// the file.
    pub fn read_span(&mut self) -> Result<(u32, u32, u32), DecodeError> {
        let outside_file = DecodeError("a place lies outside its file");
        let head = self.read_number()?;
        let (mut file, last_start) = self.last_file_and_start;
        if head & 1 != 0 {
            file = self.read_id(IndexedTable::File)?;
        } else if file as usize >= self.counts.count_of(IndexedTable::File) {
            return Err(outside_file);
        }
        let start = i64::from(last_start)
            .checked_add(unzigzag(head >> 1))
            .and_then(|offset| u32::try_from(offset).ok())
            .ok_or(outside_file)?;
        let length = u32::try_from(self.read_number()?).map_err(|_| outside_file)?;
        self.last_file_and_start = (file, start);
        Ok((file, start, start.checked_add(length).ok_or(outside_file)?))
    }

    /// Decodes a value inside another value: calls `read` one nesting level deeper. Returns an
    /// error if the limit on nesting is reached.
    pub fn read_nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.nesting_depth >= MAX_NESTING_DEPTH {
            return Err(DecodeError("it is nested too deep"));
        }
        self.nesting_depth += 1;
        let result = read(self);
        self.nesting_depth -= 1;
        result
    }
}

/// Implements `Codec`. A struct is encoded as its fields in the given order. An enum is encoded as
/// the stable number of its variant, then the fields of the variant.
#[macro_export]
macro_rules! impl_codec {
    (struct $name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::codec::Codec for $name {
            fn write(&self, writer: &mut $crate::codec::Writer) {
                let $name { $($field),* } = self;
                $($crate::codec::Codec::write($field, writer);)*
            }
            fn read(reader: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::codec::DecodeError> {
                $(let $field = $crate::codec::Codec::read(reader)?;)*
                Ok($name { $($field),* })
            }
        }
    };
    (enum $name:ident {
        $($tag:literal $variant:ident $(($($item:ident),*))? $({ $($field:ident),* $(,)? })?),* $(,)?
    }) => {
        impl $crate::codec::Codec for $name {
            fn write(&self, writer: &mut $crate::codec::Writer) {
                match self {
                    $($name::$variant $(($($item),*))? $({ $($field),* })? => {
                        writer.write_byte($tag);
                        $($($crate::codec::Codec::write($item, writer);)*)?
                        $($($crate::codec::Codec::write($field, writer);)*)?
                    })*
                }
            }
            fn read(reader: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::codec::DecodeError> {
                match reader.read_byte()? {
                    $($tag => {
                        $($(let $item = $crate::codec::Codec::read(reader)?;)*)?
                        $($(let $field = $crate::codec::Codec::read(reader)?;)*)?
                        Ok($name::$variant $(($($item),*))? $({ $($field),* })?)
                    })*
                    _ => Err($crate::codec::DecodeError(concat!("there is no such form of ", stringify!($name)))),
                }
            }
        }
    };
    // A type that is encoded as one byte. `$to` converts a value to its byte. `$from` returns the
    // value of a byte, or `None` for an unknown byte.
    (byte $name:ident, $to:expr, $from:expr) => {
        impl $crate::codec::Codec for $name {
            fn write(&self, writer: &mut $crate::codec::Writer) {
                writer.write_byte($to(*self));
            }
            fn read(reader: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::codec::DecodeError> {
                let decoded: Option<Self> = $from(reader.read_byte()?);
                decoded.ok_or($crate::codec::DecodeError(concat!("there is no such ", stringify!($name))))
            }
        }
    };
}
pub use crate::impl_codec;

mod json;
mod values;

#[cfg(test)]
mod tests;
