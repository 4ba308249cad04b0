//! The state that edits change. One thread at a time edits; what decisions look at changes in one
//! step at the end.

use super::base::Compiled;
use super::declarations::{Declarations, name_in, refusal};
use super::error::{EditError, UnknownRoute};
use super::jumps::{Jump, Jumps};
use super::route::{Draft, Route, draft};
use super::segment::{INSERTED, Place, Segment};
use super::snapshot::{Base, Snapshot};
use super::texts::Changes;
use crate::diag::Diagnostic;
use crate::engine::{CompileError, Compiler, Rules};
use crate::sema::check::{FieldUses, Known, RouteUses};
use crate::sema::hir::{Outcome, RuleId, TableId};
use crate::text;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// An edit that is asked for, by a text or a name.
#[derive(Clone, Copy)]
pub(super) enum Edit<'t> {
    Insert(&'t str),
    Replace(&'t str),
    Remove(&'t str),
}

/// An edit whose text has been parsed.
pub(super) enum Prepared<'t> {
    Insert(Draft),
    Replace(Draft),
    Remove(&'t str),
}

impl<'t> Edit<'t> {
    /// Parses the text.
    ///
    /// # Errors
    /// When it is not one route.
    pub fn prepare(self, base: &Rules) -> Result<Prepared<'t>, EditError> {
        Ok(match self {
            Edit::Insert(text) => Prepared::Insert(draft(text, base.sources())?),
            Edit::Replace(text) => Prepared::Replace(draft(text, base.sources())?),
            Edit::Remove(name) => Prepared::Remove(name),
        })
    }
}

/// A route that came later, and where it is found.
#[derive(Clone)]
pub(super) struct Young {
    pub route: Arc<Route>,
    segment: Arc<Segment>,
    rule: RuleId,
}

/// The home of a route.
#[derive(Clone)]
pub(super) enum Where {
    Base(RuleId),
    Young(Young),
}

/// The state behind a snapshot.
pub(super) struct Writer {
    pub base: Arc<Base>,
    /// The segments that came later, oldest first.
    pub young: Vec<Arc<Segment>>,
    pub declarations: Declarations,
    /// The fields of the message, as the base and all edits have them.
    pub known: Known,
    jumps: Jumps,
    /// The later routes that are there, by table and name.
    names: HashMap<(TableId, Arc<str>), Young>,
    /// The base routes that are gone.
    gone: Vec<RuleId>,
    is_gone: HashSet<RuleId>,
    /// The place of the next route that is inserted.
    next_place: Place,
    /// The number of the last change.
    version: u64,
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
}

/// The input of a merge.
pub(super) struct Merged {
    pub changes: Changes,
    edits: usize,
    gone: usize,
    next_place: Place,
    young: Vec<Arc<Route>>,
}

impl Writer {
    /// The state of rules that have just been compiled.
    pub fn new(compiled: Compiled) -> Writer {
        let Compiled { base, declarations, known } = compiled;
        Writer {
            jumps: Jumps::of(base.rules.program()),
            base: Arc::new(base),
            young: Vec::new(),
            declarations,
            known,
            names: HashMap::new(),
            gone: Vec::new(),
            is_gone: HashSet::new(),
            next_place: INSERTED,
            version: 0,
            edits: 0,
            merging: false,
            sealed: 0,
            compacting: false,
            incompatible: false,
            error: None,
            retry_at: 0,
        }
    }

    /// The snapshot that decisions look at from now on.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let mut segments = Vec::with_capacity(1 + self.young.len());
        segments.push(Arc::clone(&self.base.segment));
        segments.extend(self.young.iter().cloned());
        let edited = !self.young.is_empty() || !self.gone.is_empty();
        Arc::new(Snapshot { base: Arc::clone(&self.base), segments, version: self.version, edited })
    }

    /// The route of that name.
    pub fn find(&self, table: TableId, name: &str) -> Option<Where> {
        if let Some(young) = self.names.get(&(table, Arc::from(name))) {
            return Some(Where::Young(young.clone()));
        }
        let id = self.base.named(table, name)?;
        (!self.is_gone.contains(&id)).then_some(Where::Base(id))
    }

    /// True while a route that came later is still there.
    fn is_there(&self, route: &Arc<Route>) -> bool {
        let young = self.names.get(&(route.table, Arc::clone(&route.name)));
        young.is_some_and(|young| Arc::ptr_eq(&young.route, route))
    }

    /// Makes an edit. What is returned has to be compiled anew instead: the edit changes how other
    /// routes read a field, and has not been made.
    ///
    /// # Errors
    /// See [`EditError`].
    pub fn apply(
        &mut self,
        compiler: &Compiler,
        table: TableId,
        edit: Prepared<'_>,
    ) -> Result<Option<Changes>, EditError> {
        let (draft, old) = match edit {
            Prepared::Remove(name) => (None, Some(self.existing(table, name)?)),
            Prepared::Replace(draft) => {
                let old = self.existing(table, draft.name())?;
                (Some(draft), Some(old))
            }
            Prepared::Insert(draft) => {
                let name = draft.name();
                if self.find(table, name).is_some() {
                    return Err(EditError::Duplicate(name.to_owned()));
                }
                (Some(draft), None)
            }
        };
        // What the rules are without the old route.
        let used = match &old {
            Some(old) if matches!(self.known, Known::Uses(_)) => self.uses_of(old)?,
            _ => RouteUses::default(),
        };
        let same = self.uses().is_none_or(|uses| uses.remove(&used));
        let old_jump = old.as_ref().and_then(|old| Some((table, self.jump_of(old)?)));
        let refused = match draft {
            _ if !same => {
                // Compiled with all the others, which tells what is wrong with it too.
                Ok(Some(self.changes_with(table, old.as_ref(), draft.map(|draft| draft.text))))
            }
            None => {
                self.publish(table, old, old_jump, None);
                return Ok(None);
            }
            Some(draft) => match self.compile(compiler, table, draft, old_jump) {
                Ok(new) => {
                    self.publish(table, old, old_jump, Some(new));
                    return Ok(None);
                }
                Err(error) => Err(error.into()),
            },
        };
        if let Some(uses) = self.uses() {
            uses.add(&used);
        }
        refused
    }

    /// The uses that all routes make of the fields of the message, where they are not declared.
    fn uses(&mut self) -> Option<&mut FieldUses> {
        match &mut self.known {
            Known::Uses(uses) => Some(Arc::make_mut(uses)),
            Known::Input(_) => None,
        }
    }

    fn existing(&self, table: TableId, name: &str) -> Result<Where, UnknownRoute> {
        self.find(table, name).ok_or_else(|| {
            let base = self.base.names.get(table.index()).into_iter().flatten();
            let base = base.filter(|(_, id)| !self.is_gone.contains(*id)).map(|(name, _)| &**name);
            let later = self.names.keys().filter(|(other, _)| *other == table).map(|(_, name)| &**name);
            UnknownRoute::new(name, name_in(&self.base.rules, table), base.chain(later))
        })
    }

    /// Compiles a route that is to stand in a table, in place of one with this jump.
    fn compile(
        &mut self,
        compiler: &Compiler,
        table: TableId,
        draft: Draft,
        old_jump: Option<Jump>,
    ) -> Result<(Route, Rules), CompileError> {
        let base = &self.base.rules;
        let (declarations, known) = (&mut self.declarations, self.known.clone());
        let (route, rules) =
            text::keeping_parsed(|| declarations.compile(compiler, base, table, draft, known))?;
        if let Some((to, span)) = route.goto
            && let Some(wrong) = self.jumps.fault(table, to, old_jump)
        {
            let wrong = Diagnostic::new(wrong.0, span, wrong.1)
                .help("let tables jump to their goal directly, and never back");
            return Err(refusal(base, &route.draft.text, vec![wrong]));
        }
        Ok((route, rules))
    }

    /// The uses a route makes of the fields of the message. One of the base is checked as if it came now.
    fn uses_of(&mut self, route: &Where) -> Result<RouteUses, EditError> {
        match route {
            Where::Young(young) => Ok(young.route.uses.clone()),
            Where::Base(id) => {
                let base = &self.base.rules;
                let rule = &base.program().rules[id.index()];
                let draft = draft(base.sources().slice(rule.span), base.sources())?;
                Ok(self.declarations.uses(base, rule.table, &draft, self.known.clone()))
            }
        }
    }

    fn jump_of(&self, route: &Where) -> Option<TableId> {
        match route {
            Where::Young(young) => Some(young.route.goto?.0),
            Where::Base(id) => match self.base.rules.program().rules.get(id.index())?.outcome {
                Outcome::Goto(to) => Some(to),
                _ => None,
            },
        }
    }

    /// Makes an edit, to be seen with the next snapshot.
    fn publish(
        &mut self,
        table: TableId,
        old: Option<Where>,
        old_jump: Option<Jump>,
        new: Option<(Route, Rules)>,
    ) {
        self.version += 1;
        self.edits += 1;
        let mut place = None;
        match old {
            Some(Where::Base(id)) => {
                place = Some(self.base.segment.place(id));
                self.base.segment.remove(id, self.version);
                self.gone.push(id);
                self.is_gone.insert(id);
            }
            Some(Where::Young(Young { route, segment, rule })) => {
                place = Some(segment.place(rule));
                segment.remove(rule, self.version);
                self.names.remove(&(table, route.name.clone()));
                if segment.routes.len() == 1 {
                    self.drop_segments(&[segment]);
                }
            }
            None => {}
        }
        old_jump.into_iter().for_each(|jump| self.jumps.remove(jump));
        let Some((route, rules)) = new else { return };
        let place = place.unwrap_or_else(|| {
            self.next_place += 1;
            self.next_place - 1
        });
        route.goto.into_iter().for_each(|(to, _)| self.jumps.add((table, to)));
        if let Some(uses) = self.uses() {
            uses.add(&route.uses);
        }
        let segment = Arc::new(Segment::young(rules, &self.base.rules, vec![(Arc::new(route), place)]));
        self.enter(&segment, 0);
        self.young.push(segment);
    }

    /// Takes young segments out, and tells where the first stood.
    fn drop_segments(&mut self, old: &[Arc<Segment>]) -> usize {
        let is_old = |young: &Arc<Segment>| old.iter().any(|old| Arc::ptr_eq(old, young));
        let first = self.young.iter().position(is_old).unwrap_or(self.young.len());
        self.sealed -= self.young.iter().take(self.sealed).filter(|young| is_old(young)).count();
        self.young.retain(|young| !is_old(young));
        first
    }

    /// Enters a route of a segment under its name.
    fn enter(&mut self, segment: &Arc<Segment>, at: usize) {
        let Some(route) = segment.routes.get(at).cloned() else { return };
        let name = (route.table, route.name.clone());
        self.names.insert(name, Young { route, segment: Arc::clone(segment), rule: RuleId(at as u32) });
    }

    /// Puts a segment in the place of those that it was compiled of. What was removed meanwhile is
    /// removed from it too.
    pub fn replace(&mut self, old: &[Arc<Segment>], segment: Option<Segment>) {
        let sealed = self.sealed;
        let first = self.drop_segments(old);
        let Some(segment) = segment.map(Arc::new) else { return };
        let living: Vec<bool> = segment.routes.iter().map(|route| self.is_there(route)).collect();
        if !living.contains(&true) {
            return;
        }
        self.young.insert(first, Arc::clone(&segment));
        self.sealed += usize::from(first < sealed);
        for (at, lives) in living.into_iter().enumerate() {
            match lives {
                true => self.enter(&segment, at),
                // No decision has seen it in this segment.
                false => segment.remove(RuleId(at as u32), 1),
            }
        }
    }

    /// The input of a merge that begins now.
    pub fn seal(&mut self) -> Merged {
        self.sealed = self.young.len();
        Merged {
            changes: self.changes(),
            edits: self.edits,
            gone: self.gone.len(),
            next_place: self.next_place,
            young: self.living().map(|(route, _)| Arc::clone(route)).collect(),
        }
    }

    /// Takes over a base in which edits were merged. Those that came after stay beside it.
    pub fn carry_over(&mut self, compiled: Compiled, merged: &Merged) {
        let Compiled { base, declarations, known } = compiled;
        // Uses are counted with every edit; where an input stands changes with the texts.
        if let Known::Input(_) = known {
            self.known = known;
        }
        self.declarations = declarations;
        let old = std::mem::replace(&mut self.base, Arc::new(base));
        let base = Arc::clone(&self.base);
        // What the base has and was removed meanwhile.
        let rules = &old.rules.program().rules;
        let of_base = self.gone.iter().skip(merged.gone).map(|id| &rules[id.index()]);
        let of_base = of_base.filter_map(|rule| base.named(rule.table, &rule.name));
        let of_young = merged.young.iter().filter(|route| !self.is_there(route));
        let of_young = of_young.filter_map(|route| base.named(route.table, &route.name));
        let gone: Vec<RuleId> = of_base.chain(of_young).collect();
        self.version += 1;
        gone.iter().for_each(|id| base.segment.remove(*id, self.version));
        self.is_gone = gone.iter().copied().collect();
        self.gone = gone;
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
                let young = living.get(&(route.table, Arc::clone(&route.name)));
                if young.is_some_and(|young| Arc::ptr_eq(&young.route, route)) {
                    self.enter(&segment, at);
                }
            }
            self.young.push(segment);
        }
        self.edits -= merged.edits;
        (self.error, self.retry_at, self.incompatible) = (None, 0, false);
    }

    /// The later routes that are there, with their places.
    fn living(&self) -> impl Iterator<Item = (&Arc<Route>, Place)> {
        self.names.values().map(|young| (&young.route, young.segment.place(young.rule)))
    }

    /// Those of some segments, by their places.
    pub fn living_in(&self, segments: &[Arc<Segment>]) -> Vec<(Arc<Route>, Place)> {
        let young = self.names.values();
        let inside = young.filter(|young| segments.iter().any(|other| Arc::ptr_eq(other, &young.segment)));
        let mut routes: Vec<(Arc<Route>, Place)> =
            inside.map(|young| (Arc::clone(&young.route), young.segment.place(young.rule))).collect();
        routes.sort_by_key(|(_, place)| *place);
        routes
    }

    /// The edits since the base was compiled.
    pub fn changes(&self) -> Changes {
        self.changes_with(TableId(0), None, None)
    }

    /// The same with one more edit in it: a route of a table, the old one gone and this text in its
    /// place.
    fn changes_with(&self, table: TableId, old: Option<&Where>, new: Option<Arc<str>>) -> Changes {
        let mut gone: HashSet<RuleId> = self.is_gone.clone();
        let (mut place, mut without) = (None, None);
        match old {
            Some(Where::Young(young)) => {
                place = Some(young.segment.place(young.rule));
                without = Some(&young.route);
            }
            Some(Where::Base(id)) => {
                gone.insert(*id);
                place = Some(self.base.segment.place(*id));
            }
            None => {}
        }
        let living = self.living().filter(|(route, _)| without.is_none_or(|old| !Arc::ptr_eq(old, route)));
        let mut texts: Vec<(TableId, Place, Arc<str>)> =
            living.map(|(route, place)| (route.table, place, Arc::clone(&route.draft.text))).collect();
        if let Some(text) = new {
            texts.push((table, place.unwrap_or(self.next_place), text));
        }
        texts.sort_by_key(|(_, place, _)| *place);
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
