//! Regular expressions: the one place that compiles them, so that every engine and the checker
//! agree on syntax, flags and limits.

use regex::{Regex, RegexBuilder};

/// The most memory one compiled expression may take, in bytes.
pub const REGEX_SIZE_LIMIT: usize = 10 << 20;

/// Compiles an expression of the `regex` crate's syntax, as if it began with `(?i)` when
/// `ignore_case`.
///
/// # Errors
/// Invalid syntax, an unsupported feature, or a size over [`REGEX_SIZE_LIMIT`].
pub fn regex(pattern: &str, ignore_case: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(ignore_case).size_limit(REGEX_SIZE_LIMIT).build()
}
