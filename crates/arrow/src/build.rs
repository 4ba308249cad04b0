//! Builders of typed answer columns. A value is appended as JSON or, in a column with few distinct
//! texts, as a dictionary key.

use crate::scale::scaled_integer;
use arrow_array::builder::{
    BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::extension::Json as JsonType;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef, Fields};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// Key in the metadata of a dictionary column. It marks the texts of the column as JSON, because
/// the extension type `arrow.json` does not apply to dictionaries.
pub(crate) const JSON_TEXTS_KEY: &str = "rulec.json";

/// Type of an answer column. It determines the column's Arrow type and the builder of the column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AnswerType {
    Bool,
    Int,
    Count,
    Float,
    /// Decimal numbers with this number of digits after the point.
    Decimal(u8),
    Text,
    /// JSON text, for columns whose values have several types.
    Json,
    /// Text that is stored as a dictionary: each value is one of a few texts that are known in
    /// advance.
    DictionaryTexts(Arc<DictionaryTexts>),
    List(Box<AnswerType>),
    Record(Vec<(String, AnswerType)>),
}

/// The distinct texts that the values of a dictionary column can have.
#[derive(Debug, Default)]
pub(crate) struct DictionaryTexts {
    texts: Vec<String>,
    key_by_text: HashMap<String, i32>,
    /// True if each text is one serialized JSON value; false if each text is plain text.
    pub is_json: bool,
}

impl PartialEq for DictionaryTexts {
    fn eq(&self, other: &DictionaryTexts) -> bool {
        (&self.texts, self.is_json) == (&other.texts, other.is_json)
    }
}

impl DictionaryTexts {
    /// Creates an empty set of JSON texts.
    pub fn for_json() -> DictionaryTexts {
        DictionaryTexts { is_json: true, ..DictionaryTexts::default() }
    }

    /// Returns the key of a text, and adds the text if it is new.
    pub fn key_of_text(&mut self, text: &str) -> i32 {
        if let Some(key) = self.key_by_text.get(text) {
            return *key;
        }
        let key = i32::try_from(self.texts.len()).unwrap_or(i32::MAX);
        self.texts.push(text.to_owned());
        self.key_by_text.insert(text.to_owned(), key);
        key
    }
}

impl AnswerType {
    pub fn list(item: AnswerType) -> AnswerType {
        AnswerType::List(Box::new(item))
    }

    /// Returns the type of a list of records. `fields` are the names of a record's fields, which
    /// are all texts.
    pub fn text_records(fields: &[&str]) -> AnswerType {
        AnswerType::list(AnswerType::Record(
            fields.iter().map(|name| ((*name).to_owned(), AnswerType::Text)).collect(),
        ))
    }

    /// Returns a nullable Arrow field with the name `name` and this type.
    pub fn to_field(&self, name: &str) -> Field {
        let field = Field::new(name, self.data_type(), true);
        match self {
            AnswerType::Json => field.with_extension_type(JsonType::default()),
            AnswerType::DictionaryTexts(names) if names.is_json => {
                field.with_metadata([(JSON_TEXTS_KEY.to_owned(), "true".to_owned())].into())
            }
            _ => field,
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            AnswerType::Bool => DataType::Boolean,
            AnswerType::Int => DataType::Int64,
            AnswerType::Count => DataType::UInt64,
            AnswerType::Float => DataType::Float64,
            AnswerType::Decimal(scale) => DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale as i8),
            AnswerType::Text | AnswerType::Json => DataType::Utf8,
            AnswerType::DictionaryTexts(_) => {
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
            }
            AnswerType::List(item) => DataType::List(item.list_item_field()),
            AnswerType::Record(fields) => DataType::Struct(record_fields(fields)),
        }
    }

    fn list_item_field(&self) -> FieldRef {
        Arc::new(self.to_field("item"))
    }
}

fn record_fields(fields: &[(String, AnswerType)]) -> Fields {
    fields.iter().map(|(name, ty)| ty.to_field(name)).collect()
}

/// Builder of an answer column; each variant builds one type of column.
pub(crate) enum ColumnBuilder {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Count(UInt64Builder),
    Float(Float64Builder),
    Decimal(Decimal128Builder, u8),
    Text(StringBuilder),
    Json(StringBuilder),
    DictionaryTexts(Arc<DictionaryTexts>, ArrayRef, DictionaryKeyBuilder),
    List { item: FieldRef, item_ends: Vec<i32>, nulls: NullBufferBuilder, items: Box<ColumnBuilder> },
    Record { fields: Fields, names: Vec<String>, columns: Vec<ColumnBuilder>, nulls: NullBufferBuilder },
}

/// Builder of the keys of a dictionary column. Each answer appends a key to several such columns,
/// so appending must be cheap.
pub(crate) struct DictionaryKeyBuilder {
    keys: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Default for DictionaryKeyBuilder {
    fn default() -> DictionaryKeyBuilder {
        DictionaryKeyBuilder { keys: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }
}

impl DictionaryKeyBuilder {
    #[inline]
    fn push(&mut self, key: Option<i32>) {
        self.keys.push(key.unwrap_or_default());
        match key {
            Some(_) => self.nulls.append_non_null(),
            None => self.nulls.append_null(),
        }
    }

    fn push_nulls(&mut self, count: usize) {
        self.keys.resize(self.keys.len() + count, 0);
        self.nulls.append_n_nulls(count);
    }

    fn finish(&mut self) -> Int32Array {
        let empty_keys = Vec::with_capacity(self.keys.len());
        Int32Array::new(std::mem::replace(&mut self.keys, empty_keys).into(), self.nulls.finish())
    }
}

impl ColumnBuilder {
    pub fn new(ty: &AnswerType) -> ColumnBuilder {
        match ty {
            AnswerType::Bool => ColumnBuilder::Bool(BooleanBuilder::new()),
            AnswerType::Int => ColumnBuilder::Int(Int64Builder::new()),
            AnswerType::Count => ColumnBuilder::Count(UInt64Builder::new()),
            AnswerType::Float => ColumnBuilder::Float(Float64Builder::new()),
            AnswerType::Decimal(scale) => {
                let builder = Decimal128Builder::new().with_data_type(ty.data_type());
                ColumnBuilder::Decimal(builder, *scale)
            }
            AnswerType::Text => ColumnBuilder::Text(StringBuilder::new()),
            AnswerType::Json => ColumnBuilder::Json(StringBuilder::new()),
            AnswerType::DictionaryTexts(names) => {
                let texts = StringArray::from_iter_values(&names.texts);
                ColumnBuilder::DictionaryTexts(
                    Arc::clone(names),
                    Arc::new(texts),
                    DictionaryKeyBuilder::default(),
                )
            }
            AnswerType::List(inner) => ColumnBuilder::List {
                item: inner.list_item_field(),
                item_ends: vec![0],
                nulls: NullBufferBuilder::new(0),
                items: Box::new(ColumnBuilder::new(inner)),
            },
            AnswerType::Record(fields) => ColumnBuilder::Record {
                fields: record_fields(fields),
                names: fields.iter().map(|(name, _)| name.clone()).collect(),
                columns: fields.iter().map(|(_, ty)| ColumnBuilder::new(ty)).collect(),
                nulls: NullBufferBuilder::new(0),
            },
        }
    }

    /// Appends a JSON value to the column. Appends null if `value` is `None` or does not have the
    /// column's type.
    pub fn push(&mut self, value: Option<&Json>) {
        let value = value.filter(|value| !value.is_null());
        match self {
            ColumnBuilder::Bool(builder) => builder.append_option(value.and_then(Json::as_bool)),
            ColumnBuilder::Int(builder) => builder.append_option(value.and_then(Json::as_i64)),
            ColumnBuilder::Count(builder) => builder.append_option(value.and_then(Json::as_u64)),
            ColumnBuilder::Float(builder) => builder.append_option(value.and_then(Json::as_f64)),
            ColumnBuilder::Decimal(builder, scale) => {
                builder.append_option(value.and_then(|value| scaled_integer(value, *scale)));
            }
            ColumnBuilder::Text(builder) => builder.append_option(value.and_then(Json::as_str)),
            ColumnBuilder::Json(builder) => builder.append_option(value.map(Json::to_string)),
            ColumnBuilder::DictionaryTexts(names, _, builder) => {
                let dictionary_key = match value {
                    Some(Json::String(text)) => names.key_by_text.get(text),
                    Some(value) if names.is_json => names.key_by_text.get(&value.to_string()),
                    _ => None,
                };
                builder.push(dictionary_key.copied());
            }
            ColumnBuilder::List { items, .. } => match value {
                Some(Json::Array(list)) => {
                    list.iter().for_each(|value| items.push(Some(value)));
                    self.end_list(list.len(), true);
                }
                _ => self.end_list(0, false),
            },
            ColumnBuilder::Record { columns, nulls, .. } => {
                match value {
                    Some(Json::Object(object)) => return self.push_record(object),
                    _ => columns.iter_mut().for_each(|column| column.push(None)),
                }
                nulls.append(false);
            }
        }
    }

    /// Appends `count` nulls to the column.
    pub fn push_nulls(&mut self, count: usize) {
        match self {
            ColumnBuilder::Bool(builder) => builder.append_nulls(count),
            ColumnBuilder::Int(builder) => builder.append_nulls(count),
            ColumnBuilder::Count(builder) => builder.append_nulls(count),
            ColumnBuilder::Float(builder) => builder.append_nulls(count),
            ColumnBuilder::Decimal(builder, _) => builder.append_nulls(count),
            ColumnBuilder::Text(builder) | ColumnBuilder::Json(builder) => builder.append_nulls(count),
            ColumnBuilder::DictionaryTexts(_, _, builder) => builder.push_nulls(count),
            ColumnBuilder::List { item_ends, nulls, .. } => {
                let last = item_ends.last().copied().unwrap_or_default();
                item_ends.resize(item_ends.len() + count, last);
                nulls.append_n_nulls(count);
            }
            ColumnBuilder::Record { columns, nulls, .. } => {
                columns.iter_mut().for_each(|column| column.push_nulls(count));
                nulls.append_n_nulls(count);
            }
        }
    }

    /// Appends an object to a record column; each key of the object belongs to one field of the
    /// record.
    pub fn push_record(&mut self, object: &Map<String, Json>) {
        let ColumnBuilder::Record { names, columns, nulls, .. } = self else { return self.push(None) };
        for (name, column) in names.iter().zip(columns) {
            column.push(object.get(name));
        }
        nulls.append(true);
    }

    /// Appends a dictionary value by its key; `None` appends null. Does nothing if the column is
    /// not a dictionary.
    pub fn push_key(&mut self, key: Option<i32>) {
        if let ColumnBuilder::DictionaryTexts(_, _, builder) = self {
            builder.push(key);
        }
    }

    /// Appends a text. In a column that is not of text, appends null instead.
    pub fn push_text(&mut self, text: &str) {
        match self {
            ColumnBuilder::Text(builder) => builder.append_value(text),
            ColumnBuilder::DictionaryTexts(names, _, builder) => {
                builder.push(names.key_by_text.get(text).copied())
            }
            _ => self.push(None),
        }
    }

    /// Appends a list of texts. Does nothing if the column is not a column of lists.
    pub fn push_texts<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        let ColumnBuilder::List { items, .. } = self else { return };
        let mut count = 0;
        for text in texts {
            items.push_text(text);
            count += 1;
        }
        self.end_list(count, true);
    }

    fn end_list(&mut self, count: usize, is_present: bool) {
        if let ColumnBuilder::List { item_ends, nulls, .. } = self {
            let last = item_ends.last().copied().unwrap_or_default();
            item_ends.push(last + i32::try_from(count).unwrap_or(0));
            nulls.append(is_present);
        }
    }

    /// Returns the values appended so far as a column, and resets the builder.
    pub fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuilder::Bool(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Int(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Count(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Float(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Decimal(builder, _) => Arc::new(builder.finish()),
            ColumnBuilder::Text(builder) | ColumnBuilder::Json(builder) => Arc::new(builder.finish()),
            ColumnBuilder::DictionaryTexts(_, texts, builder) => {
                // All keys are valid, because `DictionaryTexts` created them.
                let keys = builder.finish();
                Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::clone(texts)))
            }
            ColumnBuilder::List { item, item_ends, nulls, items } => {
                let item_ends = OffsetBuffer::new(std::mem::replace(item_ends, vec![0]).into());
                Arc::new(ListArray::new(Arc::clone(item), item_ends, items.finish(), nulls.finish()))
            }
            ColumnBuilder::Record { fields, columns, nulls, .. } => {
                let columns: Vec<ArrayRef> = columns.iter_mut().map(ColumnBuilder::finish).collect();
                let length = nulls.len();
                match StructArray::try_new_with_length(fields.clone(), columns, nulls.finish(), length) {
                    Ok(array) => Arc::new(array),
                    Err(_) => Arc::new(StructArray::new_null(fields.clone(), length)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{TextFormat, TypedColumn};
    use serde_json::json;

    #[test]
    fn built_columns_can_be_read() {
        let mut names = DictionaryTexts::default();
        names.key_of_text("a");
        names.key_of_text("b");
        let record = |fields: &[(&str, AnswerType)]| {
            AnswerType::Record(fields.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())).collect())
        };
        let check = |ty: AnswerType, values: Json| {
            let (mut build, field) = (ColumnBuilder::new(&ty), ty.to_field("x"));
            for _ in 0..2 {
                let values = values.as_array().expect("a list");
                values.iter().for_each(|value| build.push(Some(value)));
                let array = build.finish();
                assert_eq!(array.data_type(), field.data_type());
                let reader = TypedColumn::new(&*array, &field, TextFormat::Text);
                for (row, value) in values.iter().enumerate() {
                    assert_eq!(&serde_json::to_value(reader.cell(row)).expect("JSON"), value);
                }
            }
        };
        check(AnswerType::Bool, json!([true, null, false]));
        check(AnswerType::Int, json!([1, null, -5]));
        check(AnswerType::Count, json!([u64::MAX, null, 0]));
        check(AnswerType::Float, json!([1.5, null, -2.0]));
        check(AnswerType::Decimal(2), json!([19.9, null, -0.01, 9_007_199_254_740_993_i64]));
        check(AnswerType::Text, json!(["", null, "x"]));
        check(AnswerType::Json, json!([{"a": [1, 2.0, null]}, null, "text", 7]));
        check(AnswerType::DictionaryTexts(Arc::new(names)), json!(["b", null, "a", "b"]));
        check(AnswerType::list(AnswerType::Text), json!([["a"], null, [], ["b", "c"]]));
        let inner = record(&[("n", AnswerType::Int), ("t", AnswerType::list(AnswerType::Json))]);
        check(AnswerType::list(inner), json!([[{"n": 1}, {"t": [[], {}]}], null, []]));
    }
}
