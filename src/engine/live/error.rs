//! Why an edit was refused.

use crate::diag::nearest;
use crate::engine::{CompileError, UnknownEntry};

/// Why a route could not be inserted, replaced or removed. The rules are then as they were.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is something else than one `route` statement.
    #[error("one `route` statement is wanted, and this is {0}; insert routes one by one")]
    NotOneRoute(String),
    /// The route does not compile with the rules as they are.
    #[error("{0}")]
    Compile(#[from] CompileError),
    /// There is no such table.
    #[error("{0}")]
    UnknownTable(#[from] UnknownEntry),
    /// The entry is no table of routes, but a choice, say.
    #[error("`{0}` holds no routes; routes can be inserted into `table` statements and outside any table")]
    NoRoutes(String),
    /// There is no such route.
    #[error(transparent)]
    UnknownRoute(#[from] UnknownRoute),
    /// The rules were compiled to stay as they are.
    #[error(
        "these rules cannot be edited, since nothing of them is kept for it; make them with `LiveRules::from_path` \
         or `LiveRules::from_text`"
    )]
    Fixed,
    /// Whoever serves the rules has no use for the route: see [`LiveRules::guard`](super::LiveRules::guard).
    #[error("{0}")]
    Refused(String),
    /// There is already a route of that name.
    #[error("there is already a route `{0}`; replace it, or choose another name")]
    Duplicate(String),
}

/// There is no route of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no route `{name}`{place}{hint}")]
pub struct UnknownRoute {
    name: String,
    place: String,
    hint: String,
}

impl UnknownRoute {
    /// Among these names of a table; `None` for the routes outside any.
    pub(super) fn new<'n>(
        name: &str,
        table: Option<&str>,
        known: impl IntoIterator<Item = &'n str>,
    ) -> UnknownRoute {
        let place = table.map(|table| format!(" in the table `{table}`")).unwrap_or_default();
        let hint = match nearest(name, known) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        UnknownRoute { name: name.to_owned(), place, hint }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}
