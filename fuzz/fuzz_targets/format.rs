//! Fuzzes the formatter with any text: it keeps the tokens, and formatting twice changes nothing
//! more.

#![no_main]

#[path = "../../tests/support/layout.rs"]
mod layout;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| drop(layout::formatted("the text", text)));
