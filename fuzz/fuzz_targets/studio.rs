//! The program of the fuzz target `studio`; `src/targets/studio.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::studio;

fuzz_target!(|input: (u8, &str, &str)| studio::run(input));
