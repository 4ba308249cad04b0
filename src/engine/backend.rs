//! The engines that can decide, and the trait that each engine implements to decide for one
//! message.

use rulec_eval::decision::{Choice, DecisionDetails};
use rulec_eval::evaluator::Evaluator;
#[cfg(feature = "jit")]
use rulec_jit::Machine;
use rulec_sema::hir::{Outcome, Program, RuleId, TableId};
use rulec_vm::vm::{SlotValueSource, Vm};

/// The engine that evaluates the routes of a table. The setting [`Tier`](super::Tier) of the rules
/// determines which engine is selected for each table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The tree-walking reference evaluator; the other engines are tested against it.
    Reference,
    /// The bytecode VM, which tries the routes of a table one after another.
    Vm,
    /// The bytecode VM, which tries only the candidate routes that the index returns.
    Index,
    /// Machine code, compiled by the JIT.
    Jit,
}

/// An engine that is bound to one message and decides about it.
pub(crate) trait Engine {
    /// Decides for the message. Returns the first route of the table whose condition holds, or else
    /// the table's default.
    fn decide(&mut self, entry: TableId) -> Choice;
    /// Returns every route of the table whose condition holds, in evaluation order.
    fn matching_rules(&mut self, table: TableId) -> Vec<RuleId>;
    /// Computes the values of a chosen outcome: the arguments of its handler and the next nodes of
    /// its router. `None` if the outcome has no values.
    fn eval_outcome(&mut self, outcome: &Outcome) -> Option<Box<DecisionDetails>>;
    /// Adds facts about the evaluation to `details`, the rarely needed data of a decision. These
    /// are the failed host functions, the time in host functions, and the exceeded limits.
    fn add_failures_and_limits(&self, details: &mut Option<Box<DecisionDetails>>);

    /// Decides, and computes the values of the chosen outcome. One method does both, so that a
    /// decision makes only one dynamic call.
    fn decide_with_details(
        &mut self,
        entry: TableId,
        program: &Program,
    ) -> (Choice, Option<Box<DecisionDetails>>) {
        let choice = self.decide(entry);
        let outcome = choice.chosen.and_then(|chosen| chosen.outcome(program));
        let mut details = outcome.and_then(|outcome| self.eval_outcome(outcome));
        self.add_failures_and_limits(&mut details);
        (choice, details)
    }
}

/// Implements methods of [`Engine`] by calling the inherent methods of the same names.
macro_rules! forward {
    ($($method:ident($($argument:ident: $ty:ty),*) -> $result:ty;)*) => {$(
        #[inline(always)]
        fn $method(&mut self, $($argument: $ty),*) -> $result {
            self.$method($($argument),*)
        }
    )*};
}

impl Engine for Evaluator<'_> {
    forward! {
        decide(entry: TableId) -> Choice;
        matching_rules(table: TableId) -> Vec<RuleId>;
    }

    fn eval_outcome(&mut self, outcome: &Outcome) -> Option<Box<DecisionDetails>> {
        outcome.has_values().then(|| {
            let (args, missing_args) = self.eval_arguments(outcome);
            Box::new(DecisionDetails {
                args,
                missing_args,
                next_nodes: self.eval_next_nodes(outcome),
                ..DecisionDetails::default()
            })
        })
    }

    fn add_failures_and_limits(&self, details: &mut Option<Box<DecisionDetails>>) {
        DecisionDetails::add_host_calls(details, &self.host_calls, self.arena());
    }
}

impl<'a, M: SlotValueSource<'a>> Engine for Vm<'a, M> {
    forward! {
        decide(entry: TableId) -> Choice;
        matching_rules(table: TableId) -> Vec<RuleId>;
        eval_outcome(outcome: &Outcome) -> Option<Box<DecisionDetails>>;
    }

    #[inline]
    fn add_failures_and_limits(&self, details: &mut Option<Box<DecisionDetails>>) {
        self.add_call_details(details);
    }
}

#[cfg(feature = "jit")]
impl<'a, M: SlotValueSource<'a> + 'a> Engine for Machine<'a, M> {
    forward! {
        decide(entry: TableId) -> Choice;
        matching_rules(table: TableId) -> Vec<RuleId>;
        eval_outcome(outcome: &Outcome) -> Option<Box<DecisionDetails>>;
    }

    #[inline]
    fn add_failures_and_limits(&self, details: &mut Option<Box<DecisionDetails>>) {
        self.add_calls(details);
    }
}
