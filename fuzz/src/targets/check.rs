//! Fuzzes the compiler with any text. Either the text compiles, or the compiler reports an error.
//! Compiled rules must give the same decisions on every engine, and their explanations must match
//! the decisions.

use crate::{assert_engines_agree, fuzz_compiler, sample_messages};

/// Runs the target on one input.
pub fn run(text: &str) {
    match fuzz_compiler().compile_text(text) {
        Ok(rules) => sample_messages().iter().for_each(|message| assert_engines_agree(&rules, message)),
        Err(error) => {
            assert!(!error.diagnostics().is_empty());
            assert!(!error.render().is_empty());
        }
    }
}
