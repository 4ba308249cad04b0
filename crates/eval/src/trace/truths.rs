//! The truth of each condition of a decision, those inside values and of each element too: what coverage counts. An explanation
//! shows people the steps of one decision; here many are added up.

use crate::evaluator::{Evaluator, Observer, Reached, Step};
use rulec_base::span::Span;
use rulec_lang::value::Tri;
use rulec_sema::hir::{Cond, CondKind, Outcome, RuleId, TableId, ValueId};
use std::collections::HashMap;

/// The times that a condition was seen with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The times it held.
    pub yes: usize,
    /// The times it did not.
    pub no: usize,
    /// The times that a value was missing.
    pub unknown: usize,
    /// The times that a choice left it out, for want of a value.
    pub left_out: usize,
}

/// The results of conditions, by their places.
#[derive(Debug, Default)]
pub struct Truths(HashMap<Span, Seen>);

impl Truths {
    /// The results of the condition at a place.
    pub fn at(&self, place: Span) -> Seen {
        self.0.get(&place).copied().unwrap_or_default()
    }

    /// Adds those of the decision that a table comes to, with what is computed after choosing.
    pub fn see_decision(&mut self, evaluator: Evaluator<'_>, entry: TableId) {
        self.listen(evaluator, |eval| {
            let program = eval.program();
            let Some(outcome) = eval.decide(entry).chosen.and_then(|chosen| chosen.outcome(program)) else {
                return;
            };
            match outcome {
                Outcome::Next { .. } => drop(eval.next_nodes(outcome)),
                outcome => drop(eval.arguments(outcome)),
            }
        });
    }

    /// Adds those of the condition of a rule.
    pub fn see_rule(&mut self, evaluator: Evaluator<'_>, rule: RuleId) {
        self.listen(evaluator, |eval| {
            eval.cond(&eval.program().rules[rule.index()].condition);
        });
    }

    /// Adds those inside a value.
    pub fn see_value(&mut self, evaluator: Evaluator<'_>, value: ValueId) {
        self.listen(evaluator, |eval| {
            eval.expr(eval.program().value(value));
        });
    }

    fn listen<'a>(&mut self, evaluator: Evaluator<'a>, ask: impl FnOnce(&mut Evaluator<'a, Listener<'_>>)) {
        let mut listened = evaluator.observed_by(Listener { truths: self, guards: 0 });
        ask(&mut listened);
    }
}

/// True for a condition that is not made of others alone.
fn is_leaf(cond: &Cond) -> bool {
    matches!(cond.kind, CondKind::Test(_) | CondKind::Quantifier { .. } | CondKind::Let(_))
}

/// Writes down the truths.
struct Listener<'t> {
    truths: &'t mut Truths,
    /// The number of open tests that a condition can be used, which are the engine's own.
    guards: usize,
}

impl<'a> Observer<'a> for Listener<'_> {
    fn enter(eval: &mut Evaluator<'a, Self>, step: Step<'a>) {
        eval.observer.guards += usize::from(matches!(step, Step::Guard(_)));
    }

    fn leave(eval: &mut Evaluator<'a, Self>, step: Step<'a>, reached: Reached<'a>) {
        let listener = &mut eval.observer;
        match (step, reached) {
            (Step::Guard(condition), Reached::Truth(truth)) => {
                listener.guards -= 1;
                if !truth.holds() {
                    listener.truths.0.entry(condition.cond.span).or_default().left_out += 1;
                }
            }
            // What others are joined or negated of may have the place of its part.
            (Step::Cond(cond), Reached::Truth(truth)) if listener.guards == 0 && is_leaf(cond) => {
                let seen = listener.truths.0.entry(cond.span).or_default();
                *match truth {
                    Tri::True => &mut seen.yes,
                    Tri::False => &mut seen.no,
                    Tri::Unknown => &mut seen.unknown,
                } += 1;
            }
            _ => {}
        }
    }
}
