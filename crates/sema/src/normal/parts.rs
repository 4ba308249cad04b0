//! Direct children of the nodes of a normal form, for analyses and lowerings that traverse it.

use super::{CondId, ExprId, NormalCond, NormalExpr, NormalForm};

/// A condition, predicate or value of the normal form, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Expr(u32),
    Pred(u32),
    Cond(u32),
}

impl NormalForm {
    /// Calls `visit` with every direct child of a condition, predicate or value. Returns `None` if
    /// the id does not exist.
    pub fn for_each_child(&self, part: Part, visit: &mut dyn FnMut(Part)) -> Option<()> {
        let mut exprs = |ids: &[ExprId]| ids.iter().for_each(|id| visit(Part::Expr(id.0)));
        match part {
            Part::Expr(id) => {
                let expr = self.exprs.get(id as usize)?;
                match expr {
                    NormalExpr::Const(_)
                    | NormalExpr::Slot(_)
                    | NormalExpr::History(_)
                    | NormalExpr::Var(_) => {}
                    NormalExpr::Field(base, _) | NormalExpr::Read(base, _) => exprs(&[*base]),
                    NormalExpr::Index(base, key) => exprs(&[*base, *key]),
                    NormalExpr::List(items) | NormalExpr::Call(_, items) | NormalExpr::Extern(_, items) => {
                        exprs(items)
                    }
                    NormalExpr::Op(_, left, None) => exprs(&[*left]),
                    NormalExpr::Op(_, left, Some(right)) => exprs(&[*left, *right]),
                    NormalExpr::Window(_, list, operand) => exprs(&[*list, *operand]),
                    NormalExpr::Fold { fold, list, body, .. } => {
                        exprs(&[*list]);
                        exprs(fold.summed_expr().as_slice());
                        visit(Part::Cond(body.0));
                    }
                    NormalExpr::Quantifier { list, true_cond: holds, false_cond: fails, .. } => {
                        exprs(&[*list]);
                        visit(Part::Cond(holds.0));
                        visit(Part::Cond(fails.0));
                    }
                    NormalExpr::Cond { true_cond: holds, false_cond: fails, .. } => {
                        visit(Part::Cond(holds.0));
                        visit(Part::Cond(fails.0));
                    }
                    NormalExpr::If { cond, then_value: then, else_value: other, .. } => {
                        exprs(&[*then, *other]);
                        visit(Part::Cond(cond.0));
                    }
                }
            }
            Part::Pred(id) => {
                let pred = self.preds.get(id as usize)?;
                exprs(&[pred.left]);
                exprs(pred.right.as_slice());
            }
            Part::Cond(id) => {
                let cond = self.conds.get(id as usize)?;
                match cond {
                    NormalCond::Const(_) => {}
                    NormalCond::Predicate { pred, .. } => visit(Part::Pred(pred.0)),
                    NormalCond::Not(inner) => visit(Part::Cond(inner.0)),
                    NormalCond::And(parts) | NormalCond::Or(parts) => {
                        parts.iter().for_each(|part: &CondId| visit(Part::Cond(part.0)));
                    }
                    NormalCond::Each { list, body, .. } => {
                        exprs(&[*list]);
                        visit(Part::Cond(body.0));
                    }
                }
            }
        }
        Some(())
    }
}
