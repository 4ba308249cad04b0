//! The error of a compilation: all errors and warnings of the rules, with the source texts.

use rulec_base::diag::{Argument, Code, Diagnostic, Message, join_lines};
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_eval::trace::SpanLookup;
use std::fmt;
use std::path::Path;

/// The reason why rules did not compile: all errors and warnings, with the source texts.
///
/// The `Debug` output shows at most twenty findings with their source lines, the errors first. So a
/// `main` that returns this error with `?` prints the findings.
#[derive(Clone, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct CompileError {
    diagnostics: Vec<Diagnostic>,
    sources: SourceMap,
}

impl CompileError {
    pub(in crate::engine) fn new(diagnostics: Vec<Diagnostic>, sources: SourceMap) -> CompileError {
        CompileError { diagnostics, sources }
    }

    /// Creates the error for a file that cannot be read.
    pub(in crate::engine) fn unreadable_file(path: &Path, message: &dyn Argument) -> CompileError {
        let message = message!("`{}` cannot be read: {message}", path.display());
        Diagnostic::without_place(Code::FileUnreadable, message).into()
    }

    /// Adds the file name of an artifact to errors that have no source position.
    pub(in crate::engine) fn set_artifact_name(&mut self, name: &str) {
        for diagnostic in self.diagnostics.iter_mut().filter(|diagnostic| diagnostic.labels.is_empty()) {
            diagnostic.message = message!("`{name}`: {}", diagnostic.message);
        }
    }

    /// Returns one line for each error as a localized message: position, code, problem and help.
    pub fn to_message(&self) -> Message {
        let describe = |found: &Diagnostic| {
            let position = found.span().and_then(|span| SpanLookup::place(&self.sources, span));
            let position = position.map(|place| format!("{place}: ")).unwrap_or_default();
            match &found.help {
                Some(help) => message!("{position}{}: {} ({help})", found.code, found.message),
                None => message!("{position}{}: {}", found.code, found.message),
            }
        };
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        join_lines(&errors.map(describe).collect::<Vec<_>>())
    }

    /// Returns every error and warning, in source order.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the source texts that the spans of the diagnostics refer to.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Renders every error and warning as text, with the source lines underlined.
    ///
    /// ```
    /// let error = rulec::Rules::from_text("let a = 1\nlet a = 2").unwrap_err();
    /// assert!(error.render().contains("2 │ let a = 2\n   ·     ┬\n   ·     ╰── declared again\n"));
    /// ```
    pub fn render(&self) -> String {
        let rendered: Vec<String> =
            self.diagnostics.iter().map(|diagnostic| diagnostic.render(&self.sources)).collect();
        rendered.join("\n")
    }
}

/// Maximum number of findings in the `Debug` output of a [`CompileError`].
const MAX_DEBUG_FINDINGS: usize = 20;

impl fmt::Debug for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (errors, warnings): (Vec<_>, Vec<_>) =
            self.diagnostics.iter().partition(|diagnostic| diagnostic.is_error());
        f.write_str("the rules do not compile\n")?;
        let count = errors.len() + warnings.len();
        for diagnostic in errors.into_iter().chain(warnings).take(MAX_DEBUG_FINDINGS) {
            write!(f, "\n{}", diagnostic.render(&self.sources))?;
        }
        match count.saturating_sub(MAX_DEBUG_FINDINGS) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

/// Creates an error with one diagnostic. The diagnostic must not have a span, because the error has
/// no source texts.
impl From<Diagnostic> for CompileError {
    fn from(diagnostic: Diagnostic) -> CompileError {
        CompileError { diagnostics: vec![diagnostic], sources: SourceMap::new() }
    }
}
