//! Functions on numbers.

use crate::arena::Arena;
use crate::value::{Value, compare};
use std::cmp::Ordering;

pub(super) fn abs<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    match args {
        [Value::Int(int)] => int.checked_abs().map_or(Value::Missing, Value::Int),
        [wide @ Value::Wide(_)] => *wide,
        [Value::Float(float)] => Value::Float(float.abs()),
        _ => Value::Missing,
    }
}

pub(super) fn min_or_max<'a>(args: &[Value<'a>], better_order: Ordering) -> Value<'a> {
    let mut extreme = match args.first() {
        Some(first @ (Value::Int(_) | Value::Wide(_) | Value::Float(_))) => *first,
        _ => return Value::Missing,
    };
    for &arg in &args[1..] {
        match compare(arg, extreme) {
            Some(order) if order == better_order => extreme = arg,
            Some(_) => {}
            None => return Value::Missing,
        }
    }
    extreme
}

pub(super) fn round_with<'a>(args: &[Value<'a>], f: fn(f64) -> f64) -> Value<'a> {
    match args {
        [int @ (Value::Int(_) | Value::Wide(_))] => *int,
        [Value::Float(float)] => Value::from_whole_float(f(*float)),
        _ => Value::Missing,
    }
}
