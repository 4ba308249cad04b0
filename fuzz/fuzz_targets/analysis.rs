//! The program of the fuzz target `analysis`; `src/targets/analysis.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::analysis;

fuzz_target!(|bytes: &[u8]| analysis::run(bytes));
