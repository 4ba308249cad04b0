//! Writes diagnostics in the formats of `rulec check`: for people, for programs and for CI. All
//! formats report the same locations.

pub mod junit;
mod sarif;

use super::compiled::CompileResult;
use super::term::Out;
use super::{CliError, language, usage};
use clap::ValueEnum;
use rulec::{Applicability, Code, Diagnostic, Finding, Renderer, Severity, Span};
use rulec_base::diag::visible_offset;
use rulec_base::message;
use serde::Serialize;
use serde_json::Value as Json;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FindingFormat {
    /// With the source text, underlined
    #[default]
    Human,
    /// One line per finding
    Concise,
    /// One JSON object per line
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations for GitHub Actions
    Github,
    /// XML, which most CI systems show as tests
    Junit,
}

/// Version of the JSON format of findings and of test results. The version is raised when a field
/// changes or is removed, but not when a field is added.
pub const JSON_FORMAT_VERSION: u32 = 1;

/// A diagnostic, localized for this run, with the compiled file that its spans refer to.
#[derive(Clone)]
pub struct ReportedDiagnostic<'a> {
    pub diagnostic: Cow<'a, Diagnostic>,
    /// The compiled file in which the diagnostic was found.
    pub compiled: &'a CompileResult,
    /// An example message that triggers the finding; `None` if the analysis found none.
    pub witness: Option<&'a Json>,
    /// True for a warning that fails the check, because the options or settings deny it.
    pub is_denied: bool,
}

/// A range in a source file, as reports show it. Lines and columns count from 1, columns in
/// characters; the end is exclusive.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file name as the user would write it.
    pub file: String,
    /// The number of the range's first line. For a finding about a whole file, this number and the
    /// three numbers after it are `None`.
    pub line: Option<usize>,
    pub column: Option<usize>,
    pub end_line: Option<usize>,
    pub end_column: Option<usize>,
}

pub fn compile_diagnostics(compiled: &CompileResult) -> impl Iterator<Item = ReportedDiagnostic<'_>> {
    compiled.diagnostics().iter().map(move |diagnostic| ReportedDiagnostic {
        diagnostic: match help_for_json(diagnostic, compiled) {
            Some(helped) => Cow::Owned(language::localized_diagnostic(&helped).into_owned()),
            None => language::localized_diagnostic(diagnostic),
        },
        compiled,
        witness: None,
        is_denied: false,
    })
}

/// If the diagnostic says that the file contains JSON instead of rules, returns the diagnostic with
/// a help text that suggests a correct command. `None` for other diagnostics, and if the JSON is in
/// an imported file.
fn help_for_json(diagnostic: &Diagnostic, compiled: &CompileResult) -> Option<Diagnostic> {
    let is_json = diagnostic.code == Code::JsonFile;
    let (file, _) = compiled.sources().iter().next().filter(|_| is_json)?;
    let is_main = diagnostic.span().is_some_and(|span| span.file == file);
    let help = usage::messages_as_rules_tip(&compiled.target.path).filter(|_| is_main)?;
    Some(Diagnostic { help: Some(help), ..diagnostic.clone() })
}

/// Returns the diagnostics of the compiler and the findings of the analysis together, in source
/// order.
pub fn all_findings<'a>(compiled: &'a CompileResult, analysed: &'a [Finding]) -> Vec<ReportedDiagnostic<'a>> {
    let analysed = analysed.iter().map(|finding| ReportedDiagnostic {
        diagnostic: language::localized_diagnostic(&finding.diagnostic),
        compiled,
        witness: finding.witness.as_ref(),
        is_denied: false,
    });
    let mut diagnostics: Vec<ReportedDiagnostic<'_>> =
        compile_diagnostics(compiled).chain(analysed).collect();
    diagnostics.sort_by_key(|reported| reported.diagnostic.span().map(|span| (span.file, span.start)));
    diagnostics
}

impl ReportedDiagnostic<'_> {
    pub fn locate(&self, span: Span) -> Location {
        let Some(file) = self.compiled.sources().get(span.file) else { return self.whole_file_location() };
        let start = visible_offset(file, span.start);
        let (start, end) = (file.position(start), file.position(visible_offset(file, span.end).max(start)));
        Location {
            file: self.compiled.file_name(span.file),
            line: Some(start.line),
            column: Some(start.column),
            end_line: Some(end.line),
            end_column: Some(end.column),
        }
    }

    /// Returns the severity as text: `error` or `warning`. A warning that fails the check counts as
    /// an error.
    fn severity_word(&self) -> &'static str {
        severity_name(if self.is_denied { Severity::Error } else { self.diagnostic.severity() })
    }

    /// Returns the primary location. If the finding has no location, returns a location with only
    /// the name of the file.
    pub fn primary_location(&self) -> Location {
        self.diagnostic.span().map_or_else(|| self.whole_file_location(), |span| self.locate(span))
    }

    fn whole_file_location(&self) -> Location {
        let file = self.compiled.target.display_name();
        Location { file, ..Location::default() }
    }
}

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    version: u32,
    code: Code,
    severity: Severity,
    message: &'a str,
    #[serde(flatten)]
    place: Location,
    labels: Vec<JsonLabel<'a>>,
    help: Option<&'a str>,
    fixes: Vec<JsonFix<'a>>,
    /// An example message that triggers the finding, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<&'a Json>,
    /// True for a warning that fails the check.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    denied: bool,
}

#[derive(Serialize)]
struct JsonLabel<'a> {
    #[serde(flatten)]
    place: Location,
    text: &'a str,
}

#[derive(Serialize)]
struct JsonFix<'a> {
    #[serde(flatten)]
    place: Location,
    replacement: &'a str,
    applicability: &'static str,
}

pub fn format_json(reported: &ReportedDiagnostic<'_>) -> String {
    let diagnostic = &*reported.diagnostic;
    let labels = diagnostic.labels.iter();
    let value = JsonDiagnostic {
        version: JSON_FORMAT_VERSION,
        code: diagnostic.code,
        severity: diagnostic.severity(),
        message: &diagnostic.message,
        place: reported.primary_location(),
        labels: labels
            .map(|label| JsonLabel { place: reported.locate(label.span), text: &label.text })
            .collect(),
        help: diagnostic.help.as_deref(),
        fixes: diagnostic
            .fixes
            .iter()
            .map(|fix| JsonFix {
                place: reported.locate(fix.span),
                replacement: &fix.replacement,
                applicability: match fix.applicability {
                    Applicability::MachineApplicable => "machine_applicable",
                    Applicability::MaybeIncorrect => "maybe_incorrect",
                },
            })
            .collect(),
        witness: reported.witness,
        denied: reported.is_denied,
    };
    // Serializing strings, numbers and lists cannot fail.
    serde_json::to_string(&value).unwrap_or_default()
}

/// Writes findings in the format `format`; [`FindingFormat::Human`] is written as
/// [`FindingFormat::Concise`], because the caller prints it with [`format_human`]. `files` are the
/// names of all checked files: the JUnit format also lists files without findings.
pub fn write_findings(
    format: FindingFormat,
    files: &[String],
    findings: &[ReportedDiagnostic<'_>],
    out: &mut Out,
) -> Result<(), CliError> {
    match format {
        FindingFormat::Human | FindingFormat::Concise => {
            findings.iter().try_for_each(|reported| out.write_line(&format_concise(reported)))
        }
        FindingFormat::Json => {
            findings.iter().try_for_each(|reported| out.write_json_line(&format_json(reported)))
        }
        FindingFormat::Github => {
            findings.iter().try_for_each(|reported| out.write_line(&format_github(reported)))
        }
        FindingFormat::Sarif => out.write_json(&sarif::build_document(findings)),
        FindingFormat::Junit => out.write_text_for_programs(&junit::render_document(
            "rulec check",
            &junit::build_suites(files, findings),
        )),
    }
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Returns the message of a diagnostic, with the help text on its own line.
fn message_with_help(diagnostic: &Diagnostic) -> String {
    match &diagnostic.help {
        Some(help) => language::localized(&message!("{}\nhelp: {help}", diagnostic.message)).into_owned(),
        None => diagnostic.message.to_string(),
    }
}

/// Formats a finding as `FILE:LINE:COLUMN: severity[CODE]: message; help`.
pub fn format_concise(reported: &ReportedDiagnostic<'_>) -> String {
    let (location, diagnostic) = (reported.primary_location(), &reported.diagnostic);
    let mut line = location.file;
    for number in [location.line, location.column].into_iter().flatten() {
        line.push_str(&format!(":{number}"));
    }
    line.push_str(&format!(": {}[{}]: {}", reported.severity_word(), diagnostic.code, diagnostic.message));
    if let Some(help) = &diagnostic.help {
        line.push_str(&format!("; {help}"));
    }
    line
}

pub fn format_github(reported: &ReportedDiagnostic<'_>) -> String {
    let diagnostic = &reported.diagnostic;
    let (level, location) = (reported.severity_word(), reported.primary_location());
    let mut properties = format!("file={}", escape_github(&location.file, true));
    if let (Some(line), Some(column)) = (location.line, location.column) {
        properties.push_str(&format!(",line={line},col={column}"));
    }
    if let (Some(line), Some(column)) = (location.end_line, location.end_column) {
        properties.push_str(&format!(",endLine={line},endColumn={column}"));
    }
    let message = message_with_help(diagnostic);
    format!("::{level} {properties},title={}::{}", diagnostic.code, escape_github(&message, false))
}

/// Escapes a text for a GitHub workflow command. Unescaped percent signs or line breaks would
/// change the command. If `property` is true, the text is the value of a property of the command,
/// in which colons and commas are escaped too.
fn escape_github(text: &str, property: bool) -> String {
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

/// Formats a finding with the source text underlined.
pub fn format_human(reported: &ReportedDiagnostic<'_>, color: bool) -> String {
    let name = |file| reported.compiled.file_name(file);
    let renderer =
        Renderer { sources: reported.compiled.sources(), color, language: language::language(), name: &name };
    let (diagnostic, path) = (&*reported.diagnostic, reported.compiled.target.display_name());
    if diagnostic.labels.is_empty() && !diagnostic.message.contains(&path) {
        let message = message!("{} (compiling `{path}`)", diagnostic.message);
        return renderer.render(&Diagnostic { message, ..diagnostic.clone() });
    }
    renderer.render(diagnostic)
}
