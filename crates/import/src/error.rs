//! The reasons why a document cannot be imported.

use super::located::{PathStep, format_path};
use super::{System, write};
use rulec::Message;
use rulec_base::json::JsonError;
use rulec_base::message;
use std::ops::Range;

/// The reason why a JSON document cannot be imported.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum ImportError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A part of the JSON, such as a pattern, cannot be translated.
    #[error(transparent)]
    Untranslatable(#[from] Untranslatable),
    /// No system was named, and the JSON has the shape of no known document, or of several.
    Unrecognized,
    /// Patterns shall be compared literally ([`Options::literal`]), but the document has no flows.
    LiteralWithoutFlows,
    /// The importer wrote a rules file that does not compile; this is a bug of the importer.
    Internal(Message),
}

impl ImportError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            ImportError::Json(error) => error.to_message(),
            ImportError::Untranslatable(refusal) => refusal.to_message(),
            ImportError::Unrecognized => {
                let kinds = System::ALL.map(System::name).join(", ");
                message!("the JSON has the shape of no known document, or of several; name its kind: {kinds}")
            }
            ImportError::LiteralWithoutFlows => {
                message!("only a document of `flows` has patterns that can be compared literally")
            }
            ImportError::Internal(why) => {
                message!("the importer wrote a file that does not compile; please report this: {why}")
            }
        }
    }
}

/// Error: a part of the JSON, such as a pattern, cannot be translated. Contains the path of this
/// part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct Untranslatable {
    pub(super) message: Message,
    pub(super) steps: Vec<PathStep>,
    pub(super) position: Option<(usize, usize)>,
    pub(super) range: Option<Range<usize>>,
}

impl Untranslatable {
    /// Returns the description of the error and a suggested correction.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Returns the path of the part that cannot be translated, such as
    /// `routes[2].condition.pattern`; empty for the whole document.
    pub fn path(&self) -> String {
        format_path(&self.steps)
    }

    /// Returns line and column of the part that cannot be translated, both from 1; the column
    /// counts characters. `None` if a JSON value was imported instead of a text.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.position
    }

    /// Returns the range of the part that cannot be translated, in bytes of the text. `None` if a
    /// JSON value was imported instead of a text.
    pub fn range(&self) -> Option<Range<usize>> {
        self.range.clone()
    }

    /// Returns the error with the kind (`what`) and the name of the enclosing item, such as a
    /// route, at the start of its message.
    pub(super) fn with_item_name(self, what: &Message, name: &str) -> Untranslatable {
        let message = match name {
            "" => self.message,
            name => message!("{what} {}: {}", write::quote_for_comment(name), self.message),
        };
        Untranslatable { message, ..self }
    }

    /// Returns the error with its path and position, as a localized message.
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
