//! The steps of an evaluation, as the reference evaluator reports them. Whoever wants to show how a
//! decision came about listens, and evaluates nothing a second time.

use super::Evaluator;
use crate::decision::Chosen;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{Cond, Expr, Guarded, RuleId, TableId, Var};

/// A step of an evaluation. What is evaluated on the way lies between its beginning and its end.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// The search of a table.
    Table(TableId),
    /// A jump to a table that was searched before: it chooses nothing.
    SearchedBefore(TableId),
    /// A rule that is tried: its condition, and the table it jumps to when it holds.
    Rule(RuleId),
    /// The default of a table.
    Default(TableId),
    /// A condition.
    Cond(&'a Cond),
    /// The test that a condition of a branch can be used.
    Guard(&'a Guarded),
    /// A value that a condition, a `let` or an argument is made of.
    Operand(&'a Expr),
    /// An element of a quantifier or `count`, as it stands in the list.
    Element(&'a Var, Value<'a>),
}

/// The result of a step.
#[derive(Clone, Copy, Debug)]
pub enum Reached<'a> {
    /// The statement that the search of a table, a rule or a default leads to.
    Chosen(Option<Chosen>),
    /// The truth of a condition.
    Truth(Tri),
    /// The value of an operand.
    Value(Value<'a>),
}

/// A listener, told of each step. It may ask the evaluator for more, which is reported as well.
pub trait Observer<'a>: Sized {
    /// A step begins.
    fn enter(eval: &mut Evaluator<'a, Self>, step: Step<'a>) {
        let _ = (eval, step);
    }

    /// A step ends with a result.
    fn leave(eval: &mut Evaluator<'a, Self>, step: Step<'a>, reached: Reached<'a>) {
        let _ = (eval, step, reached);
    }

    /// True when a `let` whose result is known is to be evaluated once more, for its steps to be seen.
    fn repeats_let(&self) -> bool {
        false
    }

    /// True when what is computed once for all elements of a list is to be evaluated for each, for its
    /// steps to be seen.
    fn repeats_parts(&self) -> bool {
        false
    }
}

/// Nobody listens.
impl Observer<'_> for () {}

impl From<Option<Chosen>> for Reached<'_> {
    fn from(chosen: Option<Chosen>) -> Self {
        Reached::Chosen(chosen)
    }
}

impl From<Tri> for Reached<'_> {
    fn from(truth: Tri) -> Self {
        Reached::Truth(truth)
    }
}

impl<'a> From<Value<'a>> for Reached<'a> {
    fn from(value: Value<'a>) -> Self {
        Reached::Value(value)
    }
}
