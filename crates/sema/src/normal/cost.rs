//! Estimates how expensive conditions and values are. The normal form puts cheap operands of `and`
//! and `or` first, by these costs.

use super::{CondId, ExprId, NCond, NExpr, Normal, TestKind};
use rulec_lang::operators::Cost;

/// The cost class of each condition and value, indexed by id. Classes range from a comparison of
/// scalars to a call of a host function. The most expensive part of a node determines its class.
#[derive(Default)]
pub(super) struct CostTable {
    exprs: Vec<Cost>,
    conds: Vec<Cost>,
}

impl CostTable {
    /// Returns the cost of a condition.
    pub(super) fn cond_cost(&self, id: CondId) -> Cost {
        self.conds[id.index()]
    }

    fn max_expr_cost(&self, ids: impl IntoIterator<Item = ExprId>) -> Cost {
        ids.into_iter().map(|id| self.exprs[id.index()]).max().unwrap_or(Cost::Scalar)
    }

    fn max_cond_cost(&self, ids: impl IntoIterator<Item = CondId>) -> Cost {
        ids.into_iter().map(|id| self.conds[id.index()]).max().unwrap_or(Cost::Scalar)
    }

    /// Computes the cost of `expr` and appends it. The id of `expr` must be the next id of a value.
    pub(super) fn add_expr(&mut self, expr: &NExpr) {
        let cost = match expr {
            NExpr::Const(_) | NExpr::Slot(_) | NExpr::History(_) | NExpr::Var(_) => Cost::Scalar,
            NExpr::Field(base, _) => self.max_expr_cost([*base]).max(Cost::Lookup),
            NExpr::Index(base, index) => self.max_expr_cost([*base, *index]).max(Cost::Lookup),
            NExpr::Read(inner, _) => self.max_expr_cost([*inner]),
            NExpr::List(items) => self.max_expr_cost(items.iter().copied()),
            NExpr::Op(_, left, right) => self.max_expr_cost([Some(*left), *right].into_iter().flatten()),
            NExpr::Call(function, args) => self.max_expr_cost(args.iter().copied()).max(function.info().cost),
            NExpr::Extern(..) => Cost::Host,
            NExpr::Window(_, list, operand) => self.max_expr_cost([*list, *operand]).max(Cost::Lookup),
            NExpr::Fold { fold, list, body, .. } => self
                .max_expr_cost([Some(*list), fold.summed()].into_iter().flatten())
                .max(Cost::Loop)
                .max(self.max_cond_cost([*body])),
            NExpr::Quantifier { list, holds, fails, .. } => {
                self.max_expr_cost([*list]).max(Cost::Loop).max(self.max_cond_cost([*holds, *fails]))
            }
            NExpr::Cond { holds, fails, .. } => self.max_cond_cost([*holds, *fails]),
            NExpr::If { cond, then, other, .. } => {
                self.max_expr_cost([*then, *other]).max(self.max_cond_cost([*cond]))
            }
        };
        self.exprs.push(cost);
    }

    /// Computes the cost of `cond` and appends it. The id of `cond` must be the next id of a
    /// condition.
    pub(super) fn add_cond(&mut self, cond: &NCond, normal: &Normal) {
        let cost = match cond {
            NCond::Const(_) => Cost::Scalar,
            NCond::Predicate { pred, .. } => {
                let pred = normal.pred(*pred);
                let own_cost = match pred.ask {
                    TestKind::Truth => Cost::Scalar,
                    TestKind::Op(op) => op.info().cost,
                };
                own_cost.max(self.max_expr_cost([Some(pred.left), pred.right].into_iter().flatten()))
            }
            NCond::And(parts) | NCond::Or(parts) => self.max_cond_cost(parts.iter().copied()),
            NCond::Not(inner) => self.max_cond_cost([*inner]),
            NCond::Each { list, body, .. } => {
                self.max_expr_cost([*list]).max(Cost::Loop).max(self.max_cond_cost([*body]))
            }
        };
        self.conds.push(cost);
    }
}
