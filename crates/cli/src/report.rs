//! Diagnostics for people, for programs and for GitHub.

use super::files::Compiled;
use super::snippet::{Snippet, printable, visible};
use clap::ValueEnum;
use miette::{GraphicalReportHandler, GraphicalTheme};
use rulec::Span;
use rulec::{Applicability, Code, Diagnostic, Label, Severity};
use serde::Serialize;
use std::fmt;

/// How diagnostics are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// With the text underlined
    #[default]
    Human,
    /// One JSON object a line
    Json,
    /// Annotations for GitHub Actions
    Github,
}

/// A diagnostic with the files it points into.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    /// What was found.
    pub diagnostic: &'a Diagnostic,
    /// Where it was found.
    pub compiled: &'a Compiled,
}

/// A place as people count it: from 1, columns in characters, the end exclusive.
#[derive(Clone, Debug, Serialize, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file's name as the user would write it.
    pub file: String,
    /// `None` for a finding about a file as a whole.
    pub line: Option<usize>,
    /// The first character.
    pub column: Option<usize>,
    /// The line of the end.
    pub end_line: Option<usize>,
    /// The character after the last one.
    pub end_column: Option<usize>,
}

impl Found<'_> {
    /// The place of a span.
    pub fn place(&self, span: Span) -> Place {
        let Some(file) = self.compiled.sources().get(span.file) else { return self.whole_file() };
        let start = visible(file, span.start);
        let (start, end) = (file.position(start), file.position(visible(file, span.end).max(start)));
        Place {
            file: self.compiled.name(span.file),
            line: Some(start.line),
            column: Some(start.column),
            end_line: Some(end.line),
            end_column: Some(end.column),
        }
    }

    /// The primary place; a finding without one is about the compiled file.
    pub fn primary(&self) -> Place {
        self.diagnostic.span().map_or_else(|| self.whole_file(), |span| self.place(span))
    }

    fn whole_file(&self) -> Place {
        let file = self.compiled.target.path.display().to_string();
        Place { file, line: None, column: None, end_line: None, end_column: None }
    }
}

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    code: Code,
    severity: Severity,
    message: &'a str,
    #[serde(flatten)]
    place: Place,
    labels: Vec<JsonLabel<'a>>,
    help: Option<&'a str>,
    fixes: Vec<JsonFix<'a>>,
}

#[derive(Serialize)]
struct JsonLabel<'a> {
    #[serde(flatten)]
    place: Place,
    text: &'a str,
}

#[derive(Serialize)]
struct JsonFix<'a> {
    #[serde(flatten)]
    place: Place,
    replacement: &'a str,
    applicability: &'static str,
}

/// A finding as one line of JSON.
pub fn json(found: &Found<'_>) -> String {
    let diagnostic = found.diagnostic;
    let labels = diagnostic.labels.iter();
    let value = JsonDiagnostic {
        code: diagnostic.code,
        severity: diagnostic.severity(),
        message: &diagnostic.message,
        place: found.primary(),
        labels: labels.map(|label| JsonLabel { place: found.place(label.span), text: &label.text }).collect(),
        help: diagnostic.help.as_deref(),
        fixes: diagnostic
            .fixes
            .iter()
            .map(|fix| JsonFix {
                place: found.place(fix.span),
                replacement: &fix.replacement,
                applicability: match fix.applicability {
                    Applicability::MachineApplicable => "machine_applicable",
                    Applicability::MaybeIncorrect => "maybe_incorrect",
                },
            })
            .collect(),
    };
    // Strings, numbers and lists always serialize.
    serde_json::to_string(&value).unwrap_or_default()
}

/// A finding as an annotation for GitHub Actions.
pub fn github(found: &Found<'_>) -> String {
    let diagnostic = found.diagnostic;
    let level = match diagnostic.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = found.primary();
    let mut properties = format!("file={}", escape(&place.file, true));
    if let (Some(line), Some(column)) = (place.line, place.column) {
        properties.push_str(&format!(",line={line},col={column}"));
    }
    if let (Some(line), Some(column)) = (place.end_line, place.end_column) {
        properties.push_str(&format!(",endLine={line},endColumn={column}"));
    }
    let mut message = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    format!("::{level} {properties},title={}::{}", diagnostic.code, escape(&message, false))
}

/// Percent signs and line breaks end or garble a workflow command; in a property colons and commas
/// do as well.
fn escape(text: &str, property: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            ':' if property => out.push_str("%3A"),
            ',' if property => out.push_str("%2C"),
            c => out.push(c),
        }
    }
    out
}

/// A finding with the author's text underlined. Lines are wrapped only to a width.
pub fn human(found: &Found<'_>, color: bool, width: Option<usize>) -> String {
    let diagnostic = found.diagnostic;
    let (here, elsewhere): (Vec<&Label>, Vec<&Label>) = diagnostic
        .labels
        .iter()
        .partition(|label| Some(label.span.file) == diagnostic.span().map(|span| span.file));
    let severity = match diagnostic.severity() {
        Severity::Error => miette::Severity::Error,
        Severity::Warning => miette::Severity::Warning,
    };
    let mut out = String::new();
    let mut message = printable(&diagnostic.message);
    let path = found.compiled.target.path.display().to_string();
    if diagnostic.labels.is_empty() && !message.contains(&path) {
        message = format!("{message} (compiling `{path}`)");
    }
    let first = Report {
        code: Some(diagnostic.code),
        severity,
        message,
        help: diagnostic.help.as_deref().map(printable),
        snippet: snippet(found, &here),
    };
    first.render(color, width, &mut out);
    // One report shows one file; further places in other files follow it.
    for label in elsewhere {
        let text = if label.text.is_empty() { "this has to do with it" } else { label.text.as_str() };
        let message = printable(text);
        let snippet = snippet(found, &[&Label { span: label.span, text: String::new() }]);
        let report = Report { code: None, severity: miette::Severity::Advice, message, help: None, snippet };
        out.push('\n');
        report.render(color, width, &mut out);
    }
    out
}

fn snippet(found: &Found<'_>, labels: &[&Label]) -> Option<Snippet> {
    let file = labels.first()?.span.file;
    let source = found.compiled.sources().get(file)?;
    Some(Snippet::new(found.compiled.name(file), source, labels))
}

/// What miette draws.
struct Report {
    code: Option<Code>,
    severity: miette::Severity,
    message: String,
    help: Option<String>,
    snippet: Option<Snippet>,
}

impl Report {
    fn render(&self, color: bool, width: Option<usize>, out: &mut String) {
        let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_width(width.unwrap_or(usize::from(u16::MAX)))
            .with_wrap_lines(width.is_some())
            .with_break_words(false)
            .without_syntax_highlighting();
        let start = out.len();
        if handler.render_report(out, self).is_err() {
            out.truncate(start);
            out.push_str(&format!("  {}\n", self.message));
        }
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Report {}

impl miette::Diagnostic for Report {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.code.map(|code| Box::new(code) as Box<dyn fmt::Display>)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.snippet.as_ref().map(|snippet| snippet as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        self.snippet.as_ref().map(|snippet| Box::new(snippet.labels()) as Box<dyn Iterator<Item = _>>)
    }
}
