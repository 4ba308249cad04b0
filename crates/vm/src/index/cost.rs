//! The cost model: estimates in nanoseconds for a decision by a table, with and without the index.
//! The faster of the two is used. The constants were measured by `benches/peers` on one machine;
//! only their ratios matter. The note benches/notes/access-paths.md, "Cost model", lists the
//! recorded measurements.

use crate::bytecode::pools::MIN_AUTOMATON_KEYWORDS;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Cost;
use rulec_sema::normal::{CondId, ExprId, NormalCond, NormalExpr, NormalForm, NormalPredicate, TestKind};
use std::ops::RangeInclusive;

/// Fixed cost in nanoseconds of using the index in a decision by a table.
/// Compared with other values in benches/notes/constants.md.
pub const INDEX_LOOKUP_NS: f64 = 30.0;
/// Cost in nanoseconds of scanning a text of a hundred bytes.
/// Measured in benches/notes/access-paths.md, "Cost model".
pub const HUNDRED_BYTES_SCAN_NS: f64 = 60.0;
/// Cost in nanoseconds of looking up the equivalence class of a value.
/// Compared with other values in benches/notes/constants.md.
pub const VALUE_LOOKUP_NS: f64 = 12.0;
/// Fixed cost in nanoseconds of evaluating a candidate route, without the cost of its condition.
/// Compared with other values in benches/notes/constants.md.
pub const ROUTE_TRY_NS: f64 = 14.0;
/// Cost in nanoseconds of checking the guards of one posting, an entry for a route in the list of a
/// key. Guards are required ranges of values, which can exclude the route.
/// Compared with other values in benches/notes/constants.md.
pub const GUARD_CHECK_NS: f64 = 1.25;
/// Cost in nanoseconds of reading a bitmap index, per route. The cost is low because many routes
/// share a word.
/// Compared with other values in benches/notes/constants.md.
pub const BITMAP_NS_PER_ROUTE: f64 = 0.05;
/// Cost in nanoseconds of looking up a field that the message does not have.
/// Compared with other values in benches/notes/constants.md.
const ABSENT_VALUE_LOOKUP_NS: f64 = 2.0;
/// Assumed number of fields in a message, whatever the number of fields that the rules read.
/// Compared with other values in benches/notes/constants.md.
const ASSUMED_MESSAGE_FIELDS: f64 = 20.0;
/// Cost in nanoseconds of intersecting one word (64 bits) of a bitmap.
/// Compared with other values in benches/notes/constants.md.
pub const BITMAP_WORD_NS: f64 = 0.4;
/// Assumed average fraction of a table's routes that are tried before one matches.
/// Compared with other values in benches/notes/constants.md.
const AVERAGE_TRIED_ROUTE_SHARE: f64 = 0.6;
/// Minimum and maximum number of routes at the start of a table that are tried before any lookup.
/// Measured in benches/notes/access-paths.md, "First routes".
const FIRST_ROUTE_COUNT: RangeInclusive<usize> = 10..=64;
/// Cost in nanoseconds of searching a text of fifty bytes for many keywords with an automaton.
/// Measured in benches/notes/access-paths.md, "First routes".
const AUTOMATON_SEARCH_NS: f64 = 140.0;
/// Probability that an operand of `and` or `or` does not decide the result. The next operand is
/// then evaluated.
/// Compared with other values in benches/notes/constants.md.
const UNDECIDED_OPERAND_PROBABILITY: f64 = 0.4;

/// Estimates the cost of looking up this number of values in a message, in units of one successful
/// lookup. At most `ASSUMED_MESSAGE_FIELDS` lookups are assumed to find a value. Each of the others
/// costs a fraction of a unit.
pub fn equivalent_lookup_count(values: usize) -> f64 {
    let values = values as f64;
    values.min(ASSUMED_MESSAGE_FIELDS)
        + (values - ASSUMED_MESSAGE_FIELDS).max(0.0) * ABSENT_VALUE_LOOKUP_NS / VALUE_LOOKUP_NS
}

/// Returns the average cost in nanoseconds of trying routes with the given conditions one by one,
/// up to the first match.
pub fn linear_search_cost_ns(normal: &NormalForm, conds: impl Iterator<Item = CondId>) -> f64 {
    conds.map(|cond| condition_cost_ns(normal, cond)).sum::<f64>() * AVERAGE_TRIED_ROUTE_SHARE
}

/// Returns the number of routes at the start of a table to try before an index lookup. `conds` are
/// the conditions of the table's routes. Together, the routes to try cost no more than a decision
/// with the index (`indexed`, in nanoseconds). But the number is at least the minimum, and at most
/// the maximum, of the range `FIRST_ROUTE_COUNT`.
pub fn first_route_count(normal: &NormalForm, conds: impl Iterator<Item = CondId>, indexed: f64) -> u32 {
    let mut cost = 0.0;
    let cheap_conds = conds.take(*FIRST_ROUTE_COUNT.end()).take_while(|cond| {
        cost += condition_cost_ns(normal, *cond);
        cost <= indexed
    });
    cheap_conds.count().max(*FIRST_ROUTE_COUNT.start()) as u32
}

/// Returns the estimated cost in nanoseconds of evaluating a condition.
pub fn condition_cost_ns(normal: &NormalForm, cond: CondId) -> f64 {
    match normal.cond(cond) {
        NormalCond::Const(_) => 2.0,
        NormalCond::Predicate { pred, .. } => predicate_cost_ns(normal, normal.pred(*pred)),
        NormalCond::And(parts) | NormalCond::Or(parts) => {
            let mut evaluation_probability = 1.0;
            let mut cost = 0.0;
            for part in parts {
                cost += evaluation_probability * condition_cost_ns(normal, *part);
                evaluation_probability *= UNDECIDED_OPERAND_PROBABILITY;
            }
            cost
        }
        NormalCond::Not(inner) => condition_cost_ns(normal, *inner),
        NormalCond::Each { .. } => cost_in_nanoseconds(Cost::Loop),
    }
}

fn predicate_cost_ns(normal: &NormalForm, pred: &NormalPredicate) -> f64 {
    let test_cost = match pred.test_kind {
        TestKind::Truth => cost_in_nanoseconds(Cost::Scalar),
        TestKind::Op(op) if op.info().cost == Cost::Scan && uses_automaton(normal, pred) => {
            AUTOMATON_SEARCH_NS
        }
        TestKind::Op(op) => cost_in_nanoseconds(op.info().cost),
    };
    test_cost
        + operand_cost_ns(normal, pred.left)
        + pred.right.map_or(0.0, |right| operand_cost_ns(normal, right))
}

/// True if the list on the right side of the predicate has enough keywords for an automaton. One
/// search then finds all keywords and costs [`AUTOMATON_SEARCH_NS`].
fn uses_automaton(normal: &NormalForm, pred: &NormalPredicate) -> bool {
    let list = pred.right.and_then(|right| normal.constant(right));
    let mut words = list.and_then(|list| list.value().elements());
    words.as_mut().is_some_and(|words| words.nth(MIN_AUTOMATON_KEYWORDS - 1).is_some())
}

fn operand_cost_ns(normal: &NormalForm, expr: ExprId) -> f64 {
    match normal.expr(expr) {
        NormalExpr::Const(_) | NormalExpr::Slot(_) | NormalExpr::History(_) | NormalExpr::Var(_) => 0.0,
        NormalExpr::Call(Function::Len, _) => cost_in_nanoseconds(Cost::Lookup),
        NormalExpr::Call(function, _) => cost_in_nanoseconds(function.info().cost.max(Cost::Lookup)),
        NormalExpr::Extern(..) => cost_in_nanoseconds(Cost::Host),
        _ => cost_in_nanoseconds(Cost::Lookup),
    }
}

fn cost_in_nanoseconds(cost: Cost) -> f64 {
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
    fn absent_values_count_as_a_fraction() {
        assert_eq!([0, 1, 20].map(equivalent_lookup_count), [0.0, 1.0, 20.0]);
        let many = equivalent_lookup_count(80);
        assert!(20.0 < many && many < 50.0, "{many}");
    }
}
