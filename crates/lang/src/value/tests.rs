//! Tests of values: exact comparison of numbers, equality, and typed reads.

use super::*;
use crate::ty::KindSet;
use serde_json::json;

#[test]
fn integers_and_floats_compare_exactly() {
    let check = |int: i64, float: f64, expected| assert_eq!(compare_int_float(int, float), expected);
    check(9_007_199_254_740_993, 9_007_199_254_740_992.0, Ordering::Greater);
    check(i64::MAX, 9_223_372_036_854_775_807.0, Ordering::Less);
    check(i64::MIN, -9_223_372_036_854_775_808.0, Ordering::Equal);
    check(3, 3.5, Ordering::Less);
    check(-3, -3.5, Ordering::Greater);
    check(0, -0.0, Ordering::Equal);
    let wide = |int: u64, float: f64, expected| assert_eq!(compare_wide_float(int, float), expected);
    wide(u64::MAX, 18_446_744_073_709_551_616.0, Ordering::Less);
    wide(u64::MAX, 18_446_744_073_709_549_568.0, Ordering::Greater);
    wide(1 << 63, 9_223_372_036_854_775_808.0, Ordering::Equal);
    wide((1 << 63) + 1, 9_223_372_036_854_775_808.0, Ordering::Greater);
    wide(1 << 63, -1e300, Ordering::Greater);
}

#[test]
fn ints_of_64_unsigned_bits_stay_exact() {
    let check = |a: Json, b: Json, expected: Ordering| {
        let (left, right) = (Value::from_json(&a), Value::from_json(&b));
        assert_eq!(compare(left, right), Some(expected), "{a} and {b}");
        assert_eq!(compare(right, left), Some(expected.reverse()), "{b} and {a}");
        assert_eq!(equal(left, right), Tri::from(expected.is_eq()), "{a} == {b}");
        let (a, b) = (json!([{ "id": a }]), json!([{ "id": b }]));
        let equal = equal(Value::from_json(&a), Value::from_json(&b));
        assert_eq!(equal, Tri::from(expected.is_eq()), "{a} == {b}");
    };
    check(json!(u64::MAX), json!(u64::MAX - 1), Ordering::Greater);
    check(json!(u64::MAX), json!(u64::MAX), Ordering::Equal);
    check(json!(i64::MAX as u64 + 1), json!(i64::MAX), Ordering::Greater);
    check(json!(i64::MAX as u64 + 1), json!(2_f64.powi(63)), Ordering::Equal);
    check(json!(u64::MAX), json!(1.5), Ordering::Greater);
    check(json!(u64::MAX), json!(2_f64.powi(64)), Ordering::Less);
}

#[test]
fn equality_is_three_valued_outside_and_two_valued_inside() {
    let check = |a: Json, b: Json, expected: Tri| {
        assert_eq!(equal(Value::from_json(&a), Value::from_json(&b)), expected, "{a} == {b}");
    };
    check(json!(1), json!(1.0), Tri::True);
    check(json!(1), json!("1"), Tri::Unknown);
    check(json!(null), json!(null), Tri::Unknown);
    check(json!(true), json!(1), Tri::Unknown);
    check(json!([1, null]), json!([1.0, null]), Tri::True);
    check(json!([1, 2]), json!([2, 1]), Tri::False);
    check(json!([true]), json!([1]), Tri::False);
    check(json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1}), Tri::True);
}

#[test]
fn a_computed_dict_is_like_one_of_the_message() {
    let bump = Bump::new();
    let computed_dict = Value::dict_in(&bump, [("b", Value::Missing), ("a", Value::Int(1))]);
    let json = json!({"b": null, "a": 1.0});
    let json_dict = Value::from_json(&json);
    assert_eq!((equal(computed_dict, json_dict), equal(json_dict, computed_dict)), (Tri::True, Tri::True));
    assert_eq!(equal(computed_dict, Value::dict_in(&bump, [("a", Value::Int(1))])), Tri::False);
    assert_eq!(
        (computed_dict.has_key("b"), computed_dict.has_key("c"), computed_dict.dict_len()),
        (Some(true), Some(false), Some(2))
    );
    assert!(matches!(computed_dict.index(Value::Str("a")), Value::Int(1)));
    assert!(computed_dict.field("b").is_missing() && computed_dict.field("c").is_missing());
    assert_eq!(computed_dict.to_json(), json!({"a": 1, "b": null}));
}

#[test]
fn a_typed_read_converts_only_without_loss_of_meaning() {
    assert!(matches!(Value::Int(3).read_as(KindSet::FLOAT), Value::Float(f) if f == 3.0));
    let whole = |float| Value::Float(float).read_as(KindSet::INT).to_json();
    assert_eq!([whole(3.0), whole(-0.0), whole(1e19)], [json!(3), json!(0), json!(10_u64.pow(19))]);
    assert_eq!([whole(3.5), whole(2e19), whole(-1e19)], [Json::Null, Json::Null, Json::Null]);
    assert_eq!(Value::Wide(u64::MAX).read_as(KindSet::FLOAT).to_json(), json!(18446744073709551615.0));
    assert!(Value::Str("7").read_as(KindSet::NUMBER).is_missing());
    assert!(Value::Bool(true).read_as(KindSet::NUMBER).is_missing());
    assert!(matches!(Value::Str("2026-01-01T00:00:00Z").read_as(KindSet::DATETIME), Value::DateTime(_)));
    assert!(matches!(Value::Str("2026-01-01T00:00:00Z").read_as(KindSet::MESSAGE_KINDS), Value::Str(_)));
}
