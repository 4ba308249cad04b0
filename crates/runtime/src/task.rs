//! Runs a future that somebody else wrote: under a time limit, its panic caught, and stopped when
//! nobody waits for it any more. Handlers and middleware both run so.
//!
//! It runs as a task of its own: on a runtime of several threads the limit then holds even while
//! the future blocks its thread. A future that never reaches an `await` cannot be stopped, only left
//! behind.

use rulec::internals::host::panic_message;
use std::fmt::Write;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tracing::Instrument;

/// The message of [`Broken::NoRuntime`].
pub(super) const NO_RUNTIME: &str = "there is no tokio runtime to run it";

/// Why a future came to no end of its own.
#[derive(Debug)]
pub(super) enum Broken {
    /// It took longer than this.
    TimedOut(Duration),
    /// It panicked, saying this.
    Panicked(String),
    /// There is no runtime, or it was shut down.
    NoRuntime,
}

/// Stops a task when dropped: when it is late, and when whoever waits for it is dropped.
struct StopOnDrop(AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs a future to its end, but no longer than the limit.
pub(super) async fn run<F>(limit: Option<Duration>, future: F) -> Result<F::Output, Broken>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let runtime = Handle::try_current().map_err(|_| Broken::NoRuntime)?;
    let task = runtime.spawn(future.in_current_span());
    let _stop = StopOnDrop(task.abort_handle());
    let joined = match limit {
        Some(limit) => tokio::time::timeout(limit, task).await.map_err(|_| Broken::TimedOut(limit))?,
        None => task.await,
    };
    joined.map_err(|error| match error.try_into_panic() {
        Ok(panic) => Broken::Panicked(panic_message(&*panic).to_owned()),
        Err(_) => Broken::NoRuntime,
    })
}

/// The error's text with those of its causes: `cannot list: no such folder`.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
