//! The program of the fuzz target `differential`; `src/targets/differential.rs` says what it
//! checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::differential;

fuzz_target!(|bytes: &[u8]| differential::run(bytes));
