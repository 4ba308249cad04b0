//! Regular expressions. Only this module compiles them, so that every engine and the checker agree
//! on syntax, flags and limits.

use super::parsed::parse_cached;
use super::size::{MAX_REGEX_BYTES, automaton_state_count, max_compiled_bytes, surely_compiles};
use regex::{CaptureLocations, Regex, RegexBuilder};
use regex_automata::{meta, util::syntax};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Compiles a regular expression in the syntax of the `regex` crate. If `ignore_case` is true, the
/// expression is compiled as if it began with `(?i)`. An expression that compiles to more than
/// [`MAX_REGEX_BYTES`] is an error.
pub fn compile_regex(pattern: &str, ignore_case: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(ignore_case).size_limit(MAX_REGEX_BYTES).build()
}

/// Compiles a regular expression that searches only few texts. The syntax and flags are the same as
/// in [`compile_regex`], but the automata that only pay off over many texts are left out. `size` is
/// the maximum compiled size in bytes. `None` if the expression does not compile.
fn compile_for_few_searches(size: usize, pattern: &str, ignore_case: bool) -> Option<meta::Regex> {
    let config = meta::Config::new().nfa_size_limit(Some(size)).dfa(false).onepass(false);
    let syntax = syntax::Config::new().case_insensitive(ignore_case);
    meta::Regex::builder().configure(config).syntax(syntax).build(pattern).ok()
}

/// The source of a regular expression, which determines its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatternOrigin {
    /// The regular expression was written by the author of the rules.
    Rules,
    /// The regular expression was sent in a message. Stricter limits apply to it.
    Message,
}

/// Maximum length in bytes of a regular expression from a message. The value only bounds time,
/// because the sender of the message chooses the expression; it is not tuned.
pub const MAX_MESSAGE_PATTERN_BYTES: usize = 4 << 10;
/// Maximum compiled size in bytes of a regular expression from a message. The value only bounds
/// memory; it is not tuned.
const MAX_MESSAGE_REGEX_BYTES: usize = 1 << 20;

/// Limit on the estimated memory, in bytes, of each cache of this module. A thread has a cache for
/// [`compile_cached`] and one for [`find_capture_group`]. The value only bounds memory, because
/// messages can contain any number of expressions; it is not tuned.
const MAX_CACHE_BYTES: usize = 64 << 20;

#[derive(Default)]
struct RegexCache {
    regexes: HashMap<(String, bool, PatternOrigin), Option<(meta::Regex, u64)>>,
    estimated_bytes: usize,
}

thread_local! {
    static REGEX_CACHE: RefCell<RegexCache> = RefCell::default();
}

/// Returns a compiled regular expression with its number of automaton states, from the cache of
/// this thread if possible. `ignore_case` compiles it as if it began with `(?i)`; `origin` decides
/// its size limit. Returns `None` if the expression does not compile.
///
/// Used where an expression is searched in few texts: by the reference evaluator, which keeps no
/// state between evaluations, and by the analysis. Also used for expressions from messages, because
/// the size of the cache is bounded.
pub fn compile_cached(pattern: &str, ignore_case: bool, origin: PatternOrigin) -> Option<(meta::Regex, u64)> {
    let size = match origin {
        PatternOrigin::Rules => MAX_REGEX_BYTES,
        PatternOrigin::Message if pattern.len() > MAX_MESSAGE_PATTERN_BYTES => return None,
        PatternOrigin::Message => MAX_MESSAGE_REGEX_BYTES,
    };
    REGEX_CACHE.with_borrow_mut(|cache| {
        // The key is copied for each lookup. The reference evaluator need not be fast.
        let key = (pattern.to_owned(), ignore_case, origin);
        if let Some(cached) = cache.regexes.get(&key) {
            return cached.clone();
        }
        let hir = parse_cached(pattern, ignore_case).ok();
        let states = hir.as_ref().map_or(0, |hir| automaton_state_count(hir));
        let compiled = compile_for_few_searches(size, pattern, ignore_case).map(|regex| (regex, states));
        let size = pattern.len() + hir.map_or(0, |hir| max_compiled_bytes(&hir));
        if cache.estimated_bytes + size > MAX_CACHE_BYTES {
            *cache = RegexCache::default();
        }
        cache.estimated_bytes += size;
        cache.regexes.insert(key, compiled.clone());
        compiled
    })
}

/// The capture group of a regular expression whose text a rule reads.
#[derive(Clone, Copy, Debug)]
pub enum CaptureGroup<'g> {
    /// The first capture group of the regular expression, or the whole match if it has no group.
    First,
    /// The capture group with this number. The whole match has the number 0.
    Number(usize),
    /// The capture group with this name.
    Name(&'g str),
}

/// A compiled regular expression, with reusable memory for the byte ranges of its groups.
struct CapturingRegex {
    regex: Regex,
    state_count: u64,
    group_locations: CaptureLocations,
}

#[derive(Default)]
struct CaptureCache {
    regexes: HashMap<String, Option<CapturingRegex>>,
    estimated_bytes: usize,
}

thread_local! {
    static CAPTURE_CACHE: RefCell<CaptureCache> = RefCell::default();
}

/// Returns the byte range of the capture group `group` in the first match of `pattern`, a regular
/// expression from the rules. `may_search` receives the number of the expression's automaton
/// states, and decides whether to search. `None` if there is no match or no search, or if the group
/// is not set. Each thread keeps compiled expressions in a cache, so later searches allocate no
/// memory.
pub fn find_capture_group(
    pattern: &str,
    text: &str,
    group: CaptureGroup<'_>,
    may_search: impl FnOnce(u64) -> bool,
) -> Option<Range<usize>> {
    CAPTURE_CACHE.with_borrow_mut(|cache| {
        if !cache.regexes.contains_key(pattern) {
            let hir = parse_cached(pattern, false).ok();
            let size = pattern.len() + hir.as_ref().map_or(0, |hir| max_compiled_bytes(hir));
            if cache.estimated_bytes + size > MAX_CACHE_BYTES {
                *cache = CaptureCache::default();
            }
            cache.estimated_bytes += size;
            let capturing = compile_regex(pattern, false).ok().map(|regex| CapturingRegex {
                state_count: hir.map_or(0, |hir| automaton_state_count(&hir)),
                group_locations: regex.capture_locations(),
                regex,
            });
            cache.regexes.insert(pattern.to_owned(), capturing);
        }
        let CapturingRegex { regex, state_count, group_locations } =
            cache.regexes.get_mut(pattern)?.as_mut()?;
        let number = match group {
            CaptureGroup::First => usize::from(regex.captures_len() > 1),
            CaptureGroup::Number(number) => number,
            CaptureGroup::Name(name) => regex.capture_names().position(|other| other == Some(name))?,
        };
        if !may_search(*state_count) {
            return None;
        }
        regex.captures_read(group_locations, text)?;
        group_locations.get(number).map(|(start, end)| start..end)
    })
}

/// A regular expression that is compiled on first use, because a message evaluates only a few of
/// the expressions of a large rule set. Its syntax and size are checked when it is created.
#[derive(Debug)]
pub struct LazyRegex {
    pattern: Arc<str>,
    ignore_case: bool,
    /// The compiled regular expression, set on first use. The inner `None` means that the
    /// expression did not compile after all, and matches nothing.
    compiled: OnceLock<Option<Regex>>,
}

impl LazyRegex {
    /// Creates a regular expression; returns an error if it does not compile. If `ignore_case` is
    /// true, it is compiled as if it began with `(?i)`. An expression whose size may be near the
    /// size limit is compiled at once, others on first use.
    pub fn new(pattern: &Arc<str>, ignore_case: bool) -> Result<LazyRegex, regex::Error> {
        let compiled = OnceLock::new();
        if !parse_cached(pattern, ignore_case).is_ok_and(|hir| surely_compiles(&hir)) {
            let _ = compiled.set(Some(compile_regex(pattern, ignore_case)?));
        }
        Ok(LazyRegex { pattern: pattern.clone(), ignore_case, compiled })
    }

    /// Creates a regular expression from a pattern that [`LazyRegex::new`] has accepted before. It
    /// is compiled on first use. If `ignore_case` is true, it is compiled as if it began with
    /// `(?i)`.
    pub fn from_checked(pattern: &Arc<str>, ignore_case: bool) -> LazyRegex {
        LazyRegex { pattern: pattern.clone(), ignore_case, compiled: OnceLock::new() }
    }

    /// Returns the compiled regular expression, and compiles it on first use. `None` if it does not
    /// compile after all; the caller then treats it as matching nothing.
    #[inline]
    pub fn compiled(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile_regex(&self.pattern, self.ignore_case).ok()).as_ref()
    }

    #[inline]
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled().is_some_and(|regex| regex.is_match(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::MAX_REGEX_BYTES;

    fn is_lazy(pattern: &str) -> bool {
        let regex = LazyRegex::new(&pattern.into(), false).expect("it compiles");
        regex.compiled.get().is_none()
    }

    #[test]
    fn only_large_expressions_compile_at_once() {
        for pattern in [
            r"(?i)\b(invoice|refund)s?\b",
            r"\w+@\d+",
            r"[A-Z]{2}-\d{4}",
            r".*x.{3,40}",
            "^查.*单$",
            "(a|b)*c",
        ] {
            assert!(is_lazy(pattern), "{pattern}");
        }
        for pattern in [r"\w{200}", r"\pL{150}", r"[a-z]{9000}"] {
            assert!(!is_lazy(pattern), "{pattern}");
        }
    }

    #[test]
    fn invalid_expressions_are_errors_at_once() {
        for pattern in ["(", r"\w{1000}", "((a{100}){100}){100}", "(?=a)"] {
            assert!(LazyRegex::new(&pattern.into(), false).is_err(), "{pattern}");
        }
    }

    #[test]
    fn lazy_expressions_stay_well_below_the_limit() {
        // For each part, the test finds the largest repetition that may be compiled lazily. This
        // repetition must compile within half the limit.
        for part in [
            "a",
            "[a-z]",
            ".",
            r"\d",
            r"\s",
            r"\w",
            r"\pL",
            "[^x]",
            "(?i:ss)",
            "(?:ab|cd)?",
            "(x)",
            r"\b",
            "查",
            r"[查-订]",
        ] {
            let repeated = |times: usize| format!("(?:{part}){{{times}}}");
            let waits =
                |times: usize| regex_syntax::parse(&repeated(times)).is_ok_and(|hir| surely_compiles(&hir));
            assert!(waits(1), "{part}");
            // The estimate grows with the repetition, so bisection finds the largest that may be
            // compiled lazily.
            let (mut largest, mut refused) = (1, 20_000);
            while refused - largest > 1 {
                let middle = usize::midpoint(largest, refused);
                if waits(middle) { largest = middle } else { refused = middle }
            }
            let pattern = repeated(largest);
            let built = regex::RegexBuilder::new(&pattern).size_limit(MAX_REGEX_BYTES / 2).build();
            assert!(built.is_ok(), "{pattern}");
        }
    }
}
