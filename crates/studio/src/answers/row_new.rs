//! Adds a row without conditions to a decision table, also to a table that has no row. The row is
//! disabled, so that it changes no decision until the author has edited it.

use super::row_text::{TextReplacement, block_start, gap_after};
use crate::error::{Answer, RequestError};
use rulec::{Rules, Span};
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_sema::hir::{ROUTES_TABLE, TableKind};
use rulec_syntax::ast::{Statement, StatementKind, Target};
use rulec_syntax::{parse, write};

/// A place for a new row in a file: after the last route of the table or, if the file has no such
/// route, before the table's default.
struct InsertionPlace {
    /// The statement next to the new row.
    neighbour_span: Span,
    is_after_neighbour: bool,
    /// The target that the new row copies: the target of the default or, without a default, of the
    /// last route.
    copied_target: Span,
}

/// Returns the file to change, and the replacement that adds a row to a table of routes. `key` is
/// the key of the new row, such as `routes/refunds`, which names the table and the row.
pub(super) fn new_row(rules: &Rules, key: &str) -> Answer<(FileId, TextReplacement)> {
    let tables = rules.program().tables.iter().filter(|table| table.kind == TableKind::Routes);
    let mut names =
        tables.filter_map(|table| Some((&*table.name, key.strip_prefix(&*table.name)?.strip_prefix('/')?)));
    let (table, name) = names
        .next()
        .filter(|(_, name)| !name.trim().is_empty())
        .ok_or_else(|| RequestError::invalid(message!("a new row needs a table of routes and a name")))?;
    let places = rules.sources().iter().filter_map(|(file, source)| {
        let statements = parse::parse(ThreadLimit::default(), file, &source.text).statements;
        Some((file, &*source.text, insertion_place(statements_of_table(&statements, table)?)?))
    });
    // A file that contains routes of the table is preferred to a file that contains only its
    // default.
    let (file, text, place) = places
        .max_by_key(|(file, _, place)| (place.is_after_neighbour, std::cmp::Reverse(*file)))
        .ok_or_else(|| RequestError::invalid(message!("`{table}` has no statement to copy a target from")))?;
    let start = place.neighbour_span.start as usize;
    let gap = gap_after(text, start);
    let name = write::quote_name(name.trim());
    let row = format!("route {name} disabled when true -> {}", &text[place.copied_target.range()]);
    let (position, row) = match place.is_after_neighbour {
        true => (end_of_line(text, place.neighbour_span.end as usize), format!("{gap}{row}")),
        false if gap.starts_with('\n') => {
            (block_start(text, start), format!("{}{row}\n\n", gap.trim_start_matches('\n')))
        }
        false => (start, row + &gap),
    };
    Ok((file, (position..position, row)))
}

/// Returns the statements of a table in a file: inside its `table` statement, or outside any table.
/// `None` if the file has no such `table` statement.
fn statements_of_table<'s>(statements: &'s [Statement], table: &str) -> Option<&'s [Statement]> {
    if table == ROUTES_TABLE {
        return Some(statements);
    }
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Table { name, statements } if *name.node == *table => Some(statements.as_slice()),
        _ => None,
    })
}

/// Returns the place for a new row among the statements of its table in one file. `None` if they
/// include neither a route nor a default.
fn insertion_place(statements: &[Statement]) -> Option<InsertionPlace> {
    let default = statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Default { target } => Some((statement.span, target_span(target))),
        _ => None,
    });
    let last = statements.iter().rev().find_map(|statement| match &statement.kind {
        StatementKind::Route(route) => Some((statement.span, target_span(&route.target))),
        _ => None,
    });
    let (next_to, own_target) = last.or(default)?;
    let target = default.map_or(own_target, |(_, target)| target);
    Some(InsertionPlace {
        neighbour_span: next_to,
        is_after_neighbour: last.is_some(),
        copied_target: target,
    })
}

fn target_span(target: &Target) -> Span {
    match target {
        Target::Handler { span, .. } | Target::Goto { span, .. } => *span,
    }
}

/// Returns the end of the line of a statement that ends at `position`, so that a comment after the
/// statement stays there. Returns `position` if another statement follows in the line.
fn end_of_line(text: &str, position: usize) -> usize {
    let rest = text[position..].lines().next().unwrap_or_default();
    match rest.trim_start() {
        "" => position,
        comment if comment.starts_with('#') => position + rest.len(),
        _ => position,
    }
}
