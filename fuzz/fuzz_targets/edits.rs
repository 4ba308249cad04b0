//! The program of the fuzz target `edits`; `src/targets/edits.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::edits;

fuzz_target!(|bytes: &[u8]| edits::run(bytes));
