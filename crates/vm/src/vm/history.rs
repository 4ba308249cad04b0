//! The earlier messages that a decision reads as `history`, and the results that are remembered
//! about them. A condition on an element that reads nothing else has the same result in every
//! decision. So a decision evaluates such a condition only for the elements that are new, and
//! finds the others by a binary search.

use super::{Message, Vm};
use crate::bytecode::chunk::{HistoryLoop, Loop};
use crate::bytecode::instr::BlockId;
use rulec_lang::history::{self, Sum, Timeline, WindowBound};
use rulec_lang::value::Value;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The earlier messages of one key as one decision sees them, oldest first. A clone shares the
/// elements.
#[derive(Clone, Debug, Default)]
pub struct Past {
    timeline: Arc<Timeline>,
    /// The index of the first element that the decision sees. Older ones are no longer kept.
    start: usize,
    /// What is remembered about the elements; `None` if they belong to no store.
    memo: Option<Arc<Mutex<HistoryMemo>>>,
}

impl Past {
    /// Creates a view of a timeline from the index `start` on. `memo` must belong to the timeline.
    pub fn new(timeline: Arc<Timeline>, start: usize, memo: Option<Arc<Mutex<HistoryMemo>>>) -> Past {
        Past { timeline, start, memo }
    }

    /// Creates the view of elements that were given with their times, such as those of a test.
    pub fn from_elements(elements: Vec<Json>) -> Past {
        Past::new(Arc::new(Timeline::from_elements(elements)), 0, None)
    }

    /// Returns the elements, oldest first.
    pub fn elements(&self) -> &[Json] {
        self.timeline.elements().get(self.start..).unwrap_or(&[])
    }

    /// Returns the indices in the timeline of the elements of `list`. `None` if `list` is no part of
    /// the timeline.
    fn indices_of(&self, list: &[Json]) -> Option<Range<usize>> {
        let elements = self.timeline.elements();
        let offset = (list.as_ptr() as usize).checked_sub(elements.as_ptr() as usize)?;
        let start = offset / size_of::<Json>();
        let end = start.checked_add(list.len())?;
        (end <= elements.len() && offset.is_multiple_of(size_of::<Json>())).then_some(start..end)
    }

    /// Returns the part of a history that a bound selects; see [`history::window`].
    pub(super) fn window<'a>(&'a self, list: Value<'a>, bound: WindowBound, operand: Value<'_>) -> Value<'a> {
        if let (Value::JsonList(items), WindowBound::Since, Value::DateTime(since)) = (list, bound, operand)
            && let Some(range) = self.indices_of(items)
        {
            let first = self.timeline.first_since(since).clamp(range.start, range.end);
            return Value::JsonList(&items[first - range.start..]);
        }
        history::window(list, bound, operand)
    }
}

/// What is remembered about the elements of one key, for one rule set.
#[derive(Debug, Default)]
pub struct HistoryMemo {
    /// The number of the bytecode whose loops are remembered.
    code: u64,
    loops: HashMap<u32, LoopMemo>,
}

impl HistoryMemo {
    /// Forgets what is remembered about elements from `position` on, because an element was inserted
    /// there.
    pub fn forget_from(&mut self, position: i64) {
        self.loops.values_mut().for_each(|memo| memo.forget_from(position));
    }
}

/// What is remembered about the elements for one loop.
#[derive(Debug, Default)]
struct LoopMemo {
    /// The position of the first element that was not tested yet; `None` if none was tested.
    next: Option<i64>,
    /// The elements for which the condition is true, if the loop has no groups.
    hits: Hits,
    /// The elements for which the condition without its comparison is true, by their keys.
    groups: HashMap<GroupKey, Hits>,
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
struct Hits {
    positions: Vec<i64>,
    /// For a sum: for each element, the exact sum of the terms of all elements up to this one.
    totals: Vec<RunningTotal>,
    /// The total of the terms before the first element.
    total_before: RunningTotal,
}

impl Hits {
    fn forget_from(&mut self, position: i64) {
        let kept = self.positions.partition_point(|hit| *hit < position);
        self.positions.truncate(kept);
        self.totals.truncate(kept);
    }

    /// Removes elements that are no longer kept, if they are most of the elements.
    fn forget_before(&mut self, position: i64) {
        let outdated = self.positions.partition_point(|hit| *hit < position);
        if outdated > 16 && outdated > self.positions.len() / 2 {
            self.positions.drain(..outdated);
            self.total_before = self.totals.get(outdated - 1).copied().unwrap_or_default();
            self.totals.drain(..outdated.min(self.totals.len()));
        }
    }

    /// Returns the indices of the elements at these positions.
    fn within(&self, positions: &Range<i64>) -> Range<usize> {
        let start = self.positions.partition_point(|hit| *hit < positions.start);
        let end = self.positions.partition_point(|hit| *hit < positions.end);
        start..end
    }
}

/// The exact sum of ints and floats, in units of 2^-64. The sum over a part of the history is the
/// difference of two totals.
#[derive(Clone, Copy, Debug, Default)]
struct RunningTotal {
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
    fn plus(self, term: Value<'_>) -> RunningTotal {
        let other = RunningTotal { others: self.others.saturating_add(1), ..self };
        match term {
            Value::Int(int) if (int as f64).abs() <= MAX_TERM => {
                RunningTotal { units: self.units + i128::from(int) * UNITS, ..self }
            }
            Value::Float(float) if float.abs() <= MAX_TERM => {
                // Exact, because the factor is a power of two.
                let units = float * UNITS as f64;
                if units.fract() != 0.0 {
                    return other;
                }
                RunningTotal { units: self.units + units as i128, floats: self.floats + 1, ..self }
            }
            _ => other,
        }
    }

    /// Returns the sum of the terms that were added after `earlier`; `None` if it must be computed
    /// from the terms.
    fn since(self, earlier: RunningTotal) -> Option<Value<'static>> {
        if self.others != earlier.others {
            return None;
        }
        let units = self.units - earlier.units;
        if self.floats == earlier.floats {
            return Some(Value::from_integer(units / UNITS));
        }
        // The conversion rounds once; the division is exact.
        Some(Value::Float(units as f64 / UNITS as f64))
    }
}

/// A value by which elements are grouped. Equal values have equal keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum GroupKey {
    Text(Box<str>),
    Int(i128),
    /// The bits of a float that is no whole number.
    Float(u64),
    Bool(bool),
}

impl GroupKey {
    /// Returns the key of a value. `None` for a value that can equal values of other kinds or
    /// spellings, such as a time.
    fn new(value: Value<'_>) -> Option<GroupKey> {
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

/// The elements of a part of the history for which the condition of a loop is true.
pub(super) struct LoopHits<'a> {
    /// The number of the elements.
    pub count: usize,
    /// The first and the last of the elements; missing if there is none.
    pub ends: [Value<'a>; 2],
    /// The sum of the values of a sum, if it is known.
    pub total: Option<Value<'static>>,
}

impl<'a, M: Message<'a>> Vm<'a, M> {
    /// Returns the elements of `list` for which the condition of a loop is true, from what is
    /// remembered. Evaluates the condition only for new elements. `summed` is the block that
    /// computes the term of a sum. `None` if the results of this loop are not remembered, or not for
    /// this list.
    pub(super) fn remembered_hits(
        &mut self,
        id: u32,
        each: &Loop,
        list: Value<'a>,
        summed: Option<BlockId>,
    ) -> Option<LoopHits<'a>> {
        let (plan, past) = (each.history?, self.history);
        let (memo, Value::JsonList(items)) = (past.memo.as_ref()?, list) else { return None };
        let range = past.indices_of(items)?;
        let other = match plan.groups {
            Some(groups) => match self.operand_value(groups.other) {
                Value::Missing => {
                    return Some(LoopHits { count: 0, ends: [Value::Missing; 2], total: Some(Value::Int(0)) });
                }
                value => Some(GroupKey::new(value)?),
            },
            None => None,
        };
        let mut memo = memo.lock().unwrap_or_else(PoisonError::into_inner);
        if memo.code != self.code_number {
            *memo = HistoryMemo { code: self.code_number, loops: HashMap::new() };
        }
        let remembered = memo.loops.entry(id).or_default();
        self.test_new_elements(remembered, each, plan, summed)?;
        let first = past.timeline.first_position();
        let empty = Hits::default();
        let hits = match other {
            Some(key) => remembered.groups.get(&key).unwrap_or(&empty),
            None => &remembered.hits,
        };
        let position = |index: usize| first.saturating_add(i64::try_from(index).unwrap_or(i64::MAX));
        let within = hits.within(&(position(range.start)..position(range.end)));
        let element = |hit: Option<&i64>| {
            let index = hit.and_then(|hit| usize::try_from(hit - first).ok());
            let element = index.and_then(|index| past.timeline.elements().get(index));
            element.map_or(Value::Missing, Value::from_json)
        };
        let found = &hits.positions[within.clone()];
        let total = summed.and_then(|_| {
            let before = within.start.checked_sub(1).map_or(hits.total_before, |index| hits.totals[index]);
            match within.is_empty() {
                true => Some(Value::Int(0)),
                false => hits.totals[within.end - 1].since(before),
            }
        });
        Some(LoopHits { count: found.len(), ends: [element(found.first()), element(found.last())], total })
    }

    /// Evaluates the condition of a loop for the elements that are not remembered yet. `None` if an
    /// element has a key by which elements cannot be grouped.
    fn test_new_elements(
        &mut self,
        memo: &mut LoopMemo,
        each: &Loop,
        plan: HistoryLoop,
        summed: Option<BlockId>,
    ) -> Option<()> {
        let timeline = &self.history.timeline;
        let first = timeline.first_position();
        let next = memo.next.map_or(first, |next| next.max(first));
        let tested = usize::try_from(next - first).unwrap_or(0);
        let new = timeline.elements().get(tested..).unwrap_or(&[]);
        if new.is_empty() {
            return Some(());
        }
        memo.hits.forget_before(first);
        for (element, position) in new.iter().map(Value::from_json).zip(next..) {
            if self.holds_for(each, plan.body, element) {
                let hits = match plan.groups {
                    None => Some(&mut memo.hits),
                    Some(groups) => match self.eval_block(groups.key) {
                        Value::Missing => None,
                        value => {
                            let hits = memo.groups.entry(GroupKey::new(value)?).or_default();
                            hits.forget_before(first);
                            Some(hits)
                        }
                    },
                };
                if let Some(hits) = hits {
                    if let Some(summed) = summed {
                        let total = hits.totals.last().copied().unwrap_or(hits.total_before);
                        hits.totals.push(total.plus(self.eval_block(summed)));
                    }
                    hits.positions.push(position);
                }
            }
            memo.next = Some(position.saturating_add(1));
        }
        Some(())
    }

    /// Adds the terms of a sum for the elements of `list` for which the condition of the loop is
    /// true.
    pub(super) fn sum_of_elements(&mut self, each: &Loop, list: Value<'a>, value: BlockId) -> Value<'a> {
        let mut sum = Sum::default();
        for element in list.elements().into_iter().flatten() {
            if self.holds_for(each, each.body, element) {
                sum.add(self.eval_block(value));
            }
        }
        sum.total()
    }
}
