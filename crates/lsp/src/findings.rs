//! Converts diagnostics of the compiler and of the rule analysis to the types of the Language
//! Server Protocol.

use super::pages;
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
pub fn file_diagnostics(analyzed_file: &AnalyzedFile, file: FileId) -> Vec<Diagnostic> {
    let mut diagnostics = compile_diagnostics(analyzed_file, file);
    diagnostics.extend(analysis_diagnostics(analyzed_file, file));
    diagnostics
}

/// Returns the compile diagnostics for a file, in the protocol's data type.
pub fn compile_diagnostics(analyzed_file: &AnalyzedFile, file: FileId) -> Vec<Diagnostic> {
    diagnostics_of_file(analyzed_file, file, analyzed_file.diagnostics().iter())
}

/// Returns the analysis findings for a file, in the protocol's data type.
pub fn analysis_diagnostics(analyzed_file: &AnalyzedFile, file: FileId) -> Vec<Diagnostic> {
    diagnostics_of_file(
        analyzed_file,
        file,
        analyzed_file.findings().iter().map(|finding| &finding.diagnostic),
    )
}

fn diagnostics_of_file<'f>(
    analyzed_file: &AnalyzedFile,
    file: FileId,
    diagnostics: impl Iterator<Item = &'f rulec::Diagnostic>,
) -> Vec<Diagnostic> {
    let of_this_file = diagnostics
        .filter(|diagnostic| diagnostic.span().map_or(file == FileId(0), |span| span.file == file));
    of_this_file.map(|diagnostic| to_lsp_diagnostic(analyzed_file, diagnostic)).collect()
}

pub fn to_lsp_diagnostic(analyzed_file: &AnalyzedFile, diagnostic: &rulec::Diagnostic) -> Diagnostic {
    let file_start = Position { line: 0, character: 0 };
    let localized = |message: &Message| message.localized(analyzed_file.language).into_owned();
    let message = match &diagnostic.help {
        Some(help) => localized(&message!("{}\nhelp: {help}", diagnostic.message)),
        None => localized(&diagnostic.message),
    };
    let related = |label: &rulec::Label| {
        let location =
            Location { uri: analyzed_file.uri(label.span.file)?, range: analyzed_file.range(label.span) };
        let message =
            if label.text.is_empty() { localized(&message!("here")) } else { localized(&label.text) };
        Some(DiagnosticRelatedInformation { location, message })
    };
    let related: Vec<_> = diagnostic.labels.iter().skip(1).filter_map(related).collect();
    let page = pages::documentation_page_uri(diagnostic.code)
        .filter(|_| analyzed_file.page_support.can_show_documents);
    let code_description = page.map(|href| CodeDescription { href });
    let unused = matches!(diagnostic.code, Code::Unused | Code::UnusedDeclaration | Code::UnusedAllow);
    Diagnostic {
        range: diagnostic
            .span()
            .map_or(Range { start: file_start, end: file_start }, |span| analyzed_file.range(span)),
        severity: Some(match diagnostic.severity() {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning if analyzed_file.is_denied(diagnostic.code) => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(diagnostic.code.to_string())),
        code_description,
        source: Some("rulec".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        tags: unused.then(|| vec![DiagnosticTag::UNNECESSARY]),
        data: None,
    }
}

/// Converts an error in a settings file to a diagnostic at the position of the error.
pub fn settings_diagnostic(error: &SettingsError, language: Language) -> Diagnostic {
    let position = |line: usize, column: usize| Position { line: line as u32, character: column as u32 };
    let (line, column) = (error.line.saturating_sub(1), error.column.saturating_sub(1));
    Diagnostic {
        range: Range { start: position(line, column), end: position(line + 1, 0) },
        severity: Some(DiagnosticSeverity::ERROR),
        source: Some("rulec".to_owned()),
        message: error.message.localized(language).into_owned(),
        ..Diagnostic::default()
    }
}
