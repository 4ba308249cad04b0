//! Calls the guards of live rules. A guard is a check of the calling program, which may refuse an
//! edit before it inserts or replaces a statement.

use super::edit::ParsedEdit;
use super::{EditError, Guard, LiveState};
use crate::engine::Rules;
use crate::engine::entry::reachable_handlers;
use rulec_base::diag::Message;
use rulec_syntax::ast::{Route, Statement, StatementKind, Target};
use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

impl LiveState {
    pub(super) fn lock_guards(&self) -> MutexGuard<'_, Vec<Weak<Guard>>> {
        self.guards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an error if a guard refuses a handler that the new statements of `edits` can select.
    pub(super) fn check_guards(&self, rules: &Rules, edits: &[ParsedEdit<'_>]) -> Result<(), EditError> {
        let guards: Vec<Arc<Guard>> = self.lock_guards().iter().filter_map(Weak::upgrade).collect();
        if guards.is_empty() {
            return Ok(());
        }
        let new_statements = edits.iter().filter_map(|edit| Some(&edit.new_statement()?.statement));
        let (mut handlers, mut tables) = (BTreeSet::new(), Vec::new());
        for target in new_statements.flat_map(statement_targets) {
            match target {
                Target::Handler { name, .. } => drop(handlers.insert(name.node.as_str())),
                // The guards have already checked the routes that were inserted into that table
                // since the last merge.
                Target::Goto { table, .. } => tables.extend(rules.program().table_named(&table.node)),
            }
        }
        handlers.extend(reachable_handlers(rules.program(), tables));
        let results = handlers.iter().flat_map(|target| guards.iter().map(|guard| guard(target)));
        results.collect::<Result<(), Message>>().map_err(EditError::Refused)
    }
}

/// Returns the targets (handlers or tables) of a route or default. For a table, returns the targets
/// of all its routes.
fn statement_targets(statement: &Statement) -> Vec<&Target> {
    match &statement.kind {
        StatementKind::Route(Route { target, .. }) | StatementKind::Default { target } => vec![target],
        StatementKind::Table { statements, .. } => statements.iter().flat_map(statement_targets).collect(),
        _ => Vec::new(),
    }
}
