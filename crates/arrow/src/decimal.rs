//! Decimal numbers of columns.

use crate::cell::{CellValue, float_cell};
use rulec_base::decimal::{Decimal, MAX_DIGITS};
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use rulec_sema::hir::{Expr, ExprKind, Program, Term};
use serde_json::Value as Json;

/// Converts a decimal number: to an integer if its scale is not positive, otherwise to the nearest
/// float.
pub(crate) fn decimal_cell(value: i128, scale: i8) -> CellValue<'static> {
    if scale <= 0 {
        let value =
            10_i128.checked_pow(scale.unsigned_abs().into()).and_then(|factor| value.checked_mul(factor));
        return match value.map(|value| (i64::try_from(value), u64::try_from(value), value)) {
            Some((Ok(value), ..)) => CellValue::Int(value),
            Some((_, Ok(value), _)) => CellValue::Wide(value),
            Some((.., value)) => float_cell(value as f64),
            None => CellValue::Null,
        };
    }
    // If both operands are exact as floats, the quotient is rounded only once.
    const MAX_EXACT_INT: u128 = 1 << f64::MANTISSA_DIGITS;
    const MAX_EXACT_POWER: u8 = 22;
    if value.unsigned_abs() < MAX_EXACT_INT && scale.unsigned_abs() <= MAX_EXACT_POWER {
        return CellValue::Float(value as f64 / 10_f64.powi(scale.into()));
    }
    format!("{value}e-{scale}").parse().map_or(CellValue::Null, float_cell)
}

/// Converts a decimal number as [`decimal_cell`] does, but loses no digits: a number without a
/// fraction is an integer, and a number that a float does not keep is its digits.
pub(crate) fn exact_cell(value: i128, scale: i8) -> CellValue<'static> {
    let CellValue::Float(float) = decimal_cell(value, scale) else { return decimal_cell(value, scale) };
    let decimal = Decimal::from_parts(value, scale.into());
    match decimal.and_then(Decimal::to_integer).map(Value::from_integer) {
        Some(Value::Int(int)) => CellValue::Int(int),
        Some(Value::Wide(int)) => CellValue::Wide(int),
        _ if decimal == Decimal::from_float(float) => CellValue::Float(float),
        _ => CellValue::Digits(value, scale),
    }
}

/// Returns the text of a decimal number.
pub(crate) fn digits(value: i128, scale: i8) -> String {
    let decimal = Decimal::from_parts(value, scale.into());
    decimal.map_or_else(|| format!("{value}e{}", -i16::from(scale)), |decimal| decimal.to_string())
}

/// Returns a decimal argument as an integer: the number times 10^`scale`. `None` if the number has
/// more digits after its point.
pub(crate) fn scaled(argument: &Json, scale: u8) -> Option<i128> {
    let decimal = Value::from_json(argument).to_decimal()?;
    let zeros = u32::from(scale).checked_sub(decimal.scale())?;
    decimal.mantissa().checked_mul(10_i128.checked_pow(zeros)?)
}

/// Returns the greatest number of digits that a decimal argument can have after its point. `None`
/// if the rules do not say it, or if a column of 38 digits cannot hold all such decimals.
pub(crate) fn argument_scale(program: &Program, argument: &Expr) -> Option<u8> {
    let max_scale = usize::from(arrow_schema::DECIMAL128_MAX_PRECISION) - MAX_DIGITS;
    let scale = scale_of(program, argument)?;
    u8::try_from(scale).ok().filter(|scale| usize::from(*scale) <= max_scale)
}

fn scale_of(program: &Program, expr: &Expr) -> Option<u32> {
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
            Some(scale_of(program, left)?.max(scale_of(program, right)?))
        }
        ExprKind::Op(Op::Mul, left, Some(right)) => {
            scale_of(program, left)?.checked_add(scale_of(program, right)?)
        }
        ExprKind::If { then, other, .. } => Some(scale_of(program, then)?.max(scale_of(program, other)?)),
        ExprKind::Let(id) => match program.let_body(*id) {
            Term::Expr(body) => scale_of(program, body),
            Term::Cond(_) => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_the_number_that_its_text_is() {
        let check = |value: i128, scale: i8, expected: &str| {
            let found = serde_json::to_string(&decimal_cell(value, scale)).expect("a number");
            assert_eq!(found, expected, "{value} {scale}");
        };
        check(1250, 2, "12.5");
        check(-7, 0, "-7");
        check(7, -2, "700");
        check(i128::from(i64::MAX) + 1, 0, "9223372036854775808");
        check(i128::from(u64::MAX) + 1, 0, "1.8446744073709552e+19");
        // A quotient of two rounded floats would be rounded twice.
        check(123_456_789_012_345_678_901, 5, "1234567890123456.8");
        check(1, 30, "1e-30");
    }
}
