//! Clauses for the SAT solver about an operand (a *term*) that is compared with many numbers. For
//! example, if `n < 3` is true, then `n < 5` is true. Without these clauses, the solver would
//! propose truth values that no number satisfies, and would learn each such fact by a failed
//! attempt.

use super::atoms::{AtomLiteral, AtomTable, FALSE, TRUE, UNKNOWN};
use super::lift::predicate_op;
use rulec_lang::operators::Op;
use rulec_lang::value::{Value, compare};
use rulec_sema::normal::NormalForm;
use serde_json::Value as Json;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Minimum number of comparisons with numbers that an operand needs, so that clauses are added for
/// the operand.
const MIN_COMPARISONS_FOR_CLAUSES: usize = 16;

/// A comparison of an operand with a number.
struct NumberComparison<'t> {
    atom: usize,
    op: Op,
    number: Value<'t>,
}

impl NumberComparison<'_> {
    /// Orders two upper bounds, so that the bound with fewer allowed numbers comes first. `n < 3`
    /// comes just before `n <= 3`.
    fn compare_upper_bounds(&self, other: &NumberComparison<'_>) -> Ordering {
        let rank = |comparison: &NumberComparison<'_>| u8::from(comparison.op == Op::Le);
        let numbers = compare(self.number, other.number).unwrap_or(Ordering::Equal);
        numbers.then(rank(self).cmp(&rank(other)))
    }
}

/// Returns pairs of literals (required truth values) that no message satisfies together. For
/// example, `n < 3` cannot be true if `n < 5` is not true.
pub(super) fn number_order_conflicts(
    normal: &NormalForm,
    table: &AtomTable,
    atoms: impl Iterator<Item = usize>,
) -> Vec<[AtomLiteral; 2]> {
    let mut by_term: BTreeMap<usize, Vec<NumberComparison<'_>>> = BTreeMap::new();
    for atom in atoms {
        let compared = &table.atoms[atom];
        let (Some((term, _)), Some(shape), Some(pred)) =
            (&compared.term_index_and_cond, &compared.predicate_shape, compared.pred)
        else {
            continue;
        };
        let pred = normal.pred(pred);
        // A constant on the left would reverse the comparison, so such predicates are skipped.
        if shape.has_huge_constant || pred.right.is_none_or(|right| normal.constant(right).is_none()) {
            continue;
        }
        if let (Some(op @ (Op::Lt | Op::Le | Op::Eq)), [Json::Number(_)]) =
            (predicate_op(pred), shape.constants.as_slice())
        {
            let number = Value::from_json(&shape.constants[0]);
            by_term.entry(*term).or_default().push(NumberComparison { atom, op, number });
        }
    }
    let mut conflicts = Vec::new();
    for comparisons in
        by_term.into_values().filter(|comparisons| comparisons.len() >= MIN_COMPARISONS_FOR_CLAUSES)
    {
        let (equal, mut bounds): (Vec<_>, Vec<_>) =
            comparisons.into_iter().partition(|comparison| comparison.op == Op::Eq);
        bounds.sort_by(NumberComparison::compare_upper_bounds);
        let literal = |atom, allowed| AtomLiteral { atom_index: atom, allowed };
        for pair in bounds.windows(2) {
            let [low, high] = [pair[0].atom, pair[1].atom];
            conflicts.push([literal(low, TRUE), literal(high, FALSE | UNKNOWN)]);
            conflicts.push([literal(high, FALSE), literal(low, TRUE | UNKNOWN)]);
        }
        for NumberComparison { atom, number, .. } in equal {
            // Bounds ascend, so those that are true for this number come after those that are
            // false.
            let is_false = |bound: &NumberComparison<'_>| match compare(bound.number, number) {
                Some(Ordering::Equal) => bound.op == Op::Lt,
                order => order == Some(Ordering::Less),
            };
            let first_true = bounds.partition_point(is_false);
            if let Some(bound) = bounds.get(first_true) {
                conflicts.push([literal(atom, TRUE), literal(bound.atom, FALSE | UNKNOWN)]);
            }
            if let Some(bound) = first_true.checked_sub(1).map(|last| &bounds[last]) {
                conflicts.push([literal(atom, TRUE), literal(bound.atom, TRUE | UNKNOWN)]);
            }
        }
    }
    conflicts
}
