//! Background work of live rules, which makes decisions fast again after edits: compaction and
//! merges.
//!
//! The base is the rule set as last compiled in full. Each segment is a group of routes that edits
//! inserted and that were compiled together. Compaction compiles several segments into one, to keep
//! the number of segments small. It leaves out a segment that has more than twice as many routes as
//! all newer segments together.
//!
//! A merge compiles a new base from the edited texts. Both start from the current state and unlock
//! the writer (the mutable state) while they compile. They then lock the writer again, install the
//! result, and apply the edits made during the compilation.

use super::LiveState;
use super::base;
use super::route::Route;
use super::segment::{RouteSegment, SequenceNumber};
use super::writer::{BackgroundWorkOutcome, CompactionInput, IncompatibleRoutes, LiveWriter};
use crate::engine::{CompileError, Rules};
use hashbrown::HashMap;
use rulec_base::parallel::ThreadLimit;
use rulec_base::text;
use scopeguard::ScopeGuard;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// Minimum number of pending edits at which a merge (a recompilation of all rules) starts in the
/// background. It applies to small rule sets; see [`ROUTES_PER_PENDING_EDIT`] for larger ones.
const MIN_MERGE_EDITS: usize = 1024;
/// Ratio of routes to pending edits at which a merge (a recompilation of all rules) of a large rule
/// set starts. For example, 32,000 routes are merged after 2,000 edits.
const ROUTES_PER_PENDING_EDIT: usize = 16;

impl LiveState {
    /// Starts a background compaction if too many segments (groups of routes compiled together)
    /// exist. Starts a background merge (a recompilation of all rules) if too many edits are
    /// pending.
    pub fn start_due_background_work(self: &Arc<Self>, writer: &mut LiveWriter) {
        if writer.schedule_compaction() && !self.spawn_thread("rulec-compact", LiveState::compact_segments) {
            writer.abort_compaction();
        }
        // The error is not lost here: `merge_now` stores it for `LiveRules::merge_error`.
        let merge = |shared: &Arc<LiveState>| drop(shared.merge_now(shared.lock_writer()));
        if writer.schedule_merge(self.merge_threshold(writer)) && !self.spawn_thread("rulec-merge", merge) {
            writer.abort_merge();
        }
    }

    /// Returns the number of pending edits that starts a background merge (a recompilation of all
    /// rules).
    fn merge_threshold(&self, writer: &LiveWriter) -> usize {
        match self.requested_merge_threshold.load(Ordering::Relaxed) {
            0 => MIN_MERGE_EDITS.max(writer.base().rules.program().rules.len() / ROUTES_PER_PENDING_EDIT),
            edits => edits,
        }
    }

    /// Runs `work` on a new background thread. Returns false if no thread can be started.
    fn spawn_thread(self: &Arc<Self>, name: &str, work: fn(&Arc<LiveState>)) -> bool {
        let shared = Arc::clone(self);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared)).is_ok()
    }

    /// Runs `work`, which recompiles all rules (a merge) or some (a compaction). If `work` panics,
    /// calls `abort`, which changes the writer's state so that no merge or compaction counts as
    /// running. Without this, other threads would wait forever.
    pub(super) fn run_or_abort<T>(&self, abort: fn(&mut LiveWriter), work: impl FnOnce() -> T) -> T {
        let guard = scopeguard::guard((), |()| {
            abort(&mut self.lock_writer());
            self.became_idle.notify_all();
        });
        let result = work();
        // `work` succeeded, so disarm the guard. The guard would abort the next work, which another
        // thread may already have scheduled.
        ScopeGuard::into_inner(guard);
        result
    }

    fn compact_segments(self: &Arc<Self>) {
        self.run_or_abort(LiveWriter::abort_compaction, || while self.compact_segments_once() {});
        self.became_idle.notify_all();
    }

    /// Runs one compaction, which compiles several groups of inserted routes into one. Returns
    /// false if no compaction was needed, or if the compaction failed. The compacting thread must
    /// then end.
    fn compact_segments_once(&self) -> bool {
        let Some(mut input) = self.lock_writer().next_compaction() else { return false };
        let compiled = self.compile_segment(&mut input);
        let mut writer = self.lock_writer();
        let completion = writer.finish_compaction(&input, compiled);
        if let Ok(BackgroundWorkOutcome::Installed) = completion {
            self.publish(&writer);
        }
        // Unlock the writer before the old segments are dropped, so that edits need not wait.
        drop(writer);
        completion.is_ok()
    }

    /// Compiles the routes of a compaction into one segment (a group of routes compiled together).
    /// The routes are moved out of `input`.
    pub(super) fn compile_segment(
        &self,
        input: &mut CompactionInput,
    ) -> Result<RouteSegment, IncompatibleRoutes> {
        let (base, routes) = (&input.base, std::mem::take(&mut input.routes));
        text::with_parse_cache(|| {
            let checked =
                base.declarations.check_inserted_routes(&base.rules, &routes, input.known_fields.clone());
            let rules = checked.compile(&self.compiler, &base.rules).map_err(|_| IncompatibleRoutes)?;
            new_segment(&base.rules, rules, routes).ok_or(IncompatibleRoutes)
        })
    }

    /// Runs a merge: compiles all rules from the current texts and installs the result. `writer` is
    /// the lock on the mutable state. The lock is released during compilation, so that edits can
    /// continue.
    pub fn merge_now(self: &Arc<Self>, mut writer: MutexGuard<'_, LiveWriter>) -> Result<(), CompileError> {
        let Some(input) = writer.begin_merge() else {
            self.became_idle.notify_all();
            return Ok(());
        };
        drop(writer);
        let base = Arc::clone(&input.base);
        let compiled = self.run_or_abort(LiveWriter::abort_merge, || {
            let files = base.files.with_texts(input.changes.apply_to_texts(&base.rules, &base.edit_points));
            // Use one thread: threads that decide need the other cores.
            base::compile_base(&self.compiler, &files, &files, |_| false, ThreadLimit::One)
        });
        let mut writer = self.lock_writer();
        let completion = writer.finish_merge(&input, compiled);
        if let Ok(BackgroundWorkOutcome::Installed) = completion {
            self.publish(&writer);
        }
        self.start_due_background_work(&mut writer);
        drop(writer);
        self.became_idle.notify_all();
        drop(input);
        drop_when_unshared(base);
        completion.map(drop)
    }
}

/// Creates a segment (a group of routes compiled together) from compiled rules and their parsed
/// routes, which may be in any order. The parsed routes refer to tables by their ids in `base`.
/// `None` if `rules` and `routes` do not contain the same routes.
fn new_segment(
    base: &Rules,
    rules: Rules,
    routes: Vec<(Arc<Route>, SequenceNumber)>,
) -> Option<RouteSegment> {
    let program = rules.program();
    let mut routes_by_key: HashMap<_, _> = routes.into_iter().map(|route| (route.0.key(), route)).collect();
    let ordered = program.rules.iter().map(|rule| {
        let table = base.program().table_named(&program.tables[rule.table.index()].name)?;
        routes_by_key.remove(&(table, rule.name.clone()))
    });
    let ordered = ordered.collect::<Option<Vec<_>>>()?;
    routes_by_key.is_empty().then(|| RouteSegment::from_inserted_routes(rules, base, ordered))
}

/// Drops `old`, after waiting up to 100 ms until no decision uses it. So this thread frees the
/// memory. Otherwise the last decision that uses `old` would free it, and would become slow.
pub(super) fn drop_when_unshared<T>(old: Arc<T>) {
    #[cfg(test)]
    SOLE_OWNER_DROP_COUNT.set(SOLE_OWNER_DROP_COUNT.get() + usize::from(Arc::strong_count(&old) == 1));
    for _ in 0..100 {
        if Arc::strong_count(&old) == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
thread_local! {
    /// Number of replaced rule sets (bases) that no other thread used any more when this thread
    /// dropped them. Tests read this counter.
    pub(super) static SOLE_OWNER_DROP_COUNT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
