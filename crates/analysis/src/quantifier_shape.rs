//! Converts quantifiers that compare list elements with constants to predicates on the list. For
//! example, `any x in tags: x == "a"` means that `tags` contains "a". So the solver can construct a
//! suitable list directly.

use super::shape::{PredicateShape, shape_of_elements};
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::{Kind, KindSet};
use rulec_sema::normal::{CondId, ExprId, NormalCond, NormalExpr, NormalForm, TestKind};
use serde_json::Value as Json;

/// Returns the list of a quantifier such as `any x in tags: x == "a"`, and the equivalent predicate
/// on the list. `None` unless the quantifier compares each element with constants.
pub(super) fn quantifier_shape(normal: &NormalForm, id: CondId) -> Option<(ExprId, PredicateShape)> {
    let NormalCond::Each { is_all: all, list, kinds, body, level, .. } = normal.cond(id) else { return None };
    let (mut values, mut mode) = (Vec::new(), None);
    let parts = match normal.cond(*body) {
        NormalCond::Or(parts) if !all => &**parts,
        NormalCond::And(parts) if *all => &**parts,
        _ => std::slice::from_ref(body),
    };
    for part in parts {
        let (constants, part_mode) = element_comparison_constants(normal, *part, (*level, !all))?;
        if mode.is_some_and(|mode| mode != part_mode) {
            return None;
        }
        mode = Some(part_mode);
        values.extend(constants);
    }
    // A text may also be read as a date-time, which differs from the text.
    let is_read_unchanged = |value: &Json| match value {
        Json::String(_) => kinds.has(Kind::String) && !kinds.has(Kind::DateTime),
        Json::Number(_) => kinds.overlaps(KindSet::NUMBER),
        Json::Bool(_) => kinds.has(Kind::Bool),
        _ => false,
    };
    values
        .iter()
        .all(is_read_unchanged)
        .then(|| (*list, shape_of_elements(values, mode.unwrap_or_default(), *all)))
}

/// Returns the constants of a condition that compares the element of a quantifier with constants.
/// If `is_equal` is true, the condition must be `==` or `in`; if it is false, the negation of `==`
/// or `in`. `level` identifies the quantifier. `None` for any other condition.
fn element_comparison_constants(
    normal: &NormalForm,
    cond: CondId,
    (level, is_equal): (u32, bool),
) -> Option<(Vec<Json>, TestMode)> {
    let NormalCond::Predicate { pred, want } = normal.cond(cond) else { return None };
    let pred = normal.pred(*pred);
    let is_element = matches!(normal.expr(pred.left), NormalExpr::Var(var) if *var == level);
    let constant = normal.constant(pred.right?)?.value();
    let constants = match pred.test_kind {
        TestKind::Op(Op::Eq) => vec![constant.to_json()],
        TestKind::Op(Op::In) if pred.mode.quantity.is_none() => {
            constant.elements()?.map(|element| element.to_json()).collect()
        }
        _ => return None,
    };
    (is_element && *want == is_equal).then_some((constants, pred.mode))
}
