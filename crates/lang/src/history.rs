//! Rules may read a history: the messages that were recorded earlier for the same key, such as a
//! user. This file selects the elements within a window, such as the last hour. The module `sum`
//! computes exact sums.
//!
//! A history is a list of elements, oldest first. An element is a dict: the fields of a recorded
//! message that rules read, its time [`AT_FIELD`], and its position [`POSITION_FIELD`].

mod sum;

pub use sum::Sum;

use crate::value::{Value, format_datetime, parse_datetime};
use rulec_base::codec::impl_codec;
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};
use std::hash::{BuildHasher, RandomState};
use time::{OffsetDateTime, UtcDateTime};

/// The field of an element with the time at which its message was recorded, as RFC 3339 text.
pub const AT_FIELD: &str = "at";
/// The field of an element with the decision about its message. Missing if the message was only
/// observed, not decided.
pub const DECISION_FIELD: &str = "decision";
/// The field of [`DECISION_FIELD`] with the name of the statement that was chosen.
pub const CHOSEN_FIELD: &str = "chosen";
/// The field of an element with its position, an int. Consecutive elements have consecutive
/// positions, so the index of an element follows from its position. Authors of rules cannot write
/// this name.
pub const POSITION_FIELD: &str = "#";
/// In a history, a private text is replaced by a dict whose only field has this name; its value is
/// the hash of the text, an int. Authors of rules cannot write this name, so no rule reads the hash
/// by accident.
pub const HASH_FIELD: &str = "#hash";

/// The secret key for the hashes that replace private texts in a history. A store of recorded
/// messages creates one key, and keeps the key as long as it keeps messages.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct HashKey([u8; 16]);

impl HashKey {
    /// Creates a random secret key for the hashes of private texts.
    pub fn random() -> HashKey {
        let random = || RandomState::new().hash_one(0_u64).to_le_bytes();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random());
        bytes[8..].copy_from_slice(&random());
        HashKey(bytes)
    }

    /// Returns the secret key with these bytes, which a store saved with [`HashKey::to_bytes`].
    pub fn from_bytes(bytes: [u8; 16]) -> HashKey {
        HashKey(bytes)
    }

    /// Returns the secret key as bytes, so that a store can save it.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Returns the hash of a text: the first 8 bytes of the SHA-256 hash of the key followed by the
    /// text.
    pub fn hash(self, text: &str) -> i64 {
        let hash = Sha256::new().chain_update(self.0).chain_update(text).finalize();
        hash.iter().take(8).fold(0_i64, |bits, byte| (bits << 8) | i64::from(*byte))
    }
}

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey(…)")
    }
}

/// The reason why a history may lack messages that the rules could have read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryGap {
    /// The message has no history key (such as a user id), so its history is empty.
    NoKey,
    /// Messages that the rules could have read were removed because the history had more messages
    /// than its bound `at most` allows.
    Dropped,
}

impl HistoryGap {
    /// Returns the name of the reason why the history may lack messages, as JSON contains it:
    /// `no_key` or `dropped`.
    pub fn as_str(self) -> &'static str {
        match self {
            HistoryGap::NoKey => "no_key",
            HistoryGap::Dropped => "dropped",
        }
    }

    /// Returns the reason why the history may lack messages, with a remedy, as a localized message.
    pub fn to_message(self) -> Message {
        match self {
            HistoryGap::NoKey => {
                message!("the message has no key of the history, so nothing happened before it")
            }
            HistoryGap::Dropped => message!(
                "the history lacks messages that the rules could have read; raise `at most`, or shorten the windows"
            ),
        }
    }
}

/// A view of the recorded messages of one history key, such as one user, for an evaluator.
#[derive(Clone, Copy, Debug, Default)]
pub struct PastView<'a> {
    /// The recorded messages that the evaluator can read, oldest first.
    pub elements: &'a [Json],
    /// The secret with which the private texts in the recorded messages were hashed. A text that is
    /// compared with a hash is hashed with the same secret.
    pub hash_key: HashKey,
}

impl<'a> PastView<'a> {
    /// Returns the elements of `list`, a history (list of recorded messages), that a bound selects,
    /// such as the elements since a time. For the bound `Hashed`, returns the hash of `operand`.
    /// See [`window`].
    pub fn window(self, list: Value<'a>, bound: WindowBound, operand: Value<'_>) -> Value<'a> {
        match (bound, operand) {
            (WindowBound::Hashed, Value::Str(text)) => Value::Int(self.hash_key.hash(text)),
            _ => window(list, bound, operand),
        }
    }
}

/// The recorded messages (elements) of one history key, such as one user, sorted by their times.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    elements: Vec<Json>,
    /// The time of each recorded message, in UTC, because such times are compared without their
    /// offsets.
    times: Vec<UtcDateTime>,
    /// The position of the oldest recorded message; 0 if there is none.
    first_position: i64,
    /// The time of the newest recorded message (element) that was removed because the history had
    /// more elements than its bound `at most` allows.
    last_dropped_time: Option<OffsetDateTime>,
    hash_key: HashKey,
}

impl Timeline {
    /// Creates a timeline from elements that are sorted and have times and positions. Drops the
    /// first element without a valid time, and all elements after it.
    pub fn from_elements(mut elements: Vec<Json>) -> Timeline {
        let times = elements.iter().map_while(|element| recorded_time_of(Value::from_json(element)));
        let times: Vec<UtcDateTime> = times.map(OffsetDateTime::to_utc).collect();
        elements.truncate(times.len());
        let mut timeline = Timeline { elements, times, ..Timeline::default() };
        timeline.update_first_position();
        timeline
    }

    /// Returns this timeline with `hash_key`, the secret with which private texts in its recorded
    /// messages were hashed.
    #[must_use]
    pub fn with_hash_key(self, hash_key: HashKey) -> Timeline {
        Timeline { hash_key, ..self }
    }

    /// Returns this timeline with the time of the newest recorded message that was removed because
    /// the history had more messages than its bound `at most` allows.
    #[must_use]
    pub fn with_last_dropped_time(self, dropped: Option<OffsetDateTime>) -> Timeline {
        Timeline { last_dropped_time: dropped, ..self }
    }

    /// Returns the secret with which private texts in the recorded messages were hashed.
    pub fn hash_key(&self) -> HashKey {
        self.hash_key
    }

    /// Returns the time of the newest recorded message that was removed because the history had
    /// more messages than its bound `at most` allows. `None` if none was removed.
    pub fn last_dropped_time(&self) -> Option<OffsetDateTime> {
        self.last_dropped_time
    }

    /// Returns the recorded messages, oldest first.
    pub fn elements(&self) -> &[Json] {
        &self.elements
    }

    /// Returns the time of the newest recorded message; `None` if there is no message.
    pub fn newest_time(&self) -> Option<OffsetDateTime> {
        self.times.last().map(|time| OffsetDateTime::from(*time))
    }

    /// Returns the position of the oldest recorded message; 0 if there is no message.
    #[inline]
    pub fn first_position(&self) -> i64 {
        self.first_position
    }

    fn update_first_position(&mut self) {
        let first = self.elements.first().and_then(|first| recorded_position_of(Value::from_json(first)));
        self.first_position = first.unwrap_or(0);
    }

    /// Returns the index of the first recorded message whose time is `since` or later. If all
    /// messages are earlier, returns their number.
    pub fn first_index_since(&self, since: OffsetDateTime) -> usize {
        let since = since.to_utc();
        // Most often, no message is too old.
        if self.times.first().is_none_or(|first| *first >= since) {
            return 0;
        }
        self.times.partition_point(|at| *at < since)
    }

    /// Inserts the message `element`, recorded at the time `at`, after all messages of this time or
    /// earlier. Returns its position. The positions of all later messages grow by 1.
    pub fn insert(&mut self, at: OffsetDateTime, mut element: Map<String, Json>) -> i64 {
        let utc = at.to_utc();
        let index = self.times.partition_point(|time| *time <= utc);
        let offset = i64::try_from(index).unwrap_or(i64::MAX);
        let position = self.first_position().saturating_add(offset);
        element.insert(AT_FIELD.to_owned(), format_datetime(at).into());
        element.insert(POSITION_FIELD.to_owned(), position.into());
        self.elements.insert(index, Json::Object(element));
        self.times.insert(index, utc);
        for (element, position) in self.elements[index..].iter_mut().zip(position..) {
            element[POSITION_FIELD] = position.into();
        }
        self.update_first_position();
        position
    }

    /// Removes the `count` oldest recorded messages, which have expired. Unlike
    /// [`Timeline::drop_surplus`], does not record that messages are lacking.
    pub fn remove_oldest(&mut self, count: usize) {
        self.elements.drain(..count.min(self.elements.len()));
        self.times.drain(..count.min(self.times.len()));
        self.update_first_position();
    }

    /// Removes the oldest recorded messages until at most `max` remain. Keeps the time of the
    /// newest removed message for [`Timeline::last_dropped_time`]. Returns the number of removed
    /// messages.
    pub fn drop_surplus(&mut self, max: usize) -> usize {
        let surplus = self.elements.len().saturating_sub(max);
        if let Some(last) = surplus.checked_sub(1) {
            self.last_dropped_time =
                self.last_dropped_time.max(self.times.get(last).map(|time| OffsetDateTime::from(*time)));
            self.remove_oldest(surplus);
        }
        surplus
    }
}

/// How rules select elements of a history (list of recorded messages) by an operand, such as a
/// time. One variant computes a hash instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowBound {
    /// `within D`: the elements that were recorded at the time in the operand, or later. This time
    /// lies the duration D before the current time.
    Since,
    /// `after q`: the elements after the element q, which is the operand.
    After,
    /// `before q`: the elements before the element q, which is the operand.
    Before,
    /// Selects no elements: computes the hash of the operand, a text. Rules that compare a private
    /// text of an element are compiled to compare this hash, because the history contains only the
    /// hash.
    Hashed,
}

impl_codec!(enum WindowBound { 0 Since, 1 After, 2 Before, 3 Hashed });

/// Returns the elements of a history (list of recorded messages) that a bound selects, such as the
/// elements since a time. Missing if `list` is not a list, or if the operand does not have the type
/// that the bound needs. Also missing for the bound `Hashed`, which needs a key; see
/// [`PastView::window`].
pub fn window<'a>(list: Value<'a>, bound: WindowBound, operand: Value<'_>) -> Value<'a> {
    let Some(length) = list.list_len() else { return Value::Missing };
    match (bound, operand) {
        (WindowBound::Since, Value::DateTime(since)) => {
            let is_earlier =
                |index: usize| recorded_time_of(element_at(list, index)).is_some_and(|at| at < since);
            slice_of_list(list, partition_point(length, is_earlier), length)
        }
        (WindowBound::After | WindowBound::Before, Value::Dict(_) | Value::Entries(_)) => {
            let (Some(first), Some(position)) =
                (recorded_position_of(element_at(list, 0)), recorded_position_of(operand))
            else {
                return if length == 0 { list } else { Value::Missing };
            };
            // An element outside of `list` gives an index that is clamped to 0 or to the length.
            let index = |offset: i64| {
                let index = position.saturating_sub(first).saturating_add(offset);
                usize::try_from(index).unwrap_or(0).min(length)
            };
            match bound {
                WindowBound::After => slice_of_list(list, index(1), length),
                _ => slice_of_list(list, 0, index(0)),
            }
        }
        _ => Value::Missing,
    }
}

fn element_at(list: Value<'_>, index: usize) -> Value<'_> {
    i64::try_from(index).map_or(Value::Missing, |index| list.index(Value::Int(index)))
}

fn recorded_time_of(element: Value<'_>) -> Option<OffsetDateTime> {
    match element.field(AT_FIELD) {
        Value::DateTime(at) => Some(at),
        Value::Str(text) => parse_datetime(text),
        _ => None,
    }
}

fn recorded_position_of(element: Value<'_>) -> Option<i64> {
    match element.field(POSITION_FIELD) {
        Value::Int(position) => Some(position),
        _ => None,
    }
}

/// Returns the elements of a list from index `start` up to index `end`, without the element at
/// `end`.
fn slice_of_list(list: Value<'_>, start: usize, end: usize) -> Value<'_> {
    match list {
        Value::JsonList(items) => items.get(start..end).map_or(Value::Missing, Value::JsonList),
        Value::List(items) => items.get(start..end).map_or(Value::Missing, Value::List),
        _ => Value::Missing,
    }
}

/// Returns the first index below `length` for which `is_before` is false, by binary search. Returns
/// `length` if there is none. `is_before` must be true up to some index, and false after it.
fn partition_point(length: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn history_with_times(times: &[&str]) -> Json {
        times.iter().zip(7..).map(|(at, position)| json!({ "at": at, "#": position })).collect()
    }

    #[test]
    fn window_bounds_select_elements() {
        let list =
            history_with_times(&["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T01:00:00Z"]);
        let (list, positions) = (Value::from_json(&list), |part: Value<'_>| {
            let elements = part.elements().expect("a list");
            elements.map(|element| recorded_position_of(element).expect("a position")).collect::<Vec<_>>()
        });
        let since = |text: &str| Value::DateTime(parse_datetime(text).expect("a time"));
        let check = |bound: WindowBound, operand: Value<'_>, expected: &[i64]| {
            assert_eq!(positions(window(list, bound, operand)), expected);
        };
        check(WindowBound::Since, since("2026-01-01T01:00:00Z"), &[8, 9]);
        check(WindowBound::Since, since("2025-01-01T01:00:00Z"), &[7, 8, 9]);
        check(WindowBound::Since, since("2026-01-01T01:00:01Z"), &[]);
        check(WindowBound::After, element_at(list, 0), &[8, 9]);
        check(WindowBound::After, element_at(list, 2), &[]);
        check(WindowBound::Before, element_at(list, 0), &[]);
        check(WindowBound::Before, element_at(list, 2), &[7, 8]);
        let recent = window(list, WindowBound::After, element_at(list, 1));
        assert_eq!(positions(window(recent, WindowBound::After, element_at(list, 0))), [9]);
        assert_eq!(positions(window(recent, WindowBound::Before, element_at(list, 0))), Vec::<i64>::new());
        assert!(window(list, WindowBound::Since, Value::Missing).is_missing());
        assert!(window(Value::Missing, WindowBound::Since, since("2026-01-01T01:00:00Z")).is_missing());
    }
}
