//! A decision by live rules: it keeps what it tells of alive, whatever becomes of the rules.

use crate::decision::Chosen;
use crate::engine::decision::{self, Decision, Extras, FlowHit, NextNodes, Told};
use crate::engine::{Breach, HostFailure, Rules};
use crate::sema::hir::{Outcome, Program, TableId, TableKind};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value as Json};
use smallvec::SmallVec;
use std::time::Duration;

/// A decision by [`LiveRules`](crate::LiveRules). Says what [`Decision`] says, and serializes to the
/// same JSON.
#[derive(Clone)]
pub struct LiveDecision {
    rules: Rules,
    entry: TableId,
    /// The rules that the chosen statement is one of: the base's, or some that came later.
    by: Rules,
    chosen: Option<Chosen>,
    tables: Trail,
    extras: Option<Box<Extras>>,
}

/// The tables from the entry to the one of the chosen statement.
pub(super) type Trail = SmallVec<[TableId; 4]>;

impl std::fmt::Debug for LiveDecision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveDecision")
            .field("entry", &self.entry())
            .field("chosen", &self.chosen())
            .field("target", &self.target())
            .finish_non_exhaustive()
    }
}

impl LiveDecision {
    /// A decision of the base's own.
    pub(super) fn of_base(rules: &Rules, decision: Decision<'_>) -> LiveDecision {
        let Decision { entry, choice, extras, .. } = decision;
        let tables = choice.tables(rules.program(), entry).into();
        LiveDecision::new(rules, entry, rules, choice.chosen, tables, extras)
    }

    pub(super) fn new(
        rules: &Rules,
        entry: TableId,
        by: &Rules,
        chosen: Option<Chosen>,
        tables: Trail,
        extras: Option<Box<Extras>>,
    ) -> LiveDecision {
        LiveDecision { rules: rules.clone(), entry, by: by.clone(), chosen, tables, extras }
    }

    fn program(&self) -> &Program {
        self.rules.program()
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.chosen?.outcome(self.by.program())
    }

    /// The entry decided by.
    pub fn entry(&self) -> &str {
        &self.program().tables[self.entry.index()].name
    }

    /// The name of the chosen route, `default`, or `None` when nothing was chosen.
    pub fn chosen(&self) -> Option<&str> {
        self.chosen.map(|chosen| chosen.name(self.by.program()))
    }

    /// Whether a default answered.
    pub fn is_default(&self) -> bool {
        matches!(self.chosen, Some(Chosen::Default(_)))
            || matches!(self.outcome(), Some(Outcome::Branch { default: true }))
    }

    /// The handler.
    pub fn target(&self) -> Option<&str> {
        decision::target(self.outcome()?)
    }

    /// The handler's arguments.
    pub fn args(&self) -> &Map<String, Json> {
        decision::args(self.extras.as_deref())
    }

    /// The constants given with the target.
    pub fn metadata(&self) -> Option<&Map<String, Json>> {
        decision::metadata(self.outcome()?)
    }

    /// What kind of statement decided.
    pub fn kind(&self) -> TableKind {
        self.program().tables[self.entry.index()].kind
    }

    /// The chosen branch of a choice.
    pub fn branch(&self) -> Option<&str> {
        self.chosen().filter(|_| matches!(self.outcome(), Some(Outcome::Branch { .. })))
    }

    /// The flow whose pattern was found.
    pub fn flow(&self) -> Option<FlowHit<'_>> {
        decision::flow(self.by.program(), self.outcome()?)
    }

    /// The next nodes that a router chose.
    pub fn next(&self) -> Option<NextNodes<'_>> {
        decision::next(self.outcome()?, self.extras.as_deref())
    }

    /// The tables from the entry to the one of the chosen route, both included.
    pub fn path(&self) -> Vec<&str> {
        self.tables.iter().map(|table| &*self.program().tables[table.index()].name).collect()
    }

    /// The generation of the base: greater after a merge.
    pub fn generation(&self) -> u64 {
        self.rules.generation()
    }

    /// Promises of `input` that the message broke.
    pub fn breaches(&self) -> &[Breach] {
        self.extras.as_deref().map_or(&[], |extras| &extras.breaches)
    }

    /// Required arguments that were missing and are null.
    pub fn missing_args(&self) -> impl Iterator<Item = &str> {
        let missing = self.extras.as_deref().map_or(&[][..], |extras| &extras.missing_args);
        missing.iter().map(|name| &**name)
    }

    /// Host functions that failed; their results counted as missing.
    pub fn failures(&self) -> &[HostFailure] {
        self.extras.as_deref().map_or(&[], |extras| &extras.failures)
    }

    /// The time spent in host functions.
    pub fn host_time(&self) -> Duration {
        self.extras.as_deref().map_or(Duration::ZERO, |extras| extras.host_time)
    }
}

impl Serialize for LiveDecision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Told {
            program: self.program(),
            entry: self.entry,
            chosen: self.chosen(),
            outcome: self.outcome(),
            path: self.path(),
            extras: self.extras.as_deref(),
        }
        .serialize(serializer)
    }
}
