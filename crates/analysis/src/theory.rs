//! Finds a message for a set of literals, or a small subset of literals that no message satisfies.
//! First each term (an operand that is compared) is solved alone. The solution is exact for known
//! [`PredicateShape`](super::shape::PredicateShape)s. Second, the values are combined into one
//! message, which the reference evaluator checks. If only the second step fails, nothing is proven.

use super::atoms::{AtomLiteral, AtomTable, TRUE};
use super::place::{MessageSketch, invert_term};
use super::values::{SolvedValue, ValueSearch};
use hashbrown::HashSet;
use rulec_lang::ty::KindSet;
use rulec_sema::hir::Program;
use rulec_sema::normal::Normal;
use serde_json::{Value as Json, json};

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
        let mut by_term: Vec<(usize, Vec<AtomLiteral>)> = Vec::new();
        for literal in literals {
            let Some((term, _)) = &self.values.atoms.atoms[literal.atom].term else { continue };
            match by_term.iter_mut().find(|(other, _)| other == term) {
                Some((_, list)) => list.push(*literal),
                None => by_term.push((*term, vec![*literal])),
            }
        }
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
        if literals.iter().any(|literal| self.values.atoms.atoms[literal.atom].reads_outside) {
            return Err(unproven());
        }
        let mut choices = self.choices_by_path(normal, literals, &values, base)?;
        if let Some(message) = self.build_message(literals, &choices, base) {
            return Ok(message);
        }
        self.try_combinations(literals, &mut choices, base).ok_or_else(unproven)
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
        let values = choices.iter().map(|choice| (choice.path, choice.current()));
        let initial = base.map_or_else(|| json!({}), |base| base.message.clone());
        let message = self.sketch.write_values(atoms, initial, values);
        if !literals.iter().all(|literal| atoms.satisfies(*literal, &message)) {
            return None;
        }
        Some(if base.is_some() { message } else { self.sketch.complete_required(atoms, message, literals) })
    }

    /// Finds two terms (compared operands) that contradict each other: one must be present, the
    /// other must be missing. Both are missing exactly when the same field is missing. Returns the
    /// literals in conflict.
    fn find_missing_conflict(&mut self, by_term: &[(usize, Vec<AtomLiteral>)]) -> Option<Vec<AtomLiteral>> {
        for (a, literals_of_a) in by_term {
            let Some(slot) = self.values.atoms.terms[*a].missing_with else { continue };
            let atoms = &self.values.atoms;
            let Some(present_literal) =
                literals_of_a.iter().find(|literal| !atoms.value_satisfies(**literal, &Json::Null)).copied()
            else {
                continue;
            };
            for (b, literals) in by_term.iter().filter(|(b, _)| b != a) {
                if self.values.atoms.terms[*b].missing_with == Some(slot)
                    && matches!(self.values.find_value(*b, literals, true), SolvedValue::Never)
                {
                    let mut conflict = self.values.minimise_conflict(*b, literals.clone(), true);
                    conflict.push(present_literal);
                    return Some(conflict);
                }
            }
        }
        None
    }

    /// Returns for each path candidate values of the path. The values satisfy all literals that
    /// read only this path.
    fn choices_by_path(
        &self,
        normal: &Normal,
        literals: &[AtomLiteral],
        values: &[(usize, Json)],
        base: Option<&BaseMessage<'_>>,
    ) -> Result<Vec<PathChoices>, LiteralConflict> {
        let mut paths: Vec<usize> = literals
            .iter()
            .flat_map(|literal| self.values.atoms.atoms[literal.atom].paths.iter().copied())
            .collect();
        paths.sort_unstable();
        paths.dedup();
        let mut choices = Vec::new();
        for path in paths {
            if let Some(base) = base.filter(|base| !base.is_free(&self.values.atoms, path)) {
                let keys = &self.values.atoms.paths[path].keys;
                let unchanged = keys.iter().try_fold(base.message, |json, key| json.get(&**key));
                choices.push(PathChoices {
                    path,
                    values: vec![unchanged.cloned().unwrap_or_default()],
                    index: 0,
                });
                continue;
            }
            let reads_only_path = |slots: &[usize]| slots == [path];
            let path_literals: Vec<AtomLiteral> = literals
                .iter()
                .copied()
                .filter(|literal| reads_only_path(&self.values.atoms.atoms[literal.atom].paths))
                .collect();
            let mut candidates: Vec<Json> = Vec::new();
            for (term, value) in
                values.iter().filter(|(term, _)| reads_only_path(&self.values.atoms.terms[*term].paths))
            {
                candidates.extend(invert_term(normal, self.values.atoms.terms[*term].expr, value.clone()));
            }
            let mut terms: Vec<usize> = path_literals
                .iter()
                .filter_map(|literal| Some(self.values.atoms.atoms[literal.atom].term.as_ref()?.0))
                .collect();
            terms.sort_unstable();
            terms.dedup();
            for term in terms {
                let expr = self.values.atoms.terms[term].expr;
                let term_literals =
                    path_literals.iter().filter(|literal| self.reads_only_term(literal.atom, term));
                let term_values = self.values.candidate_values(
                    &self.values.atoms.terms[term],
                    &term_literals.copied().collect::<Vec<_>>(),
                );
                candidates
                    .extend(term_values.into_iter().filter_map(|value| invert_term(normal, expr, value)));
                candidates.extend(super::place::sample_field_values(normal, expr));
            }
            for literal in &path_literals {
                candidates.extend(super::place::candidate_lists(&self.values.atoms, literal.atom));
            }
            candidates.extend(self.values.plain_values(self.values.atoms.paths[path].kinds));
            let mut seen_values = HashSet::new();
            let sketch = |value: &Json| {
                self.sketch.write_values(&self.values.atoms, json!({}), [(path, value)].into_iter())
            };
            let satisfies_literals = |value: &Json| {
                let message = sketch(value);
                path_literals.iter().all(|literal| self.values.atoms.satisfies(*literal, &message))
            };
            // One value is enough if no other path is involved.
            let max_values = if path_literals.len() == literals.len() { 1 } else { 24 };
            let valid_values: Vec<Json> = candidates
                .into_iter()
                .filter(|value| seen_values.insert(value.to_string()) && satisfies_literals(value))
                .take(max_values)
                .collect();
            if valid_values.is_empty() {
                let proven = self.has_finite_texts(&path_literals);
                return Err(LiteralConflict { literals: path_literals, proven });
            }
            choices.push(PathChoices { path, values: valid_values, index: 0 });
        }
        Ok(choices)
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
        }) && literals.iter().all(|literal| !self.values.atoms.atoms[literal.atom].reads_outside)
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
            let advanced = choices.iter_mut().find_map(|choice| choice.advance().then_some(()));
            advanced?;
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
    index: usize,
}

impl PathChoices {
    fn current(&self) -> &Json {
        &self.values[self.index]
    }

    /// Advances to the next candidate value. Returns false if the index wraps around to the first
    /// value.
    fn advance(&mut self) -> bool {
        self.index = (self.index + 1) % self.values.len();
        self.index != 0
    }
}
