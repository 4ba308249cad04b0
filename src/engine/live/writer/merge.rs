//! The state of the background merge, and how the writer begins and finishes a merge. A merge
//! compiles the edited texts into a new *base*, which is the rule set as last compiled in full. A
//! *segment* is a group of inserted routes compiled together.

use super::super::base::BaseRules;
use super::super::route::{Route, RouteKey};
use super::super::segment::{RouteSegment, SequenceNumber};
use super::super::source_edits::RouteChanges;
use super::{BackgroundWorkOutcome, LiveWriter, records_history_needed_by};
use crate::engine::CompileError;
use hashbrown::HashSet;
use rulec_sema::check::CountedFields;
use rulec_sema::hir::RuleId;
use std::sync::Arc;

#[derive(Default)]
pub(super) enum MergeState {
    #[default]
    Idle,
    /// A thread was started, and will begin a merge (a recompilation of all rules).
    Scheduled,
    /// A thread compiles all rules from the edited texts.
    Running(RunningMerge),
    /// A thread still compiles texts, but another full compilation ended after the thread began.
    /// The result of the thread will be discarded.
    Superseded,
}

pub(super) struct RunningMerge {
    /// The segments (groups of inserted routes) whose routes the merge compiles into the new base,
    /// oldest first. Decisions use them until the merge is installed.
    segments: Vec<Arc<RouteSegment>>,
    /// The routes that edits removed or replaced since the merge began, as table and name. If the
    /// newly compiled rules have them, they are marked as removed there.
    removed_routes: Vec<RouteKey>,
}

impl MergeState {
    pub fn is_idle(&self) -> bool {
        matches!(self, MergeState::Idle)
    }

    /// Returns the segments (groups of inserted routes) that a running merge compiles into the new
    /// base. Empty if no merge runs.
    pub fn segments(&self) -> &[Arc<RouteSegment>] {
        match self {
            MergeState::Running(merge) => &merge.segments,
            _ => &[],
        }
    }

    pub fn segments_mut(&mut self) -> Option<&mut Vec<Arc<RouteSegment>>> {
        match self {
            MergeState::Running(merge) => Some(&mut merge.segments),
            _ => None,
        }
    }

    /// Records for a running merge (a recompilation of all rules) that an edit removed or replaced
    /// a route. Does nothing if no merge runs.
    pub fn record_removal(&mut self, route: RouteKey) {
        if let MergeState::Running(merge) = self {
            merge.removed_routes.push(route);
        }
    }

    /// Changes the state of the merge (a recompilation of all rules) from idle to scheduled and
    /// returns true. Returns false, without an effect, if the state is not idle: a thread is then
    /// scheduled or still compiles.
    fn schedule_if_idle(&mut self) -> bool {
        let is_idle = self.is_idle();
        if is_idle {
            *self = MergeState::Scheduled;
        }
        is_idle
    }

    /// Begins a merge (a recompilation of all rules). Moves the segments (groups of inserted
    /// routes) from `added_segments` into this state. Returns false if a merge already runs.
    fn start_running(&mut self, added_segments: &mut Vec<Arc<RouteSegment>>) -> bool {
        let can_begin = matches!(self, MergeState::Idle | MergeState::Scheduled);
        debug_assert!(can_begin, "two merges at a time");
        if can_begin {
            *self = MergeState::Running(RunningMerge {
                segments: std::mem::take(added_segments),
                removed_routes: Vec::new(),
            });
        }
        can_begin
    }

    /// Records that other fully compiled rules replace the current ones, so that the result of a
    /// running merge will be discarded. Returns the segments (groups of inserted routes) of that
    /// merge, for the caller to free.
    pub fn mark_superseded(&mut self) -> Vec<Arc<RouteSegment>> {
        match std::mem::take(self) {
            MergeState::Running(merge) => {
                *self = MergeState::Superseded;
                return merge.segments;
            }
            other => *self = other,
        }
        Vec::new()
    }

    /// Ends the merge (a recompilation of all rules) and resets the state to idle. Returns the
    /// merge if it was running, otherwise `None`. The caller must install its result, or put its
    /// segments (groups of inserted routes) back into the list of current segments.
    fn end(&mut self) -> Option<RunningMerge> {
        match std::mem::take(self) {
            MergeState::Running(merge) => Some(merge),
            MergeState::Idle | MergeState::Scheduled | MergeState::Superseded => None,
        }
    }
}

/// The state from which a merge starts: the current base (the rule set as last compiled in full)
/// and the edits. The merge compiles both into a new base.
pub(in super::super) struct MergeInput {
    pub base: Arc<BaseRules>,
    pub changes: RouteChanges,
    /// Number of edits that the merge (a recompilation of all rules) includes.
    edit_count: usize,
    /// Routes with this or a greater sequence number were inserted after the merge (recompilation
    /// of all rules) began. The merge does not include them.
    next_sequence_number: SequenceNumber,
}

/// The error of the last merge (full recompilation in the background), and when to try again.
pub(super) struct MergeFailure {
    pub error: CompileError,
    /// Number of pending edits at which the next merge (a recompilation of all rules) starts
    /// automatically.
    retry_edit_count: usize,
}

impl LiveWriter {
    /// Schedules a merge (full recompilation in the background) if there are at least `threshold`
    /// pending edits, and no merge is scheduled or runs. If the last merge failed, there must also
    /// be twice as many pending edits as at that time. If the result is true, the caller must start
    /// a thread that calls [`LiveWriter::begin_merge`].
    pub fn schedule_merge(&mut self, threshold: usize) -> bool {
        let retry_at =
            self.background.last_merge_failure.as_ref().map_or(0, |failure| failure.retry_edit_count);
        self.revision.pending_edit_count >= threshold.max(retry_at)
            && self.background.merge.schedule_if_idle()
    }

    /// Begins a merge (a recompilation of all rules) and returns its input. `None` if there is
    /// nothing to merge.
    pub fn begin_merge(&mut self) -> Option<MergeInput> {
        if self.revision.pending_edit_count == 0 {
            self.abort_merge();
            return None;
        }
        let input = MergeInput {
            base: Arc::clone(self.base()),
            changes: self.route_changes(),
            edit_count: self.revision.pending_edit_count,
            next_sequence_number: self.catalog.next_sequence_number(),
        };
        self.background.merge.start_running(&mut self.added_segments).then_some(input)
    }

    /// Finishes a merge (a recompilation of all rules) by installing the compiled rules. Discards
    /// them if another recompilation has ended since the merge began. Also discards them if a route
    /// inserted since then reads more of the earlier messages than the compiled rules record. The
    /// next merge includes that route.
    ///
    /// # Errors
    /// If the edited texts did not compile. The rules then continue unchanged.
    pub fn finish_merge(
        &mut self,
        input: &MergeInput,
        compiled: Result<(BaseRules, CountedFields), CompileError>,
    ) -> Result<BackgroundWorkOutcome, CompileError> {
        let merge = self.background.merge.end();
        let is_current = Arc::ptr_eq(&input.base, self.base());
        debug_assert_eq!(merge.is_some(), is_current, "a replaced base supersedes the merge");
        let Some(merge) = merge else { return Ok(BackgroundWorkOutcome::Superseded) };
        match compiled {
            Ok((base, _))
                if !self
                    .added_segments
                    .iter()
                    .all(|new| records_history_needed_by(&base.rules, &new.rules)) =>
            {
                self.restore_segments(merge);
                Ok(BackgroundWorkOutcome::Superseded)
            }
            Ok((base, counted)) => {
                self.install_merge(input, base, counted, &merge.removed_routes);
                Ok(BackgroundWorkOutcome::Installed)
            }
            Err(error) => {
                self.restore_segments(merge);
                let retry_at = self.revision.pending_edit_count.saturating_mul(2);
                self.background.last_merge_failure =
                    Some(MergeFailure { error: error.clone(), retry_edit_count: retry_at });
                Err(error)
            }
        }
    }

    /// Ends a merge (a recompilation of all rules) without a result. Called if no edit is pending,
    /// or if the thread of the merge could not be started or panicked.
    pub fn abort_merge(&mut self) {
        if let Some(merge) = self.background.merge.end() {
            self.restore_segments(merge);
        }
    }

    /// Puts the segments (groups of inserted routes) of a failed or aborted merge back into the
    /// list of current segments. They come before the segments that were added during the merge.
    fn restore_segments(&mut self, merge: RunningMerge) {
        self.added_segments.splice(0..0, merge.segments);
    }

    /// Installs `base`, the rule set that a merge (a recompilation of all rules) compiled. Routes
    /// inserted during the merge stay in their segments (groups of routes compiled together).
    /// `removed` are the routes removed or replaced during the merge.
    fn install_merge(
        &mut self,
        input: &MergeInput,
        base: BaseRules,
        counted: CountedFields,
        removed: &[RouteKey],
    ) {
        self.constraints.update_declared_input(counted);
        let removed_base_routes: HashSet<RuleId> =
            removed.iter().filter_map(|(table, name)| base.route_named(*table, name)).collect();
        self.revision.version += 1;
        removed_base_routes.iter().for_each(|id| base.segment.mark_removed(*id, self.revision.version));
        let old_catalog = self.catalog.replace_base(base, removed_base_routes);
        for segment in std::mem::take(&mut self.added_segments) {
            let segment = Arc::new(self.renumbered_segment(&segment, input.next_sequence_number));
            for (at, route) in segment.routes.iter().enumerate() {
                if old_catalog.is_current(route) {
                    self.catalog.register_route(&segment, RuleId(at as u32));
                }
            }
            self.added_segments.push(segment);
        }
        debug_assert!(self.revision.pending_edit_count >= input.edit_count, "merged edits were pending");
        self.revision.pending_edit_count = self.revision.pending_edit_count.saturating_sub(input.edit_count);
        self.background.compaction.mark_superseded();
        self.background.last_merge_failure = None;
    }

    /// Returns a copy of a segment (group of routes) that was added during the merge. In the copy,
    /// the routes have the sequence numbers that they need after the merge, to order routes of
    /// equal priority.
    ///
    /// A new route keeps its number. A route with a number below `next_sequence` (the first number
    /// that was free when the merge began) replaces a route of the new base. It gets the number of
    /// the replaced route, which is a rule id.
    fn renumbered_segment(&self, segment: &RouteSegment, next_sequence: SequenceNumber) -> RouteSegment {
        let base = self.base();
        let sequence = |(at, route): (usize, &Arc<Route>)| {
            let sequence = segment.sequence_number(RuleId(at as u32));
            let replaced_route =
                base.route_named(route.table, &route.name).filter(|_| sequence < next_sequence);
            replaced_route.map_or(sequence, |id| base.segment.sequence_number(id))
        };
        segment.with_sequence_numbers(segment.routes.iter().enumerate().map(sequence).collect())
    }
}
