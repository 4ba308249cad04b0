//! The engine that evaluates the rules of a payload kind (one `payload` statement). It differs from
//! the engines for messages: the values of variables (bindings) change while it traverses the
//! payload, for example for each element of a list.

use crate::engine::{PayloadEvaluation, Rules};
use rulec_eval::evaluator::Evaluator;
use rulec_eval::host::{HostCalls, RegisteredFunction};
use rulec_lang::arena::{Arena, EachBlocks};
use rulec_lang::history::PastView;
use rulec_lang::limits::{self, Exceeded, Limit};
use rulec_lang::value::Value;
use rulec_sema::hir::{BindingId, Program, RuleId, TableId, ValueId};
use rulec_vm::vm::Scratch;
use serde_json::Value as Json;

/// An engine that evaluates the rules of one `payload` statement during one check of a payload.
pub(super) struct PayloadEngine<'a> {
    evaluation: PayloadEvaluation<'a>,
    program: &'a Program,
    host_functions: &'a [RegisteredFunction],
    input: &'a Json,
    arena: &'a Arena,
    history: PastView<'a>,
    /// Cache of host function results for the reference evaluator; `None` until the reference
    /// evaluator runs.
    host_calls: Option<HostCalls<'a>>,
}

impl<'a> PayloadEngine<'a> {
    /// Creates the engine that the settings of the rules select. `bindings` is the number of
    /// variables (bindings) in the rules of the payload kind. The reference evaluator reads the
    /// recorded messages from `history`. The other engines read them from their working memory
    /// `scratch`.
    pub fn new(
        rules: &'a Rules,
        input: &'a Json,
        arena: &'a Arena,
        bindings: usize,
        (history, scratch): (PastView<'a>, &'a mut Scratch),
    ) -> PayloadEngine<'a> {
        let (program, host_functions) = (rules.program(), rules.host_functions());
        let evaluation = rules.payload_evaluation(input, bindings, scratch);
        PayloadEngine { evaluation, program, host_functions, input, arena, history, host_calls: None }
    }

    /// Enters an `each` block, whose rules apply to each element of a list of length `elements`.
    /// Returns `None`, and does not enter the block, if the list is too long. Otherwise returns the
    /// blocks around this block. Pass them to [`PayloadEngine::set_enclosing_blocks`] when the
    /// block ends.
    ///
    /// Deeper nesting allows fewer elements: `nest` is the number of nested `each` blocks and
    /// quantifiers, from this block to its innermost one. It is at least 1.
    pub fn enter_each(&mut self, nest: u32, elements: usize) -> Option<EachBlocks> {
        let outer = self.arena.enclosing_blocks();
        self.set_enclosing_blocks(self.arena.blocks_inside_each(nest, elements)?);
        Some(outer)
    }

    /// Sets the `each` blocks (rules for each element of a list) that enclose the current rule. The
    /// limits depend on these blocks: they are tighter inside nested lists. The engine and the
    /// evaluator for explanations check the limits separately, so both get the blocks.
    pub fn set_enclosing_blocks(&mut self, blocks: EachBlocks) {
        self.arena.set_enclosing_blocks(blocks);
        match &mut self.evaluation {
            PayloadEvaluation::Reference(_) => {}
            PayloadEvaluation::Vm(vm) => vm.arena().set_enclosing_blocks(blocks),
            #[cfg(feature = "jit")]
            PayloadEvaluation::Compiled(machine) => machine.set_enclosing_blocks(blocks),
        }
    }

    /// Returns whether `amount` is within `limit`. If not, also records that the limit was
    /// exceeded.
    pub fn allows_amount(&self, limit: Limit, amount: usize) -> bool {
        self.arena.allows(limit, amount as u64)
    }

    /// Returns the limits that were exceeded so far, without duplicates. Does not reset them.
    pub fn exceeded_limits(&mut self) -> Vec<Exceeded> {
        let mut exceeded = self.arena.exceeded();
        limits::merge_exceeded(
            &mut exceeded,
            match &self.evaluation {
                PayloadEvaluation::Reference(_) => Vec::new(),
                PayloadEvaluation::Vm(vm) => vm.arena().exceeded(),
                #[cfg(feature = "jit")]
                PayloadEvaluation::Compiled(machine) => {
                    machine.vm_if_created().map_or_else(Vec::new, |vm| vm.arena().exceeded())
                }
            },
        );
        exceeded
    }

    /// Sets the value of a variable (binding), and discards cached values that depend on the
    /// variable.
    pub fn bind_variable(&mut self, binding: BindingId, value: Value<'a>) {
        match &mut self.evaluation {
            PayloadEvaluation::Reference(slots) => slots.bind(binding, value),
            PayloadEvaluation::Vm(vm) => drop(vm.bind(binding, value)),
            #[cfg(feature = "jit")]
            PayloadEvaluation::Compiled(machine) => machine.bind(binding, value),
        }
    }

    pub fn eval_value(&mut self, id: ValueId) -> Value<'a> {
        match &mut self.evaluation {
            PayloadEvaluation::Vm(vm) => vm.eval_value(id),
            #[cfg(feature = "jit")]
            PayloadEvaluation::Compiled(machine) => machine.eval_value(id),
            PayloadEvaluation::Reference(_) => {
                self.with_evaluator(|evaluator, program| evaluator.eval_expr(program.value(id)))
            }
        }
    }

    /// Returns every rule of the table whose condition holds for the current values of the
    /// variables, in evaluation order.
    pub fn matching_rules(&mut self, table: TableId) -> Vec<RuleId> {
        match &mut self.evaluation {
            PayloadEvaluation::Vm(vm) => vm.matching_rules(table),
            #[cfg(feature = "jit")]
            PayloadEvaluation::Compiled(machine) => machine.matching_rules(table),
            PayloadEvaluation::Reference(_) => {
                self.with_evaluator(|evaluator, _| evaluator.matching_rules(table))
            }
        }
    }

    /// Calls `work` with the reference evaluator. Results of functions of the embedding program are
    /// cached from one call to the next, so each distinct call is made once.
    fn with_evaluator<T>(&mut self, work: impl FnOnce(&mut Evaluator<'a>, &'a Program) -> T) -> T {
        let calls = self.host_calls.take().unwrap_or_else(|| HostCalls::new(self.host_functions));
        let mut evaluator = self.new_evaluator(calls);
        let result = work(&mut evaluator, self.program);
        self.host_calls = Some(evaluator.into_host_calls());
        result
    }

    /// Returns a reference evaluator with the current values of variables, for explanations.
    pub fn new_explainer(&mut self) -> Evaluator<'a> {
        self.new_evaluator(HostCalls::new(self.host_functions))
    }

    fn new_evaluator(&mut self, calls: HostCalls<'a>) -> Evaluator<'a> {
        let roots = match &mut self.evaluation {
            PayloadEvaluation::Reference(slots) => slots.binding_values(),
            PayloadEvaluation::Vm(vm) => vm.binding_values(),
            #[cfg(feature = "jit")]
            PayloadEvaluation::Compiled(machine) => machine.binding_values(),
        };
        let roots = self.arena.bump().alloc_slice_copy(roots);
        let evaluator = Evaluator::new(self.program, self.input, self.arena, calls);
        evaluator.with_binding_values(roots).with_history(self.history)
    }
}
