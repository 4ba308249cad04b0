//! The program of the fuzz target `message`; `src/targets/message.rs` says what it checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::targets::message;

fuzz_target!(|bytes: &[u8]| message::run(bytes));
