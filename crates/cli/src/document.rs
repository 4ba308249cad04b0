//! Loads rules from another system's JSON document instead of a rules file. The notes and warnings
//! of the import become diagnostics that refer to positions in the JSON text.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use rulec::{Code, CompileError, Diagnostic, FileId, Message, Rules, SourceMap, Span};
use rulec_base::message;
use rulec_import::{DocumentOptions, ImportError, Options, Outcome, Report, ReportItem, System};
use serde_json::Value as Json;

/// Arguments that say how to load another system's JSON document in place of rules.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct DocumentArgs {
    /// Read the rules as another system's JSON of this kind; `context` is data for the bundled
    /// payload rules [default: a `.json` file is recognized by its shape]
    #[arg(long = "as", value_name = "KIND", display_order = 902, value_parser = system_parser())]
    pub system: Option<System>,
    /// For JSON of flows: match the patterns as `==` and `in` of Python do, so that case and
    /// surrounding white space count [default: both are ignored]
    #[arg(long, display_order = 903)]
    pub literal: bool,
}

impl DocumentArgs {
    /// Returns an error if `--literal` is given, but the rules do not come from a document of
    /// [`System::Flows`]. `system` is `None` if the rules come from no document.
    pub fn check_literal_allowed(self, system: Option<System>) -> Result<(), Message> {
        check_literal_allowed(self.literal, system)
    }

    /// Returns the options with which a document is imported.
    pub fn document_options(self) -> DocumentOptions {
        let options = if self.literal { Options::default().literal() } else { Options::default() };
        DocumentOptions { system: self.system, options }
    }
}

/// Returns an error if `literal` is true, but `system` is not [`System::Flows`]: only flows have
/// patterns that can be compared literally.
pub fn check_literal_allowed(literal: bool, system: Option<System>) -> Result<(), Message> {
    match literal && system != Some(System::Flows) {
        true => Err(literal_without_flows_message()),
        false => Ok(()),
    }
}

fn literal_without_flows_message() -> Message {
    message!("only `flows` have patterns that `--literal` can compare")
}

/// A JSON document from which rules were loaded.
pub struct ImportedDocument {
    sources: SourceMap,
    diagnostics: Vec<Diagnostic>,
    /// The data that the bundled payload rules read as `context`, such as the known workflows.
    /// `None` unless the document is of the kind [`System::Context`], which contains only such
    /// data.
    pub context: Option<Json>,
}

/// Returns the clap parser for the name of a system: another program whose JSON documents can be
/// loaded.
fn system_parser() -> impl TypedValueParser<Value = System> {
    PossibleValuesParser::new(System::ALL.map(System::name)).try_map(|name| name.parse::<System>())
}

impl ImportedDocument {
    /// Loads the rules from a JSON document of another system. If `args` names no system, the
    /// document is recognized by its shape.
    pub fn load(
        bytes: &[u8],
        name: String,
        args: DocumentArgs,
    ) -> (Result<Rules, CompileError>, ImportedDocument) {
        let mut sources = SourceMap::new();
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let file = sources.add(name, String::from_utf8_lossy(text));
        match args.document_options().import(bytes) {
            Ok(imported) => {
                let imported = imported.named(&sources.file(file).name);
                let diagnostics = report_diagnostics(&imported.report, file);
                let document = ImportedDocument { sources, diagnostics, context: imported.context };
                (Ok(imported.rules), document)
            }
            Err(error) => {
                let diagnostic = import_diagnostic(&error, sources.file(file).text.len(), file);
                let diagnostics = vec![diagnostic.clone()];
                let document = ImportedDocument { sources, diagnostics, context: None };
                (Err(CompileError::from(diagnostic)), document)
            }
        }
    }

    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

fn start_of_file(file: FileId) -> Span {
    Span { file, start: 0, end: 0 }
}

fn unrecognized_document_error(file: FileId) -> Diagnostic {
    let kinds = System::ALL.map(System::name).join(", ");
    let message = message!("the JSON has the shape of no known document, or of several");
    Diagnostic::new(Code::DocumentRefused, start_of_file(file), message).help(message!(
        "messages are named after the rules, as in `rulec run my.rules messages.jsonl`; a document is \
            named by its kind, `--as KIND`: {kinds}"
    ))
}

/// Returns the diagnostic for a document that cannot be converted to rules. `document_bytes` is the
/// length of the document in bytes, which the diagnostic's span must not exceed.
fn import_diagnostic(error: &ImportError, document_bytes: usize, file: FileId) -> Diagnostic {
    let (message, range) = match error {
        ImportError::Unrecognized => return unrecognized_document_error(file),
        ImportError::LiteralWithoutFlows => (literal_without_flows_message(), None),
        ImportError::Untranslatable(refusal) => (refusal.message().clone(), refusal.range()),
        ImportError::Json(error) => (error.to_message(), Some(error.offset()..error.offset() + 1)),
        other => (other.to_message(), None),
    };
    let range = range.unwrap_or(0..0);
    let offset = |offset: usize| u32::try_from(offset.min(document_bytes)).unwrap_or(0);
    let span = Span { file, start: offset(range.start), end: offset(range.end) };
    Diagnostic::new(Code::DocumentRefused, span, message)
}

/// Returns the diagnostics of an import. Each item of the report has notes (why the item was
/// skipped, or how it was changed) and warnings; each of them becomes a diagnostic.
fn report_diagnostics(report: &Report, file: FileId) -> Vec<Diagnostic> {
    let span = |item: &ReportItem| {
        let range = item.range.clone().unwrap_or(0..0);
        let offset = |offset: usize| u32::try_from(offset).unwrap_or(0);
        Span { file, start: offset(range.start), end: offset(range.end) }
    };
    let mut diagnostics = Vec::new();
    for item in report.items() {
        let describe = |note: &Message| match item.outcome {
            Outcome::Skipped => item.describe_skip(note),
            _ => note.clone(),
        };
        let notes = item.notes.iter();
        diagnostics.extend(notes.map(|note| Diagnostic::new(Code::ItemChanged, span(item), describe(note))));
        let warnings = item.warnings.iter();
        diagnostics.extend(warnings.map(|(code, text)| Diagnostic::new(*code, span(item), text.clone())));
    }
    diagnostics
}
