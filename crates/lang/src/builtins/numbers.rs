//! Implements the built-in functions on numbers: absolute value, minimum and maximum, rounding,
//! conversion to a decimal.

use crate::arena::Arena;
use crate::ty::KindSet;
use crate::value::{Value, compare};
use rulec_base::decimal::{Decimal, MAX_DIGITS};
use std::cmp::Ordering;

pub(super) fn abs<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    match args {
        [Value::Int(int)] => int.checked_abs().map_or(Value::Missing, Value::Int),
        [wide @ Value::Wide(_)] => *wide,
        [Value::Float(float)] => Value::Float(float.abs()),
        [Value::Decimal(decimal)] => Value::Decimal(decimal.abs()),
        _ => Value::Missing,
    }
}

pub(super) fn min_or_max<'a>(args: &[Value<'a>], better_order: Ordering) -> Value<'a> {
    let has_decimals = args.iter().any(|arg| matches!(arg, Value::Decimal(_)));
    let mut extreme = match args.first() {
        Some(first @ (Value::Int(_) | Value::Wide(_) | Value::Float(_) | Value::Decimal(_))) => *first,
        _ => return Value::Missing,
    };
    for &arg in &args[1..] {
        match compare(arg, extreme) {
            Some(order) if order == better_order => extreme = arg,
            Some(_) => {}
            None => return Value::Missing,
        }
    }
    // If an argument is a decimal, an int result becomes a decimal too.
    if has_decimals { extreme.read_as(KindSet::DECIMAL) } else { extreme }
}

/// Rounds a number to an int: a float by `round_float`, a decimal by `round_decimal`. An int is
/// returned unchanged. Missing for other values, and for a result that is out of range.
pub(super) fn round_with<'a>(
    args: &[Value<'a>],
    round_float: fn(f64) -> f64,
    round_decimal: fn(Decimal) -> Decimal,
) -> Value<'a> {
    match args {
        [int @ (Value::Int(_) | Value::Wide(_))] => *int,
        [Value::Float(float)] => Value::from_whole_float(round_float(*float)),
        [Value::Decimal(decimal)] => {
            round_decimal(*decimal).to_integer().map_or(Value::Missing, Value::from_integer)
        }
        _ => Value::Missing,
    }
}

/// Rounds a number to an int. With a second argument, converts the number to a decimal, and rounds
/// it to that number of digits after the decimal point.
pub(super) fn round<'a>(args: &[Value<'a>]) -> Value<'a> {
    match args {
        [number, Value::Int(places)] => {
            let places = u32::try_from(*places).ok().filter(|places| *places <= MAX_DIGITS as u32);
            let exact = number.read_as(KindSet::DECIMAL).to_decimal();
            let rounded = exact.zip(places).and_then(|(decimal, places)| decimal.round(places));
            rounded.map_or(Value::Missing, Value::Decimal)
        }
        _ => round_with(args, f64::round, |decimal| decimal.round(0).unwrap_or(decimal)),
    }
}

pub(super) fn to_decimal_value<'a>(args: &[Value<'a>]) -> Value<'a> {
    match args {
        [value] => value.to_decimal().map_or(Value::Missing, Value::Decimal),
        _ => Value::Missing,
    }
}
