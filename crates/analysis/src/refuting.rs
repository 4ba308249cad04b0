//! Tests values against many literals. The literal that excluded the last value is tested first,
//! because it often excludes the next value too. The literals that excluded some value are
//! recorded: they are a small set that is likely to exclude every value.

use super::atoms::{AtomLiteral, AtomTable};

/// Literals in the order in which they are tested.
pub(super) struct RefutingLiterals {
    literals: Vec<AtomLiteral>,
    /// The number of literals at the front that have excluded a value.
    used: usize,
}

impl RefutingLiterals {
    pub fn new(literals: &[AtomLiteral]) -> RefutingLiterals {
        RefutingLiterals { literals: literals.to_vec(), used: 0 }
    }

    /// True if a value of the term satisfies all literals.
    pub fn admit(&mut self, atoms: &AtomTable, value: &serde_json::Value) -> bool {
        let refutes = |literal: &AtomLiteral| !atoms.holds_for(*literal, value);
        let Some(at) = self.literals.iter().position(refutes) else { return true };
        if at >= self.used {
            self.literals.swap(at, self.used);
            self.used += 1;
        } else {
            self.literals[..=at].rotate_right(1);
        }
        false
    }

    /// Returns the literals that have excluded a value.
    pub fn into_used(mut self) -> Vec<AtomLiteral> {
        self.literals.truncate(self.used);
        self.literals.sort_unstable();
        self.literals
    }

    /// Returns the literals that have excluded a value, and the literal of the atom `deciding`.
    pub fn into_core(self, deciding: usize) -> Vec<AtomLiteral> {
        let own = self.literals.iter().find(|literal| literal.atom == deciding).copied();
        let mut core = self.into_used();
        core.extend(own.filter(|own| !core.contains(own)));
        core.sort_unstable();
        core
    }
}
