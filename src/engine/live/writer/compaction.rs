//! The state of the background compaction, and how the writer starts and finishes a compaction. A
//! compaction compiles several *segments* (groups of inserted routes compiled together) into one.
//! The *base* is the rule set as last compiled in full.

use super::super::base::BaseRules;
use super::super::declarations::table_name;
use super::super::route::Route;
use super::super::segment::{RouteSegment, SequenceNumber};
use super::{BackgroundWorkOutcome, LiveWriter};
use rulec_sema::check::KnownFields;
use rulec_sema::hir::{RuleId, TableId};
use std::sync::Arc;

/// Maximum number of segments (groups of inserted routes compiled together) that a rule file may
/// have without compaction. Searching at most this number of segments is cheap.
const MAX_UNCOMPACTED_SEGMENTS: usize = 3;
/// A segment (group of inserted routes compiled together) with at least this number of routes is
/// not compacted any more. The next full recompilation includes its routes.
const MAX_COMPACTED_ROUTES: usize = 512;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CompactionState {
    #[default]
    Idle,
    /// A background thread, which compiles inserted routes together, is running or about to start.
    Running,
    /// A thread still compacts inserted routes, but all rules were recompiled after the thread
    /// began. The result of the thread will be discarded.
    Superseded,
    /// The inserted routes do not compile together. They stay in separate segments (groups of
    /// routes compiled together) until the next full compilation.
    Failed,
}

impl CompactionState {
    /// True if a background thread compiles several groups of inserted routes into one, even if its
    /// result will be discarded.
    pub fn is_running(self) -> bool {
        matches!(self, CompactionState::Running | CompactionState::Superseded)
    }

    /// Records that all rules were recompiled, so that the result of a running compaction is
    /// discarded.
    pub fn mark_superseded(&mut self) {
        *self = match self.is_running() {
            true => CompactionState::Superseded,
            false => CompactionState::Idle,
        };
    }
}

/// The data for one compaction, which compiles several segments (groups of inserted routes) into
/// one.
pub(in super::super) struct CompactionInput {
    pub base: Arc<BaseRules>,
    /// The types and uses of message fields in the current rules. The check of the routes needs
    /// them, because all rules must agree on the type of a field.
    pub known_fields: KnownFields,
    pub segments: Vec<Arc<RouteSegment>>,
    /// The current routes that the compaction compiles together, in the order of their sequence
    /// numbers (which order routes of equal priority).
    pub routes: Vec<(Arc<Route>, SequenceNumber)>,
}

/// Error: routes that edits inserted one by one do not compile together.
#[derive(Debug)]
pub(in super::super) struct IncompatibleRoutes;

impl LiveWriter {
    /// Schedules a compaction (which compiles several groups of inserted routes into one) if one is
    /// needed and none runs. If the result is true, the caller must start a thread that calls
    /// [`LiveWriter::next_compaction`] until that method returns `None`.
    pub fn schedule_compaction(&mut self) -> bool {
        let is_due =
            self.background.compaction == CompactionState::Idle && self.segments_to_compact().is_some();
        if is_due {
            self.background.compaction = CompactionState::Running;
        }
        is_due
    }

    /// Returns the input of the next compaction (which compiles several groups of inserted routes
    /// into one). `None` if no compaction is needed; the compacting thread must then end.
    pub fn next_compaction(&mut self) -> Option<CompactionInput> {
        debug_assert!(self.background.compaction.is_running(), "this compaction was not scheduled");
        while let Some(segments) = self.segments_to_compact() {
            let routes = self.catalog.inserted_routes_in(&segments);
            if routes.is_empty() {
                self.drop_segments(&segments);
                continue;
            }
            self.background.compaction = CompactionState::Running;
            let (base, known_fields) = (Arc::clone(self.base()), self.constraints.counted_fields.snapshot());
            return Some(CompactionInput { base, known_fields, segments, routes });
        }
        self.background.compaction = CompactionState::Idle;
        None
    }

    /// Finishes a compaction: installs the compiled segment, unless another full compilation
    /// replaced the base since the compaction began.
    ///
    /// # Errors
    /// If the routes do not compile together. The segments then stay separate, and the compacting
    /// thread must end.
    pub fn finish_compaction(
        &mut self,
        input: &CompactionInput,
        compiled: Result<RouteSegment, IncompatibleRoutes>,
    ) -> Result<BackgroundWorkOutcome, IncompatibleRoutes> {
        let is_current = Arc::ptr_eq(&input.base, self.base());
        debug_assert_eq!(
            self.background.compaction,
            if is_current { CompactionState::Running } else { CompactionState::Superseded }
        );
        if !is_current {
            return Ok(BackgroundWorkOutcome::Superseded);
        }
        match compiled {
            Ok(segment) => {
                self.replace_segments(&input.segments, segment);
                Ok(BackgroundWorkOutcome::Installed)
            }
            Err(error) => {
                self.background.compaction = CompactionState::Failed;
                Err(error)
            }
        }
    }

    /// Ends the compaction (recompilation of inserted routes) without a result, because its thread
    /// could not be started or panicked.
    pub fn abort_compaction(&mut self) {
        self.background.compaction = CompactionState::Idle;
    }

    /// Returns the segments (groups of inserted routes) to compact next; `None` if at most
    /// [`MAX_UNCOMPACTED_SEGMENTS`] could be compacted. All returned segments have routes of the
    /// file of the newest segment, because routes are checked with the settings of one file.
    /// Segments of a running merge are left out, because the new base will replace them.
    fn segments_to_compact(&self) -> Option<Vec<Arc<RouteSegment>>> {
        let BaseRules { rules, declarations, .. } = &**self.base();
        let file_of = |segment: &RouteSegment| {
            let table = segment.routes.first().map_or(TableId(0), |route| route.table);
            declarations.file_index_of_table(table_name(rules, table))
        };
        let newest_file = file_of(self.added_segments.last()?);
        let is_candidate = |segment: &RouteSegment| {
            segment.routes.len() < MAX_COMPACTED_ROUTES && file_of(segment) == newest_file
        };
        let candidates: Vec<&Arc<RouteSegment>> =
            self.added_segments.iter().rev().filter(|segment| is_candidate(segment)).collect();
        if candidates.len() <= MAX_UNCOMPACTED_SEGMENTS {
            return None;
        }
        let (mut selected, mut routes) = (Vec::new(), 0);
        for segment in candidates {
            if selected.len() > 1 && segment.routes.len() > 2 * routes {
                break;
            }
            routes += segment.routes.len();
            selected.push(Arc::clone(segment));
        }
        Some(selected)
    }

    /// Replaces the segments (groups of routes compiled together) in `old` by `new`, which was
    /// compiled from their routes. Routes removed during the compilation are removed from `new`
    /// too.
    fn replace_segments(&mut self, old: &[Arc<RouteSegment>], new: RouteSegment) {
        let new = Arc::new(new);
        let is_old = |segment: &Arc<RouteSegment>| old.iter().any(|old| Arc::ptr_eq(old, segment));
        // A merge may have begun during the compaction. The old segments are then in the list of
        // the merge.
        let merging_list = self.background.merge.segments_mut().filter(|list| list.iter().any(is_old));
        let list = merging_list.unwrap_or(&mut self.added_segments);
        let first_position = list.iter().position(is_old).unwrap_or(list.len());
        list.insert(first_position, Arc::clone(&new));
        list.retain(|segment| !is_old(segment));
        for (at, route) in new.routes.iter().enumerate() {
            let rule = RuleId(at as u32);
            match self.catalog.is_current(route) {
                true => self.catalog.register_route(&new, rule),
                // No snapshot contains the new segment yet, so the removal may have any version.
                false => new.mark_removed(rule, 1),
            }
        }
    }
}
