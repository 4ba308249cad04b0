//! The reasons why an edit of live rules is refused, with messages that say how to correct the
//! edit.

use super::statement_ref::StatementHead;
use crate::engine::{CompileError, UnknownEntry};
use rulec_base::diag::{Message, nearest};
use rulec_base::message;

/// The reason why an edit was refused. The rules are then unchanged.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum EditError {
    /// The text of the edit is not exactly one statement.
    NotOneStatement(Message),
    /// The statement does not compile with the current rules, or the rules do not compile with the
    /// statement.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The edit names a table that does not exist.
    #[error(transparent)]
    UnknownTable(#[from] UnknownEntry),
    /// The edit names a choice, router or flow set where the name of a table is needed.
    NoRoutes(String),
    /// The statement to replace or remove does not exist.
    #[error(transparent)]
    UnknownStatement(#[from] UnknownStatement),
    /// The edit names a file that does not exist. Contains the name of the file, and a list of the
    /// existing files.
    UnknownFile(String, String),
    /// Several statements have the keyword and name in the first text. The message lists the files
    /// that contain these statements.
    Ambiguous(String, Message),
    /// Two edits of the same call change this statement, or one of them changes the table that
    /// contains it.
    Twice(String),
    /// The statement, table or file that the edit names does not exist. But an earlier edit of the
    /// same call imports a file that may contain it and is not read yet. Contains the error, and
    /// the name of the imported file.
    NotYet(Box<EditError>, String),
    /// The rules were made from compiled [`Rules`](crate::Rules) and cannot be edited.
    Fixed,
    /// A guard (a check of the calling program) refused the statement; see
    /// [`LiveRules::guard`](super::LiveRules::guard).
    Refused(Message),
    /// A statement with the keyword and name of the inserted statement already exists.
    Duplicate(String),
}

impl EditError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            EditError::NotOneStatement(found) => {
                message!("one statement is wanted, and this is {found}; give `edit` an edit for each")
            }
            EditError::Compile(error) => error.to_message(),
            EditError::UnknownTable(error) => error.to_message(),
            EditError::NoRoutes(name) => message!(
                "`{name}` holds no routes; routes can be inserted into `table` statements and outside any table"
            ),
            EditError::UnknownStatement(error) => error.to_message(),
            EditError::UnknownFile(name, known) => {
                message!("there is no file `{name}` among the rules; the files are {known}")
            }
            EditError::Ambiguous(what, files) => message!(
                "there is more than one {what}, in {files}; name one as the `file` of the edit, or give them names of their own"
            ),
            EditError::Twice(what) => {
                message!("an edit before this one changes the {what} as well; make one edit of both")
            }
            EditError::NotYet(error, file) => message!(
                "{}; where `{file}` brings it, which an edit before this one imports, make that edit first, alone",
                error.to_message()
            ),
            EditError::Fixed => message!(
                "these rules cannot be edited, since their texts are not kept; load them as `LiveRules`, \
                 from a file or a text"
            ),
            EditError::Refused(why) => why.clone(),
            EditError::Duplicate(what) => {
                message!("there is already a {what}; replace it, or choose another name")
            }
        }
    }
}

/// Error: the rules contain no statement with the given keyword and name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct UnknownStatement {
    name: String,
    message: Message,
}

impl UnknownStatement {
    /// Creates the error for a statement in a table, or at the top level if `table` is `None`.
    /// `known` has the names of statements of the same kind, as candidates for a suggestion.
    /// `other` is a statement of another kind with the same name.
    pub(super) fn new<'n>(
        head: StatementHead<'_>,
        table: Option<&str>,
        known: impl IntoIterator<Item = &'n str>,
        other: Option<StatementHead<'_>>,
    ) -> UnknownStatement {
        let what = head.to_string();
        let missing = match table {
            Some(table) => message!("there is no {what} in the table `{table}`"),
            None => message!("there is no {what}"),
        };
        let message = match (other.map(|other| other.to_string()), nearest(head.name, known)) {
            (Some(other), _) => message!("{missing}; did you mean the {other}?"),
            (None, Some(near)) => message!("{missing}; did you mean `{near}`?"),
            (None, None) => missing,
        };
        UnknownStatement { name: head.name.to_owned(), message }
    }

    /// Returns the name of the statement that was not found; empty for a statement without a name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the problem and a suggested fix as a localized message.
    pub fn to_message(&self) -> Message {
        self.message.clone()
    }
}
