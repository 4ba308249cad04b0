//! Background work: compaction and merges.
//!
//! Compaction compiles segments that were added after the base into one segment. It keeps their
//! number small: each segment has more than twice as many routes as the next. A merge compiles a
//! new base from the edited texts. Both start from the current state and release the writer while
//! they compile. Then they install the result, and edits made during the compilation are applied to
//! it.

use super::Shared;
use super::base;
use super::declarations::name_in;
use super::route::Route;
use super::segment::{Segment, SequenceNumber};
use super::writer::Writer;
use crate::engine::{CompileError, Rules};
use hashbrown::HashMap;
use rulec_base::parallel::Threads;
use rulec_base::text;
use rulec_sema::hir::TableId;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// Minimum number of edits before a merge is worthwhile …
const FEW_EDITS: usize = 1024;
/// … and for large rule sets, one edit per this number of routes.
const SHARE: usize = 16;
/// Number of added segments of one file that need no compaction.
const FEW_SEGMENTS: usize = 3;
/// Segments with at least this number of routes are left to the next merge.
const LARGE: usize = 512;

impl Shared {
    /// Starts a compaction and a merge if they are due.
    pub fn start_due_work(self: &Arc<Self>, writer: &mut Writer) {
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
            // `merge_now` keeps the error for `merge_error`.
            writer.merging = self.spawn("rulec-merge", |shared| drop(shared.merge_now(shared.lock())));
        }
    }

    /// Runs `work` on a new thread; false if no thread can be started.
    fn spawn(self: &Arc<Self>, name: &str, work: fn(&Arc<Shared>)) -> bool {
        let shared = Arc::clone(self);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared)).is_ok()
    }

    /// Compacts once; false if nothing is due. The flag `compacting` is cleared under the same
    /// lock, so a later edit starts compaction again.
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
        // The base may have been replaced by a recompilation.
        if !Arc::ptr_eq(&base, &writer.base) {
            return true;
        }
        let Some(segment) = compiled else {
            // The routes do not compile together, so keep the separate segments.
            (writer.incompatible, writer.compacting) = (true, false);
            return false;
        };
        writer.replace(&old, segment);
        self.snapshot.store(writer.snapshot());
        // Dropping the old segments need not block edits.
        drop(writer);
        true
    }

    /// Compiles the current texts into a new base. The writer is unlocked during compilation.
    pub fn merge_now(self: &Arc<Self>, mut writer: MutexGuard<'_, Writer>) -> Result<(), CompileError> {
        writer.merging = writer.edits > 0;
        if !writer.merging {
            self.idle.notify_all();
            return Ok(());
        }
        let (base, merged) = (Arc::clone(&writer.base), writer.seal());
        drop(writer);

        let running = Running { shared: self, end: |writer| (writer.merging, writer.sealed) = (false, 0) };
        let files = base.files.with(merged.changes.apply(&base.rules, &base.edit_points));
        // Use one thread: threads that decide need the other cores.
        let compiled = base::compile(&self.compiler, &files, &files, |_| false, Threads::One);

        let mut writer = self.lock();
        std::mem::forget(running);
        writer.merging = false;
        let result = match compiled {
            // A recompilation has already replaced the base.
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
        self.start_due_work(&mut writer);
        drop(writer);
        self.idle.notify_all();
        drop_late(base);
        result
    }
}

/// Creates a segment from rules that were compiled together; `None` if a route is missing from
/// them. The routes are put in the order of the rules.
fn segment(base: &Rules, rules: Rules, routes: Vec<(Arc<Route>, SequenceNumber)>) -> Option<Segment> {
    let program = rules.program();
    let mut by_name: HashMap<_, _> = routes.into_iter().map(|route| (route.0.key(), route)).collect();
    let ordered = program.rules.iter().map(|rule| {
        let table = base.program().table_named(&program.tables[rule.table.index()].name)?;
        by_name.remove(&(table, rule.name.clone()))
    });
    let ordered = ordered.collect::<Option<Vec<_>>>()?;
    by_name.is_empty().then(|| Segment::added(rules, base, ordered))
}

/// Runs `end` on the writer when dropped, so that a panic also ends the work.
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

/// Waits up to 100 ms until no decision uses `old`, so that this thread frees it, not a thread that
/// decides.
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
    /// The number of bases that had no other owner when this thread freed them.
    pub(super) static LEFT_ALONE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Writer {
    /// Returns the added segments to compact next; `None` if there are few enough.
    fn due(&self) -> Option<Vec<Arc<Segment>>> {
        let home = |segment: &Segment| {
            let table = segment.routes.first().map_or(TableId(0), |route| route.table);
            self.base.declarations.file_of_table(name_in(&self.base.rules, table))
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
