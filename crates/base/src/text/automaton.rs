//! The automaton that finds many literals in one pass over a text, built in time that is proportional to them.
//!
//! The crate's builder moves the states where a literal ends before the others, and follows the moves of each. Where
//! nearly every state is one, as with `w1`, `w2`, … `w40000`, they form one long circle, so that the time is the square of
//! their number. States that come first and belong to no literal part it into as many short ones.

use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};

/// A byte that stands in no text.
const NOWHERE: u8 = 0xff;
/// So few literals need no part of it.
const FEW: usize = 1_000;
/// The number of literals for each state that belongs to none.
const PER_STATE: usize = 64;

/// Finds literals by their numbers.
#[derive(Clone, Debug)]
pub struct Automaton {
    inner: AhoCorasick,
    /// The number of the first literal there.
    first: usize,
}

impl Automaton {
    /// An automaton for literals; fails for more than there is room for.
    pub fn new<L: AsRef<[u8]>>(
        kind: MatchKind,
        literals: impl IntoIterator<Item = L>,
    ) -> Result<Automaton, BuildError> {
        let literals: Vec<L> = literals.into_iter().collect();
        let apart = vec![NOWHERE; if literals.len() < FEW { 0 } else { literals.len() / PER_STATE }];
        let apart = (!apart.is_empty()).then_some(&*apart);
        let all = apart.into_iter().chain(literals.iter().map(AsRef::as_ref));
        let inner = AhoCorasick::builder().match_kind(kind).build(all)?;
        Ok(Automaton { inner, first: usize::from(apart.is_some()) })
    }

    /// True when a literal is in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.inner.is_match(text)
    }

    /// Each literal's number and place in the text, those that overlap too. For [`MatchKind::Standard`] alone.
    pub fn overlapping(&self, text: &str) -> impl Iterator<Item = (usize, Range<usize>)> {
        let found = self.inner.find_overlapping_iter(text);
        found.map(|found| (found.pattern().as_usize() - self.first, found.range()))
    }

    /// Roughly how many bytes it takes.
    pub fn memory_usage(&self) -> usize {
        self.inner.memory_usage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_keep_their_numbers_however_many_there_are() {
        for count in [3, FEW - 1, FEW, 5_000] {
            let automaton = Automaton::new(MatchKind::Standard, (0..count).map(|at| format!("w{at}")));
            let automaton = automaton.expect("it is small");
            let mut found: Vec<usize> = automaton.overlapping("a w2 \u{ff}").map(|(at, _)| at).collect();
            assert_eq!(found, [2], "{count}");
            found = automaton.overlapping("w999").map(|(at, _)| at).collect();
            let expected: Vec<usize> = [9, 99, 999].into_iter().filter(|at| *at < count).collect();
            assert_eq!(found, expected, "{count}");
            assert!(!automaton.is_match("\u{ff}ÿ"));
        }
    }
}
