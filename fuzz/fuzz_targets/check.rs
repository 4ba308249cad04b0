//! The program of the fuzz target `check`; `src/targets/check.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::check;

fuzz_target!(|text: &str| check::run(text));
