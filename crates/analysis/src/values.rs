//! Finds a value of one term (an operand that is compared) that satisfies given literals (required
//! truth values of predicates on the term). Likely candidates are tried first, then each kind of
//! value, such as text or list. For predicates with a known
//! [`PredicateShape`](super::shape::PredicateShape), it can be proven that there is no such value.

mod texts;

use super::atoms::{AtomLiteral, AtomTable, SolverTerm, TRUE};
use super::place::number_to_json;
use super::refuting::RefutingLiterals;
use super::shape::{PredicateShape, is_short_decimal};
use super::string_theory::{AutomatonCache, TextLanguage, is_result_of};
use hashbrown::{HashMap, HashSet};
use rulec_lang::builtins::Function;
use rulec_lang::ty::{Kind, KindSet};
use rulec_sema::hir::Program;
use serde_json::{Value as Json, json};

/// The result of a search for a value that satisfies literals (required truth values of
/// predicates).
#[derive(Clone, Debug)]
pub(super) enum SolvedValue {
    Value(Json),
    /// It is proven that no value of the term satisfies the literals.
    Never,
    Unknown,
}

/// Searches for values that satisfy literals (required truth values of predicates). Caches results.
pub(super) struct ValueSearch {
    pub atoms: AtomTable,
    automata: AutomatonCache,
    solved: HashMap<SolvedQuery, SolvedValue>,
    /// For each query with many literals that has no solution, the few of these literals that
    /// already exclude every value.
    core_by_query: HashMap<SolvedQuery, Vec<AtomLiteral>>,
    /// For each atom (predicate) on texts, the languages (sets of texts) for which it is true, if
    /// known.
    languages_by_atom: HashMap<usize, Option<Vec<TextLanguage>>>,
    /// For each function on texts, the language (set of texts) of its possible results, if known.
    result_languages: HashMap<Function, Option<TextLanguage>>,
}

/// Key of a cached query: the index of a term (compared operand), its literals, and whether the
/// term must be present.
type SolvedQuery = (usize, Vec<AtomLiteral>, bool);

/// Maximum number of literals (required truth values) in a conflict that is minimised. A larger
/// conflict is returned unchanged.
const MAX_MINIMISED_LITERALS: usize = 24;
/// Queries with more literals (required truth values) are not cached, to save memory.
const MAX_CACHED_LITERALS: usize = 1_000;

impl ValueSearch {
    pub fn new(program: &Program) -> ValueSearch {
        let atoms = AtomTable::new(program);
        ValueSearch {
            automata: AutomatonCache::new(atoms.budget.clone()),
            atoms,
            solved: HashMap::new(),
            core_by_query: HashMap::new(),
            languages_by_atom: HashMap::new(),
            result_languages: HashMap::new(),
        }
    }

    /// Reduces literals (required truth values) that no value of the term satisfies together to the
    /// literals needed for this conflict. If `must_be_present` is true, null is not a value.
    pub fn minimise_conflict(
        &mut self,
        term_index: usize,
        mut literals: Vec<AtomLiteral>,
        must_be_present: bool,
    ) -> Vec<AtomLiteral> {
        while literals.len() > MAX_MINIMISED_LITERALS
            && let Some(core) = self.core_by_query.remove(&(term_index, literals.clone(), must_be_present))
        {
            literals = core;
        }
        self.remove_needless_literals(term_index, &mut literals, must_be_present);
        if literals.len() > MAX_MINIMISED_LITERALS {
            return literals;
        }
        let mut index = 0;
        while index < literals.len() && literals.len() > 1 {
            let removed = literals.remove(index);
            if !matches!(self.find_value(term_index, &literals, must_be_present), SolvedValue::Never) {
                literals.insert(index, removed);
                index += 1;
            }
        }
        literals
    }

    /// Removes needless literals from a conflict, a [`SolvedQuery`] without a solution. Tries to
    /// remove many at once: first halves of the list, then quarters, and so on.
    fn remove_needless_literals(&mut self, term: usize, literals: &mut Vec<AtomLiteral>, present: bool) {
        let mut many = literals.len() / 2;
        while literals.len() > MAX_MINIMISED_LITERALS && many > 0 {
            let mut start = 0;
            while start < literals.len() && literals.len() > many {
                let end = (start + many).min(literals.len());
                let rest = [&literals[..start], &literals[end..]].concat();
                match self.find_value(term, &rest, present) {
                    SolvedValue::Never => *literals = rest,
                    _ => start = end,
                }
            }
            many /= 2;
        }
    }

    /// Searches for a value of a term, which is an operand that is compared. With this value, each
    /// of the `literals` must be satisfied: a comparison that must hold or must not hold. If
    /// `present`, the value is not null.
    pub fn find_value(&mut self, term: usize, literals: &[AtomLiteral], present: bool) -> SolvedValue {
        let budget = self.atoms.budget.clone();
        if !budget.charge(1 + literals.len()) {
            return SolvedValue::Unknown;
        }
        let key = (term, literals.to_vec(), present);
        if let Some(cached) = self.solved.get(&key) {
            return cached.clone();
        }
        let solved = self.find_value_uncached(term, literals, present);
        if literals.len() > MAX_CACHED_LITERALS {
            return if budget.is_share_exhausted() { SolvedValue::Unknown } else { solved };
        }
        if budget.is_share_exhausted() {
            return SolvedValue::Unknown;
        }
        self.solved.insert(key, solved.clone());
        solved
    }

    fn find_value_uncached(
        &mut self,
        term_index: usize,
        literals: &[AtomLiteral],
        must_be_present: bool,
    ) -> SolvedValue {
        let mut refuting = RefutingLiterals::new(literals);
        let mut is_solution = |value: &Json, atoms: &AtomTable| {
            (!must_be_present || !value.is_null())
                && is_in_result_range(atoms, term_index, value)
                && refuting.are_satisfied_by(atoms, value)
        };
        if let Some(deciding) = self.atom_with_exhaustive_constants(term_index, literals) {
            let constants =
                self.atoms.atoms[deciding].predicate_shape.iter().flat_map(|shape| &shape.constants);
            for value in constants {
                if is_solution(value, &self.atoms) {
                    return SolvedValue::Value(value.clone());
                }
            }
            self.record_conflict_core((term_index, literals, must_be_present), refuting.into_core(deciding));
            return SolvedValue::Never;
        }
        let term = &self.atoms.terms[term_index];
        // Null is the first candidate, because an optional field is best omitted.
        let candidate =
            self.candidate_values(term, literals).into_iter().find(|value| is_solution(value, &self.atoms));
        let candidate = candidate.or_else(|| {
            self.joined_sample_texts(literals).into_iter().find(|value| is_solution(value, &self.atoms))
        });
        if let Some(value) = candidate {
            let rounder =
                nearby_round_numbers(&value).into_iter().find(|value| is_solution(value, &self.atoms));
            return SolvedValue::Value(rounder.unwrap_or(value));
        }
        // The few literals that exclude all candidates often exclude every value.
        let few = refuting.into_refuting_literals();
        if literals.len() > MAX_MINIMISED_LITERALS
            && few.len() <= literals.len() / 2
            && matches!(self.find_value(term_index, &few, must_be_present), SolvedValue::Never)
        {
            self.record_conflict_core((term_index, literals, must_be_present), few);
            return SolvedValue::Never;
        }
        self.find_value_of_any_kind(term_index, literals)
    }

    /// Records the few literals (`conflict_core`) that already exclude every value, for a query
    /// with many literals that has no solution. See [`SolvedQuery`] for the parts of the query.
    fn record_conflict_core(
        &mut self,
        (term, literals, present): (usize, &[AtomLiteral], bool),
        conflict_core: Vec<AtomLiteral>,
    ) {
        let is_useful = literals.len() > MAX_MINIMISED_LITERALS && conflict_core.len() < literals.len();
        // With too few steps, literals may seem to exclude values that they were not tested on.
        if is_useful && !self.atoms.budget.is_share_exhausted() {
            self.core_by_query.insert((term, literals.to_vec(), present), conflict_core);
        }
    }

    /// Finds a predicate that must be true, and that is true only for a finite set of constants. So
    /// only the constants need to be tried. Returns the index of the atom with the fewest
    /// constants. `None` if there is none, or if the constants and literals are so few that this
    /// saves no time.
    fn atom_with_exhaustive_constants(&self, term: usize, literals: &[AtomLiteral]) -> Option<usize> {
        const MIN_LITERALS_OR_CONSTANTS: usize = 24;
        let near = KindSet::DATETIME.union(KindSet::VERSION).union(KindSet::LIST).union(KindSet::DICT);
        if self.atoms.terms[term].kinds.overlaps(near) || self.atoms.terms[term].allowed_texts.is_some() {
            return None;
        }
        let shapes = literals.iter().filter(|literal| literal.allowed == TRUE).filter_map(|literal| {
            let shape = self.atoms.atoms[literal.atom_index].predicate_shape.as_ref()?;
            (shape.is_finite && !shape.has_huge_constant && !shape.has_nested_constants)
                .then_some((literal.atom_index, shape.constants.len()))
        });
        let (atom, constants) = shapes.min_by_key(|(_, constants)| *constants)?;
        (constants.max(literals.len()) > MIN_LITERALS_OR_CONSTANTS).then_some(atom)
    }

    /// Searches for a value that satisfies the literals, in turn among the values of each kind that
    /// the term (compared operand) may have.
    fn find_value_of_any_kind(&mut self, term_index: usize, literals: &[AtomLiteral]) -> SolvedValue {
        let term = &self.atoms.terms[term_index];
        let kinds = term.kinds;
        if kinds == KindSet::VERSION {
            return self.failed_version_result(literals);
        }
        if kinds.overlaps(KindSet::VERSION)
            || (kinds.has(Kind::DateTime) && kinds.has(Kind::String) && !term.is_slot)
        {
            return SolvedValue::Unknown;
        }
        let satisfies_literals = |atoms: &AtomTable, value: &Json| {
            literals.iter().all(|literal| atoms.value_satisfies(*literal, value))
        };
        let mut solved = SolvedValue::Never;
        for kind in kinds.iter() {
            // A text that can be read as a date-time counts as text.
            if kind == Kind::DateTime && kinds.has(Kind::String) {
                continue;
            }
            match self.find_value_of_kind(term_index, kind, literals) {
                SolvedValue::Never => {}
                SolvedValue::Unknown => solved = SolvedValue::Unknown,
                SolvedValue::Value(value) if satisfies_literals(&self.atoms, &value) => {
                    return SolvedValue::Value(value);
                }
                SolvedValue::Value(_) => solved = SolvedValue::Unknown,
            }
        }
        solved
    }

    /// Returns the result of a search for a version number that satisfies literals (required truth
    /// values), after all candidates failed. The result is `Never` if the literals depend only on
    /// the order of versions, because the candidates were then exhaustive. Otherwise it is
    /// `Unknown`.
    fn failed_version_result(&self, literals: &[AtomLiteral]) -> SolvedValue {
        let is_known = |literal: &AtomLiteral| {
            let atom = &self.atoms.atoms[literal.atom_index];
            let depends_on_order =
                |shape: &PredicateShape| shape.is_version_order || shape.constants.is_empty();
            atom.is_prepared() && atom.predicate_shape.as_ref().is_some_and(depends_on_order)
        };
        if literals.iter().all(is_known) { SolvedValue::Never } else { SolvedValue::Unknown }
    }

    /// Searches for a value of one kind. Called if no likely candidate satisfies the literals.
    fn find_value_of_kind(&mut self, term: usize, kind: Kind, literals: &[AtomLiteral]) -> SolvedValue {
        // For numbers and date-times, the candidates are exhaustive if all shapes are known.
        let shapes =
            || literals.iter().map(|literal| self.atoms.atoms[literal.atom_index].predicate_shape.as_ref());
        let shapes_known = shapes().all(|shape| shape.is_some());
        let never_if = |exact: bool| if exact { SolvedValue::Never } else { SolvedValue::Unknown };
        match kind {
            Kind::Bool => SolvedValue::Never,
            Kind::Int | Kind::Float => {
                never_if(shapes_known && shapes().flatten().all(|shape| !shape.has_huge_constant))
            }
            Kind::Decimal => never_if(
                shapes_known && shapes().flatten().all(|shape| shape.constants.iter().all(is_short_decimal)),
            ),
            Kind::DateTime => never_if(shapes_known),
            Kind::Version => SolvedValue::Unknown,
            Kind::List => self.find_list(literals),
            Kind::Dict => self.find_dict(literals),
            // All texts of an enumeration are candidates.
            Kind::String if self.atoms.terms[term].allowed_texts.is_some() => SolvedValue::Never,
            Kind::String => self.find_text_value(term, literals),
        }
    }

    /// Returns values that a term (compared operand) is likely to need. For predicates that compare
    /// numbers, date-times, or the order of texts, one of the returned values satisfies the
    /// literals if any value does.
    pub fn candidate_values(&self, term: &SolverTerm, literals: &[AtomLiteral]) -> Vec<Json> {
        let mut candidates = vec![Json::Null];
        if let Some(values) = &term.allowed_texts {
            candidates.extend(values.values().iter().map(|value| Json::from(&**value)));
            self.atoms.budget.charge(candidates.len());
            return candidates;
        }
        for literal in literals {
            if let Some(shape) = &self.atoms.atoms[literal.atom_index].predicate_shape {
                shape.add_candidates(&mut candidates);
            }
        }
        candidates.extend([term.range.low, term.range.high].into_iter().flatten().map(Json::from));
        let new_texts =
            (0..).map(|index| if index == 0 { "other".to_owned() } else { format!("other{index}") });
        if term.kinds.has(Kind::String) {
            let known: HashSet<&str> = candidates.iter().filter_map(Json::as_str).collect();
            let new_text = new_texts.take(literals.len() + 1).find(|text| !known.contains(&**text));
            drop(known);
            candidates.extend(new_text.map(Json::from));
        }
        candidates.extend(self.sample_values(term.kinds));
        // If too few steps are left to test the candidates, the budget is exhausted, and the caller
        // ignores the result.
        self.atoms.budget.charge(candidates.len());
        candidates
    }

    /// Returns a few sample values of each kind in `kinds`, and null.
    pub fn sample_values(&self, kinds: KindSet) -> Vec<Json> {
        let if_accepted =
            |kind: KindSet, values: Vec<Json>| if kinds.overlaps(kind) { values } else { Vec::new() };
        let mut samples = vec![Json::Null];
        samples.extend(if_accepted(KindSet::BOOL, vec![json!(true), json!(false)]));
        let numbers = KindSet::NUMBER.union(KindSet::DECIMAL);
        samples.extend(if_accepted(numbers, vec![json!(0), json!(1), json!(0.5), json!(-1)]));
        samples.extend(if_accepted(KindSet::STRING, vec![json!("other"), json!("")]));
        samples.extend(if_accepted(KindSet::VERSION, vec![json!("1.0.0")]));
        samples.extend(if_accepted(KindSet::DATETIME, vec![json!("2026-01-05T09:00:00Z")]));
        samples.extend(if_accepted(KindSet::LIST, vec![json!([])]));
        samples.extend(if_accepted(KindSet::DICT, vec![json!({})]));
        samples
    }
}

/// Returns numbers near a float with many digits, simpler numbers first. If a shorter number also
/// satisfies the literals, it is easier to read in an example message. Returns nothing for a value
/// that is not a float or has few digits.
fn nearby_round_numbers(value: &Json) -> Vec<Json> {
    const MAX_SHORT_NUMBER_LENGTH: usize = 8;
    const MAX_ROUNDED_DIGITS: i32 = 12;
    let Some(float) =
        value.as_f64().filter(|_| value.is_f64() && value.to_string().len() > MAX_SHORT_NUMBER_LENGTH)
    else {
        return Vec::new();
    };
    let around = |scaled: f64| [scaled.ceil(), scaled.floor(), scaled.ceil() + 1.0, scaled.floor() - 1.0];
    let halves = around(float * 2.0).map(|number| number / 2.0);
    let decimals = (0..=MAX_ROUNDED_DIGITS).flat_map(|digits| {
        let scale = 10_f64.powi(digits);
        around(float * scale).map(|number| number / scale)
    });
    // Very large and very small numbers are rounded to few digits, whatever their size.
    let exponent = float.abs().log10().floor() as i32;
    let scientific = (0..=MAX_ROUNDED_DIGITS).flat_map(|digits| {
        let shift = exponent - digits;
        let read = move |number: f64| format!("{number}e{shift}").parse().unwrap_or(float);
        around(float / 10_f64.powi(shift)).map(read)
    });
    let numbers = decimals.clone().take(4).chain(halves).chain(decimals.skip(4)).chain(scientific);
    numbers.filter_map(number_to_json).collect()
}

fn is_in_result_range(atoms: &AtomTable, term: usize, value: &Json) -> bool {
    let range = atoms.terms[term].range;
    if let (Some(function), Json::String(text)) = (range.called_text_function, value) {
        return is_result_of(function, text);
    }
    let Some(number) = value.as_f64() else { return true };
    range.low.is_none_or(|low| number >= low as f64) && range.high.is_none_or(|high| number <= high as f64)
}
