//! Functions on the shape of lists and dicts. Each takes time in proportion to what it is given,
//! since that may come from a stranger.

use crate::value::Value;
use bumpalo::Bump;
use std::collections::{BTreeMap, HashSet};

/// The entries of a dict, in the order of their keys.
fn entries<'a>(dict: Value<'a>) -> Option<Vec<(&'a str, Value<'a>)>> {
    Some(dict.entries()?.collect())
}

pub(super) fn keys<'a>(args: &[Value<'a>], bump: &'a Bump) -> Value<'a> {
    let [dict] = args else { return Value::Missing };
    let Some(entries) = dict.entries() else { return Value::Missing };
    Value::list_in(bump, entries.map(|(key, _)| Value::Str(key)))
}

pub(super) fn values<'a>(args: &[Value<'a>], bump: &'a Bump) -> Value<'a> {
    let [dict] = args else { return Value::Missing };
    let Some(entries) = dict.entries() else { return Value::Missing };
    Value::list_in(bump, entries.map(|(_, value)| value))
}

/// Where a list of texts is long, it is hashed.
const SHORT: usize = 16;

pub(super) fn without<'a>(args: &[Value<'a>], bump: &'a Bump) -> Value<'a> {
    let [list, others] = args else { return Value::Missing };
    let (Some(list), Some(others)) = (list.elements(), others.elements()) else { return Value::Missing };
    let short = others.clone().take(SHORT + 1).count() <= SHORT;
    if short {
        let left = list.filter(|element| {
            let text = element.as_str();
            text.is_none() || others.clone().all(|other| other.as_str() != text)
        });
        return Value::list_in(bump, left);
    }
    let others: HashSet<&str> = others.filter_map(Value::as_str).collect();
    let left = list.filter(|element| element.as_str().is_none_or(|text| !others.contains(text)));
    Value::list_in(bump, left)
}

pub(super) fn pluck<'a>(args: &[Value<'a>], bump: &'a Bump) -> Value<'a> {
    let [list, keys @ ..] = args else { return Value::Missing };
    let Some(elements) = list.elements() else { return Value::Missing };
    if keys.iter().any(|key| key.is_missing()) {
        return Value::Missing;
    }
    let found = elements.map(|element| keys.iter().fold(element, |value, key| value.index(*key)));
    Value::list_in(bump, found.filter(|value| !value.is_missing()))
}

/// Counts what is written to it.
struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(super) fn json_size<'a>(args: &[Value<'a>], _: &'a Bump) -> Value<'a> {
    let mut counter = Counter(0);
    let written = match args {
        [Value::Missing] | [] => return Value::Missing,
        [Value::Dict(map)] => serde_json::to_writer(&mut counter, map),
        [Value::JsonList(items)] => serde_json::to_writer(&mut counter, items),
        [Value::Str(text)] => serde_json::to_writer(&mut counter, text),
        [other, ..] => serde_json::to_writer(&mut counter, &other.to_json()),
    };
    match written {
        Ok(()) => i64::try_from(counter.0).map_or(Value::Missing, Value::Int),
        Err(_) => Value::Missing,
    }
}

/// The most segments a dotted key may have.
const MAX_SEGMENTS: usize = 64;

/// Values to be put into a dict: at a key itself, or further in.
#[derive(Default)]
struct Changes<'a> {
    whole: Option<Value<'a>>,
    inner: BTreeMap<&'a str, Changes<'a>>,
}

pub(super) fn updated<'a>(args: &[Value<'a>], bump: &'a Bump) -> Value<'a> {
    let [base, updates] = args else { return Value::Missing };
    let Some(updates) = entries(*updates) else { return Value::Missing };
    if base.kind() != Some(crate::ty::Kind::Dict) {
        return Value::Missing;
    }
    let mut changes = Changes::default();
    for (key, value) in updates {
        if key.split('.').nth(MAX_SEGMENTS).is_some() {
            return Value::Missing;
        }
        let at = key.split('.').fold(&mut changes, |at, segment| at.inner.entry(segment).or_default());
        at.whole = Some(value);
    }
    changed(*base, &changes, bump)
}

/// A value with what lies further in changed. Recurs as deep as a dotted key has segments.
fn changed<'a>(base: Value<'a>, changes: &Changes<'a>, bump: &'a Bump) -> Value<'a> {
    let base = changes.whole.unwrap_or(base);
    if changes.inner.is_empty() {
        return base;
    }
    let mut made = bumpalo::collections::Vec::new_in(bump);
    let old = entries(base).unwrap_or_default();
    let mut old = old.into_iter().peekable();
    for (key, change) in &changes.inner {
        while let Some(entry) = old.next_if(|(other, _)| other < key) {
            made.push(entry);
        }
        let before = old.next_if(|(other, _)| other == key).map_or(Value::Missing, |(_, value)| value);
        made.push((*key, changed(before, change, bump)));
    }
    made.extend(old);
    Value::Entries(made.into_bump_slice())
}
