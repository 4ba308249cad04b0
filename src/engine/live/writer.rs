//! The state that edits change. One thread at a time edits; what decisions look at changes in one
//! step at the end.

use super::declarations::{Declarations, Draft};
use super::error::{EditError, UnknownRoute};
use super::merge::Compiled;
use super::route::Route;
use super::texts::Changes;
use super::view::{Entry, Gone, INSERTED, Place, View};
use crate::diag::{Code, Diagnostic};
use crate::engine::compile::fails;
use crate::engine::{CompileError, Compiler, Rules};
use crate::sema::check::{FieldUses, Known, RouteUses};
use crate::sema::hir::{MAX_JUMPS, Outcome, Program, RuleId, TableId, TableKind};
use crate::source::SourceMap;
use crate::span::FileId;
use crate::syntax::ast::StatementKind;
use crate::syntax::parse;
use crate::text;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// What is to be done, by a text or a name.
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

/// Parses a route; its file comes behind those of the rules.
fn draft(text: &str, sources: &SourceMap) -> Result<Draft, EditError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file = FileId(sources.iter().count() as u32);
    let mut parsed = parse(file, text);
    if fails(&parsed.diagnostics) {
        parsed.diagnostics.retain(Diagnostic::is_error);
        let mut shown = SourceMap::new();
        for (_, file) in sources.iter() {
            shown.add(file.name.as_str(), "");
        }
        shown.add("<route>", text);
        return Err(CompileError::new(parsed.diagnostics, shown).into());
    }
    let wrong = |what: &str| Err(EditError::NotOneRoute(what.to_owned()));
    match parsed.statements.pop() {
        Some(_) if !parsed.statements.is_empty() => wrong("more than one statement"),
        Some(statement) if matches!(statement.kind, StatementKind::Route(_)) => {
            Ok(Draft { statement, text: text.into(), file })
        }
        Some(_) => wrong("another statement"),
        None => wrong("none"),
    }
}

/// Where a route is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Where {
    Base(RuleId),
    Entry(u32),
}

/// The state behind a view.
pub(super) struct Writer {
    pub view: Arc<View>,
    declarations: Declarations,
    /// The fields of the message, as the base and all edits have them.
    known: Known,
    /// How many jumps lead from a table to another.
    jumps: HashMap<(TableId, TableId), u32>,
    /// The entries that are there, by table and name.
    names: HashMap<(TableId, Arc<str>), u32>,
    /// The base routes that are gone, each with the version from which on.
    pub gone: Vec<(RuleId, u32)>,
    is_gone: HashSet<RuleId>,
    /// The place of the next route that is inserted.
    pub next_place: Place,
    /// The number of the last edit.
    pub version: u32,
    /// How many entries are tried for every message.
    pub always: usize,
    /// Whether a merge runs.
    pub merging: bool,
    /// Why the last merge failed.
    pub error: Option<CompileError>,
    /// After a merge that failed none starts by itself before this version.
    pub retry_at: u32,
}

impl Writer {
    /// The state of rules that have just been compiled.
    pub fn new(compiled: Compiled) -> (Arc<View>, Writer) {
        let Compiled { base, declarations, known } = compiled;
        let jumps = jumps(base.rules.program());
        let view = Arc::new(View::new(base));
        let writer = Writer {
            view: Arc::clone(&view),
            declarations,
            known,
            jumps,
            names: HashMap::new(),
            gone: Vec::new(),
            is_gone: HashSet::new(),
            next_place: INSERTED,
            version: 0,
            always: 0,
            merging: false,
            error: None,
            retry_at: 0,
        };
        (view, writer)
    }

    /// The route of that name.
    pub fn find(&self, table: TableId, name: &str) -> Option<Where> {
        if let Some(at) = self.names.get(&(table, Arc::from(name))) {
            return Some(Where::Entry(*at));
        }
        let id = *self.view.base.names.get(table.index())?.get(name)?;
        (!self.is_gone.contains(&id)).then_some(Where::Base(id))
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
                let old = self.existing(table, name_of(&draft))?;
                (Some(draft), Some(old))
            }
            Prepared::Insert(draft) => {
                let name = name_of(&draft);
                if self.find(table, name).is_some() {
                    return Err(EditError::Duplicate(name.to_owned()));
                }
                (Some(draft), None)
            }
        };
        // What the rules are without the old route.
        let used = match old {
            Some(old) if matches!(self.known, Known::Uses(_)) => self.uses_of(old)?,
            _ => RouteUses::default(),
        };
        let same = self.uses().is_none_or(|uses| uses.remove(&used));
        let old_jump = old.and_then(|old| Some((table, self.jump_of(old)?)));
        let refused = match draft {
            _ if !same => {
                // Compiled with all the others, which tells what is wrong with it too.
                Ok(Some(self.changes_with(table, old, draft.map(|draft| draft.text))))
            }
            None => {
                self.publish(table, old, old_jump, None);
                return Ok(None);
            }
            Some(draft) => match self.compile(compiler, table, draft, old_jump) {
                Ok(route) => {
                    self.publish(table, old, old_jump, Some(route));
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

    /// How all routes use the fields of the message, where they are not declared.
    fn uses(&mut self) -> Option<&mut FieldUses> {
        match &mut self.known {
            Known::Uses(uses) => Some(Arc::make_mut(uses)),
            Known::Input(_) => None,
        }
    }

    fn existing(&self, table: TableId, name: &str) -> Result<Where, UnknownRoute> {
        self.find(table, name).ok_or_else(|| {
            let base = self.view.base.names.get(table.index()).into_iter().flatten();
            let base = base.filter(|(_, id)| !self.is_gone.contains(*id)).map(|(name, _)| &**name);
            let later = self.names.keys().filter(|(other, _)| *other == table).map(|(_, name)| &**name);
            let inside = &self.view.base.rules.program().tables[table.index()].name;
            UnknownRoute::new(name, (table != TableId(0)).then_some(inside), base.chain(later))
        })
    }

    /// Compiles a route that is to stand in a table, in place of one with this jump.
    fn compile(
        &mut self,
        compiler: &Compiler,
        table: TableId,
        draft: Draft,
        old_jump: Option<(TableId, TableId)>,
    ) -> Result<Route, CompileError> {
        let base = &self.view.base.rules;
        let (declarations, known) = (&mut self.declarations, self.known.clone());
        let route = text::keeping_parsed(|| declarations.compile(compiler, base, table, draft, known))?;
        if let Some((to, span)) = route.goto
            && let Some(wrong) = self.jump_fault(table, to, old_jump)
        {
            return Err(Declarations::refusal(
                base,
                &route.text,
                Diagnostic::new(wrong.0, span, wrong.1)
                    .help("let tables jump to their goal directly, and never back"),
            ));
        }
        Ok(route)
    }

    /// How a route uses the fields of the message. One of the base is checked as if it came now.
    fn uses_of(&mut self, route: Where) -> Result<RouteUses, EditError> {
        match route {
            Where::Entry(at) => {
                Ok(self.view.entry(at).map(|entry| entry.route.uses.clone()).unwrap_or_default())
            }
            Where::Base(id) => {
                let base = &self.view.base.rules;
                let rule = &base.program().rules[id.index()];
                let draft = draft(base.sources().slice(rule.span), base.sources())?;
                Ok(self.declarations.uses(base, rule.table, draft, self.known.clone()))
            }
        }
    }

    fn jump_of(&self, route: Where) -> Option<TableId> {
        match route {
            Where::Entry(at) => Some(self.view.entry(at)?.route.goto?.0),
            Where::Base(id) => match self.view.base.rules.program().rules.get(id.index())?.outcome {
                Outcome::Goto(to) => Some(to),
                _ => None,
            },
        }
    }

    /// Why a jump from a table to another may not be, `without` another.
    fn jump_fault(
        &self,
        from: TableId,
        to: TableId,
        without: Option<(TableId, TableId)>,
    ) -> Option<(Code, String)> {
        let count = |edge: &(TableId, TableId), count: u32| count > u32::from(Some(*edge) == without);
        let edges: Vec<(TableId, TableId)> =
            self.jumps.iter().filter(|(edge, n)| count(edge, **n)).map(|(edge, _)| *edge).collect();
        if edges.contains(&(from, to)) {
            return None;
        }
        // The longest ways that begin, or end, at a table: there are no circles yet.
        let longest = |start: TableId, forward: bool| {
            let mut depth: HashMap<TableId, usize> = HashMap::from([(start, 0)]);
            let mut open = vec![start];
            while let Some(at) = open.pop() {
                let next = depth[&at] + 1;
                for (a, b) in &edges {
                    let (here, there) = if forward { (*a, *b) } else { (*b, *a) };
                    if here == at && depth.get(&there).is_none_or(|known| *known < next) {
                        depth.insert(there, next);
                        open.push(there);
                    }
                }
            }
            depth
        };
        let (behind, ahead) = (longest(to, true), longest(from, false));
        if behind.contains_key(&from) {
            return Some((Code::JumpCycle, "these jumps go round in a circle".to_owned()));
        }
        let deepest = |depths: &HashMap<TableId, usize>| depths.values().copied().max().unwrap_or(0);
        (deepest(&behind) + deepest(&ahead) + 1 > MAX_JUMPS)
            .then(|| (Code::JumpsTooDeep, format!("jumps lead through more than {MAX_JUMPS} tables")))
    }

    /// Makes an edit seen.
    fn publish(
        &mut self,
        table: TableId,
        old: Option<Where>,
        old_jump: Option<(TableId, TableId)>,
        new: Option<Route>,
    ) {
        let version = self.version + 1;
        let mut place = None;
        let mut gone = None;
        match old {
            Some(Where::Base(id)) => {
                place = Some(Place::from(id.0));
                gone = self.view.base.rank(id).map(|rank| Gone::Base(table, rank));
                self.gone.push((id, version));
                self.is_gone.insert(id);
            }
            Some(Where::Entry(at)) => {
                gone = Some(Gone::Entry(at));
                if let Some(entry) = self.view.entry(at) {
                    place = Some(entry.place);
                    self.always -= usize::from(is_always(&entry.route));
                    self.names.remove(&(table, entry.route.name().clone()));
                }
            }
            None => {}
        }
        if let Some(edge) = old_jump
            && let Some(count) = self.jumps.get_mut(&edge)
        {
            *count -= 1;
        }
        let new = new.map(Arc::new);
        let come = new.as_ref().map(|route| {
            let place = place.unwrap_or_else(|| {
                self.next_place += 1;
                self.next_place - 1
            });
            let before = self.view.base.before(table, route.priority(), place);
            Entry::new(Arc::clone(route), place, before, version)
        });
        if let Some(route) = &new {
            self.count(route);
        }
        let numbers = self.view.edit(version, gone.as_slice(), come.into_iter().collect());
        if let (Some(route), Some(at)) = (new, numbers.first()) {
            self.names.insert((table, route.name().clone()), *at);
        }
        self.version = version;
    }

    /// Counts what a route that comes brings along.
    fn count(&mut self, route: &Route) {
        if let Some((to, _)) = route.goto {
            *self.jumps.entry((route.table, to)).or_default() += 1;
        }
        if let Some(uses) = self.uses() {
            uses.add(&route.uses);
        }
        self.always += usize::from(is_always(route));
    }

    /// What has been edited since the base was compiled.
    pub fn changes(&self) -> Changes {
        self.changes_with(TableId(0), None, None)
    }

    /// The same with one more edit in it: a route of a table, the old one gone and this text in its
    /// place.
    fn changes_with(&self, table: TableId, old: Option<Where>, new: Option<Arc<str>>) -> Changes {
        let mut texts: Vec<(TableId, Place, Arc<str>)> = Vec::new();
        for (at, entry) in self.view.entries().filter(|(_, entry)| entry.is_there(self.version)) {
            if old != Some(Where::Entry(at)) {
                texts.push((entry.route.table, entry.place, Arc::clone(&entry.route.text)));
            }
        }
        let mut gone: HashSet<RuleId> = self.is_gone.clone();
        let place = match old {
            Some(Where::Entry(at)) => self.view.entry(at).map(|entry| entry.place),
            Some(Where::Base(id)) => {
                gone.insert(id);
                Some(Place::from(id.0))
            }
            None => None,
        };
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

    /// Takes over a base that was compiled of the texts as of a version, and makes the edits on it
    /// that came after.
    pub fn carry_over(&mut self, compiled: Compiled, version: u32, next_place: Place) -> Arc<View> {
        let old = Arc::clone(&self.view);
        let Compiled { base, declarations, known } = compiled;
        // Uses are counted with every edit; where an input stands changes with the texts.
        if let Known::Input(_) = known {
            self.known = known;
        }
        let view = Arc::new(View::new(base));
        let base = &view.base;
        self.declarations = declarations;
        let named = |table: TableId, name: &str| base.names.get(table.index())?.get(name).copied();
        // What was there as of that version and is not now.
        let rules = &old.base.rules.program().rules;
        let of_base = self.gone.iter().filter(|(_, since)| *since > version).filter_map(|(id, _)| {
            let rule = &rules[id.index()];
            named(rule.table, &rule.name)
        });
        let of_entries =
            old.entries().filter(|(_, entry)| entry.is_there(version) && !entry.is_there(self.version));
        let of_entries = of_entries.filter_map(|(_, entry)| named(entry.route.table, entry.route.name()));
        let gone: Vec<RuleId> = of_base.chain(of_entries).collect();
        // What came after that version and is there now, in order.
        let mut later: Vec<&Entry> = old
            .entries()
            .map(|(_, entry)| entry)
            .filter(|entry| entry.born > version && entry.is_there(self.version))
            .collect();
        later.sort_by_key(|entry| entry.place);
        (self.names, self.always, self.next_place) = (HashMap::new(), 0, INSERTED);
        let edited = !gone.is_empty() || !later.is_empty();
        let mut come = Vec::new();
        for entry in later {
            let route = &entry.route;
            let place = if entry.place < next_place { named(route.table, route.name()) } else { None };
            let place = place.map_or(self.next_place, |id| Place::from(id.0));
            self.next_place += u64::from(place == self.next_place);
            self.always += usize::from(is_always(route));
            let before = base.before(route.table, route.priority(), place);
            come.push(Entry::new(Arc::clone(route), place, before, 1));
        }
        let hidden: Vec<Gone> = gone
            .iter()
            .filter_map(|id| Some(Gone::Base(base.rules.program().rules[id.index()].table, base.rank(*id)?)))
            .collect();
        self.gone = gone.iter().map(|id| (*id, 1)).collect();
        self.is_gone = gone.into_iter().collect();
        self.version = u32::from(edited);
        if edited {
            for at in view.edit(1, &hidden, come) {
                if let Some(entry) = view.entry(at) {
                    self.names.insert((entry.route.table, entry.route.name().clone()), at);
                }
            }
        }
        self.view = Arc::clone(&view);
        view
    }
}

fn name_of(draft: &Draft) -> &str {
    draft.route().map_or("", |route| &route.name.node)
}

fn is_always(route: &Route) -> bool {
    route.can_hold && route.keys.is_none()
}

/// The jumps between tables of routes.
fn jumps(program: &Program) -> HashMap<(TableId, TableId), u32> {
    let mut jumps = HashMap::new();
    let of_rules = program.rules.iter().map(|rule| (rule.table, &rule.outcome));
    let defaults = program.tables.iter().enumerate();
    let defaults = defaults.filter_map(|(at, table)| Some((TableId(at as u32), table.default.as_ref()?)));
    for (from, outcome) in of_rules.chain(defaults) {
        if let Outcome::Goto(to) = outcome
            && program.tables[from.index()].kind == TableKind::Routes
        {
            *jumps.entry((from, *to)).or_default() += 1;
        }
    }
    jumps
}
