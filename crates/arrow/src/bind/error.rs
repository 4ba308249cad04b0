//! The errors about columns: a schema that does not fit the rules, and a batch that does not fit
//! the schema.

use rulec::{Message, UnknownEntry};
use rulec_base::message;

/// Error about the columns of a schema: some are missing, or have types that the rules cannot read.
/// The error lists all of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct BindError {
    pub(super) problems: Vec<Message>,
}

impl BindError {
    /// Returns all problems of the columns, one sentence for each column.
    pub fn problems(&self) -> &[Message] {
        &self.problems
    }

    /// Returns all problems as one localized message, with a line for each problem.
    pub fn to_message(&self) -> Message {
        rulec_base::diag::join_lines(&self.problems)
    }
}

/// The reason why the rules cannot decide record batches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum ColumnsError {
    /// The rules have no table, choice or router of this name.
    #[error(transparent)]
    Entry(#[from] UnknownEntry),
    /// Columns are missing, or have types that the rules cannot read.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A batch has other columns than the bound schema.
    Schema(String),
}

impl ColumnsError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            ColumnsError::Entry(error) => error.to_message(),
            ColumnsError::Bind(error) => error.to_message(),
            ColumnsError::Schema(found) => {
                message!("the batch does not have the columns that the rules were bound to: {found}")
            }
        }
    }
}
