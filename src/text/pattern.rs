//! Regular expressions: the one place that compiles them, so that every engine and the checker
//! agree on syntax, flags and limits.

use super::parsed::parsed;
use super::size::{REGEX_SIZE_LIMIT, compiled_size};
use regex::{Regex, RegexBuilder};
use std::cell::RefCell;
use std::collections::HashMap;

/// Compiles an expression of the `regex` crate's syntax, as if it began with `(?i)` when
/// `ignore_case`.
///
/// # Errors
/// Invalid syntax, an unsupported feature, or a size over [`REGEX_SIZE_LIMIT`].
pub fn regex(pattern: &str, ignore_case: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(ignore_case).size_limit(REGEX_SIZE_LIMIT).build()
}

/// The memory that the expressions [`cached`] keeps on a thread may take, in bytes, by
/// estimate.
const CACHE_SIZE: usize = 64 << 20;

#[derive(Default)]
struct Cache {
    compiled: HashMap<(String, bool), Option<Regex>>,
    size: usize,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// Compiles an expression, or takes it from the thread's cache; `None` when it does not compile.
/// For the reference evaluator, which holds nothing between evaluations, and for expressions that a
/// message brings: however many there are, what is kept of them stays bounded.
pub fn cached(pattern: &str, ignore_case: bool) -> Option<Regex> {
    CACHE.with_borrow_mut(|cache| {
        // Keeping the key by value costs a copy a look-up, which the reference can afford.
        let key = (pattern.to_owned(), ignore_case);
        if let Some(known) = cache.compiled.get(&key) {
            return known.clone();
        }
        let compiled = regex(pattern, ignore_case).ok();
        let size = pattern.len() + parsed(pattern, ignore_case).map_or(0, |hir| compiled_size(&hir));
        if cache.size + size > CACHE_SIZE {
            *cache = Cache::default();
        }
        cache.size += size;
        cache.compiled.insert(key, compiled.clone());
        compiled
    })
}
