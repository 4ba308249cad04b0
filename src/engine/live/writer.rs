//! The mutable state of live rules. One thread at a time edits it; the result is then published as
//! one new snapshot.

use super::base::{self, Base};
use super::declarations::name_in;
use super::edit::{Action, Edit};
use super::error::{EditError, UnknownStatement};
use super::goto_graph::Jumps;
use super::route::{ParsedStatement, Route, RouteKey, RouteKeyRef, refusal};
use super::segment::{FIRST_INSERTED, Segment, SequenceNumber};
use super::snapshot::Snapshot;
use super::source_edits::Changes;
use super::statement_ref::Head;
use crate::engine::set::next_generation;
use crate::engine::{CompileError, Compiler, Rules};
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::parallel::Threads;
use rulec_base::text;
use rulec_sema::check::{Counted, CountedUses, RouteUses};
use rulec_sema::hir::{RuleId, TableId};
use std::sync::Arc;

/// Location of a live route: its segment, and its rule id in the segment.
#[derive(Clone)]
pub(super) struct Home {
    segment: Arc<Segment>,
    rule: RuleId,
}

impl Home {
    fn sequence(&self) -> SequenceNumber {
        self.segment.sequence(self.rule)
    }

    /// Returns the parsed route; `None` for a route of the base.
    fn route(&self) -> Option<&Arc<Route>> {
        self.segment.routes.get(self.rule.index())
    }

    fn is(&self, route: &Arc<Route>) -> bool {
        self.route().is_some_and(|known| Arc::ptr_eq(known, route))
    }
}

/// The state from which snapshots are made.
pub(super) struct Writer {
    pub base: Arc<Base>,
    /// The segments added after the base, oldest first.
    pub young: Vec<Arc<Segment>>,
    /// The declared input, or the counted field uses of the base and all edits.
    pub counted: Counted,
    jumps: Jumps,
    /// The current routes that were inserted after the base, by table and name.
    names: HashMap<RouteKey, Home>,
    /// The base routes that were removed.
    gone: HashSet<RuleId>,
    /// The routes removed since the current merge began.
    gone_since: Vec<RouteKey>,
    /// The sequence number of the next inserted route.
    next_sequence: SequenceNumber,
    /// The version of the last edit, which tombstones refer to.
    version: u64,
    /// The generation of the rules with all edits; merges and compactions keep it.
    generation: u64,
    /// Number of edits that are not merged.
    pub edits: usize,
    /// Whether a merge runs.
    pub merging: bool,
    /// Number of added segments that the current merge includes.
    pub sealed: usize,
    /// Whether a compaction runs.
    pub compacting: bool,
    /// Whether a compaction failed because the segments do not compile together.
    pub incompatible: bool,
    /// The error of the last merge, if it failed.
    pub error: Option<CompileError>,
    /// After a failed merge, the number of pending edits that starts the next automatic merge.
    pub retry_at: usize,
    /// The edits of routes since a recompilation began; `None` if no recompilation runs.
    pub log: Option<Vec<Edit>>,
}

/// The input of a merge.
pub(super) struct Merged {
    pub changes: Changes,
    edits: usize,
    next_sequence: SequenceNumber,
}

impl Writer {
    pub fn new(base: Base, counted: Counted) -> Writer {
        Writer {
            jumps: Jumps::of(base.rules.program()),
            generation: base.rules.generation(),
            base: Arc::new(base),
            young: Vec::new(),
            counted,
            names: HashMap::new(),
            gone: HashSet::new(),
            gone_since: Vec::new(),
            next_sequence: FIRST_INSERTED,
            version: 0,
            edits: 0,
            merging: false,
            sealed: 0,
            compacting: false,
            incompatible: false,
            error: None,
            retry_at: 0,
            log: None,
        }
    }

    /// Creates a snapshot of the current state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let mut segments = Vec::with_capacity(1 + self.young.len());
        segments.push(Arc::clone(&self.base.segment));
        segments.extend(self.young.iter().cloned());
        let edited = !self.young.is_empty() || !self.gone.is_empty();
        let Writer { version, generation, .. } = *self;
        Arc::new(Snapshot { base: Arc::clone(&self.base), segments, version, generation, edited })
    }

    pub fn find(&self, table: TableId, name: &str) -> Option<Home> {
        if let Some(home) = self.names.get(&RouteKeyRef(table, name)) {
            return Some(home.clone());
        }
        let rule = self.base.named(table, name).filter(|id| !self.gone.contains(id))?;
        Some(Home { segment: Arc::clone(&self.base.segment), rule })
    }

    /// True if an inserted route still exists.
    fn is_there(&self, route: &Arc<Route>) -> bool {
        self.names.get(&route.key()).is_some_and(|home| home.is(route))
    }

    /// Applies an edit of a route. The next snapshot shows the edit.
    pub fn make(&mut self, compiler: &Compiler, table: TableId, edit: Action<'_>) -> Result<(), EditError> {
        match self.apply(compiler, table, edit)? {
            None => Ok(()),
            // The removed route fixed a field's type, so other routes must be recompiled.
            Some(changes) => Ok(self.rebuild(compiler, &changes)?),
        }
    }

    /// Compiles a new base with these changes; other edits wait.
    fn rebuild(&mut self, compiler: &Compiler, changes: &Changes) -> Result<(), CompileError> {
        let files = self.base.files.with(changes.apply(&self.base.rules, &self.base.edit_points));
        let (base, counted) = base::compile(compiler, &files, &files, |_| false, Threads::All)?;
        self.start_anew(Writer::new(base, counted));
        Ok(())
    }

    /// Replaces the state by recompiled rules, and returns the old state. A running merge or
    /// compaction then finds another base and discards its result.
    pub fn start_anew(&mut self, fresh: Writer) -> Writer {
        let (merging, compacting, log) = (self.merging, self.compacting, self.log.take());
        std::mem::replace(self, Writer { generation: next_generation(), merging, compacting, log, ..fresh })
    }

    /// Applies an edit. `Some` means that the edit changes how other routes read a field: nothing
    /// was changed, and the caller must recompile with the returned changes.
    fn apply(
        &mut self,
        compiler: &Compiler,
        table: TableId,
        edit: Action<'_>,
    ) -> Result<Option<Changes>, EditError> {
        let (old, new_statement) = match edit {
            Action::Remove(route) => (Some(self.existing(table, route)?), None),
            Action::Replace(new_statement) => {
                (Some(self.existing(table, new_statement.head())?), Some(new_statement))
            }
            Action::Insert(new_statement) if self.find(table, new_statement.head().name).is_some() => {
                return Err(EditError::Duplicate(new_statement.head().to_string()));
            }
            Action::Insert(new_statement) => (None, Some(new_statement)),
        };
        // Compile against the rules without the old route.
        let used = old.as_ref().and_then(|old| self.uses_of(old));
        let same = used.as_ref().zip(self.uses()).is_none_or(|(used, uses)| uses.remove(used));
        let refused = if same {
            let new =
                new_statement.map(|new_statement| self.compile(compiler, table, new_statement, old.as_ref()));
            match new.transpose() {
                Ok(new) => {
                    self.publish(table, old, new);
                    return Ok(None);
                }
                Err(error) => Err(error.into()),
            }
        } else {
            // Recompiling everything also reports errors in this route.
            Ok(Some(self.changes_with(
                table,
                old.as_ref(),
                new_statement.map(|new_statement| new_statement.text),
            )))
        };
        if let Some((uses, used)) = self.uses().zip(used) {
            uses.add(used);
        }
        refused
    }

    /// Returns the counted uses of message fields; `None` if the fields are declared.
    fn uses(&mut self) -> Option<&mut CountedUses> {
        match &mut self.counted {
            Counted::Uses(uses) => Some(uses),
            Counted::Input(_) => None,
        }
    }

    fn existing(&self, table: TableId, route: Head<'_>) -> Result<Home, UnknownStatement> {
        self.find(table, route.name).ok_or_else(|| {
            let base = self.base.names.get(table.index()).into_iter().flatten();
            let base = base.filter(|(_, id)| !self.gone.contains(*id)).map(|(name, _)| &**name);
            let later = self.names.keys().filter(|(other, _)| *other == table).map(|(_, name)| &**name);
            let other = self.base.declarations.named(route.name);
            UnknownStatement::new(route, name_in(&self.base.rules, table), base.chain(later), other)
        })
    }

    /// Compiles a route for a table, which may replace an old route.
    fn compile(
        &self,
        compiler: &Compiler,
        table: TableId,
        new_statement: ParsedStatement,
        old: Option<&Home>,
    ) -> Result<(Route, Rules), CompileError> {
        let Base { rules: base, declarations, .. } = &*self.base;
        let compile = || declarations.compile(compiler, base, table, new_statement, self.counted.known());
        let (route, rules) = text::keeping_parsed(compile)?;
        let old_jump = old.and_then(|old| Some((table, old.segment.goto_target(old.rule)?)));
        if let Some((to, span)) = route.goto
            && let Err((code, message)) = self.jumps.check(table, to, old_jump)
        {
            let wrong = Diagnostic::new(code, span, message)
                .help(message!("let tables jump to their goal directly, and never back"));
            return Err(refusal(base.sources(), &route.parsed.text, vec![wrong]));
        }
        Ok((route, rules))
    }

    /// Returns a route's uses of undeclared message fields.
    fn uses_of(&self, home: &Home) -> Option<Arc<RouteUses>> {
        match home.route() {
            Some(route) => Some(Arc::clone(&route.uses)),
            None => self.base.uses.of(self.base.rules.program().rules[home.rule.index()].span),
        }
    }

    /// Applies an edit that compiled. The next snapshot shows the edit.
    fn publish(&mut self, table: TableId, old: Option<Home>, new: Option<(Route, Rules)>) {
        self.version += 1;
        self.generation = next_generation();
        self.edits += 1;
        let mut sequence = None;
        if let Some(Home { segment, rule }) = old {
            sequence = Some(segment.sequence(rule));
            segment.goto_target(rule).into_iter().for_each(|to| self.jumps.remove((table, to)));
            segment.remove(rule, self.version);
            let key = (table, segment.rules.program().rules[rule.index()].name.clone());
            if self.names.remove(&key).is_none() {
                self.gone.insert(rule);
            } else if segment.routes.len() == 1 {
                self.drop_segments(&[segment]);
            }
            if self.merging {
                self.gone_since.push(key);
            }
        }
        let Some((mut route, rules)) = new else { return };
        let sequence = sequence.unwrap_or_else(|| {
            self.next_sequence += 1;
            self.next_sequence - 1
        });
        route.goto.into_iter().for_each(|(to, _)| self.jumps.add((table, to)));
        if let Some(uses) = self.uses() {
            route.uses = uses.add(route.uses);
        }
        let segment = Arc::new(Segment::added(rules, &self.base.rules, vec![(Arc::new(route), sequence)]));
        self.enter(&segment, 0);
        self.young.push(segment);
    }

    /// Removes added segments, and returns the index of the first removed one.
    pub fn drop_segments(&mut self, old: &[Arc<Segment>]) -> usize {
        let is_old = |young: &Arc<Segment>| old.iter().any(|old| Arc::ptr_eq(old, young));
        let first = self.young.iter().position(is_old).unwrap_or(self.young.len());
        self.sealed -= self.young.iter().take(self.sealed).filter(|young| is_old(young)).count();
        self.young.retain(|young| !is_old(young));
        first
    }

    /// Registers a route of a segment by its name.
    fn enter(&mut self, segment: &Arc<Segment>, at: usize) {
        let home = Home { segment: Arc::clone(segment), rule: RuleId(at as u32) };
        self.names.insert(segment.routes[at].key(), home);
    }

    /// Replaces segments by the segment that was compiled from them. Routes removed during the
    /// compilation are removed from the new segment too.
    pub fn replace(&mut self, old: &[Arc<Segment>], segment: Segment) {
        let (sealed, segment) = (self.sealed, Arc::new(segment));
        let first = self.drop_segments(old);
        self.young.insert(first, Arc::clone(&segment));
        self.sealed += usize::from(first < sealed);
        for (at, route) in segment.routes.iter().enumerate() {
            match self.is_there(route) {
                true => self.enter(&segment, at),
                // No snapshot contains this segment yet, so any version works.
                false => segment.remove(RuleId(at as u32), 1),
            }
        }
    }

    /// Starts a merge, and returns its input.
    pub fn seal(&mut self) -> Merged {
        self.sealed = self.young.len();
        self.gone_since.clear();
        Merged { changes: self.changes(), edits: self.edits, next_sequence: self.next_sequence }
    }

    /// Installs a base with merged edits. Edits made during the merge are kept in the added
    /// segments.
    pub fn carry_over(&mut self, base: Base, counted: Counted, merged: &Merged) {
        // Field uses are counted with each edit, but the spans of a declared input change with the
        // texts.
        if let Counted::Input(_) = counted {
            self.counted = counted;
        }
        // Routes that are in the new base but were removed during the merge.
        let gone = self.gone_since.drain(..).filter_map(|(table, name)| base.named(table, &name));
        self.gone = gone.collect();
        self.version += 1;
        self.gone.iter().for_each(|id| base.segment.remove(*id, self.version));
        // Segments added during the merge. A replacement takes the number of the route that it
        // replaces.
        let later = self.young.split_off(self.sealed);
        let living = std::mem::take(&mut self.names);
        (self.young, self.sealed) = (Vec::new(), 0);
        for segment in later {
            let sequence = |(at, route): (usize, &Arc<Route>)| {
                let sequence = segment.sequence(RuleId(at as u32));
                let known = base.named(route.table, &route.name).filter(|_| sequence < merged.next_sequence);
                known.map_or(sequence, |id| base.segment.sequence(id))
            };
            let sequences = segment.routes.iter().enumerate().map(sequence).collect();
            let segment = Arc::new(segment.with_sequences(sequences));
            for (at, route) in segment.routes.iter().enumerate() {
                if living.get(&route.key()).is_some_and(|home| home.is(route)) {
                    self.enter(&segment, at);
                }
            }
            self.young.push(segment);
        }
        self.base = Arc::new(base);
        self.edits -= merged.edits;
        (self.error, self.retry_at, self.incompatible) = (None, 0, false);
    }

    /// Returns the current routes that were inserted after the base, with their sequence numbers.
    fn living(&self) -> impl Iterator<Item = (&Arc<Route>, SequenceNumber)> {
        self.names.values().filter_map(|home| Some((home.route()?, home.sequence())))
    }

    /// Returns the current routes of some segments, in the order of their sequence numbers.
    pub fn living_in(&self, segments: &[Arc<Segment>]) -> Vec<(Arc<Route>, SequenceNumber)> {
        let sequences = |segment: &Segment| {
            let sequence = |(at, route)| (Arc::clone(route), segment.sequence(RuleId(at as u32)));
            segment.routes.iter().enumerate().map(sequence).collect::<Vec<_>>()
        };
        let mut routes: Vec<_> = segments.iter().flat_map(|segment| sequences(segment)).collect();
        routes.retain(|(route, _)| self.is_there(route));
        routes.sort_by_key(|(_, sequence)| *sequence);
        routes
    }

    /// Returns the text changes since the base was compiled.
    pub fn changes(&self) -> Changes {
        self.changes_with(TableId(0), None, None)
    }

    /// Returns the text changes with one more edit: in `table`, the route `old` is removed and the
    /// text `new` takes its position.
    fn changes_with(&self, table: TableId, old: Option<&Home>, new: Option<Arc<str>>) -> Changes {
        let is_old = |route: &Arc<Route>| old.is_some_and(|old| old.is(route));
        let living = self.living().filter(|(route, _)| !is_old(route));
        let mut texts: Vec<(TableId, SequenceNumber, Arc<str>)> =
            living.map(|(route, sequence)| (route.table, sequence, Arc::clone(&route.parsed.text))).collect();
        texts.extend(new.map(|text| (table, old.map_or(self.next_sequence, Home::sequence), text)));
        texts.sort_by_key(|(_, sequence, _)| *sequence);
        let mut gone: HashSet<RuleId> = self.gone.clone();
        gone.extend(old.filter(|old| old.route().is_none()).map(|old| old.rule));
        let mut changes = Changes::default();
        for (table, sequence, text) in texts {
            match u32::try_from(sequence) {
                Ok(id) => {
                    gone.remove(&RuleId(id));
                    changes.replaced.push((RuleId(id), text));
                }
                Err(_) => changes.appended.push((table, text)),
            }
        }
        changes.removed = gone.into_iter().collect();
        changes
    }
}
