//! Builds conjunctions, disjunctions and complements of conditions.

use super::Builder;
use crate::hir::{Cond, Expr, Guarded};
use crate::normal::{CondId, ExprId, NCond, NExpr};
use hashbrown::HashSet;
use rulec_lang::operators::{Op, TestMode};

impl Builder<'_> {
    /// Builds a branch of a choice, which requires at least one usable condition. With `all`, every
    /// usable condition must be true; otherwise one usable condition must be true.
    pub(super) fn branch(&mut self, all: bool, conditions: &[Guarded], want: bool) -> CondId {
        let parts = conditions.iter().map(|Guarded { usable, cond }| {
            let (usable, skipped) = (self.cond(usable, want), self.cond(usable, !want));
            let holds = self.cond(cond, want);
            let part =
                if all { self.join([skipped, holds], !want) } else { self.join([usable, holds], want) };
            (usable, part)
        });
        let (usable, mut parts): (Vec<CondId>, Vec<CondId>) = parts.unzip();
        if all {
            let some = self.join(usable, !want);
            parts.insert(0, some);
        }
        self.join(parts, all == want)
    }

    /// Joins the conditions "the part is definitely `want`" of all parts. They are joined by `and`
    /// if `conjunction`, otherwise by `or`.
    pub(super) fn junction(&mut self, parts: &[Cond], want: bool, conjunction: bool) -> CondId {
        let parts: Vec<CondId> = parts.iter().map(|part| self.cond(part, want)).collect();
        self.join(parts, conjunction)
    }

    /// Joins conditions: by `and` if `conjunction`, otherwise by `or`.
    pub fn join(&mut self, parts: impl IntoIterator<Item = CondId>, conjunction: bool) -> CondId {
        let mut flat: Vec<CondId> = Vec::new();
        for id in parts {
            match self.normal.cond(id) {
                NCond::Const(value) if *value == conjunction => {}
                NCond::Const(_) => return id,
                NCond::And(inner) if conjunction => flat.extend(inner.iter()),
                NCond::Or(inner) if !conjunction => flat.extend(inner.iter()),
                _ => flat.push(id),
            }
        }
        let mut seen = HashSet::new();
        flat.retain(|id| seen.insert(*id));
        flat.sort_by_key(|id| self.costs.of_cond(*id));
        match flat.as_slice() {
            [] => self.constant_cond(conjunction),
            [one] => *one,
            _ if conjunction => self.add_cond(NCond::And(flat.into())),
            _ => self.add_cond(NCond::Or(flat.into())),
        }
    }

    /// Builds the condition that is true exactly where the condition `id` is not true.
    pub fn complement(&mut self, id: CondId) -> CondId {
        match *self.normal.cond(id) {
            NCond::Const(value) => self.constant_cond(!value),
            NCond::Not(inner) => inner,
            _ => self.add_cond(NCond::Not(id)),
        }
    }

    /// Builds the normal form of an expression outside any quantifier.
    pub fn value(&mut self, expr: &Expr) -> ExprId {
        self.expr(expr)
    }

    /// Builds the condition that two values are the same: equal, or both missing.
    pub fn alike(&mut self, left: ExprId, right: ExprId) -> CondId {
        if left == right {
            return self.constant_cond(true);
        }
        if let (NExpr::Op(Op::Coalesce, one, Some(a)), NExpr::Op(Op::Coalesce, two, Some(b))) =
            (self.normal.expr(left), self.normal.expr(right))
            && one == two
        {
            // The second operand matters only if the first is missing.
            let (first, a, b) = (*one, *a, *b);
            let present = self.present(first);
            let rest = self.alike(a, b);
            return self.join([present, rest], false);
        }
        let equal = self.comparison(Op::Eq, left, Some(right), TestMode::default(), true);
        let missing =
            [left, right].map(|value| self.comparison(Op::IsMissing, value, None, TestMode::default(), true));
        let neither = self.join(missing, true);
        self.join([equal, neither], false)
    }

    /// Builds the condition that a value is present.
    pub fn present(&mut self, value: ExprId) -> CondId {
        self.comparison(Op::IsMissing, value, None, TestMode::default(), false)
    }
}
