//! The findings about a source, for tests of what is refused.

use rulec::{Code, Rules};

/// The codes of the errors of a source, in their order; none where it compiles.
pub fn codes(source: &str) -> Vec<Code> {
    match Rules::from_text(source) {
        Ok(_) => Vec::new(),
        Err(error) => error.diagnostics().iter().map(|diagnostic| diagnostic.code).collect(),
    }
}
