//! The syntax of regular expressions, read once where several ask for it: the checker whether it is right, the
//! index which literals it requires. Reading one takes as long as a whole route otherwise does.

use super::size::states;
use hashbrown::HashMap;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;
use std::cell::RefCell;
use std::sync::Arc;

/// The size of what is kept, in states of automata: of classes, which take the most room, some 64 MB.
const ROOM: usize = 128 << 20;

#[derive(Default)]
struct Kept {
    /// Those that mind case, and those that ignore it.
    known: [HashMap<Box<str>, Arc<Hir>>; 2],
    /// The states of all.
    size: usize,
}

thread_local! {
    /// The expressions kept, while somebody wants that.
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// The parsed expression, as if it began with `(?i)` when `ignore_case`.
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

/// Does work on this thread during which every expression is read once.
pub fn keeping_parsed<T>(work: impl FnOnce() -> T) -> T {
    /// Lets go of what was kept, whatever becomes of the work.
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
