//! A cache of parsed regular expressions. The checker and the index both need the syntax tree of an
//! expression. The checker validates it, and the index extracts required literals. Parsing an
//! expression takes as long as the other steps of compiling a route.

use super::size::states;
use hashbrown::HashMap;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;
use std::cell::RefCell;
use std::sync::Arc;

/// Capacity of the cache, in automaton states. For character classes, which need the most memory,
/// this is about 64 MB. Bound on memory, not tuned: a rule set may have thousands of expressions.
const ROOM: usize = 128 << 20;

#[derive(Default)]
struct Kept {
    /// The parsed expressions by their text: first the case-sensitive ones, then the
    /// case-insensitive ones.
    known: [HashMap<Box<str>, Arc<Hir>>; 2],
    /// Total number of automaton states of the cached expressions.
    size: usize,
}

thread_local! {
    /// The cache of this thread; `None` outside [`keeping_parsed`].
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Returns the parsed expression. If `ignore_case` is true, it is parsed as if it began with
/// `(?i)`.
pub fn parsed(pattern: &str, ignore_case: bool) -> Result<Arc<Hir>, Box<regex_syntax::Error>> {
    let case = usize::from(ignore_case);
    let known = KEPT.with_borrow(|kept| kept.as_ref()?.known[case].get(pattern).cloned());
    if let Some(known) = known {
        return Ok(known);
    }
    let hir = ParserBuilder::new().case_insensitive(ignore_case).build().parse(pattern);
    let hir = Arc::new(hir.map_err(Box::new)?);
    KEPT.with_borrow_mut(|kept| {
        let Some(kept) = kept else { return };
        let size = states(&hir);
        if size <= ROOM.saturating_sub(kept.size) {
            kept.size += size;
            kept.known[case].insert(pattern.into(), Arc::clone(&hir));
        }
    });
    Ok(hir)
}

/// Runs `work` with the cache of this thread enabled, so that each expression is parsed only once.
pub fn keeping_parsed<T>(work: impl FnOnce() -> T) -> T {
    /// Guard of the outermost call. It clears the cache on drop, even if the work panics.
    struct Outermost(bool);
    impl Drop for Outermost {
        fn drop(&mut self) {
            if self.0 {
                KEPT.with_borrow_mut(|kept| *kept = None);
            }
        }
    }
    let _outermost = Outermost(KEPT.with_borrow_mut(|kept| match kept {
        Some(_) => false,
        None => {
            *kept = Some(Kept::default());
            true
        }
    }));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_kept_while_somebody_wants_that() {
        let read = || parsed("a+", true).expect("it is right");
        assert!(!Arc::ptr_eq(&read(), &read()));
        let inside = keeping_parsed(|| {
            let first = read();
            assert!(Arc::ptr_eq(&keeping_parsed(read), &first) && Arc::ptr_eq(&read(), &first));
            assert_ne!(parsed("a+", false).ok(), Some(first.clone()));
            assert!(parsed("(", false).is_err());
            first
        });
        assert!(!Arc::ptr_eq(&inside, &read()));
    }
}
