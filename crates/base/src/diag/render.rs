//! Renders diagnostics as text, drawn by miette: the message, the source lines with underlined
//! spans, and the remedy. miette receives only *windows* of the files: a few lines around each
//! label, with control characters replaced. The cost of a report therefore depends on the
//! output, not on the file size.

use super::{Diagnostic, Label, Language, Severity};
use crate::message;
use crate::source::{Position, SourceFile, SourceMap, floor_char_boundary};
use crate::span::{FileId, Span};
use crate::text::{to_one_line, to_printable};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents};
use miette::{SourceCode, SourceSpan, SpanContents};
use std::fmt::Display;

/// Number of bytes that a report shows before and after a label. The rest of a long line is left
/// out.
const CONTEXT_BYTES: usize = 100;

/// Maximum number of bytes of a labelled text that a report shows. The rest is left out.
const MAX_LABEL_BYTES: usize = 120;

/// Maximum length in bytes of a line that is shown completely.
const MAX_LINE_BYTES: usize = 2 * CONTEXT_BYTES + MAX_LABEL_BYTES;

/// Maximum length of a line break in bytes (`\r\n`).
const MAX_LINE_BREAK_BYTES: u32 = 2;

/// Maximum number of bytes of a diagnostic's message that a report shows. A message can be long,
/// because it may quote source text.
const MAX_MESSAGE_BYTES: usize = 2_000;

/// Renders diagnostics as text for people, with the settings in its fields.
pub struct Renderer<'a> {
    /// The source files from which a rendered diagnostic quotes lines.
    pub sources: &'a SourceMap,
    /// Whether rendered diagnostics have terminal colours.
    pub color: bool,
    /// The language in which diagnostics are rendered.
    pub language: Language,
    /// A function that returns the name to display for a file.
    pub name: &'a dyn Fn(FileId) -> String,
}

impl Renderer<'_> {
    /// Renders a diagnostic. Every line ends with a line feed.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let theme = if self.color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let (style, localized) = (theme.styles.help, diagnostic.localized(self.language));
        // miette writes the English word "help" before the remedy. For other languages, this
        // function prints the remedy.
        let prints_help = self.language != Language::English;
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_wrap_lines(false)
            .without_syntax_highlighting();
        let remedy = localized.help.as_ref().filter(|_| prints_help).map(|help| printable_message(help));
        let shown_diagnostic =
            Diagnostic { help: localized.help.clone().filter(|_| !prints_help), ..localized };
        let report = self.to_miette_report(&shown_diagnostic);
        let mut out = String::new();
        if handler.render_report(&mut out, &report).is_err() {
            // Rendering fails only for a label outside every window (shown lines). Then only the
            // code and the message are shown.
            return format!("{}\n\n  {}\n", diagnostic.code, report.message);
        }
        if let Some(remedy) = remedy {
            let help_word = message!("help:");
            let help_word = help_word.localized(self.language);
            out.push_str(&format!("  {}{}\n", style.style(help_word), remedy.replace('\n', "\n        ")));
        }
        out
    }

    fn to_miette_report<'d>(&self, diagnostic: &'d Diagnostic) -> MietteReport<'d> {
        let with_file = |label: &'d Label| Some((label, self.sources.get(label.span.file)?));
        let labels: Vec<(&Label, &SourceFile)> = diagnostic.labels.iter().filter_map(with_file).collect();
        let mut spans: Vec<Span> =
            labels.iter().map(|(label, file)| context_span(file, label.span)).collect();
        let primary = spans.first().copied();
        spans.sort();
        spans.dedup_by(|right, left| {
            let touches = right.file == left.file && right.start <= left.end + MAX_LINE_BREAK_BYTES;
            *left = if touches { left.to(*right) } else { *left };
            touches
        });
        // miette draws the windows in this order. The window of the primary span comes first.
        spans.sort_by_key(|span| !primary.is_some_and(|primary| span_covers(*span, primary)));
        let message = printable_message(&diagnostic.message);
        let mut report = MietteReport {
            diagnostic,
            message,
            windows: Vec::new(),
            labels: Vec::new(),
            positions: Vec::new(),
        };
        let mut start = 0;
        for span in spans {
            let name = to_one_line(&(self.name)(span.file)).into_owned();
            let window = SourceWindow::new(name, self.sources.file(span.file), span, start);
            start += window.text.len();
            report.windows.push(window);
        }
        for (index, (label, file)) in labels.into_iter().enumerate() {
            let underlined = underlined_span(file, label.span);
            let window = report.windows.iter().find(|window| span_covers(window.span, underlined));
            let Some(window) = window else {
                crate::broken_invariant!("every label lies in a window");
                continue;
            };
            let report_range = window.to_report_offset(file, underlined.start)
                ..window.to_report_offset(file, underlined.end);
            let text = (!label.text.is_empty()).then(|| printable_message(&label.text));
            report.positions.push(file.position(visible_offset(file, label.span.start)));
            report.labels.push(match index {
                0 => LabeledSpan::new_primary_with_span(text, report_range),
                _ => LabeledSpan::new_with_span(text, report_range),
            });
        }
        report
    }
}

/// A diagnostic in the form that miette takes. To miette, its source code is the concatenation of
/// all windows (the lines of files that the report shows).
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct MietteReport<'a> {
    diagnostic: &'a Diagnostic,
    message: String,
    windows: Vec<SourceWindow>,
    labels: Vec<LabeledSpan>,
    /// The position of each label (underlined span) of the diagnostic, as the line and column in
    /// the source file.
    positions: Vec<Position>,
}

impl miette::Diagnostic for MietteReport<'_> {
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
        self.diagnostic.help.as_ref().map(|help| Box::new(printable_message(help)) as Box<dyn Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty())
            .then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = _>>)
    }
}

impl SourceCode for MietteReport<'_> {
    /// Returns the window (the shown lines of a file) that contains `span`, with the position at
    /// which it starts in the file. Returns an error if `span` extends over two windows; miette
    /// then draws the labels of each window separately.
    ///
    /// The position is usually the start of the window's first line. If `span` is the span of a
    /// label and `lines_before` is zero, the position is the start of the label: miette shows it in
    /// the heading of the report.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let end = span.offset() + span.len();
        let contains_span = |window: &&SourceWindow| {
            window.report_offset <= span.offset() && end < window.report_offset + window.text.len()
        };
        let window = self.windows.iter().find(contains_span).ok_or(MietteError::OutOfBounds)?;
        // Without context lines, miette queries the position that it shows in the heading.
        let label = self.labels.iter().position(|label| lines_before == 0 && label.inner() == span);
        let position =
            label.map_or(Position { line: window.first_line, column: 1 }, |label| self.positions[label]);
        Ok(Box::new(MietteSpanContents::new_named(
            window.file_name.clone(),
            window.text.as_bytes(),
            SourceSpan::from(window.report_offset..window.report_offset + window.text.len()),
            position.line - 1,
            position.column - 1,
            window.text.lines().count(),
        )))
    }
}

/// A window: some lines of a source file, or a section of a long line, that a report shows around a
/// label.
#[derive(Debug)]
struct SourceWindow {
    file_name: String,
    span: Span,
    /// Number of the first line of the window (the shown lines). Lines of the file count from 1.
    first_line: usize,
    /// Byte offset at which this window (the shown lines) starts in the report's text, which joins
    /// all windows.
    report_offset: usize,
    /// The text of the window (the shown lines) as it is drawn: control characters are replaced.
    /// Ends with a line feed.
    text: String,
}

impl SourceWindow {
    fn new(name: String, file: &SourceFile, span: Span, start: usize) -> Self {
        let first_line = file.position(span.start).line;
        let mut window =
            SourceWindow { file_name: name, span, first_line, report_offset: start, text: String::new() };
        window.text = window.text_until(file, span.end);
        let rest = file.text.get(span.end as usize..).unwrap_or_default();
        let at_line_end = rest.is_empty() || rest.starts_with(['\r', '\n']);
        window.text.push_str(if at_line_end { "\n" } else { "…\n" });
        window
    }

    /// Returns the drawn text of the window (the shown lines) from its start to `end`, a byte
    /// offset in the file.
    fn text_until(&self, file: &SourceFile, end: u32) -> String {
        let preceding = file.text.get(..self.span.start as usize).unwrap_or_default();
        let at_line_start = preceding.is_empty() || preceding.ends_with(['\n', '\u{feff}']);
        let text = file.text.get(self.span.start as usize..end as usize).unwrap_or_default();
        format!("{}{}", if at_line_start { "" } else { "…" }, to_printable(&text.replace("\r\n", "\n")))
    }

    /// Converts a byte offset in the file to a byte offset in the report's text, which joins all
    /// windows (the shown lines of files). The file offset must lie in this window.
    fn to_report_offset(&self, file: &SourceFile, offset: u32) -> usize {
        self.report_offset + self.text_until(file, offset).len()
    }
}

fn span_covers(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
}

/// Returns the span of a file to show around a label. The span covers the line of the label and its
/// neighbours, or only a section of a long line.
fn context_span(file: &SourceFile, span: Span) -> Span {
    let label = underlined_span(file, span);
    let line_number = file.position(label.start).line;
    let line = file.line_range(line_number);
    let (start, end) = if line.len() > MAX_LINE_BYTES {
        let start = floor_char_boundary(&file.text, label.range().start.saturating_sub(CONTEXT_BYTES));
        let end = floor_char_boundary(&file.text, label.range().end + CONTEXT_BYTES);
        (start.max(line.start), end.min(line.end))
    } else {
        let neighbour = |line_number| {
            let line = file.line_range(line_number);
            ((1..=file.line_count()).contains(&line_number) && line.len() <= MAX_LINE_BYTES).then_some(line)
        };
        let (line_before, line_after) = (neighbour(line_number - 1), neighbour(line_number + 1));
        (line_before.map_or(line.start, |line| line.start), line_after.map_or(line.end, |line| line.end))
    };
    Span::new(span.file, start, end)
}

/// Shortens the span of a label to the bytes that are underlined: within one line, and at most
/// [`MAX_LABEL_BYTES`].
fn underlined_span(file: &SourceFile, span: Span) -> Span {
    if file.is_stripped() {
        return span;
    }
    let start = visible_offset(file, span.start);
    let line = file.line_range(file.position(start).line);
    let start = (start as usize).clamp(line.start, line.end);
    let end = (span.end as usize).min(start + MAX_LABEL_BYTES).clamp(start, line.end);
    Span::new(span.file, start, floor_char_boundary(&file.text, end))
}

/// Returns the byte offset in the file at which a diagnostic for `offset` is shown. This is
/// `offset` itself, except at the end of a file that ends with a line break. The diagnostic is then
/// shown after the last character, not on the empty line that follows.
pub fn visible_offset(file: &SourceFile, offset: u32) -> u32 {
    match file.text.ends_with('\n') && offset as usize >= file.text.len() {
        true => file.text.trim_end_matches(['\n', '\r']).len() as u32,
        false => offset,
    }
}

/// Prepares the message or help text of a diagnostic for printing. Long text is truncated, and
/// control characters from quoted source text are replaced.
fn printable_message(text: &str) -> String {
    let end = floor_char_boundary(text, MAX_MESSAGE_BYTES);
    let ellipsis = if end < text.len() { "…" } else { "" };
    to_printable(&text[..end]).into_owned() + ellipsis
}
