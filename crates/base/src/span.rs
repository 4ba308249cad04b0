//! Byte ranges in the author's source text. Every diagnostic and explanation points to such a
//! range.

use crate::codec::{Codec, DecodeError, Reader, Writer};
use serde::Serialize;

/// The index of a source file in a [`crate::source::SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct FileId(pub u32);

/// A half-open range of bytes in one source file. Files are at most 64 MiB, so 32 bits suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// The source file that contains this range of bytes.
    pub file: FileId,
    /// Offset in the file of the first byte of the span.
    pub start: u32,
    /// Offset in the file of the byte after the last byte of the span.
    pub end: u32,
}

impl Span {
    /// Creates the span of the bytes from offset `start` up to offset `end`, exclusive, of a source
    /// file.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        Span { file, start: start as u32, end: end as u32 }
    }

    /// Returns the smallest span that covers this span and `other`, or this span if `other` is in
    /// another file.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// True if the span `other` lies completely within this span of the same file.
    #[doc(hidden)]
    pub fn contains(self, other: Span) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    /// Returns the byte offsets of the span as a range of `usize`, with which the file's text can
    /// be sliced.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the length of the span in bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// True if the span has no bytes.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A syntax node together with its source span.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// The syntax node itself.
    pub node: T,
    /// The source text from which the node was parsed.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Combines a syntax node with the span of its source text.
    pub fn new(node: T, span: Span) -> Self {
        Spanned { node, span }
    }
}

impl Codec for Span {
    fn write(&self, writer: &mut Writer) {
        writer.write_span(self.file.0, self.start, self.end);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (file, start, end) = reader.read_span()?;
        Ok(Span { file: FileId(file), start, end })
    }
}
