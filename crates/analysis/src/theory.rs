//! Finds a message that satisfies a set of literals (required truth values of predicates), or a
//! small subset of the literals that no message satisfies. First each term (an operand that is
//! compared) is solved alone. For predicates with a known
//! [`PredicateShape`](super::shape::PredicateShape), this step can prove that no value exists.
//! Second, the values are combined into one message, which the reference evaluator checks. If only
//! the second step fails, nothing is proven.

use super::atoms::{AtomLiteral, AtomTable, TRUE};
use super::list_candidates::ListCandidates;
use super::place::{MessageBuilder, invert_term};
use super::values::{SolvedValue, ValueSearch};
use hashbrown::{HashMap, HashSet};
use rulec_lang::ty::{Enumeration, KindSet};
use rulec_sema::hir::{Program, SlotId};
use rulec_sema::normal::NormalForm;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Literals (required truth values of predicates) for which no common message was found.
pub(super) struct LiteralConflict {
    pub literals: Vec<AtomLiteral>,
    /// Whether it is proven that no message satisfies all of the literals (required truth values).
    pub is_proven: bool,
}

/// A message of which only some fields may change during the search.
pub(super) struct BaseMessage<'m> {
    pub message: &'m Json,
    /// The fields that may change, as indexes of paths in the [`AtomTable`]. A record that contains
    /// such a field may change too, and so may the fields inside such a field.
    pub free_paths: &'m [usize],
}

impl BaseMessage<'_> {
    pub fn is_free_path(&self, atoms: &AtomTable, path: usize) -> bool {
        self.free_paths.iter().any(|free| atoms.paths_overlap(*free, path))
    }
}

/// Searches for messages that satisfy literals (required truth values of predicates). Caches the
/// results for single values.
pub(super) struct MessageTheory {
    pub value_search: ValueSearch,
    builder: MessageBuilder,
}

/// Maximum number of combinations that are tried, if several message fields have several candidate
/// values each.
const MAX_VALUE_COMBINATIONS: usize = 600;
/// Steps to write the value of one field into a message.
const STEPS_PER_PATH: usize = 10;
/// Maximum number of candidate values of one path (message field) in the combinations that are
/// tried.
const MAX_VALUES_PER_PATH: usize = 24;

impl MessageTheory {
    pub fn new(program: &Program) -> MessageTheory {
        MessageTheory { value_search: ValueSearch::new(program), builder: MessageBuilder::new(program) }
    }

    /// Searches for a message that satisfies all literals (required truth values), each of a
    /// different predicate. With a `base`, the message differs from the base message only in the
    /// fields that may change. The error contains literals for which no common message was found.
    pub fn find_message(
        &mut self,
        normal: &NormalForm,
        literals: &[AtomLiteral],
        base: Option<&BaseMessage<'_>>,
    ) -> Result<Json, LiteralConflict> {
        let mut by_term = self.group_by_term(literals);
        let mut values: Vec<(usize, Json)> = Vec::new();
        for (term, literals) in &mut by_term {
            literals.sort_unstable();
            match self.value_search.find_value(*term, literals, false) {
                SolvedValue::Value(value) => values.push((*term, value)),
                SolvedValue::Unknown => {}
                SolvedValue::Never => {
                    let literals = self.value_search.minimise_conflict(*term, literals.clone(), false);
                    return Err(LiteralConflict { literals, is_proven: true });
                }
            }
        }
        if let Some(literals) = self.find_missing_conflict(&by_term) {
            return Err(LiteralConflict { literals, is_proven: true });
        }
        let unproven = || LiteralConflict { literals: literals.to_vec(), is_proven: false };
        if literals
            .iter()
            .any(|literal| self.value_search.atoms.atoms[literal.atom_index].reads_beyond_message)
        {
            return Err(unproven());
        }
        let first = self.choices_by_path(normal, literals, (&values, 1), base)?;
        if let Some(message) = self.build_message(literals, &first, base) {
            return Ok(message);
        }
        let mut choices = self.choices_by_path(normal, literals, (&values, MAX_VALUES_PER_PATH), base)?;
        self.try_combinations(literals, &mut choices, base).ok_or_else(unproven)
    }

    /// Groups the literals by their terms (the operands that are compared), in the order of the
    /// terms' first occurrence.
    fn group_by_term(&self, literals: &[AtomLiteral]) -> Vec<(usize, Vec<AtomLiteral>)> {
        let mut by_term: Vec<(usize, Vec<AtomLiteral>)> = Vec::new();
        let mut indexes: HashMap<usize, usize> = HashMap::new();
        for literal in literals {
            let Some((term, _)) = &self.value_search.atoms.atoms[literal.atom_index].term_index_and_cond
            else {
                continue;
            };
            let index = *indexes.entry(*term).or_insert_with(|| {
                by_term.push((*term, Vec::new()));
                by_term.len() - 1
            });
            by_term[index].1.push(*literal);
        }
        by_term
    }

    /// Builds a message from the current candidate value of each path (message field). With a
    /// `base`, the other fields are copied from the base message. Otherwise, missing required
    /// fields of `input` are added. `None` if the message does not satisfy the literals, or if too
    /// few steps are left.
    fn build_message(
        &self,
        literals: &[AtomLiteral],
        choices: &[PathChoices],
        base: Option<&BaseMessage<'_>>,
    ) -> Option<Json> {
        let atoms = &self.value_search.atoms;
        if !atoms.budget.charge(STEPS_PER_PATH * choices.len()) {
            return None;
        }
        let values = choices.iter().map(|choice| (choice.path_index, choice.current_value()));
        let initial = base.map_or_else(|| json!({}), |base| base.message.clone());
        let message = self.builder.write_values_at_paths(atoms, initial, values);
        if !literals.iter().all(|literal| atoms.message_satisfies(*literal, &message)) {
            return None;
        }
        Some(if base.is_some() {
            message
        } else {
            self.builder.add_required_fields(atoms, message, literals)
        })
    }

    /// Finds two terms (compared operands), one of which must be present and the other missing,
    /// although both are missing for the same messages. Returns the literals that contradict each
    /// other; `None` if there are no such terms.
    fn find_missing_conflict(&mut self, by_term: &[(usize, Vec<AtomLiteral>)]) -> Option<Vec<AtomLiteral>> {
        let mut by_slot: HashMap<SlotId, Vec<usize>> = HashMap::new();
        for (index, (term, _)) in by_term.iter().enumerate() {
            if let Some(slot) = self.value_search.atoms.terms[*term].missing_with {
                by_slot.entry(slot).or_default().push(index);
            }
        }
        for (a, literals_of_a) in by_term {
            let Some(slot) = self.value_search.atoms.terms[*a].missing_with else { continue };
            let Some(indexes) = by_slot.get(&slot).filter(|indexes| indexes.len() > 1) else { continue };
            let atoms = &self.value_search.atoms;
            let Some(present_literal) =
                literals_of_a.iter().find(|literal| !atoms.value_satisfies(**literal, &Json::Null)).copied()
            else {
                continue;
            };
            for (b, literals) in indexes.iter().map(|index| &by_term[*index]).filter(|(b, _)| b != a) {
                if matches!(self.value_search.find_value(*b, literals, true), SolvedValue::Never) {
                    let mut conflict = self.value_search.minimise_conflict(*b, literals.clone(), true);
                    conflict.push(present_literal);
                    return Some(conflict);
                }
            }
        }
        None
    }

    /// Finds for each path (message field) at most `max_values` candidate values, which satisfy all
    /// literals that read only this path. `values` are the values found for single terms, each with
    /// the term's index. A path that must not change keeps its value in `base`. If a path that may
    /// change has no candidate value, the error contains the literals that read only this path.
    fn choices_by_path(
        &self,
        normal: &NormalForm,
        literals: &[AtomLiteral],
        (values, max_values): (&[(usize, Json)], usize),
        base: Option<&BaseMessage<'_>>,
    ) -> Result<Vec<PathChoices>, LiteralConflict> {
        let atoms = &self.value_search.atoms;
        let mut literals_by_path: BTreeMap<usize, Vec<AtomLiteral>> = BTreeMap::new();
        for literal in literals {
            let paths = &atoms.atoms[literal.atom_index].path_indexes;
            for path in paths {
                literals_by_path.entry(*path).or_default();
            }
            if let [path] = paths.as_slice() {
                literals_by_path.entry(*path).or_default().push(*literal);
            }
        }
        let mut values_by_path: HashMap<usize, Vec<&(usize, Json)>> = HashMap::new();
        for value in values {
            if let [path] = atoms.terms[value.0].path_indexes.as_slice() {
                values_by_path.entry(*path).or_default().push(value);
            }
        }
        let mut choices = Vec::new();
        for (path, path_literals) in literals_by_path {
            if let Some(base) = base.filter(|base| !base.is_free_path(atoms, path)) {
                let keys = &atoms.paths[path].keys;
                let unchanged = keys.iter().try_fold(base.message, |json, key| json.get(&**key));
                choices.push(PathChoices {
                    path_index: path,
                    values: vec![unchanged.cloned().unwrap_or_default()],
                    current_index: 0,
                });
                continue;
            }
            let solved = values_by_path.remove(&path).unwrap_or_default();
            // One value is enough if no other path is involved.
            let max_values = if path_literals.len() == literals.len() { 1 } else { max_values };
            let valid_values = self.valid_path_values(normal, (path, &path_literals), &solved, max_values);
            if valid_values.is_empty() {
                let proven = self.has_finite_texts(&path_literals);
                return Err(LiteralConflict { literals: path_literals, is_proven: proven });
            }
            choices.push(PathChoices { path_index: path, values: valid_values, current_index: 0 });
        }
        Ok(choices)
    }

    /// Returns at most `max_values` values of a path (message field). The values satisfy the
    /// literals that read only this path. `solved_term_values` contains values that were found for
    /// terms that read only this path.
    fn valid_path_values(
        &self,
        normal: &NormalForm,
        (path, path_literals): (usize, &[AtomLiteral]),
        solved_term_values: &[&(usize, Json)],
        max_values: usize,
    ) -> Vec<Json> {
        let atoms = &self.value_search.atoms;
        let mut seen_values = HashSet::new();
        let mut valid_values = Vec::new();
        let mut try_values = |candidates: Vec<Json>| {
            for value in candidates {
                if !atoms.budget.charge(STEPS_PER_PATH) {
                    return true;
                }
                let message =
                    self.builder.write_values_at_paths(atoms, json!({}), [(path, &value)].into_iter());
                if path_literals.iter().all(|literal| atoms.message_satisfies(*literal, &message))
                    && seen_values.insert(value.to_string())
                {
                    valid_values.push(value);
                }
                if valid_values.len() == max_values {
                    return true;
                }
            }
            false
        };
        let inverted = solved_term_values
            .iter()
            .filter_map(|(term, value)| invert_term(normal, atoms.terms[*term].expr, value.clone()));
        if try_values(inverted.collect()) {
            return valid_values;
        }
        let mut terms: Vec<usize> = path_literals
            .iter()
            .filter_map(|literal| Some(atoms.atoms[literal.atom_index].term_index_and_cond.as_ref()?.0))
            .collect();
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            let expr = atoms.terms[term].expr;
            let term_literals =
                path_literals.iter().filter(|literal| self.reads_only_term(literal.atom_index, term));
            let term_values = self
                .value_search
                .candidate_values(&atoms.terms[term], &term_literals.copied().collect::<Vec<_>>());
            let mut candidates: Vec<Json> =
                term_values.into_iter().filter_map(|value| invert_term(normal, expr, value)).collect();
            candidates.extend(super::place::sample_field_values(normal, expr));
            if try_values(candidates) {
                return valid_values;
            }
        }
        if try_values(self.candidate_lists(path, path_literals)) {
            return valid_values;
        }
        let texts = atoms.paths[path].enumerations.iter().flat_map(Enumeration::values);
        let texts = texts.map(|text| Json::from(&**text));
        if try_values(texts.collect()) {
            return valid_values;
        }
        try_values(self.value_search.sample_values(atoms.paths[path].kinds));
        valid_values
    }

    /// Returns lists to try as the value of the field with the index `path`, which `path_literals`
    /// restrict. These are lists of one element, lists of equal elements, and a list with one
    /// element for each literal.
    fn candidate_lists(&self, path: usize, path_literals: &[AtomLiteral]) -> Vec<Json> {
        let atoms = &self.value_search.atoms;
        let candidates = ListCandidates::from_conditions(
            path_literals.iter().map(|literal| atoms.cond_of_atom(literal.atom_index)),
        );
        if candidates.is_empty() {
            return Vec::new();
        }
        let elements = candidates.proposed_elements();
        let satisfies = |literal: &AtomLiteral, list: Json| {
            let message = self.builder.write_values_at_paths(atoms, json!({}), [(path, &list)].into_iter());
            atoms.message_satisfies(*literal, &message)
        };
        let needed = path_literals.iter().filter(|literal| !satisfies(literal, json!([])));
        let one_for_each = needed.filter_map(|literal| {
            elements.iter().find(|element| satisfies(literal, json!([element]))).cloned()
        });
        let one_for_each: Json = one_for_each.collect();
        let singles = elements.iter().map(|element| json!([element]));
        let copies = candidates.equal_element_counts().flat_map(|copies| {
            elements.iter().map(move |element| Json::Array(vec![element.clone(); copies]))
        });
        singles.chain([one_for_each]).chain(copies).collect()
    }

    fn reads_only_term(&self, atom: usize, term: usize) -> bool {
        self.value_search.atoms.atoms[atom]
            .term_index_and_cond
            .as_ref()
            .is_some_and(|(other, _)| *other == term)
    }

    /// True if some literal (a required truth value) allows a text field only a finite number of
    /// texts. The search tries all these texts. If none of them satisfies `literals`, it is proven
    /// that the literals contradict each other.
    fn has_finite_texts(&self, literals: &[AtomLiteral]) -> bool {
        literals.iter().any(|literal| {
            if self.value_search.atoms.needs_enumerated_text(*literal) {
                return true;
            }
            let atom = &self.value_search.atoms.atoms[literal.atom_index];
            let (Some((term, _)), Some(shape)) = (&atom.term_index_and_cond, &atom.predicate_shape) else {
                return false;
            };
            literal.allowed == TRUE
                && shape.is_finite
                && self.value_search.atoms.terms[*term].is_slot
                && self.value_search.atoms.terms[*term].kinds == KindSet::STRING
        }) && literals
            .iter()
            .all(|literal| !self.value_search.atoms.atoms[literal.atom_index].reads_beyond_message)
    }

    /// Tries combinations of the candidate values of several fields until a message satisfies the
    /// literals. `None` if no tried combination does. With a `base`, the other fields are copied
    /// from the base message.
    fn try_combinations(
        &self,
        literals: &[AtomLiteral],
        choices: &mut [PathChoices],
        base: Option<&BaseMessage<'_>>,
    ) -> Option<Json> {
        for _ in 0..MAX_VALUE_COMBINATIONS {
            let advanced = choices.iter_mut().find_map(|choice| choice.advance_to_next_value().then_some(()));
            advanced?;
            if let Some(message) = self.build_message(literals, choices, base) {
                return Some(message);
            }
        }
        None
    }
}

/// The candidate values of a path (message field), and the index of the current value.
struct PathChoices {
    path_index: usize,
    values: Vec<Json>,
    current_index: usize,
}

impl PathChoices {
    fn current_value(&self) -> &Json {
        &self.values[self.current_index]
    }

    /// Advances to the next candidate value. Returns false if the index wraps around to the first
    /// value.
    fn advance_to_next_value(&mut self) -> bool {
        self.current_index = (self.current_index + 1) % self.values.len();
        self.current_index != 0
    }
}
