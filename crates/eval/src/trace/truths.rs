//! Condition coverage: counts over many decisions how often every condition was true, false or
//! unknown. Conditions inside values count too, and a condition on list elements counts for each
//! element.

use crate::evaluator::{EvalStep, Evaluator, Observer, StepResult};
use rulec_base::span::Span;
use rulec_lang::value::Tri;
use rulec_sema::hir::{Cond, CondKind, Outcome, RuleId, TableId, ValueId};
use std::collections::HashMap;

/// How often a condition was true, false, unknown or left out, counted over many decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultCounts {
    /// Number of evaluations in which the condition was true.
    pub true_count: usize,
    /// Number of evaluations in which the condition was false.
    pub false_count: usize,
    /// Number of times the condition was unknown, because a value was missing or had a wrong type.
    pub unknown_count: usize,
    /// Number of times a choice left the condition out because a value was missing.
    pub left_out_count: usize,
}

/// For each condition, by its span, how often it had each result.
#[derive(Debug, Default)]
pub struct ConditionCoverage(HashMap<Span, ResultCounts>);

impl ConditionCoverage {
    /// Returns the result counts of the condition with this span; all counts are 0 for a condition
    /// that was never evaluated.
    pub fn counts_at(&self, span: Span) -> ResultCounts {
        self.0.get(&span).copied().unwrap_or_default()
    }

    /// Decides the message by the table `entry`, and counts the results of all conditions that the
    /// decision evaluates. Conditions in arguments of the chosen outcome are included.
    pub fn count_decision(&mut self, evaluator: Evaluator<'_>, entry: TableId) {
        self.count_evaluation(evaluator, |eval| {
            let program = eval.program();
            let Some(outcome) = eval.decide(entry).chosen.and_then(|chosen| chosen.outcome(program)) else {
                return;
            };
            match outcome {
                Outcome::Next { .. } => drop(eval.eval_next_nodes(outcome)),
                outcome => drop(eval.eval_arguments(outcome)),
            }
        });
    }

    /// Evaluates a rule's condition and counts the results of the conditions in it.
    pub fn count_rule(&mut self, evaluator: Evaluator<'_>, rule: RuleId) {
        self.count_evaluation(evaluator, |eval| {
            eval.eval_cond(&eval.program().rules[rule.index()].condition);
        });
    }

    /// Evaluates a value and counts the results of the conditions in it.
    pub fn count_value(&mut self, evaluator: Evaluator<'_>, value: ValueId) {
        self.count_evaluation(evaluator, |eval| {
            eval.eval_expr(eval.program().value(value));
        });
    }

    fn count_evaluation<'a>(
        &mut self,
        evaluator: Evaluator<'a>,
        evaluate: impl FnOnce(&mut Evaluator<'a, CoverageObserver<'_>>),
    ) {
        let mut observed = evaluator.observed_by(CoverageObserver { coverage: self, open_guard_count: 0 });
        evaluate(&mut observed);
    }
}

/// True for a condition whose results are counted: a predicate, a quantifier or a use of a `let`. A
/// condition that only combines other conditions, such as an `and`, is not counted.
fn is_leaf_condition(cond: &Cond) -> bool {
    matches!(cond.kind, CondKind::Predicate(_) | CondKind::Quantifier { .. } | CondKind::Let(_))
}

/// The observer that counts the results of conditions while the reference evaluator decides.
struct CoverageObserver<'t> {
    coverage: &'t mut ConditionCoverage,
    /// Number of steps that have not ended and that check whether a condition is usable (reads no
    /// missing value). The compiler generates these checks, so their results are not counted.
    open_guard_count: usize,
}

impl<'a> Observer<'a> for CoverageObserver<'_> {
    fn step_started(eval: &mut Evaluator<'a, Self>, step: EvalStep<'a>) {
        eval.observer.open_guard_count += usize::from(matches!(step, EvalStep::Guard(_)));
    }

    fn step_ended(eval: &mut Evaluator<'a, Self>, step: EvalStep<'a>, result: StepResult<'a>) {
        let observer = &mut eval.observer;
        match (step, result) {
            (EvalStep::Guard(condition), StepResult::Truth(truth)) => {
                observer.open_guard_count -= 1;
                if !truth.holds() {
                    observer.coverage.0.entry(condition.cond.span).or_default().left_out_count += 1;
                }
            }
            // A condition that combines others may have the same span as one of them, so only
            // leaves are counted.
            (EvalStep::Cond(cond), StepResult::Truth(truth))
                if observer.open_guard_count == 0 && is_leaf_condition(cond) =>
            {
                let counts = observer.coverage.0.entry(cond.span).or_default();
                *match truth {
                    Tri::True => &mut counts.true_count,
                    Tri::False => &mut counts.false_count,
                    Tri::Unknown => &mut counts.unknown_count,
                } += 1;
            }
            _ => {}
        }
    }
}
