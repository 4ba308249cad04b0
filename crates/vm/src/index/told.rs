//! The literals that are looked for in texts: those that are keys, and those that tell a predicate's answer well enough
//! for what every text pays for them. The shorter a scanner's shortest literal, the more positions it looks at.

use super::atom::{Atoms, LAST, Literals};
use rulec_lang::operators::Anchor;

/// The bytes of a literal that is looked for only to tell a predicate's answer.
const MIN_TELLING: usize = 7;

/// The literals that tell a predicate's answer, and for each subject those that are looked for: one that is no key and
/// short tells too little for having every text looked at for it.
pub(super) fn told(
    atoms: &Atoms<'_>,
    by_number: &[Vec<(Anchor, &str)>],
    keys: &[Vec<(u32, u32)>],
) -> (Vec<Option<Literals>>, Vec<Vec<bool>>) {
    let mut sought: Vec<Vec<bool>> = by_number.iter().map(|own| vec![false; own.len()]).collect();
    for (sought, keys) in sought.iter_mut().zip(keys) {
        keys.iter().for_each(|(literal, _)| sought[*literal as usize] = true);
    }
    let is_key = sought.clone();
    let told = atoms.literals.iter().map(|literals| {
        let mut literals = literals.clone()?;
        let subject = literals.subject as usize;
        let pays = |number: &u32| {
            let literal = (number & !LAST) as usize;
            let (anchor, text) = by_number[subject][literal];
            anchor != Anchor::Anywhere || text.len() >= MIN_TELLING || is_key[subject][literal]
        };
        let groups = literals.numbers.split_inclusive(|number| number & LAST != 0);
        let paying: Vec<u32> = groups.filter(|group| group.iter().all(pays)).flatten().copied().collect();
        // What is left is needed, and no longer enough.
        literals.exact &= paying.len() == literals.numbers.len();
        literals.numbers = paying;
        literals.numbers.iter().for_each(|number| sought[subject][(number & !LAST) as usize] = true);
        (!literals.numbers.is_empty()).then_some(literals)
    });
    (told.collect(), sought)
}
