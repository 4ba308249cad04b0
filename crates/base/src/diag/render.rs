//! Diagnostics as text for people, drawn by miette: the message, the author's lines with the places
//! underlined, the remedy. miette sees only *windows* of the files: a few lines around the labels, made
//! fit for a terminal. So a report costs what it shows, not what the files hold.

use super::{Diagnostic, Label, Language, Severity};
use crate::message;
use crate::source::{Position, SourceFile, SourceMap, floor};
use crate::span::{FileId, Span};
use crate::text::{on_one_line, printable};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents};
use miette::{SourceCode, SourceSpan, SpanContents};
use std::fmt::Display;

/// Bytes of a long line shown before and after a label.
const AROUND: usize = 100;

/// Bytes of a label that are shown.
const LABEL: usize = 120;

/// Bytes of a line that is shown whole.
const LINE: usize = 2 * AROUND + LABEL;

/// Bytes that a line break has at most.
const BREAK: u32 = 2;

/// Bytes of a message that are shown.
const MESSAGE: usize = 2_000;

/// The settings by which diagnostics are rendered.
pub struct Renderer<'a> {
    /// The texts they point into.
    pub sources: &'a SourceMap,
    /// With the colours of a terminal.
    pub color: bool,
    /// The language to tell them in.
    pub language: Language,
    /// A file's name as it is shown.
    pub name: &'a dyn Fn(FileId) -> String,
}

impl Renderer<'_> {
    /// Renders a diagnostic, each line ended.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let theme = if self.color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let (style, told) = (theme.styles.help, diagnostic.told_in(self.language));
        // miette has but an English word before the remedy.
        let own_help = self.language != Language::English;
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_wrap_lines(false)
            .without_syntax_highlighting();
        let remedy = told.help.as_ref().filter(|_| own_help).map(|help| words(help));
        let shown = Diagnostic { help: told.help.clone().filter(|_| !own_help), ..told };
        let report = self.report(&shown);
        let mut out = String::new();
        if handler.render_report(&mut out, &report).is_err() {
            // Only a label that lies in no window could fail, and then the message is left.
            return format!("{}\n\n  {}\n", diagnostic.code, report.message);
        }
        if let Some(remedy) = remedy {
            let word = message!("help:");
            let word = word.told_in(self.language);
            out.push_str(&format!("  {}{}\n", style.style(word), remedy.replace('\n', "\n        ")));
        }
        out
    }

    fn report<'d>(&self, diagnostic: &'d Diagnostic) -> Report<'d> {
        let known = |label: &'d Label| Some((label, self.sources.get(label.span.file)?));
        let labels: Vec<(&Label, &SourceFile)> = diagnostic.labels.iter().filter_map(known).collect();
        let mut spans: Vec<Span> = labels.iter().map(|(label, file)| around(file, label.span)).collect();
        let primary = spans.first().copied();
        spans.sort();
        spans.dedup_by(|right, left| {
            let touches = right.file == left.file && right.start <= left.end + BREAK;
            *left = if touches { left.to(*right) } else { *left };
            touches
        });
        // miette draws windows in the order of their offsets: that of the primary place comes first.
        spans.sort_by_key(|span| !primary.is_some_and(|primary| covers(*span, primary)));
        let message = words(&diagnostic.message);
        let mut report =
            Report { diagnostic, message, windows: Vec::new(), labels: Vec::new(), positions: Vec::new() };
        let mut start = 0;
        for span in spans {
            let name = on_one_line(&(self.name)(span.file)).into_owned();
            let window = Window::new(name, self.sources.file(span.file), span, start);
            start += window.text.len();
            report.windows.push(window);
        }
        for (index, (label, file)) in labels.into_iter().enumerate() {
            let shown = underlined(file, label.span);
            let window = report.windows.iter().find(|window| covers(window.span, shown));
            let Some(window) = window else { continue };
            let place = window.offset(file, shown.start)..window.offset(file, shown.end);
            let text = (!label.text.is_empty()).then(|| words(&label.text));
            report.positions.push(file.position(visible(file, label.span.start)));
            report.labels.push(match index {
                0 => LabeledSpan::new_primary_with_span(text, place),
                _ => LabeledSpan::new_with_span(text, place),
            });
        }
        report
    }
}

/// A diagnostic as miette takes it. The windows, one after another, are its source code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Report<'a> {
    diagnostic: &'a Diagnostic,
    message: String,
    windows: Vec<Window>,
    labels: Vec<LabeledSpan>,
    /// The place of each label in its file.
    positions: Vec<Position>,
}

impl miette::Diagnostic for Report<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(self.diagnostic.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity() {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        self.diagnostic.help.as_ref().map(|help| Box::new(words(help)) as Box<dyn Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty())
            .then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = _>>)
    }
}

impl SourceCode for Report<'_> {
    /// The window that holds a place; labels of two windows are refused, and so drawn one after another.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let end = span.offset() + span.len();
        let holds =
            |window: &&Window| window.start <= span.offset() && end < window.start + window.text.len();
        let window = self.windows.iter().find(holds).ok_or(MietteError::OutOfBounds)?;
        // Without context miette asks for the place that it names in the heading.
        let label = self.labels.iter().position(|label| lines_before == 0 && label.inner() == span);
        let place = label.map_or(Position { line: window.line, column: 1 }, |label| self.positions[label]);
        Ok(Box::new(MietteSpanContents::new_named(
            window.name.clone(),
            window.text.as_bytes(),
            SourceSpan::from(window.start..window.start + window.text.len()),
            place.line - 1,
            place.column - 1,
            window.text.lines().count(),
        )))
    }
}

/// A piece of a file that is shown.
#[derive(Debug)]
struct Window {
    name: String,
    span: Span,
    /// The number of its first line.
    line: usize,
    /// Its offset in the windows joined together.
    start: usize,
    /// The text as it is drawn; it ends with a line feed.
    text: String,
}

impl Window {
    fn new(name: String, file: &SourceFile, span: Span, start: usize) -> Self {
        let line = file.position(span.start).line;
        let mut window = Window { name, span, line, start, text: String::new() };
        window.text = window.drawn(file, span.end);
        let rest = file.text.get(span.end as usize..).unwrap_or_default();
        let ends = rest.is_empty() || rest.starts_with(['\r', '\n']);
        window.text.push_str(if ends { "\n" } else { "…\n" });
        window
    }

    /// The window's text up to an offset of the file, as it is drawn.
    fn drawn(&self, file: &SourceFile, end: u32) -> String {
        let before = file.text.get(..self.span.start as usize).unwrap_or_default();
        let begins = before.is_empty() || before.ends_with(['\n', '\u{feff}']);
        let text = file.text.get(self.span.start as usize..end as usize).unwrap_or_default();
        format!("{}{}", if begins { "" } else { "…" }, printable(&text.replace("\r\n", "\n")))
    }

    /// An offset of the file as one of all windows.
    fn offset(&self, file: &SourceFile, at: u32) -> usize {
        self.start + self.drawn(file, at).len()
    }
}

fn covers(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
}

/// The part of a file that is shown around a label: its line and the neighbours, or a piece of a long line.
fn around(file: &SourceFile, span: Span) -> Span {
    let label = underlined(file, span);
    let number = file.position(label.start).line;
    let line = file.line_range(number);
    let (start, end) = if line.len() > LINE {
        let start = floor(&file.text, label.range().start.saturating_sub(AROUND));
        let end = floor(&file.text, label.range().end + AROUND);
        (start.max(line.start), end.min(line.end))
    } else {
        let neighbour = |number| {
            let line = file.line_range(number);
            ((1..=file.line_count()).contains(&number) && line.len() <= LINE).then_some(line)
        };
        let (before, after) = (neighbour(number - 1), neighbour(number + 1));
        (before.map_or(line.start, |line| line.start), after.map_or(line.end, |line| line.end))
    };
    Span::new(span.file, start, end)
}

/// The part of a label that is underlined: within one line, and not too long.
fn underlined(file: &SourceFile, span: Span) -> Span {
    if file.is_stripped() {
        return span;
    }
    let start = visible(file, span.start);
    let line = file.line_range(file.position(start).line);
    let start = (start as usize).clamp(line.start, line.end);
    let end = (span.end as usize).min(start + LABEL).clamp(start, line.end);
    Span::new(span.file, start, floor(&file.text, end))
}

/// The offset at which one is shown: an error at the end of a file stands behind its last character,
/// not on the empty line below it.
pub fn visible(file: &SourceFile, offset: u32) -> u32 {
    match file.text.ends_with('\n') && offset as usize >= file.text.len() {
        true => file.text.trim_end_matches(['\n', '\r']).len() as u32,
        false => offset,
    }
}

/// A message as it is printed: it quotes the author's text.
fn words(text: &str) -> String {
    let end = floor(text, MESSAGE);
    let ellipsis = if end < text.len() { "…" } else { "" };
    printable(&text[..end]).into_owned() + ellipsis
}
