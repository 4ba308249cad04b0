//! Fuzzes the importers of other systems' JSON with any JSON. An importer returns rules that
//! compile, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec::Rules;
use rulec_import::System;

fuzz_target!(|text: &str| {
    for system in System::ALL {
        match system.import(text) {
            Ok(imported) => {
                Rules::from_text(&imported.text).unwrap_or_else(|error| panic!("{error}\n{}", imported.text));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
