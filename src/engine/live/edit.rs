//! The edits that callers ask for, and how they are read.

use super::error::EditError;
use super::head::Head;
use super::route::{Draft, draft};
use rulec_base::source::SourceMap;
use rulec_sema::hir::ROUTES;

/// An edit of one statement, of whatever kind; see [`LiveRules::edit`](super::LiveRules::edit).
///
/// ```
/// use rulec::{Compiler, Edit, LiveRules};
/// use serde_json::json;
///
/// let rules = LiveRules::from_text(
///     Compiler::new(),
///     r#"list words = ["refund"]
///        route money when text contains any words -> billing"#,
/// )?;
/// rules.edit(&[Edit::replace(r#"list words = ["refund", "chargeback"]"#), Edit::insert("default -> chat")])?;
/// assert_eq!(rules.decide(&json!({"text": "a chargeback"})).target(), Some("billing"));
/// assert_eq!(rules.decide(&json!({"text": "hello"})).target(), Some("chat"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    change: Change,
    /// `None` outside any table.
    table: Option<String>,
    file: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Insert(String),
    Replace(String),
    Remove(String),
}

impl Edit {
    fn of(change: Change) -> Edit {
        Edit { change, table: None, file: None }
    }

    /// Inserts a statement, given as its text, at the end of the main file.
    pub fn insert(statement: impl Into<String>) -> Edit {
        Edit::of(Change::Insert(statement.into()))
    }

    /// Puts a statement, given as its text, in the place of the one that begins with the same word and has the same
    /// name.
    pub fn replace(statement: impl Into<String>) -> Edit {
        Edit::of(Change::Replace(statement.into()))
    }

    /// Removes a statement, called by the word it begins with and its name: `list words`, `extern fn score`,
    /// `flow tool runner`, `import "words.rules"`, `test "files"`; `input`, `settings` and `default` have none. A name
    /// alone is a route's.
    pub fn remove(statement: impl Into<String>) -> Edit {
        Edit::of(Change::Remove(statement.into()))
    }

    /// The same of a statement in a table: a route, or the table's `default`. The table `routes` is none: outside any.
    #[must_use]
    pub fn in_table(mut self, table: impl Into<String>) -> Edit {
        self.table = Some(table.into()).filter(|table| table != ROUTES);
        self
    }

    /// The same in a file that is imported, called as [`LiveRules::texts`](super::LiveRules::texts) does. A statement
    /// that only one file has is found without.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Edit {
        self.file = Some(file.into());
        self
    }

    /// Reads the edit; what is wrong with its text is told beside these texts.
    pub(super) fn read(&self, sources: &SourceMap) -> Result<Reading<'_>, EditError> {
        let action = match &self.change {
            Change::Insert(text) => Action::Insert(draft(text, sources)?),
            Change::Replace(text) => Action::Replace(draft(text, sources)?),
            Change::Remove(name) => Action::Remove(Head::read(name)),
        };
        Ok(Reading { action, table: self.table.as_deref(), file: self.file.as_deref() })
    }
}

/// An edit that has been read.
pub(super) struct Reading<'e> {
    pub action: Action<'e>,
    pub table: Option<&'e str>,
    pub file: Option<&'e str>,
}

pub(super) enum Action<'e> {
    Insert(Draft),
    Replace(Draft),
    Remove(Head<'e>),
}

impl Reading<'_> {
    /// The statement it is about.
    pub fn head(&self) -> Head<'_> {
        match &self.action {
            Action::Insert(draft) | Action::Replace(draft) => draft.head(),
            Action::Remove(head) => *head,
        }
    }

    /// The statement that it brings.
    pub fn draft(&self) -> Option<&Draft> {
        match &self.action {
            Action::Insert(draft) | Action::Replace(draft) => Some(draft),
            Action::Remove(_) => None,
        }
    }

    /// True for an edit that need not compile everything anew.
    pub fn is_of_route(&self) -> bool {
        self.head().keyword == "route" && self.file.is_none()
    }
}
