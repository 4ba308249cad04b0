//! Converts JSON messages to columns. A field with values of several types becomes a union or JSON
//! text.

#![allow(dead_code, missing_docs, reason = "each test uses a part of it")]

#[cfg(feature = "formats")]
pub mod streams;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, LargeStringArray, ListArray, MapArray,
    NullArray, RecordBatch, StringArray, StringViewArray, StructArray, UInt64Array, UnionArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::extension::Json as JsonType;
use arrow_schema::{DataType, Field, Fields, Schema, UnionFields};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Column layout of a field with values of several types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MixedTypes {
    /// The field becomes a union column.
    Union,
    /// The field becomes a column of JSON text.
    Json,
    /// Every field of the message becomes a column of JSON text, whatever its values.
    AllJson,
}

/// Paths of objects that have the same fields in every message; other objects are maps.
const RECORD_PATHS: [&str; 5] = ["", "ctx", "ctx.user", "answers", "output"];

/// Converts messages to a batch.
pub fn to_batch(messages: &[Json], mixed: MixedTypes) -> RecordBatch {
    let columns = to_fields(&messages.iter().map(Some).collect::<Vec<_>>(), "", mixed);
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(messages.len()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).expect("a batch")
}

/// Removes null fields of records from messages, because a column cannot distinguish null from
/// missing.
pub fn remove_nulls(messages: &mut [Json]) {
    for path in RECORD_PATHS {
        for message in &mut *messages {
            let mut record = Some(message);
            for name in path.split('.').filter(|name| !name.is_empty()) {
                record = record.and_then(|record| record.get_mut(name));
            }
            if let Some(record) = record.and_then(Json::as_object_mut) {
                record.retain(|_, value| !value.is_null());
            }
        }
    }
}

/// Returns an answer in the form that answer columns give it: an `int` argument outside the range
/// of an `Int64` column becomes null. The function knows `int` arguments by their names in the
/// tests, `n` and `count`.
pub fn limit_ints(answer: &str) -> String {
    let mut limited = answer.to_owned();
    for key in ["\"n\":", "\"count\":"] {
        let Some(start) = limited.find(key) else { continue };
        let value = &limited[start + key.len()..];
        let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
        if value[..end].parse::<u64>().is_ok_and(|int| int > i64::MAX as u64) {
            let comma = usize::from(value[end..].starts_with(','));
            limited.replace_range(start..start + key.len() + end + comma, "");
        }
    }
    limited
}

/// Removes values whose type is not the most common one of their field, so that each column has a
/// single type.
pub fn remove_conflicts(messages: &mut [Json]) {
    let objects: Vec<&mut Json> = messages.iter_mut().collect();
    remove_object_conflicts(objects, "");
}

fn remove_object_conflicts(mut objects: Vec<&mut Json>, path: &str) {
    let keys: BTreeSet<String> = objects
        .iter()
        .filter_map(|object| object.as_object())
        .flat_map(|object| object.keys().cloned())
        .collect();
    for key in keys {
        let mut counts = [0; 8];
        for value in objects.iter().filter_map(|object| object.get(&key)) {
            counts[usize::from(kind_number(value))] += 1;
        }
        // `extra` may have any type, so all its values are removed: 8 is the number of no kind.
        let most = if key == "extra" {
            8
        } else {
            (1..8_u8).max_by_key(|kind| counts[usize::from(*kind)]).unwrap_or(0)
        };
        for object in objects.iter_mut().filter_map(|object| object.as_object_mut()) {
            if object.get(&key).is_some_and(|value| kind_number(value) != most) {
                object.remove(&key);
            }
        }
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if RECORD_PATHS.contains(&path.as_str()) {
            remove_object_conflicts(
                objects.iter_mut().filter_map(|object| object.get_mut(&key)).collect(),
                &path,
            );
        }
    }
}

/// Converts the fields of objects to columns.
fn to_fields(objects: &[Option<&Json>], path: &str, mixed: MixedTypes) -> Vec<(Field, ArrayRef)> {
    let keys =
        objects.iter().filter_map(|object| object.and_then(Json::as_object)).flat_map(|object| object.keys());
    let keys: BTreeSet<&str> = keys.map(String::as_str).collect();
    let column = |key: &str| {
        let values: Vec<Option<&Json>> =
            objects.iter().map(|object| object.and_then(|object| object.get(key))).collect();
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        column(key, &values, &path, mixed)
    };
    keys.into_iter().map(column).collect()
}

/// Returns the type of a value, as a number. Values of one type fit into one column.
fn kind_number(value: &Json) -> u8 {
    match value {
        Json::Null => 0,
        Json::Bool(_) => 1,
        Json::Number(number) if number.is_i64() => 2,
        Json::Number(number) if number.is_u64() => 3,
        Json::Number(_) => 4,
        Json::String(_) => 5,
        Json::Array(_) => 6,
        Json::Object(_) => 7,
    }
}

/// Converts values to a column; missing values become null.
fn column(name: &str, values: &[Option<&Json>], path: &str, mixed: MixedTypes) -> (Field, ArrayRef) {
    let kinds: BTreeSet<u8> =
        values.iter().flatten().map(|value| kind_number(value)).filter(|kind| *kind != 0).collect();
    let kinds: Vec<u8> = kinds.into_iter().collect();
    match kinds.as_slice() {
        _ if mixed == MixedTypes::AllJson => json_column(name, values),
        [] => (Field::new(name, DataType::Null, true), Arc::new(NullArray::new(values.len()))),
        [one] => column_of_kind(*one, name, values, path, mixed),
        _ if mixed == MixedTypes::Json => json_column(name, values),
        several => union_column(several, name, values, path, mixed),
    }
}

fn json_column(name: &str, values: &[Option<&Json>]) -> (Field, ArrayRef) {
    let texts: StringArray = values.iter().map(|value| value.map(Json::to_string)).collect();
    (Field::new(name, DataType::Utf8, true).with_extension_type(JsonType::default()), Arc::new(texts))
}

fn union_column(
    kinds: &[u8],
    name: &str,
    values: &[Option<&Json>],
    path: &str,
    mixed: MixedTypes,
) -> (Field, ArrayRef) {
    let mut members: Vec<Vec<Option<&Json>>> = vec![Vec::new(); kinds.len()];
    let (mut ids, mut offsets) = (Vec::new(), Vec::new());
    for value in values {
        let of = value.map_or(0, kind_number);
        let member = kinds.iter().position(|kind| *kind == of).unwrap_or(0);
        ids.push(member as i8);
        offsets.push(members[member].len() as i32);
        members[member].push(*value);
    }
    let columns = kinds.iter().zip(&members);
    let columns =
        columns.map(|(kind, values)| column_of_kind(*kind, &format!("k{kind}"), values, path, mixed));
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.unzip();
    let fields: UnionFields = (0..).zip(fields.into_iter().map(Arc::new)).collect();
    let offsets = Some(ScalarBuffer::from(offsets));
    let array = UnionArray::try_new(fields, ids.into(), offsets, columns).expect("a union");
    (Field::new(name, arrow_array::Array::data_type(&array).clone(), true), Arc::new(array))
}

fn column_of_kind(
    kind: u8,
    name: &str,
    values: &[Option<&Json>],
    path: &str,
    mixed: MixedTypes,
) -> (Field, ArrayRef) {
    let texts = || values.iter().map(|value| value.and_then(Json::as_str));
    let array: ArrayRef = match kind {
        1 => Arc::new(values.iter().map(|value| value.and_then(Json::as_bool)).collect::<BooleanArray>()),
        2 => Arc::new(values.iter().map(|value| value.and_then(Json::as_i64)).collect::<Int64Array>()),
        3 => Arc::new(values.iter().map(|value| value.and_then(Json::as_u64)).collect::<UInt64Array>()),
        4 => Arc::new(values.iter().map(|value| value.and_then(Json::as_f64)).collect::<Float64Array>()),
        // Covers every string array type.
        5 => match path.len() % 4 {
            0 => Arc::new(texts().collect::<StringArray>()),
            1 => Arc::new(texts().collect::<LargeStringArray>()),
            2 if mixed == MixedTypes::Union => Arc::new(texts().collect::<StringViewArray>()),
            _ => Arc::new(texts().collect::<DictionaryArray<Int32Type>>()),
        },
        6 => list_array(values, path, mixed),
        _ => object_array(values, path, mixed),
    };
    (Field::new(name, array.data_type().clone(), true), array)
}

fn list_array(values: &[Option<&Json>], path: &str, mixed: MixedTypes) -> ArrayRef {
    let lists: Vec<Option<&Vec<Json>>> = values.iter().map(|value| value.and_then(Json::as_array)).collect();
    let items: Vec<Option<&Json>> = lists.iter().flatten().flat_map(|list| list.iter().map(Some)).collect();
    let (field, items) = column("item", &items, &format!("{path}[]"), mixed);
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(|list| list.map_or(0, Vec::len)));
    let nulls: NullBuffer = lists.iter().map(Option::is_some).collect();
    Arc::new(ListArray::new(Arc::new(field), offsets, items, Some(nulls)))
}

fn object_array(values: &[Option<&Json>], path: &str, mixed: MixedTypes) -> ArrayRef {
    let objects: Vec<Option<&Json>> =
        values.iter().map(|value| value.filter(|value| value.is_object())).collect();
    let nulls: NullBuffer = objects.iter().map(Option::is_some).collect();
    if RECORD_PATHS.contains(&path) {
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
            to_fields(&objects, path, mixed).into_iter().unzip();
        let fields = Fields::from(fields);
        return Arc::new(
            StructArray::try_new_with_length(fields, columns, Some(nulls), values.len()).expect("a struct"),
        );
    }
    let maps: Vec<_> = objects.iter().map(|object| object.and_then(Json::as_object)).collect();
    let entries = maps.iter().flatten().flat_map(|map| map.iter());
    let (keys, inner): (Vec<&str>, Vec<Option<&Json>>) =
        entries.map(|(key, value)| (key.as_str(), Some(value))).unzip();
    let (field, inner) = column("value", &inner, &format!("{path}{{}}"), mixed);
    let fields = Fields::from(vec![Field::new("key", DataType::Utf8, false), field]);
    let keys: ArrayRef = Arc::new(StringArray::from(keys));
    let entries = StructArray::new(fields.clone(), vec![keys, inner], None);
    let offsets = OffsetBuffer::from_lengths(maps.iter().map(|map| map.map_or(0, serde_json::Map::len)));
    let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    Arc::new(MapArray::new(field, offsets, entries, Some(nulls), false))
}
