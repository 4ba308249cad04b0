//! Runs code that somebody else wrote: its panics caught, and futures under a time limit and stopped
//! when nobody waits for them any more. Handlers, middleware, recovery strategies and processors run so.
//!
//! A future runs as a task of its own: on a runtime of several threads the limit then holds even
//! while the future blocks its thread. A future that never reaches an `await` cannot be stopped, only
//! left behind.

use rulec_eval::host::{panic_message, panic_text};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tracing::Instrument;

/// Whatever went wrong in a function of the program.
pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An async function of the program.
pub(super) type Function<I, O> =
    Arc<dyn Fn(I) -> Pin<Box<dyn Future<Output = Result<O, BoxError>> + Send>> + Send + Sync>;

/// Keeps a function; `read` tells its answer from what went wrong.
pub(super) fn boxed<I, O, F, Fut>(function: F, read: fn(Fut::Output) -> Result<O, BoxError>) -> Function<I, O>
where
    F: Fn(I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: 'static> + Send + 'static,
    I: 'static,
    O: 'static,
{
    Arc::new(move |input| {
        let answer = function(input);
        Box::pin(async move { read(answer.await) })
    })
}

/// Why a future has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// It ended with this error, told with its causes.
    #[error("{0}")]
    Failed(String),
    /// It took longer than this.
    #[error("it took longer than {0:?}")]
    TimedOut(Duration),
    /// It panicked, saying this.
    #[error("it panicked: {0}")]
    Panicked(String),
}

/// Calls a function. The call itself may panic as well, so it is made inside the task.
pub(super) async fn call<I, O>(
    limit: Option<Duration>,
    function: &Function<I, O>,
    input: I,
) -> Result<O, Broken>
where
    I: Send + 'static,
    O: Send + 'static,
{
    let function = function.clone();
    run(limit, async move { function(input).await }).await
}

/// Runs a future to its end, but no longer than the limit.
pub(super) async fn run<T: Send + 'static>(
    limit: Option<Duration>,
    future: impl Future<Output = Result<T, BoxError>> + Send + 'static,
) -> Result<T, Broken> {
    let no_runtime = || Broken::Failed("there is no tokio runtime to run it".to_owned());
    let runtime = Handle::try_current().map_err(|_| no_runtime())?;
    // Stops the task when dropped: when it is late, and when whoever waits for it is dropped.
    let mut task = JoinSet::new();
    task.spawn_on(future.in_current_span(), &runtime);
    let joined = match limit {
        Some(limit) => {
            tokio::time::timeout(limit, task.join_next()).await.map_err(|_| Broken::TimedOut(limit))?
        }
        None => task.join_next().await,
    };
    match joined.ok_or_else(no_runtime)? {
        Ok(result) => result.map_err(|error| Broken::Failed(chain(&*error))),
        Err(error) => Err(match error.try_into_panic() {
            Ok(panic) => Broken::Panicked(panic_message(&*panic).to_owned()),
            Err(_) => no_runtime(),
        }),
    }
}

/// Calls a function; an error tells of its panic.
pub(super) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panic_text(&*panic))
}

/// The error's text with those of its causes: `cannot list: no such folder`.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
