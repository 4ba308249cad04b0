//! Proposes list elements for conditions with `any`, `all` and `count`. If the elements are
//! records, each field gets the constants that conditions compare it with, and the neighbours of
//! these constants. The proposed elements are combinations of these values; in some of them, fields
//! are missing.

use rulec_lang::value::Value;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Fold, Operand, Part, VarId};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Maximum number of list elements to try in one search.
const MAX_TRIED_ELEMENTS: usize = 200;
/// Maximum number of values to try for one field of a list element.
const MAX_VALUES_PER_FIELD: usize = 8;
/// Maximum number of equal elements in a proposed list, for conditions such as `count … > 3`.
const MAX_EQUAL_ELEMENTS: i64 = 20;

/// One step of the path from a list element to a value inside the element: the field of a record,
/// or the only element of an inner list.
#[derive(Clone, PartialEq)]
enum ElementPathStep {
    Field(Arc<str>),
    Element,
}

/// The values to try inside list elements, collected from the conditions that read the elements.
#[derive(Default)]
pub(super) struct ListCandidates {
    /// The paths inside a list element, each with the values to try at that path.
    values_by_path: Vec<(Vec<ElementPathStep>, Vec<Json>)>,
    /// The variables of quantifiers. Each has the path from the element of the outermost list to
    /// the value of the variable.
    element_path_by_var: Vec<(VarId, Vec<ElementPathStep>)>,
    /// The numbers of equal elements that comparisons with `count` may require.
    equal_element_counts: Vec<usize>,
}

impl ListCandidates {
    /// Collects the values to try from conditions that compare list elements with constants.
    pub fn from_conditions<'c>(conditions: impl Iterator<Item = &'c Cond>) -> ListCandidates {
        let mut candidates = ListCandidates::default();
        conditions.for_each(|cond| candidates.collect_from_part(Part::Cond(cond)));
        candidates
    }

    /// True if the conditions read no element of a list.
    pub fn is_empty(&self) -> bool {
        self.element_path_by_var.is_empty()
    }

    fn collect_from_part(&mut self, part: Part<'_>) {
        match part {
            Part::Cond(Cond { kind: CondKind::Quantifier { list, var, .. }, .. })
            | Part::Expr(Expr { kind: ExprKind::Fold { list, var, .. }, .. }) => {
                // An inner list is a field of an element. Any other list is the outermost list.
                let mut path = self.path_of(list).unwrap_or_default();
                if !path.is_empty() {
                    path.push(ElementPathStep::Element);
                }
                self.element_path_by_var.push((var.id, path));
            }
            Part::Cond(Cond { kind: CondKind::Predicate(test), .. }) => {
                self.add_values(&test.left, &test.right);
                if let Operand::Value(right) = &test.right {
                    self.add_values(right, &Operand::Value(test.left.clone()));
                }
            }
            _ => {}
        }
        part.parts().into_iter().for_each(|part| self.collect_from_part(part));
    }

    /// Adds values to try for `operand`: values for which the comparison with `other` is true, and
    /// values for which it is false. Adds nothing if `other` is computed from the message. If the
    /// predicate has no second operand, the operand itself is tested as a bool.
    fn add_values(&mut self, operand: &Expr, other: &Operand) {
        let constant = match other {
            Operand::Value(Expr { kind: ExprKind::Const(constant), .. }) => constant.value().to_json(),
            Operand::Nothing => json!(true),
            _ => return,
        };
        if let (ExprKind::Fold { fold: Fold::Count, .. }, Some(count)) = (&operand.kind, constant.as_i64()) {
            let counts = (count.max(1)..=MAX_EQUAL_ELEMENTS).take(2);
            self.equal_element_counts.extend(counts.filter_map(|count| usize::try_from(count).ok()));
        }
        let Some(path) = self.path_of(operand) else { return };
        let values = match constant {
            Json::Array(mut items) => {
                items.truncate(MAX_VALUES_PER_FIELD / 2);
                items.push(json!("other"));
                items
            }
            Json::Bool(_) => vec![json!(true), json!(false)],
            constant => {
                let neighbours = match Value::from_json(&constant) {
                    Value::Int(int) => vec![int.saturating_add(1), int.saturating_sub(1)],
                    _ => Vec::new(),
                };
                let neighbours: Vec<Json> = neighbours.into_iter().map(Json::from).collect();
                let other = constant.is_string().then(|| json!("other"));
                [constant].into_iter().chain(neighbours).chain(other).collect()
            }
        };
        let index = self.values_by_path.iter().position(|(other, _)| *other == path).unwrap_or_else(|| {
            self.values_by_path.push((path, Vec::new()));
            self.values_by_path.len() - 1
        });
        let known = &mut self.values_by_path[index].1;
        for value in values {
            if !known.contains(&value) && known.len() < MAX_VALUES_PER_FIELD {
                known.push(value);
            }
        }
    }

    /// Returns the path from a list element to the value of an operand. `None` if the operand does
    /// not read a list element.
    fn path_of(&self, operand: &Expr) -> Option<Vec<ElementPathStep>> {
        match &operand.kind {
            ExprKind::Var(id) => {
                self.element_path_by_var.iter().rev().find(|(var, _)| var == id).map(|(_, path)| path.clone())
            }
            ExprKind::Field(base, name) => {
                let mut path = self.path_of(base)?;
                path.push(ElementPathStep::Field(name.clone()));
                Some(path)
            }
            ExprKind::Read(inner, _) => self.path_of(inner),
            _ => None,
        }
    }

    /// Returns elements to try in a list. Each element has one of the collected values at each path
    /// inside it. Elements in which some path has no value come last.
    pub fn proposed_elements(&self) -> Vec<Json> {
        let mut elements = vec![Json::Null];
        for (path, values) in &self.values_by_path {
            let extended = values.iter().map(Some).chain([None]).flat_map(|value| {
                elements.iter().map(move |element| {
                    let mut element = element.clone();
                    if let Some(value) = value {
                        write_value_at(&mut element, path, value);
                    }
                    element
                })
            });
            elements = extended.take(MAX_TRIED_ELEMENTS).collect();
        }
        elements
    }

    /// Returns the numbers of equal elements to try in a list, so that comparisons with `count` can
    /// be satisfied.
    pub fn equal_element_counts(&self) -> impl Iterator<Item = usize> {
        self.equal_element_counts.iter().copied()
    }
}

/// Writes a value at a path inside a list element.
fn write_value_at(element: &mut Json, path: &[ElementPathStep], value: &Json) {
    match path.split_first() {
        None => *element = value.clone(),
        Some((ElementPathStep::Element, rest)) => {
            if !element.is_array() {
                *element = json!([null]);
            }
            write_value_at(&mut element[0], rest, value);
        }
        Some((ElementPathStep::Field(name), rest)) => {
            if !element.is_object() {
                *element = json!({});
            }
            write_value_at(&mut element[&**name], rest, value);
        }
    }
}
