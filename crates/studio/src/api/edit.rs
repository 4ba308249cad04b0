//! The editor: texts, what is wrong with them, and what may stand where.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// The text of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct FileText {
    /// The file.
    pub file: String,
    /// The text as it is on disk.
    pub saved: String,
    /// The text in the editor, where it is another.
    pub draft: Option<String>,
    /// The state of the file on disk, which [`Save`] names.
    pub stamp: String,
    /// True when it can be saved.
    pub writable: bool,
}

/// Asks what is wrong with a text, which becomes the draft of its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Check {
    /// The rule set.
    pub rules: usize,
    /// The file.
    pub file: String,
    /// Its text; null takes the draft back.
    pub text: Option<String>,
    /// True for the slower findings too: what rules do to each other.
    #[serde(default)]
    pub findings: bool,
}

/// All that is known of a text as it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Checked {
    /// Errors and warnings of all files of the rule set.
    pub diagnostics: Vec<Diagnostic>,
    /// The tokens that have a colour: three numbers each, where it begins, its length, and its class by
    /// [`Session::token_classes`](super::Session).
    pub tokens: Vec<usize>,
    /// The parts that can be folded.
    pub folds: Vec<Fold>,
    /// Words between the author's.
    pub hints: Vec<Hint>,
    /// The tests of the file, which were run.
    pub tests: Vec<TestRun>,
    /// The statements of the file.
    pub outline: Vec<OutlineItem>,
    /// True when the rule set compiles.
    pub compiles: bool,
}

/// A finding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Diagnostic {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The beginning of what it is about.
    pub from: usize,
    /// Its end.
    pub to: usize,
    /// `error` or `warning`.
    pub severity: String,
    /// The code.
    pub code: String,
    /// In words.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// Other places with words of their own.
    pub labels: Vec<DiagnosticLabel>,
    /// The edits that an author may choose.
    pub fixes: Vec<Fix>,
}

/// Another place that a finding is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DiagnosticLabel {
    /// The place.
    pub place: super::Place,
    /// The words.
    pub text: String,
}

/// An offer to repair.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Fix {
    /// Its effect.
    pub title: String,
    /// True when it keeps the author's meaning.
    pub safe: bool,
    /// The edits, in the order of the text.
    pub edits: Vec<TextEdit>,
}

/// An edit of one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TextEdit {
    /// The file.
    pub file: String,
    /// The beginning.
    pub from: usize,
    /// The end.
    pub to: usize,
    /// The new text.
    pub text: String,
}

/// A part that can be folded.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Fold {
    /// The beginning.
    pub from: usize,
    /// The end.
    pub to: usize,
}

/// A few words behind a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Hint {
    /// The place.
    pub at: usize,
    /// The words.
    pub text: String,
    /// Their meaning.
    pub why: String,
}

/// A test that was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TestRun {
    /// Its name.
    pub name: String,
    /// The place of its name.
    pub place: Option<super::Place>,
    /// True when it passed.
    pub passed: bool,
    /// The outcome that was expected.
    pub expected: String,
    /// The outcome that came.
    pub actual: String,
    /// The way to it, in lines, where it failed.
    pub why: Option<String>,
}

/// A statement of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct OutlineItem {
    /// Its name.
    pub name: String,
    /// Its kind, in a word.
    pub kind: String,
    /// The place of its name.
    pub place: super::Place,
    /// The statements in it.
    pub inner: Vec<OutlineItem>,
}

/// A place in a text as the editor has it: asks what may stand there, what does, or where it is declared.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct At {
    /// The rule set.
    pub rules: usize,
    /// The file.
    pub file: String,
    /// Its text; it becomes the draft.
    pub text: String,
    /// The place.
    pub at: usize,
}

/// The words that may stand at a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Completions {
    /// The beginning of what they replace.
    pub from: usize,
    /// Its end.
    pub to: usize,
    /// The words, the likeliest first.
    pub items: Vec<CompletionItem>,
}

/// A word that may stand at a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct CompletionItem {
    /// The word.
    pub label: String,
    /// `field`, `value`, `function`, `operator`, `keyword`, `type`, `handler` or `statement`.
    pub kind: String,
    /// Its type or signature.
    pub detail: String,
    /// Its documentation.
    pub docs: String,
}

/// The words about what stands at a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Hover {
    /// The beginning of what they are about.
    pub from: usize,
    /// Its end.
    pub to: usize,
    /// As the language writes it.
    pub code: String,
    /// In words.
    pub text: String,
}

/// Asks for the layout of a text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Format {
    /// The text.
    pub text: String,
}

/// A text laid out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Formatted {
    /// The text; null where mistakes in it stand in the way.
    pub text: Option<String>,
}

/// Asks that a text be written to its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Save {
    /// The rule set.
    pub rules: usize,
    /// The file.
    pub file: String,
    /// The text.
    pub text: String,
    /// The state of the file that the text was made from.
    pub stamp: String,
}

/// The end of saving.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Saved {
    /// It was written.
    Saved {
        /// The state of the file now.
        stamp: String,
    },
    /// It was not: the file has changed since.
    Changed {
        /// The text on disk.
        text: String,
        /// The state of the file now; saving with it writes over what is there.
        stamp: String,
        /// The difference from the text on disk to the one that was to be saved.
        diff: Vec<super::DiffLine>,
    },
}

/// The page of a code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct CodePage {
    /// The code.
    pub code: String,
    /// Its page, as Markdown.
    pub text: String,
}
