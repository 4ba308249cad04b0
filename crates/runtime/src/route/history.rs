//! The rule sets that were active in a router earlier, so that the router can activate one of them
//! again. Only the latest ones are stored, up to a maximum number.

use rulec::LiveRules;
use std::collections::VecDeque;

/// Rule sets that were active before the current one, the latest at the end.
pub(super) struct PreviousRules {
    max_len: usize,
    rules: VecDeque<LiveRules>,
}

impl PreviousRules {
    pub fn new(max_len: usize) -> PreviousRules {
        PreviousRules { max_len, rules: VecDeque::new() }
    }

    pub fn push(&mut self, rules: LiveRules) {
        self.rules.push_back(rules);
        while self.rules.len() > self.max_len {
            self.rules.pop_front();
        }
    }

    /// Returns the rule set of this generation (version number); `None` if no such rule set is
    /// stored.
    pub fn get(&self, generation: u64) -> Option<LiveRules> {
        self.rules.iter().find(|rules| rules.generation() == generation).cloned()
    }

    /// Removes the rule set of this generation (version number), if it is stored.
    pub fn forget_generation(&mut self, generation: u64) {
        self.rules.retain(|rules| rules.generation() != generation);
    }

    /// Returns the generations (version numbers) of the stored rule sets, the latest first.
    pub fn generations(&self) -> Vec<u64> {
        self.rules.iter().rev().map(LiveRules::generation).collect()
    }
}
