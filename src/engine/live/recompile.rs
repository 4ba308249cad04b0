//! Edits that recompile everything: edits of statements other than routes, and several edits
//! applied as one.
//!
//! The edits are applied to the source texts, which are then compiled. Everything is recompiled,
//! because one statement may affect any other statement. Decisions do not wait. If other threads
//! edit routes during the compilation, these edits are logged. They are applied to the new rules
//! before the new rules replace the old ones.

use super::background::drop_when_unshared;
use super::base;
use super::edit::{Edit, ParsedEdit};
use super::error::EditError;
use super::statements;
use super::writer::LiveWriter;
use super::{LiveState, route_table_id};
use crate::engine::Compiler;
use rulec_base::parallel::ThreadLimit;
use rulec_sema::hir::ROUTES_TABLE;
use rulec_syntax::ast::StatementKind;
use std::sync::{Arc, PoisonError};

/// Maximum number of logged edits that are applied to the recompiled rules while the writer (the
/// mutable state) is locked. Other edits wait during that time. The number is a guess, not the
/// result of a measurement.
const MAX_LOCKED_REPLAYS: usize = 16;
/// Maximum number of rounds that apply logged edits to the recompiled rules without the lock on the
/// writer (the mutable state). Edits may arrive during a round, so without this limit a
/// recompilation might never end. The number is a guess, not the result of a measurement.
const MAX_UNLOCKED_REPLAY_ROUNDS: usize = 8;

impl LiveState {
    /// Applies edits to the source texts and recompiles everything.
    ///
    /// # Errors
    /// If an edit cannot be applied, if the edited rules do not compile, or if a guard refuses a
    /// handler. The rules are then unchanged.
    pub(super) fn recompile(self: &Arc<Self>, edits: &[ParsedEdit<'_>]) -> Result<(), EditError> {
        // Run one recompilation at a time, because each recompilation starts from the texts that
        // the previous one produced.
        let _recompilation_lock = self.recompile_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let (base, changes) = self.lock_writer().begin_recompilation();
        let _log_guard = scopeguard::guard(self, |shared| shared.lock_writer().end_recompilation());
        let texts = changes.apply_to_texts(&base.rules, &base.edit_points);
        let texts = statements::apply_edits(texts, &base.files.main_file_name, edits)?;
        let files = base.files.with_texts(texts);
        drop(base);
        // Check only the tests that these edits insert. Older tests may expect decisions from
        // before the edits.
        let new_tests: Vec<&str> = edits.iter().filter_map(test_name).collect();
        let is_new_test = |name: &str| new_tests.contains(&name);
        let (base, counted) =
            base::compile_base(&self.compiler, &files, &files, is_new_test, ThreadLimit::One)?;
        self.check_guards(&base.rules, edits)?;
        let mut new_writer = LiveWriter::new(base, counted);

        let mut writer = self.lock_writer();
        for round in 1.. {
            let log = writer.take_logged_edits();
            if log.len() <= MAX_LOCKED_REPLAYS || round > MAX_UNLOCKED_REPLAY_ROUNDS {
                replay_edits(&mut new_writer, &self.compiler, &log)?;
                break;
            }
            drop(writer);
            replay_edits(&mut new_writer, &self.compiler, &log)?;
            writer = self.lock_writer();
        }
        let old_writer = writer.replace_state(new_writer);
        self.publish(&writer);
        self.start_due_background_work(&mut writer);
        drop(writer);
        let base = Arc::clone(old_writer.base());
        drop(old_writer);
        drop_when_unshared(base);
        Ok(())
    }
}

/// Returns the name of the test that an edit inserts or replaces. `None` if the edit removes a
/// statement, or is about another kind of statement.
fn test_name<'e>(edit: &'e ParsedEdit<'_>) -> Option<&'e str> {
    match &edit.new_statement()?.statement.kind {
        StatementKind::Test(test) => Some(&test.name.node),
        _ => None,
    }
}

/// Applies the edits of routes in `log` to the recompiled rules. Other threads made these edits
/// during the recompilation.
fn replay_edits(writer: &mut LiveWriter, compiler: &Compiler, log: &[Edit]) -> Result<(), EditError> {
    for edit in log {
        let edit = edit.parse_edit(writer.base().rules.sources())?;
        let table = route_table_id(&writer.base().rules, edit.table_name.unwrap_or(ROUTES_TABLE))?;
        writer.apply_edit(compiler, table, edit.action)?;
    }
    Ok(())
}
