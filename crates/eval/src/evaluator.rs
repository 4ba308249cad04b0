//! The reference evaluator evaluates the typed program in source order, as the language page
//! specifies. Every other engine is tested against the evaluator. The code is therefore written to
//! be read, not to be fast.
//!
//! To avoid exponential time, the evaluator caches the results of `let`s and of loop-invariant
//! subexpressions (subexpressions that read no element of the quantifier around them). For the same
//! reason, it does not search a table twice. Each step is reported to an [`Observer`]; explanations
//! are built from these reports.

#[cfg(test)]
pub(crate) mod fixture;
mod observe;
mod order;
mod outcome;
mod quantifier;
mod search;
#[cfg(test)]
mod tests;

pub use observe::{EvalStep, Observer, StepResult};
pub use order::flatten_operands;

use crate::host::HostCalls;
use order::HostCallAnalysis;
use rulec_lang::arena::Arena;
use rulec_lang::history::PastView;
use rulec_lang::operators::budget::{self, PredicateContext};
use rulec_lang::operators::implementations;
use rulec_lang::operators::sets::ConstantSet;
use rulec_lang::operators::{Implementation, TestMode};
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{
    Cond, CondKind, Expr, ExprKind, GuardedCondition, LetId, Operand, Part, Predicate, Program,
    QuantifierFacts, SlotId, Term, Var,
};
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::collections::HashMap;

/// The reference evaluator: evaluates the rules of a program for one message.
pub struct Evaluator<'a, O = ()> {
    program: &'a Program,
    message: &'a Json,
    /// The values of bindings (named values in payload rules, such as the element of an `each`), by
    /// binding id.
    binding_values: &'a [Value<'a>],
    /// The recorded messages that rules read as `history`.
    history: PastView<'a>,
    arena: &'a Arena,
    /// Cache of the calls of host functions (functions of the embedding program). Also lists the
    /// failed calls.
    pub host_calls: HostCalls<'a>,
    host_call_facts: HostCallAnalysis,
    /// The quantifier variables in scope with their current elements, innermost last. Each element
    /// is stored as it is in the message. Each use of the variable then converts the element to the
    /// kinds of value that the rule accepts there.
    loop_elements: Vec<(&'a Var, Value<'a>)>,
    /// Number of entries at the start of `loop_elements` that are hidden because they are out of
    /// scope. The number is above 0 only during the evaluation of a loop-invariant subexpression,
    /// which is evaluated as if outside the loop.
    hidden_element_count: usize,
    quantifier_facts: QuantifierFacts,
    let_results: Vec<Option<CachedResult<'a>>>,
    /// Cached results of loop-invariant subexpressions. The key is the address of the node, and a
    /// bool that is true for a condition and false for a value.
    invariant_results: HashMap<(usize, bool), CachedResult<'a>>,
    /// For each predicate with a long constant list, the list's elements as a hash set. The key is
    /// the address of the predicate; `None` if no set can be built.
    constant_sets: HashMap<usize, Option<Box<ConstantSet>>>,
    /// The observer that is called at the start and the end of each step.
    pub observer: O,
}

/// The cached result of a `let` or a loop-invariant subexpression.
#[derive(Clone, Copy)]
enum CachedResult<'a> {
    Cond(Tri),
    Value(Value<'a>),
}

impl<'a> Evaluator<'a> {
    /// Returns an evaluator for one message; `host_calls` makes and caches host function calls.
    pub fn new(program: &'a Program, message: &'a Json, arena: &'a Arena, host_calls: HostCalls<'a>) -> Self {
        Evaluator {
            program,
            message,
            binding_values: &[],
            history: PastView::default(),
            arena,
            host_calls,
            host_call_facts: HostCallAnalysis::new(program),
            loop_elements: Vec::new(),
            hidden_element_count: 0,
            quantifier_facts: QuantifierFacts::default(),
            invariant_results: HashMap::new(),
            constant_sets: HashMap::new(),
            let_results: vec![None; program.lets.len()],
            observer: (),
        }
    }

    /// Returns this evaluator with `observer`, to which the evaluator reports each step.
    pub fn observed_by<O: Observer<'a>>(self, observer: O) -> Evaluator<'a, O> {
        let Evaluator {
            program,
            message,
            binding_values,
            history,
            arena,
            host_calls,
            host_call_facts,
            let_results,
            ..
        } = self;
        let (elements, quantifier_facts, invariant_results) =
            (Vec::new(), QuantifierFacts::default(), HashMap::new());
        Evaluator {
            program,
            message,
            binding_values,
            history,
            arena,
            host_calls,
            host_call_facts,
            loop_elements: elements,
            hidden_element_count: 0,
            quantifier_facts,
            let_results,
            invariant_results,
            constant_sets: HashMap::new(),
            observer,
        }
    }

    /// Returns this evaluator with values for the bindings (named values) of payload rules, indexed
    /// by binding id.
    #[must_use]
    pub fn with_binding_values(self, binding_values: &'a [Value<'a>]) -> Self {
        Evaluator { binding_values, ..self }
    }

    /// Returns this evaluator with the recorded messages that rules read as `history`.
    #[must_use]
    pub fn with_history(self, history: PastView<'a>) -> Self {
        Evaluator { history, ..self }
    }
}

impl<'a, O: Observer<'a>> Evaluator<'a, O> {
    /// Evaluates one step, such as a condition, by a call of `evaluate`. Calls the observer before
    /// and after it.
    fn observe_step<T>(&mut self, step: EvalStep<'a>, evaluate: impl FnOnce(&mut Self) -> T) -> T
    where
        T: Copy + Into<StepResult<'a>>,
    {
        O::step_started(self, step);
        let result = evaluate(self);
        O::step_ended(self, step, result.into());
        result
    }

    /// Returns the typed program (the checked rules) that this evaluator runs.
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// Returns the message that this evaluator decides.
    pub fn message(&self) -> &'a Json {
        self.message
    }

    /// Returns the recorded messages that rules read as `history`.
    pub(crate) fn history_view(&self) -> PastView<'a> {
        self.history
    }

    /// Returns the arena for computed values. The arena also records which limits were exceeded.
    pub fn arena(&self) -> &'a Arena {
        self.arena
    }

    /// Consumes the evaluator and returns the record of its host function calls: their cached
    /// results, failures and duration.
    pub fn into_host_calls(self) -> HostCalls<'a> {
        self.host_calls
    }

    /// Evaluates a condition. The result is true, false or unknown.
    pub fn eval_cond(&mut self, cond: &'a Cond) -> Tri {
        self.observe_step(EvalStep::Cond(cond), |eval| match &cond.kind {
            CondKind::Predicate(_) | CondKind::Quantifier { .. }
                if eval.is_loop_invariant(Part::Cond(cond)) =>
            {
                match eval.eval_invariant_once(Part::Cond(cond), |eval| {
                    CachedResult::Cond(eval.eval_cond_uncached(cond))
                }) {
                    CachedResult::Cond(truth) => truth,
                    CachedResult::Value(value) => implementations::value_to_tri(value),
                }
            }
            _ => eval.eval_cond_uncached(cond),
        })
    }

    /// Evaluates a condition without the cache for loop-invariant subexpressions. The result is
    /// true, false or unknown.
    fn eval_cond_uncached(&mut self, cond: &'a Cond) -> Tri {
        let eval = self;
        match &cond.kind {
            CondKind::Const(value) => Tri::from(*value),
            CondKind::Not(inner) => eval.eval_cond(inner).not(),
            CondKind::NotTrue(inner) => Tri::from(!eval.eval_cond(inner).holds()),
            CondKind::And(_) => {
                let operands = eval.host_call_facts.order_operands(cond, eval.program);
                Tri::all(operands.into_iter().map(|operand| eval.eval_cond(operand)))
            }
            CondKind::Or(_) => {
                let operands = eval.host_call_facts.order_operands(cond, eval.program);
                Tri::any(operands.into_iter().map(|operand| eval.eval_cond(operand)))
            }
            CondKind::Predicate(predicate) => eval.eval_predicate(predicate),
            CondKind::Quantifier { is_all: all, list, var, body } => {
                let list = eval.eval_operand(list);
                let run_loop = |eval: &mut Self| {
                    let elements = list.elements().into_iter().flatten();
                    let results = elements.map(|element| eval.eval_cond_on_element(var, element, body));
                    if *all { Tri::all(results) } else { Tri::any(results) }
                };
                eval.run_quantifier(Part::Cond(cond), list, body, run_loop).unwrap_or(Tri::Unknown)
            }
            CondKind::Let(id) => eval.eval_let_cond(*id),
            CondKind::Call(_, _, body) => eval.eval_cond(body),
            CondKind::Branch { requires_all: all, conditions } => eval.eval_branch(*all, conditions),
        }
    }

    /// True if a node is inside a quantifier but does not read the quantifier's element, so that
    /// its value is the same for all elements.
    fn is_loop_invariant(&mut self, part: Part<'a>) -> bool {
        self.loop_elements.len() > self.hidden_element_count && self.quantifier_facts.is_closed(part)
    }

    /// Returns the value of a loop-invariant subexpression. Calls `compute` the first time, and
    /// later returns the cached result, unless the observer wants another evaluation.
    fn eval_invariant_once(
        &mut self,
        part: Part<'a>,
        compute: impl FnOnce(&mut Self) -> CachedResult<'a>,
    ) -> CachedResult<'a> {
        let key = part.node_key();
        if let Some(cached) = key.and_then(|key| self.invariant_results.get(&key))
            && !self.observer.reevaluates_invariants()
        {
            return *cached;
        }
        let cached = self.run_outside_quantifiers(compute);
        self.invariant_results.extend(key.map(|key| (key, cached)));
        cached
    }

    /// Runs `compute` as if outside every quantifier: no quantifier variable is in scope, and the
    /// work counts once against the limits, not once for each element.
    fn run_outside_quantifiers<T>(&mut self, compute: impl FnOnce(&mut Self) -> T) -> T {
        let (hidden_element_count, suspended) = (self.hidden_element_count, self.arena.suspend_quantifiers());
        self.hidden_element_count = self.loop_elements.len();
        let result = compute(self);
        self.hidden_element_count = hidden_element_count;
        self.arena.leave_quantifier(suspended);
        result
    }

    /// Evaluates a branch of a choice. If `requires_all` is true, every condition must be true;
    /// otherwise one true condition is enough. Conditions that read a missing value are skipped. If
    /// all conditions are skipped, the result is false.
    fn eval_branch(&mut self, requires_all: bool, conditions: &'a [GuardedCondition]) -> Tri {
        let usable = conditions.iter().filter_map(|condition| {
            let usable = self.observe_step(EvalStep::Guard(condition), |eval| {
                eval.eval_cond(&condition.presence_condition)
            });
            usable.holds().then(|| self.eval_cond(&condition.cond))
        });
        let mut results = usable.peekable();
        match results.peek() {
            None => Tri::False,
            Some(_) if requires_all => Tri::all(results),
            Some(_) => Tri::any(results),
        }
    }

    fn eval_predicate(&mut self, predicate: &'a Predicate) -> Tri {
        let left = self.eval_operand(&predicate.left);
        let result = match (predicate.op, &predicate.right) {
            (None, _) => implementations::value_to_tri(left),
            (Some(_), Operand::Range { start, end, includes_end: inclusive, wraps_midnight: wraps }) => {
                let (start, end) = (self.eval_operand(start), self.eval_operand(end));
                let mode = TestMode::default();
                let is_below_end =
                    if *inclusive { implementations::less_equal } else { implementations::less };
                let arena = self.arena;
                let from_start = implementations::greater_equal(left, start, mode, arena);
                let to_end = is_below_end(left, end, mode, arena);
                match wraps {
                    false => Tri::all([from_start, to_end]),
                    true => {
                        let is_ordered = implementations::less_equal(start, end, mode, arena);
                        let wrapped = Tri::all([is_ordered.not(), Tri::any([from_start, to_end])]);
                        Tri::any([Tri::all([is_ordered, from_start, to_end]), wrapped])
                    }
                }
            }
            (Some(op), right) => {
                let right = match right {
                    Operand::Value(right) => self.eval_operand(right),
                    _ => Value::Missing,
                };
                let constant = match &predicate.right {
                    Operand::Value(right) => self.is_constant(right),
                    _ => true,
                };
                let (mode, arena) = (predicate.mode, self.arena);
                if constant {
                    let sets = &mut self.constant_sets;
                    budget::test_with_constant(op, left, right, mode, arena, || {
                        let set = sets.entry(std::ptr::from_ref(predicate) as usize);
                        set.or_insert_with(|| ConstantSet::new(right, mode.text).map(Box::new)).as_deref()
                    })
                } else {
                    let context = PredicateContext { arena, is_right_constant: constant };
                    budget::test_predicate(op, left, right, mode, context)
                }
            }
        };
        if predicate.is_negated { result.not() } else { result }
    }

    fn eval_operand(&mut self, expr: &'a Expr) -> Value<'a> {
        self.observe_step(EvalStep::Operand(expr), |eval| eval.eval_expr(expr))
    }

    /// True if a value does not depend on the message. Other engines compute such a value at
    /// compile time. So a predicate with such a right operand is charged the same steps as with a
    /// literal. If the operand is a long list, values are looked up in a cached set of its
    /// elements.
    fn is_constant(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(_) => true,
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.is_constant(body),
                Term::Cond(_) => false,
            },
            ExprKind::Slot(_)
            | ExprKind::Var(_)
            | ExprKind::Param(_)
            | ExprKind::Extern(..)
            | ExprKind::Fold { .. }
            | ExprKind::Window { .. }
            | ExprKind::Cond(_)
            | ExprKind::If { .. } => false,
            _ => expr.parts().into_iter().all(|part| match part {
                Part::Expr(part) => self.is_constant(part),
                _ => false,
            }),
        }
    }

    /// Evaluates an expression. The result is its value, or a missing value.
    pub fn eval_expr(&mut self, expr: &'a Expr) -> Value<'a> {
        match &expr.kind {
            ExprKind::List(_) | ExprKind::Call(..) | ExprKind::Fold { .. }
                if self.is_loop_invariant(Part::Expr(expr)) =>
            {
                match self.eval_invariant_once(Part::Expr(expr), |eval| {
                    CachedResult::Value(eval.eval_expr_uncached(expr))
                }) {
                    CachedResult::Value(value) => value,
                    CachedResult::Cond(truth) => truth.into(),
                }
            }
            _ => self.eval_expr_uncached(expr),
        }
    }

    /// Evaluates an expression without the cache for loop-invariant subexpressions. The result is
    /// its value, or a missing value.
    fn eval_expr_uncached(&mut self, expr: &'a Expr) -> Value<'a> {
        match &expr.kind {
            ExprKind::Const(constant) => constant.value(),
            ExprKind::Slot(id) => self.slot_value(*id),
            ExprKind::Var(id) => self
                .variable_with_element(*id)
                .map_or(Value::Missing, |(var, value)| value.read_as(var.element_kinds)),
            // The checker replaced each parameter by its argument, so no parameter is left to
            // evaluate.
            ExprKind::Param(_) => Value::Missing,
            ExprKind::Field(base, name) => self.eval_expr(base).field(name),
            ExprKind::Index(base, index) => {
                let base = self.eval_expr(base);
                base.index(self.eval_expr(index))
            }
            ExprKind::List(items) => {
                let items = self.eval_exprs(items);
                self.arena.build_list(items)
            }
            ExprKind::Op(op, left, right) => {
                let left = self.eval_expr(left);
                // The right operand is evaluated only if needed, because it may call a host
                // function.
                if *op == rulec_lang::operators::Op::Coalesce && !left.is_missing() {
                    return left;
                }
                let right = right.as_deref().map_or(Value::Missing, |right| self.eval_expr(right));
                match op.info().implementation {
                    Implementation::Value(compute) => compute(left, right),
                    Implementation::Predicate(_) | Implementation::Structure => Value::Missing,
                }
            }
            ExprKind::Read(inner, kinds) => self.eval_expr(inner).read_as(*kinds),
            ExprKind::Call(function, args) => {
                let args = self.eval_exprs(args);
                function.call(&args, self.arena)
            }
            ExprKind::Extern(id, args) => {
                let args = self.eval_exprs(args);
                self.host_calls.call(*id, &args, self.arena)
            }
            ExprKind::Fold { fold, list, var, body } => {
                let list = self.eval_expr(list);
                let run_loop = |eval: &mut Self| eval.eval_fold(fold, list, var, body);
                self.run_quantifier(Part::Expr(expr), list, body, run_loop).unwrap_or(Value::Missing)
            }
            ExprKind::Window { list, bound, operand } => {
                let list = self.eval_expr(list);
                let operand = self.eval_expr(operand);
                self.history.window(list, *bound, operand)
            }
            ExprKind::Cond(cond) => self.eval_cond(cond).into(),
            ExprKind::If { cond, then_value: then, else_value: other } => {
                let value = if self.eval_cond(cond).holds() { then } else { other };
                self.eval_expr(value)
            }
            ExprKind::Let(id) => self.eval_let_value(*id),
        }
    }

    fn slot_value(&self, id: SlotId) -> Value<'a> {
        self.program.slots[id.index()].convert_value(self.raw_slot_value(id))
    }

    /// Returns the value of a field that the rules read. `id` identifies the slot: the field, with
    /// the kinds of value that the rules accept. The value is as in the message, not converted to
    /// these kinds.
    pub fn raw_slot_value(&self, id: SlotId) -> Value<'a> {
        let slot = &self.program.slots[id.index()];
        let root = match &slot.root {
            None => Some(Value::from_json(self.message)),
            Some(root) if root.is_history() => Some(Value::JsonList(self.history.elements)),
            Some(root) => self.binding_values.get(root.id.index()).copied(),
        };
        slot.path.iter().fold(root.unwrap_or(Value::Missing), |value, key| value.field(key))
    }

    fn eval_exprs(&mut self, exprs: &'a [Expr]) -> SmallVec<[Value<'a>; 4]> {
        exprs.iter().map(|expr| self.eval_expr(expr)).collect()
    }

    /// Returns the result of a `let`, which is evaluated once per message. A `let` is declared
    /// outside every quantifier, so the result depends only on the message.
    fn let_result(&mut self, id: LetId) -> CachedResult<'a> {
        if let Some(cached) = self.let_results[id.index()]
            && !self.observer.reevaluates_lets()
        {
            return cached;
        }
        let cached = self.run_outside_quantifiers(|eval| match eval.program.let_body(id) {
            Term::Cond(cond) => CachedResult::Cond(eval.eval_cond(cond)),
            Term::Expr(expr) => CachedResult::Value(eval.eval_operand(expr)),
        });
        self.let_results[id.index()] = Some(cached);
        cached
    }

    fn eval_let_cond(&mut self, id: LetId) -> Tri {
        match self.let_result(id) {
            CachedResult::Cond(result) => result,
            CachedResult::Value(value) => implementations::value_to_tri(value),
        }
    }

    fn eval_let_value(&mut self, id: LetId) -> Value<'a> {
        match self.let_result(id) {
            CachedResult::Cond(result) => result.into(),
            CachedResult::Value(value) => value,
        }
    }
}
