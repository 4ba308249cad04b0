//! Any text as rules: formatting keeps its tokens, and doing it twice changes nothing.

#![no_main]

#[path = "../../tests/support/layout.rs"]
mod layout;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| drop(layout::formatted("the text", text)));
