//! Finds a list or dict for predicates such as `contains`: it has the required elements or keys,
//! and none of the forbidden ones. In this module, a *literal* is a predicate together with the
//! truth value that it must have.

use super::atoms::{AtomLiteral, FALSE, TRUE};
use super::shape::ElementSet;
use super::values::{SolvedValue, ValueSearch};
use rulec_lang::value::Value;
use serde_json::{Value as Json, json};

impl ValueSearch {
    /// Builds a dict with the keys that the literals (required truth values) need. Returns `Never`
    /// if it is proven that no dict satisfies the literals, and `Unknown` if this dict does not
    /// satisfy them.
    pub fn find_dict(&self, literals: &[AtomLiteral]) -> SolvedValue {
        let shape = |literal: &AtomLiteral| self.atoms.atoms[literal.atom_index].predicate_shape.as_ref();
        let exact =
            literals.iter().all(|literal| shape(literal).is_some_and(|shape| !shape.has_nested_constants));
        let required = literals.iter().filter(|literal| literal.allowed & (TRUE | FALSE) == TRUE);
        let keys = required.filter_map(|literal| shape(literal)?.dict_key.as_ref());
        let dict = Json::Object(keys.map(|key| (key.to_string(), json!(true))).collect());
        match literals.iter().all(|literal| self.atoms.value_satisfies(*literal, &dict)) {
            true => SolvedValue::Value(dict),
            false if exact => SolvedValue::Never,
            false => SolvedValue::Unknown,
        }
    }

    /// Builds a list with the elements that the literals (required truth values) need, and without
    /// the elements that they forbid. Returns `Never` if it is proven that no list satisfies the
    /// literals, and `Unknown` if this list does not satisfy them.
    pub fn find_list(&self, literals: &[AtomLiteral]) -> SolvedValue {
        let element_sets = |all: bool| {
            literals.iter().filter_map(move |literal| {
                let elements = self.atoms.atoms[literal.atom_index]
                    .predicate_shape
                    .as_ref()?
                    .searched_elements
                    .as_ref()?;
                let must_contain = match literal.allowed & (TRUE | FALSE) {
                    // The predicate may be unknown because of an element of another type.
                    FALSE if elements.forbids_values => return None,
                    TRUE => !elements.forbids_values,
                    FALSE => false,
                    _ => return None,
                };
                (must_contain == all).then_some(elements)
            })
        };
        let mut exact = true;
        for literal in literals {
            match self.atoms.atoms[literal.atom_index].predicate_shape.as_ref() {
                Some(shape) if shape.has_nested_constants => exact = false,
                Some(shape) if shape.searched_elements.is_some() => {
                    if literal.allowed & (TRUE | FALSE) == 0 {
                        return SolvedValue::Never;
                    }
                }
                Some(_) if !self.atoms.value_satisfies(*literal, &json!([])) => return SolvedValue::Never,
                Some(_) => {}
                None => exact = false,
            }
        }
        // The forbidden elements. A false `all` over several elements forbids none of them
        // individually.
        let forbidden: Vec<(&Json, &ElementSet)> = element_sets(false)
            .filter(|elements| !elements.requires_all || elements.values.len() == 1)
            .flat_map(|elements| elements.values.iter().map(move |value| (value, elements)))
            .collect();
        let is_forbidden = |value: &Json| {
            forbidden.iter().any(|(other, elements)| are_equivalent_elements(value, other, elements))
        };
        let mut list_elements: Vec<Json> = Vec::new();
        for elements in element_sets(true) {
            let modes_agree = forbidden.iter().all(|(_, other)| other.mode.text == elements.mode.text);
            let mut permitted = elements.values.iter().filter(|value| !is_forbidden(value)).cloned();
            let impossible = if elements.requires_all || elements.values.len() == 1 {
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
            if elements.requires_all || elements.values.len() == 1 {
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

/// True if a predicate that searches a list for `elements` treats two values as equal. Texts are
/// compared in the text mode of the predicate, for example without regard to case.
fn are_equivalent_elements(value: &Json, other: &Json, elements: &ElementSet) -> bool {
    match (value, other) {
        (Json::String(a), Json::String(b)) => elements.mode.text.prepare(a) == elements.mode.text.prepare(b),
        _ => rulec_lang::value::is_identical(Value::from_json(value), Value::from_json(other)),
    }
}
