//! Direct children of the nodes of a normal form, for analyses and lowerings that traverse it.

use super::{CondId, ExprId, NCond, NExpr, Normal};

/// A node of the normal form, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Expr(u32),
    Pred(u32),
    Cond(u32),
}

impl Normal {
    /// Calls `visit` with every direct child of a node. Returns `None` if the node does not exist.
    pub fn for_each_child(&self, part: Part, visit: &mut dyn FnMut(Part)) -> Option<()> {
        let mut exprs = |ids: &[ExprId]| ids.iter().for_each(|id| visit(Part::Expr(id.0)));
        match part {
            Part::Expr(id) => {
                let expr = self.exprs.get(id as usize)?;
                match expr {
                    NExpr::Const(_) | NExpr::Slot(_) | NExpr::History(_) | NExpr::Var(_) => {}
                    NExpr::Field(base, _) | NExpr::Read(base, _) => exprs(&[*base]),
                    NExpr::Index(base, key) => exprs(&[*base, *key]),
                    NExpr::List(items) | NExpr::Call(_, items) | NExpr::Extern(_, items) => exprs(items),
                    NExpr::Op(_, left, None) => exprs(&[*left]),
                    NExpr::Op(_, left, Some(right)) => exprs(&[*left, *right]),
                    NExpr::Window(_, list, operand) => exprs(&[*list, *operand]),
                    NExpr::Fold { fold, list, body, .. } => {
                        exprs(&[*list]);
                        exprs(fold.summed().as_slice());
                        visit(Part::Cond(body.0));
                    }
                    NExpr::Quantifier { list, holds, fails, .. } => {
                        exprs(&[*list]);
                        visit(Part::Cond(holds.0));
                        visit(Part::Cond(fails.0));
                    }
                    NExpr::Cond { holds, fails, .. } => {
                        visit(Part::Cond(holds.0));
                        visit(Part::Cond(fails.0));
                    }
                    NExpr::If { cond, then, other, .. } => {
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
                    NCond::Const(_) => {}
                    NCond::Predicate { pred, .. } => visit(Part::Pred(pred.0)),
                    NCond::Not(inner) => visit(Part::Cond(inner.0)),
                    NCond::And(parts) | NCond::Or(parts) => {
                        parts.iter().for_each(|part: &CondId| visit(Part::Cond(part.0)));
                    }
                    NCond::Each { list, body, .. } => {
                        exprs(&[*list]);
                        visit(Part::Cond(body.0));
                    }
                }
            }
        }
        Some(())
    }
}
