//! The routes of a table that may hold for the same message, so that their order decides, and a message that none of them takes: what a
//! decision table shows beside its rows. Each comes with a message that the engine was asked about.

use super::Subject;
use super::routes::{differ, untaken};
use super::solver::{Answer, Solver};
use hashbrown::HashSet;
use rulec_sema::hir::{RuleId, TableId};
use serde::Serialize;
use serde_json::Value as Json;

/// The pairs that the solver is asked about, beyond those that messages show by themselves.
const QUESTIONS: usize = 2_000;
/// The pairs that are told.
const TOLD: usize = 2_000;

/// The pairs of a table's statements that may hold together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Overlaps {
    /// The pairs, in the order in which the first is tried.
    pub pairs: Vec<Overlap>,
    /// True when every pair of statements was looked at, and none is left out.
    pub all: bool,
    /// A message that no statement takes, where there is no default. None was found, or none exists, else.
    pub untaken: Option<Json>,
}

/// Two statements that hold for one message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Overlap {
    /// The one that is tried first.
    pub first: String,
    /// The other.
    pub second: String,
    /// Such a message.
    pub example: Json,
    /// True when they lead elsewhere.
    pub differs: bool,
}

/// Looks for the pairs of a table.
pub fn overlaps(subject: &Subject<'_>, table: TableId) -> Overlaps {
    let own = &subject.program.tables[table.index()];
    let order = &own.order;
    let mut solver = Solver::new(subject.program);
    let overlaps = Overlaps { all: true, ..Overlaps::default() };
    let mut found = Found { subject, table, seen: HashSet::new(), overlaps };
    let mut held = Vec::new();
    for id in order {
        let holds = solver.builder.cond(&subject.program.rules[id.index()].condition, true);
        match solver.ask(&[(holds, true)]) {
            Answer::Never(_) => continue,
            Answer::Yes(message) => found.message(&message),
            Answer::Unknown => {}
        }
        held.push((*id, holds));
    }
    if own.default.is_none() && !order.is_empty() {
        let takes = |message: &Json| (subject.matched)(table, message).first().copied();
        let holds = |id| held.iter().find(|(other, _)| *other == id).map(|(_, holds)| *holds);
        found.overlaps.untaken = untaken(&mut solver, takes, holds);
    }
    let mut left = QUESTIONS;
    for (at, (first, holds)) in held.iter().enumerate() {
        for (second, other) in &held[at + 1..] {
            if found.seen.contains(&(*first, *second)) {
                continue;
            }
            if left == 0 {
                found.overlaps.all = false;
                return found.in_order(order);
            }
            left -= 1;
            match solver.ask(&[(*holds, true), (*other, true)]) {
                Answer::Yes(message) => found.message(&message),
                Answer::Unknown => found.overlaps.all = false,
                Answer::Never(_) => {}
            }
        }
    }
    found.in_order(order)
}

struct Found<'s, 'p> {
    subject: &'s Subject<'p>,
    table: TableId,
    seen: HashSet<(RuleId, RuleId)>,
    overlaps: Overlaps,
}

impl Found<'_, '_> {
    /// Notes all pairs that hold for a message.
    fn message(&mut self, message: &Json) {
        let program = self.subject.program;
        let matched = (self.subject.matched)(self.table, message);
        for (at, first) in matched.iter().enumerate() {
            for second in &matched[at + 1..] {
                if self.overlaps.pairs.len() >= TOLD {
                    self.overlaps.all = false;
                    return;
                }
                if self.seen.insert((*first, *second)) {
                    let name = |id: &RuleId| program.rules[id.index()].name.to_string();
                    self.overlaps.pairs.push(Overlap {
                        first: name(first),
                        second: name(second),
                        example: message.clone(),
                        differs: differ(program, *first, *second),
                    });
                }
            }
        }
    }

    fn in_order(mut self, order: &[RuleId]) -> Overlaps {
        let rules = &self.subject.program.rules;
        let place = |name: &str| order.iter().position(|id| *rules[id.index()].name == *name);
        self.overlaps.pairs.sort_by_cached_key(|pair| (place(&pair.first), place(&pair.second)));
        self.overlaps
    }
}
