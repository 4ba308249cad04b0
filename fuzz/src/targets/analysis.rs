//! Fuzzes the analysis of rules with small programs that are built from the bytes. No input may
//! contradict a finding of the analysis.

use crate::support::held::{Shares, check_seed};
use crate::support::random::Random;
use crate::support::small::program;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    check_seed(0, &program(&mut Random::from_bytes(bytes)), &mut Shares::new())
}
