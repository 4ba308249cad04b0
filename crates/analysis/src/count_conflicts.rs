//! Finds counts that exclude each other, because the elements that one of them counts are among the
//! elements of the other one. For example, if five messages of the last minute are counted, then at
//! least five of the last hour are counted with the same condition.

use super::atoms::{AtomLiteral, FALSE, TRUE, UNKNOWN};
use super::element_conflicts::contains_list;
use super::solver::MessageSolver;
use super::values::SolvedValue;
use rulec_lang::builtins::Function;
use rulec_lang::ty::KindSet;
use rulec_sema::normal::{CondId, ExprId, NormalExpr, NormalFold};
use std::collections::BTreeMap;

/// Maximum number of counted operands that are compared with each other in one query.
const MAX_COUNTS: usize = 12;

/// A term (a compared operand) that counts elements of a list.
#[derive(Clone, Copy)]
struct CountTerm {
    term: usize,
    expr: ExprId,
    list: ExprId,
    /// The condition on the counted elements, with the level and the kinds of its variable. `None`
    /// for `len`, which counts all elements.
    body: Option<(CondId, u32, KindSet)>,
}

impl MessageSolver<'_> {
    /// Returns literals (required truth values) that no message satisfies together, because one
    /// count would exceed a count of more elements. `None` if it is not proven that there are such
    /// literals.
    pub(super) fn find_count_conflict(&mut self, literals: &[AtomLiteral]) -> Option<Vec<AtomLiteral>> {
        let mut by_term: BTreeMap<usize, Vec<AtomLiteral>> = BTreeMap::new();
        for literal in literals {
            if let Some((term, _)) =
                &self.theory.value_search.atoms.atoms[literal.atom_index].term_index_and_cond
            {
                by_term.entry(*term).or_default().push(*literal);
            }
        }
        let counts: Vec<CountTerm> = by_term.keys().filter_map(|term| self.count_term(*term)).collect();
        if counts.len() > MAX_COUNTS {
            return None;
        }
        for inner in &counts {
            for outer in counts.iter().filter(|outer| outer.term != inner.term) {
                if !self.counts_all_of(outer, inner) {
                    continue;
                }
                let (few, many) = (&by_term[&inner.term], &by_term[&outer.term]);
                for least in self.possible_bounds(few) {
                    // The inner count is at least `least`, but the outer count cannot be.
                    let below = TRUE | UNKNOWN;
                    if let Some(mut conflict) = self.conflict_with_bound(inner, few, (least, below))
                        && let Some(others) = self.conflict_with_bound(outer, many, (least, FALSE))
                    {
                        conflict.extend(others);
                        conflict.sort_unstable();
                        conflict.dedup();
                        return Some(conflict);
                    }
                }
            }
        }
        None
    }

    fn count_term(&self, term: usize) -> Option<CountTerm> {
        let expr = self.theory.value_search.atoms.terms[term].expr;
        let (list, body) = match self.builder.normal_so_far().expr(expr) {
            NormalExpr::Call(Function::Len, args) => (*args.first()?, None),
            NormalExpr::Fold { fold: NormalFold::Count, list, kinds, body, level, .. } => {
                (*list, Some((*body, *level, *kinds)))
            }
            _ => return None,
        };
        Some(CountTerm { term, expr, list, body })
    }

    /// True if it is proven that `outer` counts each element that `inner` counts.
    fn counts_all_of(&mut self, outer: &CountTerm, inner: &CountTerm) -> bool {
        if !contains_list(self.builder.normal_so_far(), outer.list, inner.list) {
            return false;
        }
        match (outer.body, inner.body) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((outer, level, kinds)), Some((inner, inner_level, inner_kinds))) => {
                (level, kinds) == (inner_level, inner_kinds)
                    && (outer == inner
                        || self.contradicting_goals(vec![(inner, true), (outer, false)]).is_some())
            }
        }
    }

    /// Returns the numbers next to the constants with which a count is compared.
    fn possible_bounds(&self, literals: &[AtomLiteral]) -> Vec<i64> {
        let atoms = &self.theory.value_search.atoms.atoms;
        let shapes = literals.iter().filter_map(|literal| atoms[literal.atom_index].predicate_shape.as_ref());
        let constants = shapes.flat_map(|shape| &shape.constants).filter_map(|constant| constant.as_f64());
        let constants = constants.filter(|constant| (0.0..1e9).contains(constant));
        let mut bounds: Vec<i64> =
            constants.flat_map(|constant| [constant.ceil() as i64, constant.floor() as i64 + 1]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        bounds.retain(|bound| *bound > 0);
        bounds
    }

    /// Assumes that the condition "the count is below the bound" has a truth value in the set
    /// `allowed`. Returns the literals that exclude every such value of the count. `None` if there
    /// are no such literals.
    fn conflict_with_bound(
        &mut self,
        count: &CountTerm,
        literals: &[AtomLiteral],
        (bound, allowed): (i64, u8),
    ) -> Option<Vec<AtomLiteral>> {
        let is_below = self.builder.build_is_below(count.expr, bound);
        let assumed = AtomLiteral { atom_index: self.atom_of_cond(is_below)?, allowed };
        let mut all = literals.to_vec();
        all.push(assumed);
        all.sort_unstable();
        if !matches!(self.theory.value_search.find_value(count.term, &all, false), SolvedValue::Never) {
            return None;
        }
        let conflict = self.theory.value_search.minimise_conflict(count.term, all, false);
        Some(conflict.into_iter().filter(|literal| *literal != assumed).collect())
    }
}
