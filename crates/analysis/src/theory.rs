//! Finds a message for a set of literals, or a small subset of literals that no message satisfies.
//! First each term (an operand that is compared) is solved alone. This is exact for known
//! [`PredicateShape`](super::shape::PredicateShape)s. Second, the values are combined into one
//! message, which the reference evaluator checks. If only the second step fails, nothing is proven.

use super::atoms::{AtomLiteral, AtomTable, TRUE};
use super::place::{MessageSketch, invert_term};
use super::values::{SolvedValue, ValueSearch};
use hashbrown::{HashMap, HashSet};
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{Program, SlotId};
use rulec_sema::normal::Normal;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Literals for which no common message was found.
pub(super) struct LiteralConflict {
    pub literals: Vec<AtomLiteral>,
    /// Whether it is proven that no message satisfies all of the literals.
    pub proven: bool,
}

/// A message of which only some paths may change during the search.
pub(super) struct BaseMessage<'m> {
    pub message: &'m Json,
    /// The paths that may change, as indexes. A path that contains such a path, or that is inside
    /// it, may change too.
    pub free: &'m [usize],
}

impl BaseMessage<'_> {
    pub fn is_free(&self, atoms: &AtomTable, path: usize) -> bool {
        self.free.iter().any(|free| atoms.paths_overlap(*free, path))
    }
}

/// Searches for messages that satisfy literals. Caches the results for single values.
pub(super) struct MessageTheory {
    pub values: ValueSearch,
    sketch: MessageSketch,
}

/// Maximum number of combinations that are tried, if several paths have several candidate values
/// each.
const MAX_COMBINATIONS: usize = 600;
/// Steps to write the value of one path into a message.
const STEPS_PER_PATH: usize = 10;
/// Maximum number of candidate values of one path in these combinations.
const MAX_CHOICES: usize = 24;

impl MessageTheory {
    pub fn new(program: &Program) -> MessageTheory {
        MessageTheory { values: ValueSearch::new(program), sketch: MessageSketch::new(program) }
    }

    /// Returns a message that satisfies all literals, each of a different atom. With a `base`, the
    /// returned message differs from the base message only in the base's free paths.
    pub fn find_message(
        &mut self,
        normal: &Normal,
        literals: &[AtomLiteral],
        base: Option<&BaseMessage<'_>>,
    ) -> Result<Json, LiteralConflict> {
        let mut by_term = self.group_by_term(literals);
        let mut values: Vec<(usize, Json)> = Vec::new();
        for (term, literals) in &mut by_term {
            literals.sort_unstable();
            match self.values.find_value(*term, literals, false) {
                SolvedValue::Value(value) => values.push((*term, value)),
                SolvedValue::Unknown => {}
                SolvedValue::Never => {
                    let literals = self.values.minimise_conflict(*term, literals.clone(), false);
                    return Err(LiteralConflict { literals, proven: true });
                }
            }
        }
        if let Some(literals) = self.find_missing_conflict(&by_term) {
            return Err(LiteralConflict { literals, proven: true });
        }
        let unproven = || LiteralConflict { literals: literals.to_vec(), proven: false };
        if literals.iter().any(|literal| self.values.atoms.atoms[literal.atom].outside) {
            return Err(unproven());
        }
        let first = self.choices_by_path(normal, literals, (&values, 1), base)?;
        if let Some(message) = self.build_message(literals, &first, base) {
            return Ok(message);
        }
        let mut choices = self.choices_by_path(normal, literals, (&values, MAX_CHOICES), base)?;
        self.try_combinations(literals, &mut choices, base).ok_or_else(unproven)
    }

    /// Groups the literals by their terms, in the order in which the terms first occur.
    fn group_by_term(&self, literals: &[AtomLiteral]) -> Vec<(usize, Vec<AtomLiteral>)> {
        let mut by_term: Vec<(usize, Vec<AtomLiteral>)> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        for literal in literals {
            let Some((term, _)) = &self.values.atoms.atoms[literal.atom].term else { continue };
            let place = *places.entry(*term).or_insert_with(|| {
                by_term.push((*term, Vec::new()));
                by_term.len() - 1
            });
            by_term[place].1.push(*literal);
        }
        by_term
    }

    /// Builds a message from the current candidate value of each path. `None` if the message does
    /// not satisfy the literals.
    fn build_message(
        &self,
        literals: &[AtomLiteral],
        choices: &[PathChoices],
        base: Option<&BaseMessage<'_>>,
    ) -> Option<Json> {
        let atoms = &self.values.atoms;
        if !atoms.budget.charge(STEPS_PER_PATH * choices.len()) {
            return None;
        }
        let values = choices.iter().map(|choice| (choice.path, choice.current()));
        let start = base.map_or_else(|| json!({}), |base| base.message.clone());
        let message = self.sketch.write_values(atoms, start, values);
        if !literals.iter().all(|literal| atoms.holds(*literal, &message)) {
            return None;
        }
        Some(if base.is_some() { message } else { self.sketch.complete_required(atoms, message, literals) })
    }

    /// Finds two terms (compared operands) that contradict each other: one must be present, the
    /// other must be missing. Both are missing exactly when the same field is missing. Returns the
    /// literals in conflict.
    fn find_missing_conflict(&mut self, by_term: &[(usize, Vec<AtomLiteral>)]) -> Option<Vec<AtomLiteral>> {
        let mut by_slot: HashMap<SlotId, Vec<usize>> = HashMap::new();
        for (place, (term, _)) in by_term.iter().enumerate() {
            if let Some(slot) = self.values.atoms.terms[*term].missing_with {
                by_slot.entry(slot).or_default().push(place);
            }
        }
        for (a, needing) in by_term {
            let Some(slot) = self.values.atoms.terms[*a].missing_with else { continue };
            let Some(places) = by_slot.get(&slot).filter(|places| places.len() > 1) else { continue };
            let atoms = &self.values.atoms;
            let Some(needs) =
                needing.iter().find(|literal| !atoms.holds_for(**literal, &Json::Null)).copied()
            else {
                continue;
            };
            for (b, literals) in places.iter().map(|place| &by_term[*place]).filter(|(b, _)| b != a) {
                if matches!(self.values.find_value(*b, literals, true), SolvedValue::Never) {
                    let mut conflict = self.values.minimise_conflict(*b, literals.clone(), true);
                    conflict.push(needs);
                    return Some(conflict);
                }
            }
        }
        None
    }

    /// Returns for each path at most `most` candidate values that satisfy those literals that read
    /// no other path.
    fn choices_by_path(
        &self,
        normal: &Normal,
        literals: &[AtomLiteral],
        (values, most): (&[(usize, Json)], usize),
        base: Option<&BaseMessage<'_>>,
    ) -> Result<Vec<PathChoices>, LiteralConflict> {
        let atoms = &self.values.atoms;
        let mut own_of_paths: BTreeMap<usize, Vec<AtomLiteral>> = BTreeMap::new();
        for literal in literals {
            let paths = &atoms.atoms[literal.atom].paths;
            for path in paths {
                own_of_paths.entry(*path).or_default();
            }
            if let [path] = paths.as_slice() {
                own_of_paths.entry(*path).or_default().push(*literal);
            }
        }
        let mut values_of_paths: HashMap<usize, Vec<&(usize, Json)>> = HashMap::new();
        for value in values {
            if let [path] = atoms.terms[value.0].paths.as_slice() {
                values_of_paths.entry(*path).or_default().push(value);
            }
        }
        let mut choices = Vec::new();
        for (path, own) in own_of_paths {
            if let Some(base) = base.filter(|base| !base.is_free(atoms, path)) {
                let keys = &atoms.paths[path].keys;
                let own = keys.iter().try_fold(base.message, |json, key| json.get(&**key));
                choices.push(PathChoices { path, values: vec![own.cloned().unwrap_or_default()], at: 0 });
                continue;
            }
            let solved = values_of_paths.remove(&path).unwrap_or_default();
            // One value is enough if no other path is involved.
            let most = if own.len() == literals.len() { 1 } else { most };
            let fitting = self.fitting_values(normal, (path, &own), &solved, most);
            if fitting.is_empty() {
                let proven = self.has_finite_texts(&own);
                return Err(LiteralConflict { literals: own, proven });
            }
            choices.push(PathChoices { path, values: fitting, at: 0 });
        }
        Ok(choices)
    }

    /// Returns at most `most` values of a path that satisfy the literals that read only this path.
    /// `solved` has values of the terms that read only this path.
    fn fitting_values(
        &self,
        normal: &Normal,
        (path, own): (usize, &[AtomLiteral]),
        solved: &[&(usize, Json)],
        most: usize,
    ) -> Vec<Json> {
        let atoms = &self.values.atoms;
        let mut seen = HashSet::new();
        let mut fitting = Vec::new();
        let mut try_values = |tried: Vec<Json>| {
            for value in tried {
                if !atoms.budget.charge(STEPS_PER_PATH) {
                    return true;
                }
                let message = self.sketch.write_values(atoms, json!({}), [(path, &value)].into_iter());
                if own.iter().all(|literal| atoms.holds(*literal, &message)) && seen.insert(value.to_string())
                {
                    fitting.push(value);
                }
                if fitting.len() == most {
                    return true;
                }
            }
            false
        };
        let inverted = solved
            .iter()
            .filter_map(|(term, value)| invert_term(normal, atoms.terms[*term].expr, value.clone()));
        if try_values(inverted.collect()) {
            return fitting;
        }
        let mut terms: Vec<usize> =
            own.iter().filter_map(|literal| Some(atoms.atoms[literal.atom].term.as_ref()?.0)).collect();
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            let expr = atoms.terms[term].expr;
            let of_term = own.iter().filter(|literal| self.reads_only_term(literal.atom, term));
            let found =
                self.values.candidate_values(&atoms.terms[term], &of_term.copied().collect::<Vec<_>>());
            let mut tried: Vec<Json> =
                found.into_iter().filter_map(|value| invert_term(normal, expr, value)).collect();
            tried.extend(super::place::sample_field_values(normal, expr));
            if try_values(tried) {
                return fitting;
            }
        }
        for literal in own {
            if try_values(super::place::candidate_lists(atoms, literal.atom)) {
                return fitting;
            }
        }
        try_values(self.values.plain_values(atoms.paths[path].kinds));
        fitting
    }

    fn reads_only_term(&self, atom: usize, term: usize) -> bool {
        self.values.atoms.atoms[atom].term.as_ref().is_some_and(|(other, _)| *other == term)
    }

    /// True if a literal allows a text field only a finite number of texts. All of these texts were
    /// tried before, so the conflict is proven.
    fn has_finite_texts(&self, literals: &[AtomLiteral]) -> bool {
        literals.iter().any(|literal| {
            let atom = &self.values.atoms.atoms[literal.atom];
            let (Some((term, _)), Some(shape)) = (&atom.term, &atom.shape) else { return false };
            literal.allowed == TRUE
                && shape.finite
                && self.values.atoms.terms[*term].is_slot
                && self.values.atoms.terms[*term].kinds == KindSet::STRING
        }) && literals.iter().all(|literal| !self.values.atoms.atoms[literal.atom].outside)
    }

    /// Tries combinations of the candidate values of several paths until a message satisfies the
    /// literals.
    fn try_combinations(
        &self,
        literals: &[AtomLiteral],
        choices: &mut [PathChoices],
        base: Option<&BaseMessage<'_>>,
    ) -> Option<Json> {
        for _ in 0..MAX_COMBINATIONS {
            let at = choices.iter_mut().find_map(|choice| choice.advance().then_some(()));
            at?;
            if let Some(message) = self.build_message(literals, choices, base) {
                return Some(message);
            }
        }
        None
    }
}

/// The candidate values of a path, and the index of the current value.
struct PathChoices {
    path: usize,
    values: Vec<Json>,
    at: usize,
}

impl PathChoices {
    fn current(&self) -> &Json {
        &self.values[self.at]
    }

    /// Advances to the next candidate value. Returns false if this starts again with the first
    /// value.
    fn advance(&mut self) -> bool {
        self.at = (self.at + 1) % self.values.len();
        self.at != 0
    }
}
