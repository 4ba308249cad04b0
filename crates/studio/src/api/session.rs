//! The rules that a studio shows, and what can be asked of them.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// The state of the studio when a page opens.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Session {
    /// The version of the program.
    pub version: String,
    /// True when values of `@private` fields are shown.
    pub show_private: bool,
    /// `en` or `zh`, where the command line asks for one; the page may choose another.
    pub language: Option<String>,
    /// The rule sets, in the order of the command line; then those that were uploaded.
    pub rules: Vec<RuleSet>,
    /// The files of messages and decisions that were named on the command line or uploaded.
    pub sources: Vec<Source>,
    /// The classes of tokens, by which [`Checked::tokens`](super::Checked) names them.
    pub token_classes: Vec<String>,
}

/// A rule set: a main file with all that it imports.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct RuleSet {
    /// Its number, by which requests name it.
    pub id: usize,
    /// Its main file, as it was named.
    pub name: String,
    /// Its files, the main one first.
    pub files: Vec<String>,
    /// False for one that was uploaded: it cannot be saved.
    pub on_disk: bool,
    /// True when it compiles as it is on disk.
    pub compiles: bool,
    /// True when the editor holds texts that are not saved.
    pub has_draft: bool,
}

/// A version of a rule set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Version {
    /// The rule set.
    pub rules: usize,
    /// True for the texts in the editor, false for those on disk.
    #[serde(default)]
    pub draft: bool,
}

/// A file of messages or decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Source {
    /// Its number, by which requests name it.
    pub id: usize,
    /// Its name.
    pub name: String,
    /// Its size.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// `log` or `input` where it was named on the command line, else `upload`.
    pub from: String,
}

/// The things that can be asked of a version of a rule set.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Overview {
    /// The things that decide; empty while there are errors.
    pub entries: Vec<EntryInfo>,
    /// The number of errors.
    pub errors: usize,
    /// The first error, in words.
    pub first_error: Option<String>,
    /// The first message of a kind that the rules take: what a form begins with.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub example: serde_json::Value,
}

/// The kinds of things that decide.
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
    /// A `payload`: what is judged is the payload itself.
    Payload,
    /// A `workflow`.
    Workflow,
}

/// Something that decides.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct EntryInfo {
    /// Its name; `routes` for those outside any table.
    pub name: String,
    /// Its kind.
    pub kind: EntryKind,
    /// Its doc comment.
    pub docs: String,
    /// Its statements, in the order they are tried, `default` last.
    pub statements: Vec<String>,
    /// The fields of what it decides on.
    pub fields: Vec<FormField>,
}

/// A field of a form.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct FormField {
    /// Its name in the record around it.
    pub name: String,
    /// Its type, as authors write it.
    pub ty: String,
    /// The control that fits it.
    pub control: Control,
    /// True when it may be missing.
    pub optional: bool,
    /// True when its values are private.
    pub private: bool,
    /// The fields of a record.
    pub fields: Vec<FormField>,
    /// Values that rules compare it with, to choose from.
    pub suggestions: Vec<String>,
}

/// The control of a form that fits a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// A text.
    Text,
    /// A whole number.
    Int,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// A time, as RFC 3339 has it.
    Datetime,
    /// A list of texts.
    Texts,
    /// Fields of its own.
    Record,
    /// Anything else: JSON.
    Json,
}

/// A message that is kept by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct KeptMessage {
    /// Its name.
    pub name: String,
    /// The entry that it is for.
    pub entry: String,
    /// The message, as its author wrote it.
    pub message: String,
}

/// The messages that are kept for a rule set, in a file beside its main one.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct KeptMessages {
    /// The file; none for rules that are not on disk.
    pub file: Option<String>,
    /// The state of the file, which [`KeepMessages`] names.
    pub stamp: String,
    /// The messages.
    pub messages: Vec<KeptMessage>,
}

/// Asks that these messages be kept, in place of those that were.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct KeepMessages {
    /// The rule set.
    pub rules: usize,
    /// The state of the file that was read before; it is not written over where it has changed since.
    pub stamp: String,
    /// The messages.
    pub messages: Vec<KeptMessage>,
}

/// Asks for a rule set made of a text, to compare with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct UploadRules {
    /// Its name.
    pub name: String,
    /// The text of its main file; it imports nothing.
    pub text: String,
}

/// The answer where a request cannot be served; its status is none of 200 to 299.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Refusal {
    /// A word for programs: `token`, `host`, `origin`, `missing`, `invalid`, `changed`, `errors`, `broken`.
    pub kind: String,
    /// The reason and the remedy, in words.
    pub message: String,
}
