//! Converts between byte offsets and the positions of the Language Server Protocol. The protocol
//! counts lines from 0, and UTF-16 code units within the line. A position outside the text is moved
//! to the nearest valid position.

use ls_types::{Position, Range};
use std::ops;
use std::sync::Arc;

/// A text with the byte offsets at which its lines start.
pub struct TextLines<'t> {
    text: &'t str,
    line_starts: Arc<[u32]>,
}

/// Returns the byte offsets at which the lines of a text start, in ascending order.
pub fn line_starts(text: &str) -> Arc<[u32]> {
    let breaks = text.bytes().zip(1..).filter(|(byte, _)| *byte == b'\n').map(|(_, next)| next);
    std::iter::once(0).chain(breaks).collect()
}

impl<'t> TextLines<'t> {
    pub fn new(text: &'t str) -> TextLines<'t> {
        TextLines::with_starts(text, line_starts(text))
    }

    /// Creates a view of a text. `starts` are its line starts, as returned by `line_starts`.
    pub fn with_starts(text: &'t str, starts: Arc<[u32]>) -> TextLines<'t> {
        TextLines { text, line_starts: starts }
    }

    /// Returns the text of a line, including its line break.
    fn line(&self, line: usize) -> &'t str {
        let start = self.line_starts.get(line).map_or(self.text.len(), |start| *start as usize);
        let end = self.line_starts.get(line + 1).map_or(self.text.len(), |end| *end as usize);
        &self.text[start..end]
    }

    /// Returns the byte offset of a position in this text.
    pub fn offset(&self, position: Position) -> u32 {
        let Some(start) = self.line_starts.get(position.line as usize) else { return self.text.len() as u32 };
        start + offset_in_line(self.line(position.line as usize), position.character)
    }

    /// Returns the position of a byte offset in this text.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line_starts.partition_point(|start| *start <= offset) - 1;
        let line_text = self.line(line);
        let offset_in_line = (offset - self.line_starts[line]) as usize;
        let chars_before =
            line_text.char_indices().take_while(|(char_offset, _)| *char_offset < offset_in_line);
        Position { line: line as u32, character: chars_before.map(|(_, c)| c.len_utf16() as u32).sum() }
    }

    /// Returns a cursor at the start of the text, for positions in ascending order.
    pub fn cursor(&self) -> LineCursor<'_, 't> {
        LineCursor { lines: self, line_index: 0, offset: 0, character: 0 }
    }

    pub fn range(&self, bytes: ops::Range<usize>) -> Range {
        Range { start: self.position(bytes.start as u32), end: self.position(bytes.end as u32) }
    }
}

/// Converts ascending byte offsets to positions, and reads each character once.
pub struct LineCursor<'l, 't> {
    lines: &'l TextLines<'t>,
    line_index: usize,
    /// The last byte offset that was converted. The field `character` is the number of UTF-16 code
    /// units before this offset in its line.
    offset: u32,
    character: u32,
}

impl LineCursor<'_, '_> {
    /// Returns the line and column of a byte offset, which must not be less than the offset of the
    /// previous call.
    pub fn advance_to(&mut self, offset: u32) -> Position {
        let starts = &self.lines.line_starts;
        while let Some(next) = starts.get(self.line_index + 1).filter(|next| **next <= offset) {
            (self.line_index, self.offset, self.character) = (self.line_index + 1, *next, 0);
        }
        let passed = self.lines.text.get(self.offset as usize..offset as usize).unwrap_or_default();
        self.character += passed.encode_utf16().count() as u32;
        self.offset = offset;
        Position { line: self.line_index as u32, character: self.character }
    }
}

/// Returns the byte offset of a character in a line. `character` counts UTF-16 code units.
fn offset_in_line(line: &str, character: u32) -> u32 {
    let line = line.trim_end_matches(['\n', '\r']);
    let mut utf16_units = 0;
    for (char_offset, c) in line.char_indices() {
        if utf16_units + c.len_utf16() as u32 > character {
            return char_offset as u32;
        }
        utf16_units += c.len_utf16() as u32;
    }
    line.len() as u32
}

/// The line starts of a text to which several changes are applied. Line starts are found only up to
/// the last requested position. If the changes are in ascending or descending order, no line is
/// scanned twice.
pub struct LineScan {
    line_starts: Vec<u32>,
    /// Number of bytes that were searched for line ends. A test checks that no line is scanned
    /// twice.
    #[cfg(test)]
    scanned_bytes: usize,
}

impl LineScan {
    pub fn new() -> LineScan {
        LineScan {
            line_starts: vec![0],
            #[cfg(test)]
            scanned_bytes: 0,
        }
    }

    /// Returns the byte offset of a position in `text`, the text after the changes so far.
    pub fn offset(&mut self, text: &str, position: Position) -> usize {
        let line = position.line as usize;
        let mut scanned = self.line_starts.last().map_or(0, |start| *start as usize);
        while self.line_starts.len() <= line + 1
            && let Some(length) = text[scanned..].find('\n')
        {
            scanned += length + 1;
            self.line_starts.push(scanned as u32);
            #[cfg(test)]
            {
                self.scanned_bytes += length + 1;
            }
        }
        let Some(start) = self.line_starts.get(line).map(|start| *start as usize) else { return text.len() };
        let end = self.line_starts.get(line + 1).map_or(text.len(), |end| *end as usize);
        start + offset_in_line(&text[start..end], position.character) as usize
    }

    /// Forgets the line starts after a byte offset, because the text after the offset has changed.
    pub fn forget_after(&mut self, offset: usize) {
        self.line_starts.truncate(self.line_starts.partition_point(|start| *start as usize <= offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_in_order_or_backwards_scan_each_line_once() {
        for backwards in [false, true] {
            let mut text = "a\n".repeat(20_000);
            let mut scan = LineScan::new();
            for index in 0..10_000 {
                let line = if backwards { 9_999 - index } else { index } * 2;
                let start = scan.offset(&text, Position { line, character: 0 });
                let end = scan.offset(&text, Position { line, character: 1 });
                text.replace_range(start..end, "bc");
                scan.forget_after(start);
            }
            assert_eq!(text, "bc\na\n".repeat(10_000));
            assert!(scan.scanned_bytes <= 2 * text.len(), "{}", scan.scanned_bytes);
        }
    }

    #[test]
    fn a_scan_finds_the_offsets_of_the_changed_text() {
        let mut text = "a\u{1F600}文\r\nb\n\nlast".to_owned();
        let mut scan = LineScan::new();
        // The order goes up, down, and beyond the end.
        for (line, character, inserted) in
            [(1, 1, "x\ny"), (3, 0, "z"), (0, 3, "\n\n"), (9, 0, "end"), (0, 0, "\n"), (4, 1, "")]
        {
            let position = Position { line, character };
            let offset = scan.offset(&text, position);
            assert_eq!(offset, TextLines::new(&text).offset(position) as usize, "{position:?}");
            text.insert_str(offset, inserted);
            scan.forget_after(offset);
        }
    }

    #[test]
    fn positions_count_utf16_units() {
        let lines = TextLines::new("a\u{1F600}文\r\nb\n");
        let make_position = |line, character| Position { line, character };
        for (offset, position) in [
            (0, make_position(0, 0)),
            (1, make_position(0, 1)),
            (5, make_position(0, 3)),
            (8, make_position(0, 4)),
            (10, make_position(1, 0)),
            (12, make_position(2, 0)),
        ] {
            assert_eq!(lines.position(offset), position);
            assert_eq!(lines.offset(position), offset);
        }
        let (mut cursor, offsets) = (lines.cursor(), [0, 1, 5, 8, 10, 10, 12]);
        assert!(offsets.iter().all(|offset| cursor.advance_to(*offset) == lines.position(*offset)));
        // Inside a character, past the end of a line, past the end of the text.
        assert_eq!(lines.offset(make_position(0, 2)), 1);
        assert_eq!(lines.offset(make_position(0, 99)), 8);
        assert_eq!(lines.offset(make_position(9, 9)), 12);
    }
}
