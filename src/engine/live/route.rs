//! Statements and routes that edits add to live rules, parsed from their texts. The *base* is the
//! rule set as last compiled in full.

use super::error::EditError;
use super::statement_ref::StatementHead;
use crate::engine::CompileError;
use crate::engine::compile::has_errors;
use hashbrown::Equivalent;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_base::source::SourceMap;
use rulec_base::span::{FileId, Span};
use rulec_sema::check::RouteUses;
use rulec_sema::hir::TableId;
use rulec_syntax::ast::{self, Statement, StatementKind};
use rulec_syntax::parse;
use std::sync::Arc;

/// A route that an edit inserted after the last full compilation.
pub(super) struct Route {
    pub name: Arc<str>,
    /// The table of the route, as an id in the base (the rule set as last compiled in full).
    pub table: TableId,
    /// The table that the route jumps to (`goto`), and the span of the jump. `None` if the route
    /// does not jump. The id is valid in the base (the rule set as last compiled in full).
    pub goto_target: Option<(TableId, Span)>,
    /// The undeclared message fields that the route reads, with the kinds of value that it accepts
    /// in them. Routes with equal uses share one allocation.
    pub field_uses: Arc<RouteUses>,
    pub parsed: ParsedStatement,
}

/// Identifies a route: the id of its table in the base (the rule set as last compiled in full), and
/// its name.
pub(super) type RouteKey = (TableId, Arc<str>);

/// A [`RouteKey`] (table and name of a route) that borrows the name, for look-ups without
/// allocation.
#[derive(Hash)]
pub(super) struct RouteKeyRef<'n>(pub TableId, pub &'n str);

impl Equivalent<RouteKey> for RouteKeyRef<'_> {
    fn equivalent(&self, (table, name): &RouteKey) -> bool {
        *table == self.0 && **name == *self.1
    }
}

impl Route {
    pub fn key(&self) -> RouteKey {
        (self.table, self.name.clone())
    }
}

/// A statement parsed from the text of an edit.
pub(super) struct ParsedStatement {
    pub statement: Statement,
    pub text: Arc<str>,
    /// The file id in the spans of the statement. This id means the text of the edit, not a file of
    /// the rules.
    pub file: FileId,
}

impl ParsedStatement {
    pub fn route(&self) -> Option<&ast::Route> {
        match &self.statement.kind {
            StatementKind::Route(route) => Some(route),
            _ => None,
        }
    }

    pub fn head(&self) -> StatementHead<'_> {
        StatementHead::new(&self.statement.kind)
    }
}

/// Parses the text of an edit as a statement. The spans of the statement get a new file id, which
/// follows the ids of the files in `sources`.
pub(super) fn parse_statement(text: &str, sources: &SourceMap) -> Result<ParsedStatement, EditError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file = FileId(sources.iter().count() as u32);
    let mut parsed = parse(ThreadLimit::One, file, text);
    if has_errors(&parsed.diagnostics) {
        return Err(refused_statement_error(sources, text, parsed.diagnostics).into());
    }
    let not_one_statement = |what| Err(EditError::NotOneStatement(what));
    match parsed.statements.pop() {
        Some(_) if !parsed.statements.is_empty() => not_one_statement(message!("more than one")),
        Some(statement) => Ok(ParsedStatement { statement, text: text.into(), file }),
        None => not_one_statement(message!("none")),
    }
}

/// Creates the error for a statement that is refused. The error contains the source texts of the
/// rules, followed by the statement's own text.
pub(super) fn refused_statement_error(
    base: &SourceMap,
    text: &str,
    mut errors: Vec<Diagnostic>,
) -> CompileError {
    errors.retain(Diagnostic::is_error);
    let is_referenced = |file: FileId| {
        errors.iter().any(|found| {
            found.labels.iter().any(|label| label.span.file == file)
                || found.fixes.iter().any(|fix| fix.span.file == file)
        })
    };
    let mut sources = SourceMap::new();
    for (id, file) in base.iter() {
        sources.add(file.name.as_str(), if is_referenced(id) { file.text.as_str() } else { "" });
    }
    sources.add("<statement>", text);
    CompileError::new(errors, sources)
}
