//! The recorded messages that a decision reads as `history`, and remembered results of conditions
//! on them. A condition that reads only an element has the same result in every decision. So a
//! decision evaluates such a condition only for new elements. For the other elements, it finds the
//! results by binary search in the remembered results.

use super::running_total::RunningTotal;
use hashbrown::hash_map::EntryRef;
use hashbrown::{Equivalent, HashMap};
use rulec_base::decimal::Decimal;
use rulec_lang::history::{HistoryGap, PastView, Timeline, WindowBound};
use rulec_lang::value::Value;
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The recorded messages of one history key, such as one user, that one decision can read, oldest
/// first. Clones share the messages.
#[derive(Clone, Debug, Default)]
pub struct Past {
    pub(super) timeline: Arc<Timeline>,
    /// The index in `timeline` of the first element that the decision can read. Older elements have
    /// expired.
    start_index: usize,
    /// The remembered results of conditions on the recorded messages. `None` if the messages do not
    /// come from a history store.
    pub(super) memo: Option<Arc<Mutex<HistoryMemo>>>,
    gap: Option<HistoryGap>,
}

impl Past {
    /// Creates a view of the recorded messages in `timeline` from the index `start` on. `memo` must
    /// belong to the same timeline. Not part of the stable API.
    #[doc(hidden)]
    pub fn new(timeline: Arc<Timeline>, start: usize, memo: Option<Arc<Mutex<HistoryMemo>>>) -> Past {
        Past { timeline, start_index: start, memo, gap: None }
    }

    /// Returns this view with the reason (`gap`) why it may lack messages that rules read. Not part
    /// of the stable API.
    #[doc(hidden)]
    #[must_use]
    pub fn with_gap(self, gap: Option<HistoryGap>) -> Past {
        Past { gap, ..self }
    }

    /// Returns the reason why this view may lack messages that rules read; `None` if it lacks none.
    #[inline]
    pub fn gap(&self) -> Option<HistoryGap> {
        self.gap
    }

    /// True if this view has at least one recorded message. Not part of the stable API.
    #[doc(hidden)]
    #[inline]
    pub fn has_elements(&self) -> bool {
        !self.elements().is_empty()
    }

    /// Returns the recorded messages and the hash key of this view, which the evaluators read.
    #[doc(hidden)]
    pub fn view(&self) -> PastView<'_> {
        PastView { elements: self.elements(), hash_key: self.timeline.hash_key() }
    }

    /// Returns how many times a loop condition was evaluated for a recorded message, because no
    /// result was remembered. 0 if the messages do not come from a history store. Not part of the
    /// stable API.
    #[doc(hidden)]
    pub fn evaluations(&self) -> u64 {
        let Some(memo) = &self.memo else { return 0 };
        let memo = memo.lock().unwrap_or_else(PoisonError::into_inner);
        memo.loop_memos_by_bytecode
            .iter()
            .flat_map(|(_, loops)| loops.values())
            .map(|memo| memo.evaluation_count)
            .sum()
    }

    /// Creates a view of recorded messages, oldest first, for example in a Rust test. Each message
    /// contains its time. The first message without a valid time, and all messages after it, are
    /// dropped.
    pub fn from_elements(elements: Vec<Json>) -> Past {
        Past::new(Arc::new(Timeline::from_elements(elements)), 0, None)
    }

    /// Returns the same view, but of its own copy of the messages that the decision can read. A
    /// caller that keeps a view for long should keep such a copy. While a view shares the messages
    /// of a store, recording a message makes the store copy all messages of the key. The store then
    /// also forgets the remembered results of conditions. Not part of the stable API.
    #[doc(hidden)]
    pub fn to_owned_view(&self) -> Past {
        let timeline =
            Timeline::from_elements(self.elements().to_vec()).with_hash_key(self.timeline.hash_key());
        Past::new(Arc::new(timeline), 0, None).with_gap(self.gap)
    }

    /// Returns the recorded messages that the decision can read, oldest first.
    pub fn elements(&self) -> &[Json] {
        self.timeline.elements().get(self.start_index..).unwrap_or(&[])
    }

    /// Returns the range of indices in the timeline at which the elements of `list` lie. `None` if
    /// `list` is not a slice of the timeline.
    pub(super) fn indices_of(&self, list: &[Json]) -> Option<Range<usize>> {
        let elements = self.timeline.elements();
        let offset = (list.as_ptr() as usize).checked_sub(elements.as_ptr() as usize)?;
        let start = offset / size_of::<Json>();
        let end = start.checked_add(list.len())?;
        (end <= elements.len() && offset.is_multiple_of(size_of::<Json>())).then_some(start..end)
    }

    /// Returns the recorded messages in `list` that `bound` selects or, for the bound `Hashed`, the
    /// hash of `operand`; see [`PastView::window`].
    pub(super) fn window<'a>(&'a self, list: Value<'a>, bound: WindowBound, operand: Value<'_>) -> Value<'a> {
        if let (Value::JsonList(items), WindowBound::Since, Value::DateTime(since)) = (list, bound, operand)
            && let Some(range) = self.indices_of(items)
        {
            let first = self.timeline.first_index_since(since).clamp(range.start, range.end);
            return Value::JsonList(&items[first - range.start..]);
        }
        self.view().window(list, bound, operand)
    }
}

/// Remembered results of conditions on the recorded messages of one history key, such as one user.
/// Later decisions reuse these results.
#[derive(Debug, Default)]
pub struct HistoryMemo {
    /// For each bytecode, identified by its number, the results of its loops. The most recently
    /// used bytecode comes last.
    loop_memos_by_bytecode: Vec<(u64, LoopMemos)>,
}

/// Remembered results for each loop of one bytecode, by the number of the loop.
pub(super) type LoopMemos = HashMap<u32, LoopMemo>;

/// The maximum number of bytecodes whose results are remembered. Live rules use several bytecodes:
/// one for each group of routes that was compiled together.
const MAX_REMEMBERED_BYTECODES: usize = 8;

impl HistoryMemo {
    /// Forgets the results for recorded messages from `position` on. The caller has inserted a
    /// message there, which moved the later messages.
    pub fn invalidate_from(&mut self, position: i64) {
        let loops = self.loop_memos_by_bytecode.iter_mut().flat_map(|(_, loops)| loops.values_mut());
        loops.for_each(|memo| memo.invalidate_from(position));
    }

    /// Returns the remembered results for each loop of the bytecode with the number `code`; adds an
    /// empty map if there is none. If [`MAX_REMEMBERED_BYTECODES`] bytecodes are remembered
    /// already, forgets the one that was not used for the longest time.
    pub(super) fn loop_memos_of(&mut self, code: u64) -> &mut LoopMemos {
        match self.loop_memos_by_bytecode.iter().rposition(|(other, _)| *other == code) {
            Some(index) if index + 1 == self.loop_memos_by_bytecode.len() => {}
            Some(index) => self.loop_memos_by_bytecode[index..].rotate_left(1),
            None => {
                if self.loop_memos_by_bytecode.len() == MAX_REMEMBERED_BYTECODES {
                    self.loop_memos_by_bytecode.remove(0);
                }
                self.loop_memos_by_bytecode.push((code, LoopMemos::new()));
            }
        }
        let last = self.loop_memos_by_bytecode.len() - 1;
        &mut self.loop_memos_by_bytecode[last].1
    }
}

/// Remembered results of one loop's condition on the recorded messages.
#[derive(Debug, Default)]
pub(super) struct LoopMemo {
    /// The position in the history of the first recorded message without a remembered result;
    /// `None` if no message was evaluated.
    pub(super) next_position: Option<i64>,
    /// The number of times that the condition was evaluated for a recorded message.
    pub(super) evaluation_count: u64,
    /// For a loop whose condition contains no comparison that groups elements: the elements for
    /// which the condition is true.
    pub(super) hits: ElementHits,
    /// For a loop whose condition compares each element with constants or with the current message
    /// (see [`KeyComparison`](crate::bytecode::chunk::KeyComparison)): the elements for which the
    /// rest of the condition is true, grouped by the compared values.
    pub(super) groups: HashMap<GroupKeys<'static>, ElementHits>,
    /// The kinds of the values by which the elements were grouped.
    pub(super) key_kinds: KeyKinds,
}

impl LoopMemo {
    /// Returns the elements of the group with the given keys; adds an empty group if there is none.
    pub(super) fn hits_of_group(&mut self, keys: &[GroupKey<'_>]) -> &mut ElementHits {
        // Most elements belong to a group that exists, so that no copy of their texts is needed.
        match self.groups.entry_ref(&LookupKeys(keys)) {
            EntryRef::Occupied(group) => group.into_mut(),
            EntryRef::Vacant(group) => {
                let owned_keys = keys.iter().cloned().map(GroupKey::into_owned).collect();
                group.insert_with_key(owned_keys, ElementHits::default())
            }
        }
    }

    fn invalidate_from(&mut self, position: i64) {
        if self.next_position.is_some_and(|next| next > position) {
            self.next_position = Some(position);
            self.hits.invalidate_from(position);
            self.groups.values_mut().for_each(|hits| hits.invalidate_from(position));
            self.groups.retain(|_, hits| !hits.positions.is_empty());
        }
    }
}

/// The positions in the history of the elements for which a loop's condition is true, in ascending
/// order. For a loop that computes a sum, also the running totals.
#[derive(Debug, Default)]
pub(super) struct ElementHits {
    pub(super) positions: Vec<i64>,
    /// For a loop that computes a sum: for each element, the sum of the terms of all elements up to
    /// this one.
    pub(super) totals: Vec<RunningTotal>,
    /// The sum of the terms of the elements that were removed from the front of `positions`.
    pub(super) total_before: RunningTotal,
}

impl ElementHits {
    fn invalidate_from(&mut self, position: i64) {
        let kept = self.positions.partition_point(|hit| *hit < position);
        self.positions.truncate(kept);
        self.totals.truncate(kept);
    }

    /// Removes the elements before `position`, which have expired, if they are more than 16 and
    /// more than half of the elements.
    pub(super) fn forget_before(&mut self, position: i64) {
        if self.positions.first().is_none_or(|first| *first >= position) {
            return;
        }
        let outdated = self.positions.partition_point(|hit| *hit < position);
        if outdated > 16 && outdated > self.positions.len() / 2 {
            self.positions.drain(..outdated);
            self.total_before = self.totals.get(outdated - 1).copied().unwrap_or_default();
            self.totals.drain(..outdated.min(self.totals.len()));
        }
    }

    /// Returns the range of indices in the field `positions` whose elements lie within the given
    /// range of positions.
    pub(super) fn indices_within(&self, positions: &Range<i64>) -> Range<usize> {
        // Most ranges begin with the oldest element or end with the newest one.
        let count_before = |position: i64| match (self.positions.first(), self.positions.last()) {
            (Some(first), _) if *first >= position => 0,
            (_, Some(last)) if *last < position => self.positions.len(),
            _ => self.positions.partition_point(|hit| *hit < position),
        };
        count_before(positions.start)..count_before(positions.end)
    }
}

/// The values by which the elements of a loop are grouped: one for each comparison of an element
/// with a constant or with the current message.
pub(super) type GroupKeys<'a> = SmallVec<[GroupKey<'a>; 2]>;

/// Keys that are looked up among the groups of a loop, without a copy of their texts.
pub(super) struct LookupKeys<'k, 'a>(pub(super) &'k [GroupKey<'a>]);

impl Hash for LookupKeys<'_, '_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Equivalent<GroupKeys<'static>> for LookupKeys<'_, '_> {
    fn equivalent(&self, keys: &GroupKeys<'static>) -> bool {
        self.0 == keys.as_slice()
    }
}

/// Whether floats or decimals are among the values by which elements are grouped. A float never
/// equals a decimal, but both may have the same key. So groups cannot be used for both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyKinds {
    has_floats: bool,
    has_decimals: bool,
}

impl KeyKinds {
    pub(super) fn add(&mut self, value: Value<'_>) {
        self.has_floats |= matches!(value, Value::Float(_));
        self.has_decimals |= matches!(value, Value::Decimal(_));
    }

    /// True if floats would be compared with decimals.
    pub(super) fn are_mixed_with(self, other: KeyKinds) -> bool {
        (self.has_floats && other.has_decimals) || (self.has_decimals && other.has_floats)
    }
}

/// A value by which the elements of a loop are grouped. Equal values have equal keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum GroupKey<'a> {
    Text(Cow<'a, str>),
    Int(i128),
    /// The bits of a float that is not a whole number, or is too large for an int.
    Float(u64),
    Bool(bool),
    /// A decimal that is not a whole number.
    Decimal(Decimal),
    /// A time in nanoseconds since 1970, because times with other offsets can be equal.
    Time(i128),
}

impl<'a> GroupKey<'a> {
    /// Returns the key of a value. `None` for a value that can equal a different value, such as a
    /// list. A whole float and a whole decimal have equal keys, although they do not equal each
    /// other; see [`KeyKinds`].
    pub(super) fn new(value: Value<'a>) -> Option<GroupKey<'a>> {
        Some(match value {
            Value::Str(text) => GroupKey::Text(Cow::Borrowed(text)),
            Value::Int(int) => GroupKey::Int(int.into()),
            Value::Wide(int) => GroupKey::Int(int.into()),
            Value::Bool(value) => GroupKey::Bool(value),
            Value::Float(float) if float.fract() == 0.0 && float.abs() < 1e30 => GroupKey::Int(float as i128),
            Value::Float(float) => GroupKey::Float(float.to_bits()),
            Value::Decimal(decimal) => match decimal.to_integer() {
                Some(int) => GroupKey::Int(int),
                None => GroupKey::Decimal(decimal),
            },
            Value::DateTime(at) => GroupKey::Time(at.unix_timestamp_nanos()),
            _ => return None,
        })
    }

    /// Returns the key with its own copy of a text.
    fn into_owned(self) -> GroupKey<'static> {
        match self {
            GroupKey::Text(text) => GroupKey::Text(Cow::Owned(text.into_owned())),
            GroupKey::Int(int) => GroupKey::Int(int),
            GroupKey::Float(bits) => GroupKey::Float(bits),
            GroupKey::Bool(value) => GroupKey::Bool(value),
            GroupKey::Decimal(decimal) => GroupKey::Decimal(decimal),
            GroupKey::Time(nanoseconds) => GroupKey::Time(nanoseconds),
        }
    }
}
