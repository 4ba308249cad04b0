//! The internal result of a decision: the chosen statement and the `goto`s that led to it, and the
//! [`Details`]. Every engine returns a [`Choice`], so that their results can be compared.

use crate::host::{HostCalls, HostFailure};
use rulec_lang::arena::Arena;
use rulec_lang::limits::{self, Exceeded};
use rulec_lang::schema::InputViolation;
use rulec_sema::hir::{Outcome, Program, RuleId, TableId};
use serde_json::{Map, Value as Json};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;
use std::time::Duration;

/// The result of a decision; `R` is the type of rule ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<R = RuleId> {
    /// The chosen statement; `None` if no rule matches and there is no default.
    pub chosen: Option<Chosen<R>>,
    /// The rules whose `goto` led to the chosen statement, outermost first. A `default -> goto` is
    /// not a rule and is not listed here, but [`Choice::tables`] includes its table.
    pub path: SmallVec<[R; 4]>,
}

/// The chosen statement; never one that is a `goto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chosen<R = RuleId> {
    /// A rule.
    Rule(R),
    /// The default of this table.
    Default(TableId),
}

/// The data of a decision apart from the choice. Most decisions have none, so engines return
/// `Option<Box<Details>>`.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The arguments of a handler, without missing optional ones.
    pub args: Map<String, Json>,
    /// The names of the required arguments that were missing; their value is null.
    pub missing_args: Vec<Arc<str>>,
    /// The ids of the nodes that a router sends to.
    pub next: Vec<String>,
    /// The violations of the `input` declaration.
    pub breaches: Vec<InputViolation>,
    /// The host functions that failed.
    pub failures: Vec<HostFailure>,
    /// The time spent in host functions.
    pub host_time: Duration,
    /// The limits that were exceeded, each once.
    pub exceeded: Vec<Exceeded>,
}

impl Details {
    /// Adds the failures and the time of host functions, and the exceeded limits of `arena`. If
    /// `details` has such a record of another engine, a failure in both records appears once.
    #[inline]
    pub fn add_calls(details: &mut Option<Box<Details>>, calls: &HostCalls<'_>, arena: &Arena) {
        if arena.is_exceeded() || !calls.failures.is_empty() || !calls.elapsed.is_zero() {
            details.get_or_insert_default().add_record(calls, arena);
        }
    }

    #[cold]
    fn add_record(&mut self, calls: &HostCalls<'_>, arena: &Arena) {
        let is_first = self.failures.is_empty() && self.host_time.is_zero() && self.exceeded.is_empty();
        for failure in &calls.failures {
            if is_first || !self.failures.contains(failure) {
                self.failures.push(failure.clone());
            }
        }
        self.host_time += calls.elapsed;
        limits::add(&mut self.exceeded, arena.exceeded());
    }

    /// Adds the violations of the `input` declaration.
    #[inline]
    pub fn add_breaches(details: &mut Option<Box<Details>>, breaches: Vec<InputViolation>) {
        if !breaches.is_empty() {
            details.get_or_insert_default().breaches = breaches;
        }
    }
}

impl<R> Choice<R> {
    /// Returns the result of a search that chose nothing.
    pub fn nothing() -> Choice<R> {
        Choice { chosen: None, path: SmallVec::new() }
    }

    /// Returns the result of a search that chose a statement without any `goto`.
    #[inline]
    pub fn at_once(chosen: Chosen<R>) -> Choice<R> {
        Choice { chosen: Some(chosen), path: SmallVec::new() }
    }
}

impl Choice {
    /// Returns the searched tables that lead from `entry` to the chosen statement, both ends
    /// included.
    #[inline]
    pub fn tables(&self, program: &Program, entry: TableId) -> Trail {
        let jumps = self.path.iter().filter_map(|jump| {
            let route = &program.rules[jump.index()];
            match route.outcome {
                Outcome::Goto(inner) => Some((route.table, inner)),
                _ => None,
            }
        });
        trail(program, entry, jumps, self.chosen.map(|chosen| chosen.table(program)))
    }
}

/// The tables that lead from an entry table to the chosen statement.
pub type Trail = SmallVec<[TableId; 4]>;

/// Returns the tables from `entry` to `last`. `jumps` are the `goto`s of rules, as pairs of source
/// and target table; `goto`s of defaults are found here.
#[inline]
pub fn trail(
    program: &Program,
    entry: TableId,
    jumps: impl Iterator<Item = (TableId, TableId)>,
    last: Option<TableId>,
) -> Trail {
    let mut tables = smallvec![entry];
    for (from, to) in jumps {
        follow_defaults(program, &mut tables, from);
        tables.push(to);
    }
    if let Some(last) = last {
        follow_defaults(program, &mut tables, last);
    }
    tables
}

/// Appends the tables reached by `default -> goto`, up to `wanted`.
fn follow_defaults(program: &Program, tables: &mut Trail, wanted: TableId) {
    // `goto`s are acyclic, so no path is longer than the number of tables.
    for _ in &program.tables {
        match tables.last() {
            Some(&last) if last != wanted => match program.tables[last.index()].default {
                Some(Outcome::Goto(inner)) => tables.push(inner),
                _ => return,
            },
            _ => return,
        }
    }
}

impl Chosen {
    /// Returns the outcome of the statement; `None` if the table has no default.
    pub fn outcome(self, program: &Program) -> Option<&Outcome> {
        match self {
            Chosen::Rule(id) => Some(&program.rules[id.index()].outcome),
            Chosen::Default(id) => program.tables[id.index()].default.as_ref(),
        }
    }

    /// Returns the table that contains the statement.
    pub fn table(self, program: &Program) -> TableId {
        match self {
            Chosen::Rule(id) => program.rules[id.index()].table,
            Chosen::Default(id) => id,
        }
    }

    /// Returns the rule's name, or `default`.
    pub fn name(self, program: &Program) -> &str {
        match self {
            Chosen::Rule(id) => &program.rules[id.index()].name,
            Chosen::Default(_) => "default",
        }
    }
}
