//! Finds a text that satisfies literals (required truth values of predicates), by means of
//! automata and of sample texts.

use super::{SolvedValue, ValueSearch};
use crate::atoms::{AtomLiteral, FALSE, TRUE};
use crate::refuting::implies_a_forbidden_keyword;
use crate::shape::TextDependence;
use crate::string_theory::{TextLanguage, TextSolution, result_language, sample_text};
use rulec_lang::builtins::{Function, canonical_clock_text};
use serde_json::{Value as Json, json};
use smallvec::SmallVec;

impl ValueSearch {
    /// Searches for a text that satisfies the literals, by means of automata.
    pub(super) fn find_text_value(&mut self, term: usize, literals: &[AtomLiteral]) -> SolvedValue {
        if implies_a_forbidden_keyword(&self.atoms, literals) {
            return SolvedValue::Never;
        }
        let mut languages: Vec<(TextLanguage, bool)> = Vec::new();
        let mut exact = true;
        let on_texts = || {
            let shapes = literals
                .iter()
                .filter_map(|literal| self.atoms.atoms[literal.atom_index].predicate_shape.as_ref());
            shapes.map(|shape| &shape.dependence_on_text)
        };
        let compares_order = on_texts().any(|on_text| matches!(on_text, TextDependence::Order));
        let reads_address = on_texts().any(|on_text| matches!(on_text, TextDependence::Address));
        let mut only_equality = true;
        for literal in literals {
            let shape = self.atoms.atoms[literal.atom_index].predicate_shape.as_ref();
            let Some(shape) = shape else {
                exact = false;
                continue;
            };
            let (may_hold, may_fail) = (literal.allowed & TRUE != 0, literal.allowed & FALSE != 0);
            match &shape.dependence_on_text {
                TextDependence::Constant => {
                    if !self.atoms.value_satisfies(*literal, &json!("")) {
                        return SolvedValue::Never;
                    }
                }
                TextDependence::Order | TextDependence::Address => {}
                TextDependence::Opaque => exact = false,
                TextDependence::Texts(_) if may_hold && may_fail => {}
                TextDependence::Texts(_) if !may_hold && !may_fail => return SolvedValue::Never,
                TextDependence::Texts(texts) => {
                    only_equality &= shape.is_finite;
                    let atom_languages =
                        self.languages_by_atom.entry(literal.atom_index).or_insert_with(|| texts.languages());
                    match (may_hold, atom_languages.as_deref()) {
                        (true, Some(parts)) => {
                            languages.extend(parts.iter().map(|part| (part.clone(), true)));
                        }
                        (false, Some([part])) => languages.push((part.clone(), false)),
                        _ => exact = false,
                    }
                }
            }
        }
        if compares_order || reads_address {
            // If no candidate fits, the proof needs exhaustive candidates. For text order, the
            // constant texts and their successors are exhaustive. For networks, the first and last
            // addresses are, also written with a space; so no constant may contain a space.
            let constants = literals
                .iter()
                .filter_map(|literal| self.atoms.atoms[literal.atom_index].predicate_shape.as_ref());
            let is_covered = |text: &Json| {
                let special = if reads_address { ' ' } else { '\0' };
                text.as_str().is_none_or(|text| !text.contains(special))
            };
            exact &= only_equality && compares_order != reads_address;
            exact &= constants.flat_map(|shape| &shape.constants).all(is_covered);
            if exact
                && self.has_exhaustive_order_candidates(
                    self.atoms.terms[term].range.called_text_function,
                    literals,
                )
            {
                return SolvedValue::Never;
            }
            exact = false;
        }
        if let Some(function) = self.atoms.terms[term].range.called_text_function {
            let function_results =
                self.result_languages.entry(function).or_insert_with(|| result_language(function));
            languages.extend(function_results.clone().map(|fixed| (fixed, true)));
        }
        match self.automata.find_text(&languages) {
            TextSolution::Unsatisfiable => SolvedValue::Never,
            TextSolution::Text(text) if exact => SolvedValue::Value(text.into()),
            TextSolution::Text(text)
                if literals.iter().all(|literal| self.atoms.value_satisfies(*literal, &json!(text))) =>
            {
                SolvedValue::Value(text.into())
            }
            _ => SolvedValue::Unknown,
        }
    }

    /// True if the candidate texts are exhaustive for predicates on the order of texts: if any text
    /// satisfies the predicates, a candidate does. `results_of` is the function whose results the
    /// predicates compare; `None` if the operand can be any text. False for functions other than
    /// `date` and `time`.
    fn has_exhaustive_order_candidates(
        &self,
        results_of: Option<Function>,
        literals: &[AtomLiteral],
    ) -> bool {
        let Some(function) = results_of else { return true };
        if !matches!(function, Function::Date | Function::Time) {
            return false;
        }
        let shapes = literals
            .iter()
            .filter_map(|literal| self.atoms.atoms[literal.atom_index].predicate_shape.as_ref());
        shapes
            .flat_map(|shape| &shape.constants)
            .filter_map(Json::as_str)
            .all(|text| canonical_clock_text(function, text).as_deref() == Some(text))
    }

    /// Builds candidate texts. Each text is a concatenation of sample texts, one for every
    /// predicate that must be true.
    pub(super) fn joined_sample_texts(&mut self, literals: &[AtomLiteral]) -> Vec<Json> {
        let mut parts: SmallVec<[&TextLanguage; 4]> = SmallVec::new();
        for literal in literals.iter().filter(|literal| literal.allowed == TRUE) {
            self.languages_of_atom(literal.atom_index);
        }
        for literal in literals.iter().filter(|literal| literal.allowed == TRUE) {
            parts.extend(self.languages_by_atom.get(&literal.atom_index).into_iter().flatten().flatten());
        }
        let is_enumeration = |literal: &AtomLiteral| {
            let term = self.atoms.atoms[literal.atom_index].term_index_and_cond.as_ref();
            term.is_some_and(|(term, _)| self.atoms.terms[*term].allowed_texts.is_some())
        };
        if parts.is_empty() || parts.len() > 12 || literals.iter().any(is_enumeration) {
            return Vec::new();
        }
        let mut joined_texts = Vec::new();
        for alternative in 0..4 {
            let samples: Vec<String> = parts.iter().map(|part| sample_text(&part.0, alternative)).collect();
            let reversed: Vec<String> = samples.iter().rev().cloned().collect();
            joined_texts.extend(
                [samples.join(" "), reversed.join(" "), samples.concat(), reversed.concat()].map(Json::from),
            );
        }
        joined_texts
    }

    /// Returns the languages (sets of texts) for which an atom is true; `None` if they are not
    /// known.
    fn languages_of_atom(&mut self, atom: usize) -> Option<&[TextLanguage]> {
        let TextDependence::Texts(texts) =
            &self.atoms.atoms[atom].predicate_shape.as_ref()?.dependence_on_text
        else {
            return None;
        };
        self.languages_by_atom.entry(atom).or_insert_with(|| texts.languages()).as_deref()
    }
}
