//! The engine that decides, asked of the functions that decisions themselves ask. An engine that
//! cannot decide is replaced in silence, and a test that compares engines must notice.

use super::{Entry, RuleSet, Rules, Tier};
use crate::vm::Vm;
use serde_json::Value as Json;

/// An engine as a decision falls to it. Not part of the stable interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The reference evaluator.
    Reference,
    /// The bytecode machine that tries the routes in turn.
    Vm,
    /// The bytecode machine with the index.
    Index,
    /// Machine code.
    Jit,
}

impl Entry<'_> {
    /// Returns the engine that decides by this entry now: for a record when `prepared`, else for a
    /// message.
    #[doc(hidden)]
    pub fn engine(&self, prepared: bool) -> Engine {
        let rules = self.rules;
        #[cfg(feature = "jit")]
        if rules.code(self.how, self.table, !prepared).is_some() {
            return Engine::Jit;
        }
        #[cfg(not(feature = "jit"))]
        let _ = prepared;
        if self.how.tier == Tier::Reference {
            return Engine::Reference;
        }
        RuleSet::with_scratch(|scratch| {
            let mut machine = Vm::json(&rules.bytecode, &rules.hosts, &Json::Null, scratch);
            rules.lend_index(&mut machine, self.how);
            if machine.index_of(self.table).is_some() { Engine::Index } else { Engine::Vm }
        })
    }
}

impl Rules {
    /// Returns the engine that judges payloads.
    #[doc(hidden)]
    pub fn judging_engine(&self) -> Engine {
        #[cfg(feature = "jit")]
        if self.forced_code().is_some() {
            return Engine::Jit;
        }
        if self.tier == Tier::Reference { Engine::Reference } else { Engine::Vm }
    }
}
