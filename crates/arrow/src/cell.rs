//! Cells of Arrow columns. A column's type is resolved once per batch. [`CellValue`] is a borrowed
//! view of a value. It is used to fill the engine's variables for message fields (slots), to build
//! JSON messages and to write answers.

use crate::block::SlotCells;
use crate::build::JSON_TEXTS_KEY;
use crate::decimal::{decimal_text, exact_number, nearest_number};
use crate::moment::{ColumnTimeZone, format_day};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, LargeStringArray, StringArray, StringViewArray, UnionArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use bumpalo::Bump;
use rulec_base::json::{self, DecimalPaths};
use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::{Value, format_datetime};
use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};
use std::ops::Range;
use time::OffsetDateTime;

/// The value of one cell of an Arrow column. Texts, lists and objects are borrowed from the column.
#[derive(Clone, Copy)]
pub(crate) enum CellValue<'b> {
    /// No value: null, a non-finite number, or a time outside the years 0 to 9999.
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above the range of `i64`.
    Wide(u64),
    Float(f64),
    /// A number that the rules read as a decimal, and that a float would round. The parts are the
    /// digits as an integer, and the number of digits after the point.
    Digits(i128, i8),
    Str(&'b str),
    /// A text that is one serialized JSON value.
    Json(&'b str),
    Time(OffsetDateTime),
    /// A date, as the number of days since 1970-01-01.
    Day(i64),
    /// A list: the column of the items, and the range of the list's items in this column.
    List(&'b TypedColumn<'b>, usize, usize),
    /// An object: the columns of its fields, and the row of the object in these columns.
    Struct(&'b [(&'b str, TypedColumn<'b>)], usize),
    /// A map: its key and value columns, and the range of the map's entries in these columns.
    Map(&'b (TypedColumn<'b>, TypedColumn<'b>), usize, usize),
}

/// How to interpret the texts of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    /// Each text of the column is a plain string value.
    Text,
    /// Each text is a serialized JSON value, which is parsed.
    Json,
    /// Untyped cells, such as CSV cells. A cell that parses as JSON is read as the JSON value, any
    /// other cell as text.
    Untyped,
}

/// A column whose Arrow type was resolved once, so that reading a cell needs no checks of the type.
pub(crate) struct TypedColumn<'b> {
    nulls: Option<&'b NullBuffer>,
    values: ColumnValues<'b>,
}

enum StringColumn<'b> {
    Small(&'b StringArray),
    Large(&'b LargeStringArray),
    View(&'b StringViewArray),
}

enum ListOffsets<'b> {
    Small(&'b [i32]),
    Large(&'b [i64]),
    Fixed(&'b FixedSizeListArray),
}

enum ColumnValues<'b> {
    /// A column of a type that rules cannot read, or of nulls only.
    Nothing,
    Bool(&'b BooleanBuffer),
    I8(&'b [i8]),
    I16(&'b [i16]),
    I32(&'b [i32]),
    I64(&'b [i64]),
    U8(&'b [u8]),
    U16(&'b [u16]),
    U32(&'b [u32]),
    U64(&'b [u64]),
    F16(&'b [<Float16Type as ArrowPrimitiveType>::Native]),
    F32(&'b [f32]),
    F64(&'b [f64]),
    /// Decimal numbers, the number of digits after their point, and whether the rules read them as
    /// decimals.
    Decimal(&'b [i128], i8, bool),
    Text(StringColumn<'b>, TextFormat),
    Time(&'b [i64], TimeUnit, ColumnTimeZone),
    Day32(&'b [i32]),
    Day64(&'b [i64]),
    /// A dictionary column: the key of each row, and the distinct values that the keys select.
    Dictionary(Box<(TypedColumn<'b>, TypedColumn<'b>)>),
    List(ListOffsets<'b>, Box<TypedColumn<'b>>),
    Struct(Vec<(&'b str, TypedColumn<'b>)>),
    /// Columns with dotted names, such as `ctx.n`, which form an object. The object exists if any
    /// of the columns has a value.
    Group(Vec<(&'b str, TypedColumn<'b>)>),
    Map(&'b [i32], Box<(TypedColumn<'b>, TypedColumn<'b>)>),
    Union(&'b UnionArray, Vec<(i8, TypedColumn<'b>)>),
}

impl<'b> TypedColumn<'b> {
    /// Creates a reader of a column. `text_format` says how texts are read; a field that is marked
    /// as JSON is always read as JSON.
    pub fn new(array: &'b dyn Array, field: &Field, text_format: TextFormat) -> TypedColumn<'b> {
        let text_format = if is_json(field) { TextFormat::Json } else { text_format };
        TypedColumn { nulls: array.nulls(), values: ColumnValues::new(array, text_format) }
    }

    /// Creates a reader of several columns that form one object. Each column comes with the name of
    /// its field in the object.
    pub fn group(columns: Vec<(&'b str, TypedColumn<'b>)>) -> TypedColumn<'b> {
        TypedColumn { nulls: None, values: ColumnValues::Group(columns) }
    }

    /// Makes the numbers at the paths `decimal_paths` in messages keep all their digits, in this
    /// column and in the columns inside it. Numbers elsewhere may be rounded to floats.
    pub fn keep_digits(&mut self, decimal_paths: &DecimalPaths) {
        match &mut self.values {
            ColumnValues::Decimal(_, _, is_exact) => *is_exact = decimal_paths.keeps_digits(),
            ColumnValues::Struct(fields) | ColumnValues::Group(fields) => {
                for (name, column) in fields {
                    column.keep_digits(decimal_paths.field(name).unwrap_or(DecimalPaths::none()));
                }
            }
            ColumnValues::List(_, items) => {
                items.keep_digits(decimal_paths.elements().unwrap_or(DecimalPaths::none()));
            }
            ColumnValues::Map(_, inner) => {
                inner.1.keep_digits(decimal_paths.elements().unwrap_or(DecimalPaths::none()));
            }
            ColumnValues::Dictionary(inner) => inner.1.keep_digits(decimal_paths),
            ColumnValues::Union(_, members) => {
                members.iter_mut().for_each(|(_, member)| member.keep_digits(decimal_paths));
            }
            _ => {}
        }
    }

    /// Returns the fields of an object column that has the same fields in every row. Returns an
    /// empty slice for any other column.
    pub fn fields(&self) -> &[(&'b str, TypedColumn<'b>)] {
        match &self.values {
            ColumnValues::Struct(fields) | ColumnValues::Group(fields) => fields,
            _ => &[],
        }
    }

    /// Returns the column's null buffer. `None` if the column has no null buffer, as for unions;
    /// the nulls of a union are found when a row is read.
    pub fn nulls(&self) -> Option<&'b NullBuffer> {
        self.nulls
    }

    /// Returns the cell of a row. Panics if the row is out of range.
    #[inline]
    pub fn cell(&self, row: usize) -> CellValue<'_> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            CellValue::Null
        } else {
            self.values.cell(row)
        }
    }
}

impl TypedColumn<'_> {
    /// Copies a range of rows of this column into `cells`, the values of one slot (the engine's
    /// variable for a message field). The column's type is checked only once for all rows. `kinds`
    /// are the kinds of value that the slot accepts. Lists are allocated in `bump`.
    ///
    /// Returns false, and copies nothing, for a type that this function does not support, or if
    /// some float is not finite. The caller must then convert the cells one by one.
    pub fn fill_slots<'c>(
        &'c self,
        rows: Range<usize>,
        bump: &'c Bump,
        kinds: KindSet,
        cells: SlotCells<'_, 'c>,
    ) -> bool {
        match &self.values {
            ColumnValues::Bool(bits) => {
                cells.put_values(Kind::Bool, kinds, rows.map(|row| Value::Bool(bits.value(row))))
            }
            ColumnValues::I32(values) => {
                cells.put_values(
                    Kind::Int,
                    kinds,
                    values[rows].iter().map(|value| Value::Int((*value).into())),
                );
            }
            ColumnValues::I64(values) => {
                cells.put_values(Kind::Int, kinds, values[rows].iter().map(|value| Value::Int(*value)));
            }
            ColumnValues::Text(StringColumn::Small(array), TextFormat::Text) => {
                cells.put_values(Kind::String, kinds, rows.map(|row| Value::Str(array.value(row))));
            }
            ColumnValues::Text(StringColumn::View(array), TextFormat::Text) => {
                cells.put_values(Kind::String, kinds, rows.map(|row| Value::Str(array.value(row))));
            }
            ColumnValues::F64(values) if values[rows.clone()].iter().all(|value| value.is_finite()) => {
                let value = |value: &f64| Value::Float(*value).read_as(kinds);
                cells.put_values(Kind::Float, KindSet::MESSAGE_KINDS, values[rows].iter().map(value));
            }
            ColumnValues::Dictionary(inner) => {
                let (
                    ColumnValues::I32(keys),
                    ColumnValues::Text(StringColumn::Small(texts), TextFormat::Text),
                ) = (&inner.0.values, &inner.1.values)
                else {
                    return false;
                };
                if inner.1.nulls.is_some() {
                    return false;
                }
                // The key of a null row may be out of range, so it must be checked.
                let text = |key: i32| usize::try_from(key).ok().filter(|key| *key < texts.len());
                let value = |key: &i32| text(*key).map_or(Value::Missing, |key| Value::Str(texts.value(key)));
                cells.put_values(Kind::String, kinds, keys[rows].iter().map(value));
            }
            ColumnValues::List(offsets, items) => {
                let (ColumnValues::Text(StringColumn::Small(texts), TextFormat::Text), None) =
                    (&items.values, items.nulls)
                else {
                    return false;
                };
                let list = |(start, end): (usize, usize)| {
                    Value::list_in(bump, (start..end).map(|item| Value::Str(texts.value(item))))
                };
                cells.put_values(Kind::List, kinds, rows.map(|row| list(offsets.element_range(row))));
            }
            _ => return false,
        }
        true
    }
}

/// True if a field marks its texts as JSON, with the extension type `arrow.json` or the metadata of
/// a dictionary. Parquet's logical type JSON is read as `arrow.json`.
pub(crate) fn is_json(field: &Field) -> bool {
    field.extension_type_name() == Some("arrow.json") || field.metadata().contains_key(JSON_TEXTS_KEY)
}

impl<'b> ColumnValues<'b> {
    fn new(array: &'b dyn Array, text_format: TextFormat) -> ColumnValues<'b> {
        let strings = |strings| ColumnValues::Text(strings, text_format);
        let inner = |array: &'b ArrayRef, field: &Field| TypedColumn::new(array, field, TextFormat::Text);
        match array.data_type() {
            DataType::Boolean => ColumnValues::Bool(array.as_boolean().values()),
            DataType::Int8 => ColumnValues::I8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => ColumnValues::I16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => ColumnValues::I32(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => ColumnValues::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => ColumnValues::U8(array.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => ColumnValues::U16(array.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => ColumnValues::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => ColumnValues::U64(array.as_primitive::<UInt64Type>().values()),
            DataType::Float16 => ColumnValues::F16(array.as_primitive::<Float16Type>().values()),
            DataType::Float32 => ColumnValues::F32(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => ColumnValues::F64(array.as_primitive::<Float64Type>().values()),
            DataType::Decimal128(_, scale) => {
                ColumnValues::Decimal(array.as_primitive::<Decimal128Type>().values(), *scale, false)
            }
            DataType::Utf8 => strings(StringColumn::Small(array.as_string())),
            DataType::LargeUtf8 => strings(StringColumn::Large(array.as_string())),
            DataType::Utf8View => strings(StringColumn::View(array.as_string_view())),
            DataType::Timestamp(unit, Some(zone)) => match ColumnTimeZone::from_name(zone) {
                Some(zone) => ColumnValues::Time(timestamp_values(array, *unit), *unit, zone),
                None => ColumnValues::Nothing,
            },
            DataType::Date32 => ColumnValues::Day32(array.as_primitive::<Date32Type>().values()),
            DataType::Date64 => ColumnValues::Day64(array.as_primitive::<Date64Type>().values()),
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary();
                let (keys, values) = (dictionary.keys(), dictionary.values());
                let values =
                    TypedColumn { nulls: values.nulls(), values: ColumnValues::new(values, text_format) };
                let keys = TypedColumn { nulls: keys.nulls(), values: ColumnValues::new(keys, text_format) };
                ColumnValues::Dictionary(Box::new((keys, values)))
            }
            DataType::List(item) => {
                let list = array.as_list::<i32>();
                ColumnValues::List(
                    ListOffsets::Small(list.value_offsets()),
                    Box::new(inner(list.values(), item)),
                )
            }
            DataType::LargeList(item) => {
                let list = array.as_list::<i64>();
                ColumnValues::List(
                    ListOffsets::Large(list.value_offsets()),
                    Box::new(inner(list.values(), item)),
                )
            }
            DataType::FixedSizeList(item, _) => {
                let list = array.as_fixed_size_list();
                ColumnValues::List(ListOffsets::Fixed(list), Box::new(inner(list.values(), item)))
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns().iter().zip(fields);
                ColumnValues::Struct(
                    columns.map(|(column, field)| (field.name().as_str(), inner(column, field))).collect(),
                )
            }
            DataType::Map(_, _) => {
                let map = array.as_map();
                let (keys, values) = map.entries_fields();
                let inner = (inner(map.keys(), keys), inner(map.values(), values));
                ColumnValues::Map(map.value_offsets(), Box::new(inner))
            }
            DataType::Union(fields, _) => {
                let union: &UnionArray = array.as_union();
                ColumnValues::Union(
                    union,
                    fields.iter().map(|(id, field)| (id, inner(union.child(id), field))).collect(),
                )
            }
            _ => ColumnValues::Nothing,
        }
    }

    #[inline]
    fn cell(&self, row: usize) -> CellValue<'_> {
        match self {
            ColumnValues::Nothing => CellValue::Null,
            ColumnValues::Bool(bits) => CellValue::Bool(bits.value(row)),
            ColumnValues::I8(values) => CellValue::Int(values[row].into()),
            ColumnValues::I16(values) => CellValue::Int(values[row].into()),
            ColumnValues::I32(values) => CellValue::Int(values[row].into()),
            ColumnValues::I64(values) => CellValue::Int(values[row]),
            ColumnValues::U8(values) => CellValue::Int(values[row].into()),
            ColumnValues::U16(values) => CellValue::Int(values[row].into()),
            ColumnValues::U32(values) => CellValue::Int(values[row].into()),
            ColumnValues::U64(values) => unsigned_cell(values[row]),
            ColumnValues::F16(values) => float_cell(values[row].to_f64()),
            ColumnValues::F32(values) => float_cell(values[row].into()),
            ColumnValues::F64(values) => float_cell(values[row]),
            ColumnValues::Decimal(values, scale, is_exact) => decimal_cell(values[row], *scale, *is_exact),
            ColumnValues::Text(strings, text_format) => text_format.to_cell(match strings {
                StringColumn::Small(array) => array.value(row),
                StringColumn::Large(array) => array.value(row),
                StringColumn::View(array) => array.value(row),
            }),
            ColumnValues::Time(values, unit, zone) => {
                zone.to_datetime(values[row], *unit).map_or(CellValue::Null, CellValue::Time)
            }
            ColumnValues::Day32(values) => CellValue::Day(values[row].into()),
            ColumnValues::Day64(values) => CellValue::Day(values[row].div_euclid(86_400_000)),
            ColumnValues::Dictionary(inner) => match inner.0.cell(row) {
                CellValue::Int(key) => usize::try_from(key).map_or(CellValue::Null, |key| inner.1.cell(key)),
                _ => CellValue::Null,
            },
            ColumnValues::List(offsets, items) => {
                let (start, end) = offsets.element_range(row);
                CellValue::List(items, start, end)
            }
            ColumnValues::Struct(fields) => CellValue::Struct(fields, row),
            ColumnValues::Group(fields) => {
                let has_value = fields.iter().any(|(_, field)| !matches!(field.cell(row), CellValue::Null));
                if has_value { CellValue::Struct(fields, row) } else { CellValue::Null }
            }
            ColumnValues::Map(offsets, inner) => {
                CellValue::Map(inner, offsets[row] as usize, offsets[row + 1] as usize)
            }
            ColumnValues::Union(union, members) => {
                let id = union.type_id(row);
                let member = members.iter().find(|(member, _)| *member == id);
                member.map_or(CellValue::Null, |(_, reader)| reader.cell(union.value_offset(row)))
            }
        }
    }
}

impl ListOffsets<'_> {
    fn element_range(&self, row: usize) -> (usize, usize) {
        match self {
            ListOffsets::Small(offsets) => (offsets[row] as usize, offsets[row + 1] as usize),
            ListOffsets::Large(offsets) => (offsets[row] as usize, offsets[row + 1] as usize),
            ListOffsets::Fixed(list) => {
                let (start, length) = (list.value_offset(row) as usize, list.value_length() as usize);
                (start, start + length)
            }
        }
    }
}

impl TextFormat {
    #[inline]
    fn to_cell(self, text: &str) -> CellValue<'_> {
        match self {
            TextFormat::Text => CellValue::Str(text),
            TextFormat::Json => CellValue::Json(text),
            // A check of the first character avoids parsing most texts.
            TextFormat::Untyped if may_be_json(text) && json::parse(text).is_ok() => CellValue::Json(text),
            TextFormat::Untyped => CellValue::Str(text),
        }
    }
}

fn may_be_json(text: &str) -> bool {
    let first = text.trim_ascii_start().bytes().next();
    first.is_some_and(|byte| matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'))
}

fn unsigned_cell(value: u64) -> CellValue<'static> {
    i64::try_from(value).map_or(CellValue::Wide(value), CellValue::Int)
}

/// Converts a float to a cell value. A non-finite number becomes null, because JSON cannot
/// represent it.
fn float_cell(value: f64) -> CellValue<'static> {
    if value.is_finite() { CellValue::Float(value) } else { CellValue::Null }
}

/// Converts the decimal number `value` / 10^`scale`. If `is_exact` is true, the result keeps all
/// digits; otherwise it may be the nearest float.
fn decimal_cell(value: i128, scale: i8, is_exact: bool) -> CellValue<'static> {
    let number = if is_exact { exact_number(value, scale) } else { Some(nearest_number(value, scale)) };
    match number {
        Some(Value::Int(int)) => CellValue::Int(int),
        Some(Value::Wide(int)) => CellValue::Wide(int),
        Some(Value::Float(float)) => CellValue::Float(float),
        Some(_) => CellValue::Null,
        None => CellValue::Digits(value, scale),
    }
}

fn timestamp_values(array: &dyn Array, unit: TimeUnit) -> &[i64] {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
    }
}

/// Serializes the cell as JSON. Null fields of an object are left out, because columns cannot
/// distinguish null from missing.
impl Serialize for CellValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            CellValue::Null => serializer.serialize_unit(),
            CellValue::Bool(value) => serializer.serialize_bool(value),
            CellValue::Int(value) => serializer.serialize_i64(value),
            CellValue::Wide(value) => serializer.serialize_u64(value),
            CellValue::Float(value) => serializer.serialize_f64(value),
            CellValue::Digits(value, scale) => serializer.serialize_str(&decimal_text(value, scale)),
            CellValue::Str(text) => serializer.serialize_str(text),
            CellValue::Json(text) => json::parse(text).map_err(S::Error::custom)?.serialize(serializer),
            CellValue::Time(time) => serializer.serialize_str(&format_datetime(time)),
            CellValue::Day(count) => format_day(count).serialize(serializer),
            CellValue::List(items, start, end) => {
                let mut list = serializer.serialize_seq(Some(end - start))?;
                (start..end).try_for_each(|row| list.serialize_element(&items.cell(row)))?;
                list.end()
            }
            CellValue::Struct(fields, row) => {
                let mut map = serializer.serialize_map(None)?;
                for (name, field) in fields {
                    match field.cell(row) {
                        CellValue::Null => {}
                        cell => map.serialize_entry(name, &cell)?,
                    }
                }
                map.end()
            }
            CellValue::Map(inner, start, end) => {
                let mut map = serializer.serialize_map(Some(end - start))?;
                for row in start..end {
                    map.serialize_entry(&inner.0.cell(row), &inner.1.cell(row))?;
                }
                map.end()
            }
        }
    }
}
