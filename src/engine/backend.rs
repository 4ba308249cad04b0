//! One trait for all engines, and the selection of the engine for a table.

use super::How;
use super::input::Input;
use super::set::RuleSet;
use super::strategy::{Indexing, Tier};
use rulec_eval::decision::Choice;
use rulec_eval::evaluator::Evaluator;
use rulec_eval::host::{HostCalls, HostFailure};
#[cfg(feature = "jit")]
use rulec_jit::{JitCode, Machine};
use rulec_lang::arena::Arena;
use rulec_lang::limits::{self, Exceeded};
use rulec_sema::hir::{Outcome, Program, RuleId, TableId};
use rulec_vm::vm::{Computed, Message, Scratch, Vm};
use serde_json::Value as Json;
#[cfg(feature = "jit")]
use std::sync::Arc;
use std::time::Duration;

/// An engine that evaluates a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The tree-walking reference evaluator; the other engines are tested against it.
    Reference,
    /// The bytecode VM, trying the table's routes one after another.
    Vm,
    /// The bytecode VM, trying only the candidates from the index.
    Index,
    /// Machine code.
    Jit,
}

/// The engines selected for one table, each selected on the first message of its form.
pub(super) struct Backends {
    pub how: How,
    pub table: TableId,
    tree: Option<Backend>,
    slots: Option<Backend>,
}

impl Backends {
    pub fn new(how: How, table: TableId) -> Backends {
        Backends { how, table, tree: None, slots: None }
    }

    /// Returns the engine for JSON trees (`is_tree`) or for messages already read into slots. While
    /// the JIT may still compile the rule set, the VM is not remembered, so the next call selects
    /// again.
    #[inline(always)]
    pub fn resolve(&mut self, set: &RuleSet, is_tree: bool) -> Backend {
        let known = if is_tree { &mut self.tree } else { &mut self.slots };
        match *known {
            Some(backend) => backend,
            None => {
                let backend = set.backend(self.how, self.table, is_tree);
                if backend != Backend::Vm || !set.awaits_code(self.how, is_tree) {
                    *known = Some(backend);
                }
                backend
            }
        }
    }
}

/// An engine bound to one message.
pub(crate) trait Engine {
    /// Decides: the first route of the table that holds, or its default.
    fn decide(&mut self, entry: TableId) -> Choice;
    /// Returns every route of the table whose condition holds, in evaluation order.
    fn matched(&mut self, table: TableId) -> Vec<RuleId>;
    /// Computes the arguments and next nodes of an outcome; `None` if the outcome has none.
    fn outcome(&mut self, outcome: &Outcome) -> Option<Computed>;
    /// Returns the record of host calls and exceeded limits; `None` if there are none.
    fn calls(&self) -> Option<Calls>;

    /// Decides, and computes the values of the chosen outcome. A single method, so that a decision
    /// makes only one dynamic call.
    fn conclude(&mut self, entry: TableId, program: &Program) -> Conclusion {
        let choice = self.decide(entry);
        let outcome = choice.chosen.and_then(|chosen| chosen.outcome(program));
        let computed = outcome.and_then(|outcome| self.outcome(outcome));
        (choice, computed, self.calls())
    }
}

/// A choice, the values of its outcome, and the record of host calls.
type Conclusion = (Choice, Option<Computed>, Option<Calls>);

/// The record of a decision: the failures and total time of host functions, and the exceeded
/// limits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    pub failures: Vec<HostFailure>,
    pub elapsed: Duration,
    pub exceeded: Vec<Exceeded>,
}

impl Calls {
    /// Returns the record; `None` if it is empty.
    pub fn of(calls: &HostCalls<'_>, arena: &Arena) -> Option<Calls> {
        (arena.is_exceeded() || !calls.failures.is_empty() || !calls.elapsed.is_zero()).then(|| Calls {
            failures: calls.failures.clone(),
            elapsed: calls.elapsed,
            exceeded: arena.exceeded(),
        })
    }

    /// Merges two records; each failure appears once.
    pub fn and(mut self, more: Calls) -> Calls {
        for failure in more.failures {
            if !self.failures.contains(&failure) {
                self.failures.push(failure);
            }
        }
        self.elapsed += more.elapsed;
        self.exceed(more.exceeded);
        self
    }

    /// Adds exceeded limits; each appears once.
    pub fn exceed(&mut self, more: Vec<Exceeded>) {
        limits::add(&mut self.exceeded, more);
    }
}

/// Forwards to the engine's inherent methods of the same names.
macro_rules! forward {
    () => {
        #[inline(always)]
        fn decide(&mut self, entry: TableId) -> Choice {
            self.decide(entry)
        }

        fn matched(&mut self, table: TableId) -> Vec<RuleId> {
            self.matched(table)
        }
    };
}

impl Engine for Evaluator<'_> {
    forward!();

    fn outcome(&mut self, outcome: &Outcome) -> Option<Computed> {
        outcome.has_values().then(|| {
            let (args, missing_args) = self.arguments(outcome);
            Computed { args, missing_args, next: self.next_nodes(outcome) }
        })
    }

    fn calls(&self) -> Option<Calls> {
        Calls::of(&self.hosts, self.arena())
    }
}

impl<'a, M: Message<'a>> Engine for Vm<'a, M> {
    forward!();

    fn outcome(&mut self, outcome: &Outcome) -> Option<Computed> {
        self.outcome(outcome)
    }

    fn calls(&self) -> Option<Calls> {
        Calls::of(self.hosts(), self.arena())
    }
}

#[cfg(feature = "jit")]
impl<'a, M: Message<'a> + 'a> Engine for Machine<'a, M> {
    forward!();

    fn outcome(&mut self, outcome: &Outcome) -> Option<Computed> {
        self.outcome(outcome)
    }

    #[inline]
    fn calls(&self) -> Option<Calls> {
        self.machine().and_then(|vm| Calls::of(vm.hosts(), vm.arena()))
    }
}

impl RuleSet {
    /// Selects the engine for a table. `is_tree` is true if the message is a JSON tree that is not
    /// read into slots.
    pub fn backend(&self, how: How, table: TableId, is_tree: bool) -> Backend {
        if how.tier == Tier::Reference {
            return Backend::Reference;
        }
        if self.is_indexed(how.indexing, table) {
            return Backend::Index;
        }
        #[cfg(feature = "jit")]
        match how.tier {
            Tier::Jit if self.tiers.compiled(&self.bytecode).is_ok() => return Backend::Jit,
            Tier::Auto if self.tiers.pays(is_tree) && matches!(self.tiers.code(), Some(Ok(_))) => {
                return Backend::Jit;
            }
            _ => {}
        }
        #[cfg(not(feature = "jit"))]
        let _ = is_tree;
        Backend::Vm
    }

    /// Reports whether the JIT may still replace the VM for this rule set. Also counts the
    /// decision, because the number of decisions triggers compilation.
    fn awaits_code(&self, how: How, is_tree: bool) -> bool {
        #[cfg(feature = "jit")]
        if how.tier == Tier::Auto
            && self.may_compile
            && self.tiers.pays(is_tree)
            && self.tiers.code().is_none()
        {
            self.tiers.record(&self.bytecode);
            return true;
        }
        #[cfg(not(feature = "jit"))]
        let _ = (how, is_tree);
        false
    }

    /// True if the index serves the table under this setting.
    fn is_indexed(&self, indexing: Indexing, table: TableId) -> bool {
        match indexing {
            Indexing::Never => false,
            Indexing::Auto => self.index.get().is_some_and(|index| index.serves(table)),
            Indexing::Always => true,
        }
    }

    /// Returns the machine code, if it is compiled.
    #[cfg(feature = "jit")]
    #[inline(always)]
    pub fn code(&self) -> Option<&Arc<JitCode>> {
        self.tiers.code().and_then(Result::ok)
    }

    /// Binds an engine to the message and runs `work` with it. Inlined, because `work` is often one
    /// call, and an indirect call would be noticeable for small rule sets.
    #[inline(always)]
    pub fn run<T>(
        &self,
        how: How,
        backend: Backend,
        input: Input<'_>,
        scratch: &mut Scratch,
        work: impl FnOnce(&mut dyn Engine) -> T,
    ) -> T {
        match backend {
            // The evaluator needs a tree; a message that is only slots goes to the VM below.
            Backend::Reference => {
                if let Some(tree) = input.tree() {
                    return self.refer(tree, |mut evaluator| work(&mut evaluator));
                }
            }
            #[cfg(feature = "jit")]
            Backend::Jit => match (self.code(), input.slots()) {
                (Some(code), Ok(slots)) => return work(&mut code.record(&self.hosts, slots.values, scratch)),
                (Some(code), Err(tree)) => return work(&mut code.json(&self.hosts, tree, scratch)),
                _ => {}
            },
            _ => {}
        }
        match input.slots() {
            Ok(slots) => {
                let mut vm = Vm::record(&self.bytecode, &self.hosts, slots, scratch);
                self.lend_index(&mut vm, how.indexing);
                work(&mut vm)
            }
            Err(tree) => {
                let mut vm = Vm::json(&self.bytecode, &self.hosts, tree, scratch);
                self.lend_index(&mut vm, how.indexing);
                work(&mut vm)
            }
        }
    }

    /// Runs `ask` with the reference evaluator for a message.
    pub fn refer<T>(&self, message: &Json, ask: impl FnOnce(Evaluator<'_>) -> T) -> T {
        let arena = Arena::new(&self.program.limits);
        ask(Evaluator::new(&self.program, message, &arena, HostCalls::new(&self.hosts)))
    }

    /// Gives a VM the index, if the setting allows it.
    #[inline]
    pub fn lend_index<'a, M: Message<'a>>(&'a self, vm: &mut Vm<'a, M>, indexing: Indexing) {
        match indexing {
            Indexing::Never => {}
            Indexing::Auto => {
                if let Some(index) = self.index.get() {
                    vm.use_index(index, false);
                }
            }
            Indexing::Always => vm.use_index(self.index(), true),
        }
    }
}
