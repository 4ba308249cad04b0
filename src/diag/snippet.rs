//! The lines of a source file that a report shows, made fit for a terminal: control characters
//! pictured, long lines cut to what surrounds the labels, and each label within one line. So a report
//! costs what it shows, not what the file holds.

use super::Label;
use crate::source::SourceFile;
use std::collections::BTreeMap;

/// Bytes of a line shown before and after a label; of a line without a label twice as many.
const AROUND: usize = 100;

/// Bytes of a label that are shown.
const LABEL: usize = 120;

/// Characters of a message that are shown.
const MESSAGE: usize = 2_000;

/// A shown line.
#[derive(Debug)]
pub(super) struct Line {
    /// Its number in the file, from 1.
    pub(super) number: usize,
    pub(super) text: String,
    /// Label → its bytes in `text`.
    pub(super) labels: Vec<(usize, std::ops::Range<usize>)>,
}

/// A label within its line of the file.
struct Mark {
    index: usize,
    start: usize,
    end: usize,
}

/// The lines around the labels of one file.
pub(super) fn lines(file: &SourceFile, labels: &[&Label]) -> Vec<Line> {
    let mut shown: BTreeMap<usize, Vec<Mark>> = BTreeMap::new();
    for (index, label) in labels.iter().enumerate() {
        let offset = visible(file, label.span.start);
        let position = file.position(offset);
        let (line_start, line) = line_at(file, position.line);
        let line_end = line_start + line.len();
        let start = (offset as usize).clamp(line_start, line_end);
        let end = (label.span.end as usize).clamp(start, line_end);
        for near in [position.line - 1, position.line, position.line + 1] {
            if (1..=file.line_count()).contains(&near) || near == position.line {
                shown.entry(near).or_default();
            }
        }
        shown.entry(position.line).or_default().push(Mark {
            index,
            start: start - line_start,
            end: end - line_start,
        });
    }
    let mut spans = vec![(0, 0); labels.len()];
    let shown = shown.into_iter().map(|(number, marks)| {
        let mut text = String::new();
        copy(line_at(file, number).1, &marks, &mut text, &mut spans);
        let labels =
            marks.iter().map(|mark| (mark.index, spans[mark.index].0..spans[mark.index].1)).collect();
        Line { number, text, labels }
    });
    shown.collect()
}

/// The offset at which one is shown: an error at the end of a file stands behind its last character,
/// not on the empty line below it.
pub fn visible(file: &SourceFile, offset: u32) -> u32 {
    match file.text.ends_with('\n') && offset as usize >= file.text.len() {
        true => file.text.trim_end_matches(['\n', '\r']).len() as u32,
        false => offset,
    }
}

/// A line's text without its break and byte order mark, and where it starts in the file.
fn line_at(file: &SourceFile, number: usize) -> (usize, &str) {
    let line = file.line(number);
    // Both point into the same text; an empty line beyond the last one starts at its end.
    let start = (line.as_ptr() as usize).wrapping_sub(file.text.as_ptr() as usize);
    if start <= file.text.len() { (start, line) } else { (file.text.len(), "") }
}

/// Copies a line, cut to what surrounds its marks, and notes where these come to stand.
fn copy(line: &str, marks: &[Mark], out: &mut String, spans: &mut [(usize, usize)]) {
    let mut windows: Vec<(usize, usize)> = Vec::new();
    if line.len() <= 2 * AROUND + LABEL {
        windows.push((0, line.len()));
    } else if marks.is_empty() {
        windows.push((0, floor(line, 2 * AROUND)));
    } else {
        let mut sorted: Vec<&Mark> = marks.iter().collect();
        sorted.sort_by_key(|mark| mark.start);
        for mark in sorted {
            let start = floor(line, mark.start.saturating_sub(AROUND));
            let end = floor(line, mark.end.min(mark.start + LABEL) + AROUND);
            match windows.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => windows.push((start, end)),
            }
        }
    }
    let mut shown_to = 0;
    for &(from, to) in &windows {
        if from > shown_to {
            out.push('…');
        }
        for (offset, c) in line[from..to].char_indices().map(|(offset, c)| (from + offset, c)) {
            place(marks, offset, out.len(), spans);
            out.push(picture(c));
        }
        shown_to = to;
        place(marks, to, out.len(), spans);
    }
    if shown_to < line.len() {
        out.push('…');
    }
    for mark in marks {
        // A label that was cut, or ends inside a character, ends where its text does.
        let span = &mut spans[mark.index];
        span.1 = span.1.max(span.0);
        if mark.end - mark.start > LABEL && line.len() > 2 * AROUND + LABEL {
            let end = floor(&out[span.0..], LABEL);
            span.1 = span.0 + end;
        }
    }
}

/// Notes the place of marks that start or end at an offset of the line.
fn place(marks: &[Mark], offset: usize, at: usize, spans: &mut [(usize, usize)]) {
    for mark in marks {
        if mark.start == offset {
            spans[mark.index].0 = at;
        }
        if mark.end == offset {
            spans[mark.index].1 = at;
        }
    }
}

/// The start of the character at an offset, or the end.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// A character as it may be printed: what would move the cursor or turn the text around is pictured.
fn picture(c: char) -> char {
    match c {
        '\t' => '\t',
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '␡',
        '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' => '\u{fffd}',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' => '\u{fffd}',
        c => c,
    }
}

/// A message as it may be printed: it quotes the author's text.
pub(super) fn printable(text: &str) -> String {
    let mut out: String =
        text.chars().take(MESSAGE).map(|c| if c == '\n' { c } else { picture(c) }).collect();
    if text.chars().nth(MESSAGE).is_some() {
        out.push('…');
    }
    out
}
