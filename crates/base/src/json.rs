//! Reads one JSON message. The reader is stricter than `serde_json` where leniency would hide a
//! mistake:
//!
//! * A key that occurs twice in one object is rejected. Most readers silently keep one of the two
//!   values, but not all readers keep the same one.
//! * More than [`MAX_NESTING_DEPTH`] nested lists and objects are rejected before they use stack.
//! * More than [`MAX_MESSAGE_OBJECTS`] objects are rejected, because their memory would be out of
//!   proportion to the text.
//! * A number beyond the range of a 64-bit float is rejected. Integers outside -2^63 to 2^64-1
//!   become floats.
//! * `-0` is an integer and `-0.0` a float, as they are written. `serde_json` alone reads both as
//!   floats.
//! * Text after the value is rejected: one text contains one message.
//!
//! [`DecimalPaths`] lists the paths in a message at which rules read decimals. A number at such a
//! path that a float would round is returned as a JSON string of its digits.
//!
//! Each error reports the position (line, column, byte), the path such as `ctx.items[2]`, and a
//! remedy if there is one.

mod error;
mod exact;
mod syntax_error;

use crate::decimal::Decimal;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Deserializer, Map, Number, Value};

use error::ParseRefusal;
pub use error::{JsonError, JsonErrorKind, PathStep};
pub use exact::DecimalPaths;

/// Maximum nesting depth of lists and objects, including the outermost. Deeper nesting could
/// exhaust the stack of the recursive reader.
pub const MAX_NESTING_DEPTH: usize = 128;

/// Maximum length of a message in bytes: 16 MiB.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Maximum number of non-empty objects in a message. Each object takes 0.6 KB, so a message of only
/// small objects would take a hundred times its own length in memory.
pub const MAX_MESSAGE_OBJECTS: usize = 500_000;

/// True if the text has enough opening braces to contain more than [`MAX_MESSAGE_OBJECTS`] objects.
/// If the result is false, the text has at most this number of objects, so a reader need not count
/// them.
pub fn may_hold_too_many_objects(text: &[u8]) -> bool {
    const MIN_OBJECT_BYTES: usize = "{\"\":1}".len();
    text.len() / MIN_OBJECT_BYTES > MAX_MESSAGE_OBJECTS
        && memchr::memchr_iter(b'{', text).count() > MAX_MESSAGE_OBJECTS
}

/// Reads one JSON value of any type. Only white space may surround the value in `text`. The error
/// reports the first mistake with its position.
pub fn parse(text: &str) -> Result<Value, JsonError> {
    parse_exact(text, DecimalPaths::none())
}

/// Reads one JSON value as [`parse`] does, but keeps all digits of numbers at the given paths. A
/// number that a float would round is returned as a string of its digits.
pub fn parse_exact(text: &str, paths: &DecimalPaths) -> Result<Value, JsonError> {
    if text.len() > MAX_MESSAGE_BYTES {
        return Err(JsonError::too_long());
    }
    let mut state = ParseState { text, ..ParseState::default() };
    let mut reader = Deserializer::from_str(text);
    reader.disable_recursion_limit();
    ValueSeed { state: &mut state, depth: 0, decimal_paths: Some(paths).filter(|paths| !paths.is_empty()) }
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| JsonError::new(text, &error, state.refusal, state.path))
}

/// Reads one JSON value that this project has written, such as an explanation or a recorded
/// message. Up to `max_depth` lists and objects may be nested in each other, more than in a message
/// to decide.
///
/// # Errors
/// If the text is not JSON, or has more than `max_depth` nested lists and objects.
pub fn parse_deep(text: &str, max_depth: usize) -> Result<Value, serde_json::Error> {
    if error::exceeds_depth(text, max_depth) {
        let message = format!("lists and objects are nested more than {max_depth} deep");
        return Err(serde::de::Error::custom(message));
    }
    let mut reader = Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = Value::deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// Reads one JSON object, such as a message to decide. Any other JSON value is an error.
pub fn parse_object(text: &str) -> Result<Map<String, Value>, JsonError> {
    parse_object_exact(text, DecimalPaths::none())
}

/// Reads one JSON object as [`parse_object`] does, but keeps all digits of numbers at the given
/// paths, as [`parse_exact`] does.
pub fn parse_object_exact(text: &str, paths: &DecimalPaths) -> Result<Map<String, Value>, JsonError> {
    match parse_exact(text, paths)? {
        Value::Object(map) => Ok(map),
        other => Err(JsonError::not_an_object(text, &other)),
    }
}

/// Reads one JSON value from bytes. Bytes that are not UTF-8 are an error.
pub fn parse_bytes(bytes: &[u8]) -> Result<Value, JsonError> {
    parse(std::str::from_utf8(bytes).map_err(|error| JsonError::invalid_utf8(bytes, error))?)
}

/// Reads one JSON object from bytes. Bytes that are not UTF-8, or that contain another value, are
/// an error.
pub fn parse_object_bytes(bytes: &[u8]) -> Result<Map<String, Value>, JsonError> {
    parse_object_bytes_exact(bytes, DecimalPaths::none())
}

/// Reads one JSON object from UTF-8 bytes like [`parse_object_bytes`], but keeps all digits of
/// numbers at the given paths, as [`parse_exact`] does.
pub fn parse_object_bytes_exact(bytes: &[u8], paths: &DecimalPaths) -> Result<Map<String, Value>, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::invalid_utf8(bytes, error))?;
    parse_object_exact(text, paths)
}

/// The state of reading one JSON text. If the text has a mistake, the error message is built from
/// this state.
#[derive(Default)]
struct ParseState<'t> {
    text: &'t str,
    /// How many JSON numbers were read so far in the text.
    number_count: usize,
    /// How far the source text has been searched for numbers: the number of searched bytes, and how
    /// many numbers begin in them. A later search for the digits of a number continues here.
    searched_bytes_and_numbers: (usize, usize),
    /// Number of object keys read so far in the JSON text. For an error at a key, this number is
    /// later used to find the position of the key.
    key_count: usize,
    /// How many non-empty objects were read so far in the JSON text, for comparison with the limit.
    object_count: usize,
    /// The reason why this reader stopped the parse. `None` if the parse succeeded, or if
    /// `serde_json` stopped it.
    refusal: Option<ParseRefusal>,
    /// Path to the faulty value, innermost step first. Steps are added only after an error, while
    /// the recursion unwinds. Without an error, the path is empty.
    path: Vec<PathStep>,
}

impl<'t> ParseState<'t> {
    /// Returns the source text of the number that was read last, or an empty text if an earlier
    /// call returned it: each call continues to search the JSON text where the previous call ended.
    /// The text must be valid JSON up to this number.
    fn take_last_number_text(&mut self) -> &'t str {
        let bytes = self.text.as_bytes();
        let (mut offset, mut found) = self.searched_bytes_and_numbers;
        let (mut in_string, mut number) = (false, "");
        while let Some(&byte) = bytes.get(offset).filter(|_| found < self.number_count) {
            let start = offset;
            offset += 1;
            match byte {
                b'"' => in_string = !in_string,
                b'\\' if in_string => offset += 1,
                b'-' | b'0'..=b'9' if !in_string => {
                    let in_number =
                        |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                    offset += bytes[offset..].iter().take_while(in_number).count();
                    found += 1;
                    number = &self.text[start..offset];
                }
                _ => {}
            }
        }
        self.searched_bytes_and_numbers = (offset, found);
        number
    }
}

/// A deserializer of one JSON value that refuses too deep nesting, too many objects, and duplicate
/// keys.
struct ValueSeed<'s, 't, 'p> {
    state: &'s mut ParseState<'t>,
    /// Number of lists and objects around the value that this deserializer reads.
    depth: usize,
    /// The paths, relative to the value that is read, at which numbers keep all their digits;
    /// `None` if there are none.
    decimal_paths: Option<&'p DecimalPaths>,
}

impl ValueSeed<'_, '_, '_> {
    fn set_refusal<E: serde::de::Error>(&mut self, refusal: ParseRefusal) -> E {
        self.state.refusal = Some(refusal);
        E::custom("refused")
    }

    /// Returns the nesting depth of the elements of the list or object that is read now. Returns an
    /// error if this list or object exceeds [`MAX_NESTING_DEPTH`].
    fn checked_inner_depth<E: serde::de::Error>(&mut self) -> Result<usize, E> {
        if self.depth >= MAX_NESTING_DEPTH {
            Err(self.set_refusal(ParseRefusal::Depth))
        } else {
            Ok(self.depth + 1)
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_, '_, '_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_, '_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        self.state.number_count += 1;
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        self.state.number_count += 1;
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.state.number_count += 1;
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        let keeps_digits = self.decimal_paths.is_some_and(DecimalPaths::keeps_digits);
        if is_negative_zero || keeps_digits {
            let number = self.state.take_last_number_text();
            if is_negative_zero && number == "-0" {
                return Ok(0.into());
            }
            if keeps_digits && !Decimal::is_kept_by_float(number, value) {
                return Ok(Value::String(number.to_owned()));
            }
        }
        // `serde_json` already rejects numbers that are not finite.
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let depth = self.checked_inner_depth()?;
        let decimal_paths = self.decimal_paths.and_then(DecimalPaths::elements);
        let mut list = Vec::new();
        loop {
            match access.next_element_seed(ValueSeed { state: self.state, depth, decimal_paths }) {
                Ok(Some(value)) => list.push(value),
                Ok(None) => {
                    // The first push would give a `Vec` a capacity of four, which most short lists
                    // do not need.
                    if list.len() < 4 {
                        list.shrink_to_fit();
                    }
                    return Ok(Value::Array(list));
                }
                Err(error) => {
                    self.state.path.push(PathStep::Index(list.len()));
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let depth = self.checked_inner_depth()?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            self.state.key_count += 1;
            if map.is_empty() {
                self.state.object_count += 1;
                if self.state.object_count > MAX_MESSAGE_OBJECTS {
                    let nth = self.state.key_count;
                    return Err(self.set_refusal(ParseRefusal::Objects { nth }));
                }
            }
            match map.entry(key) {
                Entry::Occupied(entry) => {
                    let refusal =
                        ParseRefusal::DuplicateKey { key: entry.key().clone(), nth: self.state.key_count };
                    return Err(self.set_refusal(refusal));
                }
                Entry::Vacant(entry) => {
                    let decimal_paths = self.decimal_paths.and_then(|paths| paths.field(entry.key()));
                    match access.next_value_seed(ValueSeed { state: self.state, depth, decimal_paths }) {
                        Ok(value) => {
                            entry.insert(value);
                        }
                        Err(error) => {
                            self.state.path.push(PathStep::Key(entry.key().clone()));
                            return Err(error);
                        }
                    }
                }
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests;
