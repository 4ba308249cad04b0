//! The steps of an evaluation, which the reference evaluator reports to an observer. Explanations
//! and coverage are built from these reports, so they need no second evaluation.

use super::Evaluator;
use crate::decision::Chosen;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{Cond, Expr, GuardedCondition, RuleId, TableId, Var};

/// A unit of work of the reference evaluator that is reported to an observer, such as the
/// evaluation of one condition. Steps nest: inner steps are reported between the start and end of
/// the outer one.
#[derive(Clone, Copy, Debug)]
pub enum EvalStep<'a> {
    /// The search for the first matching rule of a table.
    Table(TableId),
    /// A `goto` to a table that was already searched in this decision. The search of such a table
    /// is not repeated; its result is that nothing is chosen.
    SearchedBefore(TableId),
    /// The trial of a rule: the evaluation of its condition and, if the condition is true, the
    /// search of its `goto` target.
    Rule(RuleId),
    /// The use of a table's default, because no rule of the table chose a statement.
    Default(TableId),
    /// The evaluation of a condition, which may be a part of another condition.
    Cond(&'a Cond),
    /// The check whether a condition of a choice's branch can be used: whether all values that the
    /// condition reads are present.
    Guard(&'a GuardedCondition),
    /// The evaluation of a value, as an operand of a condition, a `let` body or an argument.
    Operand(&'a Expr),
    /// The evaluation of the condition of a quantifier or `count` for one element.
    Element(&'a Var, Value<'a>),
}

/// The result of an [`EvalStep`]. Its variant depends on the step: a table, rule or default chooses
/// a statement, a condition has a truth value, an operand has a value.
#[derive(Clone, Copy, Debug)]
pub enum StepResult<'a> {
    /// The statement that a table, rule or default chose; `None` if nothing was chosen.
    Chosen(Option<Chosen>),
    /// The truth value of a condition: true, false or unknown.
    Truth(Tri),
    /// The value of an evaluated operand.
    Value(Value<'a>),
}

/// An observer of an evaluation, which receives the steps of the evaluation. An observer may call
/// the evaluator, which then reports further steps to the observer.
pub trait Observer<'a>: Sized {
    /// Called before the evaluator evaluates a step, such as a condition.
    fn step_started(eval: &mut Evaluator<'a, Self>, step: EvalStep<'a>) {
        let _ = (eval, step);
    }

    /// Called after the evaluator has evaluated a step, with the step's result.
    fn step_ended(eval: &mut Evaluator<'a, Self>, step: EvalStep<'a>, result: StepResult<'a>) {
        let _ = (eval, step, result);
    }

    /// Whether to evaluate a `let` again although its result is cached, so that its steps are
    /// reported.
    fn reevaluates_lets(&self) -> bool {
        false
    }

    /// Whether to evaluate loop-invariant subexpressions again for each element, so that their
    /// steps are reported.
    fn reevaluates_invariants(&self) -> bool {
        false
    }
}

/// The unit type ignores all steps; for evaluations that need no observer.
impl Observer<'_> for () {}

impl From<Option<Chosen>> for StepResult<'_> {
    fn from(chosen: Option<Chosen>) -> Self {
        StepResult::Chosen(chosen)
    }
}

impl From<Tri> for StepResult<'_> {
    fn from(truth: Tri) -> Self {
        StepResult::Truth(truth)
    }
}

impl<'a> From<Value<'a>> for StepResult<'a> {
    fn from(value: Value<'a>) -> Self {
        StepResult::Value(value)
    }
}
