//! The program of the fuzz target `parse`; `src/targets/parse.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::parse;

fuzz_target!(|text: &str| parse::run(text));
