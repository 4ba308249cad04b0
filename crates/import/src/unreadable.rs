//! Values in a document that are no JSON: `NaN`, `Infinity` and half of a surrogate pair, which
//! JSON writers of Python and JavaScript write. Such a value makes its item unusable, but not the
//! document.

use super::located::PathStep;
use rulec::Message;
use rulec_base::message;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::ops::Range;

/// A document whose unreadable values were replaced.
pub(super) struct Repaired {
    /// The text with an empty object in place of each unreadable value, and of the same length.
    pub(super) text: String,
    /// The path of each unreadable value, and the reason why it cannot be read.
    pub(super) values: Vec<(Vec<PathStep>, Message)>,
}

/// Replaces the unreadable values of a document. `None` if the text has no such value, or is no
/// JSON for another reason.
pub(super) fn repair(text: &str) -> Option<Repaired> {
    let found = find(text);
    if found.is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for (range, is_key, _) in &found {
        let value = bytes.get_mut(range.clone())?;
        if *is_key {
            // A key stays a text: the half pair becomes the replacement character.
            replace_half_pairs(value);
        } else {
            value.fill(b' ');
            value.get_mut(..2)?.copy_from_slice(b"{}");
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    let root = serde_json::from_str::<&RawValue>(&text).ok()?;
    let values =
        found.into_iter().map(|(range, _, reason)| (path_at(&text, root.get(), range.start), reason));
    let values = values.collect();
    Some(Repaired { text, values })
}

/// Returns the range of each unreadable value, whether it is a key of an object, and the reason.
fn find(text: &str) -> Vec<(Range<usize>, bool, Message)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let (end, has_half_pair) = read_string(bytes, at);
                if has_half_pair {
                    let is_key = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                    let reason =
                        message!("the text contains half of a surrogate pair, which is no character");
                    found.push((at..end, is_key, reason));
                }
                at = end;
            }
            b'-' | b'N' | b'I' => {
                let rest = &bytes[at..];
                let word = ["NaN", "-Infinity", "Infinity"]
                    .into_iter()
                    .find(|word| rest.starts_with(word.as_bytes()));
                if let Some(word) = word {
                    found.push((at..at + word.len(), false, message!("`{word}` is no number of JSON")));
                }
                at += word.map_or(1, str::len);
            }
            _ => at += 1,
        }
    }
    found
}

/// Reads the string that starts at `start`. Returns its end, and whether it has an escaped half of
/// a surrogate pair.
fn read_string(bytes: &[u8], start: usize) -> (usize, bool) {
    let (mut at, mut has_half_pair) = (start + 1, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return (at + 1, has_half_pair),
            b'\\' => {
                let (length, is_half) = read_escape(&bytes[at..]);
                has_half_pair |= is_half;
                at += length;
            }
            _ => at += 1,
        }
    }
    (bytes.len(), has_half_pair)
}

/// Returns the length of an escape sequence, and whether it is half of a surrogate pair.
fn read_escape(bytes: &[u8]) -> (usize, bool) {
    match code_unit(bytes) {
        Some(0xD800..=0xDBFF) if matches!(bytes.get(6..).and_then(code_unit), Some(0xDC00..=0xDFFF)) => {
            (12, false)
        }
        Some(unit) => (6, (0xD800..=0xDFFF).contains(&unit)),
        None => (2, false),
    }
}

/// Returns the code unit of an escape such as `\ud83d` at the start of the bytes.
fn code_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn replace_half_pairs(string: &mut [u8]) {
    let mut at = 0;
    while at < string.len() {
        let (length, is_half) = if string[at] == b'\\' { read_escape(&string[at..]) } else { (1, false) };
        if is_half {
            string[at..at + 6].copy_from_slice(b"\\ufffd");
        }
        at += length;
    }
}

/// Returns the path of the value or key at an offset of `text`. `raw` is a part of `text`.
fn path_at(text: &str, raw: &str, offset: usize) -> Vec<PathStep> {
    let mut path = Vec::new();
    let mut raw = raw;
    loop {
        let start = |part: &RawValue| part.get().as_ptr().addr() - text.as_ptr().addr();
        let contains = |part: &RawValue| (start(part)..start(part) + part.get().len()).contains(&offset);
        let next = if raw.starts_with('[') {
            let items: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
            let position = items.iter().position(|item| contains(item));
            position.map(|position| (PathStep::Index(position), items[position].get()))
        } else if raw.starts_with('{') {
            let members: HashMap<String, &RawValue> = serde_json::from_str(raw).unwrap_or_default();
            let member = members.into_iter().find(|(_, value)| contains(value));
            member.map(|(key, value)| (PathStep::Key(key), value.get()))
        } else {
            None
        };
        let Some((step, inner)) = next else { return path };
        path.push(step);
        raw = inner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located::format_path;

    #[test]
    fn unreadable_values_are_found_and_replaced() {
        let text =
            r#"{"a": [NaN, "\ud83d\ude00 ok NaN", "x\udc00"], "k\ud800": {"b": -Infinity}, "c": "\\ud800"}"#;
        let repaired = repair(text).expect("it has such values");
        assert_eq!(repaired.text.len(), text.len());
        let paths: Vec<String> = repaired.values.iter().map(|(path, _)| format_path(path)).collect();
        assert_eq!(paths, ["a[0]", "a[2]", "", "[\"k\u{fffd}\"].b"]);
        let value: serde_json::Value = serde_json::from_str(&repaired.text).expect("it is JSON");
        assert_eq!(value["a"][1], "\u{1f600} ok NaN");
        assert_eq!(value["c"], r"\ud800");
        assert!(repair(r#"{"a": 1}"#).is_none() && repair("[NaN").is_none() && repair("[Na]").is_none());
    }
}
