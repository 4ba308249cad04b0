//! Deciding by a base and what was edited since: in each table the base's index finds the first of its
//! routes that holds and is still there, and of the routes that came later those are tried that stand
//! before it.

use super::route::Route;
use super::view::{Entry, Found, View};
use crate::decision::Chosen;
use crate::engine::backend::Calls;
use crate::engine::decision::{Answer, Decision, Extras, Picked, Trail};
use crate::engine::input::Input;
use crate::engine::workspace::{self, Workspace};
use crate::json::{self, JsonError};
use crate::sema::hir::{Outcome, RuleId, TableId, TableKind};
use crate::vm::{Computed, JsonMessage, Scratch, Vm};
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::sync::Arc;

/// Whether routes can come and go in an entry, or in tables that it leads to.
fn is_live(view: &View, entry: TableId) -> bool {
    view.is_edited() && view.base.rules.program().tables[entry.index()].kind == TableKind::Routes
}

/// Decides by a table.
pub(super) fn decide(view: &View, entry: TableId, message: &Json) -> Decision {
    let rules = &view.base.rules;
    if !is_live(view, entry) {
        return rules.table(entry).decide(message);
    }
    workspace::with_thread(|Workspace { machine, later: (scratch, numbers), .. }, thread| {
        let found = view.find(message, numbers);
        let set = rules.set();
        let mut base = Vm::json(&set.bytecode, &set.hosts, message, machine);
        base.use_index(set.index(), true);
        base.leave_out(view.removed(), found.version);
        let mut search = Search { view, found: &found, message, base, scratch, calls: None, computed: None };
        let (picked, tables) = search.decide(entry);
        let (picked, computed) = match picked {
            Pick::Later(route) => (Picked::Later(Arc::clone(&route.program), RuleId(0)), search.computed),
            Pick::Base(chosen) => {
                let outcome = chosen.outcome(&set.program);
                (Picked::Base(chosen), outcome.and_then(|outcome| search.base.outcome(outcome)))
            }
            Pick::Nothing => (Picked::Nothing, None),
        };
        let mut calls = Calls::of(search.base.hosts());
        add(&mut calls, search.calls.take());
        let extras = Extras::of(computed, calls, set.breaches(Input::Tree(message)));
        let rules = Arc::clone(rules.shared.owner(thread));
        Decision { rules, entry, answer: Answer::Live(picked, tables), extras }
    })
}

/// Decides by a table for a message as JSON text.
pub(super) fn decide_line(view: &View, entry: TableId, text: &[u8]) -> Result<Decision, JsonError> {
    if !is_live(view, entry) {
        return view.base.rules.table(entry).decide_line(text);
    }
    Ok(decide(view, entry, &Json::Object(json::parse_object_bytes(text)?)))
}

/// The names of all routes of a table that hold, in the order they are tried.
pub(super) fn matched(view: &View, entry: TableId, message: &Json) -> Vec<String> {
    let rules = &view.base.rules;
    if !is_live(view, entry) {
        return rules.table(entry).matched(message).into_iter().map(str::to_owned).collect();
    }
    workspace::with_thread(|Workspace { machine, later: (scratch, numbers), .. }, _| {
        let found = view.find(message, numbers);
        let set = rules.set();
        let mut base = Vm::json(&set.bytecode, &set.hosts, message, machine);
        base.use_index(set.index(), true);
        base.leave_out(view.removed(), found.version);
        let ids = base.matched(entry);
        // Each with the number of base routes before it; a later route stands before the base route
        // of that rank.
        let base = ids.into_iter().filter_map(|id| {
            Some((view.base.rank(id)?, true, set.program.rules[id.index()].name.to_string()))
        });
        let later = found.entries.iter().filter(|later| later.route.table == entry);
        let later = later.filter(|later| later.route.holds(message, scratch));
        let later = later.map(|later| (later.before, false, later.route.name().to_string()));
        let mut all: Vec<(u32, bool, String)> = later.chain(base).collect();
        all.sort_by_key(|(rank, base, _)| (*rank, *base));
        all.into_iter().map(|(.., name)| name).collect()
    })
}

/// Joins what host functions did.
fn add(calls: &mut Option<Calls>, more: Option<Calls>) {
    match (calls, more) {
        (Some(calls), Some(more)) => {
            for failure in more.failures {
                if !calls.failures.contains(&failure) {
                    calls.failures.push(failure);
                }
            }
            calls.elapsed += more.elapsed;
        }
        (calls @ None, more) => *calls = more,
        (Some(_), None) => {}
    }
}

/// A decision in the making.
struct Search<'s, 'v> {
    view: &'v View,
    found: &'s Found<'v>,
    message: &'s Json,
    base: Vm<'s, JsonMessage<'s>>,
    /// For the machines of the routes that came later.
    scratch: &'s mut Scratch,
    calls: Option<Calls>,
    /// The values of the later route that held last.
    computed: Option<Computed>,
}

/// Where the search through a table goes on.
#[derive(Clone, Copy)]
struct Cursor {
    table: TableId,
    /// The rank among the base's routes.
    rank: u32,
    /// The place among those that came later.
    next: usize,
}

/// A jump that was taken: where to go on when its table chooses nothing, and how many tables the way
/// up to it has.
struct Frame {
    behind: Cursor,
    tables: usize,
}

/// What is chosen.
enum Pick<'v> {
    Nothing,
    Base(Chosen),
    Later(&'v Route),
}

/// How the search through a table ends.
enum End<'v> {
    Pick(Pick<'v>),
    Goto(TableId, Cursor),
    Continue(TableId),
    Nothing,
}

impl<'v> Search<'_, 'v> {
    /// What is chosen, and the tables on the way there.
    fn decide(&mut self, entry: TableId) -> (Pick<'v>, Trail) {
        let mut tables = Trail::from_slice(&[entry]);
        let mut frames = SmallVec::<[Frame; 8]>::new();
        // A table that chose nothing once in a decision will choose nothing again.
        let mut vain = SmallVec::<[TableId; 8]>::new();
        let mut at = self.start(entry);
        loop {
            let next = match self.search(at) {
                End::Pick(picked) => return (picked, tables),
                End::Goto(inner, behind) => {
                    frames.push(Frame { behind, tables: tables.len() });
                    Some(inner)
                }
                End::Continue(inner) => Some(inner),
                End::Nothing => None,
            };
            match next.filter(|next| !vain.contains(next)) {
                Some(next) => {
                    tables.push(next);
                    at = self.start(next);
                }
                None => {
                    let Some(frame) = frames.pop() else {
                        return (Pick::Nothing, Trail::from_slice(&[entry]));
                    };
                    vain.extend(tables.drain(frame.tables..));
                    at = frame.behind;
                }
            }
        }
    }

    fn start(&self, table: TableId) -> Cursor {
        let next = self.found.entries.partition_point(|entry| entry.route.table < table);
        Cursor { table, rank: 0, next }
    }

    /// Searches a table from a cursor on.
    fn search(&mut self, at: Cursor) -> End<'v> {
        let base = self.base.first_from(at.table, at.rank);
        let bound = base.map_or(u32::MAX, |found| found.rank);
        let mut next = at.next;
        while let Some(entry) = self.found.entries.get(next).filter(|entry| entry.route.table == at.table) {
            if entry.before > bound {
                break;
            }
            next += 1;
            if self.holds(entry) {
                let behind = Cursor { rank: entry.before, next, ..at };
                return match entry.route.goto {
                    Some((inner, _)) => End::Goto(inner, behind),
                    None => End::Pick(Pick::Later(&entry.route)),
                };
            }
        }
        match base {
            Some(found) => match found.goto {
                Some(inner) => End::Goto(inner, Cursor { rank: found.rank + 1, next, ..at }),
                None => End::Pick(Pick::Base(Chosen::Rule(found.route))),
            },
            None => match &self.view.base.rules.program().tables[at.table.index()].default {
                Some(Outcome::Goto(inner)) => End::Continue(*inner),
                Some(_) => End::Pick(Pick::Base(Chosen::Default(at.table))),
                None => End::Nothing,
            },
        }
    }

    fn holds(&mut self, entry: &Entry) -> bool {
        let (holds, computed, calls) = entry.route.decide(self.message, self.scratch);
        add(&mut self.calls, calls);
        self.computed = computed;
        holds
    }
}
