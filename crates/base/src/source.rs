//! The source files of a compilation, and the conversion of byte offsets to lines and columns.
//! Callers pass in text that is already read; only the command line reads files.

use crate::codec::{Codec, DecodeError, Reader, Writer};
use crate::span::{FileId, Span};
use std::ops::Range;
use std::sync::OnceLock;

/// The source files of one compilation, by file id. Diagnostics use it to show source lines.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

/// One source file: its name, its text, and the start offset of each line.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The file's name in diagnostics, usually a path.
    pub name: String,
    /// The whole text of the file, including a byte order mark.
    pub text: String,
    line_starts: Vec<u32>,
    /// For each block of [`CHAR_COUNT_BLOCK_BYTES`] bytes, the number of characters in the text
    /// before the block; computed on first use.
    char_counts_before_blocks: OnceLock<Vec<usize>>,
    origin: OnceLock<SourceOrigin>,
}

/// The document from which a source file was generated, such as a JSON document that was imported.
/// Explanations refer to the document, because its author has not seen the generated file.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct SourceOrigin {
    /// The name of the document from which the file was generated.
    pub name: String,
    /// The parts of the generated file, such as statements, in order. Each is a pair: the number of
    /// the part's first line in the generated file, and the position in the document from which the
    /// part was generated.
    pub part_positions: Vec<(usize, Position)>,
}

/// Length in bytes of the blocks into which a text is divided. The characters before each block are
/// counted once. A column in a very long line is then found without counting the whole line again.
const CHAR_COUNT_BLOCK_BYTES: usize = 1024;

/// A position in a source file as line and column, as an editor shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// Column number, from 1, in Unicode scalar values. A byte order mark does not count.
    pub column: usize,
}

impl SourceMap {
    /// Creates a source map without files.
    pub fn new() -> Self {
        SourceMap::default()
    }

    /// Adds a source file with this name and text, and returns its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let id = FileId(self.files.len() as u32);
        self.files.push(SourceFile::new(name.into(), text.into()));
        id
    }

    /// Returns the source file with this id.
    ///
    /// # Panics
    /// If the id comes from another source map and is out of range.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// Returns the source file with this id, or `None` if the id is out of range.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// Returns the number of source files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// True if the source map has no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Encodes the source map into `writer`. If `strip` is true, the offsets of lines are written
    /// instead of the texts. Spans can then still be converted to lines.
    #[doc(hidden)]
    pub fn write(&self, strip: bool, writer: &mut Writer) {
        writer.write_number(self.files.len() as u64);
        for file in &self.files {
            file.name.write(writer);
            let lines = (strip || file.is_stripped()).then_some(&file.line_starts);
            writer.write_byte(u8::from(lines.is_some()));
            match lines {
                None => file.text.write(writer),
                Some(lines) => {
                    writer.write_number(lines.len() as u64);
                    let mut last = 0;
                    for start in lines {
                        writer.write_number((start - last).into());
                        last = *start;
                    }
                }
            }
        }
    }

    /// Decodes a source map that [`write`](SourceMap::write) encoded. The text of a file is empty
    /// if only line offsets were encoded.
    #[doc(hidden)]
    pub fn read(reader: &mut Reader<'_>) -> Result<SourceMap, DecodeError> {
        let count = reader.read_count()?;
        let mut files = Vec::new();
        for _ in 0..count {
            let name = String::read(reader)?;
            if !bool::read(reader)? {
                files.push(SourceFile::new(name, String::read(reader)?));
                continue;
            }
            let steps: Vec<u32> = Vec::read(reader)?;
            let mut last = 0_u32;
            let starts = steps.into_iter().map(|step| {
                last = last.checked_add(step)?;
                Some(last)
            });
            let line_starts =
                starts.collect::<Option<Vec<u32>>>().filter(|starts| starts.first() == Some(&0));
            let line_starts = line_starts.ok_or(DecodeError("the lines of a file are not in order"))?;
            let (chars_before_blocks, origin) = (OnceLock::new(), OnceLock::new());
            files.push(SourceFile {
                name,
                text: String::new(),
                line_starts,
                char_counts_before_blocks: chars_before_blocks,
                origin,
            });
        }
        Ok(SourceMap { files })
    }

    /// Returns the files with their ids, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(index, file)| (FileId(index as u32), file))
    }

    /// Returns the text of a span, or an empty string if its file or the span is out of range.
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.file).and_then(|file| file.text.get(span.range())).unwrap_or("")
    }

    /// Returns the line and column of a span's first character in its file.
    pub fn position(&self, span: Span) -> Position {
        self.file(span.file).position(span.start)
    }

    /// Returns the name of the file and the position where a span starts. If the file was generated
    /// from a document, returns the name of the document and the position there.
    #[doc(hidden)]
    pub fn name_and_position(&self, span: Span) -> (&str, Position) {
        let file = self.file(span.file);
        let position = file.position(span.start);
        let Some(origin) = file.origin.get() else { return (&file.name, position) };
        let next = origin.part_positions.partition_point(|(line, _)| *line <= position.line);
        let part = next.checked_sub(1).and_then(|index| origin.part_positions.get(index));
        (&origin.name, part.map_or(Position { line: 1, column: 1 }, |(_, position)| *position))
    }
}

impl SourceFile {
    /// Creates a source file with this name and text, and finds the start of each line.
    pub fn new(name: String, text: String) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).map(|offset| offset as u32 + 1);
        let line_starts = std::iter::once(0).chain(breaks).collect();
        SourceFile {
            name,
            text,
            line_starts,
            char_counts_before_blocks: OnceLock::new(),
            origin: OnceLock::new(),
        }
    }

    /// Sets the document from which this file was generated. Only the first call has an effect.
    #[doc(hidden)]
    pub fn set_origin(&self, origin: SourceOrigin) {
        let _ = self.origin.set(origin);
    }

    /// True if the file was stored without its text, so that only the offsets of its lines are
    /// known. Always false for a file of one line.
    pub fn is_stripped(&self) -> bool {
        self.text.is_empty() && self.line_starts.len() > 1
    }

    /// Returns the number of lines of the file. A trailing line feed does not start another line.
    pub fn line_count(&self) -> usize {
        let last = self.line_starts[self.line_starts.len() - 1] as usize;
        self.line_starts.len() - usize::from(last == self.text.len() && last > 0)
    }

    /// Returns the line and column of a byte offset. An offset inside a character counts as the
    /// start of that character. If the file was stored without its text, the column is counted in
    /// bytes.
    pub fn position(&self, offset: u32) -> Position {
        if self.is_stripped() {
            // A stripped file has no text, so the column is counted in bytes.
            let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
            let column = offset - self.line_starts.get(line - 1).copied().unwrap_or(0) + 1;
            return Position { line, column: column as usize };
        }
        let offset = floor_char_boundary(&self.text, offset as usize);
        let line = self.line_starts.partition_point(|start| *start as usize <= offset);
        let line_prefix = &self.text[self.line_starts[line - 1] as usize..offset];
        let line_prefix =
            if line == 1 { line_prefix.strip_prefix('\u{FEFF}').unwrap_or(line_prefix) } else { line_prefix };
        let column = match line_prefix.len() > CHAR_COUNT_BLOCK_BYTES {
            true => self.char_count_before(offset) - self.char_count_before(offset - line_prefix.len()),
            false => line_prefix.chars().count(),
        };
        Position { line, column: column + 1 }
    }

    /// Returns the number of characters of the file before a byte offset.
    fn char_count_before(&self, offset: usize) -> usize {
        // Each character has one byte that does not continue another character.
        let chars = |bytes: &[u8]| bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        let counts = self.char_counts_before_blocks.get_or_init(|| {
            let blocks = self.text.as_bytes().chunks(CHAR_COUNT_BLOCK_BYTES);
            let sums = blocks.scan(0, |sum, block| {
                let before = *sum;
                *sum += chars(block);
                Some(before)
            });
            sums.collect()
        });
        let block = (offset / CHAR_COUNT_BLOCK_BYTES).min(counts.len().saturating_sub(1));
        let before = counts.get(block).copied().unwrap_or(0);
        before + chars(&self.text.as_bytes()[(block * CHAR_COUNT_BLOCK_BYTES).min(offset)..offset])
    }

    /// Returns the text of a line, counted from 1, without its line break and without a byte order
    /// mark.
    pub fn line(&self, line: usize) -> &str {
        self.text.get(self.line_range(line)).unwrap_or_default()
    }

    /// Returns the byte range of a line's text. For a line that does not exist, returns an empty
    /// range at the end of the file.
    #[doc(hidden)]
    pub fn line_range(&self, line: usize) -> Range<usize> {
        let Some(start) = line.checked_sub(1).and_then(|index| self.line_starts.get(index)) else {
            return self.text.len()..self.text.len();
        };
        let start = *start as usize;
        let end = self.line_starts.get(line).map_or(self.text.len(), |next| *next as usize - 1);
        let text = self.text.get(start..end).unwrap_or_default();
        let bom_length = if line == 1 && text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
        start + bom_length..start + text.strip_suffix('\r').unwrap_or(text).len()
    }
}

/// Returns the byte offset at which the character that contains `offset` starts. If `offset` is
/// beyond the text, returns the length of the text.
pub fn floor_char_boundary(text: &str, offset: usize) -> usize {
    (0..=offset.min(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_match_an_editor() {
        let check = |text: &str, needle: &str, line: usize, column: usize| {
            let file = SourceFile::new("a".into(), text.into());
            let offset = text.find(needle).expect("the needle is in the text") as u32;
            assert_eq!(file.position(offset), Position { line, column }, "{needle} in {text:?}");
        };
        check("abc", "a", 1, 1);
        check("abc\ndef", "e", 2, 2);
        check("abc\r\ndef\r\nx", "x", 3, 1);
        check("\u{FEFF}abc", "b", 1, 2);
        check("文件 x", "x", 1, 4);
        check("a\n\nb", "b", 3, 1);
        let long = "文é".repeat(CHAR_COUNT_BLOCK_BYTES);
        check(&format!("a\n{long}x\ny"), "x", 2, 2 * CHAR_COUNT_BLOCK_BYTES + 1);
        check(&format!("\u{FEFF}{long}x{long}y"), "y", 1, 4 * CHAR_COUNT_BLOCK_BYTES + 2);
    }

    #[test]
    fn lines_come_without_their_breaks() {
        let file = SourceFile::new("a".into(), "\u{FEFF}one\r\ntwo\n".into());
        assert_eq!((file.line(1), file.line(2), file.line(3), file.line(9)), ("one", "two", "", ""));
        assert_eq!(file.line_count(), 2);
        assert_eq!(file.position(99), Position { line: 3, column: 1 });
        assert_eq!(SourceFile::new("e".into(), String::new()).line_count(), 1);
    }
}
