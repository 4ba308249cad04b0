//! The program of the fuzz target `format`; `src/targets/format.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::format;

fuzz_target!(|text: &str| format::run(text));
