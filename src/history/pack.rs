//! Encodes the events (recorded messages) of a history key as few bytes, to save memory. A text
//! that repeats, such as a field name, is encoded once.

use super::{Changes, Events, HashKey};
use rulec_lang::history::{POSITION_FIELD, Timeline};
use rulec_lang::value::{format_datetime, parse_datetime};
use serde_json::{Map, Number, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;
use time::OffsetDateTime;

// The tags that begin an encoded value.
const TAG_NULL: u8 = 0;
const TAG_FALSE: u8 = 1;
const TAG_TRUE: u8 = 2;
const TAG_INT: u8 = 3;
const TAG_UINT: u8 = 4;
const TAG_FLOAT: u8 = 5;
/// In encoded messages, the tag of a text that was encoded before. The number of the text follows.
const TAG_KNOWN_TEXT: u8 = 6;
const TAG_TEXT: u8 = 7;
const TAG_LIST: u8 = 8;
const TAG_OBJECT: u8 = 9;
/// In encoded messages, the tag of a time. Its difference in seconds from the previously encoded
/// time follows.
const TAG_TIME: u8 = 10;

/// Encodes recorded messages as bytes. [`unpack_events`] returns equal messages, but without the
/// stored results of conditions.
pub(super) fn pack_events(events: &Events) -> Box<[u8]> {
    let dropped = events.dropped().map_or(Json::Null, Json::from);
    let stamp = events.stamp().map_or(Json::Null, Json::from);
    let mut packer = HistoryPacker::default();
    packer.bytes.extend(events.timeline.hash_key().to_bytes());
    packer.bytes.push(u8::from(events.changes.is_some()));
    packer.pack_value(&dropped);
    packer.pack_value(&stamp);
    packer.pack_number(events.timeline.first_position().unsigned_abs());
    packer.pack_number(events.elements().len() as u64);
    events.elements().iter().for_each(|element| packer.pack_element(element));
    packer.bytes.into_boxed_slice()
}

/// Decodes recorded messages from the bytes that [`pack_events`] has returned.
pub(super) fn unpack_events(bytes: &[u8]) -> Events {
    let mut reader = HistoryUnpacker { bytes, texts: Vec::new(), last_time_seconds: 0 };
    let hash_key = HashKey::from_bytes(reader.take_bytes());
    let has_changes = reader.take_byte() == 1;
    let dropped = reader.unpack_value();
    let stamp = reader.unpack_value();
    let first = reader.unpack_number();
    let count = reader.unpack_number();
    let elements = (0..count).map(|index| {
        let mut element = reader.unpack_value();
        if let Json::Object(fields) = &mut element {
            fields.insert(POSITION_FIELD.to_owned(), first.saturating_add(index).into());
        }
        element
    });
    let timeline = Timeline::from_elements(elements.collect()).with_hash_key(hash_key);
    let timeline = timeline.with_last_dropped_time(dropped.as_str().and_then(parse_datetime));
    let changes = has_changes.then(Changes::default);
    let stamp = stamp.as_str().map(Box::from);
    Events { timeline: Arc::new(timeline), memo: Arc::default(), changes, stamp }
}

#[derive(Default)]
struct HistoryPacker<'e> {
    bytes: Vec<u8>,
    /// Maps each text that was encoded before to its number. Numbers are given in the order of
    /// first use.
    text_numbers: HashMap<&'e str, u64>,
    /// The previously encoded time, in seconds since 1970.
    last_time_seconds: i64,
}

impl<'e> HistoryPacker<'e> {
    /// Encodes a number as LEB128: 7 bits per byte, lowest bits first.
    fn pack_number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn pack_tagged_number(&mut self, tag: u8, number: u64) {
        self.bytes.push(tag);
        self.pack_number(number);
    }

    fn pack_text(&mut self, text: &'e str) {
        match self.text_numbers.get(text) {
            Some(number) => self.pack_tagged_number(TAG_KNOWN_TEXT, *number),
            None => {
                self.text_numbers.insert(text, self.text_numbers.len() as u64);
                self.pack_tagged_number(TAG_TEXT, text.len() as u64);
                self.bytes.extend_from_slice(text.as_bytes());
            }
        }
    }

    fn pack_value(&mut self, value: &'e Json) {
        match value {
            Json::Null => self.bytes.push(TAG_NULL),
            Json::Bool(value) => self.bytes.push(if *value { TAG_TRUE } else { TAG_FALSE }),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => self.pack_tagged_number(TAG_INT, zigzag_encode(int)),
                (None, Some(int)) => self.pack_tagged_number(TAG_UINT, int),
                (None, None) => {
                    self.bytes.push(TAG_FLOAT);
                    self.bytes.extend(number.as_f64().unwrap_or(f64::NAN).to_le_bytes());
                }
            },
            Json::String(text) => match parse_whole_seconds(text) {
                Some(seconds) => {
                    self.pack_tagged_number(
                        TAG_TIME,
                        zigzag_encode(seconds.wrapping_sub(self.last_time_seconds)),
                    );
                    self.last_time_seconds = seconds;
                }
                None => self.pack_text(text),
            },
            Json::Array(items) => {
                self.pack_tagged_number(TAG_LIST, items.len() as u64);
                items.iter().for_each(|item| self.pack_value(item));
            }
            Json::Object(fields) => self.pack_object(fields.iter()),
        }
    }

    fn pack_object(&mut self, fields: impl Iterator<Item = (&'e String, &'e Json)> + Clone) {
        self.pack_tagged_number(TAG_OBJECT, fields.clone().count() as u64);
        for (name, value) in fields {
            self.pack_text(name);
            self.pack_value(value);
        }
    }

    /// Encodes a message without its field that contains the position in the history. The decoder
    /// computes the position from the position of the first message.
    fn pack_element(&mut self, element: &'e Json) {
        match element {
            Json::Object(fields) => {
                self.pack_object(fields.iter().filter(|(name, _)| *name != POSITION_FIELD))
            }
            _ => self.pack_value(element),
        }
    }
}

/// Decodes the bytes of recorded messages. Bytes that are missing at the end are read as 0.
struct HistoryUnpacker<'b> {
    bytes: &'b [u8],
    texts: Vec<&'b str>,
    last_time_seconds: i64,
}

impl<'b> HistoryUnpacker<'b> {
    fn take_bytes<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().unwrap_or((&[0; N], &[]));
        self.bytes = rest;
        *taken
    }

    fn take_byte(&mut self) -> u8 {
        let [byte] = self.take_bytes();
        byte
    }

    fn unpack_number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take_byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    /// Decodes a text of a recorded message, whose tag was already read.
    fn unpack_text(&mut self, tag: u8) -> &'b str {
        let number = usize::try_from(self.unpack_number()).unwrap_or(usize::MAX);
        if tag == TAG_KNOWN_TEXT {
            return self.texts.get(number).copied().unwrap_or_default();
        }
        let (text, rest) = self.bytes.split_at(number.min(self.bytes.len()));
        self.bytes = rest;
        let text = std::str::from_utf8(text).unwrap_or_default();
        self.texts.push(text);
        text
    }

    fn unpack_value(&mut self) -> Json {
        match self.take_byte() {
            TAG_FALSE => false.into(),
            TAG_TRUE => true.into(),
            TAG_INT => zigzag_decode(self.unpack_number()).into(),
            TAG_UINT => self.unpack_number().into(),
            TAG_FLOAT => {
                Number::from_f64(f64::from_le_bytes(self.take_bytes())).map_or(Json::Null, Json::Number)
            }
            tag @ (TAG_KNOWN_TEXT | TAG_TEXT) => self.unpack_text(tag).into(),
            TAG_TIME => {
                self.last_time_seconds =
                    self.last_time_seconds.wrapping_add(zigzag_decode(self.unpack_number()));
                let time = OffsetDateTime::from_unix_timestamp(self.last_time_seconds);
                time.map_or(Json::Null, |time| format_datetime(time).into())
            }
            TAG_LIST => (0..self.unpack_number()).map(|_| self.unpack_value()).collect::<Vec<_>>().into(),
            TAG_OBJECT => {
                let fields = (0..self.unpack_number()).map(|_| {
                    let tag = self.take_byte();
                    (self.unpack_text(tag).to_owned(), self.unpack_value())
                });
                Json::Object(fields.collect::<Map<_, _>>())
            }
            _ => Json::Null,
        }
    }
}

/// Converts a signed number so that numbers close to 0, positive or negative, need few bytes
/// (zigzag encoding).
fn zigzag_encode(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn zigzag_decode(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Returns a time in seconds since 1970. `None` if the text is not a time of whole seconds in UTC,
/// in the notation that the history uses.
fn parse_whole_seconds(text: &str) -> Option<i64> {
    if !text.ends_with('Z') {
        return None;
    }
    let time = parse_datetime(text).filter(|time| time.nanosecond() == 0)?;
    (format_datetime(time) == text).then(|| time.unix_timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unpacked_events_equal_packed_events() {
        let elements: Vec<Json> = (0..40)
            .map(|position| {
                json!({
                    "#": position + 1_000,
                    "at": format!("2026-01-31T12:00:{position:02}{}", ["Z", ".5Z"][position % 7 / 6]),
                    "tool": (["search", "pay", ""][position % 3]),
                    "amount": ([json!(12.5), json!(-7), json!(u64::MAX), json!(i64::MIN), json!(1e300)][position % 5]),
                    "tags": ([json!(null), json!(["a", true, false, {"x": []}])][position % 2]),
                    "since": "2026-01-31T12:00:00+08:00",
                    "order": {"#": 7, "items": [{"#": "x"}]},
                    "decision": { "chosen": "default", "target": "run" },
                })
            })
            .collect();
        let key = HashKey::from_bytes(*b"0123456789abcdef");
        let events = Events::from_elements(elements.clone(), key).with_dropped(Some("2026-01-30T00:00:00Z"));
        let mut events = events.with_changes();
        events.set_stamp("7 abc");
        let packed = pack_events(&events);
        let unpacked = unpack_events(&packed);
        assert_eq!(unpacked.elements(), elements);
        assert_eq!(unpacked.dropped().as_deref(), Some("2026-01-30T00:00:00Z"));
        assert!(unpacked.timeline.hash_key() == key && unpacked.changes.is_some());
        assert_eq!(unpacked.stamp(), Some("7 abc"));
        assert!(packed.len() < 40 * 100, "{} bytes", packed.len());
        // Damaged bytes give other events, and no panic.
        for length in 0..packed.len() {
            let _ = unpack_events(&packed[..length]);
        }
        assert!(unpack_events(&pack_events(&Events::new(key))).elements().is_empty());
    }
}
