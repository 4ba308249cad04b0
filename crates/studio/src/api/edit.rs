//! Requests and responses of the editor: texts, diagnostics, completion and saving.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// The text of a rules file, on disk and in the editor.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct FileText {
    /// Name of the file.
    pub file: String,
    /// Text of the file on disk.
    pub saved: String,
    /// Unsaved text of the file in the editor; null if equal to the text on disk.
    pub draft: Option<String>,
    /// Fingerprint of the file on disk. [`Save`] needs it to detect whether the file has changed.
    pub stamp: String,
    /// Whether the file can be saved.
    pub writable: bool,
}

/// Request to analyse a rule set with the unsaved text of one of its files. The server also stores
/// this text as the draft of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Check {
    /// Id of the rule set that contains the file.
    pub rules: usize,
    /// Name of the file that contains the text.
    pub file: String,
    /// Unsaved text of the file; null discards the draft.
    pub text: Option<String>,
    /// Whether to include the findings of the slower analysis of how rules interact.
    #[serde(default)]
    pub findings: bool,
}

/// Response to [`Check`]: the analysis results of the rule set with the unsaved text of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Checked {
    /// Errors and warnings in all files of the rule set.
    pub diagnostics: Vec<Diagnostic>,
    /// Tokens of the text to highlight, three numbers each: offset and length in UTF-16 units, and
    /// index into [`Session::token_classes`](super::Session).
    pub tokens: Vec<usize>,
    /// Ranges of the text that can be folded.
    pub folds: Vec<Fold>,
    /// Inlay hints: short texts to show in the editor.
    pub hints: Vec<Hint>,
    /// Results of the tests in the rule set.
    pub tests: Vec<TestRun>,
    /// Statements of the file, for an outline view.
    pub outline: Vec<OutlineItem>,
    /// Whether the rule set compiles with this text.
    pub compiles: bool,
}

/// A diagnostic with its primary span, labels and fixes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Diagnostic {
    /// Name of the file that contains the primary span.
    pub file: String,
    /// Line of the primary span, from 1.
    pub line: usize,
    /// Start of the primary span, in UTF-16 units.
    #[serde(rename = "from")]
    pub start_utf16: usize,
    /// End of the primary span, in UTF-16 units.
    #[serde(rename = "to")]
    pub end_utf16: usize,
    /// Severity of the diagnostic: `error` or `warning`.
    pub severity: String,
    /// Code of the diagnostic, such as `E0203`.
    pub code: String,
    /// Message text of the diagnostic.
    pub message: String,
    /// Suggested correction of the diagnosed text; null if there is none.
    pub help: Option<String>,
    /// Secondary spans of the diagnostic, each with its own text.
    pub labels: Vec<DiagnosticLabel>,
    /// Quick fixes for the diagnostic, from which the author may choose.
    pub fixes: Vec<Fix>,
}

/// A secondary span of a diagnostic.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DiagnosticLabel {
    /// Location of the secondary span in its file.
    pub place: super::SourceRange,
    /// Text that explains the secondary span.
    pub text: String,
}

/// A quick fix for a diagnostic.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Fix {
    /// Title of the quick fix, which describes its effect.
    pub title: String,
    /// Whether the quick fix certainly does not change the meaning that the author intended.
    pub safe: bool,
    /// Edits of the quick fix, in text order.
    pub edits: Vec<TextEdit>,
}

/// Replacement of one range of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TextEdit {
    /// Name of the edited file.
    pub file: String,
    /// Start of the replaced range, in UTF-16 units.
    #[serde(rename = "from")]
    pub start_utf16: usize,
    /// End of the replaced range, in UTF-16 units.
    #[serde(rename = "to")]
    pub end_utf16: usize,
    /// Text that replaces the range.
    pub text: String,
}

/// A range of a text that can be folded.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Fold {
    /// Start of the foldable range, in UTF-16 units.
    #[serde(rename = "from")]
    pub start_utf16: usize,
    /// End of the foldable range, in UTF-16 units.
    #[serde(rename = "to")]
    pub end_utf16: usize,
}

/// An inlay hint: a short text that the editor shows after a position.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Hint {
    /// Position of the hint in the file, in UTF-16 units.
    #[serde(rename = "at")]
    pub utf16_offset: usize,
    /// Short text of the hint.
    pub text: String,
    /// Explanation of the hint, for a tooltip.
    pub why: String,
}

/// Result of running a `test` block.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TestRun {
    /// Name of the test.
    pub name: String,
    /// Span of the test's name in the source text; null if it is unknown.
    pub place: Option<super::SourceRange>,
    /// Whether the test passed.
    pub passed: bool,
    /// Outcome that the test expects.
    pub expected: String,
    /// Outcome that the rules produced.
    pub actual: String,
    /// Explanation of the decision if the test failed, as lines of text.
    pub why: Option<String>,
}

/// A statement in the outline view of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct OutlineItem {
    /// Name of the statement.
    pub name: String,
    /// Kind of the statement, in one word.
    pub kind: String,
    /// Span of the statement's name.
    pub place: super::SourceRange,
    /// Statements nested in this statement.
    pub inner: Vec<OutlineItem>,
}

/// Request for completion, hover or the definition at a position in the editor's text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct At {
    /// Id of the rule set that contains the file.
    pub rules: usize,
    /// Name of the file in the editor.
    pub file: String,
    /// Text of the file in the editor, which becomes its draft.
    pub text: String,
    /// Position of the cursor in the text, in UTF-16 units.
    #[serde(rename = "at")]
    pub utf16_offset: usize,
}

/// Completion items for a position in a text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Completions {
    /// Start of the text range that the chosen completion item replaces, in UTF-16 units.
    #[serde(rename = "from")]
    pub start_utf16: usize,
    /// End of the text range that the chosen completion item replaces, in UTF-16 units.
    #[serde(rename = "to")]
    pub end_utf16: usize,
    /// Completion items, most likely first.
    pub items: Vec<CompletionItem>,
}

/// One text that completion offers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct CompletionItem {
    /// Name of the item, and the text that it inserts unless it has a snippet.
    pub label: String,
    /// Kind of the item: `field`, `value`, `function`, `operator`, `keyword`, `type`, `handler` or
    /// `statement`.
    pub kind: String,
    /// Type or signature of the item.
    pub detail: String,
    /// Documentation of the item.
    pub docs: String,
    /// Parts of the text that the item inserts instead of its label. Empty if the item inserts its
    /// label.
    pub snippet: Vec<SnippetPart>,
}

/// A part of a text with placeholders that the author fills in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct SnippetPart {
    /// Text of the part. The text of a placeholder may be empty.
    pub text: String,
    /// Whether the author replaces the text.
    pub is_placeholder: bool,
}

/// Documentation of the name or keyword at a position.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Hover {
    /// Start of the documented text range, in UTF-16 units.
    #[serde(rename = "from")]
    pub start_utf16: usize,
    /// End of the documented text range, in UTF-16 units.
    #[serde(rename = "to")]
    pub end_utf16: usize,
    /// Declaration of the documented item, in rule syntax.
    pub code: String,
    /// Documentation text of the item.
    pub text: String,
}

/// Request to format the text of a rules file. The server stores nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Format {
    /// Rules text to format.
    pub text: String,
}

/// Response to [`Format`]: the formatted text, if the text could be formatted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Formatted {
    /// The formatted text; null if errors in the text prevent formatting.
    pub text: Option<String>,
}

/// Request to save a text to its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Save {
    /// Id of the rule set that contains the file.
    pub rules: usize,
    /// Name of the file to write.
    pub file: String,
    /// Text to write to the file.
    pub text: String,
    /// Fingerprint that the file had when the client read the file.
    pub stamp: String,
}

/// Response to [`Save`]: whether the text was written to the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Saved {
    /// The text was written to the file.
    Saved {
        /// New fingerprint of the written file.
        stamp: String,
    },
    /// Nothing was written, because the file has changed since the client read it.
    Changed {
        /// Text of the file on disk.
        text: String,
        /// Current fingerprint of the file. Saving again with this fingerprint overwrites the file.
        stamp: String,
        /// Line diff from the text on disk to the text that should be saved.
        diff: Vec<super::DiffLine>,
    },
}

/// Documentation page of a diagnostic code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct CodePage {
    /// The diagnostic code that the page explains, such as `E0203`.
    pub code: String,
    /// The documentation page, as Markdown.
    pub text: String,
}
