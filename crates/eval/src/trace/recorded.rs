//! Finds the recorded messages of a history from which an operand was computed, so that an
//! explanation can name them.

use super::Operand;
use super::record::{FoldMessages, TracedEvaluator};
use rulec_sema::hir::{CondKind, Expr, ExprKind, Fold, Part};

/// Maximum number of recorded messages that an operand lists.
const MAX_RECORDED: usize = 1000;

impl<'a> TracedEvaluator<'a, '_> {
    /// Adds to an operand the positions of the recorded messages from which its value was computed.
    /// `expr` is the operand's expression.
    pub(super) fn add_recorded_messages(&mut self, expr: &'a Expr, operand: &mut Operand) {
        if self.program().history_slot().is_some() {
            self.collect_recorded(Part::Expr(expr), &mut operand.recorded);
            operand.recorded.sort_unstable();
            operand.recorded.dedup();
            operand.recorded.truncate(MAX_RECORDED);
        }
    }

    fn collect_recorded(&mut self, part: Part<'a>, positions: &mut Vec<usize>) {
        let (expr, fold, var) = match part {
            Part::Let(id) => return self.collect_recorded(self.program().let_body(id).part(), positions),
            Part::Expr(expr @ Expr { kind: ExprKind::Fold { fold, var, .. }, .. }) => (expr, fold, var),
            // The variable of a quantifier has no value outside of the quantifier.
            Part::Cond(cond) if matches!(cond.kind, CondKind::Quantifier { .. }) => return,
            part => return part.parts().into_iter().for_each(|part| self.collect_recorded(part, positions)),
        };
        self.observer.fold_messages = Some(FoldMessages { var: var.id, positions: Vec::new() });
        self.eval_unrecorded(expr);
        let found = self.observer.fold_messages.take().map_or_else(Vec::new, |found| found.positions);
        match fold {
            Fold::First => positions.extend(found.first()),
            Fold::Last => positions.extend(found.last()),
            Fold::Count | Fold::Sum(_) => positions.extend(found),
        }
    }
}
