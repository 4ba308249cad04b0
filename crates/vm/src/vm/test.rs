//! Evaluates predicates: by a fast check if the bytecode has one, otherwise by the function that
//! implements the operator.

use super::{SlotValueSource, Vm, compare_with_float, compare_with_int};
use crate::bytecode::chunk::{Keywords, Operand, Pred, PredCheck};
use crate::bytecode::instr::Comparison;
use rulec_lang::builtins::Function;
use rulec_lang::operators::budget::{self, PredicateContext};
use rulec_lang::operators::implementations;
use rulec_lang::value::{Tri, Value, is_identical};
use rulec_sema::normal::TestKind;
use std::cmp::Ordering;

impl<'a, M: SlotValueSource<'a>> Vm<'a, M> {
    /// Evaluates the predicate with index `pred_index`, without reading or storing a memoized
    /// result.
    pub fn eval_pred(&mut self, pred_index: usize) -> Tri {
        let chunk = self.chunk;
        // The literals of a text are decided first, because then the predicate need not be read.
        if let Some(lookup) = &self.lookup
            && !self.arena.is_repeated()
            && let Some(answer) = lookup.literal_result(pred_index, false)
        {
            return answer;
        }
        let Some(pred) = chunk.preds.get(pred_index) else { return Tri::Unknown };
        let left = self.operand_value(pred.left);
        match pred.check {
            PredCheck::Keywords(id) => self.eval_keywords(pred_index, pred, id, &left),
            PredCheck::Truth => implementations::value_to_tri(left),
            PredCheck::Missing => left.is_missing().into(),
            PredCheck::Int(cmp, int) => compare_order(cmp, compare_with_int(&left, int)),
            PredCheck::Float(cmp, float) => compare_order(cmp, compare_with_float(&left, float)),
            PredCheck::Length(cmp, length) => match left {
                Value::Str(text) if !self.arena.is_repeated() => compare_length(cmp, text, length),
                _ => match Function::Len.call(&[left], self.arena) {
                    Value::Int(int) => cmp.is_satisfied_by(int.cmp(&length)).into(),
                    _ => Tri::Unknown,
                },
            },
            PredCheck::Equals(_) | PredCheck::Members(_) if self.prepares_text_repeatedly(pred) => {
                self.eval_generic(pred_index, pred, left)
            }
            PredCheck::Equals(string) => match (left, chunk.strings.get(string as usize)) {
                (Value::Str(text), Some(wanted)) => {
                    self.with_prepared_text(pred, text, |text| text == &**wanted).into()
                }
                _ => Tri::Unknown,
            },
            PredCheck::HasKey(string) => {
                let key = chunk.strings.get(string as usize);
                key.and_then(|key| left.has_key(key)).map_or(Tri::Unknown, Tri::from)
            }
            PredCheck::Members(id) => self.eval_members(pred_index, pred, id, &left),
            PredCheck::Generic => self.eval_generic(pred_index, pred, left),
        }
    }

    // Takes `left` by reference. If it were passed by value, the inlined code would copy it byte by
    // byte.
    #[inline(always)]
    fn eval_keywords(
        &mut self,
        pred_index: usize,
        pred: &'a Pred,
        keywords_index: u32,
        left: &Value<'a>,
    ) -> Tri {
        let (chunk, pools) = (self.chunk, self.pools);
        let Some(matcher) = pools.keywords.get(keywords_index as usize) else { return Tri::Unknown };
        // If the search might exceed a limit, the operator's own function evaluates the predicate.
        if matches!(left, Value::Str(text) if text.len() as u64 > matcher.max_text_bytes)
            || self.arena.is_repeated() && !self.is_repeated_search_within_limits(pred, keywords_index, *left)
        {
            return self.eval_generic(pred_index, pred, *left);
        }
        if let (Value::Str(_), Some(lookup)) = (left, &self.lookup)
            && let Some(answer) = lookup.literal_result(pred_index, true)
        {
            return answer;
        }
        let Some(keywords) = chunk.keywords.get(keywords_index as usize) else { return Tri::Unknown };
        match left {
            Value::Str(text) if !keywords.search.prepares_texts() => matcher.is_match(text).into(),
            Value::Str(text) => self.with_prepared_text(pred, text, |text| matcher.is_match(text)).into(),
            Value::JsonList(_) | Value::List(_) if keywords.search.finds_elements() => {
                self.eval_list_element(pred_index, pred, keywords, *left)
            }
            _ => Tri::Unknown,
        }
    }

    /// Evaluates a text predicate whose left operand is a list: whether its elements include the
    /// keywords. For a single keyword, the elements are compared with it directly.
    fn eval_list_element(
        &mut self,
        pred_index: usize,
        pred: &'a Pred,
        keywords: &'a Keywords,
        list: Value<'a>,
    ) -> Tri {
        match keywords.required_element(pred.mode) {
            Some(wanted) => list_has_text(list, wanted),
            None => self.eval_generic(pred_index, pred, list),
        }
    }

    #[inline(always)]
    fn eval_members(
        &mut self,
        pred_index: usize,
        pred: &'a Pred,
        members_index: u32,
        left: &Value<'a>,
    ) -> Tri {
        let Some(set) = self.pools.members.get(members_index as usize) else { return Tri::Unknown };
        match left {
            Value::Str(text) => self.with_prepared_text(pred, text, |text| set.has_text(text)).into(),
            Value::Int(int) => match set.has_int(*int) {
                Some(has) => has.into(),
                None => self.eval_generic(pred_index, pred, *left),
            },
            _ => self.eval_generic(pred_index, pred, *left),
        }
    }

    /// Calls `then` with `text`, normalized and case-folded as the predicate requires.
    #[inline]
    fn with_prepared_text<R>(&mut self, pred: &Pred, text: &'a str, then: impl FnOnce(&str) -> R) -> R {
        then(self.texts.get_or_prepare(pred.text_index, self.memo.epoch, pred.mode.text, text))
    }

    /// Evaluates a predicate by the function that implements its operator. `pred_index` is the
    /// predicate's index, and `left` is the value of its left operand.
    fn eval_generic(&mut self, pred_index: usize, pred: &'a Pred, left: Value<'a>) -> Tri {
        let op = match pred.test_kind {
            TestKind::Truth => return implementations::value_to_tri(left),
            TestKind::Op(op) => op,
        };
        let right = self.operand_value(pred.right);
        if matches!(pred.right, Operand::Const(_) | Operand::Missing) {
            let set = || self.pools.constant_set(pred_index, right, pred.mode.text);
            return budget::test_with_constant(op, left, right, pred.mode, self.arena, set);
        }
        let context = PredicateContext { arena: self.arena, is_right_constant: false };
        budget::test_predicate(op, left, right, pred.mode, context)
    }

    /// True if the predicate's text would be normalized again for each element of a loop. The
    /// operator's function must then evaluate the predicate, because this function checks the
    /// limits.
    #[inline]
    fn prepares_text_repeatedly(&self, pred: &Pred) -> bool {
        !pred.mode.text.is_plain() && self.arena.is_repeated()
    }

    /// True if the search in the text `left` stays within the limits, although a loop repeats it
    /// for each element. `keywords_index` is the index of the predicate's keywords. If a regular
    /// expression would exceed a limit, this is not recorded here, because the expression may never
    /// run.
    #[cold]
    fn is_repeated_search_within_limits(&self, pred: &Pred, keywords_index: u32, left: Value<'a>) -> bool {
        let context = PredicateContext { arena: self.arena, is_right_constant: true };
        let keywords = self.chunk.keywords.get(keywords_index as usize);
        let (TestKind::Op(op), Value::Str(text), Some(keywords)) = (pred.test_kind, left, keywords) else {
            return false;
        };
        budget::is_predicate_within_budget(op, left, Value::Missing, pred.mode, context)
            && text.len() as u64
                <= keywords.max_searchable_bytes(|limit| self.arena.limit_per_repetition(limit))
    }
}

/// Reports whether a list contains a text; unknown if the value is no list.
#[inline]
pub fn list_has_text(list: Value<'_>, wanted: &str) -> Tri {
    if let Value::JsonList(items) = list {
        return items.iter().any(|item| item.as_str() == Some(wanted)).into();
    }
    let Some(mut elements) = list.elements() else { return Tri::Unknown };
    let has_text = elements.any(|element| match element {
        Value::Str(text) => text == wanted,
        other => is_identical(other, Value::Str(wanted)),
    });
    has_text.into()
}

fn compare_order(cmp: Comparison, order: Option<Ordering>) -> Tri {
    order.map_or(Tri::Unknown, |order| cmp.is_satisfied_by(order).into())
}

/// Compares the length of a text, in characters, with `length`. A character has one to four bytes.
/// So characters are counted only if the number of bytes does not decide the comparison.
fn compare_length(cmp: Comparison, text: &str, length: i64) -> Tri {
    let bytes = text.len() as i64;
    let order = if bytes < length {
        Ordering::Less
    } else if bytes.div_euclid(4) > length {
        Ordering::Greater
    } else {
        (text.chars().count() as i64).cmp(&length)
    };
    cmp.is_satisfied_by(order).into()
}
