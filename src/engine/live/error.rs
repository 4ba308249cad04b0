//! Errors of edits.

use super::statement_ref::Head;
use crate::engine::{CompileError, UnknownEntry};
use rulec_base::diag::nearest;

/// The reason why an edit was refused. The rules are then unchanged.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text does not hold exactly one statement.
    #[error("one statement is wanted, and this is {0}; give `LiveRules::edit` an edit for each")]
    NotOneStatement(String),
    /// The statement does not compile with the current rules, or the rules do not compile with the
    /// statement.
    #[error("{0}")]
    Compile(#[from] CompileError),
    /// There is no such table.
    #[error("{0}")]
    UnknownTable(#[from] UnknownEntry),
    /// The entry is not a table of routes, but for example a choice.
    #[error("`{0}` holds no routes; routes can be inserted into `table` statements and outside any table")]
    NoRoutes(String),
    /// There is no such statement.
    #[error(transparent)]
    UnknownStatement(#[from] UnknownStatement),
    /// There is no such file; the second text lists the files.
    #[error("there is no file `{0}` among the rules; the files are {1}")]
    UnknownFile(String, String),
    /// Several statements match; the second text lists their files.
    #[error(
        "there is more than one {0}, in {1}; name one with `Edit::in_file`, or give them names of their own"
    )]
    Ambiguous(String, String),
    /// An earlier edit of the same call changes the same statement, or a statement around it.
    #[error("an edit before this one changes the {0} as well; make one edit of both")]
    Twice(String),
    /// The edited statement does not exist yet. It may be in a file that an earlier edit of the
    /// same call imports.
    #[error(
        "{0}; where `{1}` brings it, which an edit before this one imports, make that edit first, by itself"
    )]
    NotYet(Box<EditError>, String),
    /// The rules were made from compiled [`Rules`](crate::Rules) and cannot be edited.
    #[error(
        "these rules cannot be edited, since nothing of them is kept for it; make them with `LiveRules::from_path` \
         or `LiveRules::from_text`"
    )]
    Fixed,
    /// A guard refused the statement; see [`LiveRules::guard`](super::LiveRules::guard).
    #[error("{0}")]
    Refused(String),
    /// A statement of this kind and name already exists.
    #[error("there is already a {0}; replace it, or choose another name")]
    Duplicate(String),
}

/// Error: there is no statement of this kind and name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what}{place}{hint}")]
pub struct UnknownStatement {
    name: String,
    what: String,
    place: String,
    hint: String,
}

impl UnknownStatement {
    /// Creates the error for a table, or for the top level if `table` is `None`. `known` are names
    /// of the same kind to suggest from. `other` is a statement of another kind with the same name.
    pub(super) fn new<'n>(
        head: Head<'_>,
        table: Option<&str>,
        known: impl IntoIterator<Item = &'n str>,
        other: Option<Head<'_>>,
    ) -> UnknownStatement {
        let place = table.map(|table| format!(" in the table `{table}`")).unwrap_or_default();
        let hint = match (other, nearest(head.name, known)) {
            (Some(other), _) => format!("; did you mean the {other}?"),
            (None, Some(near)) => format!("; did you mean `{near}`?"),
            (None, None) => String::new(),
        };
        UnknownStatement { name: head.name.to_owned(), what: head.to_string(), place, hint }
    }

    /// Returns the name that was looked up; empty for a statement without a name.
    pub fn name(&self) -> &str {
        &self.name
    }
}
