//! Values in a document that are not JSON: `NaN`, `Infinity` and half of a surrogate pair, which
//! JSON writers of Python and JavaScript write. Such a value makes its item unusable, but not the
//! document.

use super::located::{self, PathStep, UNREADABLE_KEY};
use super::{ImportError, Untranslatable};
use rulec::Message;
use rulec_base::json::{self, JsonError, JsonErrorKind};
use rulec_base::message;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of unreadable values (values that are not JSON) in a document. It is limited
/// because the importer searches all items for each such value.
const MAX_UNREADABLE_VALUES: usize = 1_000;

/// A document in which valid JSON replaces the values that are not JSON.
pub(super) struct RepairedDocument {
    /// The text of the document, in its original length. Each unreadable value is replaced by an
    /// empty object and spaces. In a key, each half of a surrogate pair is replaced by the
    /// replacement character.
    pub(super) text: String,
    /// The parsed document. A [marked object](UNREADABLE_KEY) replaces each unreadable value, and
    /// each value whose key is unreadable.
    pub(super) value: Json,
    pub(super) unreadable: Vec<UnreadablePart>,
}

/// A part of a document that is not JSON.
pub(super) struct UnreadablePart {
    /// The path of the value. For a key, the path of the object that has the key.
    pub(super) steps: Vec<PathStep>,
    /// The range of the value in the text, in bytes. `None` for a key.
    pub(super) range: Option<Range<usize>>,
    /// The reason why the part cannot be read.
    pub(super) reason: Message,
}

/// Replaces the unreadable values of a document that is not JSON because of `error`.
///
/// # Errors
/// If the document has no unreadable value, has too many, or is not JSON for another reason.
pub(super) fn repair_document(original: &str, error: JsonError) -> Result<RepairedDocument, ImportError> {
    let found = find_unreadable(original);
    if found.is_empty() {
        return Err(error.into());
    }
    if found.len() > MAX_UNREADABLE_VALUES {
        let message = message!(
            "the document has more than {MAX_UNREADABLE_VALUES} values that are no JSON, such as `NaN`; write it as JSON"
        );
        let (steps, position, range) = (Vec::new(), None, None);
        return Err(Untranslatable { message, steps, position, range }.into());
    }
    let mut bytes = original.as_bytes().to_vec();
    for (range, is_key, _) in &found {
        let value = &mut bytes[range.clone()];
        if *is_key {
            // A key stays a text: the half pair becomes the replacement character.
            replace_half_pairs(value);
        } else {
            value.fill(b' ');
            value[..2].copy_from_slice(b"{}");
        }
    }
    let Ok(text) = String::from_utf8(bytes) else { return Err(error.into()) };
    let mut value = json::parse(&text).map_err(|other| match other.kind() {
        JsonErrorKind::Syntax => error,
        _ => other,
    })?;
    let starts: Vec<usize> = found.iter().map(|(range, ..)| range.start).collect();
    let mut unreadable = Vec::new();
    for ((range, is_key, reason), mut steps) in found.into_iter().zip(paths_at(&text, &starts)) {
        if let Some(value) = value_at(&mut value, &steps) {
            *value = json!({ UNREADABLE_KEY: &original[range.clone()] });
        }
        if is_key {
            steps.pop();
        }
        unreadable.push(UnreadablePart { steps, range: (!is_key).then_some(range), reason });
    }
    Ok(RepairedDocument { text, value, unreadable })
}

/// Returns the byte range of the value at each of `paths`. `text` is the repaired text. For a value
/// that `unreadable` lists, the range is its range in the original text.
pub(super) fn locate_values(
    text: &str,
    unreadable: &[UnreadablePart],
    paths: &[&[PathStep]],
) -> Vec<Option<Range<usize>>> {
    let original: BTreeMap<&[PathStep], &Range<usize>> =
        unreadable.iter().filter_map(|one| Some((&*one.steps, one.range.as_ref()?))).collect();
    let ranges = located::find_value_ranges(text, paths).into_iter();
    ranges
        .zip(paths)
        .map(|(range, path)| original.get(path).map(|range| (*range).clone()).or(range))
        .collect()
}

fn value_at<'v>(root: &'v mut Json, steps: &[PathStep]) -> Option<&'v mut Json> {
    steps.iter().try_fold(root, |value, step| match step {
        PathStep::Key(key) => value.get_mut(key),
        PathStep::Index(index) => value.get_mut(index),
    })
}

/// Returns the range of each unreadable value, whether it is a key of an object, and the reason.
fn find_unreadable(text: &str) -> Vec<(Range<usize>, bool, Message)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let (end, has_half_pair) = read_string(bytes, at);
                if is_marked_object_key(&text[at..end]) && is_before_colon(bytes, end) {
                    found.push((at..end, true, message!("the key is U+FFFF, which is no character")));
                } else if has_half_pair {
                    let is_key = is_before_colon(bytes, end);
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

/// True if the JSON string `string`, with its quotes, is the key of marked objects, which replace
/// unreadable values.
fn is_marked_object_key(string: &str) -> bool {
    const ESCAPED_MARK_KEY: &str = "\"\\uFFFF\"";
    string.len() <= ESCAPED_MARK_KEY.len()
        && serde_json::from_str::<String>(string).is_ok_and(|key| key == UNREADABLE_KEY)
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

/// Returns the length in bytes of the escape sequence at the start of `bytes`, and whether it is
/// half of a surrogate pair. A whole pair counts as one sequence.
fn read_escape(bytes: &[u8]) -> (usize, bool) {
    match utf16_code_unit(bytes) {
        Some(0xD800..=0xDBFF)
            if matches!(bytes.get(6..).and_then(utf16_code_unit), Some(0xDC00..=0xDFFF)) =>
        {
            (12, false)
        }
        Some(unit) => (6, (0xD800..=0xDFFF).contains(&unit)),
        None => (2, false),
    }
}

/// Returns the code unit of an escape such as `\ud83d` at the start of the bytes. `None` for any
/// other bytes.
fn utf16_code_unit(bytes: &[u8]) -> Option<u16> {
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

/// A list or object around the current position in a text.
enum OpenContainer {
    /// The position is in a list. Contains the index of the current element.
    Index(usize),
    /// The position is in an object. Contains the byte range of the current key in the text, with
    /// its quotes.
    Key(Range<usize>),
}

/// Returns the path of the value that starts at each offset of `text`, which is valid JSON. If a
/// key starts at the offset, returns the path of its value. The offsets are in increasing order.
fn paths_at(text: &str, offsets: &[usize]) -> Vec<Vec<PathStep>> {
    let (bytes, mut offsets) = (text.as_bytes(), offsets.iter().copied().peekable());
    let (mut paths, mut frames, mut at): (_, Vec<OpenContainer>, usize) = (Vec::new(), Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let mut end = at + 1;
        if *byte == b'"' {
            end = read_string(bytes, at).0;
            if let (true, Some(OpenContainer::Key(key))) = (is_before_colon(bytes, end), frames.last_mut()) {
                *key = at..end;
            }
        }
        if offsets.next_if_eq(&at).is_some() {
            let to_step = |frame: &OpenContainer| match frame {
                OpenContainer::Index(index) => PathStep::Index(*index),
                OpenContainer::Key(key) => {
                    PathStep::Key(serde_json::from_str(&text[key.clone()]).unwrap_or_default())
                }
            };
            paths.push(frames.iter().map(to_step).collect());
        }
        match (byte, frames.last_mut()) {
            (b'[', _) => frames.push(OpenContainer::Index(0)),
            (b'{', _) => frames.push(OpenContainer::Key(0..0)),
            (b']' | b'}', _) => drop(frames.pop()),
            (b',', Some(OpenContainer::Index(index))) => *index += 1,
            _ => {}
        }
        at = end;
    }
    paths
}

/// True if the next character of the JSON text after `end` is a colon, which follows a key.
fn is_before_colon(bytes: &[u8], end: usize) -> bool {
    bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located::{format_path, has_unreadable, is_unreadable};

    fn repair_text(text: &str) -> Result<RepairedDocument, ImportError> {
        repair_document(text, json::parse(text).expect_err("it is no JSON"))
    }

    #[test]
    fn unreadable_values_are_found_and_replaced() {
        let text =
            r#"{"a": [NaN, "\ud83d\ude00 ok NaN", "x\udc00"], "k\ud800": {"b": -Infinity}, "c": "\\ud800"}"#;
        let repaired = repair_text(text).expect("it has such values");
        assert_eq!(repaired.text.len(), text.len());
        let paths: Vec<String> = repaired.unreadable.iter().map(|one| format_path(&one.steps)).collect();
        assert_eq!(paths, ["a[0]", "a[2]", "", "[\"k\u{fffd}\"].b"]);
        let value = repaired.value;
        assert_eq!(value["a"][1], "\u{1f600} ok NaN");
        assert_eq!(value["c"], r"\ud800");
        assert!(is_unreadable(&value["a"][2]) && is_unreadable(&value["k\u{fffd}"]));
        assert!(has_unreadable(&value) && !is_unreadable(&value) && !has_unreadable(&value["a"][1]));
    }

    #[test]
    fn other_errors_of_a_document_are_returned() {
        for text in ["[NaN", "[Na]", "[1,]"] {
            assert!(matches!(repair_text(text), Err(ImportError::Json(_))), "{text}");
        }
        let deep = format!("{}NaN{}", "[".repeat(300_000), "]".repeat(300_000));
        assert!(matches!(repair_text(&deep), Err(ImportError::Json(_))));
        let many = format!("[{}NaN]", "NaN,".repeat(MAX_UNREADABLE_VALUES));
        let error = repair_text(&many).map(|_| ()).expect_err("it has too many such values").to_string();
        assert!(error.contains("more than 1000 values that are no JSON"), "{error}");
        let most = repair_text(&many.replacen("NaN,", "", 1)).expect("it can be read");
        assert_eq!(format_path(&most.unreadable[MAX_UNREADABLE_VALUES - 1].steps), "[999]");
    }
}
