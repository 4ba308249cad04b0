//! Implements the built-in functions on texts: change of case, substrings, replacements, similarity
//! and buckets, and parsing of numbers and versions.

use crate::arena::Arena;
use crate::limits::Limit;
use crate::operators::implementations::{finite_or_missing, is_regex_within_budget};
use crate::ty::KindSet;
use crate::value::Value;
use rulec_base::text::pattern::{CaptureGroup, find_capture_group};
use rulec_base::text::{self, BucketHash};
use std::collections::HashSet;

pub(super) fn strip_prefix<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    match args {
        [Value::Str(text), Value::Str(prefix)] => {
            text.strip_prefix(prefix).map_or(Value::Missing, Value::Str)
        }
        _ => Value::Missing,
    }
}

pub(super) fn nonblank_or_missing<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    match args {
        [Value::Str(text)] if !text.trim().is_empty() => Value::Str(text),
        _ => Value::Missing,
    }
}

pub(super) fn captured_text<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let (text, pattern, group) = match *args {
        [Value::Str(text), Value::Str(pattern)] => (text, pattern, CaptureGroup::First),
        [Value::Str(text), Value::Str(pattern), Value::Str(name)] => {
            (text, pattern, CaptureGroup::Name(name))
        }
        [Value::Str(text), Value::Str(pattern), Value::Int(number)] => match usize::try_from(number) {
            Ok(number) => (text, pattern, CaptureGroup::Number(number)),
            Err(_) => return Value::Missing,
        },
        _ => return Value::Missing,
    };
    let within_budget = |states| is_regex_within_budget(text.len(), states, arena);
    let range = find_capture_group(pattern, text, group, within_budget);
    range.and_then(|range| text.get(range)).map_or(Value::Missing, Value::Str)
}

pub(super) fn placeholder_names<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [value] = args else { return Value::Missing };
    let mut distinct_names = HashSet::new();
    let mut names = Vec::new();
    let mut pending = vec![*value];
    while let Some(value) = pending.pop() {
        if let Value::Str(text) = value {
            let names_in_text =
                text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.trim()));
            names.extend(names_in_text.filter(|name| distinct_names.insert(*name)).map(Value::Str));
        } else if let Some(entries) = value.entries() {
            let first = pending.len();
            pending.extend(entries.map(|(_, inner)| inner));
            pending[first..].reverse();
        } else if let Some(elements) = value.elements() {
            let first = pending.len();
            pending.extend(elements);
            pending[first..].reverse();
        }
    }
    arena.build_list(names)
}

pub(super) fn replace<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [Value::Str(text), Value::Str(old), Value::Str(new)] = *args else { return Value::Missing };
    let count = if old.is_empty() { 0 } else { text.matches(old).count() };
    if count == 0 {
        return Value::Str(text);
    }
    // Check the size first. `text` and `new` may both come from a message, and the result can be as
    // large as their product.
    let bytes = (text.len() - count * old.len()).saturating_add(count.saturating_mul(new.len()));
    arena.build_text(bytes, |buffer| {
        for (index, piece) in text.split(old).enumerate() {
            if index > 0 {
                buffer.push_str(new);
            }
            buffer.push_str(piece);
        }
    })
}

pub(super) fn substring<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    match *args {
        [Value::Str(text), Value::Int(first_char)] => slice_characters(text, first_char, i64::MAX),
        [Value::Str(text), Value::Int(first_char), Value::Int(length)] => {
            slice_characters(text, first_char, length)
        }
        _ => Value::Missing,
    }
}

/// Returns at most `length` characters of a text, beginning with the character at index
/// `first_char`. A negative index counts from the end. Returns missing if the index is outside the
/// text, or if `length` is negative.
fn slice_characters(text: &str, first_char: i64, length: i64) -> Value<'_> {
    let Ok(length) = usize::try_from(length) else { return Value::Missing };
    let start = match usize::try_from(first_char.unsigned_abs()).unwrap_or(usize::MAX) {
        0 => Some(0),
        from_end if first_char < 0 => text.char_indices().nth_back(from_end - 1).map(|(offset, _)| offset),
        from_start => character_offset(text, from_start),
    };
    let Some(rest) = start.map(|start| &text[start..]) else { return Value::Missing };
    Value::Str(character_offset(rest, length).map_or(rest, |end| &rest[..end]))
}

/// Returns the byte offset of a character by its index. The index may be the end of the text;
/// `None` beyond the end.
fn character_offset(text: &str, character: usize) -> Option<usize> {
    text.char_indices().map(|(offset, _)| offset).chain([text.len()]).nth(character)
}

pub(super) fn index_of<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    let [Value::Str(text), Value::Str(pattern)] = *args else { return Value::Missing };
    let index = text.find(pattern).map(|index| text[..index].chars().count());
    index.and_then(|index| i64::try_from(index).ok()).map_or(Value::Missing, Value::Int)
}

pub(super) fn to_number<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    match *args {
        [number @ (Value::Int(_) | Value::Wide(_) | Value::Float(_))] => number,
        [Value::Decimal(_)] => {
            let int = args[0].read_as(KindSet::INT);
            if int.is_missing() { args[0].read_as(KindSet::FLOAT) } else { int }
        }
        [Value::Str(text)] => parse_number(text.trim()),
        _ => Value::Missing,
    }
}

/// Parses a number in decimal notation. As in JSON, the result is an int if the text is an integer
/// from -2^63 to 2^64-1; otherwise a float. Missing if the text is not a number, or is beyond the
/// range of floats.
fn parse_number(text: &str) -> Value<'_> {
    // Exclude the texts `inf` and `nan`, which the standard library would also accept.
    if !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E')) {
        return Value::Missing;
    }
    match (text.parse::<i64>(), text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(int), ..) => Value::Int(int),
        (_, Ok(int), _) => Value::Wide(int),
        (.., Ok(float)) => finite_or_missing(float),
        _ => Value::Missing,
    }
}

pub(super) fn to_version<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [Value::Str(text)] = *args else { return Value::Missing };
    let Some(version) = text::version::parse_version(text) else { return Value::Missing };
    let version = version.to_string();
    match arena.build_text(version.len(), |buffer| buffer.push_str(&version)) {
        Value::Str(buffer) => Value::Version(buffer),
        other => other,
    }
}

pub(super) fn map_text<'a>(args: &[Value<'a>], convert: impl Fn(&'a str) -> Value<'a>) -> Value<'a> {
    match args {
        [Value::Str(text)] => convert(text),
        _ => Value::Missing,
    }
}

pub(super) fn change_case<'a, C: Iterator<Item = char>>(
    args: &[Value<'a>],
    arena: &'a Arena,
    to_case: fn(char) -> C,
) -> Value<'a> {
    // Reserves the length of the text. A letter can need up to three times as many bytes in its
    // other case, so the result may be longer.
    map_text(args, |text| arena.collect_text(text.len(), text.chars().flat_map(to_case)))
}

pub(super) fn split<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    match *args {
        [Value::Str(text), Value::Str("")] => arena.build_list(
            text.char_indices().map(|(offset, c)| Value::Str(&text[offset..offset + c.len_utf8()])),
        ),
        [Value::Str(text), Value::Str(separator)] => arena.build_list(text.split(separator).map(Value::Str)),
        _ => Value::Missing,
    }
}

pub(super) fn join<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [list, Value::Str(separator)] = args else { return Value::Missing };
    let Some(elements) = list.elements() else { return Value::Missing };
    let (mut bytes, mut count) = (0_usize, 0_usize);
    for element in elements.clone() {
        let Value::Str(piece) = element else { return Value::Missing };
        bytes += piece.len();
        count += 1;
    }
    // Check the size first. The list and the separator may both come from a message, and the result
    // can be as large as their product.
    let bytes = separator.len().saturating_mul(count.saturating_sub(1)).saturating_add(bytes);
    arena.build_text(bytes, |buffer| {
        for (position, piece) in elements.filter_map(Value::as_str).enumerate() {
            if position > 0 {
                buffer.push_str(separator);
            }
            buffer.push_str(piece);
        }
    })
}

pub(super) fn similarity<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    match args {
        [Value::Str(a), Value::Str(b)]
            if is_similarity_within_budget(a.chars().count(), b.chars().count(), arena) =>
        {
            finite_or_missing(text::similarity(a, b))
        }
        _ => Value::Missing,
    }
}

/// True if `similarity` may compare two texts with `a` and `b` characters within the limits.
/// Otherwise records in the arena which limit was exceeded.
pub fn is_similarity_within_budget(a: usize, b: usize, arena: &Arena) -> bool {
    let (longer, work) = (a.max(b) as u64, (a as u64).saturating_mul(b as u64));
    arena.allows(Limit::SimilarityCharacters, longer)
        && (!arena.is_repeated() || arena.is_within_budget(Limit::SearchWork, work))
}

pub(super) fn bucket<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    let (key, seed, hash, count) = match *args {
        [key] => (key, "", Some(BucketHash::Rulec), None),
        [key, Value::Str(seed)] => (key, seed, Some(BucketHash::Rulec), None),
        [key, Value::Str(seed), Value::Str(hash)] => (key, seed, BucketHash::from_name(hash), None),
        // Only the default hash function supports a number of buckets. The third argument, which
        // selects the hash function, must therefore be omitted or empty.
        [key, Value::Str(seed), Value::Str(""), Value::Int(count)] => {
            (key, seed, Some(BucketHash::Rulec), Some(count))
        }
        _ => return Value::Missing,
    };
    let Some(hash) = hash else { return Value::Missing };
    let digits;
    let key = match key {
        Value::Str(key) => key,
        Value::Int(key) => {
            digits = key.to_string();
            &digits
        }
        Value::Wide(key) => {
            digits = key.to_string();
            &digits
        }
        _ => return Value::Missing,
    };
    if let Some(count) = count {
        return text::bucket_among(key, seed, count).map_or(Value::Missing, Value::Int);
    }
    match hash.bucket(key, seed) {
        text::Bucket::Number(number) => Value::Int(number),
        text::Bucket::Part(part) => Value::Float(part),
    }
}
