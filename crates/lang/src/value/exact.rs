//! Converts and compares decimals, and ints beyond `i64::MAX`. Both are compared exactly, not as
//! floats.

use super::{Value, compare_wide_float};
use rulec_base::decimal::Decimal;
use serde_json::Value as Json;
use std::cmp::Ordering;

impl Value<'_> {
    /// Converts a number, or a text that contains a number, to a decimal. A float is converted by
    /// its shortest decimal notation. `None` for other values, or if there are too many digits.
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

/// Converts a decimal to a JSON number if common JSON readers keep its digits, otherwise to a text.
/// Most readers keep 64-bit ints and floats.
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

/// Compares two numbers, of which one is a decimal; `None` if the other one is not an int or
/// decimal.
#[cold]
pub(super) fn compare_decimals(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Float(_) | Value::Str(_), _) | (_, Value::Float(_) | Value::Str(_)) => None,
        _ => Some(left.to_decimal()?.cmp(&right.to_decimal()?)),
    }
}

/// Compares two numbers, of which one is a [`Value::Wide`] (an int beyond `i64::MAX`); `None` if
/// the other one is not an int or float.
#[cold]
pub(super) fn compare_wide_ints(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Wide(a), Value::Wide(b)) => Some(a.cmp(&b)),
        (Value::Wide(_), Value::Int(_)) => Some(Ordering::Greater),
        (Value::Int(_), Value::Wide(_)) => Some(Ordering::Less),
        (Value::Wide(a), Value::Float(b)) => Some(compare_wide_float(a, b)),
        (Value::Float(a), Value::Wide(b)) => Some(compare_wide_float(b, a).reverse()),
        _ => None,
    }
}
