//! The message fields (*paths*) that atoms (predicates and quantifiers) read. Several slots may
//! have one path, because rules may read a field as different kinds of value.

use super::{AtomLiteral, AtomTable, FALSE, UNKNOWN};
use rulec_lang::ty::{Enumeration, KindSet};
use rulec_sema::hir::{Slot, SlotId};
use smallvec::SmallVec;
use std::sync::Arc;

/// A message field that some atom (a predicate or quantifier) reads.
#[derive(Default)]
pub struct ReadPath {
    pub keys: Vec<Arc<str>>,
    /// The kinds of value that at least one rule reads from this field.
    pub kinds: KindSet,
    /// The enumerations (allowed texts) of this field. Two versions of rules may have different
    /// ones.
    pub enumerations: Vec<Enumeration>,
}

impl AtomTable {
    /// True if `literal` (an atom with the truth value that it must have) requires that an
    /// enumeration field has one of its declared texts.
    pub(crate) fn needs_enumerated_text(&self, literal: AtomLiteral) -> bool {
        let atom = &self.atoms[literal.atom_index];
        match (&atom.missing_slot, &atom.term_index_and_cond) {
            (Some(slot), _) => {
                literal.allowed == FALSE && self.slot_program.slots[slot.index()].values.is_some()
            }
            // Without a value, the predicate is unknown, so a literal that excludes "unknown" needs
            // a value.
            (None, Some((term, _))) => {
                let term = &self.terms[*term];
                let is_text = term.allowed_texts.is_some() && term.kinds == KindSet::STRING;
                atom.pred.is_some() && is_text && literal.allowed & UNKNOWN == 0
            }
            (None, None) => false,
        }
    }

    pub(super) fn path_ids(&mut self, slots: &[SlotId]) -> SmallVec<[usize; 2]> {
        let mut paths = SmallVec::new();
        for slot in slots {
            let Slot { path, kinds, values, .. } = &self.slot_program.slots[slot.index()];
            let path_index = *self.path_by_keys.entry(path.clone()).or_insert_with(|| {
                self.paths.push(ReadPath { keys: path.clone(), ..ReadPath::default() });
                self.paths.len() - 1
            });
            let read_path = &mut self.paths[path_index];
            read_path.kinds = read_path.kinds.union(*kinds);
            if let Some(values) = values.as_ref().filter(|values| !read_path.enumerations.contains(values)) {
                read_path.enumerations.push(values.clone());
            }
            if !paths.contains(&path_index) {
                paths.push(path_index);
            }
        }
        paths
    }
}
