//! Evaluates predicates with their modifiers, for the reference evaluator and the VM. The result is
//! unknown if the work exceeds a limit.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use crate::arena::Arena;
use crate::limits::Limit;
use crate::operators::implementations;
use crate::operators::modifiers::{Quantity, TestMode};
use crate::operators::sets::{ConstantSet, MIN_SET_ELEMENTS};
use crate::operators::table::{Implementation, Op, Search};
use crate::value::{Tri, Value};
use rulec_base::broken_invariant;

/// Context in which a predicate is evaluated: the arena of the decision, and whether the right
/// operand is a constant.
#[derive(Clone, Copy)]
pub struct PredicateContext<'a> {
    pub arena: &'a Arena,
    /// Whether the right operand is a constant. The size of a constant was already checked when the
    /// rules were compiled.
    pub is_right_constant: bool,
}

/// Evaluates a predicate with its modifiers. With `any`, `all` or `none`, applies the predicate to
/// each element of the right operand. Returns unknown if the evaluation takes more work than the
/// limits allow.
pub fn test_predicate<'a>(
    op: Op,
    left: Value<'a>,
    right: Value<'a>,
    mode: TestMode,
    context: PredicateContext<'_>,
) -> Tri {
    let Implementation::Predicate(mut predicate) = op.info().implementation else {
        broken_invariant!("the operator of a predicate is a predicate");
        return Tri::Unknown;
    };
    if !is_predicate_within_budget(op, left, right, mode, context) {
        return Tri::Unknown;
    }
    if op.info().search == Some(Search::Regex) && !context.is_right_constant {
        predicate = implementations::matches_message_pattern;
    }
    let Some(quantity) = mode.quantity else { return predicate(left, right, mode, context.arena) };
    if left.is_missing() {
        return Tri::Unknown;
    }
    let Some(elements) = right.elements() else { return Tri::Unknown };
    let results = elements.map(|element| predicate(left, element, mode, context.arena));
    match quantity {
        Quantity::Any => Tri::any(results),
        Quantity::All => Tri::all(results),
        Quantity::None => Tri::any(results).not(),
    }
}

/// Evaluates a predicate like [`test_predicate`], with a constant right operand. If this operand is
/// a long list in which many values are looked up, uses the set that `get_set` returns: the list
/// prepared for fast lookups.
pub fn test_with_constant<'s>(
    op: Op,
    left: Value<'_>,
    right: Value<'_>,
    mode: TestMode,
    arena: &Arena,
    get_set: impl FnOnce() -> Option<&'s ConstantSet>,
) -> Tri {
    let context = PredicateContext { arena, is_right_constant: true };
    let is_long = |list: Value<'_>| list.list_len().is_some_and(|len| len >= MIN_SET_ELEMENTS);
    let many = arena.is_repeated() || is_long(left);
    if many && matches!(op, Op::In | Op::Contains | Op::InNetwork) && is_long(right) {
        if !is_predicate_within_budget(op, left, right, mode, context) {
            return Tri::Unknown;
        }
        if let Some(found) = get_set().and_then(|set| set.test(op, left, right, mode)) {
            return found;
        }
    }
    test_predicate(op, left, right, mode, context)
}

/// True if the work of searching or comparing the operands is within the limits. The work of
/// reading each operand once is not limited, unless the condition is repeated for the elements of a
/// list.
pub fn is_predicate_within_budget(
    op: Op,
    left: Value<'_>,
    right: Value<'_>,
    mode: TestMode,
    context: PredicateContext<'_>,
) -> bool {
    let arena = context.arena;
    let passes = match (op.info().search, left) {
        (Some(Search::Glob), Value::Str(_))
            if !context.is_right_constant && !are_globs_within_budget(right, arena) =>
        {
            return false;
        }
        // A search for constants of the rules counts as one pass over the text.
        (Some(_), _) if context.is_right_constant => 1,
        (Some(search), Value::Str(_)) => max_text_passes(search, right, mode),
        // Each element of the right list is searched for in the left list.
        (Some(_), _) => mode.quantity.and(right.list_len()).map_or(1, |len| len as u64),
        (None, _) if matches!(op, Op::Eq | Op::Ne | Op::In) => 1,
        // Networks that come from the message are parsed again for each address.
        (None, _) if op == Op::InNetwork && !context.is_right_constant => right.deep_size(u64::MAX),
        (None, _) if op == Op::InNetwork => right.list_len().map_or(1, |len| len as u64),
        _ => return true,
    };
    if passes <= 1 && !arena.is_repeated() {
        return true;
    }
    let max_work = arena.limit_per_repetition(Limit::SearchWork) / passes.max(1);
    // Preparing texts and compiling patterns again for each repetition counts as work.
    let prepared_size = |value: Value<'_>| if mode.text.is_plain() { 0 } else { value.deep_size(max_work) };
    let work = match (op.info().search, left) {
        (Some(search), Value::Str(text)) => {
            let preparation_work = match search {
                _ if context.is_right_constant => 0,
                Search::Glob => right.deep_size(max_work).saturating_mul(GLOB_WORK_PER_BYTE),
                _ => prepared_size(right),
            };
            (text.len() as u64).saturating_mul(passes).saturating_add(preparation_work)
        }
        (Some(_), list) => list.deep_size(max_work).saturating_mul(passes),
        (None, _) if op == Op::InNetwork => passes,
        (None, Value::Str(text)) if op != Op::In || context.is_right_constant => match prepared_size(left) {
            0 => 0,
            _ if context.is_right_constant => text.len() as u64,
            work => work.saturating_add(prepared_size(right)),
        },
        (None, _) if op == Op::In && !context.is_right_constant => right.deep_size(max_work),
        // A comparison of two lists or dicts ends with the shorter of them.
        (None, _) => match left.deep_size(max_work) {
            0 => 0,
            work => right.deep_size(work),
        },
    };
    arena.is_within_budget(Limit::SearchWork, work)
}

/// Work of compiling a `like` pattern from a message: each byte of the pattern counts as this
/// number of searched bytes.
const GLOB_WORK_PER_BYTE: u64 = 32;

/// True if `like` patterns from a message are within the size limit for values.
fn are_globs_within_budget(patterns: Value<'_>, arena: &Arena) -> bool {
    let is_allowed =
        |pattern: Value<'_>| arena.allows(Limit::ValueBytes, pattern.as_str().map_or(0, str::len) as u64);
    is_allowed(patterns) && patterns.elements().is_none_or(|mut elements| elements.all(is_allowed))
}

/// Returns the maximum number of times that a search of the kind `search` reads the text to find
/// `keywords`. The keywords come from the message, so no matcher was compiled for them.
fn max_text_passes(search: Search, keywords: Value<'_>, mode: TestMode) -> u64 {
    // If a match can still be rejected, the search resumes after each rejected match, and may read
    // the text again.
    let rereads_text = mode.whole_word || search == Search::Glob;
    let passes_for = |keywords: Value<'_>| {
        keywords.as_str().filter(|_| rereads_text).map_or(1, |text| text.len().max(1) as u64)
    };
    match (mode.quantity, keywords.elements()) {
        (Some(_), Some(elements)) => elements.map(passes_for).sum(),
        // The glob matcher counts its backtracking itself.
        _ if search == Search::Glob => 1,
        _ => passes_for(keywords),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn quantities_follow_kleene_logic() {
        let mode = |quantity| TestMode { quantity: Some(quantity), ..TestMode::default() };
        let check = |list: Json, quantity, expected| {
            let context = PredicateContext { arena: &Arena::default(), is_right_constant: false };
            let result = test_predicate(
                Op::Contains,
                Value::Str("abc"),
                Value::from_json(&list),
                mode(quantity),
                context,
            );
            assert_eq!(result, expected, "{list}");
        };
        check(json!(["b", 7]), Quantity::Any, Tri::True);
        check(json!(["x", 7]), Quantity::Any, Tri::Unknown);
        check(json!(["x", "y"]), Quantity::None, Tri::True);
        check(json!(["a", "c"]), Quantity::All, Tri::True);
        check(json!([]), Quantity::Any, Tri::False);
        check(json!([]), Quantity::All, Tri::True);
        check(json!(null), Quantity::Any, Tri::Unknown);
    }
}
