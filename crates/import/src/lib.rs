//! Importers: another system's own JSON to a `.rules` file that an author would be glad to keep.
//!
//! An importer writes what the original decides, with readable names; a comment stands wherever the
//! meaning differs from the original or something was left out, and what cannot be translated is an
//! error that names its place. The text an importer returns compiles: warnings that the translation
//! brings with it are silenced by `# rulec: allow` comments which say why.
//!
//! | module | what it holds |
//! |---|---|
//! | `located` | JSON with its path, for messages that name the place |
//! | `write` | names, literals and comments |
//! | `document` | the file: its statements, laid out and compiled |
//! | `regex` | Python's regular expressions as those of the `regex` crate |
//! | `literal` | values written as Python writes them |
//! | `routes`, `condition` | message routing |
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

use document::Document;
use located::{Located, Read};
use rulec::{Message, Rules};
use rulec_base::json::{self, JsonError};
use rulec_base::message;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::str::FromStr;

/// A rules file made from another system's JSON.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// The rules file.
    pub text: String,
    /// Notes for the author: what was left out, or means something else than it did.
    pub notes: Vec<Message>,
    /// The file, compiled.
    pub rules: Rules,
    /// Names that had to change: from the name in the file to the original's.
    names: HashMap<String, String>,
}

impl Imported {
    /// The original's name for a route or a branch of the file.
    pub fn original<'n>(&'n self, name: &'n str) -> &'n str {
        self.names.get(name).map_or(name, String::as_str)
    }

    /// The original of a pattern of a flow.
    pub fn original_pattern<'n>(&'n self, flow: &str, pattern: &'n str) -> &'n str {
        self.names.get(&flows::pattern_key(flow, pattern)).map_or(pattern, String::as_str)
    }
}

/// The systems that can be imported from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// Message routing: a list of routes, or `{"routes": […], "default": handler}`.
    Routes,
    /// Workflow branches: a list of branches, or `{"choices": […]}`.
    Choice,
    /// Keyword and intent flows: a list of flows, or `{"flows": […], "tools": […]}`.
    Flows,
}

impl System {
    /// Every system, in the order it is documented.
    pub const ALL: [System; 3] = [System::Routes, System::Choice, System::Flows];

    /// The name used on the command line.
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
    /// When the text is not JSON, or holds what cannot be translated.
    pub fn import(self, text: &str) -> Result<Imported, ImportError> {
        let value = json::parse(text)?;
        let located = |error: Untranslatable| {
            let position = located::locate(text, &error.steps);
            Untranslatable { position, ..error }
        };
        self.document(&value).map_err(located)?.finish()
    }

    /// Imports a JSON value. Its errors name the path within the value, but no line.
    ///
    /// # Errors
    /// When the value holds what cannot be translated.
    pub fn import_value(self, value: &Json) -> Result<Imported, ImportError> {
        self.document(value)?.finish()
    }

    fn document(self, value: &Json) -> Read<Document> {
        let root = Located::root(value);
        match self {
            System::Routes => routes::document(&root),
            System::Choice => choice::document(&root),
            System::Flows => flows::document(&root),
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

/// Why nothing was imported.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// Something in it cannot be translated.
    #[error(transparent)]
    Untranslatable(#[from] Untranslatable),
    /// The importer wrote a file that does not compile: a fault of the importer.
    #[error("{}", self.in_words())]
    Internal(Message),
}

impl ImportError {
    /// The reason, which can be told in each language.
    pub fn in_words(&self) -> Message {
        match self {
            ImportError::Json(error) => error.in_words(),
            ImportError::Untranslatable(refusal) => refusal.in_words(),
            ImportError::Internal(why) => {
                message!("the importer wrote a file that does not compile; please report this: {why}")
            }
        }
    }
}

/// A part that cannot be translated, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_words())]
pub struct Untranslatable {
    message: Message,
    steps: Vec<located::Step>,
    position: Option<(usize, usize)>,
}

impl Untranslatable {
    /// The mistake and the remedy, in words.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The place as a path, such as `routes[2].condition.pattern`; empty for the whole document.
    pub fn path(&self) -> String {
        located::dotted(&self.steps)
    }

    /// Line and column, from 1, where a text was imported.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.position
    }

    /// The same, with the name of what it is about: the first of `keys` that `node` has.
    fn of(self, what: &Message, node: &Located<'_>, keys: &[&str]) -> Untranslatable {
        let name = keys.iter().find_map(|key| node.value.get(key)?.as_str());
        let message = match name {
            Some(name) => message!("{what} {}: {}", write::shown(name), self.message),
            None => self.message,
        };
        Untranslatable { message, ..self }
    }

    /// The mistake and its place, which can be told in each language.
    pub fn in_words(&self) -> Message {
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
