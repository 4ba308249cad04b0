//! The editor: texts, diagnostics, completion and saving.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// The text of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct FileText {
    /// File name.
    pub file: String,
    /// Text on disk.
    pub saved: String,
    /// Unsaved text in the editor; null if equal to the text on disk.
    pub draft: Option<String>,
    /// Fingerprint of the file on disk, to pass to [`Save`].
    pub stamp: String,
    /// Whether the file can be saved.
    pub writable: bool,
}

/// Requests diagnostics for a text, and stores the text as the draft of its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Check {
    /// Id of the rule set.
    pub rules: usize,
    /// File name.
    pub file: String,
    /// Text of the file; null discards the draft.
    pub text: Option<String>,
    /// Whether to include the slower findings about how rules interact.
    #[serde(default)]
    pub findings: bool,
}

/// Analysis results of a text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Checked {
    /// Errors and warnings in all files of the rule set.
    pub diagnostics: Vec<Diagnostic>,
    /// Tokens to highlight, three numbers each: offset, length, and index into
    /// [`Session::token_classes`](super::Session).
    pub tokens: Vec<usize>,
    /// Ranges that can be folded.
    pub folds: Vec<Fold>,
    /// Inlay hints.
    pub hints: Vec<Hint>,
    /// Results of the file's tests.
    pub tests: Vec<TestRun>,
    /// Statements of the file.
    pub outline: Vec<OutlineItem>,
    /// Whether the rule set compiles.
    pub compiles: bool,
}

/// A diagnostic.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Diagnostic {
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Start of the primary span, in UTF-16 units.
    pub from: usize,
    /// End of the primary span, in UTF-16 units.
    pub to: usize,
    /// Severity: `error` or `warning`.
    pub severity: String,
    /// Diagnostic code.
    pub code: String,
    /// Message text.
    pub message: String,
    /// Suggested correction.
    pub help: Option<String>,
    /// Secondary spans with their own text.
    pub labels: Vec<DiagnosticLabel>,
    /// Quick fixes that the author may choose.
    pub fixes: Vec<Fix>,
}

/// A secondary span of a diagnostic.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DiagnosticLabel {
    /// The span.
    pub place: super::SourceRange,
    /// Text of the label.
    pub text: String,
}

/// A quick fix.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Fix {
    /// Title, which describes the effect.
    pub title: String,
    /// Whether the fix keeps the author's meaning.
    pub safe: bool,
    /// Edits, in text order.
    pub edits: Vec<TextEdit>,
}

/// Replacement of one range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TextEdit {
    /// File name.
    pub file: String,
    /// Start offset, in UTF-16 units.
    pub from: usize,
    /// End offset, in UTF-16 units.
    pub to: usize,
    /// Replacement text.
    pub text: String,
}

/// A range that can be folded.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Fold {
    /// Start offset, in UTF-16 units.
    pub from: usize,
    /// End offset, in UTF-16 units.
    pub to: usize,
}

/// An inlay hint: a short text shown after a position.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Hint {
    /// Position, in UTF-16 units.
    pub at: usize,
    /// Text of the hint.
    pub text: String,
    /// Explanation of the hint.
    pub why: String,
}

/// Result of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TestRun {
    /// Name of the test.
    pub name: String,
    /// Span of the test's name.
    pub place: Option<super::SourceRange>,
    /// Whether the test passed.
    pub passed: bool,
    /// Expected outcome.
    pub expected: String,
    /// Actual outcome.
    pub actual: String,
    /// Explanation of a failed test, as lines of text.
    pub why: Option<String>,
}

/// A statement in the outline of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct OutlineItem {
    /// Name of the statement.
    pub name: String,
    /// Kind, in one word.
    pub kind: String,
    /// Span of the name.
    pub place: super::SourceRange,
    /// Nested statements.
    pub inner: Vec<OutlineItem>,
}

/// Requests completion, hover or the definition at a position in the editor's text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct At {
    /// Id of the rule set.
    pub rules: usize,
    /// File name.
    pub file: String,
    /// Text of the file, which becomes the draft.
    pub text: String,
    /// Position, in UTF-16 units.
    pub at: usize,
}

/// Completions at a position.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Completions {
    /// Start of the range to replace, in UTF-16 units.
    pub from: usize,
    /// End of the range to replace, in UTF-16 units.
    pub to: usize,
    /// Completion items, most likely first.
    pub items: Vec<CompletionItem>,
}

/// A completion item.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct CompletionItem {
    /// Text to insert.
    pub label: String,
    /// Kind: `field`, `value`, `function`, `operator`, `keyword`, `type`, `handler` or `statement`.
    pub kind: String,
    /// Type or signature.
    pub detail: String,
    /// Documentation.
    pub docs: String,
}

/// Documentation of the item at a position.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Hover {
    /// Start of the documented range, in UTF-16 units.
    pub from: usize,
    /// End of the documented range, in UTF-16 units.
    pub to: usize,
    /// Declaration in rule syntax.
    pub code: String,
    /// Documentation text.
    pub text: String,
}

/// Requests the formatted form of a text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Format {
    /// Text to format.
    pub text: String,
}

/// A formatted text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Formatted {
    /// Formatted text; null if errors prevent formatting.
    pub text: Option<String>,
}

/// Requests that a text be saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Save {
    /// Id of the rule set.
    pub rules: usize,
    /// File name.
    pub file: String,
    /// Text to write.
    pub text: String,
    /// Fingerprint of the file when the client read its text.
    pub stamp: String,
}

/// Result of saving.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Saved {
    /// The text was written.
    Saved {
        /// New fingerprint of the file.
        stamp: String,
    },
    /// Nothing was written, because the file has changed since the client read its text.
    Changed {
        /// Text on disk.
        text: String,
        /// New fingerprint of the file; saving with this fingerprint overwrites the file.
        stamp: String,
        /// Line diff from the text on disk to the text to save.
        diff: Vec<super::DiffLine>,
    },
}

/// Documentation page of a diagnostic code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct CodePage {
    /// The code.
    pub code: String,
    /// The page, as Markdown.
    pub text: String,
}
