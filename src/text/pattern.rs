//! Regular expressions: the one place that compiles them, so that every engine and the checker
//! agree on syntax, flags and limits.

use regex::{Regex, RegexBuilder};
use std::cell::RefCell;
use std::collections::HashMap;

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

/// How many expressions [`cached`] keeps on a thread.
const CACHE_SIZE: usize = 4096;

thread_local! {
    static CACHE: RefCell<HashMap<(String, bool), Option<Regex>>> = RefCell::new(HashMap::new());
}

/// Compiles an expression, or takes it from the thread's cache; `None` when it does not compile.
/// For the reference evaluator, which holds nothing between evaluations; the VM compiles once.
pub fn cached(pattern: &str, ignore_case: bool) -> Option<Regex> {
    CACHE.with_borrow_mut(|cache| {
        // Keeping the key by value costs a copy a look-up, which the reference can afford.
        let key = (pattern.to_owned(), ignore_case);
        if cache.len() >= CACHE_SIZE && !cache.contains_key(&key) {
            cache.clear();
        }
        cache.entry(key).or_insert_with(|| regex(pattern, ignore_case).ok()).clone()
    })
}
