//! Any `Serialize` value as a source: values that slots read are copied, the rest is only
//! traversed. An accepted value is read exactly as `serde_json::to_value` would convert it.

use super::fill::{Fill, Keys};
use super::plan::{NONE, ROOT};
use bumpalo::collections::Vec as BumpVec;
use rulec_lang::ty::Kind;
use rulec_lang::value::Value;
use serde::ser::{
    Error, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, Serializer,
};
use std::fmt;

/// Reads a value that serializes to an object. `None` if the value does not, or if it must be read
/// into a JSON tree.
pub(crate) fn read_value(fill: &mut Fill<'_>, message: &impl Serialize) -> Option<()> {
    let done = message.serialize(ValueSerializer { fill, node: ROOT, build: false }).ok()?;
    done.object.then_some(())
}

/// Path id that marks a value as the key of a map. Fewer types are allowed for keys than for
/// values.
const KEY: u32 = NONE - 1;

/// Error: the value cannot be read here and must be read into a JSON tree, which also reports any
/// errors.
#[derive(Debug, thiserror::Error)]
#[error("not taken apart")]
struct NeedsTree;

impl Error for NeedsTree {
    fn custom<T: fmt::Display>(_: T) -> NeedsTree {
        NeedsTree
    }
}

struct ValueSerializer<'f, 'a> {
    fill: &'f mut Fill<'a>,
    node: u32,
    /// Whether the value is part of a list or dict that is built as a whole.
    build: bool,
}

struct Done<'a> {
    /// The value, if it was built as a whole, else missing.
    value: Value<'a>,
    /// 1 if the value is a required field of its object, else 0; see [`Fill::put`].
    given: u32,
    /// Whether the value is an object.
    object: bool,
}

impl<'f, 'a> ValueSerializer<'f, 'a> {
    fn scalar(self, value: Value<'a>) -> Result<Done<'a>, NeedsTree> {
        let given = if self.build { 0 } else { self.fill.put(self.node, value) };
        Ok(Done { value, given, object: false })
    }

    fn float(self, float: f64) -> Result<Done<'a>, NeedsTree> {
        let value = if float.is_finite() { Value::from_float(float) } else { Value::Missing };
        if self.build && matches!(value, Value::Int(_)) {
            // A JSON tree keeps `-0` distinct from 0, and an argument may show the enclosing list
            // as written.
            return Err(NeedsTree);
        }
        self.scalar(value)
    }

    fn whole(self, int: impl TryInto<i64> + Into<i128>) -> Result<Done<'a>, NeedsTree> {
        let wide: i128 = int.into();
        match i64::try_from(wide) {
            Ok(int) => self.scalar(Value::Int(int)),
            Err(_) if self.build => Err(NeedsTree),
            Err(_) => self.scalar(Value::Float(wide as f64)),
        }
    }

    /// Ends a list or dict. `value` is the list or dict if it was built as a whole.
    fn end(self, kind: Kind, value: Option<Value<'a>>) -> Result<Done<'a>, NeedsTree> {
        let given = match value {
            None => self.fill.put_unread(self.node, kind),
            Some(_) if self.build => 0,
            Some(value) => self.fill.put_built(self.node, value),
        };
        Ok(Done { value: value.unwrap_or(Value::Missing), given, object: kind == Kind::Dict })
    }

    fn list(self) -> List<'f, 'a> {
        let whole = self.build || self.fill.plan.wants(self.node, Kind::List);
        let items = whole.then(|| BumpVec::new_in(self.fill.bump));
        List { at: self, items }
    }

    fn dict(self) -> Dict<'f, 'a> {
        let whole = self.build || self.fill.plan.wants(self.node, Kind::Dict);
        let entries = whole.then(|| BumpVec::new_in(self.fill.bump));
        let keys = Keys::begin(self.fill);
        Dict { at: self, entries, keys, key: None, given: 0 }
    }
}

/// A list under construction.
struct List<'f, 'a> {
    at: ValueSerializer<'f, 'a>,
    items: Option<BumpVec<'a, Value<'a>>>,
}

impl<'a> List<'_, 'a> {
    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), NeedsTree> {
        let build = self.items.is_some();
        let done = item.serialize(ValueSerializer { fill: self.at.fill, node: NONE, build })?;
        if let Some(items) = &mut self.items {
            items.push(done.value);
        }
        Ok(())
    }

    fn done(self) -> Result<Done<'a>, NeedsTree> {
        self.at.end(Kind::List, self.items.map(|items| Value::List(items.into_bump_slice())))
    }
}

/// An object under construction.
struct Dict<'f, 'a> {
    at: ValueSerializer<'f, 'a>,
    entries: Option<BumpVec<'a, (&'a str, Value<'a>)>>,
    keys: Keys<'a>,
    key: Option<&'a str>,
    given: u32,
}

impl<'a> Dict<'_, 'a> {
    /// Returns the serializer for the value of a key. A duplicate key needs a JSON tree, which
    /// keeps the last value.
    fn inside(&mut self, key: &'a str) -> Result<ValueSerializer<'_, 'a>, NeedsTree> {
        let ValueSerializer { fill, node, .. } = &mut self.at;
        let build = self.entries.is_some();
        let node = if build { NONE } else { fill.plan.child(*node, key) };
        self.keys.add(fill, key, node).ok_or(NeedsTree)?;
        Ok(ValueSerializer { fill, node, build })
    }

    fn keep(&mut self, key: &'a str, done: &Done<'a>) {
        self.given += done.given;
        if let Some(entries) = &mut self.entries {
            entries.push((key, done.value));
        }
    }

    fn entry<T: Serialize + ?Sized>(&mut self, key: &'a str, value: &T) -> Result<(), NeedsTree> {
        let done = value.serialize(self.inside(key)?)?;
        self.keep(key, &done);
        Ok(())
    }

    fn done(self) -> Result<Done<'a>, NeedsTree> {
        let Dict { at, entries, keys, given, .. } = self;
        keys.end(at.fill);
        if entries.is_none() {
            at.fill.end(at.node, given);
        }
        let value = entries.map(|mut entries| {
            entries.sort_unstable_by_key(|(key, _)| *key);
            Value::Entries(entries.into_bump_slice())
        });
        at.end(Kind::Dict, value)
    }
}

/// Defines methods of a `Serializer` that convert their argument and call another method.
macro_rules! scalars {
    ($($name:ident($value:ident: $ty:ty) $read:ident $as:expr;)*) => {$(
        fn $name(self, $value: $ty) -> Result<Self::Ok, NeedsTree> {
            self.$read($as)
        }
    )*};
}

impl<'f, 'a> Serializer for ValueSerializer<'f, 'a> {
    type Ok = Done<'a>;
    type Error = NeedsTree;
    type SerializeSeq = List<'f, 'a>;
    type SerializeTuple = List<'f, 'a>;
    type SerializeTupleStruct = List<'f, 'a>;
    // Tuple and struct variants are rare enough to be left to the JSON tree.
    type SerializeTupleVariant = Impossible<Done<'a>, NeedsTree>;
    type SerializeMap = Dict<'f, 'a>;
    type SerializeStruct = Dict<'f, 'a>;
    type SerializeStructVariant = Impossible<Done<'a>, NeedsTree>;

    scalars! {
        serialize_i8(value: i8) whole value;
        serialize_i16(value: i16) whole value;
        serialize_i32(value: i32) whole value;
        serialize_i64(value: i64) whole value;
        serialize_u8(value: u8) whole value;
        serialize_u16(value: u16) whole value;
        serialize_u32(value: u32) whole value;
        serialize_u64(value: u64) whole value;
        serialize_f32(value: f32) float value.into();
        serialize_f64(value: f64) float value;
        serialize_bool(value: bool) scalar Value::Bool(value);
        serialize_char(value: char) serialize_str value.encode_utf8(&mut [0; 4]);
        serialize_unit_struct(_name: &'static str) scalar Value::Missing;
    }

    fn serialize_str(self, value: &str) -> Result<Done<'a>, NeedsTree> {
        if self.node == NONE && !self.build {
            return self.scalar(Value::Missing);
        }
        let text = self.fill.bump.alloc_str(value);
        self.scalar(Value::Str(text))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Done<'a>, NeedsTree> {
        Err(NeedsTree)
    }

    fn serialize_none(self) -> Result<Done<'a>, NeedsTree> {
        self.scalar(Value::Missing)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Done<'a>, NeedsTree> {
        if self.node == KEY { Err(NeedsTree) } else { value.serialize(self) }
    }

    fn serialize_unit(self) -> Result<Done<'a>, NeedsTree> {
        self.scalar(Value::Missing)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Done<'a>, NeedsTree> {
        self.scalar(Value::Str(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Done<'a>, NeedsTree> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Done<'a>, NeedsTree> {
        let mut dict = self.dict();
        dict.entry(variant, value)?;
        dict.done()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'f, 'a>, NeedsTree> {
        Ok(self.list())
    }

    fn serialize_tuple(self, _: usize) -> Result<List<'f, 'a>, NeedsTree> {
        Ok(self.list())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List<'f, 'a>, NeedsTree> {
        Ok(self.list())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<Done<'a>, NeedsTree>, NeedsTree> {
        Err(NeedsTree)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Dict<'f, 'a>, NeedsTree> {
        Ok(self.dict())
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Dict<'f, 'a>, NeedsTree> {
        // These structs have a meaning only for serde_json itself, such as raw JSON text.
        if name.starts_with("$serde_json::") { Err(NeedsTree) } else { Ok(self.dict()) }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<Done<'a>, NeedsTree>, NeedsTree> {
        Err(NeedsTree)
    }
}

macro_rules! lists {
    ($($name:ident $method:ident,)*) => {$(
        impl<'a> $name for List<'_, 'a> {
            type Ok = Done<'a>;
            type Error = NeedsTree;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), NeedsTree> {
                self.item(item)
            }

            fn end(self) -> Result<Done<'a>, NeedsTree> {
                self.done()
            }
        }
    )*};
}

lists! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
}

impl<'a> SerializeMap for Dict<'_, 'a> {
    type Ok = Done<'a>;
    type Error = NeedsTree;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NeedsTree> {
        // A text is copied. Any other key needs the JSON tree.
        let fill = &mut *self.at.fill;
        let done = key.serialize(ValueSerializer { fill, node: KEY, build: true })?;
        match done.value {
            Value::Str(key) => self.key = Some(key),
            _ => return Err(NeedsTree),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NeedsTree> {
        let key = self.key.take().ok_or(NeedsTree)?;
        self.entry(key, value)
    }

    fn end(self) -> Result<Done<'a>, NeedsTree> {
        self.done()
    }
}

impl<'a> SerializeStruct for Dict<'_, 'a> {
    type Ok = Done<'a>;
    type Error = NeedsTree;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), NeedsTree> {
        self.entry(key, value)
    }

    fn end(self) -> Result<Done<'a>, NeedsTree> {
        self.done()
    }
}
