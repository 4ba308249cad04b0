//! The engines behind one function: which of them decides, resolved once, and a decision by it.

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

/// The engine that decides by a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The plain evaluator that the others are held against.
    Reference,
    /// The bytecode machine, trying the table's routes in turn.
    Vm,
    /// The bytecode machine, trying those that the index finds.
    Index,
    /// Machine code.
    Jit,
}

/// The backends of a table, each resolved when a message of its form first comes.
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

    /// The backend for messages that are trees, or whose slots have been read. The bytecode machine is
    /// resolved anew each time where machine code may take over from it.
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

/// A decision in the making by some engine.
pub(crate) trait Engine {
    /// Decides: the first route of the table that holds, or its default.
    fn decide(&mut self, entry: TableId) -> Choice;
    /// Every route of the table whose condition holds, in the order they are tried.
    fn matched(&mut self, table: TableId) -> Vec<RuleId>;
    /// The values of an outcome, `None` when it has none.
    fn outcome(&mut self, outcome: &Outcome) -> Option<Computed>;
    /// The calls of host functions so far; `None` when there were none.
    fn calls(&self) -> Option<Calls>;

    /// Decides, and computes the values of what was chosen. One function of each engine, so that the engine
    /// is called through a pointer once.
    fn conclude(&mut self, entry: TableId, program: &Program) -> Conclusion {
        let choice = self.decide(entry);
        let outcome = choice.chosen.and_then(|chosen| chosen.outcome(program));
        let computed = outcome.and_then(|outcome| self.outcome(outcome));
        (choice, computed, self.calls())
    }
}

/// A choice, the values of its outcome, and the record of the decision.
type Conclusion = (Choice, Option<Computed>, Option<Calls>);

/// The record of a decision: the failures and the time of the host functions that it called, and the limits that
/// were exceeded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    pub failures: Vec<HostFailure>,
    pub elapsed: Duration,
    pub exceeded: Vec<Exceeded>,
}

impl Calls {
    /// The record; `None` when it is empty.
    pub fn of(calls: &HostCalls<'_>, arena: &Arena) -> Option<Calls> {
        (arena.is_exceeded() || !calls.failures.is_empty() || !calls.elapsed.is_zero()).then(|| Calls {
            failures: calls.failures.clone(),
            elapsed: calls.elapsed,
            exceeded: arena.exceeded(),
        })
    }

    /// These and others, each failure once.
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

    /// These and more limits that were exceeded, each once.
    pub fn exceed(&mut self, more: Vec<Exceeded>) {
        limits::add(&mut self.exceeded, more);
    }
}

/// The engines have methods of these names.
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
    /// The engine to decide by a table with.
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

    /// Returns true while machine code may still take over from the bytecode machine, and counts the
    /// decision, since their number decides when it is made.
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

    /// True when the index finds the routes of a table.
    fn is_indexed(&self, indexing: Indexing, table: TableId) -> bool {
        match indexing {
            Indexing::Never => false,
            Indexing::Auto => self.index.get().is_some_and(|index| index.serves(table)),
            Indexing::Always => true,
        }
    }

    /// The machine code, when it has been made.
    #[cfg(feature = "jit")]
    #[inline(always)]
    pub fn code(&self) -> Option<&Arc<JitCode>> {
        self.tiers.code().and_then(Result::ok)
    }

    /// Readies a decision and has the work done with it. Where that is one call it is inlined for each
    /// engine: small rule sets would feel a pointer.
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
            // It walks trees, so no message is read into slots alone for it.
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

    /// Asks the reference evaluator about a message.
    pub fn refer<T>(&self, message: &Json, ask: impl FnOnce(Evaluator<'_>) -> T) -> T {
        let arena = Arena::new(&self.program.limits);
        ask(Evaluator::new(&self.program, message, &arena, HostCalls::new(&self.hosts)))
    }

    /// Lends a VM the index, when it may use it.
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
