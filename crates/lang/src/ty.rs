//! The types of the rule language, by which the checker finds mistakes before a decision. A type is
//! a set of *kinds* of values. If the set contains a list, dict or record, the type also has its
//! element type or fields. Declared and inferred types have the same structure. A declared `int` is
//! one kind, `number` two, `any` all. An inferred type may be "string or list".

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

mod enumeration;
mod record;

pub use enumeration::Enumeration;
pub use record::{Field, RecordType};

use rulec_base::codec::{Codec, DecodeError, Reader, Writer, impl_codec};
use rulec_base::diag::{Arg, Argument, Message, list_alternatives};
use rulec_base::json::DecimalPaths;
use rulec_base::message;
use std::fmt;
use std::sync::Arc;

/// The kind of a value at run time. A type of the rule language is a set of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    Bool,
    Int,
    /// The kind of 64-bit floats, which are never NaN or infinite.
    Float,
    String,
    /// The kind of points in time, which messages contain as RFC 3339 text.
    DateTime,
    List,
    Dict,
    /// A version. Only the function `version` creates one; messages contain none.
    Version,
    /// An exact decimal number. A number or a text in a message is read as a decimal only where the
    /// rules ask for a decimal.
    Decimal,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::Bool,
        Kind::Int,
        Kind::Float,
        Kind::String,
        Kind::DateTime,
        Kind::List,
        Kind::Dict,
        Kind::Version,
        Kind::Decimal,
    ];
}

impl Kind {
    /// True if a value of one kind can equal a value of the other. Each kind is comparable with
    /// itself, and ints are comparable with floats and with decimals.
    #[inline]
    pub const fn is_comparable_with(self, other: Kind) -> bool {
        let both = KindSet::single(self).union(KindSet::single(other));
        self as u8 == other as u8
            || both.is_subset_of(KindSet::NUMBER)
            || both.is_subset_of(KindSet::EXACT_NUMBER)
    }
}

/// A set of value kinds, such as ints and floats. The default set is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindSet(u16);

impl KindSet {
    /// The set without any kind. This set results if the uses of a field contradict each other.
    pub const EMPTY: KindSet = KindSet(0);
    /// The kinds that values of messages have by default. Versions and decimals are excluded: a
    /// value is read as one of them only where the rules ask for it.
    pub const MESSAGE_KINDS: KindSet = KindSet(0x7f);
    /// The set of all kinds, including versions and decimals.
    pub const EVERY_KIND: KindSet = KindSet(0x1ff);
    pub const BOOL: KindSet = KindSet(1 << Kind::Bool as u8);
    pub const INT: KindSet = KindSet(1 << Kind::Int as u8);
    pub const FLOAT: KindSet = KindSet(1 << Kind::Float as u8);
    pub const NUMBER: KindSet = KindSet(Self::INT.0 | Self::FLOAT.0);
    pub const STRING: KindSet = KindSet(1 << Kind::String as u8);
    pub const DATETIME: KindSet = KindSet(1 << Kind::DateTime as u8);
    pub const LIST: KindSet = KindSet(1 << Kind::List as u8);
    pub const DICT: KindSet = KindSet(1 << Kind::Dict as u8);
    pub const VERSION: KindSet = KindSet(1 << Kind::Version as u8);
    pub const DECIMAL: KindSet = KindSet(1 << Kind::Decimal as u8);
    /// The kinds of exact numbers. An int is converted to a decimal if the other operand is a
    /// decimal.
    pub const EXACT_NUMBER: KindSet = KindSet(Self::INT.0 | Self::DECIMAL.0);

    pub const fn single(kind: Kind) -> KindSet {
        KindSet(1 << kind as u8)
    }

    #[must_use]
    pub const fn union(self, other: KindSet) -> KindSet {
        KindSet(self.0 | other.0)
    }

    #[must_use]
    pub const fn intersect(self, other: KindSet) -> KindSet {
        KindSet(self.0 & other.0)
    }

    #[must_use]
    pub const fn without(self, other: KindSet) -> KindSet {
        KindSet(self.0 & !other.0)
    }
    pub const fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }
    pub const fn is_subset_of(self, other: KindSet) -> bool {
        self.0 & !other.0 == 0
    }
    pub const fn overlaps(self, other: KindSet) -> bool {
        self.0 & other.0 != 0
    }
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    /// Returns the kinds of values that are accepted where a value of this set is expected. They
    /// are the kinds of the set, and two additions. Ints are added if the set has floats or
    /// decimals, because an int can be converted to both. Decimals are added if the set contains
    /// [`KindSet::MESSAGE_KINDS`], because the type `any` accepts decimals too.
    #[must_use]
    pub const fn with_accepted_kinds(self) -> KindSet {
        let accepts_ints = self.overlaps(KindSet::FLOAT.union(KindSet::DECIMAL));
        let with_ints = if accepts_ints { self.union(KindSet::INT) } else { self };
        if KindSet::MESSAGE_KINDS.is_subset_of(self) { with_ints.union(KindSet::DECIMAL) } else { with_ints }
    }

    /// Returns this set, extended by the kinds whose values can be compared with its values.
    /// Decimals can be compared with ints, but not with floats. So a set with decimals is extended
    /// by ints; any other set with ints or floats, by both. Other kinds are comparable only with
    /// themselves.
    #[must_use]
    pub fn with_comparable_kinds(self) -> KindSet {
        match self {
            _ if self.overlaps(KindSet::DECIMAL) => self.union(KindSet::EXACT_NUMBER),
            _ if self.overlaps(KindSet::NUMBER) => self.union(KindSet::NUMBER),
            _ => self,
        }
    }

    /// Like [`KindSet::with_comparable_kinds`], for a comparison with an operand of the kinds
    /// `other`. If this set has ints and `other` has decimals, this set is extended by decimals
    /// instead of floats.
    #[must_use]
    pub fn comparable_kinds_with(self, other: KindSet) -> KindSet {
        let has_ints_with_decimals = self.overlaps(KindSet::INT) && other.overlaps(KindSet::DECIMAL);
        match has_ints_with_decimals {
            true => self.union(KindSet::EXACT_NUMBER),
            false => self.with_comparable_kinds(),
        }
    }

    /// Returns the kinds that the operands of a comparison may have, if one has the kinds of this
    /// set and the other the kinds `other`: the kinds of each operand that are comparable with a
    /// kind of the other operand.
    #[must_use]
    pub fn shared_comparable_kinds(self, other: KindSet) -> KindSet {
        self.comparable_kinds_with(other).intersect(other.comparable_kinds_with(self))
    }
}

impl KindSet {
    /// Returns the names of the kinds as shown in an error message.
    pub fn to_message(self) -> Message {
        let mut kind_names: Vec<&str> = Vec::new();
        let number = KindSet::NUMBER.is_subset_of(self);
        for kind in self.iter() {
            kind_names.push(match kind {
                Kind::Bool => "bool",
                Kind::Int if number => "number",
                Kind::Float if number => continue,
                Kind::Int => "int",
                Kind::Float => "float",
                Kind::String => "string",
                Kind::DateTime => "datetime",
                Kind::List => "list",
                Kind::Dict => "dict",
                Kind::Version => "version",
                Kind::Decimal if number => continue,
                Kind::Decimal => "decimal",
            });
        }
        match kind_names.is_empty() {
            _ if KindSet::MESSAGE_KINDS.is_subset_of(self) => Message::verbatim("any"),
            true => message!("nothing"),
            false => list_alternatives(kind_names),
        }
    }
}

impl fmt::Display for KindSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_message())
    }
}

impl Argument for KindSet {
    fn to_arg(&self) -> Arg {
        self.to_message().to_arg()
    }
}

impl Argument for Ty {
    fn to_arg(&self) -> Arg {
        self.to_message().to_arg()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ty {
    pub kinds: KindSet,
    /// The element type of lists and dicts, or the fields of records, if known.
    pub inner: InnerType,
}

/// The element type or the fields of a [`Ty`] that includes lists, dicts or records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InnerType {
    /// Neither the element type nor the fields are known. Every element or field then has the type
    /// `any`.
    Unknown,
    /// The element type of a list, or the value type of a dict.
    Element(Arc<Ty>),
    Fields(Arc<RecordType>),
    /// The texts of an enumeration: the value must be one of them.
    Values(Enumeration),
}

impl Ty {
    /// Creates a type of these kinds, with unknown element type and fields.
    pub const fn from_kinds(kinds: KindSet) -> Ty {
        Ty { kinds, inner: InnerType::Unknown }
    }
    pub const ANY: Ty = Ty::from_kinds(KindSet::MESSAGE_KINDS);
    pub const BOOL: Ty = Ty::from_kinds(KindSet::BOOL);
    pub const INT: Ty = Ty::from_kinds(KindSet::INT);
    pub const FLOAT: Ty = Ty::from_kinds(KindSet::FLOAT);
    pub const NUMBER: Ty = Ty::from_kinds(KindSet::NUMBER);
    pub const STRING: Ty = Ty::from_kinds(KindSet::STRING);
    pub const DATETIME: Ty = Ty::from_kinds(KindSet::DATETIME);
    pub const DECIMAL: Ty = Ty::from_kinds(KindSet::DECIMAL);

    pub fn list(element: Ty) -> Ty {
        Ty { kinds: KindSet::LIST, inner: InnerType::Element(Arc::new(element)) }
    }

    pub fn dict(element: Ty) -> Ty {
        Ty { kinds: KindSet::DICT, inner: InnerType::Element(Arc::new(element)) }
    }

    pub fn record(record: RecordType) -> Ty {
        Ty { kinds: KindSet::DICT, inner: InnerType::Fields(Arc::new(record)) }
    }

    pub fn enumeration(values: Enumeration) -> Ty {
        Ty { kinds: KindSet::STRING, inner: InnerType::Values(values) }
    }

    pub fn from_builtin_name(name: &str) -> Option<Ty> {
        Some(match name {
            "string" => Ty::STRING,
            "int" => Ty::INT,
            "float" => Ty::FLOAT,
            "number" => Ty::NUMBER,
            "bool" => Ty::BOOL,
            "datetime" => Ty::DATETIME,
            "decimal" => Ty::DECIMAL,
            "any" => Ty::ANY,
            _ => return None,
        })
    }

    /// The names of the built-in types. An error about an unknown type suggests the most similar
    /// one.
    pub const BUILTIN_NAMES: [&'static str; 10] =
        ["string", "int", "float", "number", "decimal", "bool", "datetime", "any", "list", "dict"];

    /// Returns the name of the built-in type for a type name of this or another language, such as
    /// `string` for `varchar`. `None` for other words.
    pub fn builtin_for_type_name(word: &str) -> Option<&'static str> {
        let builtin = Ty::BUILTIN_NAMES.into_iter().find(|name| *name == word);
        builtin.or_else(|| Ty::builtin_for_foreign_name(word))
    }

    /// Returns the name of the built-in type for a type name of another language, such as `string`
    /// for `varchar`. `None` for other names.
    pub fn builtin_for_foreign_name(name: &str) -> Option<&'static str> {
        Some(match name.to_lowercase().as_str() {
            "string" | "str" | "text" | "varchar" | "char" | "字符串" | "文本" | "文字" => "string",
            "int" | "integer" | "i64" | "i32" | "long" | "bigint" | "整数" | "整型" => "int",
            "float" | "double" | "f64" | "real" | "浮点数" | "小数" => "float",
            "decimal" | "numeric" | "money" | "金额" => "decimal",
            "number" | "数字" | "数值" => "number",
            "bool" | "boolean" | "布尔" | "布尔值" | "布尔型" => "bool",
            "datetime" | "timestamp" | "日期" | "时间" | "日期时间" | "时间戳" => "datetime",
            "array" | "列表" | "数组" | "清单" => "list<any>",
            "map" | "object" | "字典" | "映射" | "对象" => "dict<any>",
            _ => return None,
        })
    }

    /// Returns the element type of a list or the value type of a dict; `any` if unknown.
    pub fn element(&self) -> Ty {
        match &self.inner {
            InnerType::Element(element) => (**element).clone(),
            _ => Ty::ANY,
        }
    }

    /// Returns the paths at which values of this type contain decimals. A JSON reader must keep all
    /// digits of the numbers at these paths.
    pub fn decimal_paths(&self) -> DecimalPaths {
        let mut places = DecimalPaths::default();
        if self.kinds.has(Kind::Decimal) {
            places.add_root_path();
        }
        match &self.inner {
            InnerType::Unknown | InnerType::Values(_) => {}
            InnerType::Element(element) => places.add_elements(element.decimal_paths()),
            InnerType::Fields(record) => {
                for field in &record.fields {
                    places.add_field(&field.name, field.ty.decimal_paths());
                }
            }
        }
        places
    }

    pub fn fields(&self) -> Option<&RecordType> {
        match &self.inner {
            InnerType::Fields(record) => Some(record),
            _ => None,
        }
    }

    /// Returns the texts of an enumeration; `None` for any other type.
    pub fn values(&self) -> Option<&Enumeration> {
        match &self.inner {
            InnerType::Values(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the texts of an enumeration, or of the enumeration of a list's elements; `None` for
    /// other types.
    pub fn values_or_element_values(&self) -> Option<&Enumeration> {
        match &self.inner {
            InnerType::Element(element) if self.kinds == KindSet::LIST => element.values(),
            _ => self.values(),
        }
    }

    /// True if every value of this type is accepted where `other` is expected; an int is also
    /// accepted as a float or decimal. Element types and fields are compared only if they are known
    /// for both types.
    pub fn is_subtype_of(&self, other: &Ty) -> bool {
        if !self.kinds.is_subset_of(other.kinds.with_accepted_kinds()) {
            return false;
        }
        match (&self.inner, &other.inner) {
            (InnerType::Element(a), InnerType::Element(b)) => a.is_subtype_of(b),
            (InnerType::Fields(a), InnerType::Fields(b)) => {
                b.fields.iter().all(|other_field| match a.get(&other_field.name) {
                    Some(field) => {
                        field.ty.is_subtype_of(&other_field.ty)
                            && (other_field.is_optional || !field.is_optional)
                    }
                    None => other_field.is_optional,
                }) && a.fields.iter().all(|field| b.get(&field.name).is_some())
            }
            (InnerType::Values(a), InnerType::Values(b)) => a.is_subset_of(b),
            (InnerType::Fields(a), InnerType::Element(b)) => {
                a.fields.iter().all(|field| field.ty.is_subtype_of(b))
            }
            _ => true,
        }
    }

    /// Returns the type as shown in an error message: `int`, `string or list`.
    pub fn to_message(&self) -> Message {
        match self.inner {
            InnerType::Unknown => self.kinds.to_message(),
            _ => Message::verbatim(self.to_string()),
        }
    }

    /// Returns the type with an article: "an int", "a string or list".
    pub fn with_article(&self) -> Message {
        let (text, ty) = (self.to_string(), self.to_message());
        match text.as_str() {
            "any" => message!("a value of any type"),
            _ if text.starts_with('"') => message!("one of {ty}"),
            _ if text.starts_with('{') => message!("a record {ty}"),
            _ if text.starts_with(['a', 'e', 'i', 'o', 'u']) => message!("an {ty}"),
            _ => message!("a {ty}"),
        }
    }

    /// Returns the smallest type that includes the values of both types.
    #[must_use]
    pub fn join(&self, other: &Ty) -> Ty {
        let inner = match (&self.inner, &other.inner) {
            (a, b) if a == b => a.clone(),
            (InnerType::Element(a), InnerType::Element(b)) => InnerType::Element(Arc::new(a.join(b))),
            _ => InnerType::Unknown,
        };
        Ty { kinds: self.kinds.union(other.kinds), inner }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner {
            InnerType::Element(element) if self.kinds == KindSet::LIST => write!(f, "list<{element}>"),
            InnerType::Element(element) if self.kinds == KindSet::DICT => write!(f, "dict<{element}>"),
            InnerType::Values(values) => values.fmt(f),
            InnerType::Fields(record) => {
                f.write_str("{ ")?;
                for (position, field) in record.fields.iter().enumerate() {
                    if position > 0 {
                        f.write_str(", ")?;
                    }
                    if position == 4 && record.fields.len() > 5 {
                        f.write_str("…")?;
                        break;
                    }
                    write!(f, "{}{}: {}", field.name, if field.is_optional { "?" } else { "" }, field.ty)?;
                }
                f.write_str(" }")
            }
            _ => self.kinds.fmt(f),
        }
    }
}

impl Codec for KindSet {
    fn write(&self, writer: &mut Writer) {
        self.0.write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<KindSet, DecodeError> {
        let kinds = KindSet(u16::read(reader)?);
        if kinds.is_subset_of(KindSet::EVERY_KIND) {
            Ok(kinds)
        } else {
            Err(DecodeError("there is no such kind"))
        }
    }
}

impl_codec!(struct Ty { kinds, inner });
impl_codec!(enum InnerType { 0 Unknown, 1 Element(ty), 2 Fields(record), 3 Values(values) });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_display_as_english_lists() {
        let check = |kinds: KindSet, expected: &str| assert_eq!(kinds.to_string(), expected);
        check(KindSet::NUMBER, "number");
        check(KindSet::STRING.union(KindSet::LIST), "string or list");
        check(KindSet::NUMBER.union(KindSet::DATETIME), "number or datetime");
        check(KindSet::MESSAGE_KINDS, "any");
        check(KindSet::EMPTY, "nothing");
    }

    #[test]
    fn subtypes_follow_kinds_and_elements() {
        assert!(
            Ty::INT.is_subtype_of(&Ty::NUMBER)
                && Ty::INT.is_subtype_of(&Ty::FLOAT)
                && !Ty::NUMBER.is_subtype_of(&Ty::INT)
        );
        assert!(
            !Ty::list(Ty::INT).is_subtype_of(&Ty::list(Ty::STRING))
                && Ty::list(Ty::INT).is_subtype_of(&Ty::list(Ty::ANY))
        );
    }
}
