//! Work beside decisions and edits: compaction compiles young segments together, so that there are few
//! of them however many routes came, each more than twice as large as the next; a merge compiles a new
//! base of the edited texts. Both begin with what is there, leave the writer free while they compile,
//! and then put their result in its place; edits made meanwhile are made again on that.

use super::Shared;
use super::base;
use super::declarations::name_in;
use super::route::Route;
use super::segment::{Place, Segment};
use super::writer::Writer;
use crate::engine::{CompileError, Rules};
use hashbrown::HashMap;
use rulec_base::parallel::Threads;
use rulec_base::text;
use rulec_sema::hir::TableId;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// The number of edits that are worth a merge, whatever the number of routes …
const FEW_EDITS: usize = 1024;
/// … or one for so many routes.
const SHARE: usize = 16;
/// The number of young segments of one file that are left alone.
const FEW_SEGMENTS: usize = 3;
/// A segment of so many routes is left to the next merge.
const LARGE: usize = 512;

impl Shared {
    /// Starts compaction and a merge where they are due.
    pub fn start_what_is_due(self: &Arc<Self>, writer: &mut Writer) {
        if !writer.compacting && writer.due().is_some() {
            writer.compacting = self.spawn("rulec-compact", |shared| {
                let running = Running { shared, end: |writer| writer.compacting = false };
                while shared.compact() {}
                std::mem::forget(running);
                shared.idle.notify_all();
            });
        }
        let routes = writer.base.rules.program().rules.len();
        let due = match self.merge_after.load(Ordering::Relaxed) {
            0 => FEW_EDITS.max(routes / SHARE),
            edits => edits,
        };
        if !writer.merging && writer.edits >= due && writer.edits >= writer.retry_at {
            // A failure is kept for whoever asks.
            writer.merging = self.spawn("rulec-merge", |shared| drop(shared.merge_now(shared.lock())));
        }
    }

    /// Has work done by another thread; false when there is none to be had.
    fn spawn(self: &Arc<Self>, name: &str, work: fn(&Arc<Shared>)) -> bool {
        let shared = Arc::clone(self);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared)).is_ok()
    }

    /// Compacts once; false when there is nothing to be done, which ends it under the same lock: an edit
    /// that comes later starts it again.
    fn compact(&self) -> bool {
        let mut writer = self.lock();
        let Some(old) = writer.due() else {
            writer.compacting = false;
            return false;
        };
        let routes = writer.living_in(&old);
        if routes.is_empty() {
            writer.drop_segments(&old);
            return true;
        }
        let (base, known) = (Arc::clone(&writer.base), writer.counted.known());
        drop(writer);
        let compiled = text::keeping_parsed(|| {
            let checked = base.declarations.check_all(&base.rules, &routes, known);
            let rules = checked.finish(&self.compiler, &base.rules).ok();
            rules.and_then(|rules| segment(&base.rules, rules, routes))
        });
        let mut writer = self.lock();
        // Everything may have been compiled anew meanwhile.
        if !Arc::ptr_eq(&base, &writer.base) {
            return true;
        }
        let Some(segment) = compiled else {
            // Each alone they go on as before.
            (writer.incompatible, writer.compacting) = (true, false);
            return false;
        };
        writer.replace(&old, segment);
        self.snapshot.store(writer.snapshot());
        // Edits need not wait until the old segments are taken down.
        drop(writer);
        true
    }

    /// Compiles the texts as they are now. The writer is free meanwhile.
    pub fn merge_now(self: &Arc<Self>, mut writer: MutexGuard<'_, Writer>) -> Result<(), CompileError> {
        writer.merging = writer.edits > 0;
        if !writer.merging {
            self.idle.notify_all();
            return Ok(());
        }
        let (base, merged) = (Arc::clone(&writer.base), writer.seal());
        drop(writer);

        let running = Running { shared: self, end: |writer| (writer.merging, writer.sealed) = (false, 0) };
        let files = base.files.with(merged.changes.apply(&base.rules, &base.places));
        // Whoever decides meanwhile needs the other cores.
        let compiled = base::compile(&self.compiler, &files, &files, |_| false, Threads::One);

        let mut writer = self.lock();
        std::mem::forget(running);
        writer.merging = false;
        let result = match compiled {
            // Everything has been compiled anew meanwhile.
            _ if !Arc::ptr_eq(&base, &writer.base) => Ok(()),
            Ok((new, counted)) => {
                writer.carry_over(new, counted, &merged);
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
        self.start_what_is_due(&mut writer);
        drop(writer);
        self.idle.notify_all();
        drop_late(base);
        result
    }
}

/// Routes as they stand in the rules that were compiled of them.
fn segment(base: &Rules, rules: Rules, routes: Vec<(Arc<Route>, Place)>) -> Option<Segment> {
    let program = rules.program();
    let mut by_name: HashMap<_, _> = routes.into_iter().map(|route| (route.0.key(), route)).collect();
    let ordered = program.rules.iter().map(|rule| {
        let table = base.program().table_named(&program.tables[rule.table.index()].name)?;
        by_name.remove(&(table, rule.name.clone()))
    });
    let ordered = ordered.collect::<Option<Vec<_>>>()?;
    by_name.is_empty().then(|| Segment::young(rules, base, ordered))
}

/// Says that work has ended, also when it panics.
pub(super) struct Running<'s> {
    pub shared: &'s Shared,
    pub end: fn(&mut Writer),
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        (self.end)(&mut self.shared.lock());
        self.shared.idle.notify_all();
    }
}

/// Gives decisions that still look at a base some time, so that taking it down is none of theirs.
pub(super) fn drop_late<T>(old: Arc<T>) {
    #[cfg(test)]
    LEFT_ALONE.set(LEFT_ALONE.get() + usize::from(Arc::strong_count(&old) == 1));
    for _ in 0..100 {
        if Arc::strong_count(&old) == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
thread_local! {
    /// The number of bases that nobody else held when a thread took them down.
    pub(super) static LEFT_ALONE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Writer {
    /// The young segments that are to be compacted next, when there are too many.
    fn due(&self) -> Option<Vec<Arc<Segment>>> {
        let home = |segment: &Segment| {
            let table = segment.routes.first().map_or(TableId(0), |route| route.table);
            self.base.declarations.home(name_in(&self.base.rules, table))
        };
        let open = self.young.get(self.sealed..)?;
        let newest = home(open.last()?);
        let of_home = open.iter().rev();
        let of_home = of_home.filter(|segment| segment.routes.len() < LARGE && home(segment) == newest);
        let of_home: Vec<&Arc<Segment>> = of_home.collect();
        if self.incompatible || of_home.len() <= FEW_SEGMENTS {
            return None;
        }
        let (mut taken, mut routes) = (Vec::new(), 0);
        for segment in of_home {
            if taken.len() > 1 && segment.routes.len() > 2 * routes {
                break;
            }
            routes += segment.routes.len();
            taken.push(Arc::clone(segment));
        }
        Some(taken)
    }
}
