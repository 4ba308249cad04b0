//! The functions that implement the operators of [`crate::operators::table::TABLE`], in their
//! simplest correct form. The reference evaluator calls only these functions. The VM calls them if
//! it has no faster code of its own; the differential test compares the results.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use crate::arena::Arena;
use crate::limits::Limit;
use crate::operators::modifiers::TestMode;
use crate::ty::KindSet;
use crate::value::{self, Tri, Value};
use rulec_base::decimal::Decimal;
use rulec_base::text;
use rulec_base::text::pattern::PatternOrigin;
use time::{Duration, OffsetDateTime};

/// True if an automaton with this number of states may search a text of this number of bytes within
/// the limits.
pub fn is_regex_within_budget(bytes: usize, states: u64, arena: &Arena) -> bool {
    arena.allows(Limit::RegexBytes, bytes as u64)
        && arena.is_within_budget(Limit::RegexWork, (bytes as u64).saturating_mul(states))
}

/// True if a glob pattern may be matched against a text of this number of bytes within the limits.
/// `passes` is the number of times that matching reads the text; one pass is always allowed.
pub fn is_glob_within_budget(bytes: usize, passes: u64, arena: &Arena) -> bool {
    passes <= 1 || arena.is_within_budget(Limit::SearchWork, (bytes as u64).saturating_mul(passes))
}

fn test_texts(
    left: Value<'_>,
    right: Value<'_>,
    mode: TestMode,
    predicate: impl Fn(&str, &str) -> bool,
) -> Tri {
    match (left, right) {
        (Value::Str(text), Value::Str(keyword)) if mode.text.is_plain() => predicate(text, keyword).into(),
        (Value::Str(text), Value::Str(keyword)) => {
            predicate(&mode.text.prepare(text), &mode.text.prepare(keyword)).into()
        }
        _ => Tri::Unknown,
    }
}

/// Returns true if two values are equal, otherwise false; never unknown. Texts are first prepared
/// as `mode` says, such as by case folding.
fn is_identical(left: Value<'_>, right: Value<'_>, mode: TestMode) -> bool {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) if !mode.text.is_plain() => {
            mode.text.prepare(a) == mode.text.prepare(b)
        }
        _ => value::is_identical(left, right),
    }
}

pub fn equal(left: Value<'_>, right: Value<'_>, mode: TestMode, _: &Arena) -> Tri {
    match value::equal(left, right) {
        Tri::Unknown => Tri::Unknown,
        _ => is_identical(left, right, mode).into(),
    }
}

pub fn not_equal(left: Value<'_>, right: Value<'_>, mode: TestMode, arena: &Arena) -> Tri {
    equal(left, right, mode, arena).not()
}

macro_rules! orders {
    ($($name:ident $holds:ident;)*) => {$(
        pub fn $name(left: Value<'_>, right: Value<'_>, _: TestMode, _: &Arena) -> Tri {
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

/// True if an element is identical to `searched_value`. Texts are compared after preparation by
/// `mode`, such as case folding. The text in `searched_value` is prepared only once.
fn contains_identical<'a>(
    mut elements: impl Iterator<Item = Value<'a>>,
    searched_value: Value<'_>,
    mode: TestMode,
) -> bool {
    match searched_value {
        Value::Str(text) if !mode.text.is_plain() => {
            let text = mode.text.prepare(text);
            elements.any(|element| match element {
                Value::Str(other) => mode.text.prepare(other) == text,
                _ => value::is_identical(element, searched_value),
            })
        }
        _ => elements.any(|element| value::is_identical(element, searched_value)),
    }
}

/// The operator `in` over a list. (`in` over a range is compiled to two comparisons.)
pub fn is_in(left: Value<'_>, right: Value<'_>, mode: TestMode, _: &Arena) -> Tri {
    if left.is_missing() {
        return Tri::Unknown;
    }
    right.elements().map_or(Tri::Unknown, |elements| contains_identical(elements, left, mode).into())
}

/// The operator `contains` on a text or on a list.
pub fn contains(left: Value<'_>, right: Value<'_>, mode: TestMode, _: &Arena) -> Tri {
    match left.elements() {
        Some(_) if right.is_missing() => Tri::Unknown,
        Some(elements) => contains_identical(elements, right, mode).into(),
        None => test_texts(left, right, mode, |text, keyword| {
            if mode.whole_word { text::contains_word(text, keyword) } else { text.contains(keyword) }
        }),
    }
}

pub fn starts_with(left: Value<'_>, right: Value<'_>, mode: TestMode, _: &Arena) -> Tri {
    test_texts(left, right, mode, |text, keyword| {
        if mode.whole_word { text::starts_with_word(text, keyword) } else { text.starts_with(keyword) }
    })
}

pub fn ends_with(left: Value<'_>, right: Value<'_>, mode: TestMode, _: &Arena) -> Tri {
    test_texts(left, right, mode, |text, keyword| {
        if mode.whole_word { text::ends_with_word(text, keyword) } else { text.ends_with(keyword) }
    })
}

pub fn like(left: Value<'_>, right: Value<'_>, mode: TestMode, arena: &Arena) -> Tri {
    match (left, right) {
        // Split the pattern into literals and wildcards before the text and the literals are
        // prepared.
        (Value::Str(text), Value::Str(pattern)) => {
            let glob = text::Glob::with_mode(pattern, mode.text);
            if !is_glob_within_budget(text.len(), glob.match_cost(), arena) {
                return Tri::Unknown;
            }
            glob.matches(&mode.text.prepare(text)).into()
        }
        _ => Tri::Unknown,
    }
}

/// Evaluates `left matches right` for the reference evaluator, where `right` is a regular
/// expression in the rules. Takes the compiled expression from a cache, or compiles it.
pub fn matches(left: Value<'_>, right: Value<'_>, mode: TestMode, arena: &Arena) -> Tri {
    matches_pattern_compiled_by(left, right, arena, |pattern| {
        text::pattern::compile_cached(pattern, mode.text.folds_case, PatternOrigin::Rules)
    })
}

/// Evaluates `left matches right`, where `right` is a regular expression from the message.
pub fn matches_message_pattern(left: Value<'_>, right: Value<'_>, mode: TestMode, arena: &Arena) -> Tri {
    matches_pattern_compiled_by(left, right, arena, |pattern| {
        text::pattern::compile_cached(pattern, mode.text.folds_case, PatternOrigin::Message)
    })
}

fn matches_pattern_compiled_by(
    left: Value<'_>,
    right: Value<'_>,
    arena: &Arena,
    compile: impl FnOnce(&str) -> Option<(regex_automata::meta::Regex, u64)>,
) -> Tri {
    let (Value::Str(text), Value::Str(pattern)) = (left, right) else { return Tri::Unknown };
    match compile(pattern) {
        Some((regex, states)) if is_regex_within_budget(text.len(), states, arena) => {
            regex.is_match(text).into()
        }
        _ => Tri::Unknown,
    }
}

pub fn in_network(left: Value<'_>, right: Value<'_>, _: TestMode, _: &Arena) -> Tri {
    match (left, right) {
        (Value::Str(address), Value::Str(network_text)) => {
            text::network::is_in_network(address, network_text).map_or(Tri::Unknown, Tri::from)
        }
        _ => Tri::Unknown,
    }
}

pub fn has_key(left: Value<'_>, right: Value<'_>, _: TestMode, _: &Arena) -> Tri {
    right.as_str().and_then(|key| left.has_key(key)).map_or(Tri::Unknown, Tri::from)
}

pub fn is_missing(left: Value<'_>, _: Value<'_>, _: TestMode, _: &Arena) -> Tri {
    left.is_missing().into()
}

pub fn is_present(left: Value<'_>, _: Value<'_>, _: TestMode, _: &Arena) -> Tri {
    (!left.is_missing()).into()
}

/// The operator `??`, which replaces a missing left operand by the right operand.
pub fn coalesce<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    if left.is_missing() { right } else { left }
}

/// Returns a float as a value; returns missing if the float is infinite or not a number.
pub fn finite_or_missing<'a>(float: f64) -> Value<'a> {
    if float.is_finite() { Value::Float(float) } else { Value::Missing }
}

fn to_float(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(int) => Some(int as f64),
        Value::Wide(int) => Some(int as f64),
        Value::Float(float) => Some(float),
        _ => None,
    }
}

/// Converts an int to `i128`, which has room for both [`Value::Int`] and [`Value::Wide`]. `None`
/// for other values.
fn to_integer(value: Value<'_>) -> Option<i128> {
    match value {
        Value::Int(int) => Some(int.into()),
        Value::Wide(int) => Some(int.into()),
        _ => None,
    }
}

/// An operator on two decimals; `None` if the result has too many digits.
type DecimalOperator = fn(Decimal, Decimal) -> Option<Decimal>;

/// Computes an operator on two numbers: by `int_op` for two ints, by `decimal_op` if an operand is
/// a decimal, otherwise by `float_op`. An int result that does not fit into a signed 64-bit integer
/// is missing.
fn compute_number<'a>(
    left: Value<'a>,
    right: Value<'a>,
    int_op: fn(i128, i128) -> Option<i128>,
    float_op: fn(f64, f64) -> f64,
    decimal_op: DecimalOperator,
) -> Value<'a> {
    match (to_integer(left), to_integer(right)) {
        (Some(a), Some(b)) => {
            int_op(a, b).and_then(|int| i64::try_from(int).ok()).map_or(Value::Missing, Value::Int)
        }
        _ if is_decimal(left) || is_decimal(right) => compute_decimal(left, right, decimal_op),
        _ => match (to_float(left), to_float(right)) {
            (Some(a), Some(b)) => finite_or_missing(float_op(a, b)),
            _ => Value::Missing,
        },
    }
}

fn is_decimal(value: Value<'_>) -> bool {
    matches!(value, Value::Decimal(_))
}

/// Computes an operator on two numbers, of which at least one is a decimal. Missing if the other is
/// a float, or if the result has too many digits.
#[cold]
fn compute_decimal<'a>(left: Value<'a>, right: Value<'a>, op: DecimalOperator) -> Value<'a> {
    let exact = |value: Value<'_>| match value {
        Value::Decimal(_) | Value::Int(_) | Value::Wide(_) => value.to_decimal(),
        _ => None,
    };
    let (left, right) = (exact(left), exact(right));
    left.zip(right).and_then(|(a, b)| op(a, b)).map_or(Value::Missing, Value::Decimal)
}

fn shift_time<'a>(time: OffsetDateTime, seconds: Option<f64>, direction: f64) -> Value<'a> {
    seconds
        .and_then(|seconds| Duration::checked_seconds_f64(seconds * direction))
        .and_then(|duration| time.checked_add(duration))
        .map_or(Value::Missing, Value::DateTime)
}

pub fn add<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    match (left, right) {
        (Value::DateTime(time), seconds) | (seconds, Value::DateTime(time)) => {
            shift_time(time, to_float(seconds), 1.0)
        }
        _ => compute_number(left, right, i128::checked_add, |a, b| a + b, Decimal::checked_add),
    }
}

/// The infix operator `-`: the difference of two numbers, the seconds between two times, or a time
/// some seconds earlier.
pub fn sub<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    match (left, right) {
        (Value::DateTime(a), Value::DateTime(b)) => finite_or_missing((a - b).as_seconds_f64()),
        (Value::DateTime(time), _) => shift_time(time, to_float(right), -1.0),
        _ => compute_number(left, right, i128::checked_sub, |a, b| a - b, Decimal::checked_sub),
    }
}

pub fn mul<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    compute_number(left, right, i128::checked_mul, |a, b| a * b, Decimal::checked_mul)
}

/// The operator `/`: returns a decimal if an operand is a decimal, otherwise a float.
pub fn div<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    match (to_float(left), to_float(right)) {
        (Some(a), Some(b)) => finite_or_missing(a / b),
        _ if is_decimal(left) || is_decimal(right) => compute_decimal(left, right, Decimal::checked_div),
        _ => Value::Missing,
    }
}

/// The operator `%`; the result has the sign of the dividend.
pub fn rem<'a>(left: Value<'a>, right: Value<'a>) -> Value<'a> {
    compute_number(left, right, i128::checked_rem, |a, b| a % b, Decimal::checked_rem)
}

/// The prefix operator `-`: the negation of a number. Missing for other values, and for an int
/// whose negation is out of range.
pub fn neg<'a>(operand: Value<'a>, _: Value<'a>) -> Value<'a> {
    match operand {
        Value::Int(int) => int.checked_neg().map_or(Value::Missing, Value::Int),
        Value::Wide(int) => i64::try_from(-i128::from(int)).map_or(Value::Missing, Value::Int),
        Value::Float(float) => Value::Float(-float),
        Value::Decimal(decimal) => Value::Decimal(decimal.negated()),
        _ => Value::Missing,
    }
}

/// Converts a value to a condition: a bool is true or false, any other value is unknown.
pub fn value_to_tri(value: Value<'_>) -> Tri {
    match value.read_as(KindSet::BOOL) {
        Value::Bool(value) => value.into(),
        _ => Tri::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn results_out_of_range_are_missing() {
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
        check(rem(Value::Wide(u64::MAX), Value::Int(10)), json!(5));
        check(rem(Value::Int(7), Value::Wide(u64::MAX)), json!(7));
        check(sub(Value::Wide(u64::MAX), Value::Wide(u64::MAX - 1)), json!(1));
        check(sub(Value::Wide(u64::MAX), Value::Int(1)), Json::Null);
        check(mul(Value::Wide(u64::MAX), Value::Float(0.5)), json!(9_223_372_036_854_775_808.0));
        check(neg(Value::Wide(1 << 63), Value::Missing), json!(i64::MIN));
        check(neg(Value::Wide(u64::MAX), Value::Missing), Json::Null);
    }
}
