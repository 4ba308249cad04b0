//! Requests and responses about the rule sets and files of a studio, and about the entries that can
//! decide.

use super::EarlierMessage;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// Response with the state of the studio, for a page that opens.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Session {
    /// Version of the `rulec` program.
    pub version: String,
    /// Whether a running service serves the page. The page then shows the service's current rules
    /// and its live traffic.
    pub live: bool,
    /// Whether the page shows the values of `@private` fields.
    pub show_private: bool,
    /// Language given on the command line, `en` or `zh`; null if none was given. The page may
    /// choose another language.
    pub language: Option<String>,
    /// Rule sets in command-line order, followed by uploaded rule sets.
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
    /// Id of the rule set in requests.
    pub id: usize,
    /// Path of the main file, as the user gave it.
    pub name: String,
    /// Names of the rule set's files, the main file first.
    pub files: Vec<String>,
    /// Whether the rule set is on disk. An uploaded rule set is not on disk and cannot be saved.
    pub on_disk: bool,
    /// Whether the rule set compiles with the texts on disk.
    pub compiles: bool,
    /// Whether the editor has unsaved texts of the rule set.
    pub has_draft: bool,
}

/// Selects a version of a rule set: the texts on disk, or the editor's unsaved texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Version {
    /// Id of the rule set.
    pub rules: usize,
    /// Whether to use the editor's unsaved texts; false uses the texts on disk.
    #[serde(default)]
    pub draft: bool,
}

/// A file of messages or logged decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Source {
    /// Id of the file in requests.
    pub id: usize,
    /// Name of the file.
    pub name: String,
    /// Size of the file in bytes.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Origin of the file: `log` or `input` from the command line, otherwise `upload`.
    pub from: String,
}

/// The entries (tables, payload kinds and workflows) and the errors of a version of a rule set.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Overview {
    /// Tables, payload kinds and workflows that can decide; empty if the rules have errors.
    pub entries: Vec<EntryInfo>,
    /// Number of compile errors of the rules.
    pub errors: usize,
    /// First compile error of the rules, as text.
    pub first_error: Option<String>,
    /// Names of the targets of the rules, without duplicates; declared handlers come first. The
    /// page gives each of them a colour by its position.
    pub targets: Vec<String>,
    /// Example message, with which the input form is initially filled.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub example: serde_json::Value,
}

/// Kind of an entry, which is anything that can decide a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// The routes outside any table, or a table of routes.
    Routes,
    /// A `choice` statement.
    Choice,
    /// All flows of the rules together.
    Flows,
    /// A `router` for workflows.
    Router,
    /// A `payload` kind; the message is the payload to validate.
    Payload,
    /// A `workflow`; the message is its input.
    Workflow,
}

/// An entry: a table, payload kind or workflow that can decide a message.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct EntryInfo {
    /// Name of the entry; `routes` for the routes outside any table.
    pub name: String,
    /// Kind of the entry, such as a table of routes or a workflow.
    pub kind: EntryKind,
    /// Doc comment of the entry in the rules.
    pub docs: String,
    /// Names of the entry's statements (such as routes) in evaluation order, `default` last. For a
    /// workflow, the ids of its nodes.
    pub statements: Vec<String>,
    /// What a test of the entry can expect, as written after `expect`: the statements that can be
    /// chosen, also in tables that the entry jumps to, but never a jump.
    pub outcomes: Vec<String>,
    /// Whether decisions of the entry read the earlier messages of a session.
    pub reads_history: bool,
    /// Form fields for the entry's input message.
    pub fields: Vec<FormField>,
}

/// A field of an input form.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct FormField {
    /// Name of the field in the enclosing record.
    pub name: String,
    /// Type of the field, in rule syntax.
    pub ty: String,
    /// Form control with which the user enters the field.
    pub control: Control,
    /// Whether the field may be missing from the message.
    pub optional: bool,
    /// Whether the field is declared as private.
    pub private: bool,
    /// Nested form fields, if the field is a record.
    pub fields: Vec<FormField>,
    /// Values that rules compare with the field, offered as suggestions.
    pub suggestions: Vec<String>,
}

/// Form control with which the user enters a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// Text box for a text.
    Text,
    /// Text box for an integer.
    Int,
    /// Text box for a number.
    Number,
    /// Checkbox for a boolean.
    Bool,
    /// Text box for a time in RFC 3339 format.
    Datetime,
    /// Text box for a list of texts, one per line.
    Texts,
    /// Nested form with a control for each field of a record.
    Record,
    /// Text box for JSON, for any other type.
    Json,
}

/// A message that the user saved under a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct KeptMessage {
    /// Name under which the message is saved.
    pub name: String,
    /// Name of the entry (such as a table) that decides the message.
    pub entry: String,
    /// The message, as its author wrote it.
    pub message: String,
    /// The context of a payload as JSON text: values for the `input` that the rules declare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub context: Option<String>,
    /// Earlier messages of the session, which the rules read as `history`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Option<Vec<EarlierMessage>>", optional))]
    pub history: Vec<EarlierMessage>,
}

/// The saved messages of a rule set. They are stored in a file next to the main file.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct KeptMessages {
    /// Name of the file with the saved messages; null if the rules are not on disk.
    pub file: Option<String>,
    /// Fingerprint of the file with the saved messages, to pass to [`KeepMessages`].
    pub stamp: String,
    /// The saved messages.
    pub messages: Vec<KeptMessage>,
}

/// Request to replace the saved messages of a rule set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct KeepMessages {
    /// Id of the rule set to which the messages belong.
    pub rules: usize,
    /// Fingerprint that the file had when the client read it. If the file has changed since then,
    /// nothing is written.
    pub stamp: String,
    /// The messages to save.
    pub messages: Vec<KeptMessage>,
}

/// Request to add a rule set from a text, to compare other rules with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct UploadRules {
    /// Name of the new rule set.
    pub name: String,
    /// Text of the main file. The rule set has no other files, so imports fail.
    pub text: String,
}

/// Response to a refused request. The HTTP status is not 2xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Refusal {
    /// Machine-readable reason for the refusal: `token`, `host`, `origin`, `missing`, `invalid`,
    /// `changed`, `errors` or `broken`.
    pub kind: String,
    /// Reason for the refusal and suggested correction, as text.
    pub message: String,
}
