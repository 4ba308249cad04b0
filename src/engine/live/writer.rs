//! The state that edits change. One thread at a time edits; what decisions look at changes in one
//! step at the end.

use super::base::{self, Base};
use super::declarations::name_in;
use super::edit::{Action, Edit};
use super::error::{EditError, UnknownStatement};
use super::head::Head;
use super::jumps::Jumps;
use super::route::{Draft, Named, Route, RouteKey, refusal};
use super::segment::{INSERTED, Place, Segment};
use super::snapshot::Snapshot;
use super::texts::Changes;
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

/// A route that is there: its segment, and its number in it.
#[derive(Clone)]
pub(super) struct Home {
    segment: Arc<Segment>,
    rule: RuleId,
}

impl Home {
    fn place(&self) -> Place {
        self.segment.place(self.rule)
    }

    /// The route as it was written; `None` for one of the base.
    fn route(&self) -> Option<&Arc<Route>> {
        self.segment.routes.get(self.rule.index())
    }

    fn is(&self, route: &Arc<Route>) -> bool {
        self.route().is_some_and(|known| Arc::ptr_eq(known, route))
    }
}

/// The state behind a snapshot.
pub(super) struct Writer {
    pub base: Arc<Base>,
    /// The segments that came later, oldest first.
    pub young: Vec<Arc<Segment>>,
    /// The fields of the message, as the base and all edits have them.
    pub counted: Counted,
    jumps: Jumps,
    /// The later routes that are there, by table and name.
    names: HashMap<RouteKey, Home>,
    /// The base routes that are gone.
    gone: HashSet<RuleId>,
    /// The routes that went since a merge began.
    gone_since: Vec<RouteKey>,
    /// The place of the next route that is inserted.
    next_place: Place,
    /// The number of the last change.
    version: u64,
    /// The generation of the rules with all edits; merging and compacting leave it.
    generation: u64,
    /// The number of edits that have not been merged.
    pub edits: usize,
    /// True while a merge runs.
    pub merging: bool,
    /// The number of young segments that are being merged.
    pub sealed: usize,
    /// True while young segments are being compacted.
    pub compacting: bool,
    /// True when young segments were found not to compile together.
    pub incompatible: bool,
    /// Why the last merge failed.
    pub error: Option<CompileError>,
    /// After a merge that failed none starts by itself before so many edits.
    pub retry_at: usize,
    /// The edits of routes since an edit of other statements began.
    pub log: Option<Vec<Edit>>,
}

/// The input of a merge.
pub(super) struct Merged {
    pub changes: Changes,
    edits: usize,
    next_place: Place,
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
            next_place: INSERTED,
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

    /// The snapshot that decisions look at from now on.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let mut segments = Vec::with_capacity(1 + self.young.len());
        segments.push(Arc::clone(&self.base.segment));
        segments.extend(self.young.iter().cloned());
        let edited = !self.young.is_empty() || !self.gone.is_empty();
        let Writer { version, generation, .. } = *self;
        Arc::new(Snapshot { base: Arc::clone(&self.base), segments, version, generation, edited })
    }

    pub fn find(&self, table: TableId, name: &str) -> Option<Home> {
        if let Some(home) = self.names.get(&Named(table, name)) {
            return Some(home.clone());
        }
        let rule = self.base.named(table, name).filter(|id| !self.gone.contains(id))?;
        Some(Home { segment: Arc::clone(&self.base.segment), rule })
    }

    /// True while a route that came later is still there.
    fn is_there(&self, route: &Arc<Route>) -> bool {
        self.names.get(&route.key()).is_some_and(|home| home.is(route))
    }

    /// Makes an edit of a route, to be seen with the next snapshot.
    pub fn make(&mut self, compiler: &Compiler, table: TableId, edit: Action<'_>) -> Result<(), EditError> {
        match self.apply(compiler, table, edit)? {
            None => Ok(()),
            // Without a route that fixed a field's type others are read otherwise.
            Some(changes) => Ok(self.rebuild(compiler, &changes)?),
        }
    }

    /// Compiles a new base with these changes while no other edit is made.
    fn rebuild(&mut self, compiler: &Compiler, changes: &Changes) -> Result<(), CompileError> {
        let files = self.base.files.with(changes.apply(&self.base.rules, &self.base.places));
        let (base, counted) = base::compile(compiler, &files, &files, |_| false, Threads::All)?;
        self.start_anew(Writer::new(base, counted));
        Ok(())
    }

    /// Goes on with rules that were compiled anew, and returns the state before. A merge that still runs finds that it
    /// comes too late, and so does compacting.
    pub fn start_anew(&mut self, fresh: Writer) -> Writer {
        let (merging, compacting, log) = (self.merging, self.compacting, self.log.take());
        std::mem::replace(self, Writer { generation: next_generation(), merging, compacting, log, ..fresh })
    }

    /// Makes an edit. What is returned has to be compiled anew instead: the edit changes how other
    /// routes read a field, and has not been made.
    fn apply(
        &mut self,
        compiler: &Compiler,
        table: TableId,
        edit: Action<'_>,
    ) -> Result<Option<Changes>, EditError> {
        let (old, draft) = match edit {
            Action::Remove(route) => (Some(self.existing(table, route)?), None),
            Action::Replace(draft) => (Some(self.existing(table, draft.head())?), Some(draft)),
            Action::Insert(draft) if self.find(table, draft.head().name).is_some() => {
                return Err(EditError::Duplicate(draft.head().to_string()));
            }
            Action::Insert(draft) => (None, Some(draft)),
        };
        // What the rules are without the old route.
        let used = old.as_ref().and_then(|old| self.uses_of(old));
        let same = used.as_ref().zip(self.uses()).is_none_or(|(used, uses)| uses.remove(used));
        let refused = if same {
            let new = draft.map(|draft| self.compile(compiler, table, draft, old.as_ref()));
            match new.transpose() {
                Ok(new) => {
                    self.publish(table, old, new);
                    return Ok(None);
                }
                Err(error) => Err(error.into()),
            }
        } else {
            // Compiled with all the others, which tells what is wrong with it too.
            Ok(Some(self.changes_with(table, old.as_ref(), draft.map(|draft| draft.text))))
        };
        if let Some((uses, used)) = self.uses().zip(used) {
            uses.add(used);
        }
        refused
    }

    /// The uses that all routes make of the fields of the message, where they are not declared.
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

    /// Compiles a route that is to stand in a table, in place of an old one.
    fn compile(
        &self,
        compiler: &Compiler,
        table: TableId,
        draft: Draft,
        old: Option<&Home>,
    ) -> Result<(Route, Rules), CompileError> {
        let Base { rules: base, declarations, .. } = &*self.base;
        let compile = || declarations.compile(compiler, base, table, draft, self.counted.known());
        let (route, rules) = text::keeping_parsed(compile)?;
        let old_jump = old.and_then(|old| Some((table, old.segment.jump(old.rule)?)));
        if let Some((to, span)) = route.goto
            && let Err((code, message)) = self.jumps.check(table, to, old_jump)
        {
            let wrong = Diagnostic::new(code, span, message)
                .help(message!("let tables jump to their goal directly, and never back"));
            return Err(refusal(base.sources(), &route.draft.text, vec![wrong]));
        }
        Ok((route, rules))
    }

    /// The uses a route makes of the fields of the message.
    fn uses_of(&self, home: &Home) -> Option<Arc<RouteUses>> {
        match home.route() {
            Some(route) => Some(Arc::clone(&route.uses)),
            None => self.base.uses.of(self.base.rules.program().rules[home.rule.index()].span),
        }
    }

    /// Makes an edit, to be seen with the next snapshot.
    fn publish(&mut self, table: TableId, old: Option<Home>, new: Option<(Route, Rules)>) {
        self.version += 1;
        self.generation = next_generation();
        self.edits += 1;
        let mut place = None;
        if let Some(Home { segment, rule }) = old {
            place = Some(segment.place(rule));
            segment.jump(rule).into_iter().for_each(|to| self.jumps.remove((table, to)));
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
        let place = place.unwrap_or_else(|| {
            self.next_place += 1;
            self.next_place - 1
        });
        route.goto.into_iter().for_each(|(to, _)| self.jumps.add((table, to)));
        if let Some(uses) = self.uses() {
            route.uses = uses.add(route.uses);
        }
        let segment = Arc::new(Segment::young(rules, &self.base.rules, vec![(Arc::new(route), place)]));
        self.enter(&segment, 0);
        self.young.push(segment);
    }

    /// Takes young segments out, and tells where the first stood.
    pub fn drop_segments(&mut self, old: &[Arc<Segment>]) -> usize {
        let is_old = |young: &Arc<Segment>| old.iter().any(|old| Arc::ptr_eq(old, young));
        let first = self.young.iter().position(is_old).unwrap_or(self.young.len());
        self.sealed -= self.young.iter().take(self.sealed).filter(|young| is_old(young)).count();
        self.young.retain(|young| !is_old(young));
        first
    }

    /// Enters a route of a segment under its name.
    fn enter(&mut self, segment: &Arc<Segment>, at: usize) {
        let home = Home { segment: Arc::clone(segment), rule: RuleId(at as u32) };
        self.names.insert(segment.routes[at].key(), home);
    }

    /// Puts a segment in the place of those that it was compiled of. What was removed meanwhile is
    /// removed from it too.
    pub fn replace(&mut self, old: &[Arc<Segment>], segment: Segment) {
        let (sealed, segment) = (self.sealed, Arc::new(segment));
        let first = self.drop_segments(old);
        self.young.insert(first, Arc::clone(&segment));
        self.sealed += usize::from(first < sealed);
        for (at, route) in segment.routes.iter().enumerate() {
            match self.is_there(route) {
                true => self.enter(&segment, at),
                // No decision has seen it in this segment.
                false => segment.remove(RuleId(at as u32), 1),
            }
        }
    }

    /// The input of a merge that begins now.
    pub fn seal(&mut self) -> Merged {
        self.sealed = self.young.len();
        self.gone_since.clear();
        Merged { changes: self.changes(), edits: self.edits, next_place: self.next_place }
    }

    /// Takes over a base in which edits were merged. Those that came after stay beside it.
    pub fn carry_over(&mut self, base: Base, counted: Counted, merged: &Merged) {
        // Uses are counted with every edit; where an input stands changes with the texts.
        if let Counted::Input(_) = counted {
            self.counted = counted;
        }
        // What the base has and was removed meanwhile.
        let gone = self.gone_since.drain(..).filter_map(|(table, name)| base.named(table, &name));
        self.gone = gone.collect();
        self.version += 1;
        self.gone.iter().for_each(|id| base.segment.remove(*id, self.version));
        // What came after: a replacement stands where the base now has what it replaces.
        let later = self.young.split_off(self.sealed);
        let living = std::mem::take(&mut self.names);
        (self.young, self.sealed) = (Vec::new(), 0);
        for segment in later {
            let place = |(at, route): (usize, &Arc<Route>)| {
                let place = segment.place(RuleId(at as u32));
                let known = base.named(route.table, &route.name).filter(|_| place < merged.next_place);
                known.map_or(place, |id| base.segment.place(id))
            };
            let places = segment.routes.iter().enumerate().map(place).collect();
            let segment = Arc::new(segment.moved(places));
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

    /// The later routes that are there, with their places.
    fn living(&self) -> impl Iterator<Item = (&Arc<Route>, Place)> {
        self.names.values().filter_map(|home| Some((home.route()?, home.place())))
    }

    /// Those of some segments, by their places.
    pub fn living_in(&self, segments: &[Arc<Segment>]) -> Vec<(Arc<Route>, Place)> {
        let places = |segment: &Segment| {
            let place = |(at, route)| (Arc::clone(route), segment.place(RuleId(at as u32)));
            segment.routes.iter().enumerate().map(place).collect::<Vec<_>>()
        };
        let mut routes: Vec<_> = segments.iter().flat_map(|segment| places(segment)).collect();
        routes.retain(|(route, _)| self.is_there(route));
        routes.sort_by_key(|(_, place)| *place);
        routes
    }

    /// The edits since the base was compiled.
    pub fn changes(&self) -> Changes {
        self.changes_with(TableId(0), None, None)
    }

    /// The same with one more edit in it: a route of a table, the old one gone and this text in its
    /// place.
    fn changes_with(&self, table: TableId, old: Option<&Home>, new: Option<Arc<str>>) -> Changes {
        let is_old = |route: &Arc<Route>| old.is_some_and(|old| old.is(route));
        let living = self.living().filter(|(route, _)| !is_old(route));
        let mut texts: Vec<(TableId, Place, Arc<str>)> =
            living.map(|(route, place)| (route.table, place, Arc::clone(&route.draft.text))).collect();
        texts.extend(new.map(|text| (table, old.map_or(self.next_place, Home::place), text)));
        texts.sort_by_key(|(_, place, _)| *place);
        let mut gone: HashSet<RuleId> = self.gone.clone();
        gone.extend(old.filter(|old| old.route().is_none()).map(|old| old.rule));
        let mut changes = Changes::default();
        for (table, place, text) in texts {
            match u32::try_from(place) {
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
