//! Edits of live rules, as callers request them: each edit names or contains one statement. This
//! file also parses these statements.

use super::error::EditError;
use super::route::{ParsedStatement, parse_statement};
use super::statement_ref::StatementHead;
use rulec_base::source::SourceMap;
use rulec_sema::hir::ROUTES_TABLE;

/// An edit of one statement of any kind; see [`LiveRules::edit`](super::LiveRules::edit).
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
    change: EditKind,
    /// The table that contains the statement of the edit; `None` for the top level.
    table_name: Option<String>,
    file_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum EditKind {
    Insert(String),
    Replace(String),
    Remove(String),
}

impl Edit {
    fn new(change: EditKind) -> Edit {
        Edit { change, table_name: None, file_name: None }
    }

    /// Creates an edit that inserts a statement, given as text, at the end of the main file.
    pub fn insert(statement: impl Into<String>) -> Edit {
        Edit::new(EditKind::Insert(statement.into()))
    }

    /// Creates an edit that replaces the statement with the same keyword and name by a statement
    /// given as text.
    pub fn replace(statement: impl Into<String>) -> Edit {
        Edit::new(EditKind::Replace(statement.into()))
    }

    /// Creates an edit that removes a statement. `statement` is its keyword and name: `list words`,
    /// `extern fn score`, `flow tool runner`, `import "words.rules"`, `test "files"`. The
    /// statements `input`, `settings` and `default` have no name. A bare name means a route.
    pub fn remove(statement: impl Into<String>) -> Edit {
        Edit::new(EditKind::Remove(statement.into()))
    }

    /// Sets the table that contains the statement. The statement must be one of the table's routes,
    /// or its `default`. The table `routes` means the top level.
    #[must_use]
    pub fn in_table(mut self, table: impl Into<String>) -> Edit {
        self.table_name = Some(table.into()).filter(|table| table != ROUTES_TABLE);
        self
    }

    /// Sets the file that contains the statement, named as in
    /// [`LiveRules::texts`](super::LiveRules::texts). Needed to insert into a file other than the
    /// main file. To replace or remove a statement, needed only if several files contain a
    /// statement with its keyword and name.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Edit {
        self.file_name = Some(file.into());
        self
    }

    /// Parses the text of the edit. A parse error shows this text as an additional file after the
    /// files in `sources`.
    pub(super) fn parse_edit(&self, sources: &SourceMap) -> Result<ParsedEdit<'_>, EditError> {
        let action = match &self.change {
            EditKind::Insert(text) => EditAction::Insert(parse_statement(text, sources)?),
            EditKind::Replace(text) => EditAction::Replace(parse_statement(text, sources)?),
            EditKind::Remove(name) => EditAction::Remove(StatementHead::parse(name)),
        };
        Ok(ParsedEdit {
            action,
            table_name: self.table_name.as_deref(),
            file_name: self.file_name.as_deref(),
        })
    }
}

/// An edit of live rules whose statement is parsed, but not yet applied.
pub(super) struct ParsedEdit<'e> {
    pub action: EditAction<'e>,
    pub table_name: Option<&'e str>,
    pub file_name: Option<&'e str>,
}

pub(super) enum EditAction<'e> {
    Insert(ParsedStatement),
    Replace(ParsedStatement),
    Remove(StatementHead<'e>),
}

impl ParsedEdit<'_> {
    /// Returns the keyword and name of the statement that the edit inserts, replaces or removes.
    pub fn head(&self) -> StatementHead<'_> {
        match &self.action {
            EditAction::Insert(new) | EditAction::Replace(new) => new.head(),
            EditAction::Remove(head) => *head,
        }
    }

    /// Returns the new statement; `None` for a removal.
    pub fn new_statement(&self) -> Option<&ParsedStatement> {
        match &self.action {
            EditAction::Insert(new) | EditAction::Replace(new) => Some(new),
            EditAction::Remove(_) => None,
        }
    }

    /// True if the edit inserts, replaces or removes a route, and names no file. A call of
    /// [`LiveRules::edit`](super::LiveRules::edit) with a single such edit compiles only this
    /// route.
    pub fn is_route_edit(&self) -> bool {
        self.head().keyword == "route" && self.file_name.is_none()
    }
}
