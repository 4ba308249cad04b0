//! A cache of parsed regular expressions, so that each expression is parsed once, although two
//! components need its syntax tree: the checker, to validate the expression, and the index, to
//! extract required literals. Parsing an expression takes as long as the other steps of compiling a
//! route.

use super::size::count_states;
use hashbrown::HashMap;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;
use std::cell::RefCell;
use std::sync::Arc;

/// Capacity of the cache, in automaton states. For character classes, which need the most memory,
/// this is about 64 MB. The value only bounds memory, because a rule set may have thousands of
/// expressions; it is not tuned.
const MAX_CACHED_STATES: usize = 128 << 20;

#[derive(Default)]
struct ParseCache {
    /// The parsed regular expressions, by their source text. The first map holds case-sensitive
    /// expressions, the second case-insensitive ones.
    expressions: [HashMap<Box<str>, Arc<Hir>>; 2],
    /// Total number of automaton states of the cached regular expressions.
    state_count: usize,
}

thread_local! {
    /// This thread's cache of parsed regular expressions; `None` unless [`with_parse_cache`] is
    /// running.
    static PARSE_CACHE: RefCell<Option<ParseCache>> = const { RefCell::new(None) };
}

/// Parses a regular expression, or returns it from the cache of parsed expressions. If
/// `ignore_case` is true, it is parsed as if it began with `(?i)`. An invalid expression is an
/// error.
pub fn parse_cached(pattern: &str, ignore_case: bool) -> Result<Arc<Hir>, Box<regex_syntax::Error>> {
    let case_index = usize::from(ignore_case);
    let cached =
        PARSE_CACHE.with_borrow(|cache| cache.as_ref()?.expressions[case_index].get(pattern).cloned());
    if let Some(cached) = cached {
        return Ok(cached);
    }
    let hir = ParserBuilder::new().case_insensitive(ignore_case).build().parse(pattern);
    let hir = Arc::new(hir.map_err(Box::new)?);
    PARSE_CACHE.with_borrow_mut(|cache| {
        let Some(cache) = cache else { return };
        let size = count_states(&hir);
        if size <= MAX_CACHED_STATES.saturating_sub(cache.state_count) {
            cache.state_count += size;
            cache.expressions[case_index].insert(pattern.into(), Arc::clone(&hir));
        }
    });
    Ok(hir)
}

/// Runs `work` with the thread's cache of parsed regular expressions enabled, so that
/// [`parse_cached`] parses each expression only once.
pub fn with_parse_cache<T>(work: impl FnOnce() -> T) -> T {
    /// Clears the cache on drop, also if `work` panics. The bool is true for the outermost call of
    /// [`with_parse_cache`], which created the cache. A nested call has false, and clears nothing.
    struct ClearCacheOnDrop(bool);
    impl Drop for ClearCacheOnDrop {
        fn drop(&mut self) {
            if self.0 {
                PARSE_CACHE.with_borrow_mut(|cache| *cache = None);
            }
        }
    }
    let _outermost = ClearCacheOnDrop(PARSE_CACHE.with_borrow_mut(|kept| match kept {
        Some(_) => false,
        None => {
            *kept = Some(ParseCache::default());
            true
        }
    }));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_cached_only_inside_the_scope() {
        let read = || parse_cached("a+", true).expect("it is right");
        assert!(!Arc::ptr_eq(&read(), &read()));
        let inside = with_parse_cache(|| {
            let first = read();
            assert!(Arc::ptr_eq(&with_parse_cache(read), &first) && Arc::ptr_eq(&read(), &first));
            assert_ne!(parse_cached("a+", false).ok(), Some(first.clone()));
            assert!(parse_cached("(", false).is_err());
            first
        });
        assert!(!Arc::ptr_eq(&inside, &read()));
    }
}
