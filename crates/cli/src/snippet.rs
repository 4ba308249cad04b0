//! The lines of a source file that a report shows, made fit for a terminal before miette draws
//! them: control characters pictured, long lines cut to what surrounds the labels, and each label
//! within one line. So a report costs what it shows, not what the file holds.

use miette::{LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use rulec::Label;
use rulec::SourceFile;
use std::collections::BTreeMap;

/// Bytes of a line shown before and after a label; of a line without a label twice as many.
const AROUND: usize = 100;

/// Bytes of a label that are shown.
const LABEL: usize = 120;

/// Characters of a message that are shown.
const MESSAGE: usize = 2_000;

/// An excerpt of a file, with its labels.
#[derive(Debug)]
pub struct Snippet {
    name: String,
    /// The shown lines, each with a line feed.
    text: String,
    lines: Vec<Line>,
    labels: Vec<LabeledSpan>,
    /// The column of each label in the file; lines of the excerpt may be cut.
    columns: Vec<usize>,
}

/// A shown line.
#[derive(Debug)]
struct Line {
    /// Its number in the file, from 1.
    number: usize,
    /// Where it starts in the excerpt.
    start: usize,
}

/// A label within its line of the file.
struct Mark {
    index: usize,
    start: usize,
    end: usize,
}

impl Snippet {
    /// The lines around the labels of one file, the first of which is the primary one.
    pub fn new(name: String, file: &SourceFile, labels: &[&Label]) -> Self {
        let mut shown: BTreeMap<usize, Vec<Mark>> = BTreeMap::new();
        let mut columns = Vec::new();
        for (index, label) in labels.iter().enumerate() {
            let offset = visible(file, label.span.start);
            let position = file.position(offset);
            columns.push(position.column);
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
        let mut snippet =
            Snippet { name, text: String::new(), lines: Vec::new(), labels: Vec::new(), columns };
        let mut spans = vec![(0, 0); labels.len()];
        for (number, marks) in shown {
            let start = snippet.text.len();
            snippet.lines.push(Line { number, start });
            let (_, line) = line_at(file, number);
            copy(line, &marks, &mut snippet.text, &mut spans);
            snippet.text.push('\n');
        }
        for (index, (label, (start, end))) in labels.iter().zip(spans).enumerate() {
            let text = (!label.text.is_empty()).then(|| printable(&label.text));
            let span = SourceSpan::from((start, end - start));
            snippet.labels.push(match index {
                0 => LabeledSpan::new_primary_with_span(text, span),
                _ => LabeledSpan::new_with_span(text, span),
            });
        }
        snippet
    }

    /// The labels, placed in the excerpt.
    pub fn labels(&self) -> impl Iterator<Item = LabeledSpan> + '_ {
        self.labels.iter().cloned()
    }

    /// The shown line at an offset of the excerpt.
    fn line_of(&self, offset: usize) -> usize {
        self.lines.partition_point(|line| line.start <= offset).saturating_sub(1)
    }

    fn adjacent(&self, left: usize, right: usize) -> bool {
        match (self.lines.get(left), self.lines.get(right)) {
            (Some(left), Some(right)) => left.number + 1 == right.number,
            _ => false,
        }
    }
}

impl SourceCode for Snippet {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        if span.offset() + span.len() > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let mut first = self.line_of(span.offset());
        let mut last = self.line_of(span.offset() + span.len());
        for _ in 0..before {
            if first > 0 && self.adjacent(first - 1, first) {
                first -= 1;
            }
        }
        for _ in 0..after {
            if self.adjacent(last, last + 1) {
                last += 1;
            }
        }
        let start = self.lines[first].start;
        let end = self.lines.get(last + 1).map_or(self.text.len(), |next| next.start);
        // Without context miette asks for the place that it names in the heading.
        let label = self.labels.iter().position(|label| label.offset() == span.offset());
        let column = label.filter(|_| before == 0).map_or(0, |label| self.columns[label] - 1);
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            &self.text.as_bytes()[start..end],
            SourceSpan::from((start, end - start)),
            self.lines[first].number - 1,
            column,
            last + 1 - first,
        )))
    }
}

/// Where an offset is shown: what is wrong with the end of a file stands behind its last character,
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
pub fn printable(text: &str) -> String {
    let mut out: String =
        text.chars().take(MESSAGE).map(|c| if c == '\n' { c } else { picture(c) }).collect();
    if text.chars().nth(MESSAGE).is_some() {
        out.push('…');
    }
    out
}
