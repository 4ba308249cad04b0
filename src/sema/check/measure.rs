//! How large and how deep a condition is once every `let` and `def` is put in: evaluators walk it
//! recursively, and definitions that use each other grow quickly.

use super::Measure;
use crate::sema::hir::{self, Cond, CondKind, Expr, ExprKind, Operand, Term};

/// How large a term is with every `let` put in.
pub(super) fn measure(term: &Term, lets: &[Measure]) -> Measure {
    match term {
        Term::Cond(cond) => measure_condition(cond, lets),
        Term::Expr(expr) => {
            let mut whole = Measure::default();
            measure_expr(expr, 1, lets, &mut whole);
            whole
        }
    }
}

/// The same of a condition.
pub(super) fn measure_condition(cond: &Cond, lets: &[Measure]) -> Measure {
    let mut whole = Measure::default();
    measure_cond(cond, 1, lets, &mut whole);
    whole
}

fn add(depth: u32, whole: &mut Measure) {
    whole.nodes = whole.nodes.saturating_add(1);
    whole.depth = whole.depth.max(depth);
}

fn add_let(id: hir::LetId, depth: u32, lets: &[Measure], whole: &mut Measure) {
    let inner = lets.get(id.index()).copied().unwrap_or_default();
    whole.nodes = whole.nodes.saturating_add(inner.nodes);
    whole.depth = whole.depth.max(depth.saturating_add(inner.depth));
}

fn measure_cond(cond: &Cond, depth: u32, lets: &[Measure], whole: &mut Measure) {
    add(depth, whole);
    match &cond.kind {
        CondKind::Const(_) => {}
        CondKind::Let(id) => add_let(*id, depth, lets, whole),
        CondKind::Not(inner) | CondKind::Call(_, inner) => measure_cond(inner, depth + 1, lets, whole),
        CondKind::And(parts) | CondKind::Or(parts) => {
            parts.iter().for_each(|part| measure_cond(part, depth + 1, lets, whole));
        }
        CondKind::Test(test) => {
            measure_expr(&test.left, depth + 1, lets, whole);
            match &test.right {
                Operand::Nothing => {}
                Operand::Value(value) => measure_expr(value, depth + 1, lets, whole),
                Operand::Range { start, end, .. } => {
                    measure_expr(start, depth + 1, lets, whole);
                    measure_expr(end, depth + 1, lets, whole);
                }
            }
        }
        CondKind::Quantifier { list, body, .. } => {
            measure_expr(list, depth + 1, lets, whole);
            measure_cond(body, depth + 1, lets, whole);
        }
        CondKind::Branch { conditions, .. } => conditions.iter().for_each(|condition| {
            measure_cond(&condition.usable, depth + 1, lets, whole);
            measure_cond(&condition.cond, depth + 1, lets, whole);
        }),
    }
}

fn measure_expr(expr: &Expr, depth: u32, lets: &[Measure], whole: &mut Measure) {
    add(depth, whole);
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Var(_) | ExprKind::Param(_) => {}
        ExprKind::Let(id) => add_let(*id, depth, lets, whole),
        ExprKind::Field(inner, _) | ExprKind::Read(inner, _) => measure_expr(inner, depth + 1, lets, whole),
        ExprKind::Index(base, index) => {
            measure_expr(base, depth + 1, lets, whole);
            measure_expr(index, depth + 1, lets, whole);
        }
        ExprKind::Op(_, left, right) => {
            measure_expr(left, depth + 1, lets, whole);
            if let Some(right) = right {
                measure_expr(right, depth + 1, lets, whole);
            }
        }
        ExprKind::List(items) | ExprKind::Call(_, items) | ExprKind::Extern(_, items) => {
            items.iter().for_each(|item| measure_expr(item, depth + 1, lets, whole));
        }
        ExprKind::Count { list, body, .. } => {
            measure_expr(list, depth + 1, lets, whole);
            measure_cond(body, depth + 1, lets, whole);
        }
        ExprKind::Cond(cond) => measure_cond(cond, depth + 1, lets, whole),
    }
}
