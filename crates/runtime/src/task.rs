//! Runs functions that the embedding program supplies: handlers, middleware, recovery strategies
//! and processors. Panics are caught. A future has an optional time limit and is aborted when its
//! caller is dropped.
//!
//! Each future runs as its own tokio task. On a multi-threaded runtime the time limit then holds
//! even if the future blocks its thread. A future that never reaches an `await` cannot be aborted:
//! the caller stops waiting and the task keeps running.

use rulec::Message;
use rulec_base::message;
use rulec_eval::host::{format_host_panic, panic_message};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tracing::Instrument;

/// The error that a function of the embedding program may return: any error type or text.
pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An async function that the embedding program supplies: from an `I` to an `O` or an error.
pub(super) type UserFunction<I, O> =
    Arc<dyn Fn(I) -> Pin<Box<dyn Future<Output = Result<O, BoxError>> + Send>> + Send + Sync>;

/// Converts an async function of the embedding program to a [`UserFunction`]. `into_result`
/// converts the output of the function's future to a `Result`.
pub(super) fn box_function<I, O, F, Fut>(
    function: F,
    into_result: fn(Fut::Output) -> Result<O, BoxError>,
) -> UserFunction<I, O>
where
    F: Fn(I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: 'static> + Send + 'static,
    I: 'static,
    O: 'static,
{
    Arc::new(move |input| {
        let future = function(input);
        Box::pin(async move { into_result(future.await) })
    })
}

/// The reason why a task, which runs a function of the embedding program, produced no value.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.to_message())]
pub(super) enum TaskFailure {
    /// The task's future returned this error; the text includes the error's causes.
    Failed(String),
    /// The task exceeded this time limit and was aborted.
    TimedOut(Duration),
    /// The task panicked with this message.
    Panicked(String),
}

impl TaskFailure {
    fn to_message(&self) -> Message {
        match self {
            TaskFailure::Failed(error) => Message::verbatim(error),
            TaskFailure::TimedOut(limit) => message!("it took longer than {}", format!("{limit:?}")),
            TaskFailure::Panicked(text) => message!("it panicked: {text}"),
        }
    }
}

/// Calls a function of the embedding program in a new task. The call happens inside the task,
/// because even the creation of the function's future may panic.
pub(super) async fn call_function<I, O>(
    limit: Option<Duration>,
    function: &UserFunction<I, O>,
    input: I,
) -> Result<O, TaskFailure>
where
    I: Send + 'static,
    O: Send + 'static,
{
    let function = function.clone();
    run_with_limit(limit, async move { function(input).await }).await
}

/// Runs a future as its own task, to completion or until the time limit; `None` for no limit.
/// Returns an error if the future fails, panics or exceeds the time limit, or outside a tokio
/// runtime.
pub(super) async fn run_with_limit<T: Send + 'static>(
    limit: Option<Duration>,
    future: impl Future<Output = Result<T, BoxError>> + Send + 'static,
) -> Result<T, TaskFailure> {
    let no_runtime = || TaskFailure::Failed("there is no tokio runtime to run it".to_owned());
    let runtime = Handle::try_current().map_err(|_| no_runtime())?;
    // Dropping the set aborts the task. The set is dropped at the time limit, or when the caller is
    // dropped.
    let mut task = JoinSet::new();
    task.spawn_on(future.in_current_span(), &runtime);
    let joined = match limit {
        Some(limit) => {
            tokio::time::timeout(limit, task.join_next()).await.map_err(|_| TaskFailure::TimedOut(limit))?
        }
        None => task.join_next().await,
    };
    match joined.ok_or_else(no_runtime)? {
        Ok(result) => result.map_err(|error| TaskFailure::Failed(error_chain_text(&*error))),
        Err(error) => Err(match error.try_into_panic() {
            Ok(panic) => TaskFailure::Panicked(panic_message(&*panic).to_owned()),
            Err(_) => no_runtime(),
        }),
    }
}

/// Calls a function of the embedding program. If it panics, returns the panic's message as the
/// error.
pub(super) fn catch_panic<T>(function: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|panic| format_host_panic(&*panic))
}

/// Joins the messages of an error and its causes to one text, such as `cannot list: no such
/// folder`.
pub(super) fn error_chain_text(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
