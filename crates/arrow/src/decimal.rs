//! Converts decimal numbers of Arrow columns, which are stored as an integer and a scale. The scale
//! is the number of digits after the point.

use rulec_base::decimal::Decimal;
use rulec_lang::value::Value;

/// Converts the decimal number `value` / 10^`scale`: to an integer if `scale` is not positive,
/// otherwise to the nearest float. Returns [`Value::Missing`] if the number is too large.
pub(crate) fn nearest_number(value: i128, scale: i8) -> Value<'static> {
    let finite = |float: f64| if float.is_finite() { Value::Float(float) } else { Value::Missing };
    if scale <= 0 {
        let factor = 10_i128.checked_pow(scale.unsigned_abs().into());
        let Some(value) = factor.and_then(|factor| value.checked_mul(factor)) else { return Value::Missing };
        let int = Value::from_integer(value);
        return if int.is_missing() { finite(value as f64) } else { int };
    }
    // Up to this value, both operands are exact as floats, so the quotient is rounded only once.
    const MAX_EXACT_INT: u128 = 1 << f64::MANTISSA_DIGITS;
    const MAX_EXACT_POWER: u8 = 22;
    if value.unsigned_abs() < MAX_EXACT_INT && scale.unsigned_abs() <= MAX_EXACT_POWER {
        return Value::Float(value as f64 / 10_f64.powi(scale.into()));
    }
    format!("{value}e-{scale}").parse().map_or(Value::Missing, finite)
}

/// Converts the decimal number `value` / 10^`scale` to an integer if it has no fraction, otherwise
/// to a float. `None` if the float loses digits.
pub(crate) fn exact_number(value: i128, scale: i8) -> Option<Value<'static>> {
    let Value::Float(float) = nearest_number(value, scale) else { return Some(nearest_number(value, scale)) };
    let decimal = Decimal::from_parts(value, scale.into());
    match decimal.and_then(Decimal::to_integer).map(Value::from_integer) {
        Some(int @ (Value::Int(_) | Value::Wide(_))) => Some(int),
        _ => (decimal == Decimal::from_float(float)).then_some(Value::Float(float)),
    }
}

/// Returns the text of the decimal number `value` / 10^`scale`.
pub(crate) fn decimal_text(value: i128, scale: i8) -> String {
    let decimal = Decimal::from_parts(value, scale.into());
    decimal.map_or_else(|| format!("{value}e{}", -i16::from(scale)), |decimal| decimal.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_number_agrees_with_parsing_the_text() {
        let check = |value: i128, scale: i8, expected: &str| {
            let found = nearest_number(value, scale).to_json().to_string();
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
