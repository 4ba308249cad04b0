//! Builds conjunctions, disjunctions and complements of conditions in normal form. Constant and
//! duplicate operands are removed here.

use super::NormalBuilder;
use crate::hir::{Cond, Expr, GuardedCondition};
use crate::normal::{CondId, ExprId, NormalCond, NormalExpr};
use hashbrown::HashSet;
use rulec_lang::operators::{Op, TestMode};

impl NormalBuilder<'_> {
    /// Builds the condition that a branch of a choice has the truth value `want`; it is false where
    /// the branch is unknown. For a true branch, at least one condition must be usable (read only
    /// present values). If `all`, every usable condition must be true too; otherwise one is enough.
    pub(super) fn build_branch(&mut self, all: bool, conditions: &[GuardedCondition], want: bool) -> CondId {
        let parts = conditions.iter().map(|GuardedCondition { presence_condition: usable, cond }| {
            let (usable, skipped) = (self.build_cond(usable, want), self.build_cond(usable, !want));
            let holds = self.build_cond(cond, want);
            let part = if all {
                self.join_conds([skipped, holds], !want)
            } else {
                self.join_conds([usable, holds], want)
            };
            (usable, part)
        });
        let (usable, mut parts): (Vec<CondId>, Vec<CondId>) = parts.unzip();
        if all {
            let any_usable = self.join_conds(usable, !want);
            parts.insert(0, any_usable);
        }
        self.join_conds(parts, all == want)
    }

    /// For each condition in `parts`, builds the condition that the part has the truth value
    /// `want`; it is false where the part is unknown. Joins the results by `and` if `conjunction`,
    /// otherwise by `or`.
    pub(super) fn build_junction(&mut self, parts: &[Cond], want: bool, conjunction: bool) -> CondId {
        let parts: Vec<CondId> = parts.iter().map(|part| self.build_cond(part, want)).collect();
        self.join_conds(parts, conjunction)
    }

    /// Joins conditions: by `and` if `conjunction`, otherwise by `or`.
    pub fn join_conds(&mut self, parts: impl IntoIterator<Item = CondId>, conjunction: bool) -> CondId {
        let mut flat: Vec<CondId> = Vec::new();
        for id in parts {
            match self.normal.cond(id) {
                NormalCond::Const(value) if *value == conjunction => {}
                NormalCond::Const(_) => return id,
                NormalCond::And(inner) if conjunction => flat.extend(inner.iter()),
                NormalCond::Or(inner) if !conjunction => flat.extend(inner.iter()),
                _ => flat.push(id),
            }
        }
        let mut distinct_ids = HashSet::new();
        flat.retain(|id| distinct_ids.insert(*id));
        flat.sort_by_key(|id| self.costs.cond_cost(*id));
        match flat.as_slice() {
            [] => self.constant_cond(conjunction),
            [one] => *one,
            _ if conjunction => self.add_cond(NormalCond::And(flat.into())),
            _ => self.add_cond(NormalCond::Or(flat.into())),
        }
    }

    /// Builds the complement of the condition `id`: it is true exactly for the messages for which
    /// that condition is not true.
    pub fn build_complement(&mut self, id: CondId) -> CondId {
        match *self.normal.cond(id) {
            NormalCond::Const(value) => self.constant_cond(!value),
            NormalCond::Not(inner) => inner,
            _ => self.add_cond(NormalCond::Not(id)),
        }
    }

    /// Builds the normal form of an expression outside any quantifier.
    pub fn build_value(&mut self, expr: &Expr) -> ExprId {
        self.build_expr(expr)
    }

    /// Builds the condition that two values are the same: equal, or both missing.
    pub fn build_same_value(&mut self, left: ExprId, right: ExprId) -> CondId {
        if left == right {
            return self.constant_cond(true);
        }
        if let (
            NormalExpr::Op(Op::Coalesce, left_operand, Some(a)),
            NormalExpr::Op(Op::Coalesce, right_operand, Some(b)),
        ) = (self.normal.expr(left), self.normal.expr(right))
            && left_operand == right_operand
        {
            // The second operand matters only if the first is missing.
            let (shared_operand, a, b) = (*left_operand, *a, *b);
            let present = self.build_is_present(shared_operand);
            let same_default = self.build_same_value(a, b);
            return self.join_conds([present, same_default], false);
        }
        let equal = self.build_comparison(Op::Eq, left, Some(right), TestMode::default(), true);
        let missing = [left, right]
            .map(|value| self.build_comparison(Op::IsMissing, value, None, TestMode::default(), true));
        let both_missing = self.join_conds(missing, true);
        self.join_conds([equal, both_missing], false)
    }

    /// Builds the condition that a value is present.
    pub fn build_is_present(&mut self, value: ExprId) -> CondId {
        self.build_comparison(Op::IsMissing, value, None, TestMode::default(), false)
    }
}
