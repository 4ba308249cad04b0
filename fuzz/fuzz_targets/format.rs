//! Fuzzes the formatter with any text. The formatter keeps the tokens, and formatting the result
//! again changes nothing.

#![no_main]

#[path = "../../tests/support/layout.rs"]
mod layout;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| drop(layout::check_formatted("the text", text)));
