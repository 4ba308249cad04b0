//! Values during a decision. A value is a borrowed view of the message, of a constant or of
//! computed data, so that reading a field copies nothing. Messages and constants are both stored as
//! `serde_json::Value`.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

mod datetime;
mod exact;
mod reading;

pub use datetime::{format_datetime, parse_datetime};

use crate::ty::Kind;
use bumpalo::Bump;
use exact::{compare_decimals, compare_wide_ints, decimal_to_json};
use rulec_base::decimal::Decimal;
use rulec_base::text::version;
use serde_json::{Map, Value as Json};
use std::cmp::Ordering;
use time::OffsetDateTime;

/// A truth value of Kleene's three-valued logic. A route is selected only if its condition is
/// [`Tri::True`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tri {
    True,
    False,
    /// The truth value of a condition that cannot be evaluated, because a value is missing or of
    /// another type than needed.
    Unknown,
}

impl Tri {
    /// Returns the negation of a truth value; the negation of unknown is unknown.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "the operator trait would suggest two-valued logic")]
    pub fn not(self) -> Tri {
        match self {
            Tri::True => Tri::False,
            Tri::False => Tri::True,
            Tri::Unknown => Tri::Unknown,
        }
    }

    pub fn holds(self) -> bool {
        self == Tri::True
    }

    pub fn all(items: impl IntoIterator<Item = Tri>) -> Tri {
        let mut result = Tri::True;
        for item in items {
            match item {
                Tri::False => return Tri::False,
                Tri::Unknown => result = Tri::Unknown,
                Tri::True => {}
            }
        }
        result
    }

    pub fn any(items: impl IntoIterator<Item = Tri>) -> Tri {
        Tri::all(items.into_iter().map(Tri::not)).not()
    }
}

impl From<bool> for Tri {
    fn from(value: bool) -> Tri {
        if value { Tri::True } else { Tri::False }
    }
}

/// A value, or a missing value. The layout is defined (a tag and a payload), so that JIT-compiled
/// code can read it.
#[derive(Clone, Copy, Debug)]
#[repr(C, u8)]
pub enum Value<'a> {
    /// The value is absent or null, or its type is not the type that the rules expect.
    Missing,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'a str),
    /// A point in time, with the UTC offset with which it was written.
    DateTime(OffsetDateTime),
    /// A version as text, in the canonical form of [`version::parse_version`], in which equal
    /// versions are equal texts.
    Version(&'a str),
    /// A list that is part of the message or of a constant.
    JsonList(&'a [Json]),
    /// A list that the decision computed; a missing element counts as null.
    List(&'a [Value<'a>]),
    /// A dict or record that is part of the message or of a constant.
    Dict(&'a Map<String, Json>),
    /// A dict that the decision computed, with sorted keys; a missing value counts as null.
    Entries(&'a [(&'a str, Value<'a>)]),
    /// An int beyond `i64::MAX`, such as an id of 64 unsigned bits. Smaller ints are always
    /// [`Value::Int`].
    Wide(u64),
    /// An exact decimal number.
    Decimal(Decimal),
}

/// Converts the truth value of a condition to a value; unknown becomes missing.
impl From<Tri> for Value<'_> {
    fn from(truth: Tri) -> Self {
        match truth {
            Tri::True => Value::Bool(true),
            Tri::False => Value::Bool(false),
            Tri::Unknown => Value::Missing,
        }
    }
}

impl<'a> Value<'a> {
    /// Returns a view of a JSON value. Null becomes missing. An integer outside -2^63 to 2^64-1
    /// becomes a float, because `serde_json` has read it as the nearest float.
    pub fn from_json(json: &'a Json) -> Value<'a> {
        match json {
            Json::Null => Value::Missing,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(int), ..) => Value::Int(int),
                (_, Some(int), _) => Value::Wide(int),
                (.., Some(float)) => Value::Float(float),
                (None, None, None) => Value::Missing,
            },
            Json::String(text) => Value::Str(text),
            Json::Array(items) => Value::JsonList(items),
            Json::Object(map) => Value::Dict(map),
        }
    }

    /// Returns an unsigned integer as the value of an int: [`Value::Int`] if it fits, else
    /// [`Value::Wide`].
    pub fn from_unsigned(int: u64) -> Value<'a> {
        i64::try_from(int).map_or(Value::Wide(int), Value::Int)
    }

    /// Returns an integer as an int, or missing if it lies outside -2^63 to 2^64-1.
    pub fn from_integer(int: i128) -> Value<'a> {
        match (i64::try_from(int), u64::try_from(int)) {
            (Ok(int), _) => Value::Int(int),
            (_, Ok(int)) => Value::Wide(int),
            _ => Value::Missing,
        }
    }

    /// Returns a float without a fraction as an int. Returns missing for any other float, and for
    /// a float outside -2^63 to 2^64-1.
    pub fn from_whole_float(float: f64) -> Value<'a> {
        const INT_RANGE: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0;
        match float.fract() == 0.0 && INT_RANGE.contains(&float) {
            true => Value::from_integer(float as i128),
            false => Value::Missing,
        }
    }

    /// Returns the kind of the value; `None` if the value is missing.
    pub fn kind(self) -> Option<Kind> {
        Some(match self {
            Value::Missing => return None,
            Value::Bool(_) => Kind::Bool,
            Value::Int(_) | Value::Wide(_) => Kind::Int,
            Value::Float(_) => Kind::Float,
            Value::Str(_) => Kind::String,
            Value::DateTime(_) => Kind::DateTime,
            Value::Version(_) => Kind::Version,
            Value::Decimal(_) => Kind::Decimal,
            Value::JsonList(_) | Value::List(_) => Kind::List,
            Value::Dict(_) | Value::Entries(_) => Kind::Dict,
        })
    }

    pub fn is_missing(self) -> bool {
        matches!(self, Value::Missing)
    }

    /// Returns the value of a field of a dict or record. Missing if there is no such field, or if
    /// this value is not a dict or record.
    #[must_use]
    pub fn field(self, name: &str) -> Value<'a> {
        match self {
            Value::Dict(map) => map.get(name).map_or(Value::Missing, Value::from_json),
            Value::Entries(entries) => match entries.binary_search_by_key(&name, |(key, _)| key) {
                Ok(position) => entries[position].1,
                Err(_) => Value::Missing,
            },
            _ => Value::Missing,
        }
    }

    /// Reports whether a dict or record has the key, even with a null value; `None` for other
    /// values.
    pub fn has_key(self, name: &str) -> Option<bool> {
        match self {
            Value::Dict(map) => Some(map.contains_key(name)),
            Value::Entries(entries) => Some(entries.binary_search_by_key(&name, |(key, _)| key).is_ok()),
            _ => None,
        }
    }

    pub fn dict_len(self) -> Option<usize> {
        match self {
            Value::Dict(map) => Some(map.len()),
            Value::Entries(fields) => Some(fields.len()),
            _ => None,
        }
    }

    /// Returns the keys and values of a dict or record; `None` for other values.
    pub fn entries(self) -> Option<impl Iterator<Item = (&'a str, Value<'a>)>> {
        self.dict_len()?;
        let json = if let Value::Dict(map) = self { Some(map) } else { None };
        let fields: &[(&str, Value)] = if let Value::Entries(fields) = self { fields } else { &[] };
        let json = json.into_iter().flatten().map(|(key, value)| (key.as_str(), Value::from_json(value)));
        Some(json.chain(fields.iter().copied()))
    }

    /// Returns `list[i]` or `dict[key]`. Returns missing if the index is out of range, absent or of
    /// the wrong kind.
    #[must_use]
    pub fn index(self, index: Value<'_>) -> Value<'a> {
        match (self, index) {
            (Value::Dict(_) | Value::Entries(_), Value::Str(key)) => self.field(key),
            (Value::JsonList(items), Value::Int(position)) => usize::try_from(position)
                .ok()
                .and_then(|position| items.get(position))
                .map_or(Value::Missing, Value::from_json),
            (Value::List(items), Value::Int(position)) => usize::try_from(position)
                .ok()
                .and_then(|position| items.get(position))
                .copied()
                .unwrap_or(Value::Missing),
            _ => Value::Missing,
        }
    }

    pub fn list_len(self) -> Option<usize> {
        match self {
            Value::JsonList(items) => Some(items.len()),
            Value::List(items) => Some(items.len()),
            _ => None,
        }
    }

    /// Returns the elements of a list; `None` for other values.
    #[inline]
    pub fn elements(self) -> Option<impl Iterator<Item = Value<'a>> + Clone> {
        let (json, values): (&[Json], &[Value]) = match self {
            Value::JsonList(items) => (items, &[]),
            Value::List(items) => (&[], items),
            _ => return None,
        };
        Some(json.iter().map(Value::from_json).chain(values.iter().copied()))
    }

    /// Returns the size of the value itself in bytes, without nested values: the length of a text,
    /// or 8 for each list element or dict key. The size of any other value is 0.
    pub fn own_size(self) -> u64 {
        match self {
            Value::Str(text) => text.len() as u64,
            _ => 8 * self.list_len().or(self.dict_len()).unwrap_or(0) as u64,
        }
    }

    /// Returns the size of the value in bytes, including nested values. If the size exceeds
    /// `max_size`, the count stops early and returns some size above `max_size`.
    pub fn deep_size(self, max_size: u64) -> u64 {
        let own_size = self.own_size();
        match self {
            Value::JsonList(items) => items.iter().try_fold(own_size, |sum, item| {
                add_size_within(sum, max_size, json_deep_size(item, max_size))
            }),
            Value::List(items) => items
                .iter()
                .try_fold(own_size, |sum, item| add_size_within(sum, max_size, item.deep_size(max_size))),
            Value::Dict(map) => map.iter().try_fold(own_size, |sum, (key, value)| {
                add_size_within(sum, max_size, key.len() as u64 + json_deep_size(value, max_size))
            }),
            Value::Entries(entries) => entries.iter().try_fold(own_size, |sum, (key, value)| {
                add_size_within(sum, max_size, key.len() as u64 + value.deep_size(max_size))
            }),
            _ => Ok(own_size),
        }
        .unwrap_or_else(|exceeding_size| exceeding_size)
    }

    pub fn as_str(self) -> Option<&'a str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Converts the value to JSON. Missing becomes null, a time becomes its RFC 3339 text, and a
    /// version becomes its text. A decimal becomes a number, or a text if a 64-bit float does not
    /// keep its digits.
    pub fn to_json(self) -> Json {
        match self {
            Value::Missing => Json::Null,
            Value::Bool(value) => Json::Bool(value),
            Value::Int(value) => Json::from(value),
            Value::Wide(value) => Json::from(value),
            Value::Float(value) => Json::from(value),
            Value::Str(text) | Value::Version(text) => Json::from(text),
            Value::DateTime(time) => Json::from(format_datetime(time)),
            Value::Decimal(decimal) => decimal_to_json(decimal),
            Value::JsonList(items) => Json::Array(items.to_vec()),
            Value::List(items) => {
                // Convert ints directly, because a message may be one list of millions of numbers.
                let to_json_element = |item: &Value<'_>| match *item {
                    Value::Int(value) => Json::from(value),
                    item => item.to_json(),
                };
                Json::Array(items.iter().map(to_json_element).collect())
            }
            Value::Dict(map) => Json::Object(map.clone()),
            Value::Entries(entries) => Json::Object(
                entries.iter().map(|(key, value)| ((*key).to_owned(), value.to_json())).collect(),
            ),
        }
    }

    /// Copies keys and values into the decision's arena as a dict, and returns the dict. Keys must
    /// be unique.
    pub fn dict_in(bump: &'a Bump, entries: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> Value<'a> {
        let mut dict = bumpalo::collections::Vec::new_in(bump);
        dict.extend(entries);
        dict.sort_unstable_by_key(|(key, _)| *key);
        Value::Entries(dict.into_bump_slice())
    }

    /// Copies values into the decision's arena as a list, and returns the list.
    pub fn list_in(bump: &'a Bump, items: impl IntoIterator<Item = Value<'a>>) -> Value<'a> {
        let mut list = bumpalo::collections::Vec::new_in(bump);
        list.extend(items);
        Value::List(list.into_bump_slice())
    }
}

/// Adds `added_size` to a sum of sizes. Returns the new sum as `Ok`, or as `Err` if it exceeds
/// `max_size`, so that a caller can stop with `?`.
#[inline]
fn add_size_within(sum: u64, max_size: u64, added_size: u64) -> Result<u64, u64> {
    let sum = sum.saturating_add(added_size);
    if sum > max_size { Err(sum) } else { Ok(sum) }
}

#[inline]
fn json_deep_size(json: &Json, max_size: u64) -> u64 {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        Json::String(text) => text.len() as u64,
        _ => Value::from_json(json).deep_size(max_size),
    }
}

/// Empties a vector and returns it with another element type. The caller uses it for types that
/// differ only in a lifetime. The returned vector reuses the memory of the old one; a test checks
/// that the standard library does so.
#[inline]
pub fn recycle_vec<T, U>(mut values: Vec<T>) -> Vec<U> {
    values.clear();
    values.into_iter().map_while(|_| None).collect()
}

/// Grows a vector to at least `len` elements with default values.
#[inline]
pub fn grow_to_len<T: Default>(values: &mut Vec<T>, len: usize) {
    if values.len() < len {
        values.resize_with(len, T::default);
    }
}

/// Compares an int and a float by their exact values: 2^53+1 is greater than 2^53 as a float.
pub fn compare_int_float(int: i64, float: f64) -> Ordering {
    // Floats of magnitude 2^63 or more are outside the int range. For smaller floats, truncation is
    // exact.
    if float >= 9_223_372_036_854_775_808.0 {
        return Ordering::Less;
    }
    if float < -9_223_372_036_854_775_808.0 {
        return Ordering::Greater;
    }
    let truncated = float.trunc();
    int.cmp(&(truncated as i64))
        .then_with(|| 0.0_f64.partial_cmp(&(float - truncated)).unwrap_or(Ordering::Equal))
}

/// Returns the order of two numbers, times, versions or texts; `None` for values of other kinds or
/// of different kinds.
#[inline]
pub fn compare(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(&b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(&b),
        (Value::Int(a), Value::Float(b)) => Some(compare_int_float(a, b)),
        (Value::Float(a), Value::Int(b)) => Some(compare_int_float(b, a).reverse()),
        (Value::Decimal(_), _) | (_, Value::Decimal(_)) => compare_decimals(left, right),
        (Value::Wide(_), _) | (_, Value::Wide(_)) => compare_wide_ints(left, right),
        (Value::DateTime(a), Value::DateTime(b)) => Some(a.cmp(&b)),
        (Value::Version(a), Value::Version(b)) => version::compare_versions(a, b),
        // UTF-8 order equals code point order.
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Compares an int and a float by their exact values, for ints from 2^63 to 2^64-1.
pub fn compare_wide_float(int: u64, float: f64) -> Ordering {
    match float {
        18_446_744_073_709_551_616.0.. => Ordering::Less,
        // A float in this range has no fraction.
        9_223_372_036_854_775_808.0.. => int.cmp(&(float as u64)),
        _ => Ordering::Greater,
    }
}

/// Compares two values; the result is true or false, never unknown. Elements of lists and values of
/// dicts are compared by this function. Values of different kinds are unequal, and null equals
/// null.
pub fn is_identical(left: Value<'_>, right: Value<'_>) -> bool {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Missing, Value::Missing) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => a == b,
        // A text in a list or dict may be a time, because elements are not converted to times.
        (Value::DateTime(a), Value::Str(b)) | (Value::Str(b), Value::DateTime(a)) => {
            parse_datetime(b) == Some(a)
        }
        // A float or text in a list or dict may be meant as a decimal, because elements are not
        // converted to decimals.
        (Value::Decimal(a), b) | (b, Value::Decimal(a)) => b.to_decimal() == Some(a),
        (Value::Dict(_) | Value::Entries(_), Value::Dict(_) | Value::Entries(_)) => {
            left.dict_len() == right.dict_len()
                && left.entries().into_iter().flatten().all(|(key, value)| {
                    right.has_key(key) == Some(true) && is_identical(value, right.field(key))
                })
        }
        _ => match (left.elements(), right.elements()) {
            (Some(a), Some(b)) => {
                left.list_len() == right.list_len() && a.zip(b).all(|(x, y)| is_identical(x, y))
            }
            _ => compare(left, right) == Some(Ordering::Equal),
        },
    }
}

/// Compares two operands of a condition for equality. The result is unknown if an operand is
/// missing, or if the kinds of the operands are not comparable.
#[inline]
pub fn equal(left: Value<'_>, right: Value<'_>) -> Tri {
    match (left.kind(), right.kind()) {
        (Some(a), Some(b)) if a.is_comparable_with(b) => is_identical(left, right).into(),
        _ => Tri::Unknown,
    }
}

#[cfg(test)]
mod tests;
