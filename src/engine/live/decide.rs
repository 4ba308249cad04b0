//! Deciding by a base and what was edited since: in each table the base's index finds the first of its
//! routes that holds and is still there, and of the routes that came later those are tried that stand
//! before it.

use super::decision::{Answer, LiveDecision, Picked, Trail};
use super::view::{Entry, Found, View};
use crate::decision::Chosen;
use crate::engine::decision::Extras;
use crate::engine::{Calls, RuleSet};
use crate::sema::hir::{Outcome, TableId, TableKind};
use crate::vm::{JsonMessage, Scratch, Vm};
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// What a thread keeps from decision to decision.
#[derive(Default)]
struct Room {
    scratch: Scratch,
    found: Vec<u32>,
}

thread_local! {
    /// Taken out while a decision runs, so that a host function may decide as well.
    static ROOM: RefCell<Option<Box<Room>>> = const { RefCell::new(None) };
}

fn with_room<T>(run: impl FnOnce(&mut Room) -> T) -> T {
    let mut room = ROOM.with(RefCell::take).unwrap_or_default();
    let result = run(&mut room);
    ROOM.with(|home| home.replace(Some(room)));
    result
}

/// Whether routes can come and go in an entry, or in tables that it leads to.
fn is_live(view: &View, entry: TableId) -> bool {
    view.is_edited() && view.base.rules.program().tables[entry.index()].kind == TableKind::Routes
}

/// Decides by a table.
pub(super) fn decide(view: &View, entry: TableId, message: &Json) -> LiveDecision {
    let rules = &view.base.rules;
    if !is_live(view, entry) {
        return LiveDecision::of_base(rules, rules.table(entry).decide(message));
    }
    with_room(|room| {
        let found = view.find(message, &mut room.found);
        let set = &*rules.set;
        let (picked, tables, calls) = RuleSet::with_scratch(|scratch| {
            let mut base = Vm::json(&set.bytecode, &set.hosts, message, scratch);
            base.use_index(set.index(), true);
            base.leave_out(view.removed(), found.version.into());
            let mut search =
                Search { view, found: &found, message, base, scratch: &mut room.scratch, calls: None };
            let (picked, tables) = search.decide(entry);
            let mut calls = Calls::of(search.base.hosts());
            add(&mut calls, search.calls);
            (picked, tables, calls)
        });
        let breaches = set.breaches(message);
        let extras = match &picked {
            Picked::Later(route) => {
                let with_args = Some(route.outcome()).filter(|outcome| outcome.has_args());
                (with_args.is_some() || calls.is_some() || !breaches.is_empty()).then(|| {
                    let extras =
                        Extras::of(&route.program, &route.hosts, with_args, calls, (message, None), breaches);
                    Box::new(extras)
                })
            }
            Picked::Base(chosen) => {
                let outcome = chosen.outcome(&set.program).filter(|outcome| outcome.has_args());
                set.extras(outcome, calls, (message, None), breaches)
            }
            Picked::Nothing => set.extras(None, calls, (message, None), breaches),
        };
        LiveDecision::new(rules, entry, Answer::Both(picked, tables), extras)
    })
}

/// The names of all routes of a table that hold, in the order they are tried.
pub(super) fn matched(view: &View, entry: TableId, message: &Json) -> Vec<String> {
    let rules = &view.base.rules;
    if !is_live(view, entry) {
        return rules.table(entry).matched(message).into_iter().map(str::to_owned).collect();
    }
    with_room(|room| {
        let found = view.find(message, &mut room.found);
        let set = &*rules.set;
        let ids = RuleSet::with_scratch(|scratch| {
            let mut base = Vm::json(&set.bytecode, &set.hosts, message, scratch);
            base.use_index(set.index(), true);
            base.leave_out(view.removed(), found.version.into());
            base.matched(entry)
        });
        // Each with the number of base routes before it; a later route stands before the base route
        // of that rank.
        let base = ids.into_iter().filter_map(|id| {
            Some((view.base.rank(id)?, true, set.program.rules[id.index()].name.to_string()))
        });
        let later = found.entries.iter().filter(|later| later.route.table == entry);
        let later = later.filter(|later| later.route.holds(message, &mut room.scratch).0);
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

/// How the search through a table ends.
enum End {
    Pick(Picked),
    Goto(TableId, Cursor),
    Continue(TableId),
    Nothing,
}

impl Search<'_, '_> {
    /// What is chosen, and the tables on the way there.
    fn decide(&mut self, entry: TableId) -> (Picked, Trail) {
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
                        return (Picked::Nothing, Trail::from_slice(&[entry]));
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
    fn search(&mut self, at: Cursor) -> End {
        let base = self.base.first(at.table, at.rank..u32::MAX);
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
                    None => End::Pick(Picked::Later(Arc::clone(&entry.route))),
                };
            }
        }
        match base {
            Some(found) => match found.goto {
                Some(inner) => End::Goto(inner, Cursor { rank: found.rank + 1, next, ..at }),
                None => End::Pick(Picked::Base(Chosen::Rule(found.route))),
            },
            None => match &self.view.base.rules.program().tables[at.table.index()].default {
                Some(Outcome::Goto(inner)) => End::Continue(*inner),
                Some(_) => End::Pick(Picked::Base(Chosen::Default(at.table))),
                None => End::Nothing,
            },
        }
    }

    fn holds(&mut self, entry: &Entry) -> bool {
        let (holds, calls) = entry.route.holds(self.message, self.scratch);
        add(&mut self.calls, calls);
        holds
    }
}
