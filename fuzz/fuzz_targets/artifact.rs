//! The program of the fuzz target `artifact`; `src/targets/artifact.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::artifact;

fuzz_target!(|bytes: &[u8]| artifact::run(bytes));
