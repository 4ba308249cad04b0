//! The mutable state of live rules. One thread at a time edits it and publishes the result as one
//! new snapshot, which decisions read. Only this module and its submodules change the state.
//!
//! The *base* is the rule set as last compiled in full; a *segment* is a group of routes compiled
//! together. A *merge* compiles a new base from the edited texts, and a *compaction* compiles
//! several segments into one. Both run in the background.

mod catalog;
mod compaction;
mod merge;

pub(super) use compaction::{CompactionInput, IncompatibleRoutes};

use super::base::{self, BaseRules};
use super::edit::{Edit, EditAction};
use super::error::EditError;
use super::goto_graph::GotoGraph;
use super::route::{ParsedStatement, Route, refused_statement_error};
use super::segment::RouteSegment;
use super::snapshot::LiveSnapshot;
use super::source_edits::RouteChanges;
use crate::engine::set::next_generation;
use crate::engine::{CompileError, Compiler, Rules};
use catalog::{RouteCatalog, RouteLocation};
use compaction::CompactionState;
use merge::{MergeFailure, MergeState};
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_base::text;
use rulec_sema::check::{CountedFields, CountedUses, RouteUses};
use rulec_sema::hir::{RuleId, TableId};
use std::sync::Arc;

/// The mutable state of live rules, which edits change. Decisions read immutable snapshots of it.
pub(super) struct LiveWriter {
    catalog: RouteCatalog,
    /// The segments (groups of routes compiled together) of inserted routes, oldest first. While a
    /// merge runs, the segments that it compiles into a new base are not here but in `background`,
    /// in the state of the merge.
    added_segments: Vec<Arc<RouteSegment>>,
    constraints: RouteConstraints,
    revision: RevisionCounters,
    background: BackgroundWork,
    /// The edits of routes since a recompilation of all rules began. These edits will be applied to
    /// the recompiled rules. `None` if no recompilation runs.
    edit_log: Option<Vec<Edit>>,
}

/// How all current routes use message fields and jump (`goto`) between tables. A new route must
/// agree with these routes on the type of each field, and its jumps must not close a cycle.
struct RouteConstraints {
    /// The declared `input`. Without a declaration: for each message field and each way to use it,
    /// the number of routes that use the field in this way. The types of fields are inferred from
    /// these counts.
    counted_fields: CountedFields,
    goto_graph: GotoGraph,
}

/// Counters that identify a state of the live rules. Each edit of a route advances them.
struct RevisionCounters {
    /// The number of the last change: an edit of a route, or an installed merge. The marks of
    /// removed routes (tombstones) also contain such a number.
    version: u64,
    /// The version number (generation) of the rules with all edits. Full recompilations in the
    /// background (merges) and compactions keep it, because they change no decision.
    generation: u64,
    /// Number of edits since the last full compilation.
    pending_edit_count: usize,
}

/// The state of the background merge (full recompilation) and of the background compaction. Both
/// may run at the same time: a merge takes seconds for large rule sets, and decisions would be slow
/// without compaction.
#[derive(Default)]
struct BackgroundWork {
    compaction: CompactionState,
    merge: MergeState,
    /// The failure of the last merge (full recompilation in the background); `None` if it
    /// succeeded.
    last_merge_failure: Option<MergeFailure>,
}

/// How background work ended. Background work is a merge (full recompilation) or a compaction
/// (which compiles several groups of inserted routes into one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BackgroundWorkOutcome {
    /// The result is part of the mutable state. The caller must publish a snapshot, so that
    /// decisions use the result.
    Installed,
    /// The result was discarded, for one of two reasons. Another full compilation replaced the
    /// rules after the work began. Or, for a merge: a route that was inserted after the work began
    /// reads more of the earlier messages than the merged rules would record.
    Superseded,
}

impl RouteConstraints {
    /// Returns counts of how routes use message fields, from which the types of the fields are
    /// inferred. `None` if the rules declare `input`, which gives the types.
    fn counted_uses(&mut self) -> Option<&mut CountedUses> {
        match &mut self.counted_fields {
            CountedFields::Uses(uses) => Some(uses),
            CountedFields::Input(_) => None,
        }
    }

    /// Subtracts the field uses of a removed route from the counts. A use is a field that the route
    /// reads, with the kinds of value that it accepts. Returns false if this changes the inferred
    /// type of a field that other routes read. The counts are changed in both cases, so a caller
    /// that does not remove the route must add the uses again.
    fn remove_uses(&mut self, used: Option<&Arc<RouteUses>>) -> bool {
        self.counted_uses().zip(used).is_none_or(|(uses, used)| uses.remove_route(used))
    }

    /// Counts the fields that a new route reads, each with the kinds of value that the route
    /// accepts. If an earlier route has equal uses, returns the allocation of the earlier route, so
    /// that both share it. Otherwise returns `used`.
    fn add_uses(&mut self, used: Arc<RouteUses>) -> Arc<RouteUses> {
        match self.counted_uses() {
            Some(uses) => uses.add_route(used),
            None => used,
        }
    }

    /// After a full compilation, replaces the fields of the `input` statement by the newly compiled
    /// fields, whose positions refer to the edited texts. If the rules have no `input` statement,
    /// changes nothing, because the counts of field uses already include all edits.
    fn update_declared_input(&mut self, counted: CountedFields) {
        if let CountedFields::Input(_) = counted {
            self.counted_fields = counted;
        }
    }
}

impl RevisionCounters {
    /// Advances the counters after an edit of a route: increments `version` and
    /// `pending_edit_count`, and sets `generation` (version number of the rules) to a new number.
    fn advance_after_edit(&mut self) {
        self.version += 1;
        self.generation = next_generation();
        self.pending_edit_count += 1;
    }
}

impl BackgroundWork {
    /// Marks a running merge and a running compaction as superseded, so that their results are
    /// discarded. Called when a recompilation replaces all rules. Returns the groups of routes that
    /// the merge was compiling, for the caller to free.
    fn supersede_running_work(&mut self) -> Vec<Arc<RouteSegment>> {
        self.compaction.mark_superseded();
        self.last_merge_failure = None;
        self.merge.mark_superseded()
    }
}

impl LiveWriter {
    pub fn new(base: BaseRules, counted: CountedFields) -> LiveWriter {
        LiveWriter {
            constraints: RouteConstraints {
                counted_fields: counted,
                goto_graph: GotoGraph::new(base.rules.program()),
            },
            revision: RevisionCounters {
                version: 0,
                generation: base.rules.generation(),
                pending_edit_count: 0,
            },
            catalog: RouteCatalog::new(base),
            added_segments: Vec::new(),
            background: BackgroundWork::default(),
            edit_log: None,
        }
    }

    pub fn base(&self) -> &Arc<BaseRules> {
        &self.catalog.base
    }

    /// Returns the rules of the last full compilation, for a test that changes them. `None` if a
    /// snapshot shares them.
    #[cfg(test)]
    pub fn base_mut(&mut self) -> Option<&mut BaseRules> {
        Arc::get_mut(&mut self.catalog.base)
    }

    /// True if a table has a route of this name that no edit has removed.
    pub fn contains_route(&self, table: TableId, name: &str) -> bool {
        self.catalog.find_route(table, name).is_some()
    }

    /// Returns the edits of routes since the last full compilation, as changes of the source texts.
    pub fn route_changes(&self) -> RouteChanges {
        self.catalog.route_changes()
    }

    /// Returns the number of edits since the last full compilation.
    pub fn pending_edit_count(&self) -> usize {
        self.revision.pending_edit_count
    }

    /// Returns the error of the last merge (full recompilation in the background), if it failed.
    pub fn merge_error(&self) -> Option<&CompileError> {
        self.background.last_merge_failure.as_ref().map(|failure| &failure.error)
    }

    /// True if neither a merge (recompilation of all rules) nor a compaction (recompilation of
    /// inserted routes) is scheduled or running in the background.
    pub fn is_idle(&self) -> bool {
        self.background.merge.is_idle() && !self.background.compaction.is_running()
    }

    /// Returns the current state as an immutable snapshot, which decisions read.
    pub fn snapshot(&self) -> Arc<LiveSnapshot> {
        let base = Arc::clone(self.base());
        let merging_segments = self.background.merge.segments();
        let mut segments = Vec::with_capacity(1 + merging_segments.len() + self.added_segments.len());
        segments.push(Arc::clone(&base.segment));
        segments.extend(merging_segments.iter().chain(&self.added_segments).cloned());
        let is_edited = segments.len() > 1 || self.catalog.has_removed_base_routes();
        let RevisionCounters { version, generation, .. } = self.revision;
        Arc::new(LiveSnapshot { base, segments, version, generation, is_edited })
    }

    /// Applies an edit of a route. Decisions see the edit only after the next snapshot is
    /// published.
    ///
    /// # Errors
    /// If the edit cannot be applied. The state is then unchanged.
    pub fn apply_edit(
        &mut self,
        compiler: &Compiler,
        table: TableId,
        edit: EditAction<'_>,
    ) -> Result<(), EditError> {
        match self.try_apply_edit(compiler, table, edit)? {
            None => Ok(()),
            // Other routes depend on the edit, for example on the type of a field.
            Some(changes) => Ok(self.rebuild(compiler, &changes)?),
        }
    }

    /// Compiles all rules after applying `changes` to the source texts, and installs the result.
    /// Other edits wait until the compilation ends.
    fn rebuild(&mut self, compiler: &Compiler, changes: &RouteChanges) -> Result<(), CompileError> {
        let base = self.base();
        let files = base.files.with_texts(changes.apply_to_texts(&base.rules, &base.edit_points));
        let (base, counted) = base::compile_base(compiler, &files, &files, |_| false, ThreadLimit::All)?;
        self.replace_state(LiveWriter::new(base, counted));
        Ok(())
    }

    /// Replaces the whole state by the state after a recompilation, and returns the old state for
    /// the caller to free. The result of a running merge or compaction will be discarded.
    pub fn replace_state(&mut self, recompiled: LiveWriter) -> LiveWriter {
        let mut background = std::mem::take(&mut self.background);
        self.added_segments.extend(background.supersede_running_work());
        let revision = RevisionCounters { generation: next_generation(), ..recompiled.revision };
        let edit_log = self.edit_log.take();
        std::mem::replace(self, LiveWriter { revision, background, edit_log, ..recompiled })
    }

    /// Tries to apply an edit of a route without compiling other routes. Returns `None` if the edit
    /// is applied.
    ///
    /// Nothing is applied if the edit changes the inferred type of a field that other routes read.
    /// The same holds if the new route reads more of the earlier messages than the current rules
    /// record. The result then has all edits of routes since the last full compilation, including
    /// this one. The caller must recompile everything with them.
    fn try_apply_edit(
        &mut self,
        compiler: &Compiler,
        table: TableId,
        edit: EditAction<'_>,
    ) -> Result<Option<RouteChanges>, EditError> {
        let (old, new) = match edit {
            EditAction::Remove(route) => (Some(self.catalog.find_existing_route(table, route)?), None),
            EditAction::Replace(new) => {
                (Some(self.catalog.find_existing_route(table, new.head())?), Some(new))
            }
            EditAction::Insert(new) if self.contains_route(table, new.head().name) => {
                return Err(EditError::Duplicate(new.head().to_string()));
            }
            EditAction::Insert(new) => (None, Some(new)),
        };
        // Compile the new route as if the old route did not exist.
        let old_uses = old.as_ref().and_then(|old| self.catalog.field_uses_of(old));
        let result = if self.constraints.remove_uses(old_uses.as_ref()) {
            let compiled = new.map(|new| self.compile_route(compiler, table, new, old.as_ref()));
            match compiled.transpose() {
                // Recompile everything: the route reads fields of recorded messages that the base
                // does not keep, and the kept fields are a property of all rules together.
                Ok(Some((route, rules))) if !records_history_needed_by(&self.base().rules, &rules) => {
                    Ok(Some(self.catalog.route_changes_with(table, old.as_ref(), Some(route.parsed.text))))
                }
                Ok(compiled) => {
                    self.commit_edit(table, old, compiled);
                    return Ok(None);
                }
                Err(error) => Err(error.into()),
            }
        } else {
            // Recompile everything, which also reports errors in this route.
            Ok(Some(self.catalog.route_changes_with(table, old.as_ref(), new.map(|new| new.text))))
        };
        if let Some(old_uses) = old_uses {
            self.constraints.add_uses(old_uses);
        }
        result
    }

    /// Compiles a route for a table. `old` is the route that the new route replaces, if any.
    fn compile_route(
        &self,
        compiler: &Compiler,
        table: TableId,
        new: ParsedStatement,
        old: Option<&RouteLocation>,
    ) -> Result<(Route, Rules), CompileError> {
        let BaseRules { rules: base, declarations, .. } = &**self.base();
        let compile = || {
            declarations.compile_route(compiler, base, table, new, self.constraints.counted_fields.snapshot())
        };
        let (route, rules) = text::with_parse_cache(compile)?;
        let old_jump = old.and_then(|old| Some((table, old.segment.goto_target(old.rule)?)));
        if let Some((to, span)) = route.goto_target
            && let Err((code, message)) = self.constraints.goto_graph.check_jump(table, to, old_jump)
        {
            let error = Diagnostic::new(code, span, message)
                .help(message!("jump directly to the last table, and never back"));
            return Err(refused_statement_error(base.sources(), &route.parsed.text, vec![error]));
        }
        Ok((route, rules))
    }

    /// Applies an edit of a route after the new route was compiled. Removes the route `old` and
    /// adds the route `new`. If both are given, the new route takes the position of the old one.
    fn commit_edit(&mut self, table: TableId, old: Option<RouteLocation>, new: Option<(Route, Rules)>) {
        self.revision.advance_after_edit();
        let old_sequence = old.as_ref().map(RouteLocation::sequence_number);
        if let Some(old) = old {
            self.remove_route(table, old);
        }
        let Some((mut route, rules)) = new else { return };
        let sequence = old_sequence.unwrap_or_else(|| self.catalog.reserve_sequence_number());
        route.goto_target.into_iter().for_each(|(to, _)| self.constraints.goto_graph.add_jump((table, to)));
        route.field_uses = self.constraints.add_uses(route.field_uses);
        let routes = vec![(Arc::new(route), sequence)];
        let segment = Arc::new(RouteSegment::from_inserted_routes(rules, &self.base().rules, routes));
        self.catalog.register_route(&segment, RuleId(0));
        self.added_segments.push(segment);
    }

    /// Removes a current route. Decisions still use the route until the next snapshot is published.
    /// Precondition: the counts in `constraints` no longer include the field uses of the route.
    fn remove_route(&mut self, table: TableId, old: RouteLocation) {
        let key = self.catalog.remove_route(table, &old);
        let RouteLocation { segment, rule } = old;
        segment
            .goto_target(rule)
            .into_iter()
            .for_each(|to| self.constraints.goto_graph.remove_jump((table, to)));
        segment.mark_removed(rule, self.revision.version);
        if segment.routes.len() == 1 {
            self.drop_segments(&[segment]);
        }
        self.background.merge.record_removal(key);
    }

    /// Removes the segments (groups of routes compiled together) in `old` from the lists of current
    /// segments. Precondition: these segments have no current route.
    fn drop_segments(&mut self, old: &[Arc<RouteSegment>]) {
        for list in self.background.merge.segments_mut().into_iter().chain([&mut self.added_segments]) {
            list.retain(|segment| !old.iter().any(|old| Arc::ptr_eq(old, segment)));
        }
    }

    /// Begins a recompilation of all rules: edits of routes are logged from now on. Returns the
    /// rules as last compiled in full, and the edits of routes since then.
    pub fn begin_recompilation(&mut self) -> (Arc<BaseRules>, RouteChanges) {
        debug_assert!(self.edit_log.is_none(), "two recompilations at a time");
        self.edit_log = Some(Vec::new());
        (Arc::clone(self.base()), self.route_changes())
    }

    /// Adds to the log an edit of a route that was just applied. Does nothing if no recompilation
    /// runs, because only a recompilation needs the log.
    pub fn log_edit(&mut self, edit: &Edit) {
        if let Some(log) = &mut self.edit_log {
            log.push(edit.clone());
        }
    }

    /// Removes all edits from the log of edits that were made during a recompilation, and returns
    /// them.
    pub fn take_logged_edits(&mut self) -> Vec<Edit> {
        debug_assert!(self.edit_log.is_some(), "no recompilation runs");
        self.edit_log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Ends a recompilation: edits of routes are no longer logged.
    pub fn end_recompilation(&mut self) {
        self.edit_log = None;
    }
}

/// True if the history that the rules `base` record is sufficient for the rules `new`: `new` reads
/// no other fields of earlier messages, and no older messages. `base` was compiled in full; `new`
/// contains a new route.
fn records_history_needed_by(base: &Rules, new: &Rules) -> bool {
    match (base.rule_set().history_plan(), new.rule_set().history_plan()) {
        (Some(kept), Some(read)) => kept.covers(read),
        (_, read) => read.is_none(),
    }
}
