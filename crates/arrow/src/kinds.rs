//! The kinds of values that a column can contain, derived from its Arrow type. A column is unusable
//! if no value of these kinds can be converted to a kind that the rules read.

use crate::cell::{TextFormat, is_json};
use crate::moment::ColumnTimeZone;
use arrow_schema::{DataType, Field};
use rulec_lang::ty::{Kind, KindSet};

/// Returns the kinds of value that a column with this Arrow type can contain.
pub(crate) fn possible_kinds(field: &Field, text_format: TextFormat) -> KindSet {
    let text_format = if is_json(field) { TextFormat::Json } else { text_format };
    let kinds_of = |ty: &DataType| possible_kinds(&Field::new("", ty.clone(), true), text_format);
    match field.data_type() {
        DataType::Null => KindSet::MESSAGE_KINDS,
        DataType::Boolean => KindSet::BOOL,
        ty if ty.is_integer() => KindSet::INT,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => KindSet::FLOAT,
        DataType::Decimal128(_, scale) if *scale <= 0 => KindSet::INT,
        DataType::Decimal128(..) => KindSet::FLOAT,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => match text_format {
            TextFormat::Text => KindSet::STRING,
            TextFormat::Json | TextFormat::Untyped => KindSet::MESSAGE_KINDS,
        },
        DataType::Timestamp(_, Some(zone)) if ColumnTimeZone::from_name(zone).is_some() => {
            KindSet::DATETIME.union(KindSet::STRING)
        }
        DataType::Date32 | DataType::Date64 => KindSet::STRING,
        DataType::Dictionary(_, values) => kinds_of(values),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => KindSet::LIST,
        DataType::Struct(_) => KindSet::DICT,
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields)
                if fields.first().is_some_and(|key| kinds_of(key.data_type()) == KindSet::STRING) =>
            {
                KindSet::DICT
            }
            _ => KindSet::EMPTY,
        },
        DataType::Union(members, _) => members
            .iter()
            .fold(KindSet::EMPTY, |kinds, (_, member)| kinds.union(possible_kinds(member, TextFormat::Text))),
        _ => KindSet::EMPTY,
    }
}

/// True if rules can read some value of a column: a value of one of the `source` kinds has, or can
/// be converted to, one of the `target` kinds. Otherwise the column is reported as unusable.
pub(crate) fn can_be_read_as(source: KindSet, target: KindSet) -> bool {
    let read_from_texts = KindSet::DATETIME.union(KindSet::VERSION).union(KindSet::DECIMAL);
    source.overlaps(target)
        || (source.overlaps(KindSet::NUMBER) && target.overlaps(KindSet::NUMBER.union(KindSet::DECIMAL)))
        || (source.has(Kind::String) && target.overlaps(read_from_texts))
}
