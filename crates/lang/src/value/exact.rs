//! Decimals and great ints among the values: conversions and comparisons.

use super::{Value, compare_wide_float};
use rulec_base::decimal::Decimal;
use serde_json::Value as Json;
use std::cmp::Ordering;

impl Value<'_> {
    /// Returns the decimal that a number is, or that a text writes. A float is the decimal that its
    /// shortest spelling writes. `None` for other values, or if there are too many digits.
    #[must_use]
    pub fn to_decimal(self) -> Option<Decimal> {
        match self {
            Value::Decimal(decimal) => Some(decimal),
            Value::Int(int) => Decimal::from_integer(int.into()),
            Value::Wide(int) => Decimal::from_integer(int.into()),
            Value::Float(float) => Decimal::from_float(float),
            Value::Str(text) => Decimal::parse(text.trim()),
            _ => None,
        }
    }
}

/// Returns a decimal as a JSON number if readers of JSON keep its digits, otherwise as text. Most
/// readers keep ints of 64 bits and floats.
pub(super) fn decimal_to_json(decimal: Decimal) -> Json {
    match decimal.to_integer().map(Value::from_integer) {
        Some(int @ (Value::Int(_) | Value::Wide(_))) => int.to_json(),
        _ => {
            let float = decimal.to_float();
            match Decimal::from_float(float) == Some(decimal) {
                true => Json::from(float),
                false => Json::from(decimal.to_string()),
            }
        }
    }
}

/// Compares two numbers, of which one is a decimal; `None` if the other is a float or no number.
#[cold]
pub(super) fn compare_decimals(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Float(_) | Value::Str(_), _) | (_, Value::Float(_) | Value::Str(_)) => None,
        _ => Some(left.to_decimal()?.cmp(&right.to_decimal()?)),
    }
}

/// Compares two numbers, of which one is a [`Value::Wide`]; `None` if the other is no number.
#[cold]
pub(super) fn compare_wide(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Wide(a), Value::Wide(b)) => Some(a.cmp(&b)),
        (Value::Wide(_), Value::Int(_)) => Some(Ordering::Greater),
        (Value::Int(_), Value::Wide(_)) => Some(Ordering::Less),
        (Value::Wide(a), Value::Float(b)) => Some(compare_wide_float(a, b)),
        (Value::Float(a), Value::Wide(b)) => Some(compare_wide_float(b, a).reverse()),
        _ => None,
    }
}
