//! Converts diagnostics of the compiler and the analysis to the form of the protocol.

use super::workspace::AnalyzedFile;
use ls_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location,
    NumberOrString, Position, Range,
};
use rulec::{Code, FileId, Language, Message, Severity};
use rulec_base::message;
use rulec_config::SettingsError;

/// Returns the compile diagnostics and the analysis findings for a file. Diagnostics without a span
/// are placed at the start of the main file, whose id is 0.
pub fn file_diagnostics(known: &AnalyzedFile, file: FileId) -> Vec<Diagnostic> {
    let mut all = compile_diagnostics(known, file);
    all.extend(analysis_diagnostics(known, file));
    all
}

/// Returns the compile diagnostics for a file, in the form of the protocol.
pub fn compile_diagnostics(known: &AnalyzedFile, file: FileId) -> Vec<Diagnostic> {
    diagnostics_of_file(known, file, known.analysis.diagnostics.iter())
}

/// Returns the analysis findings for a file, in the form of the protocol.
pub fn analysis_diagnostics(known: &AnalyzedFile, file: FileId) -> Vec<Diagnostic> {
    diagnostics_of_file(known, file, known.findings().iter().map(|finding| &finding.diagnostic))
}

fn diagnostics_of_file<'f>(
    known: &AnalyzedFile,
    file: FileId,
    all: impl Iterator<Item = &'f rulec::Diagnostic>,
) -> Vec<Diagnostic> {
    let here = all.filter(|found| found.span().map_or(file == FileId(0), |span| span.file == file));
    here.map(|found| to_lsp_diagnostic(known, found)).collect()
}

pub fn to_lsp_diagnostic(known: &AnalyzedFile, found: &rulec::Diagnostic) -> Diagnostic {
    let begin = Position { line: 0, character: 0 };
    let localized = |message: &Message| message.localized(known.language).into_owned();
    let message = match &found.help {
        Some(help) => localized(&message!("{}\nhelp: {help}", found.message)),
        None => localized(&found.message),
    };
    let related = |label: &rulec::Label| {
        let location = Location { uri: known.uri(label.span.file)?, range: known.range(label.span) };
        let message =
            if label.text.is_empty() { localized(&message!("here")) } else { localized(&label.text) };
        Some(DiagnosticRelatedInformation { location, message })
    };
    let related: Vec<_> = found.labels.iter().skip(1).filter_map(related).collect();
    let unused = matches!(found.code, Code::Unused | Code::UnusedDeclaration | Code::UnusedAllow);
    Diagnostic {
        range: found.span().map_or(Range { start: begin, end: begin }, |span| known.range(span)),
        severity: Some(match found.severity() {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning if known.is_denied(found.code) => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(found.code.to_string())),
        code_description: None::<CodeDescription>,
        source: Some("rulec".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        tags: unused.then(|| vec![DiagnosticTag::UNNECESSARY]),
        data: None,
    }
}

/// Returns a diagnostic for an error in a settings file, at the position of the error.
pub fn settings_diagnostic(refused: &SettingsError, language: Language) -> Diagnostic {
    let at = |line: usize, column: usize| Position { line: line as u32, character: column as u32 };
    let (line, column) = (refused.line.saturating_sub(1), refused.column.saturating_sub(1));
    Diagnostic {
        range: Range { start: at(line, column), end: at(line + 1, 0) },
        severity: Some(DiagnosticSeverity::ERROR),
        source: Some("rulec".to_owned()),
        message: refused.message.localized(language).into_owned(),
        ..Diagnostic::default()
    }
}
