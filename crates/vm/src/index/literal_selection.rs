//! Selects the literals that texts are searched for: the keys of the index, and literals that
//! decide a predicate which most decisions test. Every literal slows down the scan of every text,
//! and so does each time that it is found. Short literals cost most, because the scan must then
//! look at more positions of a text.

use super::index_terms::{DecidingLiterals, IndexAtoms, LAST_IN_GROUP_FLAG};
use super::selectivity::visit_predicates;
use rulec_lang::operators::Anchor;
use rulec_sema::normal::{CondId, NormalForm};

/// Minimum length in bytes of a literal that is searched only to decide a predicate, not as a key.
/// Measured in benches/notes/literal-scan.md, "Literals to scan for".
const MIN_DECIDING_LITERAL_BYTES: usize = 7;

/// Minimum expected number of tests of a predicate in a decision for which a literal is searched
/// only to decide the predicate. A predicate that is tested rarely searches the text itself.
/// Measured in benches/notes/literal-scan.md, "Literals to scan for".
const MIN_EXPECTED_TESTS: f64 = 0.5;

/// For each predicate, the expected number of times that a decision tests it: the sum over the
/// routes with the predicate of the probability that the route is a candidate.
pub(super) struct ExpectedTests(Vec<f64>);

impl ExpectedTests {
    pub fn new(pred_count: usize) -> ExpectedTests {
        ExpectedTests(vec![0.0; pred_count])
    }

    /// Adds the predicates of a route that is a candidate with this probability.
    pub fn add_route(&mut self, normal: &NormalForm, cond: CondId, probability: f64) {
        visit_predicates(normal, cond, |pred| self.0[pred.index()] += probability);
    }
}

/// Returns for each predicate the literals that decide its result. Also returns for each subject
/// (scanned text) a flag for each literal: whether it is searched. A literal that is no key is not
/// searched if it is short or decides a predicate that is tested rarely.
/// For each subject, `literals_by_id` has its literals. `keys` has pairs of a literal id and the id
/// of a key that the literal provides.
pub(super) fn select_literals(
    atoms: &IndexAtoms<'_>,
    expected_tests: &ExpectedTests,
    literals_by_id: &[Vec<(Anchor, &str)>],
    literal_keys: &[Vec<(u32, u32)>],
) -> (Vec<Option<DecidingLiterals>>, Vec<Vec<bool>>) {
    let mut searched: Vec<Vec<bool>> = literals_by_id.iter().map(|own| vec![false; own.len()]).collect();
    for (searched, keys) in searched.iter_mut().zip(literal_keys) {
        keys.iter().for_each(|(literal, _)| searched[*literal as usize] = true);
    }
    let is_key = searched.clone();
    let predicates = atoms.deciding_literals.iter().zip(&expected_tests.0);
    let deciding_literals = predicates.map(|(literals, expected_tests)| {
        let mut literals = literals.clone()?;
        let is_tested_often = *expected_tests >= MIN_EXPECTED_TESTS;
        let subject = literals.subject_id as usize;
        let is_worthwhile = |number: &u32| {
            let literal = (number & !LAST_IN_GROUP_FLAG) as usize;
            let (anchor, text) = literals_by_id[subject][literal];
            anchor != Anchor::Anywhere
                || is_tested_often && text.len() >= MIN_DECIDING_LITERAL_BYTES
                || is_key[subject][literal]
        };
        let groups = literals.literal_ids.split_inclusive(|number| number & LAST_IN_GROUP_FLAG != 0);
        let searched_ids: Vec<u32> =
            groups.filter(|group| group.iter().all(is_worthwhile)).flatten().copied().collect();
        // The remaining literals are still necessary, but no longer sufficient.
        literals.are_literals_sufficient &= searched_ids.len() == literals.literal_ids.len();
        literals.literal_ids = searched_ids;
        literals
            .literal_ids
            .iter()
            .for_each(|number| searched[subject][(number & !LAST_IN_GROUP_FLAG) as usize] = true);
        (!literals.literal_ids.is_empty()).then_some(literals)
    });
    (deciding_literals.collect(), searched)
}
