//! Fuzzes the formatter with any text. The formatter keeps the tokens, and formatting the result
//! again changes nothing.

use crate::support::layout;

/// Runs the target on one input.
pub fn run(text: &str) {
    drop(layout::check_formatted("the text", text))
}
