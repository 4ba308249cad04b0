//! The result of a decision inside the library, from which the public `Decision` is built. Every
//! engine returns the same two types, so that tests can compare engines. A [`Choice`] has the
//! chosen statement (a rule or a table's default), and the rules whose `goto` led to it.
//! [`DecisionDetails`] are rarer data, such as arguments.

use crate::host::{HostCalls, HostFailure};
use rulec_lang::arena::Arena;
use rulec_lang::history::HistoryGap;
use rulec_lang::limits::{self, Exceeded};
use rulec_lang::schema::InputViolation;
use rulec_sema::hir::{Outcome, Program, RuleId, TableId};
use serde_json::{Map, Value as Json};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;
use std::time::Duration;

/// The result of a decision: the statement that it chose, and the rules that led to this statement.
/// `R` is the type of rule ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<R = RuleId> {
    /// The chosen statement; `None` if no rule matches and there is no default.
    pub chosen: Option<Chosen<R>>,
    /// The rules whose `goto` led to the chosen statement, in the order in which the search
    /// followed the `goto`s. The `goto` of a table's default is not listed, because a default is no
    /// rule. [`Choice::visited_tables`] includes the tables of such defaults.
    pub path: SmallVec<[R; 4]>,
}

/// The statement that a decision chose: a rule or a default, but never a `goto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chosen<R = RuleId> {
    /// The rule with this id was chosen.
    Rule(R),
    /// The default of the table with this id was chosen.
    Default(TableId),
}

/// The data of a decision that [`Choice`] does not contain, such as arguments and violations. Most
/// decisions have no such data, so engines return `Option<Box<DecisionDetails>>`.
#[derive(Clone, Debug, Default)]
pub struct DecisionDetails {
    /// Arguments for the chosen handler. An optional argument whose value is missing is left out.
    pub args: Map<String, Json>,
    /// Names of the required arguments whose value is missing; in `args` they are null.
    pub missing_args: Vec<Arc<str>>,
    /// Ids of the workflow nodes that a router selected to run next.
    pub next_nodes: Vec<String>,
    /// The fields of the message that differ from the `input` declaration.
    pub breaches: Vec<InputViolation>,
    /// The host functions (functions of the embedding program) that failed.
    pub failures: Vec<HostFailure>,
    /// The time spent in host functions, which are functions of the embedding program.
    pub host_time: Duration,
    /// Limits that were exceeded; each limit is listed once.
    pub exceeded: Vec<Exceeded>,
    /// The reason why the history (the earlier messages that rules read) may be incomplete; `None`
    /// if it is complete.
    pub history_gap: Option<HistoryGap>,
}

impl DecisionDetails {
    /// Adds to `details` what happened in host functions: the failures and the elapsed time of
    /// `calls`. Also adds the limits that `arena` recorded as exceeded. A failure that `details`
    /// already lists is not added again. Creates the details if there is something to add.
    #[inline]
    pub fn add_host_calls(details: &mut Option<Box<DecisionDetails>>, calls: &HostCalls<'_>, arena: &Arena) {
        if arena.is_exceeded() || !calls.failures().is_empty() || !calls.elapsed().is_zero() {
            details.get_or_insert_default().append_call_record(calls, arena);
        }
    }

    #[cold]
    fn append_call_record(&mut self, calls: &HostCalls<'_>, arena: &Arena) {
        let is_first = self.failures.is_empty() && self.host_time.is_zero() && self.exceeded.is_empty();
        for failure in calls.failures() {
            if is_first || !self.failures.contains(failure) {
                self.failures.push(failure.clone());
            }
        }
        self.host_time += calls.elapsed();
        limits::merge_exceeded(&mut self.exceeded, arena.exceeded());
    }

    /// Sets the violations of the `input` declaration, and creates the details if there are none.
    /// Does nothing if `breaches` is empty.
    #[inline]
    pub fn add_breaches(details: &mut Option<Box<DecisionDetails>>, breaches: Vec<InputViolation>) {
        if !breaches.is_empty() {
            details.get_or_insert_default().breaches = breaches;
        }
    }

    /// Sets the reason why the history (the earlier messages that rules read) may be incomplete.
    /// Creates the details if there are none. Does nothing if `gap` is `None`.
    #[inline]
    pub fn add_history_gap(details: &mut Option<Box<DecisionDetails>>, gap: Option<HistoryGap>) {
        if gap.is_some() {
            details.get_or_insert_default().history_gap = gap;
        }
    }
}

impl<R> Choice<R> {
    /// Returns the result of a decision that chose no rule and no default.
    #[doc(hidden)]
    pub fn none_chosen() -> Choice<R> {
        Choice { chosen: None, path: SmallVec::new() }
    }

    /// Returns the result of a decision that chose `chosen` (a rule or a default) without following
    /// a `goto`: in the table in which the decision started.
    #[inline]
    #[doc(hidden)]
    pub fn without_goto(chosen: Chosen<R>) -> Choice<R> {
        Choice { chosen: Some(chosen), path: SmallVec::new() }
    }
}

impl Choice {
    /// Returns the tables on the path of the decision: from `entry`, where it started, to the table
    /// of the chosen statement, both included. Tables whose search chose nothing are not on this
    /// path. If nothing was chosen, returns only `entry`.
    #[inline]
    #[doc(hidden)]
    pub fn visited_tables(&self, program: &Program, entry: TableId) -> TableTrail {
        let jumps = self.path.iter().filter_map(|jump| {
            let route = &program.rules[jump.index()];
            match route.outcome {
                Outcome::Goto(inner) => Some((route.table, inner)),
                _ => None,
            }
        });
        build_trail(program, entry, jumps, self.chosen.map(|chosen| chosen.table(program)))
    }
}

/// The tables on the path of a decision, in order: from the entry table (the first one), through
/// the `goto`s that led to the chosen statement, to the table of this statement.
pub type TableTrail = SmallVec<[TableId; 4]>;

/// Returns the tables on the path of a decision, from `entry_table` to `last_table`, the table of
/// the chosen statement. `jumps` are the `goto`s of rules on this path, as pairs of source and
/// target table. The `goto`s of defaults are looked up in the program. If `last_table` is `None`,
/// the path ends at the target of the last jump.
#[inline]
pub fn build_trail(
    program: &Program,
    entry_table: TableId,
    jumps: impl Iterator<Item = (TableId, TableId)>,
    last_table: Option<TableId>,
) -> TableTrail {
    let mut tables = smallvec![entry_table];
    for (source, target) in jumps {
        follow_defaults(program, &mut tables, source);
        tables.push(target);
    }
    if let Some(last) = last_table {
        follow_defaults(program, &mut tables, last);
    }
    tables
}

/// Follows the `goto`s of table defaults, starting at the last table in `tables`. Appends each
/// target table to `tables`, and stops at `target_table`.
fn follow_defaults(program: &Program, tables: &mut TableTrail, target_table: TableId) {
    // `goto`s are acyclic, so no path is longer than the number of tables.
    for _ in &program.tables {
        match tables.last() {
            Some(&last) if last != target_table => match program.tables[last.index()].default {
                Some(Outcome::Goto(inner)) => tables.push(inner),
                _ => return,
            },
            _ => return,
        }
    }
}

impl Chosen {
    /// Returns the outcome of the chosen rule or default, such as the handler to call. `None` for a
    /// [`Chosen::Default`] whose table declares no default.
    #[doc(hidden)]
    pub fn outcome(self, program: &Program) -> Option<&Outcome> {
        match self {
            Chosen::Rule(id) => Some(&program.rules[id.index()].outcome),
            Chosen::Default(id) => program.tables[id.index()].default.as_ref(),
        }
    }

    /// Returns the id of the table that contains the chosen rule or default.
    #[doc(hidden)]
    pub fn table(self, program: &Program) -> TableId {
        match self {
            Chosen::Rule(id) => program.rules[id.index()].table,
            Chosen::Default(id) => id,
        }
    }

    /// Returns the name of the chosen rule, or the text `default` if a default was chosen.
    #[doc(hidden)]
    pub fn name(self, program: &Program) -> &str {
        match self {
            Chosen::Rule(id) => &program.rules[id.index()].name,
            Chosen::Default(_) => "default",
        }
    }
}
