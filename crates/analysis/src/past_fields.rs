//! Examines conditions on earlier messages: finds which field an expression reads, and which
//! constant a condition requires it to equal.

use rulec_lang::operators::Op;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Operand, VarId};
use serde_json::Value as Json;
use std::sync::Arc;

/// Returns the expression inside typed reads: `x` for `x as number`.
pub(super) fn without_typed_reads(mut value: &Expr) -> &Expr {
    while let ExprKind::Read(inner, _) = &value.kind {
        value = inner;
    }
    value
}

/// Splits an equality test with a constant into the tested expression and the constant. `None` for
/// other conditions.
pub(super) fn split_equality_test(cond: &Cond) -> Option<(&Expr, Json)> {
    let CondKind::Predicate(test) = &cond.kind else { return None };
    let Operand::Value(right) = &test.right else { return None };
    let is_equality = test.op == Some(Op::Eq) && !test.is_negated;
    let constant = right.as_const().filter(|_| is_equality)?;
    Some((&test.left, constant.value().to_json()))
}

/// Appends the path of the field that `value` reads of `element`, a quantifier variable, to `path`.
/// Returns false for an expression that reads no such field.
pub(super) fn append_field_path(value: &Expr, element: VarId, path: &mut Vec<Arc<str>>) -> bool {
    match &value.kind {
        ExprKind::Var(id) => *id == element,
        ExprKind::Read(inner, _) => append_field_path(inner, element, path),
        ExprKind::Field(base, name) => {
            let is_field = append_field_path(base, element, path);
            path.push(name.clone());
            is_field
        }
        // The replacement for a missing value does not change which field is read.
        ExprKind::Op(Op::Coalesce, left, _) => append_field_path(left, element, path),
        _ => false,
    }
}
