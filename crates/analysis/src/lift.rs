//! Converts conditions of the normal form (the simplified program) back to typed conditions, which
//! the reference evaluator can evaluate. The conversion may replace an operand by a slot (a message
//! field). Conditions on the operand's value can then be tested with a message that has only this
//! field.

use rulec_base::span::{FileId, Span};
use rulec_lang::operators::Op;
use rulec_lang::ty::Ty;
use rulec_sema::hir::{Cond, CondKind, Const, Expr, ExprKind, Fold, Operand, Predicate, SlotId, Var, VarId};
use rulec_sema::normal::{
    CondId, ExprId, NormalCond, NormalExpr, NormalFold, NormalForm, NormalPredicate, TestKind,
};
use std::sync::Arc;

/// Empty span for converted nodes, which have no source text.
const NO_SPAN: Span = Span { file: FileId(0), start: 0, end: 0 };

/// Converts conditions of the normal form (the simplified program) back to typed conditions, which
/// the reference evaluator can evaluate. The conversion can replace one operand by a slot.
pub(super) struct NormalToHir<'n> {
    pub normal: &'n NormalForm,
    /// The operand to replace, and the slot that replaces it; `None` to replace nothing.
    pub replacement: Option<(ExprId, SlotId)>,
}

fn cond_without_span(kind: CondKind) -> Cond {
    Cond { kind, span: NO_SPAN }
}

impl NormalToHir<'_> {
    /// Converts a predicate to a typed condition that has the same truth value for every message:
    /// true, false or unknown.
    pub fn lift_pred(&self, pred: &NormalPredicate) -> Cond {
        let op = match pred.test_kind {
            TestKind::Truth => None,
            TestKind::Op(op) => Some(op),
        };
        let right = match pred.right {
            Some(right) => Operand::Value(self.lift_expr(right)),
            None => Operand::Nothing,
        };
        let left = self.lift_expr(pred.left);
        Predicate { mode: pred.mode, ..Predicate::without_modifiers(op, left, right) }.into_cond(NO_SPAN)
    }

    /// Converts a simplified condition to a typed condition that is true for the same messages. For
    /// all other messages, the typed condition may be false or unknown. So callers may only check
    /// whether its result is true.
    pub fn lift_cond(&self, id: CondId) -> Cond {
        let all = |parts: &[CondId]| parts.iter().map(|part| self.lift_cond(*part)).collect();
        match self.normal.cond(id) {
            NormalCond::Const(value) => cond_without_span(CondKind::Const(*value)),
            NormalCond::Predicate { pred, want } => {
                let test = self.lift_pred(self.normal.pred(*pred));
                if *want { test } else { cond_without_span(CondKind::Not(Box::new(test))) }
            }
            NormalCond::And(parts) => cond_without_span(CondKind::And(all(parts))),
            NormalCond::Or(parts) => cond_without_span(CondKind::Or(all(parts))),
            NormalCond::Not(inner) => cond_without_span(CondKind::NotTrue(Box::new(self.lift_cond(*inner)))),
            NormalCond::Each { is_all: all, list, kinds, body, level, .. } => {
                cond_without_span(CondKind::Quantifier {
                    is_all: *all,
                    list: Box::new(self.lift_expr(*list)),
                    var: quantifier_var(*level, *kinds),
                    body: Box::new(self.lift_cond(*body)),
                })
            }
        }
    }

    fn lift_expr(&self, id: ExprId) -> Expr {
        let part = |id: &ExprId| Box::new(self.lift_expr(*id));
        let parts = |ids: &[ExprId]| ids.iter().map(|id| self.lift_expr(*id)).collect();
        let kind = match self.normal.expr(id) {
            _ if self.replacement.is_some_and(|(operand, _)| operand == id) => {
                ExprKind::Slot(self.replacement.map_or(SlotId(0), |(_, slot)| slot))
            }
            NormalExpr::Const(constant) => ExprKind::Const(constant.0.clone()),
            NormalExpr::Slot(slot) | NormalExpr::History(slot) => ExprKind::Slot(*slot),
            NormalExpr::Var(level) => ExprKind::Var(VarId(*level)),
            NormalExpr::Field(base, name) => ExprKind::Field(part(base), name.clone()),
            NormalExpr::Index(base, index) => ExprKind::Index(part(base), part(index)),
            NormalExpr::List(items) => ExprKind::List(parts(items)),
            NormalExpr::Op(op, left, right) => ExprKind::Op(*op, part(left), right.as_ref().map(part)),
            NormalExpr::Read(inner, kinds) => ExprKind::Read(part(inner), *kinds),
            NormalExpr::Call(function, args) => ExprKind::Call(*function, parts(args)),
            NormalExpr::Extern(id, args) => ExprKind::Extern(*id, parts(args)),
            NormalExpr::Window(bound, list, operand) => {
                ExprKind::Window { list: part(list), bound: *bound, operand: part(operand) }
            }
            NormalExpr::Fold { fold, list, kinds, body, level, .. } => ExprKind::Fold {
                fold: match fold {
                    NormalFold::Count => Fold::Count,
                    NormalFold::Sum(value) => Fold::Sum(part(value)),
                    NormalFold::First => Fold::First,
                    NormalFold::Last => Fold::Last,
                },
                list: part(list),
                var: quantifier_var(*level, *kinds),
                body: Box::new(self.lift_cond(*body)),
            },
            NormalExpr::Cond { true_cond: holds, false_cond: fails, .. } => {
                bool_value(self.lift_cond(*holds), self.lift_cond(*fails))
            }
            NormalExpr::Quantifier {
                is_all: all,
                list,
                kinds,
                true_cond: holds,
                false_cond: fails,
                level,
                ..
            } => {
                let quantifier = |all: bool, body: &CondId| {
                    cond_without_span(CondKind::Quantifier {
                        is_all: all,
                        list: part(list),
                        var: quantifier_var(*level, *kinds),
                        body: Box::new(self.lift_cond(*body)),
                    })
                };
                bool_value(quantifier(*all, holds), quantifier(!*all, fails))
            }
            NormalExpr::If { cond, then_value: then, else_value: other, .. } => ExprKind::If {
                cond: Box::new(self.lift_cond(*cond)),
                then_value: part(then),
                else_value: part(other),
            },
        };
        expr_of_kind(kind)
    }
}

/// Builds a bool value: true if `holds` is true, false if `fails` is true, otherwise missing.
fn bool_value(holds: Cond, fails: Cond) -> ExprKind {
    let constant =
        |json: serde_json::Value| Box::new(expr_of_kind(ExprKind::Const(Const::Json(Arc::new(json)))));
    let missing = constant(serde_json::Value::Null);
    let nested_if =
        ExprKind::If { cond: Box::new(fails), then_value: constant(false.into()), else_value: missing };
    ExprKind::If {
        cond: Box::new(holds),
        then_value: constant(true.into()),
        else_value: Box::new(expr_of_kind(nested_if)),
    }
}

fn expr_of_kind(kind: ExprKind) -> Expr {
    Expr { kind, ty: Ty::ANY, may_be_missing: true, span: NO_SPAN }
}

/// Returns the variable of a quantifier. `level` is the number that the simplified condition gives
/// to the quantifier. Nested quantifiers have different levels, so the level serves as the
/// variable's id.
fn quantifier_var(level: u32, kinds: rulec_lang::ty::KindSet) -> Var {
    Var { id: VarId(level), name: "x".into(), element_kinds: kinds }
}

/// Returns the operator of a predicate; `None` if the predicate is a bool value without an
/// operator.
pub(super) fn predicate_op(pred: &NormalPredicate) -> Option<Op> {
    match pred.test_kind {
        TestKind::Truth => None,
        TestKind::Op(op) => Some(op),
    }
}
