//! The rule sets and files of a studio, and the entries that can decide.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// State of the studio when a page opens.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Session {
    /// Version of the program.
    pub version: String,
    /// Whether values of `@private` fields are shown.
    pub show_private: bool,
    /// Language from the command line, `en` or `zh`; null if none was given. The page may choose
    /// another.
    pub language: Option<String>,
    /// Rule sets in command-line order, then uploaded ones.
    pub rules: Vec<RuleSet>,
    /// Files of messages and decisions, from the command line or uploaded.
    pub sources: Vec<Source>,
    /// Names of the token classes; [`Checked::tokens`](super::Checked) refers to them by index.
    pub token_classes: Vec<String>,
}

/// A rule set: a main file with all its imports.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct RuleSet {
    /// Id that requests use.
    pub id: usize,
    /// Main file, as the user gave it.
    pub name: String,
    /// File names, the main file first.
    pub files: Vec<String>,
    /// Whether the rule set is on disk. An uploaded one is not, and cannot be saved.
    pub on_disk: bool,
    /// Whether the texts on disk compile.
    pub compiles: bool,
    /// Whether the editor has unsaved texts.
    pub has_draft: bool,
}

/// A version of a rule set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Version {
    /// Id of the rule set.
    pub rules: usize,
    /// Whether to use the editor's texts; false uses the texts on disk.
    #[serde(default)]
    pub draft: bool,
}

/// A file of messages or logged decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Source {
    /// Id that requests use.
    pub id: usize,
    /// File name.
    pub name: String,
    /// Size in bytes.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Origin: `log` or `input` from the command line, otherwise `upload`.
    pub from: String,
}

/// Entries and errors of a version of a rule set.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Overview {
    /// Entries that can decide; empty if the rules have errors.
    pub entries: Vec<EntryInfo>,
    /// Number of errors.
    pub errors: usize,
    /// First error, as text.
    pub first_error: Option<String>,
    /// Example message, the initial value of a form.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub example: serde_json::Value,
}

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// Routes outside any table, or a table.
    Routes,
    /// A `choice`.
    Choice,
    /// All flows.
    Flows,
    /// A `router` of workflows.
    Router,
    /// A `payload`; the message is the payload to check.
    Payload,
    /// A `workflow`.
    Workflow,
}

/// An entry: a named table, payload kind or workflow that decides.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct EntryInfo {
    /// Name of the entry; `routes` for the routes outside any table.
    pub name: String,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Doc comment.
    pub docs: String,
    /// Names of its statements in evaluation order, `default` last.
    pub statements: Vec<String>,
    /// Form fields of its input.
    pub fields: Vec<FormField>,
}

/// A field of a form.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct FormField {
    /// Name in the enclosing record.
    pub name: String,
    /// Type, in rule syntax.
    pub ty: String,
    /// Form control for the type.
    pub control: Control,
    /// Whether the field may be missing.
    pub optional: bool,
    /// Whether the field is private.
    pub private: bool,
    /// Fields of a record.
    pub fields: Vec<FormField>,
    /// Values that rules compare with the field, as suggestions.
    pub suggestions: Vec<String>,
}

/// Form control for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// Text input.
    Text,
    /// Integer input.
    Int,
    /// Number input.
    Number,
    /// Checkbox.
    Bool,
    /// Time in RFC 3339 format.
    Datetime,
    /// List of texts.
    Texts,
    /// Nested fields of a record.
    Record,
    /// JSON input for any other type.
    Json,
}

/// A message that is saved by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct KeptMessage {
    /// Name of the message.
    pub name: String,
    /// Entry that the message is for.
    pub entry: String,
    /// The message, as its author wrote it.
    pub message: String,
}

/// Saved messages of a rule set, in a file next to its main file.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct KeptMessages {
    /// File name; null if the rules are not on disk.
    pub file: Option<String>,
    /// Fingerprint of the file, to pass to [`KeepMessages`].
    pub stamp: String,
    /// The messages.
    pub messages: Vec<KeptMessage>,
}

/// Requests that these messages replace the saved ones.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct KeepMessages {
    /// Id of the rule set.
    pub rules: usize,
    /// Fingerprint of the file when the client read it. If the file has changed since, nothing is
    /// written.
    pub stamp: String,
    /// The messages.
    pub messages: Vec<KeptMessage>,
}

/// Requests a rule set from a text, to compare with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct UploadRules {
    /// Name of the rule set.
    pub name: String,
    /// Text of the main file; imports are not available.
    pub text: String,
}

/// Response to a refused request; its status is not 2xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Refusal {
    /// Machine-readable kind: `token`, `host`, `origin`, `missing`, `invalid`, `changed`, `errors`
    /// or `broken`.
    pub kind: String,
    /// Reason and suggested correction, as text.
    pub message: String,
}
