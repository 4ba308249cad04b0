//! Importers that convert another system's JSON to a maintainable `.rules` file.
//!
//! An importer keeps the decisions of the original and writes readable names. A comment marks each
//! part whose meaning differs or that was left out. Input that cannot be translated is an error
//! with its path. The returned text compiles. Warnings that the translation causes are suppressed
//! by `# rulec: allow` comments with a reason.
//!
//! | module | contents |
//! |---|---|
//! | `located` | JSON values with their path, for error messages |
//! | `write` | names, literals and comments |
//! | `document` | the file: its statements, formatted and compiled |
//! | `regex` | translates Python's regular expressions to the `regex` crate's syntax |
//! | `literal` | values in Python's literal syntax |
//! | `routes`, `condition` | message routes |
//! | `choice`, `compare`, `operator` | workflow branches |
//! | `flows`, `executor` | keyword and intent flows, and the tool that executes them |

mod choice;
mod compare;
mod condition;
mod document;
mod executor;
mod flows;
mod handlers;
mod literal;
mod located;
mod operator;
mod regex;
mod routes;
mod write;

use document::RulesDocument;
use located::{JsonNode, ReadResult};
use rulec::{Message, Rules};
use rulec_base::json::{self, JsonError};
use rulec_base::message;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::str::FromStr;

/// A rules file converted from another system's JSON.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// Text of the rules file.
    pub text: String,
    /// Notes for the author: parts that were left out, or that have another meaning than in the
    /// original.
    pub notes: Vec<Message>,
    /// The compiled file.
    pub rules: Rules,
    /// Original texts of the names and patterns that the importer changed. The key is the new text
    /// in the file.
    original_names: HashMap<String, String>,
}

impl Imported {
    /// Returns the original name of a route or branch, given its name in the file.
    pub fn original<'n>(&'n self, name: &'n str) -> &'n str {
        self.original_names.get(name).map_or(name, String::as_str)
    }

    /// Returns the original text of a flow's pattern, given the text in the file.
    pub fn original_pattern<'n>(&'n self, flow: &str, pattern: &'n str) -> &'n str {
        self.original_names.get(&flows::pattern_key(flow, pattern)).map_or(pattern, String::as_str)
    }
}

/// A system whose JSON can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// Message routes: a list of routes, or `{"routes": […], "default": handler}`.
    Routes,
    /// Workflow branches: a list of branches, or `{"choices": […]}`.
    Choice,
    /// Keyword and intent flows: a list of flows, or `{"flows": […], "tools": […]}`.
    Flows,
}

impl System {
    /// All systems, in the order in which the documentation lists them.
    pub const ALL: [System; 3] = [System::Routes, System::Choice, System::Flows];

    /// Returns the system's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            System::Routes => "routes",
            System::Choice => "choice",
            System::Flows => "flows",
        }
    }

    /// Imports a JSON text.
    ///
    /// ```
    /// let json = r#"[{"name": "files", "priority": 10, "handler": "file_handler",
    ///                 "condition": {"type": "TextCondition", "contains": ["file"]}}]"#;
    /// let imported = rulec_import::System::Routes.import(json)?;
    /// assert!(imported.text.contains("route files priority 10"));
    /// # Ok::<(), rulec_import::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the text is not JSON, or if a part cannot be translated.
    pub fn import(self, text: &str) -> Result<Imported, ImportError> {
        let value = json::parse(text)?;
        let add_position = |error: Untranslatable| {
            let position = located::locate(text, &error.steps);
            Untranslatable { position, ..error }
        };
        self.read_document(&value).map_err(add_position)?.finish()
    }

    /// Imports a JSON value. Errors contain a path but no line.
    ///
    /// # Errors
    /// Returns an error if a part of the value cannot be translated.
    pub fn import_value(self, value: &Json) -> Result<Imported, ImportError> {
        self.read_document(value)?.finish()
    }

    fn read_document(self, value: &Json) -> ReadResult<RulesDocument> {
        let root = JsonNode::root(value);
        match self {
            System::Routes => routes::read_document(&root),
            System::Choice => choice::read_document(&root),
            System::Flows => flows::read_document(&root),
        }
    }
}

impl FromStr for System {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        System::ALL
            .into_iter()
            .find(|system| system.name() == name)
            .ok_or_else(|| format!("nothing imports `{name}`; choose routes, choice or flows"))
    }
}

/// Error of an import.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum ImportError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A part of the JSON cannot be translated.
    #[error(transparent)]
    Untranslatable(#[from] Untranslatable),
    /// The importer produced a file that does not compile; this is a bug of the importer.
    Internal(Message),
}

impl ImportError {
    /// Returns the message, which can be translated.
    pub fn to_message(&self) -> Message {
        match self {
            ImportError::Json(error) => error.to_message(),
            ImportError::Untranslatable(refusal) => refusal.to_message(),
            ImportError::Internal(why) => {
                message!("the importer wrote a file that does not compile; please report this: {why}")
            }
        }
    }
}

/// Error for a part of the JSON that cannot be translated, with the part's path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct Untranslatable {
    message: Message,
    steps: Vec<located::PathStep>,
    position: Option<(usize, usize)>,
}

impl Untranslatable {
    /// Returns the description of the error and a suggested correction.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Returns the path of the part that cannot be translated, such as
    /// `routes[2].condition.pattern`; empty for the whole document.
    pub fn path(&self) -> String {
        located::format_path(&self.steps)
    }

    /// Returns line and column, from 1, of the part that cannot be translated. `None` if a JSON
    /// value was imported instead of a text.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.position
    }

    /// Prefixes the error with `what`, the kind of `node`, and the node's name. The name is the
    /// text of the first of `keys` that has one.
    fn in_node(self, what: &Message, node: &JsonNode<'_>, keys: &[&str]) -> Untranslatable {
        let name = keys.iter().find_map(|key| node.value.get(key)?.as_str());
        let message = match name {
            Some(name) => message!("{what} {}: {}", write::quote_for_comment(name), self.message),
            None => self.message,
        };
        Untranslatable { message, ..self }
    }

    /// Returns the error with its path and position, as a translatable message.
    pub fn to_message(&self) -> Message {
        let (message, path) = (&self.message, self.path());
        match (path.is_empty(), self.position) {
            (true, _) => message.clone(),
            (false, None) => message!("{message}, at `{path}`"),
            (false, Some((line, column))) => {
                message!("{message}, at `{path}` (line {line}, column {column})")
            }
        }
    }
}
