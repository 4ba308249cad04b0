//! The function behind each operator of [`crate::ops::TABLE`]: the plainest that is right. The
//! reference evaluator calls nothing else; the VM calls these wherever it has no faster code of its
//! own, and is held against them by the differential test.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use crate::modifiers::{Quantity, TestMode};
use crate::text;
use crate::ty::KindSet;
use crate::value::{self, Tri, Value};
use time::{Duration, OffsetDateTime};

/// Applies a predicate under its modifiers: over the right operand's elements for `any`, `all` and
/// `none`, else to the operand itself.
pub fn test<'a>(
    predicate: fn(Value<'_>, Value<'_>, TestMode) -> Tri,
    left: Value<'a>,
    right: Value<'a>,
    mode: TestMode,
) -> Tri {
    let Some(quantity) = mode.quantity else { return predicate(left, right, mode) };
    if left.is_missing() {
        return Tri::Unknown;
    }
    let Some(elements) = right.elements() else { return Tri::Unknown };
    let results = elements.map(|element| predicate(left, element, mode));
    match quantity {
        Quantity::Any => Tri::any(results),
        Quantity::All => Tri::all(results),
        Quantity::None => Tri::any(results).not(),
    }
}

fn both_texts(left: Value<'_>, right: Value<'_>, mode: TestMode, holds: impl Fn(&str, &str) -> bool) -> Tri {
    match (left, right) {
        (Value::Str(text), Value::Str(keyword)) if mode.text.is_plain() => holds(text, keyword).into(),
        (Value::Str(text), Value::Str(keyword)) => {
            holds(&mode.text.prepare(text), &mode.text.prepare(keyword)).into()
        }
        _ => Tri::Unknown,
    }
}

/// Two-valued equality that prepares texts as the mode says.
fn identical(left: Value<'_>, right: Value<'_>, mode: TestMode) -> bool {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) if !mode.text.is_plain() => {
            mode.text.prepare(a) == mode.text.prepare(b)
        }
        _ => value::identical(left, right),
    }
}

pub fn equal(left: Value<'_>, right: Value<'_>, mode: TestMode) -> Tri {
    match value::equal(left, right) {
        Tri::Unknown => Tri::Unknown,
        _ => identical(left, right, mode).into(),
    }
}

pub fn not_equal(left: Value<'_>, right: Value<'_>, mode: TestMode) -> Tri {
    equal(left, right, mode).not()
}

macro_rules! orders {
    ($($name:ident $holds:ident;)*) => {$(
        pub fn $name(left: Value<'_>, right: Value<'_>, _: TestMode) -> Tri {
            value::compare(left, right).map_or(Tri::Unknown, |order| order.$holds().into())
        }
    )*};
}
orders! {
    less is_lt;
    less_equal is_le;
    greater is_gt;
    greater_equal is_ge;
}

/// `in` over a list; ranges are two comparisons.
pub fn is_in(left: Value<'_>, right: Value<'_>, mode: TestMode) -> Tri {
    if left.is_missing() {
        return Tri::Unknown;
    }
    match right.elements() {
        Some(mut elements) => elements.any(|element| identical(left, element, mode)).into(),
        None => Tri::Unknown,
    }
}

/// `contains`: of a text, or of a list.
pub fn contains(left: Value<'_>, right: Value<'_>, mode: TestMode) -> Tri {
    match left.elements() {
        Some(_) if right.is_missing() => Tri::Unknown,
        Some(mut elements) => elements.any(|element| identical(element, right, mode)).into(),
        None => both_texts(left, right, mode, |text, keyword| {
            if mode.word { text::contains_word(text, keyword) } else { text.contains(keyword) }
        }),
    }
}

pub fn starts_with(left: Value<'_>, right: Value<'_>, mode: TestMode) -> Tri {
    both_texts(left, right, mode, |text, keyword| {
        if mode.word { text::starts_with_word(text, keyword) } else { text.starts_with(keyword) }
    })
}

pub fn ends_with(left: Value<'_>, right: Value<'_>, mode: TestMode) -> Tri {
    both_texts(left, right, mode, |text, keyword| {
        if mode.word { text::ends_with_word(text, keyword) } else { text.ends_with(keyword) }
    })
}

pub fn like(left: Value<'_>, right: Value<'_>, mode: TestMode) -> Tri {
    match (left, right) {
        // The pattern's own characters are told apart from its wildcards before either is prepared.
        (Value::Str(text), Value::Str(pattern)) => {
            text::Glob::with_mode(pattern, mode.text).matches(&mode.text.prepare(text)).into()
        }
        _ => Tri::Unknown,
    }
}

/// `matches`. The expression comes from a cache or is compiled: for the reference, and for those
/// that the message brings.
pub fn matches(left: Value<'_>, right: Value<'_>, mode: TestMode) -> Tri {
    match (left, right) {
        (Value::Str(text), Value::Str(pattern)) => text::pattern::cached(pattern, mode.text.fold)
            .map_or(Tri::Unknown, |regex| regex.is_match(text).into()),
        _ => Tri::Unknown,
    }
}

pub fn has_key(left: Value<'_>, right: Value<'_>, _: TestMode) -> Tri {
    right.as_str().and_then(|key| left.has_key(key)).map_or(Tri::Unknown, Tri::from)
}

pub fn is_missing(left: Value<'_>, _: Value<'_>, _: TestMode) -> Tri {
    left.is_missing().into()
}

pub fn is_present(left: Value<'_>, _: Value<'_>, _: TestMode) -> Tri {
    (!left.is_missing()).into()
}

/// `??`
pub fn coalesce<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    if left.is_missing() { right } else { left }
}

/// A float, unless it is infinite or not a number.
pub fn finite<'a>(float: f64) -> Value<'a> {
    if float.is_finite() { Value::Float(float) } else { Value::Missing }
}

fn float(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(int) => Some(int as f64),
        Value::Float(float) => Some(float),
        _ => None,
    }
}

fn arithmetic<'a>(
    left: Value<'a>,
    right: Value<'a>,
    ints: fn(i64, i64) -> Option<i64>,
    floats: fn(f64, f64) -> f64,
) -> Value<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => ints(a, b).map_or(Value::Missing, Value::Int),
        _ => match (float(left), float(right)) {
            (Some(a), Some(b)) => finite(floats(a, b)),
            _ => Value::Missing,
        },
    }
}

fn shifted<'a>(at: OffsetDateTime, seconds: Option<f64>, sign: f64) -> Value<'a> {
    seconds
        .and_then(|seconds| Duration::checked_seconds_f64(seconds * sign))
        .and_then(|duration| at.checked_add(duration))
        .map_or(Value::Missing, Value::DateTime)
}

pub fn add<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    match (left, right) {
        (Value::DateTime(at), seconds) | (seconds, Value::DateTime(at)) => shifted(at, float(seconds), 1.0),
        _ => arithmetic(left, right, i64::checked_add, |a, b| a + b),
    }
}

/// `-` between two operands
pub fn sub<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    match (left, right) {
        (Value::DateTime(a), Value::DateTime(b)) => finite((a - b).as_seconds_f64()),
        (Value::DateTime(at), _) => shifted(at, float(right), -1.0),
        _ => arithmetic(left, right, i64::checked_sub, |a, b| a - b),
    }
}

pub fn mul<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    arithmetic(left, right, i64::checked_mul, |a, b| a * b)
}

/// `/`: always a float.
pub fn div<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    match (float(left), float(right)) {
        (Some(a), Some(b)) => finite(a / b),
        _ => Value::Missing,
    }
}

/// `%`: the sign of the dividend.
pub fn rem<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    // `i64::MIN % -1` is 0, though the division it stands for overflows.
    let ints = |a: i64, b: i64| if b == -1 { Some(0) } else { a.checked_rem(b) };
    arithmetic(left, right, ints, |a, b| a % b)
}

/// `-` before an operand
pub fn neg<'a>(operand: Value<'a>, _: Value<'a>) -> Value<'a> {
    match operand {
        Value::Int(int) => int.checked_neg().map_or(Value::Missing, Value::Int),
        Value::Float(float) => Value::Float(-float),
        _ => Value::Missing,
    }
}

/// A bool as a condition: anything else is unknown.
pub fn truth(value: Value<'_>) -> Tri {
    match value.read(KindSet::BOOL) {
        Value::Bool(value) => value.into(),
        _ => Tri::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn of(json: &Json) -> Value<'_> {
        Value::from_json(json)
    }

    #[test]
    fn arithmetic_is_missing_where_mathematics_leaves_the_machine() {
        let check = |value: Value<'_>, expected: Json| assert_eq!(value.to_json(), expected);
        check(add(Value::Int(i64::MAX), Value::Int(1)), Json::Null);
        check(rem(Value::Int(i64::MIN), Value::Int(-1)), json!(0));
        check(rem(Value::Int(-7), Value::Int(3)), json!(-1));
        check(rem(Value::Int(7), Value::Int(0)), Json::Null);
        check(div(Value::Int(1), Value::Int(2)), json!(0.5));
        check(div(Value::Int(1), Value::Int(0)), Json::Null);
        check(mul(Value::Float(1e308), Value::Int(10)), Json::Null);
        check(neg(Value::Int(i64::MIN), Value::Missing), Json::Null);
        check(add(Value::Str("a"), Value::Int(1)), Json::Null);
    }

    #[test]
    fn quantities_are_kleene_over_the_right_list() {
        let mode = |quantity| TestMode { quantity: Some(quantity), ..TestMode::default() };
        let check = |list: Json, quantity, expected| {
            assert_eq!(test(contains, Value::Str("abc"), of(&list), mode(quantity)), expected, "{list}");
        };
        check(json!(["b", 7]), Quantity::Any, Tri::True);
        check(json!(["x", 7]), Quantity::Any, Tri::Unknown);
        check(json!(["x", "y"]), Quantity::None, Tri::True);
        check(json!(["a", "c"]), Quantity::All, Tri::True);
        check(json!([]), Quantity::Any, Tri::False);
        check(json!([]), Quantity::All, Tri::True);
        check(json!(null), Quantity::Any, Tri::Unknown);
    }
}
