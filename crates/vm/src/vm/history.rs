//! Evaluates loops over the history. The results for elements that an earlier decision has
//! evaluated are reused.

use super::past::{ElementHits, GroupKey, GroupKeys, KeyKinds, LookupKeys, LoopMemo};
use super::{SlotValueSource, Vm};
use crate::bytecode::chunk::{HistoryLoop, Loop, MAX_COMPARED_BYTES};
use crate::bytecode::instr::BlockId;
use rulec_lang::history::Sum;
use rulec_lang::value::Value;
use std::sync::PoisonError;

/// The elements of a list for which the condition of a loop is true.
pub(super) struct LoopHits<'a> {
    /// The number of elements for which the loop's condition is true.
    pub hit_count: usize,
    /// The first and the last element for which the loop's condition is true; missing if there is
    /// none.
    pub first_and_last: [Value<'a>; 2],
    /// For a loop that computes a sum: the sum of the terms of the elements for which the condition
    /// is true. `None` for other loops, or if a term could not be added exactly.
    pub total: Option<Value<'static>>,
}

impl<'a, M: SlotValueSource<'a>> Vm<'a, M> {
    /// Returns the elements of `list` for which the condition of a loop is true, from the
    /// remembered results. Evaluates the condition only for new elements. `summed` is the block
    /// that computes the term of a sum. Returns `None` if results cannot be remembered for this
    /// loop or this list.
    pub(super) fn find_remembered_hits(
        &mut self,
        each: &Loop,
        list: Value<'a>,
        summed: Option<BlockId>,
    ) -> Option<LoopHits<'a>> {
        let (plan, past) = (each.history?, self.history);
        let (memo, Value::JsonList(items)) = (past.memo.as_ref()?, list) else { return None };
        let range = past.indices_of(items)?;
        let (mut others, mut other_kinds) = (GroupKeys::new(), KeyKinds::default());
        for groups in plan.comparisons() {
            match self.operand_value(groups.other_operand) {
                Value::Missing => {
                    return Some(LoopHits {
                        hit_count: 0,
                        first_and_last: [Value::Missing; 2],
                        total: Some(Value::Int(0)),
                    });
                }
                value if value.own_size() > MAX_COMPARED_BYTES => return None,
                value => {
                    others.push(GroupKey::new(value)?);
                    other_kinds.add(value);
                }
            }
        }
        let mut memo = memo.lock().unwrap_or_else(PoisonError::into_inner);
        let remembered = memo.loop_memos_of(self.bytecode_number).entry(plan.memo_number).or_default();
        self.evaluate_new_elements(remembered, each, plan, summed)?;
        if remembered.key_kinds.are_mixed_with(other_kinds) {
            return None;
        }
        let first = past.timeline.first_position();
        let empty = ElementHits::default();
        let hits = match others.is_empty() {
            true => &remembered.hits,
            false => remembered.groups.get(&LookupKeys(&others)).unwrap_or(&empty),
        };
        let position = |index: usize| first.saturating_add(i64::try_from(index).unwrap_or(i64::MAX));
        let within = hits.indices_within(&(position(range.start)..position(range.end)));
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
                false => hits.totals[within.end - 1].sum_since(before),
            }
        });
        Some(LoopHits {
            hit_count: found.len(),
            first_and_last: [element(found.first()), element(found.last())],
            total,
        })
    }

    /// Evaluates the condition of a loop for the elements that have no remembered result, and adds
    /// the results to `memo`. `summed` is the block that computes the term of a sum. `None` if an
    /// element has a value by which elements cannot be grouped.
    fn evaluate_new_elements(
        &mut self,
        memo: &mut LoopMemo,
        each: &Loop,
        history_loop: HistoryLoop,
        summed: Option<BlockId>,
    ) -> Option<()> {
        let timeline = &self.history.timeline;
        let first = timeline.first_position();
        let next = memo.next_position.map_or(first, |next| next.max(first));
        let tested = usize::try_from(next - first).unwrap_or(0);
        let new = timeline.elements().get(tested..).unwrap_or(&[]);
        if new.is_empty() {
            return Some(());
        }
        memo.hits.forget_before(first);
        if memo.groups.len() > 2 * timeline.elements().len() + 16 {
            memo.groups.retain(|_, hits| hits.positions.last().is_some_and(|last| *last >= first));
        }
        for (element, position) in new.iter().map(Value::from_json).zip(next..) {
            if self.is_body_true_for(each, history_loop.body, element)
                && let Some(keys) = self.keys_of_current_element(&history_loop, &mut memo.key_kinds)?
            {
                let hits = match keys.is_empty() {
                    true => &mut memo.hits,
                    false => memo.hits_of_group(&keys),
                };
                hits.forget_before(first);
                if let Some(summed) = summed {
                    let total = hits.totals.last().copied().unwrap_or(hits.total_before);
                    hits.totals.push(total.plus(self.eval_block(summed)));
                }
                hits.positions.push(position);
            }
            memo.next_position = Some(position.saturating_add(1));
            memo.evaluation_count = memo.evaluation_count.saturating_add(1);
        }
        Some(())
    }

    /// Returns the values by which the current element of a loop is grouped. `Some(None)` if one of
    /// them is missing, a list or a dict, so that it equals no value by which groups are looked up.
    /// `None` if one of them is of another kind by which elements cannot be grouped. Adds the kinds
    /// of the values to `kinds`.
    fn keys_of_current_element(
        &mut self,
        history_loop: &HistoryLoop,
        kinds: &mut KeyKinds,
    ) -> Option<Option<GroupKeys<'a>>> {
        let mut keys = GroupKeys::new();
        for groups in history_loop.comparisons() {
            match self.eval_block(groups.key_block) {
                Value::Missing | Value::JsonList(_) | Value::List(_) | Value::Dict(_) | Value::Entries(_) => {
                    return Some(None);
                }
                value => {
                    keys.push(GroupKey::new(value)?);
                    kinds.add(value);
                }
            }
        }
        Some(Some(keys))
    }

    /// Computes a sum without remembered results: adds the terms of the elements of `list` for
    /// which the condition of the loop is true.
    pub(super) fn sum_of_elements(&mut self, each: &Loop, list: Value<'a>, value: BlockId) -> Value<'a> {
        let mut sum = Sum::default();
        for element in list.elements().into_iter().flatten() {
            if self.is_body_true_for(each, each.body, element) {
                sum.add(self.eval_block(value));
            }
        }
        sum.total()
    }
}
