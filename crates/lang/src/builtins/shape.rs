//! Implements the built-in functions on the structure of lists and dicts, such as the keys of a
//! dict. Each function takes time proportional to the size of its arguments, because the arguments
//! may be untrusted.

use crate::arena::Arena;
use crate::limits::Limit;
use crate::operators::implementations::add;
use crate::value::Value;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, HashSet};

/// Returns the entries of a dict, in key order; `None` for other values.
fn dict_entries<'a>(dict: Value<'a>) -> Option<Vec<(&'a str, Value<'a>)>> {
    Some(dict.entries()?.collect())
}

/// Returns a list with the result of `map_entry` for each entry of a dict; missing for other
/// values.
pub(super) fn map_entries<'a>(
    args: &[Value<'a>],
    arena: &'a Arena,
    map_entry: fn((&'a str, Value<'a>)) -> Value<'a>,
) -> Value<'a> {
    let [dict] = args else { return Value::Missing };
    dict.entries().map_or(Value::Missing, |entries| arena.build_list(entries.map(map_entry)))
}

/// Maximum length of a list of texts that is searched linearly; a longer list is hashed.
const MAX_LINEAR_SEARCH_LEN: usize = 16;

pub(super) fn without_texts<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [list, others] = args else { return Value::Missing };
    let (Some(list), Some(others)) = (list.elements(), others.elements()) else { return Value::Missing };
    let is_short = others.clone().take(MAX_LINEAR_SEARCH_LEN + 1).count() <= MAX_LINEAR_SEARCH_LEN;
    if is_short {
        let remaining = list.filter(|element| {
            let text = element.as_str();
            text.is_none() || others.clone().all(|other| other.as_str() != text)
        });
        return arena.build_list(remaining);
    }
    let others: HashSet<&str> = others.filter_map(Value::as_str).collect();
    let remaining = list.filter(|element| element.as_str().is_none_or(|text| !others.contains(text)));
    arena.build_list(remaining)
}

pub(super) fn pluck<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [list, keys @ ..] = args else { return Value::Missing };
    let Some(elements) = list.elements() else { return Value::Missing };
    if keys.iter().any(|key| key.is_missing()) {
        return Value::Missing;
    }
    let values = elements.map(|element| keys.iter().fold(element, |value, key| value.index(*key)));
    arena.build_list(values.filter(|value| !value.is_missing()))
}

/// Returns the sum of a list of numbers. Missing if an element is not a number, or if the sum is
/// out of range.
pub(super) fn sum<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    let [list] = args else { return Value::Missing };
    list.elements().map_or(Value::Missing, |mut elements| {
        let numbers = elements.try_fold(Value::Int(0), |sum, element| match element {
            Value::Int(_) | Value::Wide(_) | Value::Float(_) | Value::Decimal(_) => {
                Some(add(sum, element)).filter(|sum| !sum.is_missing())
            }
            _ => None,
        });
        numbers.unwrap_or(Value::Missing)
    })
}

/// Converts the elements of a list to decimals. An element that cannot be converted becomes null.
pub(super) fn to_decimals<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [list] = args else { return Value::Missing };
    let decimal = |value: Value<'a>| value.to_decimal().map_or(Value::Missing, Value::Decimal);
    list.elements().map_or(Value::Missing, |elements| arena.build_list(elements.map(decimal)))
}

/// Returns the last element of a list if `last`, else the first. Missing for an empty list.
pub(super) fn first_or_last<'a>(args: &[Value<'a>], last: bool) -> Value<'a> {
    let [list] = args else { return Value::Missing };
    let Some(length) = list.list_len() else { return Value::Missing };
    let index = if last { length.saturating_sub(1) } else { 0 };
    list.index(Value::Int(index as i64))
}

/// Returns the length in bytes of a value as JSON without white space.
fn json_value_size(json: &Json) -> u64 {
    match json {
        Json::Null => 4,
        Json::Bool(value) => 5 - u64::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => u64::from(int < 0) + digit_count(int.unsigned_abs()),
            (None, Some(int)) => digit_count(int),
            (None, None) => number.to_string().len() as u64,
        },
        Json::String(text) => json_text_size(text),
        Json::Array(items) => json_list_size(items),
        Json::Object(map) => json_dict_size(map),
    }
}

fn digit_count(int: u64) -> u64 {
    u64::from(int.checked_ilog10().unwrap_or(0)) + 1
}

fn json_text_size(text: &str) -> u64 {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    let mut escaped = 0;
    if !text.bytes().fold(true, |all_plain, byte| all_plain & is_plain(byte)) {
        for byte in text.bytes().filter(|byte| !is_plain(*byte)) {
            escaped += match byte {
                b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
                // The escape sequence has six characters, as in `\u001f`: five more than the
                // original.
                _ => 5,
            };
        }
    }
    text.len() as u64 + 2 + escaped
}

/// Returns the number of bytes of both brackets and the commas of a JSON list or object with
/// `count` items.
fn json_punctuation_size(count: usize) -> u64 {
    2 + count.saturating_sub(1) as u64
}

fn json_list_size(items: &[Json]) -> u64 {
    json_punctuation_size(items.len()) + items.iter().map(json_value_size).sum::<u64>()
}

fn json_dict_size(map: &Map<String, Json>) -> u64 {
    let entries = map.iter().map(|(key, value)| json_text_size(key) + 1 + json_value_size(value));
    json_punctuation_size(map.len()) + entries.sum::<u64>()
}

pub(super) fn json_size<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    if arena.is_repeated() {
        // Nested values are read too and numbers are formatted, so each byte counts as four units
        // of work.
        let weight =
            args.first().map_or(0, |value| value.deep_size(arena.limit_per_repetition(Limit::SearchWork)));
        if !arena.is_within_budget(Limit::SearchWork, weight.saturating_mul(4)) {
            return Value::Missing;
        }
    }
    let size = match args {
        [Value::Missing] | [] => return Value::Missing,
        [Value::Dict(map)] => json_dict_size(map),
        [Value::JsonList(items)] => json_list_size(items),
        [Value::Str(text)] => json_text_size(text),
        [other, ..] => json_value_size(&other.to_json()),
    };
    i64::try_from(size).map_or(Value::Missing, Value::Int)
}

/// Maximum number of segments of a dotted key; the key `a.b.c` has three. The function
/// `updated_dict` returns missing if a key has more. This bounds the recursion over the segments.
const MAX_KEY_SEGMENTS: usize = 64;

/// A tree of changes to a dict. The root is the dict; each child is a key inside the value of its
/// parent. A node contains a new value, changes to keys inside the value, or both.
#[derive(Default)]
struct DictChanges<'a> {
    /// The new value for this key of the dict; `None` if only keys inside the old value change.
    new_value: Option<Value<'a>>,
    /// The changes to keys inside the value of this key. The map has an entry for each changed key.
    key_changes: BTreeMap<&'a str, DictChanges<'a>>,
}

pub(super) fn updated_dict<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [base, updates] = args else { return Value::Missing };
    let Some(updates) = dict_entries(*updates) else { return Value::Missing };
    if base.kind() != Some(crate::ty::Kind::Dict) {
        return Value::Missing;
    }
    let (mut changes, mut segments) = (DictChanges::default(), 0);
    for (key, value) in updates {
        segments += 1 + key.bytes().filter(|byte| *byte == b'.').count() as u64;
        // In the limit on the size of a value, each segment counts as one list element.
        if !arena.allows_value_bytes(8 * segments) {
            return Value::Missing;
        }
        if key.split('.').nth(MAX_KEY_SEGMENTS).is_some() {
            return Value::Missing;
        }
        let node =
            key.split('.').fold(&mut changes, |node, segment| node.key_changes.entry(segment).or_default());
        node.new_value = Some(value);
    }
    apply_changes(*base, &changes, arena).unwrap_or(Value::Missing)
}

/// Applies `changes` to the value `base` and returns the result; `None` if the result is too large.
/// The recursion depth is bounded by the number of segments of a dotted key.
fn apply_changes<'a>(base: Value<'a>, changes: &DictChanges<'a>, arena: &'a Arena) -> Option<Value<'a>> {
    let base = changes.new_value.unwrap_or(base);
    if changes.key_changes.is_empty() {
        return Some(base);
    }
    let mut entries = Vec::new();
    let old = dict_entries(base).unwrap_or_default();
    let mut old = old.into_iter().peekable();
    for (key, change) in &changes.key_changes {
        while let Some(entry) = old.next_if(|(other, _)| other < key) {
            entries.push(entry);
        }
        let old_value = old.next_if(|(other, _)| other == key).map_or(Value::Missing, |(_, value)| value);
        entries.push((*key, apply_changes(old_value, change, arena)?));
    }
    entries.extend(old);
    let entry_size = |(key, value): &(&str, Value<'_>)| key.len() + value.as_str().map_or(0, str::len);
    arena.collect_slice(entries, entry_size).map(Value::Entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_size_equals_written_length() {
        for json in [
            json!(null),
            json!([true, false, [], {}]),
            json!([0, -1, 9, 10, -10, 999, i64::MIN, i64::MAX, u64::MAX, 0.5, -0.0, 1e300, 2.0]),
            json!({"a\"b": "\\ \n\r\t \u{8}\u{c} \u{0} \u{1f} \u{7f} é 文件 🎉", "": ["", "x"], "z": {"y": {}}}),
        ] {
            assert_eq!(json_value_size(&json), json.to_string().len() as u64, "{json}");
        }
    }
}
