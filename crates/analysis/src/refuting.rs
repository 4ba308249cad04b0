//! Tests candidate values against many literals (required truth values of predicates). The literal
//! that excluded the last value is tested first, because it often excludes the next value too. The
//! search records the literals that excluded at least one value. These few literals often exclude
//! every value.

use super::atoms::{AtomLiteral, AtomTable, TRUE};
use super::shape::TextDependence;

/// Literals (required truth values of predicates) in the order in which they are tested.
pub(super) struct RefutingLiterals {
    literals: Vec<AtomLiteral>,
    /// The number of literals (required truth values) at the front that have excluded at least one
    /// value.
    refuting_count: usize,
}

impl RefutingLiterals {
    pub fn new(literals: &[AtomLiteral]) -> RefutingLiterals {
        RefutingLiterals { literals: literals.to_vec(), refuting_count: 0 }
    }

    /// Tests a value against the literals; true if it satisfies all. A literal that excludes the
    /// value is moved to the front, so that it is tested early for the next value.
    pub fn are_satisfied_by(&mut self, atoms: &AtomTable, value: &serde_json::Value) -> bool {
        let refutes = |literal: &AtomLiteral| !atoms.value_satisfies(*literal, value);
        let Some(index) = self.literals.iter().position(refutes) else { return true };
        if index >= self.refuting_count {
            self.literals.swap(index, self.refuting_count);
            self.refuting_count += 1;
        } else {
            self.literals[..=index].rotate_right(1);
        }
        false
    }

    /// Returns the literals that have excluded at least one tested value.
    pub fn into_refuting_literals(mut self) -> Vec<AtomLiteral> {
        self.literals.truncate(self.refuting_count);
        self.literals.sort_unstable();
        self.literals
    }

    /// Returns literals that no value satisfies together: the literals that excluded a tested
    /// value, and the literal of the atom `deciding`. Precondition: the predicate of `deciding` is
    /// true only for some constants, and each of these constants was tested and excluded.
    pub fn into_core(self, deciding: usize) -> Vec<AtomLiteral> {
        let own = self.literals.iter().find(|literal| literal.atom_index == deciding).copied();
        let mut core = self.into_refuting_literals();
        core.extend(own.filter(|own| !core.contains(own)));
        core.sort_unstable();
        core
    }
}

/// True if every text that satisfies one literal also contains a text that another literal forbids.
/// For example, `contains "refund"` must be true, but `contains "fun"` must not be true. Then no
/// text satisfies all literals, so no search is needed.
pub(super) fn implies_a_forbidden_keyword(atoms: &AtomTable, literals: &[AtomLiteral]) -> bool {
    let texts = |literal: &AtomLiteral| match &atoms.atoms[literal.atom_index]
        .predicate_shape
        .as_ref()?
        .dependence_on_text
    {
        TextDependence::Texts(texts) => Some(texts),
        _ => None,
    };
    let mut required = literals.iter().filter(|literal| literal.allowed == TRUE).filter_map(texts);
    required.any(|required| {
        literals.iter().filter(|literal| literal.allowed & TRUE == 0).any(|forbidden| {
            texts(forbidden).is_some_and(|texts| required.found_keywords_satisfy(texts))
                && required.implies_keyword(|keyword| {
                    let forbidden_test = AtomLiteral { allowed: TRUE, ..*forbidden };
                    atoms.value_satisfies(forbidden_test, &serde_json::Value::from(keyword))
                })
        })
    })
}
