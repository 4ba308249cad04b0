//! The diagnostics for a source, for tests of rejected programs.

use rulec::{Code, Rules};

/// Returns the error codes for a source, in order; empty if the source compiles.
pub fn codes(source: &str) -> Vec<Code> {
    match Rules::from_text(source) {
        Ok(_) => Vec::new(),
        Err(error) => error.diagnostics().iter().map(|diagnostic| diagnostic.code).collect(),
    }
}
