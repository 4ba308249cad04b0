//! Finds the recorded messages of a history from which an operand was computed, so that an
//! explanation can name them.

use super::private::recorded_position;
use super::record::{FoldMessages, TracedEvaluator};
use super::{Operand, PastMessage, PastTrace};
use rulec_lang::history::{AT_FIELD, POSITION_FIELD};
use rulec_lang::value::{Tri, parse_datetime};
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Fold, Part, Var};
use serde_json::Value as Json;

/// Maximum number of recorded messages that an operand lists.
const MAX_RECORDED_MESSAGES: usize = 1000;

impl<'a> TracedEvaluator<'a, '_> {
    /// Adds to an operand the positions of the recorded messages from which its value was computed.
    /// `expr` is the operand's expression. Adds nothing if the operand is the history that a
    /// quantifier searches: the list `elements` of the trace node shows these messages.
    pub(super) fn add_recorded_messages(&mut self, expr: &'a Expr, operand: &mut Operand) {
        let is_searched = self.observer.frame.is_quantifier() && self.is_history(expr);
        if self.program().history_slot().is_some() && !is_searched {
            self.collect_recorded_positions(Part::Expr(expr), &mut operand.recorded);
            operand.recorded.sort_unstable();
            operand.recorded.dedup();
            operand.recorded.truncate(MAX_RECORDED_MESSAGES);
        }
    }

    fn collect_recorded_positions(&mut self, part: Part<'a>, positions: &mut Vec<usize>) {
        match part {
            Part::Let(id) => {
                self.collect_recorded_positions(self.program().let_body(id).as_part(), positions)
            }
            Part::Expr(expr @ Expr { kind: ExprKind::Fold { fold, var, .. }, .. }) => {
                let found = self.positions_of_messages_with_truth(var, Tri::True, |eval| {
                    eval.eval_unrecorded(expr);
                });
                match fold {
                    Fold::First => positions.extend(found.first()),
                    Fold::Last => positions.extend(found.last()),
                    Fold::Count | Fold::Sum(_) => positions.extend(found),
                }
            }
            // Of the elements of a quantifier, only one decides it.
            Part::Cond(cond @ Cond { kind: CondKind::Quantifier { is_all: all, var, .. }, .. }) => {
                let deciding = if *all { Tri::False } else { Tri::True };
                positions.extend(self.positions_of_messages_with_truth(var, deciding, |eval| {
                    eval.run_unrecorded(|eval| eval.eval_cond(cond));
                }));
            }
            Part::Expr(Expr { kind: ExprKind::If { cond, then_value: then, else_value: other }, .. }) => {
                self.collect_recorded_positions(Part::Cond(cond), positions);
                let holds = self.run_unrecorded(|eval| eval.eval_cond(cond)).holds();
                self.collect_recorded_positions(Part::Expr(if holds { then } else { other }), positions);
            }
            Part::Expr(list) if self.is_history(list) => {
                let elements = self.eval_unrecorded(list).elements();
                positions.extend(elements.into_iter().flatten().filter_map(recorded_position));
            }
            part => {
                part.parts().into_iter().for_each(|part| self.collect_recorded_positions(part, positions))
            }
        }
    }

    /// Runs `evaluate`, and returns the positions of the recorded messages for which the condition
    /// on the variable `var` had the result `truth` during this run.
    fn positions_of_messages_with_truth(
        &mut self,
        var: &Var,
        truth: Tri,
        evaluate: impl FnOnce(&mut Self),
    ) -> Vec<usize> {
        self.observer.fold_messages =
            Some(FoldMessages { var: var.id, required_truth: truth, message_positions: Vec::new() });
        evaluate(self);
        self.observer.fold_messages.take().map_or_else(Vec::new, |found| found.message_positions)
    }

    /// Returns the data about the messages that decided a condition: `recorded` has their positions
    /// in the history. `searched` is the number of messages that a quantifier searched. `None` if
    /// the history is empty.
    pub(super) fn build_past_trace(&self, searched: Option<usize>, recorded: &[usize]) -> Option<PastTrace> {
        let elements = self.history_view().elements;
        let first =
            elements.first()?.get(POSITION_FIELD)?.as_u64().and_then(|first| usize::try_from(first).ok())?;
        let newest = recorded.iter().max().and_then(|position| {
            let at = elements.get(position.checked_sub(first)?)?.get(AT_FIELD)?.as_str()?;
            let now = self.message().get("now").and_then(Json::as_str).and_then(parse_datetime);
            let age = now.zip(parse_datetime(at)).map(|(now, at)| (now - at).whole_seconds());
            Some(PastMessage { at: at.to_owned(), age })
        });
        Some(PastTrace { searched, count: recorded.len(), newest })
    }

    /// True for the history (the list of earlier messages), and for a part of it such as `history
    /// within 1h`.
    pub(super) fn is_history(&self, list: &Expr) -> bool {
        match &list.kind {
            ExprKind::Slot(id) => self.program().history_slot() == Some(*id),
            ExprKind::Window { list, .. } | ExprKind::Read(list, _) => self.is_history(list),
            _ => false,
        }
    }
}
