//! Decimal numbers of columns.

use crate::cell::{CellValue, float_cell};
use rulec_base::decimal::Decimal;
use rulec_lang::value::Value;

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
