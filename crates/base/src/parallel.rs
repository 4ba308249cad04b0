//! Distributes work on large rule sets over threads. For small rule sets, starting a thread would
//! take longer than the work. Work that runs during decisions uses one thread only.

use std::num::NonZeroUsize;

/// The number of threads that a task may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// Only the calling thread, so that the other cores stay free.
    One,
    /// Up to one thread per core.
    #[default]
    All,
}

/// Minimum number of statements per thread. Compiling them takes some milliseconds, which outweighs
/// the start of a thread.
const MIN_STATEMENTS_PER_THREAD: usize = 500;
/// Maximum number of threads. With more threads, the serial part of the work dominates.
const MAX_THREADS: usize = 16;

impl Threads {
    /// Returns the number of threads that are worthwhile for a given number of statements.
    pub fn count_for_statements(self, statements: usize) -> usize {
        let wanted = (statements / MIN_STATEMENTS_PER_THREAD).clamp(1, MAX_THREADS);
        if self == Threads::One || wanted == 1 {
            return 1;
        }
        // Querying the number of cores may read system files, which takes as long as compiling a
        // few routes.
        wanted.min(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }

    /// Runs two closures. If the number of statements makes a second thread worthwhile, `beside`
    /// runs on that thread in parallel.
    pub fn run_both<A: Send, B>(
        self,
        statements: usize,
        beside: impl FnOnce() -> A + Send,
        here: impl FnOnce() -> B,
    ) -> (A, B) {
        if self.count_for_statements(statements) == 1 {
            return (beside(), here());
        }
        std::thread::scope(|scope| {
            let beside = scope.spawn(beside);
            let here = here();
            (unwrap_or_resume_panic(beside.join()), here)
        })
    }
}

/// Applies `work` to each part: to the first on this thread, to each other part on its own thread.
/// Returns the results in the order of the parts.
pub fn map_in_parallel<P: Send, R: Send>(
    parts: impl Iterator<Item = P>,
    work: impl Fn(P) -> R + Sync,
) -> Vec<R> {
    let (mut parts, work) = (parts, &work);
    let (first, second) = (parts.next(), parts.next());
    if second.is_none() {
        return first.map(work).into_iter().collect();
    }
    std::thread::scope(|scope| {
        let others = second.into_iter().chain(parts).map(|part| scope.spawn(move || work(part)));
        let others: Vec<_> = others.collect();
        let mut results: Vec<R> = first.map(work).into_iter().collect();
        results.extend(others.into_iter().map(|thread| unwrap_or_resume_panic(thread.join())));
        results
    })
}

/// Returns the result of a joined thread, or resumes its panic on this thread.
fn unwrap_or_resume_panic<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_work_and_work_beside_decisions_stay_on_one_thread() {
        assert_eq!(
            (Threads::All.count_for_statements(100), Threads::One.count_for_statements(1_000_000)),
            (1, 1)
        );
        let here = std::thread::current().id();
        let of = |threads: Threads, statements: usize| {
            threads.run_both(statements, || std::thread::current().id(), || std::thread::current().id())
        };
        assert_eq!((of(Threads::One, 1_000_000), of(Threads::All, 1)), ((here, here), (here, here)));
        assert_eq!(of(Threads::All, 1_000_000).1, here);
    }
}
