//! The cost model: what deciding by a table costs, with and without the index, as a guess in
//! nanoseconds, from which the compiler chooses. The constants were measured by `benches/peers` on one machine; what matters
//! is their ratio.

use crate::bytecode::pools::AUTOMATON_FROM;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Cost;
use rulec_sema::normal::{Ask, CondId, ExprId, NCond, NExpr, NPred, Normal};
use std::ops::RangeInclusive;

/// Looking up what a table needs, whatever it is.
pub const LOOKUP: f64 = 30.0;
/// Scanning a text of a hundred bytes.
pub const SCAN: f64 = 60.0;
/// Looking a value up through an attribute.
pub const VALUE: f64 = 12.0;
/// Trying a route that was found.
pub const TRY: f64 = 14.0;
/// Holding the guards of a posting against the message.
pub const GUARD: f64 = 1.25;
/// The part of one route in the bits of many.
pub const BITS: f64 = 0.05;
/// Finding that the message lacks a value.
const ABSENT: f64 = 2.0;
/// A message has a score of fields, however many those are that rules ask for.
const FIELDS: f64 = 20.0;
/// Joining a word of bits.
pub const WORD: f64 = 0.4;
/// The share of a table that a message passes before a route holds.
const PASSED: f64 = 0.6;
/// A table's first routes are so many at least, and at most.
const FIRST: RangeInclusive<usize> = 10..=64;
/// Searching a text of fifty bytes for any of many words, by an automaton.
const AUTOMATON: f64 = 140.0;
/// The share of a condition's parts that leave the next to be asked.
const GOES_ON: f64 = 0.4;

/// The number of values looked up that a message is taken to have; finding that it lacks the others counts as a part
/// of one.
pub fn present(values: usize) -> f64 {
    let values = values as f64;
    values.min(FIELDS) + (values - FIELDS).max(0.0) * ABSENT / VALUE
}

/// Trying all routes one by one.
pub fn linear(normal: &Normal, conds: impl Iterator<Item = CondId>) -> f64 {
    conds.map(|cond| condition(normal, cond)).sum::<f64>() * PASSED
}

/// The number of routes at the beginning of a table that take no longer to be tried one by one than the index takes.
/// They are few, since a guess that is wrong is paid for by each message for which none of them holds.
pub fn first(normal: &Normal, conds: impl Iterator<Item = CondId>, indexed: f64) -> u32 {
    let mut cost = 0.0;
    let cheaper = conds.take(*FIRST.end()).take_while(|cond| {
        cost += condition(normal, *cond);
        cost <= indexed
    });
    cheaper.count().max(*FIRST.start()) as u32
}

/// Trying one route.
pub fn condition(normal: &Normal, cond: CondId) -> f64 {
    match normal.cond(cond) {
        NCond::Const(_) => 2.0,
        NCond::Test { pred, .. } => predicate(normal, normal.pred(*pred)),
        NCond::And(parts) | NCond::Or(parts) => {
            let mut share = 1.0;
            let mut cost = 0.0;
            for part in parts {
                cost += share * condition(normal, *part);
                share *= GOES_ON;
            }
            cost
        }
        NCond::Not(inner) => condition(normal, *inner),
        NCond::Each { .. } => nanoseconds(Cost::Loop),
    }
}

fn predicate(normal: &Normal, pred: &NPred) -> f64 {
    let own = match pred.ask {
        Ask::Truth => nanoseconds(Cost::Scalar),
        Ask::Op(op) if op.info().cost == Cost::Scan && is_automaton(normal, pred) => AUTOMATON,
        Ask::Op(op) => nanoseconds(op.info().cost),
    };
    own + operand(normal, pred.left) + pred.right.map_or(0.0, |right| operand(normal, right))
}

/// True when an automaton searches for what stands on a predicate's right.
fn is_automaton(normal: &Normal, pred: &NPred) -> bool {
    let list = pred.right.and_then(|right| normal.constant(right));
    let mut words = list.and_then(|list| list.value().elements());
    words.as_mut().is_some_and(|words| words.nth(AUTOMATON_FROM - 1).is_some())
}

fn operand(normal: &Normal, expr: ExprId) -> f64 {
    match normal.expr(expr) {
        NExpr::Const(_) | NExpr::Slot(_) | NExpr::Var(_) => 0.0,
        NExpr::Call(Function::Len, _) => nanoseconds(Cost::Lookup),
        NExpr::Call(function, _) => nanoseconds(function.info().cost.max(Cost::Lookup)),
        NExpr::Extern(..) => nanoseconds(Cost::Host),
        _ => nanoseconds(Cost::Lookup),
    }
}

fn nanoseconds(cost: Cost) -> f64 {
    match cost {
        Cost::Scalar => 4.0,
        Cost::Lookup => 9.0,
        Cost::Scan => 22.0,
        Cost::Regex => 60.0,
        Cost::Loop => 60.0,
        Cost::Host => 100.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_a_message_lacks_count_as_a_part() {
        assert_eq!([0, 1, 20].map(present), [0.0, 1.0, 20.0]);
        let many = present(80);
        assert!(20.0 < many && many < 50.0, "{many}");
    }
}
