//! Merging: a new base is compiled of the edited texts, beside whatever goes on, and put in place of
//! base and edits. Edits made meanwhile are made again on the new base.

use super::Shared;
use super::declarations::Declarations;
use super::texts::Places;
use super::view::Base;
use super::writer::Writer;
use crate::diag::Code;
use crate::engine::{CompileError, Compiler};
use crate::loader::{self, Loaded, Loader};
use crate::sema::check::{Allows, Known, check_counting};
use crate::syntax::ast::StatementKind;
use crate::text;
use crate::threads::Threads;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// Compiled rules with what is needed to edit them.
pub(super) struct Compiled {
    pub base: Base,
    pub declarations: Declarations,
    /// The fields of the message.
    pub known: Known,
}

/// Compiles rules that are to be edited. Their tests are checked the `first` time only: they are about
/// the rules as they were written.
pub(super) fn compile(
    compiler: &Compiler,
    loader: &dyn Loader,
    path: &str,
    first: bool,
    threads: Threads,
) -> Result<Compiled, CompileError> {
    let mut loaded = loader::load_on(threads, loader, path);
    loaded.diagnostics.retain(|found| found.code != Code::EmptyFile);
    if !first {
        for unit in &mut loaded.units {
            unit.statements.retain(|statement| !matches!(statement.kind, StatementKind::Test(_)));
        }
    }
    text::keeping_parsed(|| compile_loaded(compiler, loaded))
}

fn compile_loaded(compiler: &Compiler, mut loaded: Loaded) -> Result<Compiled, CompileError> {
    let (program, found, known) = check_counting(&loaded);
    let allows = Allows::of(&loaded);
    let places = Places::of(&loaded.units);
    let declarations = Declarations::new(std::mem::take(&mut loaded.units));
    let rules = compiler.finish(loaded, program, found, &allows)?;
    Ok(Compiled { base: Base::new(rules, places), declarations, known })
}

/// So many edits are worth a merge, whatever the number of routes …
const FEW: usize = 1024;
/// … or one for so many routes.
const SHARE: usize = 16;
/// So many routes that are tried for every message are.
const ALWAYS: usize = 64;

impl Shared {
    /// Starts a merge in the background when enough has been edited.
    pub(super) fn merge_if_due(self: &Arc<Self>, writer: &mut Writer) {
        let routes = writer.view.base.rules.program().rules.len();
        let due = match self.merge_after.load(Ordering::Relaxed) {
            0 => writer.version as usize >= FEW.max(routes / SHARE) || writer.always >= ALWAYS,
            edits => writer.version as usize >= edits,
        };
        if !due || writer.merging || writer.version < writer.retry_at {
            return;
        }
        let shared = Arc::clone(self);
        let started = std::thread::Builder::new().name("rulec-merge".to_owned()).spawn(move || {
            let mut writer = shared.lock();
            // Told to go ahead by whoever started this thread.
            writer.merging = false;
            // A failure is kept for whoever asks.
            drop(shared.merge_now(writer));
        });
        writer.merging = started.is_ok();
    }

    /// Compiles the texts as they are now. The writer is free meanwhile.
    pub(super) fn merge_now(
        self: &Arc<Self>,
        mut writer: MutexGuard<'_, Writer>,
    ) -> Result<(), CompileError> {
        if writer.version == 0 {
            self.merged.notify_all();
            return Ok(());
        }
        writer.merging = true;
        let old = Arc::clone(&writer.view);
        let (changes, version, next_place) = (writer.changes(), writer.version, writer.next_place);
        drop(writer);

        let merging = Merging(self);
        let texts = self.files.with(changes.apply(&old.base));
        // Whoever decides meanwhile needs the other cores.
        let compiled = compile(&self.compiler, &texts, &self.files.main, false, Threads::One);

        let mut writer = self.lock();
        std::mem::forget(merging);
        writer.merging = false;
        let result = match compiled {
            // Everything has been compiled anew meanwhile.
            _ if !Arc::ptr_eq(&old, &writer.view) => Ok(()),
            Ok(compiled) => {
                let view = writer.carry_over(compiled, version, next_place);
                self.view.store(view);
                writer.error = None;
                Ok(())
            }
            Err(error) => {
                writer.retry_at = writer.version.saturating_mul(2);
                writer.error = Some(error.clone());
                Err(error)
            }
        };
        self.merge_if_due(&mut writer);
        drop(writer);
        self.merged.notify_all();
        drop_late(old);
        result
    }
}

/// Says that a merge has ended when it panics.
struct Merging<'s>(&'s Shared);

impl Drop for Merging<'_> {
    fn drop(&mut self) {
        self.0.lock().merging = false;
        self.0.merged.notify_all();
    }
}

/// Gives decisions that still look at a view some time, so that taking it down is none of theirs.
fn drop_late<T>(old: Arc<T>) {
    for _ in 0..100 {
        if Arc::strong_count(&old) == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
