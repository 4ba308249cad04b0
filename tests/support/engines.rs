//! The engines that tests hold against the reference, each a column of what is compared. An engine
//! that cannot decide is replaced by another in silence, so each column proves that its own decides.
#![allow(dead_code, reason = "each test program uses a part of it")]

use rulec::{Backend, Indexing, Rules, Tier};
use rulec_eval::decision::Chosen;
use rulec_vm::index::plan::Found;
use std::collections::BTreeSet;

/// One way to a decision.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub tier: Tier,
    pub indexing: Indexing,
    /// The engine that must decide by it.
    pub engine: Backend,
}

const fn column(tier: Tier, indexing: Indexing, engine: Backend) -> Column {
    Column { tier, indexing, engine }
}

pub const REFERENCE: Column = column(Tier::Reference, Indexing::Never, Backend::Reference);
pub const VM: Column = column(Tier::Vm, Indexing::Never, Backend::Vm);
pub const INDEX: Column = column(Tier::Vm, Indexing::Always, Backend::Index);
pub const JIT: Column = column(Tier::Jit, Indexing::Never, Backend::Jit);

/// Every column that this build has; a build without machine code compares the others.
pub const COLUMNS: &[Column] =
    if cfg!(feature = "jit") { &[REFERENCE, VM, INDEX, JIT] } else { &[REFERENCE, VM, INDEX] };

impl Column {
    /// Returns the rules as the column decides by them.
    ///
    /// # Panics
    /// When another engine than the column's decides by any entry.
    #[track_caller]
    pub fn of(&self, rules: &Rules) -> Rules {
        let rules = rules.with_tier(self.tier).with_index(self.indexing);
        rules.ready().unwrap_or_else(|error| panic!("{self:?}: {error}"));
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

    /// Returns the rules as the column judges payloads by them. Their blocks have no index.
    ///
    /// # Panics
    /// When another engine than the column's judges.
    #[track_caller]
    pub fn judging(&self, rules: &Rules) -> Rules {
        let rules = self.of(rules);
        let expected = if self.engine == Backend::Index { Backend::Vm } else { self.engine };
        assert_eq!(rules.judging_backend(), expected, "{self:?} judges");
        rules
    }
}

/// The rules of a rule set that the index has a way to; it tries the others for every message.
pub struct Findable(BTreeSet<usize>);

impl Findable {
    pub fn of(rules: &Rules) -> Findable {
        let plans = rules.plan();
        let routes = plans.iter().flat_map(|table| &table.routes);
        Findable(
            routes
                .filter(|route| !matches!(route.found, Found::Always { .. }))
                .map(|route| route.rule as usize)
                .collect(),
        )
    }

    /// True when the index found what was chosen.
    pub fn led_to(&self, chosen: Option<Chosen>) -> bool {
        matches!(chosen, Some(Chosen::Rule(id)) if self.0.contains(&id.index()))
    }
}
