//! Reads any `Serialize` value as a message. Copies the values of slots (the fields that rules
//! read), and only traverses the other fields. If a value is accepted, the slots are the same as if
//! `serde_json::to_value` had converted the value first.

use super::fill::{ObjectKeys, SlotFiller};
use super::plan::{NO_PATH, ROOT_PATH};
use bumpalo::collections::Vec as BumpVec;
use rulec_lang::operators::implementations::finite_or_missing;
use rulec_lang::ty::Kind;
use rulec_lang::value::Value;
use serde::ser::{
    Error, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, Serializer,
};
use std::fmt;

/// Reads a value that serializes to an object. `None` if the value serializes to anything else, or
/// if it must be read into a JSON tree.
pub(crate) fn read_value(filler: &mut SlotFiller<'_>, message: &impl Serialize) -> Option<()> {
    let serialized =
        message.serialize(ValueSerializer { filler, path: ROOT_PATH, builds_value: false }).ok()?;
    serialized.is_object.then_some(())
}

/// Path id that a serializer has while it receives a key of a map instead of a value. With this id,
/// the serializer refuses types that are allowed only for values.
const MAP_KEY_PATH: u32 = NO_PATH - 1;

/// Error: this reader cannot handle the value. The value must be read into a JSON tree. The reader
/// that builds the tree also reports any errors.
#[derive(Debug, thiserror::Error)]
#[error("not taken apart")]
struct NeedsTree;

impl Error for NeedsTree {
    fn custom<T: fmt::Display>(_: T) -> NeedsTree {
        NeedsTree
    }
}

/// The serializer that receives the value at one path of the message, and stores it in slots
/// (fields that rules read).
struct ValueSerializer<'f, 'a> {
    filler: &'f mut SlotFiller<'a>,
    path: u32,
    /// Whether the value is inside a list or dict that is built as one value.
    builds_value: bool,
}

/// The result of serializing one value of the message, in the form that the enclosing list or
/// object needs.
struct Serialized<'a> {
    /// The value if it is a scalar or was built as one value. Missing for a list or dict that was
    /// only traversed.
    value: Value<'a>,
    /// 1 if the input contract requires the value's field, else 0. A number, because the enclosing
    /// object counts its required fields; see [`SlotFiller::put_value`].
    required_count: u32,
    /// Whether the value is an object. Only an object can be a message.
    is_object: bool,
}

impl<'f, 'a> ValueSerializer<'f, 'a> {
    fn put_scalar(self, value: Value<'a>) -> Result<Serialized<'a>, NeedsTree> {
        let required = if self.builds_value { 0 } else { self.filler.put_value(self.path, value) };
        Ok(Serialized { value, required_count: required, is_object: false })
    }

    fn put_float(self, float: f64) -> Result<Serialized<'a>, NeedsTree> {
        self.put_scalar(finite_or_missing(float))
    }

    fn put_integer(self, int: impl Into<i128>) -> Result<Serialized<'a>, NeedsTree> {
        self.put_scalar(Value::from_integer(int.into()))
    }

    /// Ends a list or dict, whose kind is `kind`: stores it in slots, or checks it against the
    /// input contract. `value` is `None` if the list or dict was only traversed and not built.
    fn finish_value(self, kind: Kind, value: Option<Value<'a>>) -> Result<Serialized<'a>, NeedsTree> {
        let required = match value {
            None => self.filler.check_unread_value(self.path, kind),
            Some(_) if self.builds_value => 0,
            Some(value) => self.filler.put_built_value(self.path, value),
        };
        Ok(Serialized {
            value: value.unwrap_or(Value::Missing),
            required_count: required,
            is_object: kind == Kind::Dict,
        })
    }

    fn begin_list(self) -> ListSerializer<'f, 'a> {
        let is_built = self.builds_value || self.filler.plan.reads_kind(self.path, Kind::List);
        let items = is_built.then(|| BumpVec::new_in(self.filler.bump));
        ListSerializer { target: self, items }
    }

    fn begin_dict(self) -> DictSerializer<'f, 'a> {
        let is_built = self.builds_value || self.filler.plan.reads_kind(self.path, Kind::Dict);
        let entries = is_built.then(|| BumpVec::new_in(self.filler.bump));
        let keys = ObjectKeys::begin_object(self.filler);
        DictSerializer { target: self, entries, keys, pending_key: None, required_count: 0 }
    }
}

/// Receives the elements of one list of the message, one call for each element.
struct ListSerializer<'f, 'a> {
    target: ValueSerializer<'f, 'a>,
    items: Option<BumpVec<'a, Value<'a>>>,
}

impl<'a> ListSerializer<'_, 'a> {
    fn push_item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), NeedsTree> {
        let build = self.items.is_some();
        let serialized = item.serialize(ValueSerializer {
            filler: self.target.filler,
            path: NO_PATH,
            builds_value: build,
        })?;
        if let Some(items) = &mut self.items {
            items.push(serialized.value);
        }
        Ok(())
    }

    fn finish_list(self) -> Result<Serialized<'a>, NeedsTree> {
        self.target.finish_value(Kind::List, self.items.map(|items| Value::List(items.into_bump_slice())))
    }
}

/// Receives the keys and values of one object of the message.
struct DictSerializer<'f, 'a> {
    target: ValueSerializer<'f, 'a>,
    entries: Option<BumpVec<'a, (&'a str, Value<'a>)>>,
    keys: ObjectKeys<'a>,
    pending_key: Option<&'a str>,
    required_count: u32,
}

impl<'a> DictSerializer<'_, 'a> {
    /// Returns the serializer that receives the value of `key`. Fails at a duplicate key, because
    /// only a JSON tree handles duplicates: it keeps the last value.
    fn child_serializer(&mut self, key: &'a str) -> Result<ValueSerializer<'_, 'a>, NeedsTree> {
        let ValueSerializer { filler, path: node, .. } = &mut self.target;
        let build = self.entries.is_some();
        let node = if build { NO_PATH } else { filler.plan.child_named(*node, key) };
        self.keys.add_key(filler, key, node).ok_or(NeedsTree)?;
        Ok(ValueSerializer { filler, path: node, builds_value: build })
    }

    fn add_entry(&mut self, key: &'a str, serialized: &Serialized<'a>) {
        self.required_count += serialized.required_count;
        if let Some(entries) = &mut self.entries {
            entries.push((key, serialized.value));
        }
    }

    fn serialize_entry<T: Serialize + ?Sized>(&mut self, key: &'a str, value: &T) -> Result<(), NeedsTree> {
        let serialized = value.serialize(self.child_serializer(key)?)?;
        self.add_entry(key, &serialized);
        Ok(())
    }

    fn finish_dict(self) -> Result<Serialized<'a>, NeedsTree> {
        let DictSerializer { target, entries, keys, required_count: required, .. } = self;
        keys.release_keys(target.filler);
        if entries.is_none() {
            target.filler.end_object(target.path, required);
        }
        let value = entries.map(|mut entries| {
            entries.sort_unstable_by_key(|(key, _)| *key);
            Value::Entries(entries.into_bump_slice())
        });
        target.finish_value(Kind::Dict, value)
    }
}

/// Defines methods of a `Serializer`. Each of them converts its argument and calls another method.
macro_rules! scalars {
    ($($name:ident($value:ident: $ty:ty) $read:ident $as:expr;)*) => {$(
        fn $name(self, $value: $ty) -> Result<Self::Ok, NeedsTree> {
            self.$read($as)
        }
    )*};
}

impl<'f, 'a> Serializer for ValueSerializer<'f, 'a> {
    type Ok = Serialized<'a>;
    type Error = NeedsTree;
    type SerializeSeq = ListSerializer<'f, 'a>;
    type SerializeTuple = ListSerializer<'f, 'a>;
    type SerializeTupleStruct = ListSerializer<'f, 'a>;
    // Tuple and struct variants are rare enough to be left to the JSON tree.
    type SerializeTupleVariant = Impossible<Serialized<'a>, NeedsTree>;
    type SerializeMap = DictSerializer<'f, 'a>;
    type SerializeStruct = DictSerializer<'f, 'a>;
    type SerializeStructVariant = Impossible<Serialized<'a>, NeedsTree>;

    scalars! {
        serialize_i8(value: i8) put_integer value;
        serialize_i16(value: i16) put_integer value;
        serialize_i32(value: i32) put_integer value;
        serialize_i64(value: i64) put_integer value;
        serialize_u8(value: u8) put_integer value;
        serialize_u16(value: u16) put_integer value;
        serialize_u32(value: u32) put_integer value;
        serialize_u64(value: u64) put_integer value;
        serialize_f32(value: f32) put_float value.into();
        serialize_f64(value: f64) put_float value;
        serialize_bool(value: bool) put_scalar Value::Bool(value);
        serialize_char(value: char) serialize_str value.encode_utf8(&mut [0; 4]);
        serialize_unit_struct(_name: &'static str) put_scalar Value::Missing;
    }

    fn serialize_str(self, value: &str) -> Result<Serialized<'a>, NeedsTree> {
        if self.path == NO_PATH && !self.builds_value {
            return self.put_scalar(Value::Missing);
        }
        let text = self.filler.bump.alloc_str(value);
        self.put_scalar(Value::Str(text))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Serialized<'a>, NeedsTree> {
        Err(NeedsTree)
    }

    fn serialize_none(self) -> Result<Serialized<'a>, NeedsTree> {
        self.put_scalar(Value::Missing)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Serialized<'a>, NeedsTree> {
        if self.path == MAP_KEY_PATH { Err(NeedsTree) } else { value.serialize(self) }
    }

    fn serialize_unit(self) -> Result<Serialized<'a>, NeedsTree> {
        self.put_scalar(Value::Missing)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Serialized<'a>, NeedsTree> {
        self.put_scalar(Value::Str(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Serialized<'a>, NeedsTree> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Serialized<'a>, NeedsTree> {
        let mut dict = self.begin_dict();
        dict.serialize_entry(variant, value)?;
        dict.finish_dict()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ListSerializer<'f, 'a>, NeedsTree> {
        Ok(self.begin_list())
    }

    fn serialize_tuple(self, _: usize) -> Result<ListSerializer<'f, 'a>, NeedsTree> {
        Ok(self.begin_list())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ListSerializer<'f, 'a>, NeedsTree> {
        Ok(self.begin_list())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<Serialized<'a>, NeedsTree>, NeedsTree> {
        Err(NeedsTree)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<DictSerializer<'f, 'a>, NeedsTree> {
        Ok(self.begin_dict())
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<DictSerializer<'f, 'a>, NeedsTree> {
        // These structs have a meaning only for serde_json itself, such as raw JSON text.
        if name.starts_with("$serde_json::") { Err(NeedsTree) } else { Ok(self.begin_dict()) }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<Serialized<'a>, NeedsTree>, NeedsTree> {
        Err(NeedsTree)
    }
}

macro_rules! lists {
    ($($name:ident $method:ident,)*) => {$(
        impl<'a> $name for ListSerializer<'_, 'a> {
            type Ok = Serialized<'a>;
            type Error = NeedsTree;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), NeedsTree> {
                self.push_item(item)
            }

            fn end(self) -> Result<Serialized<'a>, NeedsTree> {
                self.finish_list()
            }
        }
    )*};
}

lists! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
}

impl<'a> SerializeMap for DictSerializer<'_, 'a> {
    type Ok = Serialized<'a>;
    type Error = NeedsTree;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NeedsTree> {
        // A text is copied. Any other key needs the JSON tree.
        let filler = &mut *self.target.filler;
        let serialized = key.serialize(ValueSerializer { filler, path: MAP_KEY_PATH, builds_value: true })?;
        match serialized.value {
            Value::Str(key) => self.pending_key = Some(key),
            _ => return Err(NeedsTree),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NeedsTree> {
        let key = self.pending_key.take().ok_or(NeedsTree)?;
        self.serialize_entry(key, value)
    }

    fn end(self) -> Result<Serialized<'a>, NeedsTree> {
        self.finish_dict()
    }
}

impl<'a> SerializeStruct for DictSerializer<'_, 'a> {
    type Ok = Serialized<'a>;
    type Error = NeedsTree;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), NeedsTree> {
        self.serialize_entry(key, value)
    }

    fn end(self) -> Result<Serialized<'a>, NeedsTree> {
        self.finish_dict()
    }
}
