//! Edits of statements other than routes, and of several statements as one: they are made in the texts, which are the
//! truth, and everything is compiled anew of them. Routes that come and go meanwhile are logged, and edited in what was
//! compiled before it takes the place of what is there. One statement may concern any other, so nothing less is right
//! for all kinds; decisions do not wait for it.

use super::background::{Running, drop_late};
use super::base;
use super::edit::{Edit, Reading};
use super::error::EditError;
use super::statements;
use super::writer::Writer;
use super::{Shared, table_of};
use crate::engine::Compiler;
use rulec_base::parallel::Threads;
use rulec_sema::hir::ROUTES;
use rulec_syntax::ast::StatementKind;
use std::sync::{Arc, PoisonError};

/// So few logged edits are made while others wait.
const FEW: usize = 16;
/// Edits that come as fast as they are made again wait after so many rounds.
const ROUNDS: usize = 8;

impl Shared {
    /// Makes edits by compiling everything anew.
    pub(super) fn recompile(self: &Arc<Self>, edits: &[Reading<'_>]) -> Result<(), EditError> {
        // Each edit is made in the texts that the one before it left.
        let _turn = self.recompiling.lock().unwrap_or_else(PoisonError::into_inner);
        let (base, changes) = {
            let mut writer = self.lock();
            writer.log = Some(Vec::new());
            (Arc::clone(&writer.base), writer.changes())
        };
        let _logging = Running { shared: self, end: |writer| writer.log = None };
        let texts = changes.apply(&base.rules, &base.places);
        let texts = statements::edited(texts, &base.files.main, edits)?;
        let files = base.files.with(texts);
        drop(base);
        // Tests are about the rules as they were written, but those that come now are about these.
        let tests: Vec<&str> = edits.iter().filter_map(test).collect();
        let is_new = |name: &str| tests.contains(&name);
        let (base, counted) = base::compile(&self.compiler, &files, &files, is_new, Threads::One)?;
        self.ask_guards(&base.rules, edits)?;
        let mut fresh = Writer::new(base, counted);

        let mut writer = self.lock();
        for round in 1.. {
            let log = writer.log.replace(Vec::new()).unwrap_or_default();
            if log.len() <= FEW || round > ROUNDS {
                again(&mut fresh, &self.compiler, &log)?;
                break;
            }
            drop(writer);
            again(&mut fresh, &self.compiler, &log)?;
            writer = self.lock();
        }
        let old = writer.start_anew(fresh);
        self.snapshot.store(writer.snapshot());
        self.start_what_is_due(&mut writer);
        drop(writer);
        let base = Arc::clone(&old.base);
        drop(old);
        drop_late(base);
        Ok(())
    }
}

/// The name of a test that an edit brings.
fn test<'e>(edit: &'e Reading<'_>) -> Option<&'e str> {
    match &edit.draft()?.statement.kind {
        StatementKind::Test(test) => Some(&test.name.node),
        _ => None,
    }
}

/// Makes edits of routes once more.
fn again(writer: &mut Writer, compiler: &Compiler, log: &[Edit]) -> Result<(), EditError> {
    for edit in log {
        let edit = edit.read(writer.base.rules.sources())?;
        let table = table_of(&writer.base.rules, edit.table.unwrap_or(ROUTES))?;
        writer.make(compiler, table, edit.action)?;
    }
    Ok(())
}
