//! Generates lists of constants.

use super::{Generator, Kind, WORDS, quoted};

impl Generator<'_> {
    pub(super) fn keywords(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| quoted(self.random.pick(WORDS))).collect();
        format!("[{}]", words.join(", "))
    }

    pub(super) fn constant_list(&mut self, kind: Kind) -> String {
        let count = 1 + if self.random.chance(10) { 40 } else { self.random.below(4) };
        if kind == Kind::Text {
            return self.keywords(count);
        }
        let numbers: Vec<String> = (0..count).map(|_| self.int()).collect();
        format!("[{}]", numbers.join(", "))
    }

    pub(super) fn constant_or_named_list(&mut self, kind: Kind) -> String {
        let named: Vec<String> =
            self.lists.iter().filter(|(_, other)| *other == kind).map(|(name, _)| name.clone()).collect();
        if !named.is_empty() && self.random.chance(50) {
            return named[self.random.below(named.len())].clone();
        }
        self.constant_list(kind)
    }
}
