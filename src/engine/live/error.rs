//! Why an edit was refused.

use super::head::Head;
use crate::engine::{CompileError, UnknownEntry};
use rulec_base::diag::nearest;

/// Why an edit was refused. The rules are then as they were.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is something else than one statement.
    #[error("one statement is wanted, and this is {0}; give `LiveRules::edit` an edit for each")]
    NotOneStatement(String),
    /// The statement does not compile with the rules as they are, or they not with it.
    #[error("{0}")]
    Compile(#[from] CompileError),
    /// There is no such table.
    #[error("{0}")]
    UnknownTable(#[from] UnknownEntry),
    /// The entry is no table of routes, but a choice, say.
    #[error("`{0}` holds no routes; routes can be inserted into `table` statements and outside any table")]
    NoRoutes(String),
    /// There is no such statement.
    #[error(transparent)]
    UnknownStatement(#[from] UnknownStatement),
    /// There is no such file.
    #[error("there is no file `{0}` among the rules; the files are {1}")]
    UnknownFile(String, String),
    /// There is more than one such statement; the second text says where.
    #[error(
        "there is more than one {0}, in {1}; name one with `Edit::in_file`, or give them names of their own"
    )]
    Ambiguous(String, String),
    /// An edit before, of those that are made as one, was about the same statement, or about one around it.
    #[error("an edit before this one changes the {0} as well; make one edit of both")]
    Twice(String),
    /// The edit is about what is not there; it may be in this file, which an edit before, of those that are made as one,
    /// imports.
    #[error(
        "{0}; where `{1}` brings it, which an edit before this one imports, make that edit first, by itself"
    )]
    NotYet(Box<EditError>, String),
    /// The rules were compiled to stay as they are.
    #[error(
        "these rules cannot be edited, since nothing of them is kept for it; make them with `LiveRules::from_path` \
         or `LiveRules::from_text`"
    )]
    Fixed,
    /// Whoever serves the rules has no use for the statement: see [`LiveRules::guard`](super::LiveRules::guard).
    #[error("{0}")]
    Refused(String),
    /// There is already a statement of that kind and name.
    #[error("there is already a {0}; replace it, or choose another name")]
    Duplicate(String),
}

/// There is no statement of that kind and name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what}{place}{hint}")]
pub struct UnknownStatement {
    name: String,
    what: String,
    place: String,
    hint: String,
}

impl UnknownStatement {
    /// Among these names of its kind in a table; `None` outside any. Of another kind may be what was meant.
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

    /// The name that was asked for; empty for a statement without.
    pub fn name(&self) -> &str {
        &self.name
    }
}
