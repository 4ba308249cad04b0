//! Estimates how expensive conditions and values are. The normal form puts cheap operands of `and`
//! and `or` first, by these costs.

use super::{CondId, ExprId, NormalCond, NormalExpr, NormalForm, TestKind};
use rulec_lang::operators::Cost;

/// The cost class of each condition and value, indexed by id. Classes range from a comparison of
/// scalars to a call of a host function. The most expensive part of a node determines its class.
#[derive(Default)]
pub(super) struct CostTable {
    expr_costs: Vec<Cost>,
    cond_costs: Vec<Cost>,
}

impl CostTable {
    /// Returns the cost of a condition.
    pub(super) fn cond_cost(&self, id: CondId) -> Cost {
        self.cond_costs[id.index()]
    }

    fn max_expr_cost(&self, ids: impl IntoIterator<Item = ExprId>) -> Cost {
        ids.into_iter().map(|id| self.expr_costs[id.index()]).max().unwrap_or(Cost::Scalar)
    }

    fn max_cond_cost(&self, ids: impl IntoIterator<Item = CondId>) -> Cost {
        ids.into_iter().map(|id| self.cond_costs[id.index()]).max().unwrap_or(Cost::Scalar)
    }

    /// Computes the cost of `expr` and appends it. The id of `expr` must be the next id of a value.
    pub(super) fn add_expr(&mut self, expr: &NormalExpr) {
        let cost = match expr {
            NormalExpr::Const(_) | NormalExpr::Slot(_) | NormalExpr::History(_) | NormalExpr::Var(_) => {
                Cost::Scalar
            }
            NormalExpr::Field(base, _) => self.max_expr_cost([*base]).max(Cost::Lookup),
            NormalExpr::Index(base, index) => self.max_expr_cost([*base, *index]).max(Cost::Lookup),
            NormalExpr::Read(inner, _) => self.max_expr_cost([*inner]),
            NormalExpr::List(items) => self.max_expr_cost(items.iter().copied()),
            NormalExpr::Op(_, left, right) => self.max_expr_cost([Some(*left), *right].into_iter().flatten()),
            NormalExpr::Call(function, args) => {
                self.max_expr_cost(args.iter().copied()).max(function.info().cost)
            }
            NormalExpr::Extern(..) => Cost::Host,
            NormalExpr::Window(_, list, operand) => self.max_expr_cost([*list, *operand]).max(Cost::Lookup),
            NormalExpr::Fold { fold, list, body, .. } => self
                .max_expr_cost([Some(*list), fold.summed_expr()].into_iter().flatten())
                .max(Cost::Loop)
                .max(self.max_cond_cost([*body])),
            NormalExpr::Quantifier { list, true_cond: holds, false_cond: fails, .. } => {
                self.max_expr_cost([*list]).max(Cost::Loop).max(self.max_cond_cost([*holds, *fails]))
            }
            NormalExpr::Cond { true_cond: holds, false_cond: fails, .. } => {
                self.max_cond_cost([*holds, *fails])
            }
            NormalExpr::If { cond, then_value: then, else_value: other, .. } => {
                self.max_expr_cost([*then, *other]).max(self.max_cond_cost([*cond]))
            }
        };
        self.expr_costs.push(cost);
    }

    /// Computes the cost of `cond` and appends it. The id of `cond` must be the next id of a
    /// condition.
    pub(super) fn add_cond(&mut self, cond: &NormalCond, normal: &NormalForm) {
        let cost = match cond {
            NormalCond::Const(_) => Cost::Scalar,
            NormalCond::Predicate { pred, .. } => {
                let pred = normal.pred(*pred);
                let own_cost = match pred.test_kind {
                    TestKind::Truth => Cost::Scalar,
                    TestKind::Op(op) => op.info().cost,
                };
                own_cost.max(self.max_expr_cost([Some(pred.left), pred.right].into_iter().flatten()))
            }
            NormalCond::And(parts) | NormalCond::Or(parts) => self.max_cond_cost(parts.iter().copied()),
            NormalCond::Not(inner) => self.max_cond_cost([*inner]),
            NormalCond::Each { list, body, .. } => {
                self.max_expr_cost([*list]).max(Cost::Loop).max(self.max_cond_cost([*body]))
            }
        };
        self.cond_costs.push(cost);
    }
}
