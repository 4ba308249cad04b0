//! Any text as rules: it compiles or says why not; what compiles decides alike on every engine, and its findings are made.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec_fuzz::{agree, compiler, messages};

fuzz_target!(|text: &str| {
    match compiler().compile_text(text) {
        Ok(rules) => messages().iter().for_each(|message| agree(&rules, message)),
        Err(error) => {
            assert!(!error.diagnostics().is_empty());
            assert!(!error.render().is_empty());
        }
    }
});
