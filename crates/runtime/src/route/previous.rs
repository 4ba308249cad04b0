//! The rules that a router had in force before, as many as it is to keep.

use rulec::LiveRules;
use std::collections::VecDeque;

/// Rules, the latest last.
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

    /// The rules of a generation.
    pub fn get(&self, generation: u64) -> Option<LiveRules> {
        self.rules.iter().find(|rules| rules.generation() == generation).cloned()
    }

    /// Forgets a generation.
    pub fn forget(&mut self, generation: u64) {
        self.rules.retain(|rules| rules.generation() != generation);
    }

    /// The generations that are kept, the latest first.
    pub fn generations(&self) -> Vec<u64> {
        self.rules.iter().rev().map(LiveRules::generation).collect()
    }
}
