//! Releasing the GIL, and a safe shutdown of the interpreter. Before Python 3.14, a thread that
//! requests the GIL during shutdown is ended by force, and Rust then aborts the process. So
//! shutdown waits for the running calls of this module's functions, and blocks threads that call
//! them later.

use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::{future_into_py, get_runtime};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The id of the thread that shuts the interpreter down; unset before shutdown.
static SHUTDOWN_THREAD: OnceLock<ThreadId> = OnceLock::new();
/// Number of running calls of this module's functions. The number changes only while the GIL is
/// held or while shutdown waits.
static RUNNING_CALLS: AtomicUsize = AtomicUsize::new(0);
/// Whether a future was ever started. Only then does the tokio runtime exist.
static HAS_STARTED_FUTURE: AtomicBool = AtomicBool::new(false);
/// Maximum time that shutdown waits for running calls.
const MAX_CALL_WAIT: Duration = Duration::from_secs(5);
/// Maximum time that shutdown waits for tokio tasks, after the wait for running calls. Some tasks,
/// such as the writer of a log, may never end.
const MAX_TASK_WAIT: Duration = Duration::from_millis(250);
/// Time that shutdown leaves to threads that have just delivered a result. Such a thread must
/// acquire the GIL once more, although its tokio task has ended.
const RESULT_DELIVERY_TIME: Duration = Duration::from_millis(50);

/// Counts a running call: dropping the guard decrements [`RUNNING_CALLS`].
struct CallGuard;

impl Drop for CallGuard {
    fn drop(&mut self) {
        RUNNING_CALLS.fetch_sub(1, Ordering::Release);
    }
}

fn begin_call(py: Python<'_>) -> CallGuard {
    if SHUTDOWN_THREAD.get().is_some_and(|ender| *ender != thread::current().id()) {
        py.detach(|| {
            loop {
                thread::park();
            }
        });
    }
    RUNNING_CALLS.fetch_add(1, Ordering::Acquire);
    CallGuard
}

/// Runs work without the GIL, and counts the work as a running call.
pub fn without_gil<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let _busy = begin_call(py);
    py.detach(work)
}

/// Runs work with the GIL on a thread of the tokio runtime, and counts the work as a running call.
pub fn with_gil<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    Python::attach(|py| {
        let _busy = begin_call(py);
        work(py)
    })
}

/// Starts a future on the tokio runtime, and returns its awaitable.
pub fn start_future<'py, T>(
    py: Python<'py>,
    future: impl Future<Output = PyResult<T>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>>
where
    T: for<'any> IntoPyObject<'any> + Send + 'static,
{
    HAS_STARTED_FUTURE.store(true, Ordering::Relaxed);
    future_into_py(py, future)
}

/// Waits for a future on the tokio runtime, without the GIL. The future may start tasks, for which
/// shutdown waits.
pub fn wait_for<T: Send>(py: Python<'_>, future: impl Future<Output = T> + Send) -> T {
    HAS_STARTED_FUTURE.store(true, Ordering::Relaxed);
    without_gil(py, || get_runtime().block_on(future))
}

/// Sleeps while `condition` is true, but not longer than `limit`.
fn wait_while(condition: impl Fn() -> bool, limit: Duration) {
    let begun = Instant::now();
    while condition() && begun.elapsed() < limit {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Prepares the end of the interpreter: waits for running calls of this module's functions, and
/// makes later calls block. Python calls this function by `atexit`.
#[pyfunction]
pub fn end(py: Python<'_>) {
    if SHUTDOWN_THREAD.set(thread::current().id()).is_ok() {
        py.detach(|| {
            wait_while(|| RUNNING_CALLS.load(Ordering::Acquire) > 0, MAX_CALL_WAIT);
            if HAS_STARTED_FUTURE.load(Ordering::Relaxed) {
                wait_while(|| get_runtime().metrics().num_alive_tasks() > 0, MAX_TASK_WAIT);
                thread::sleep(RESULT_DELIVERY_TIME);
            }
        });
    }
}
