//! The program of the fuzz target `import`; `src/targets/import.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::import;

fuzz_target!(|text: &str| import::run(text));
