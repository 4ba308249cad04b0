//! Spreads work on large rule sets over threads. Small ones are not worth a thread, and what runs beside
//! decisions takes one only.

use std::num::NonZeroUsize;

/// On how many threads work may be spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// The one that asks for it, so that others are left alone.
    One,
    /// As many as there are cores.
    #[default]
    All,
}

/// Statements that make a thread of its own worth while: some milliseconds of work.
const THREAD_FROM: usize = 500;
/// More threads than this are of little use: what cannot be spread takes longer by then.
const MOST: usize = 16;

impl Threads {
    /// The number of threads that are worth while for so many statements.
    pub fn for_statements(self, statements: usize) -> usize {
        let wanted = (statements / THREAD_FROM).clamp(1, MOST);
        if self == Threads::One || wanted == 1 {
            return 1;
        }
        // Asking for the number of cores may read files of the system, which takes as long as a few routes.
        wanted.min(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }

    /// Does two things with so many statements, at the same time where that is worth while.
    pub fn both<A: Send, B>(
        self,
        statements: usize,
        beside: impl FnOnce() -> A + Send,
        here: impl FnOnce() -> B,
    ) -> (A, B) {
        if self.for_statements(statements) == 1 {
            return (beside(), here());
        }
        std::thread::scope(|scope| {
            let beside = scope.spawn(beside);
            let here = here();
            (finished(beside.join()), here)
        })
    }
}

/// Does the same with each part, the first one here and the others on threads of their own. The results come in the
/// order of the parts.
pub fn each<P: Send, R: Send>(parts: impl Iterator<Item = P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    let (mut parts, work) = (parts, &work);
    let (first, second) = (parts.next(), parts.next());
    if second.is_none() {
        return first.map(work).into_iter().collect();
    }
    std::thread::scope(|scope| {
        let others = second.into_iter().chain(parts).map(|part| scope.spawn(move || work(part)));
        let others: Vec<_> = others.collect();
        let mut results: Vec<R> = first.map(work).into_iter().collect();
        results.extend(others.into_iter().map(|thread| finished(thread.join())));
        results
    })
}

/// The result of a thread; its panic goes on here.
fn finished<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_work_and_work_beside_decisions_stay_on_one_thread() {
        assert_eq!((Threads::All.for_statements(100), Threads::One.for_statements(1_000_000)), (1, 1));
        let here = std::thread::current().id();
        let of = |threads: Threads, statements: usize| {
            threads.both(statements, || std::thread::current().id(), || std::thread::current().id())
        };
        assert_eq!((of(Threads::One, 1_000_000), of(Threads::All, 1)), ((here, here), (here, here)));
        assert_eq!(of(Threads::All, 1_000_000).1, here);
    }
}
