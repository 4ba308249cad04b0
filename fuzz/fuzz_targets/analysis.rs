//! Fuzzes the analysis of rules with small programs that are built from the bytes. No input may
//! contradict a finding of the analysis.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::support::held::{Shares, check_seed};
use rulec_fuzz::support::random::Random;
use rulec_fuzz::support::small::program;

fuzz_target!(|bytes: &[u8]| check_seed(0, &program(&mut Random::from_bytes(bytes)), &mut Shares::new()));
