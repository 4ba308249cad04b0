//! Work at a low priority: compiling changed rules, and freeing old ones, must not make the
//! decisions that other threads make at the same time wait for a processor.

use std::panic::resume_unwind;

/// The number that is added to the thread's nice value, which lowers the thread's priority. The
/// operating system then prefers all threads of normal priority. But the work still progresses if
/// these threads use all processors.
#[cfg(target_os = "linux")]
const NICE_INCREMENT: i32 = 10;

/// Runs `work` on a thread of its own, which has a low priority on Linux, and waits until it ends.
/// Threads that `work` starts have the same priority. A panic of `work` continues in the caller.
/// Not part of the stable API.
#[doc(hidden)]
pub fn run_at_low_priority<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            lower_priority();
            work()
        });
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Lowers the priority of the calling thread. A thread cannot raise it again, so the thread must
/// not do other work later.
fn lower_priority() {
    // On other systems, the call would change the priority of the whole process. If the call fails,
    // the work only competes with the decisions, as it does there.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE_INCREMENT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn only_the_work_has_a_low_priority() {
        let priority = || rustix::process::nice(0).expect("a priority");
        let before = priority();
        let (of_work, of_its_thread) = run_at_low_priority(|| {
            let of_its_thread = std::thread::scope(|scope| scope.spawn(priority).join());
            (priority(), of_its_thread.expect("it ends"))
        });
        assert!(of_work > before || before >= 19, "{of_work}, {before}");
        assert_eq!((of_its_thread, priority()), (of_work, before));
    }

    #[test]
    #[should_panic(expected = "of the work")]
    fn a_panic_reaches_the_caller() {
        run_at_low_priority(|| panic!("of the work"));
    }
}
