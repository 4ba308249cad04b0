//! The scale of answer columns with decimal arguments: the number of digits after the point. Arrow
//! needs one scale for the whole column.

use rulec_base::decimal::{Decimal, MAX_DIGITS};
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_sema::hir::{Expr, ExprKind, Program, Term};
use serde_json::Value as Json;

/// Converts a decimal argument to an integer: the number times 10^`scale`. `None` if the argument
/// is no number, has more than `scale` digits after its point, or is too large.
pub(crate) fn scaled_integer(argument: &Json, scale: u8) -> Option<i128> {
    let decimal = Value::from_json(argument).to_decimal()?;
    let zeros = u32::from(scale).checked_sub(decimal.scale())?;
    decimal.mantissa().checked_mul(10_i128.checked_pow(zeros)?)
}

/// Returns the greatest number of digits that a decimal argument can have after its point. `None`
/// if there is no limit, or if such a decimal may need more than the 38 digits of an Arrow decimal.
pub(crate) fn argument_scale(program: &Program, argument: &Expr) -> Option<u8> {
    let max_scale = usize::from(arrow_schema::DECIMAL128_MAX_PRECISION) - MAX_DIGITS;
    let scale = decimal_scale_of(program, argument)?;
    u8::try_from(scale).ok().filter(|scale| usize::from(*scale) <= max_scale)
}

fn decimal_scale_of(program: &Program, expr: &Expr) -> Option<u32> {
    match &expr.kind {
        _ if expr.ty.kinds == KindSet::INT => Some(0),
        ExprKind::Const(constant) => constant.value().to_decimal().map(Decimal::scale),
        ExprKind::Call(Function::Decimal, args) => {
            args.first()?.as_const()?.value().to_decimal().map(Decimal::scale)
        }
        ExprKind::Call(Function::Round, args) => match args.get(1)?.as_const()?.value() {
            Value::Int(places) => u32::try_from(places).ok(),
            _ => None,
        },
        ExprKind::Op(Op::Add | Op::Sub | Op::Coalesce, left, Some(right)) => {
            Some(decimal_scale_of(program, left)?.max(decimal_scale_of(program, right)?))
        }
        ExprKind::Op(Op::Mul, left, Some(right)) => {
            decimal_scale_of(program, left)?.checked_add(decimal_scale_of(program, right)?)
        }
        ExprKind::If { then_value: then, else_value: other, .. } => {
            Some(decimal_scale_of(program, then)?.max(decimal_scale_of(program, other)?))
        }
        ExprKind::Let(id) => match program.let_body(*id) {
            Term::Expr(body) => decimal_scale_of(program, body),
            Term::Cond(_) => None,
        },
        _ => None,
    }
}
