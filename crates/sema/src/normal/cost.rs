//! Costs of conditions and values, by which operands are ordered.

use super::{Ask, CondId, ExprId, NCond, NExpr, Normal};
use rulec_lang::operators::Cost;

/// The cost of each condition and value so far, indexed by id. The cost of a node is the highest
/// cost of its parts.
#[derive(Default)]
pub(super) struct Costs {
    exprs: Vec<Cost>,
    conds: Vec<Cost>,
}

impl Costs {
    /// Returns the cost of a condition.
    pub(super) fn of_cond(&self, id: CondId) -> Cost {
        self.conds[id.index()]
    }

    fn of_exprs(&self, ids: impl IntoIterator<Item = ExprId>) -> Cost {
        ids.into_iter().map(|id| self.exprs[id.index()]).max().unwrap_or(Cost::Scalar)
    }

    fn of_conds(&self, ids: impl IntoIterator<Item = CondId>) -> Cost {
        ids.into_iter().map(|id| self.conds[id.index()]).max().unwrap_or(Cost::Scalar)
    }

    /// Records the cost of the value with the next id.
    pub(super) fn add_expr(&mut self, expr: &NExpr) {
        let cost = match expr {
            NExpr::Const(_) | NExpr::Slot(_) | NExpr::Var(_) => Cost::Scalar,
            NExpr::Field(base, _) => self.of_exprs([*base]).max(Cost::Lookup),
            NExpr::Index(base, index) => self.of_exprs([*base, *index]).max(Cost::Lookup),
            NExpr::Read(inner, _) => self.of_exprs([*inner]),
            NExpr::List(items) => self.of_exprs(items.iter().copied()),
            NExpr::Op(_, left, right) => self.of_exprs([Some(*left), *right].into_iter().flatten()),
            NExpr::Call(function, args) => self.of_exprs(args.iter().copied()).max(function.info().cost),
            NExpr::Extern(..) => Cost::Host,
            NExpr::Count { list, body, .. } => {
                self.of_exprs([*list]).max(Cost::Loop).max(self.of_conds([*body]))
            }
            NExpr::Quantifier { list, holds, fails, .. } => {
                self.of_exprs([*list]).max(Cost::Loop).max(self.of_conds([*holds, *fails]))
            }
            NExpr::Cond { holds, fails, .. } => self.of_conds([*holds, *fails]),
            NExpr::If { cond, then, other, .. } => self.of_exprs([*then, *other]).max(self.of_conds([*cond])),
        };
        self.exprs.push(cost);
    }

    /// Records the cost of the condition with the next id.
    pub(super) fn add_cond(&mut self, cond: &NCond, normal: &Normal) {
        let cost = match cond {
            NCond::Const(_) => Cost::Scalar,
            NCond::Test { pred, .. } => {
                let pred = normal.pred(*pred);
                let own = match pred.ask {
                    Ask::Truth => Cost::Scalar,
                    Ask::Op(op) => op.info().cost,
                };
                own.max(self.of_exprs([Some(pred.left), pred.right].into_iter().flatten()))
            }
            NCond::And(parts) | NCond::Or(parts) => self.of_conds(parts.iter().copied()),
            NCond::Not(inner) => self.of_conds([*inner]),
            NCond::Each { list, body, .. } => {
                self.of_exprs([*list]).max(Cost::Loop).max(self.of_conds([*body]))
            }
        };
        self.conds.push(cost);
    }
}
