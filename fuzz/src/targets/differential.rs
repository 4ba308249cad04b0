//! Fuzzes all engines with generated programs and messages. Every engine must give the same results
//! as the reference evaluator. The bytes steer the generator of the differential test.

use crate::support::generate::{Generator, message};
use crate::support::random::Random;
use crate::{assert_engines_agree, fuzz_compiler};

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let mut random = Random::from_bytes(bytes);
    let program = Generator::program(&mut random);
    let Ok(rules) = fuzz_compiler().compile_text(&program.source) else { return };
    for _ in 0..4 {
        assert_engines_agree(&rules, &message(&mut random));
    }
}
