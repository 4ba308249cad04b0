//! Places in the author's text, which every diagnostic and explanation points to.

use crate::codec::{Codec, DecodeError, Reader, Writer};
use serde::Serialize;

/// The number of a source file in a [`crate::source::SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct FileId(pub u32);

/// A half-open range of bytes in one source file. Files are at most 64 MiB, so 32 bits suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// The file the range lies in.
    pub file: FileId,
    /// Byte offset of the first byte.
    pub start: u32,
    /// Byte offset one past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        Span { file, start: start as u32, end: end as u32 }
    }

    /// The smallest range that covers both; of another file, only `self`.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// True when all of `other` lies within.
    pub fn contains(self, other: Span) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    /// The range as `usize`s, for slicing the file's text.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// True when the range holds no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A value together with the place it was written at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// The value.
    pub node: T,
    /// The place where it was written.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Pairs a value with its place.
    pub fn new(node: T, span: Span) -> Self {
        Spanned { node, span }
    }
}

impl Codec for Span {
    fn write(&self, to: &mut Writer) {
        to.place(self.file.0, self.start, self.end);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (file, start, end) = from.place()?;
        Ok(Span { file: FileId(file), start, end })
    }
}
