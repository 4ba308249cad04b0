//! Merging: a new base is compiled of the edited texts, beside whatever goes on, and put in place of
//! base and edits. Edits made meanwhile are made again on the new base.

use super::Shared;
use super::base::compile;
use super::writer::Writer;
use crate::engine::CompileError;
use crate::threads::Threads;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// The number of edits that are worth a merge, whatever the number of routes …
const FEW: usize = 1024;
/// … or one for so many routes.
const SHARE: usize = 16;
impl Shared {
    /// Starts a merge in the background when enough has been edited.
    pub(super) fn merge_if_due(self: &Arc<Self>, writer: &mut Writer) {
        let routes = writer.base.rules.program().rules.len();
        let due = match self.merge_after.load(Ordering::Relaxed) {
            0 => FEW.max(routes / SHARE),
            edits => edits,
        };
        if writer.edits < due || writer.merging || writer.edits < writer.retry_at {
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
        if writer.edits == 0 {
            self.idle.notify_all();
            return Ok(());
        }
        writer.merging = true;
        let (base, merged) = (Arc::clone(&writer.base), writer.seal());
        drop(writer);

        let merging = Merging(self);
        let texts = self.files.with(merged.changes.apply(&base.rules, &base.places));
        // Whoever decides meanwhile needs the other cores.
        let compiled = compile(&self.compiler, &texts, &self.files.main, false, Threads::One);

        let mut writer = self.lock();
        std::mem::forget(merging);
        writer.merging = false;
        let result = match compiled {
            // Everything has been compiled anew meanwhile.
            _ if !Arc::ptr_eq(&base, &writer.base) => Ok(()),
            Ok(compiled) => {
                writer.carry_over(compiled, &merged);
                self.snapshot.store(writer.snapshot());
                Ok(())
            }
            Err(error) => {
                writer.sealed = 0;
                writer.retry_at = writer.edits.saturating_mul(2);
                writer.error = Some(error.clone());
                Err(error)
            }
        };
        self.merge_if_due(&mut writer);
        self.compact_if_due(&mut writer);
        drop(writer);
        self.idle.notify_all();
        drop_late(base);
        result
    }
}

/// Says that a merge has ended when it panics.
struct Merging<'s>(&'s Shared);

impl Drop for Merging<'_> {
    fn drop(&mut self) {
        let mut writer = self.0.lock();
        (writer.merging, writer.sealed) = (false, 0);
        self.0.idle.notify_all();
    }
}

/// Gives decisions that still look at a base some time, so that taking it down is none of theirs.
fn drop_late<T>(old: Arc<T>) {
    for _ in 0..100 {
        if Arc::strong_count(&old) == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
