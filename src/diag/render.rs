//! Diagnostics as text for people: the message, the author's lines with the places underlined, the remedy.
//! A service shows it as it is; the command line adds colour and the names of files as its user writes them.

use super::snippet::{self, Line, printable};
use super::{Diagnostic, Label, Severity};
use crate::source::SourceMap;
use crate::span::FileId;
use crate::text::width;
use std::fmt::Write;

/// The columns between two stops of a tab.
const TAB: usize = 4;

/// The settings by which diagnostics are rendered.
pub struct Renderer<'a> {
    /// The texts they point into.
    pub sources: &'a SourceMap,
    /// With the colours of a terminal.
    pub color: bool,
    /// A file's name as it is shown.
    pub name: &'a dyn Fn(FileId) -> String,
}

/// The colours of a terminal.
const RED: &str = "1;31";
const YELLOW: &str = "1;33";
const CYAN: &str = "36";
const DIM: &str = "2";

impl Renderer<'_> {
    /// Renders a diagnostic, each line ended.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let first = diagnostic.span().map(|span| span.file);
        let (here, elsewhere): (Vec<&Label>, Vec<&Label>) =
            diagnostic.labels.iter().partition(|label| Some(label.span.file) == first);
        let (sign, color) = match diagnostic.severity() {
            Severity::Error => ("×", RED),
            Severity::Warning => ("⚠", YELLOW),
        };
        let mut out = self.paint(color, diagnostic.code.as_str()) + "\n\n";
        self.headline(&mut out, sign, color, &diagnostic.message);
        self.snippet(&mut out, &here, color);
        if let Some(help) = &diagnostic.help {
            let help = printable(help).replace('\n', "\n        ");
            let _ = writeln!(out, "{} {help}", self.paint(CYAN, "  help:"));
        }
        // A snippet shows one file; further places in other files follow it.
        for label in elsewhere {
            out.push('\n');
            let text = if label.text.is_empty() { "this has to do with it" } else { &label.text };
            self.headline(&mut out, "☞", CYAN, text);
            self.snippet(&mut out, &[&Label { span: label.span, text: String::new() }], CYAN);
        }
        out
    }

    fn headline(&self, out: &mut String, sign: &str, color: &str, message: &str) {
        let message = printable(message).replace('\n', "\n    ");
        let _ = writeln!(out, "  {} {message}", self.paint(color, sign));
    }

    /// Draws the lines around labels of one file, of which the first is the primary one.
    fn snippet(&self, out: &mut String, labels: &[&Label], color: &str) {
        let Some(primary) = labels.first() else { return };
        let Some(file) = self.sources.get(primary.span.file) else { return };
        let lines = snippet::lines(file, labels);
        let digits = lines.last().map_or(1, |line| line.number.to_string().len());
        let place = file.position(snippet::visible(file, primary.span.start));
        let name = printable(&(self.name)(primary.span.file));
        let _ = writeln!(out, " {:digits$} ╭─[{name}:{}:{}]", "", place.line, place.column);
        let mut last = None;
        for line in &lines {
            if last.is_some_and(|last| last + 1 < line.number) {
                let _ = writeln!(out, " {:digits$} ·", "");
            }
            last = Some(line.number);
            let number = self.paint(DIM, &format!("{:digits$}", line.number));
            let text = line_text(&line.text);
            let _ = writeln!(out, "{}", format!(" {number} │ {text}").trim_end());
            for row in self.underlines(line, labels, color) {
                let _ = writeln!(out, " {:digits$} · {}", "", row.trim_end());
            }
        }
        let _ = writeln!(out, " {:digits$} ╰────", "");
    }

    /// The rows below a line: its labels underlined, and what they say. Labels that overlap have rows of
    /// their own.
    fn underlines(&self, line: &Line, labels: &[&Label], color: &str) -> Vec<String> {
        let mut marks: Vec<Underline<'_>> = line
            .labels
            .iter()
            .map(|(index, range)| Underline {
                start: columns(&line.text[..range.start]),
                end: columns(&line.text[..range.end]),
                text: &labels[*index].text,
                color: if *index == 0 { color } else { CYAN },
            })
            .collect();
        marks.sort_by_key(|mark| mark.start);
        let mut rows = Vec::new();
        while !marks.is_empty() {
            let mut free = 0;
            let (row, rest): (Vec<_>, Vec<_>) = marks.into_iter().partition(|mark| {
                let fits = mark.start >= free;
                if fits {
                    free = mark.end.max(mark.start + 1);
                }
                fits
            });
            self.row(&row, &mut rows);
            marks = rest;
        }
        rows
    }

    /// Underlines that lie beside each other, and below them their texts, the last one first.
    fn row(&self, marks: &[Underline<'_>], rows: &mut Vec<String>) {
        let parts = marks.iter().map(|mark| (mark.start, mark.color, mark.line()));
        rows.push(self.line_of(parts));
        let told: Vec<&Underline<'_>> = marks.iter().filter(|mark| !mark.text.is_empty()).collect();
        for (at, mark) in told.iter().enumerate().rev() {
            let before = told[..at].iter().map(|mark| (mark.middle(), mark.color, "│".to_owned()));
            let text = printable(mark.text).replace('\n', " ");
            let this = (mark.middle(), mark.color, format!("╰── {text}"));
            rows.push(self.line_of(before.chain([this])));
        }
    }

    /// Texts at their columns.
    fn line_of<'s>(&self, parts: impl Iterator<Item = (usize, &'s str, String)>) -> String {
        let (mut out, mut column) = (String::new(), 0);
        for (start, color, text) in parts {
            let _ = write!(out, "{:1$}", "", start - column);
            column = start + width(&text);
            out.push_str(&self.paint(color, &text));
        }
        out
    }

    fn paint(&self, color: &str, text: &str) -> String {
        if self.color { format!("\x1b[{color}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A label below its line, in columns.
struct Underline<'a> {
    start: usize,
    end: usize,
    text: &'a str,
    color: &'a str,
}

impl Underline<'_> {
    fn width(&self) -> usize {
        (self.end - self.start).max(1)
    }

    /// The column that its text hangs from.
    fn middle(&self) -> usize {
        self.start + self.width() / 2
    }

    fn line(&self) -> String {
        let mut line = vec!["─"; self.width()];
        if !self.text.is_empty() {
            line[self.width() / 2] = "┬";
        }
        line.concat()
    }
}

/// A line with its tabs as spaces.
fn line_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for c in text.chars() {
        let wide = if c == '\t' { TAB - column % TAB } else { width(c.encode_utf8(&mut [0; 4])) };
        match c {
            '\t' => out.extend(std::iter::repeat_n(' ', wide)),
            c => out.push(c),
        }
        column += wide;
    }
    out
}

/// The columns a text takes from the beginning of a line.
fn columns(text: &str) -> usize {
    width(&line_text(text))
}
