//! Finds lists and dicts that contain some elements or keys and lack others. Quantifiers that
//! compare elements with constants count as predicates on the list.

use super::atoms::{AtomLiteral, FALSE, TRUE};
use super::shape::{ElementSet, PredicateShape, shape_of_elements};
use super::values::{SolvedValue, ValueSearch};
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::Value;
use rulec_sema::normal::{CondId, ExprId, NCond, NExpr, Normal, TestKind};
use serde_json::{Value as Json, json};

/// Returns the list and the shape of a quantifier that compares each element with constants, such
/// as `any x in tags: x == "a"`. `None` for any other quantifier.
pub(super) fn quantifier_shape(normal: &Normal, id: CondId) -> Option<(ExprId, PredicateShape)> {
    let NCond::Each { all, list, kinds, body, level, .. } = normal.cond(id) else { return None };
    let (mut values, mut mode) = (Vec::new(), None);
    let parts = match normal.cond(*body) {
        NCond::Or(parts) if !all => &**parts,
        NCond::And(parts) if *all => &**parts,
        _ => std::slice::from_ref(body),
    };
    for part in parts {
        let (constants, part_mode) = element_constants(normal, *part, (*level, !all))?;
        if mode.is_some_and(|mode| mode != part_mode) {
            return None;
        }
        mode = Some(part_mode);
        values.extend(constants);
    }
    // A text may also be read as a date-time, which differs from the text.
    let is_read_as_is = |value: &Json| match value {
        Json::String(_) => kinds.has(Kind::String) && !kinds.has(Kind::DateTime),
        Json::Number(_) => kinds.overlaps(KindSet::NUMBER),
        Json::Bool(_) => kinds.has(Kind::Bool),
        _ => false,
    };
    values.iter().all(is_read_as_is).then(|| (*list, shape_of_elements(values, mode.unwrap_or_default(), *all)))
}

/// Returns the constants with which a condition compares the element of a quantifier.
fn element_constants(
    normal: &Normal,
    cond: CondId,
    (level, is_equal): (u32, bool),
) -> Option<(Vec<Json>, TestMode)> {
    let NCond::Test { pred, want } = normal.cond(cond) else { return None };
    let pred = normal.pred(*pred);
    let is_element = matches!(normal.expr(pred.left), NExpr::Var(var) if *var == level);
    let constant = normal.constant(pred.right?)?.value();
    let constants = match pred.ask {
        TestKind::Op(Op::Eq) => vec![constant.to_json()],
        TestKind::Op(Op::In) if pred.mode.quantity.is_none() => {
            constant.elements()?.map(|element| element.to_json()).collect()
        }
        _ => return None,
    };
    (is_element && *want == is_equal).then_some((constants, pred.mode))
}

impl ValueSearch {
    /// Returns a dict with the keys that the literals require.
    pub fn find_dict(&self, literals: &[AtomLiteral]) -> SolvedValue {
        let shape = |literal: &AtomLiteral| self.atoms.atoms[literal.atom].shape.as_ref();
        let exact = literals.iter().all(|literal| shape(literal).is_some_and(|shape| !shape.has_nested));
        let required = literals.iter().filter(|literal| literal.allowed & (TRUE | FALSE) == TRUE);
        let keys = required.filter_map(|literal| shape(literal)?.key.as_ref());
        let dict = Json::Object(keys.map(|key| (key.to_string(), json!(true))).collect());
        match literals.iter().all(|literal| self.atoms.value_satisfies(*literal, &dict)) {
            true => SolvedValue::Value(dict),
            false if exact => SolvedValue::Never,
            false => SolvedValue::Unknown,
        }
    }

    /// Returns a list that contains the elements that the literals require, and none that they
    /// forbid.
    pub fn find_list(&self, literals: &[AtomLiteral]) -> SolvedValue {
        let element_sets = |all: bool| {
            literals.iter().filter_map(move |literal| {
                let elements = self.atoms.atoms[literal.atom].shape.as_ref()?.elements.as_ref()?;
                let must_contain = match literal.allowed & (TRUE | FALSE) {
                    // The predicate may be unknown because of an element of another type.
                    FALSE if elements.excludes => return None,
                    TRUE => !elements.excludes,
                    FALSE => false,
                    _ => return None,
                };
                (must_contain == all).then_some(elements)
            })
        };
        let mut exact = true;
        for literal in literals {
            match self.atoms.atoms[literal.atom].shape.as_ref() {
                Some(shape) if shape.has_nested => exact = false,
                Some(shape) if shape.elements.is_some() => {
                    if literal.allowed & (TRUE | FALSE) == 0 {
                        return SolvedValue::Never;
                    }
                    exact &= shape.elements.as_ref().is_none_or(|elements| !elements.excludes);
                }
                Some(_) if !self.atoms.value_satisfies(*literal, &json!([])) => return SolvedValue::Never,
                Some(_) => {}
                None => exact = false,
            }
        }
        // The forbidden elements. A false `all` over several elements forbids none of them
        // individually.
        let forbidden: Vec<(&Json, &ElementSet)> = element_sets(false)
            .filter(|elements| !elements.all || elements.values.len() == 1)
            .flat_map(|elements| elements.values.iter().map(move |value| (value, elements)))
            .collect();
        let is_forbidden = |value: &Json| {
            forbidden.iter().any(|(other, elements)| are_equivalent_elements(value, other, elements))
        };
        let mut list_elements: Vec<Json> = Vec::new();
        for elements in element_sets(true) {
            let modes_agree = forbidden.iter().all(|(_, other)| other.mode.text == elements.mode.text);
            let mut permitted = elements.values.iter().filter(|value| !is_forbidden(value)).cloned();
            let impossible = if elements.all || elements.values.len() == 1 {
                elements.values.iter().any(is_forbidden)
            } else {
                let first = permitted.next();
                let none_permitted = first.is_none();
                list_elements.extend(first);
                none_permitted
            };
            if impossible {
                return if exact && modes_agree { SolvedValue::Never } else { SolvedValue::Unknown };
            }
            if elements.all || elements.values.len() == 1 {
                list_elements.extend(elements.values.iter().cloned());
            }
        }
        let list = Json::Array(list_elements);
        if literals.iter().all(|literal| self.atoms.value_satisfies(*literal, &list)) {
            return SolvedValue::Value(list);
        }
        SolvedValue::Unknown
    }
}

/// True if the predicate of `elements` cannot distinguish the two list elements.
fn are_equivalent_elements(value: &Json, other: &Json, elements: &ElementSet) -> bool {
    match (value, other) {
        (Json::String(a), Json::String(b)) => elements.mode.text.prepare(a) == elements.mode.text.prepare(b),
        _ => rulec_lang::value::is_identical(Value::from_json(value), Value::from_json(other)),
    }
}
