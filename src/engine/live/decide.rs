//! Decisions over several segments (groups of routes compiled together). In each table, the
//! segments are searched one after another. Each search covers only the routes that come before the
//! best match so far. The first segment is the *base*: the rule set as last compiled in full.

use super::LiveRules;
use super::segment::RouteSortKey;
use super::snapshot::LiveSnapshot;
use crate::engine::decision::Decision;
use crate::engine::input::Input;
use crate::engine::workspace::ThreadWorkspace;
use crate::engine::{Entry, Rules, UnknownEntry};
use crate::history::Past;
use rulec_base::json::{self, DecimalPaths, JsonError};
use rulec_eval::decision::{self, Choice, Chosen, DecisionDetails, TableTrail};
use rulec_lang::schema::InputViolation;
use rulec_sema::hir::{Outcome, RuleId, TableId, TableKind};
use rulec_vm::table_search::{self, SearchResult, Searcher};
use rulec_vm::vm::{HistoryGuard, JsonMessage, Scratch, Vm};
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::sync::Arc;

impl LiveRules {
    /// Returns the decision of an entry (such as a table) for a message given as JSON text; see
    /// [`Entry::decide_line`](crate::Entry::decide_line). The outer error is about the entry, the
    /// inner error about the text.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn decide_line_in(
        &self,
        entry: &str,
        text: &[u8],
    ) -> Result<Result<Decision, JsonError>, UnknownEntry> {
        let snapshot = self.shared.snapshot.load();
        let table = snapshot.base.rules.entry(entry)?.id();
        Ok(decide_line_in_snapshot(&snapshot, table, text))
    }

    /// Returns the name of the entry (such as a table) that decides if the caller names none; see
    /// [`Rules::default_entry`]. A route that an edit inserted is taken into account at once. A
    /// route that an edit removed is taken into account until the next full recompilation.
    ///
    /// # Errors
    /// If there is no such entry, or if there are several. The error contains their names.
    pub fn default_entry(&self) -> Result<String, Vec<String>> {
        let snapshot = self.shared.snapshot.load();
        let (rules, main) = (&snapshot.base.rules, TableId(0));
        let has_inserted_routes =
            snapshot.segments.iter().skip(1).any(|segment| segment.local_table(main).is_some());
        if has_inserted_routes {
            return Ok(rules.table(main).name().to_owned());
        }
        let to_names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        rules.default_entry().map(|entry| entry.name().to_owned()).map_err(to_names)
    }
}

/// Calls `work` with one VM for each segment (group of routes compiled together), and with the
/// number of the current thread. The number selects the reference counter of the rules that the
/// decision uses; see [`ThreadWorkspace::thread_number`].
fn with_segment_vms<T>(
    snapshot: &LiveSnapshot,
    message: &Json,
    past: Option<&Past>,
    work: impl FnOnce(&mut SegmentVms<'_>, usize) -> T,
) -> T {
    ThreadWorkspace::with_current(
        |ThreadWorkspace { segment_scratches: segments, thread_number: thread, .. }| {
            if segments.len() < snapshot.segments.len() {
                segments.resize_with(snapshot.segments.len(), Default::default);
            }
            let mut guards: SmallVec<[HistoryGuard<'_>; 4]> = SmallVec::new();
            let scratches: SmallVec<[&mut Scratch; 4]> = match past {
                None => segments.iter_mut().collect(),
                Some(past) => {
                    guards.extend(segments.iter_mut().map(|scratch| scratch.with_history(past.clone())));
                    guards.iter_mut().map(|guard| &mut **guard).collect()
                }
            };
            let machines = snapshot.segments.iter().zip(scratches).map(|(segment, scratch)| {
                let rules = &segment.rules;
                let mut machine = rules.rule_set().vm_over_json(rules.indexing, message, scratch);
                machine.exclude_removed(&segment.tombstones, snapshot.version);
                machine
            });
            work(&mut machines.collect(), *thread)
        },
    )
}

type SegmentVms<'s> = SmallVec<[Vm<'s, JsonMessage<'s>>; 4]>;

/// True if edits since the last full compilation may affect decisions of the entry. If false, the
/// base (the rule set as last compiled in full) can decide alone. Only tables of routes can have
/// such edits: an edit of any other entry causes a full compilation.
fn may_have_edits(snapshot: &LiveSnapshot, entry: TableId) -> bool {
    snapshot.is_edited && snapshot.base.rules.program().tables[entry.index()].kind == TableKind::Routes
}

pub(super) fn decide_in_snapshot(
    snapshot: &LiveSnapshot,
    entry: TableId,
    message: &Json,
    past: Option<&Past>,
) -> Decision {
    let rules = &snapshot.base.rules;
    // If the message is not an object, the rules as last compiled in full return the decision that
    // refuses it.
    if !may_have_edits(snapshot, entry) || !message.is_object() {
        let entry = Entry { history: past, ..rules.table(entry) };
        return Decision { generation: snapshot.generation, ..entry.decide(message) };
    }
    with_segment_vms(snapshot, message, past, |machines, thread| {
        let mut search =
            LiveSearch { snapshot, segment_vms: &mut *machines, exhausted_tables: SmallVec::new() };
        let first_result = search.search_from(search.start_position(entry));
        let choice = table_search::resolve_choice(&mut search, first_result);
        let tables = visited_tables(snapshot, entry, &choice);
        let (number, chosen) = match choice.chosen {
            Some(Chosen::Rule(hit)) => (hit.segment_index, Some(Chosen::Rule(hit.rule))),
            Some(Chosen::Default(table)) => (0, Some(Chosen::Default(table))),
            None => (0, None),
        };
        let deciding_rules = &snapshot.segments[number].rules;
        let outcome = chosen.and_then(|chosen| chosen.outcome(deciding_rules.program()));
        let mut details = outcome.and_then(|outcome| machines[number].eval_outcome(outcome));
        machines.iter().for_each(|machine| machine.add_call_details(&mut details));
        DecisionDetails::add_breaches(&mut details, input_violations(snapshot, message));
        DecisionDetails::add_history_gap(&mut details, past.and_then(Past::gap));
        let segment = (number > 0).then(|| Arc::clone(deciding_rules.shared.thread_handle(thread)));
        let rules = Arc::clone(rules.shared.thread_handle(thread));
        let generation = snapshot.generation;
        let has_past = past.is_some_and(Past::has_elements);
        Decision { rules, entry, segment, chosen, table_trail: tables, generation, has_past, details }
    })
}

/// Returns the violations of the declared `input` in a message. Without a declaration, the types of
/// fields are inferred from all routes in `snapshot`, including the routes that edits inserted.
fn input_violations(snapshot: &LiveSnapshot, message: &Json) -> Vec<InputViolation> {
    let violations_of = |rules: &Rules| rules.rule_set().input_violations(Input::Tree(message));
    let base = &snapshot.base.rules;
    let mut violations = violations_of(base);
    if base.program().input.is_none() {
        for segment in snapshot.segments.iter().skip(1) {
            for breach in violations_of(&segment.rules) {
                if !violations.iter().any(|known| known.path == breach.path) {
                    violations.push(breach);
                }
            }
        }
    }
    violations
}

/// Returns the message fields whose numbers are read as exact decimals, not as floats.
pub(super) fn decimal_paths(snapshot: &LiveSnapshot) -> DecimalPaths {
    let mut places = snapshot.base.rules.rule_set().decimal_paths.clone();
    snapshot.segments.iter().for_each(|segment| places.merge(segment.rules.rule_set().decimal_paths.clone()));
    places
}

pub(super) fn decide_line_in_snapshot(
    snapshot: &LiveSnapshot,
    entry: TableId,
    text: &[u8],
) -> Result<Decision, JsonError> {
    if !may_have_edits(snapshot, entry) {
        let decision = snapshot.base.rules.table(entry).decide_line(text)?;
        return Ok(Decision { generation: snapshot.generation, ..decision });
    }
    let message = json::parse_object_bytes_exact(text, &decimal_paths(snapshot));
    let message = message.map_err(|error| snapshot.base.rules.masked_error(error))?;
    Ok(decide_in_snapshot(snapshot, entry, &Json::Object(message), None))
}

/// Returns the tables through which jumps (`goto`) led: from the table of the entry, where the
/// decision started, to the table of the chosen statement.
fn visited_tables(snapshot: &LiveSnapshot, entry: TableId, choice: &Choice<MatchedRoute>) -> TableTrail {
    let jumps = choice.path.iter().filter_map(|jump| Some((jump.table, jump.goto_table?)));
    let last_table = choice.chosen.map(|chosen| match chosen {
        Chosen::Rule(hit) => hit.table,
        Chosen::Default(table) => table,
    });
    decision::build_trail(snapshot.base.rules.program(), entry, jumps, last_table)
}

/// Returns the names of all routes of a table whose conditions hold, in evaluation order.
pub(super) fn matching_route_names(snapshot: &LiveSnapshot, entry: TableId, message: &Json) -> Vec<String> {
    let rules = &snapshot.base.rules;
    if !may_have_edits(snapshot, entry) || !message.is_object() {
        return rules.table(entry).matched(message).into_iter().map(str::to_owned).collect();
    }
    let mut matches: Vec<(RouteSortKey, &str)> = Vec::new();
    with_segment_vms(snapshot, message, None, |machines, _| {
        for (segment, machine) in snapshot.segments.iter().zip(machines) {
            let Some(table) = segment.local_table(entry) else { continue };
            let rules = &segment.rules.program().rules;
            let routes = machine.matching_rules(table).into_iter();
            matches.extend(routes.map(|route| (segment.sort_key(route), &*rules[route.index()].name)));
        }
    });
    matches.sort_unstable();
    matches.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// A route whose condition holds, found in one segment (a group of routes compiled together).
#[derive(Clone, Copy)]
struct MatchedRoute {
    segment_index: usize,
    /// The route's id in the program of its segment. A segment is a group of routes that were
    /// compiled together.
    rule: RuleId,
    /// The table that contains the route. `goto_table` is the table to which the route jumps. Both
    /// are ids in the base, the rule set as last compiled in full.
    table: TableId,
    goto_table: Option<TableId>,
}

/// The search through the tables of a snapshot, which is an immutable state of the live rules.
/// There is one VM for each segment (group of routes compiled together).
struct LiveSearch<'v, 's, 'm> {
    snapshot: &'v LiveSnapshot,
    segment_vms: &'m mut SegmentVms<'s>,
    /// Tables that this search has already left without a match, so that it does not search them
    /// again.
    exhausted_tables: SmallVec<[TableId; 8]>,
}

impl LiveSearch<'_, '_, '_> {
    /// Finds the first route of a table whose condition holds, in the order of the sort keys
    /// (priority, then order of insertion). Only routes after the sort key `resume_after` are
    /// searched; `None` means all routes. Also returns the sort key of the found route.
    fn first_matching_route(
        &mut self,
        table: TableId,
        resume_after: Option<RouteSortKey>,
    ) -> Option<(RouteSortKey, MatchedRoute)> {
        let mut best_match: Option<(RouteSortKey, MatchedRoute)> = None;
        let snapshot = self.snapshot;
        for (number, segment) in snapshot.segments.iter().enumerate() {
            let Some(local) = segment.local_table(table) else { continue };
            let first_rank = resume_after.map_or(0, |key| segment.count_routes_through(local, key));
            let end_rank = best_match.map_or(u32::MAX, |(key, _)| segment.count_routes_before(local, key));
            if first_rank >= end_rank {
                continue;
            }
            let (rule, goto) = match self.segment_vms[number].search_ranks(local, first_rank..end_rank) {
                SearchResult::Choose(rule) => (rule, None),
                SearchResult::Goto { route, table: inner, .. } => (route, Some(segment.base_table(inner))),
                _ => continue,
            };
            let found = MatchedRoute { segment_index: number, rule, table, goto_table: goto };
            best_match = Some((segment.sort_key(rule), found));
        }
        best_match
    }
}

/// Follows jumps (`goto`) from table to table. A search position is a table and the sort key of a
/// route; the search resumes after that route.
impl Searcher for LiveSearch<'_, '_, '_> {
    type Position = (TableId, Option<RouteSortKey>);
    type Rule = MatchedRoute;

    fn start_position(&self, table: TableId) -> (TableId, Option<RouteSortKey>) {
        (table, None)
    }

    fn search_from(&mut self, (table, resume): Self::Position) -> SearchResult<Self::Position, MatchedRoute> {
        match self.first_matching_route(table, resume) {
            Some((key, route @ MatchedRoute { goto_table: Some(inner), .. })) => {
                SearchResult::Goto { route, table: inner, resume_position: (table, Some(key)) }
            }
            Some((_, route)) => SearchResult::Choose(route),
            None => match &self.snapshot.base.rules.program().tables[table.index()].default {
                Some(Outcome::Goto(inner)) => SearchResult::Continue(*inner),
                Some(_) => SearchResult::Default(table),
                None => SearchResult::Nothing,
            },
        }
    }

    fn is_exhausted(&self, table: TableId) -> bool {
        self.exhausted_tables.contains(&table)
    }

    fn mark_exhausted(&mut self, table: TableId) {
        self.exhausted_tables.push(table);
    }
}
