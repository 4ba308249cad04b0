//! The engine configurations that tests compare with the reference evaluator.
//!
//! An engine that cannot decide a rule set is silently replaced by another engine. Each
//! configuration therefore asserts which engine decides.
#![allow(dead_code, reason = "each test program uses a part of it")]

use rulec::{Backend, Indexing, Rules, Tier};
use rulec_eval::decision::Chosen;
use rulec_vm::index::plan::AccessPath;
use std::collections::BTreeSet;

/// A column of the comparison: one configuration of the engines, with its tier and its use of the
/// index.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub tier: Tier,
    pub indexing: Indexing,
    /// The engine that must decide under this configuration.
    pub engine: Backend,
}

const fn column(tier: Tier, indexing: Indexing, engine: Backend) -> Column {
    Column { tier, indexing, engine }
}

pub const REFERENCE: Column = column(Tier::Reference, Indexing::Never, Backend::Reference);
pub const VM: Column = column(Tier::Vm, Indexing::Never, Backend::Vm);
pub const INDEX: Column = column(Tier::Vm, Indexing::Always, Backend::Index);
pub const JIT: Column = column(Tier::Jit, Indexing::Never, Backend::Jit);

/// Every configuration of this build. A build without the JIT compares the other engines.
pub const COLUMNS: &[Column] =
    if cfg!(feature = "jit") { &[REFERENCE, VM, INDEX, JIT] } else { &[REFERENCE, VM, INDEX] };

impl Column {
    /// Returns the rules, configured with the tier and the index setting of this column.
    ///
    /// # Panics
    /// If another engine than the engine of this column decides an entry.
    #[track_caller]
    pub fn compile(&self, rules: &Rules) -> Rules {
        let rules = rules.with_tier(self.tier).with_index(self.indexing);
        rules.warm_up().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        for name in rules.entries() {
            let entry = rules.entry(name).expect("entries have names");
            for prepared in [false, true] {
                assert_eq!(
                    entry.backend(prepared),
                    self.engine,
                    "{self:?}, entry {name}, prepared {prepared}"
                );
            }
        }
        rules
    }

    /// Returns the rules with the engine of this column for the validation of payloads. The rules
    /// of a payload have no index, so the VM validates for the index column.
    ///
    /// # Panics
    /// If another engine than the expected one validates payloads.
    #[track_caller]
    pub fn judging(&self, rules: &Rules) -> Rules {
        let rules = self.compile(rules);
        let expected = if self.engine == Backend::Index { Backend::Vm } else { self.engine };
        assert_eq!(rules.payload_backend(), expected, "{self:?} judges");
        rules
    }
}

/// The rules that the index can find. All other rules are evaluated for every message.
pub struct Findable(BTreeSet<usize>);

impl Findable {
    pub fn new(rules: &Rules) -> Findable {
        let plans = rules.plan();
        let routes = plans.iter().flat_map(|table| &table.routes);
        Findable(
            routes
                .filter(|route| !matches!(route.found, AccessPath::Always { .. }))
                .map(|route| route.rule as usize)
                .collect(),
        )
    }

    /// True if the chosen statement is a rule that the index can find.
    pub fn contains(&self, chosen: Option<Chosen>) -> bool {
        matches!(chosen, Some(Chosen::Rule(id)) if self.0.contains(&id.index()))
    }
}
