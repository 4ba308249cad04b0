//! Fuzzes all engines with generated programs and messages. Every engine must give the same results
//! as the reference evaluator. The bytes steer the generator of the differential test.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::support::generate::{Generator, message};
use rulec_fuzz::support::random::Random;
use rulec_fuzz::{assert_engines_agree, fuzz_compiler};

fuzz_target!(|bytes: &[u8]| {
    let mut random = Random::from_bytes(bytes);
    let program = Generator::program(&mut random);
    let Ok(rules) = fuzz_compiler().compile_text(&program.source) else { return };
    for _ in 0..4 {
        assert_engines_agree(&rules, &message(&mut random));
    }
});
