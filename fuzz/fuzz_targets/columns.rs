//! The program of the fuzz target `columns`; `src/targets/columns.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::columns;

fuzz_target!(init: columns::ignore_library_panics(), |bytes: &[u8]| columns::run(bytes));
