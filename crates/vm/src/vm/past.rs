//! The earlier messages that a decision reads as `history`, and the results that are remembered
//! about them. A condition on an element that reads nothing else has the same result in every
//! decision. So a decision evaluates such a condition only for the elements that are new, and
//! finds the others by a binary search.

use rulec_lang::history::{HistoryGap, PastView, Timeline, WindowBound};
use rulec_lang::value::Value;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The earlier messages of one key as one decision sees them, oldest first. A clone shares the
/// elements.
#[derive(Clone, Debug, Default)]
pub struct Past {
    pub(super) timeline: Arc<Timeline>,
    /// The index of the first element that the decision sees. Older ones are no longer kept.
    start: usize,
    /// The remembered results about the elements; `None` if they belong to no store.
    pub(super) memo: Option<Arc<Mutex<HistoryMemo>>>,
    gap: Option<HistoryGap>,
}

impl Past {
    /// Creates a view of a timeline from the index `start` on. `memo` must belong to the timeline.
    /// Not part of the stable API.
    #[doc(hidden)]
    pub fn new(timeline: Arc<Timeline>, start: usize, memo: Option<Arc<Mutex<HistoryMemo>>>) -> Past {
        Past { timeline, start, memo, gap: None }
    }

    /// Returns this view with the reason why the elements may lack messages that rules read. Not
    /// part of the stable API.
    #[doc(hidden)]
    #[must_use]
    pub fn with_gap(self, gap: Option<HistoryGap>) -> Past {
        Past { gap, ..self }
    }

    /// Returns why the elements may lack messages that rules read; `None` if they lack none.
    #[inline]
    pub fn gap(&self) -> Option<HistoryGap> {
        self.gap
    }

    /// Returns what an evaluation reads of the earlier messages. Not part of the stable API.
    #[doc(hidden)]
    pub fn view(&self) -> PastView<'_> {
        PastView { elements: self.elements(), hash_key: self.timeline.hash_key() }
    }

    /// Creates the view of elements that were given with their times, for example by a test.
    pub fn from_elements(elements: Vec<Json>) -> Past {
        Past::new(Arc::new(Timeline::from_elements(elements)), 0, None)
    }

    /// Returns the elements, oldest first.
    pub fn elements(&self) -> &[Json] {
        self.timeline.elements().get(self.start..).unwrap_or(&[])
    }

    /// Returns the indices in the timeline of the elements of `list`. `None` if `list` is no part
    /// of the timeline.
    pub(super) fn indices_of(&self, list: &[Json]) -> Option<Range<usize>> {
        let elements = self.timeline.elements();
        let offset = (list.as_ptr() as usize).checked_sub(elements.as_ptr() as usize)?;
        let start = offset / size_of::<Json>();
        let end = start.checked_add(list.len())?;
        (end <= elements.len() && offset.is_multiple_of(size_of::<Json>())).then_some(start..end)
    }

    /// Returns the part of a history that a bound selects; see [`PastView::window`].
    pub(super) fn window<'a>(&'a self, list: Value<'a>, bound: WindowBound, operand: Value<'_>) -> Value<'a> {
        if let (Value::JsonList(items), WindowBound::Since, Value::DateTime(since)) = (list, bound, operand)
            && let Some(range) = self.indices_of(items)
        {
            let first = self.timeline.first_since(since).clamp(range.start, range.end);
            return Value::JsonList(&items[first - range.start..]);
        }
        self.view().window(list, bound, operand)
    }
}

/// The remembered results about the elements of one key.
#[derive(Debug, Default)]
pub struct HistoryMemo {
    /// For each bytecode, by its number, the results for its loops. The bytecode that was used last
    /// is the last one.
    codes: Vec<(u64, LoopMemos)>,
}

/// The remembered results for the loops of one bytecode.
pub(super) type LoopMemos = HashMap<u32, LoopMemo>;

/// The number of bytecodes whose results are remembered. Live rules decide with several: one for
/// each group of routes that was compiled together.
const MAX_CODES: usize = 8;

impl HistoryMemo {
    /// Forgets the results about elements from `position` on, because an element was inserted
    /// there.
    pub fn forget_from(&mut self, position: i64) {
        let loops = self.codes.iter_mut().flat_map(|(_, loops)| loops.values_mut());
        loops.for_each(|memo| memo.forget_from(position));
    }

    /// Returns the results for the loops of a bytecode, which are empty at first.
    pub(super) fn loops_of(&mut self, code: u64) -> &mut LoopMemos {
        match self.codes.iter().rposition(|(other, _)| *other == code) {
            Some(index) if index + 1 == self.codes.len() => {}
            Some(index) => self.codes[index..].rotate_left(1),
            None => {
                if self.codes.len() == MAX_CODES {
                    self.codes.remove(0);
                }
                self.codes.push((code, LoopMemos::new()));
            }
        }
        let last = self.codes.len() - 1;
        &mut self.codes[last].1
    }
}

/// The remembered results about the elements for one loop.
#[derive(Debug, Default)]
pub(super) struct LoopMemo {
    /// The position of the first element that was not tested yet; `None` if none was tested.
    pub(super) next: Option<i64>,
    /// The elements for which the condition is true, if the loop has no groups.
    pub(super) hits: Hits,
    /// The elements for which the condition without its comparison is true, by their keys.
    pub(super) groups: HashMap<GroupKey, Hits>,
}

impl LoopMemo {
    fn forget_from(&mut self, position: i64) {
        if self.next.is_some_and(|next| next > position) {
            self.next = Some(position);
            self.hits.forget_from(position);
            self.groups.values_mut().for_each(|hits| hits.forget_from(position));
            self.groups.retain(|_, hits| !hits.positions.is_empty());
        }
    }
}

/// Elements with the result true, in order.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) positions: Vec<i64>,
    /// For a sum: for each element, the exact sum of the terms of all elements up to this one.
    pub(super) totals: Vec<RunningTotal>,
    /// The total of the terms before the first element.
    pub(super) total_before: RunningTotal,
}

impl Hits {
    fn forget_from(&mut self, position: i64) {
        let kept = self.positions.partition_point(|hit| *hit < position);
        self.positions.truncate(kept);
        self.totals.truncate(kept);
    }

    /// Removes elements that are no longer kept, if they are most of the elements.
    pub(super) fn forget_before(&mut self, position: i64) {
        let outdated = self.positions.partition_point(|hit| *hit < position);
        if outdated > 16 && outdated > self.positions.len() / 2 {
            self.positions.drain(..outdated);
            self.total_before = self.totals.get(outdated - 1).copied().unwrap_or_default();
            self.totals.drain(..outdated.min(self.totals.len()));
        }
    }

    /// Returns the indices of the elements at these positions.
    pub(super) fn within(&self, positions: &Range<i64>) -> Range<usize> {
        let start = self.positions.partition_point(|hit| *hit < positions.start);
        let end = self.positions.partition_point(|hit| *hit < positions.end);
        start..end
    }
}

/// The exact sum of ints and floats, in units of 2^-64. The sum over a part of the history is the
/// difference of two totals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningTotal {
    units: i128,
    floats: u32,
    /// The number of terms that this sum cannot represent.
    others: u32,
}

/// 2^64, the number of units of 1.
const UNITS: i128 = 1 << 64;
/// Terms above this magnitude are left to the exact sum of all terms, so that the totals of a
/// million messages do not overflow.
const MAX_TERM: f64 = 1e12;

impl RunningTotal {
    #[must_use]
    pub(super) fn plus(self, term: Value<'_>) -> RunningTotal {
        let other = RunningTotal { others: self.others.wrapping_add(1), ..self };
        match term {
            Value::Int(int) if (int as f64).abs() <= MAX_TERM => {
                RunningTotal { units: self.units.wrapping_add(i128::from(int) * UNITS), ..self }
            }
            // The sum of negative zeros is a negative zero, which has no units.
            Value::Float(float) if float.abs() <= MAX_TERM && !(float == 0.0 && float.is_sign_negative()) => {
                // Exact, because the factor is a power of two.
                let units = float * UNITS as f64;
                if units.fract() != 0.0 {
                    return other;
                }
                RunningTotal {
                    units: self.units.wrapping_add(units as i128),
                    floats: self.floats.wrapping_add(1),
                    ..self
                }
            }
            _ => other,
        }
    }

    /// Returns the sum of the terms that were added after `earlier`; `None` if it must be computed
    /// from the terms.
    pub(super) fn since(self, earlier: RunningTotal) -> Option<Value<'static>> {
        if self.others != earlier.others {
            return None;
        }
        let units = self.units.wrapping_sub(earlier.units);
        if self.floats == earlier.floats {
            return Some(Value::from_integer(units / UNITS));
        }
        // The conversion rounds once; the division is exact.
        Some(Value::Float(units as f64 / UNITS as f64))
    }
}

/// A value by which elements are grouped. Equal values have equal keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum GroupKey {
    Text(Box<str>),
    Int(i128),
    /// The bits of a float that is no whole number.
    Float(u64),
    Bool(bool),
}

impl GroupKey {
    /// Returns the key of a value. `None` for a value that can equal values of other kinds or
    /// spellings, such as a time.
    pub(super) fn new(value: Value<'_>) -> Option<GroupKey> {
        Some(match value {
            Value::Str(text) => GroupKey::Text(text.into()),
            Value::Int(int) => GroupKey::Int(int.into()),
            Value::Wide(int) => GroupKey::Int(int.into()),
            Value::Bool(value) => GroupKey::Bool(value),
            Value::Float(float) if float.fract() == 0.0 && float.abs() < 1e30 => GroupKey::Int(float as i128),
            Value::Float(float) => GroupKey::Float(float.to_bits()),
            _ => return None,
        })
    }
}
