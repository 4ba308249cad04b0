//! Work without the interpreter's lock, and the end of the interpreter meanwhile. Before 3.14 a thread that asks for the
//! lock while the interpreter ends is unwound by force, which Rust answers by aborting the process. So once the program
//! ends, threads that are still at work here are waited for, and those that come later stay where they are.

use pyo3::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The thread that ends the interpreter, once it does.
static ENDED_BY: OnceLock<ThreadId> = OnceLock::new();
/// The calls that are under way. They come and go while the lock is held, or are waited for.
static BUSY: AtomicUsize = AtomicUsize::new(0);
/// The time that a call under way is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A call under way.
struct Busy;

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.fetch_sub(1, Ordering::Release);
    }
}

fn enter(py: Python<'_>) -> Busy {
    if ENDED_BY.get().is_some_and(|ender| *ender != thread::current().id()) {
        py.detach(|| {
            loop {
                thread::park();
            }
        });
    }
    BUSY.fetch_add(1, Ordering::Acquire);
    Busy
}

/// Works without the lock.
pub fn apart<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let _busy = enter(py);
    py.detach(work)
}

/// Works with the lock on a thread of the runtime.
pub fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    Python::attach(|py| {
        let _busy = enter(py);
        work(py)
    })
}

/// Waits for the calls under way and keeps others from beginning; `atexit` calls it.
#[pyfunction]
pub fn end(py: Python<'_>) {
    if ENDED_BY.set(thread::current().id()).is_ok() {
        py.detach(|| {
            let begun = Instant::now();
            while BUSY.load(Ordering::Acquire) > 0 && begun.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(1));
            }
        });
    }
}
