//! Fuzzes the importers of other systems' JSON with any JSON. An importer returns rules that
//! compile, or an error. If a strict import loads a document, an import that is not strict loads it
//! too.

use rulec::Rules;
use rulec_import::{Options, System};

/// Runs the target on one input.
pub fn run(text: &str) {
    for system in System::ALL {
        let strict = system.import(text, Options::default().strict());
        let lenient = system.import(text, Options::default());
        assert!(strict.is_err() || lenient.is_ok());
        for imported in [strict, lenient] {
            match imported {
                Ok(imported) => {
                    Rules::from_text(&imported.text)
                        .unwrap_or_else(|error| panic!("{error}\n{}", imported.text));
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}
