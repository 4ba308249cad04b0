//! The rule sets that were active in a router before, up to a maximum number.

use rulec::LiveRules;
use std::collections::VecDeque;

/// Earlier rule sets, the latest last.
pub(super) struct Previous {
    most: usize,
    rules: VecDeque<LiveRules>,
}

impl Previous {
    pub fn new(most: usize) -> Previous {
        Previous { most, rules: VecDeque::new() }
    }

    pub fn push(&mut self, rules: LiveRules) {
        self.rules.push_back(rules);
        while self.rules.len() > self.most {
            self.rules.pop_front();
        }
    }

    /// Returns the rules of this generation, if they are kept.
    pub fn get(&self, generation: u64) -> Option<LiveRules> {
        self.rules.iter().find(|rules| rules.generation() == generation).cloned()
    }

    /// Removes a generation.
    pub fn forget(&mut self, generation: u64) {
        self.rules.retain(|rules| rules.generation() != generation);
    }

    /// Returns the kept generations, the latest first.
    pub fn generations(&self) -> Vec<u64> {
        self.rules.iter().rev().map(LiveRules::generation).collect()
    }
}
