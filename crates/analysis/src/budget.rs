//! The work limit of an analysis, counted in steps. A step is a test of a value, a state of an
//! automaton, an element of a list, or a literal of a clause. The count depends on the rules only,
//! not on the speed of the machine, so an analysis always gives the same result.
//!
//! The steps are divided into *shares*: each part of the analysis, such as the analysis of one
//! condition, may take only the steps of its own share. If a share for a statement is exhausted,
//! the statement is reported as not analysed in full.

use rulec_lang::limits::MAX_ANALYSIS_STEPS;
use std::cell::Cell;
use std::rc::Rc;

/// Divisor that limits a share (the steps for one part of the analysis) to a quarter of the
/// remaining steps. So a large statement leaves steps for other statements. If fewer than four
/// shares are left, each gets an equal part of the remaining steps.
const MAX_SHARE_DIVISOR: u64 = 4;

/// Counts the steps of one analysis against its limits. All clones share the counters.
#[derive(Clone)]
pub(super) struct StepBudget(Rc<StepCounters>);

struct StepCounters {
    /// The number of steps that the whole analysis may take.
    total_steps: u64,
    /// The number of steps that the analysis has taken so far.
    taken_steps: Cell<u64>,
    /// The total number of taken steps at which the current share (the steps for one part of the
    /// analysis) ends.
    share_end: Cell<u64>,
    /// The estimated number of shares (parts of the analysis with a step limit of their own) that
    /// have not begun yet.
    remaining_shares: Cell<u64>,
    /// Whether some work of the current part of the analysis was refused for lack of steps. If so,
    /// later results of this part prove nothing.
    is_share_exhausted: Cell<bool>,
    /// Whether work of any part of the analysis was refused for lack of steps.
    was_ever_exhausted: Cell<bool>,
}

impl Default for StepBudget {
    fn default() -> StepBudget {
        StepBudget::new(MAX_ANALYSIS_STEPS)
    }
}

impl StepBudget {
    /// Returns a budget of `total` steps for the whole analysis. All steps may be taken, until the
    /// first share (the steps for one part of the analysis) begins.
    pub fn new(total: u64) -> StepBudget {
        StepBudget(Rc::new(StepCounters {
            total_steps: total,
            taken_steps: Cell::new(0),
            share_end: Cell::new(total),
            remaining_shares: Cell::new(u64::MAX),
            is_share_exhausted: Cell::new(false),
            was_ever_exhausted: Cell::new(false),
        }))
    }

    /// Sets the estimated number of shares (the steps for one part of the analysis each) that will
    /// still begin. If only a few shares are left, each gets a larger part of the remaining steps.
    pub fn expect_shares(&self, shares: usize) {
        self.0.remaining_shares.set(shares as u64);
    }

    /// Starts the next share, which limits the steps of the next part of the analysis.
    pub fn begin_share(&self) {
        let taken = self.0.taken_steps.get();
        let divisor = self.0.remaining_shares.get().clamp(1, MAX_SHARE_DIVISOR);
        self.0.remaining_shares.set(self.0.remaining_shares.get().saturating_sub(1));
        self.0.share_end.set(taken + (self.0.total_steps - taken) / divisor);
        self.0.is_share_exhausted.set(false);
    }

    /// Takes steps from the current share (the steps for one part of the analysis). Returns false
    /// if too few are left; the caller must then skip the work.
    pub fn charge(&self, steps: usize) -> bool {
        let taken = self.0.taken_steps.get().saturating_add(steps as u64);
        if self.0.is_share_exhausted.get() || taken > self.0.share_end.get() {
            self.0.is_share_exhausted.set(true);
            self.0.was_ever_exhausted.set(true);
            return false;
        }
        self.0.taken_steps.set(taken);
        true
    }

    /// True if work of the current part of the analysis was refused for lack of steps.
    pub fn is_share_exhausted(&self) -> bool {
        self.0.is_share_exhausted.get()
    }

    /// True if work of any part of the analysis so far was refused for lack of steps.
    pub fn was_ever_exhausted(&self) -> bool {
        self.0.was_ever_exhausted.get()
    }

    /// Returns the number of steps that the analysis has taken so far.
    pub fn taken_steps(&self) -> u64 {
        self.0.taken_steps.get()
    }

    /// Returns the number of steps that the whole analysis may take.
    pub fn total_steps(&self) -> u64 {
        self.0.total_steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_leaves_steps_for_the_next() {
        let budget = StepBudget::new(100);
        budget.begin_share();
        assert!(budget.charge(25) && !budget.is_share_exhausted());
        assert!(!budget.charge(1) && budget.is_share_exhausted());
        assert!(!budget.charge(0));
        assert_eq!(budget.taken_steps(), 25);
        budget.begin_share();
        // A refused charge takes no steps.
        assert!(!budget.charge(19));
        budget.begin_share();
        assert!(budget.charge(18) && !budget.charge(1));
        assert_eq!(budget.taken_steps(), 43);
        budget.expect_shares(1);
        budget.begin_share();
        assert!(budget.charge(57) && !budget.charge(1));
    }
}
