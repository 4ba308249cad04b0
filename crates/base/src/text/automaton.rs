//! An automaton that finds many literals in one pass over a text. Building it takes time
//! proportional to the literals.
//!
//! To renumber the states of an automaton, the builder of the `aho-corasick` crate swaps states, so
//! that the states where a literal ends come first. The builder then follows the chain of swaps
//! from each state to find the state's new number. If nearly every state ends a literal, as with
//! `w1`, `w2`, … `w40000`, the swaps form one long cycle. Following this cycle from each state
//! takes quadratic time. Dummy states at the start, where no literal ends, split the cycle into
//! many short ones.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind};

/// A byte that occurs in no UTF-8 text.
const NON_UTF8_BYTE: u8 = 0xff;
/// Minimum number of literals for which dummy states are added. With fewer literals, building the
/// automaton in quadratic time is still fast; see the module documentation.
/// Compared with other values in benches/notes/constants.md.
const MIN_LITERALS_FOR_DUMMY_STATES: usize = 1_000;
/// Minimum length in bytes of a literal for which the automaton is an NFA, not a DFA. To build a
/// DFA, the builder follows the chain of failure transitions from each state. For a literal that
/// repeats itself, such as `abab…`, that takes time quadratic in the length of the literal.
const MIN_LITERAL_BYTES_FOR_NFA: usize = 1_000;
/// Number of literals per dummy state. More dummy states shorten the cycles of swaps that the
/// builder follows, but enlarge the automaton.
/// Compared with other values in benches/notes/constants.md.
const LITERALS_PER_DUMMY_STATE: usize = 64;

/// An automaton that finds literals in a text and reports their ids.
#[derive(Clone, Debug)]
pub struct LiteralAutomaton {
    inner: AhoCorasick,
    /// Id of the first literal among the patterns of `inner`: 1 if a dummy pattern, which yields
    /// the dummy states, precedes the literals; otherwise 0.
    first_literal_id: usize,
}

impl LiteralAutomaton {
    /// Builds an automaton that searches for these literals. The id of a literal is its index.
    /// `kind` decides which of several overlapping occurrences are found. Returns an error if the
    /// literals exceed the capacity of an automaton.
    pub fn new<L: AsRef<[u8]>>(
        kind: MatchKind,
        literals: impl IntoIterator<Item = L>,
    ) -> Result<LiteralAutomaton, BuildError> {
        let literals: Vec<L> = literals.into_iter().collect();
        let dummy_pattern = vec![
            NON_UTF8_BYTE;
            if literals.len() < MIN_LITERALS_FOR_DUMMY_STATES {
                0
            } else {
                literals.len() / LITERALS_PER_DUMMY_STATE
            }
        ];
        let dummy_pattern = (!dummy_pattern.is_empty()).then_some(&*dummy_pattern);
        let patterns = dummy_pattern.into_iter().chain(literals.iter().map(AsRef::as_ref));
        let is_long = literals.iter().any(|literal| literal.as_ref().len() >= MIN_LITERAL_BYTES_FOR_NFA);
        let representation = is_long.then_some(AhoCorasickKind::ContiguousNFA);
        let inner = AhoCorasick::builder().match_kind(kind).kind(representation).build(patterns)?;
        Ok(LiteralAutomaton { inner, first_literal_id: usize::from(dummy_pattern.is_some()) })
    }

    /// Builds an automaton that only reports whether a text contains any literal. Returns an error
    /// if the literals exceed the capacity of an automaton.
    pub fn for_any_match<L: AsRef<[u8]>>(
        literals: impl IntoIterator<Item = L>,
    ) -> Result<LiteralAutomaton, BuildError> {
        LiteralAutomaton::new(MatchKind::Standard, literals)
    }

    /// True if the text contains at least one of the automaton's literals.
    pub fn is_match(&self, text: &str) -> bool {
        self.inner.is_match(text)
    }

    /// Returns the id and the byte range of each occurrence of a literal in the text, including
    /// overlapping ones.
    ///
    /// # Panics
    /// If the automaton was built with another kind than [`MatchKind::Standard`].
    pub fn overlapping_matches(&self, text: &str) -> impl Iterator<Item = (usize, Range<usize>)> {
        let matches = self.inner.find_overlapping_iter(text);
        matches
            .map(|occurrence| (occurrence.pattern().as_usize() - self.first_literal_id, occurrence.range()))
    }

    /// Returns the approximate memory use of the automaton in bytes.
    pub fn memory_usage(&self) -> usize {
        self.inner.memory_usage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_keep_their_ids_in_small_and_large_automata() {
        for count in [3, MIN_LITERALS_FOR_DUMMY_STATES - 1, MIN_LITERALS_FOR_DUMMY_STATES, 5_000] {
            let automaton = LiteralAutomaton::new(MatchKind::Standard, (0..count).map(|at| format!("w{at}")));
            let automaton = automaton.expect("it is small");
            let mut found: Vec<usize> =
                automaton.overlapping_matches("a w2 \u{ff}").map(|(at, _)| at).collect();
            assert_eq!(found, [2], "{count}");
            found = automaton.overlapping_matches("w999").map(|(at, _)| at).collect();
            let expected: Vec<usize> = [9, 99, 999].into_iter().filter(|at| *at < count).collect();
            assert_eq!(found, expected, "{count}");
            assert!(!automaton.is_match("\u{ff}ÿ"));
        }
    }
}
