//! The program of the fuzz target `language_server`; `src/targets/language_server.rs` says what it
//! checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::language_server;

fuzz_target!(|input: (&str, Vec<(u8, u8, u8, &str)>)| language_server::run(input));
