//! Distributes work on large rule sets over threads. For small rule sets, starting a thread would
//! take longer than the work. Work that runs during decisions uses one thread only.

use std::num::NonZeroUsize;

/// How many threads the compilation of rules may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadLimit {
    /// Use only the calling thread, so that the other cores stay free.
    One,
    /// Use up to one thread per processor core.
    #[default]
    All,
}

/// Minimum number of statements per thread. Compiling this number takes some milliseconds, much
/// longer than the start of a thread.
const MIN_STATEMENTS_PER_THREAD: usize = 500;
/// Maximum number of threads. With more threads, the work that cannot be divided takes most of the
/// time.
const MAX_THREADS: usize = 16;

impl ThreadLimit {
    /// Returns the number of threads with which the compilation of `statements` statements is
    /// fastest, at most the number of processor cores. Always 1 for [`ThreadLimit::One`].
    pub fn count_for_statements(self, statements: usize) -> usize {
        let thread_count = (statements / MIN_STATEMENTS_PER_THREAD).clamp(1, MAX_THREADS);
        if self == ThreadLimit::One || thread_count == 1 {
            return 1;
        }
        // Querying the number of cores may read system files, which takes as long as compiling a
        // few routes.
        thread_count.min(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }

    /// Runs two closures: `local_task` on the calling thread, and `parallel_task` on a second
    /// thread at the same time. If the statements are too few for a second thread, both closures
    /// run on the calling thread, one after the other.
    pub fn run_both<A: Send, B>(
        self,
        statement_count: usize,
        parallel_task: impl FnOnce() -> A + Send,
        local_task: impl FnOnce() -> B,
    ) -> (A, B) {
        if self.count_for_statements(statement_count) == 1 {
            return (parallel_task(), local_task());
        }
        std::thread::scope(|scope| {
            let parallel_task = scope.spawn(parallel_task);
            let local_task = local_task();
            (unwrap_or_resume_panic(parallel_task.join()), local_task)
        })
    }
}

/// Applies `work` to each element of `parts`, and returns the results in the same order. The first
/// element is processed on the calling thread, and each other element on a thread of its own.
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
    fn small_work_and_single_threaded_work_use_one_thread() {
        assert_eq!(
            (ThreadLimit::All.count_for_statements(100), ThreadLimit::One.count_for_statements(1_000_000)),
            (1, 1)
        );
        let here = std::thread::current().id();
        let of = |threads: ThreadLimit, statements: usize| {
            threads.run_both(statements, || std::thread::current().id(), || std::thread::current().id())
        };
        assert_eq!((of(ThreadLimit::One, 1_000_000), of(ThreadLimit::All, 1)), ((here, here), (here, here)));
        assert_eq!(of(ThreadLimit::All, 1_000_000).1, here);
    }
}
