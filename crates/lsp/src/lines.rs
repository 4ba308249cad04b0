//! Positions as the protocol counts them: the line from 0, and UTF-16 code units within the line. A
//! position outside the text is moved to the nearest valid position.

use ls_types::{Position, Range};
use std::ops;
use std::rc::Rc;

/// A text with the byte offsets at which its lines start.
pub struct Lines<'t> {
    text: &'t str,
    starts: Rc<[u32]>,
}

/// Returns the byte offset of the start of each line.
pub fn line_starts(text: &str) -> Rc<[u32]> {
    let breaks = text.bytes().zip(1..).filter(|(byte, _)| *byte == b'\n').map(|(_, next)| next);
    std::iter::once(0).chain(breaks).collect()
}

impl<'t> Lines<'t> {
    pub fn new(text: &'t str) -> Lines<'t> {
        Lines::with_starts(text, line_starts(text))
    }

    /// Creates a view of a text whose line starts, as returned by `line_starts`, are already known.
    pub fn with_starts(text: &'t str, starts: Rc<[u32]>) -> Lines<'t> {
        Lines { text, starts }
    }

    /// Returns the text of a line, including its line break.
    fn line(&self, line: usize) -> &'t str {
        let start = self.starts.get(line).map_or(self.text.len(), |start| *start as usize);
        let end = self.starts.get(line + 1).map_or(self.text.len(), |end| *end as usize);
        &self.text[start..end]
    }

    /// Returns the byte offset of a position.
    pub fn offset(&self, position: Position) -> u32 {
        let Some(start) = self.starts.get(position.line as usize) else { return self.text.len() as u32 };
        let line = self.line(position.line as usize).trim_end_matches(['\n', '\r']);
        let mut utf16_units = 0;
        for (char_offset, c) in line.char_indices() {
            if utf16_units + c.len_utf16() as u32 > position.character {
                return start + char_offset as u32;
            }
            utf16_units += c.len_utf16() as u32;
        }
        start + line.len() as u32
    }

    /// Returns the position of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let line_text = self.line(line);
        let offset_in_line = (offset - self.starts[line]) as usize;
        let chars_before =
            line_text.char_indices().take_while(|(char_offset, _)| *char_offset < offset_in_line);
        Position { line: line as u32, character: chars_before.map(|(_, c)| c.len_utf16() as u32).sum() }
    }

    pub fn range(&self, bytes: ops::Range<usize>) -> Range {
        Range { start: self.position(bytes.start as u32), end: self.position(bytes.end as u32) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_units_of_16_bits() {
        let lines = Lines::new("a\u{1F600}文\r\nb\n");
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
        // Inside a character, past the end of a line, past the end of the text.
        assert_eq!(lines.offset(make_position(0, 2)), 1);
        assert_eq!(lines.offset(make_position(0, 99)), 8);
        assert_eq!(lines.offset(make_position(9, 9)), 12);
    }
}
