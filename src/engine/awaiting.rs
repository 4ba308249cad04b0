//! Async host functions. A condition cannot wait, so a decision records the calls whose results it
//! lacks. These calls are then awaited, and the decision is made again with their results.

use super::host_registry::{HostFunction, HostResult, result_of_unfit_argument};
use rulec_eval::host::{HostFn, format_host_panic};
use rulec_lang::value::Value;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// Maximum number of calls that one decision awaits at the same time.
const MAX_CONCURRENT_CALLS: usize = 32;

/// Maximum number of rounds for one decision. A round awaits the calls of async host functions
/// whose results the decision lacked, then decides again. Calls whose arguments depend on earlier
/// results need further rounds. After the last round, calls without a result fail, so every
/// decision ends.
const MAX_DECISION_ROUNDS: usize = 64;

type AsyncCallResult = Result<Json, String>;
type AsyncCallFuture = Pin<Box<dyn Future<Output = AsyncCallResult> + Send>>;

/// The key of a call in the maps of [`AsyncCalls`]: the number of the async function, and the
/// arguments as JSON text.
#[derive(Clone, PartialEq, Eq, Hash)]
struct AsyncCallKey {
    function_number: u64,
    args_json: String,
}

/// The calls of async host functions that one decision makes. The results of some calls are known;
/// the other calls are pending.
#[derive(Default)]
struct AsyncCalls {
    results: HashMap<AsyncCallKey, AsyncCallResult>,
    /// The calls whose results are not known yet, with the futures that give them.
    pending: HashMap<AsyncCallKey, AsyncCallFuture>,
    /// Whether [`MAX_DECISION_ROUNDS`] rounds were made. A call whose result is not known is then
    /// not made: it fails.
    rounds_exhausted: bool,
}

thread_local! {
    /// The calls of the decision that [`decide_async`] is making on this thread. `None` while it
    /// makes no decision.
    static CURRENT_ASYNC_CALLS: RefCell<Option<AsyncCalls>> = const { RefCell::new(None) };
}

/// Makes a decision that may call async host functions, and awaits their results.
///
/// `decide` is any code that decides without waiting: [`Rules::decide`](super::Rules::decide),
/// [`LiveRules::decide_in`](super::LiveRules::decide_in), an explanation, or a payload's
/// validation. `decide` is called at least twice if it lacks the result of a call: first to find
/// the calls, then with their results. A call whose arguments depend on the result of another call
/// adds a round. So `decide` should have no side effects. A host function may be called although
/// the final decision does not need its result. Equal calls are made only once.
///
/// At most 32 calls run at the same time. Set time limits inside the functions, or around the
/// returned future. The future needs no particular async runtime.
///
/// ```
/// use serde_json::json;
///
/// async fn risk(account: String) -> Result<f64, String> {
///     if account == "a-13" { Ok(0.95) } else { Err("unknown account".to_owned()) }
/// }
///
/// # use std::task::{Context, Poll, Waker};
/// # fn main() -> Result<(), rulec::CompileError> {
/// # let mut example = std::pin::pin!(example());
/// # loop {
/// #     let mut context = Context::from_waker(Waker::noop());
/// #     if let Poll::Ready(result) = example.as_mut().poll(&mut context) { return result }
/// # }
/// # }
/// # async fn example() -> Result<(), rulec::CompileError> {
/// let rules = rulec::Compiler::new().async_function("risk", risk).compile_text(
///     "extern fn risk(account: string) -> float
///      route review when risk(account) > 0.8 -> human_review
///      default -> assistant",
/// )?;
/// let message = json!({"account": "a-13"});
/// assert_eq!(rulec::decide_async(|| rules.decide(&message)).await.target(), Some("human_review"));
///
/// // Without `decide_async` the call fails, and the decision says so.
/// let decision = rules.decide(&message);
/// assert_eq!(decision.target(), Some("assistant"));
/// assert!(decision.failures()[0].message.contains("decide_async"));
/// # Ok(())
/// # }
/// ```
pub async fn decide_async<T>(decide: impl Fn() -> T) -> T {
    let (mut results, mut round) = (HashMap::new(), 0);
    loop {
        let calls =
            AsyncCalls { results, rounds_exhausted: round == MAX_DECISION_ROUNDS, ..AsyncCalls::default() };
        let (decision, calls) = with_calls(calls, &decide);
        if calls.pending.is_empty() {
            return decision;
        }
        drop(decision);
        results = calls.results;
        results.extend(await_all_calls(calls.pending).await);
        round += 1;
    }
}

/// Runs `decide`, and gives it the results of async calls in `calls`. Returns the decision, and
/// `calls` with the pending calls added: the calls whose results the decision lacked.
fn with_calls<T>(calls: AsyncCalls, decide: impl Fn() -> T) -> (T, AsyncCalls) {
    // Restores the calls of an outer decision, also after a panic.
    let outer = scopeguard::guard(CURRENT_ASYNC_CALLS.replace(Some(calls)), |outer| {
        drop(CURRENT_ASYNC_CALLS.replace(outer))
    });
    let decision = decide();
    let calls = CURRENT_ASYNC_CALLS.take();
    drop(outer);
    (decision, calls.unwrap_or_default())
}

/// Awaits all pending calls and returns their results. At most [`MAX_CONCURRENT_CALLS`] run at the
/// same time.
async fn await_all_calls(
    pending: HashMap<AsyncCallKey, AsyncCallFuture>,
) -> Vec<(AsyncCallKey, AsyncCallResult)> {
    let (mut waiting, mut running, mut finished) = (pending.into_iter(), Vec::new(), Vec::new());
    poll_fn(move |context| {
        loop {
            running.extend(waiting.by_ref().take(MAX_CONCURRENT_CALLS - running.len()));
            let before = finished.len();
            running.retain_mut(|(key, future)| match poll_call(future, context) {
                Poll::Ready(result) => {
                    finished.push((key.clone(), result));
                    false
                }
                Poll::Pending => true,
            });
            match (running.is_empty() && waiting.len() == 0, finished.len() > before) {
                (true, _) => return Poll::Ready(std::mem::take(&mut finished)),
                // Finished calls made room for waiting calls, which must be polled too.
                (false, true) if waiting.len() > 0 => {}
                (false, _) => return Poll::Pending,
            }
        }
    })
    .await
}

fn poll_call(future: &mut AsyncCallFuture, context: &mut Context<'_>) -> Poll<AsyncCallResult> {
    catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)))
        .unwrap_or_else(|panic| Poll::Ready(Err(format_host_panic(&*panic))))
}

/// Wraps an async function as a sync function, which the engines can call. Inside [`decide_async`],
/// a call whose result is not known yet is recorded, and its result counts as missing. Outside
/// [`decide_async`], each call fails.
pub(super) fn wrap_async<Args, F, R>(function: F) -> HostFn
where
    F: HostFunction<Args, Output: Future<Output = R> + Send + 'static>,
    R: HostResult,
{
    static NEXT_FUNCTION_NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NEXT_FUNCTION_NUMBER.fetch_add(1, Ordering::Relaxed);
    Arc::new(move |args: &[Value<'_>]| {
        let key = AsyncCallKey {
            function_number: number,
            args_json: Json::from_iter(args.iter().map(|value| value.to_json())).to_string(),
        };
        if let Some(result) = known_result(&key) {
            return result;
        }
        // `CURRENT_ASYNC_CALLS` is not borrowed here, because the function itself may make a
        // decision.
        match function.call(args) {
            Ok(future) => {
                let future: AsyncCallFuture = Box::pin(async move { future.await.into_json() });
                CURRENT_ASYNC_CALLS.with_borrow_mut(|calls| {
                    calls.as_mut().map(|calls| calls.pending.entry(key).or_insert(future));
                });
                Ok(Json::Null)
            }
            Err(unfit) => result_of_unfit_argument(unfit),
        }
    })
}

/// Returns the known result of a call. A call that is recorded but not yet awaited has the result
/// null. Outside [`decide_async`], and after the last round, the result is an error. `None` if the
/// call is not recorded yet; the caller must then make it.
fn known_result(key: &AsyncCallKey) -> Option<AsyncCallResult> {
    CURRENT_ASYNC_CALLS.with_borrow(|calls| match calls {
        None => Some(Err("it is async; decide inside `rulec::decide_async`".to_owned())),
        Some(calls) => match calls.results.get(key) {
            Some(result) => Some(result.clone()),
            None if calls.rounds_exhausted => Some(Err(format!(
                "it was not called: async calls depended on others over {MAX_DECISION_ROUNDS} times"
            ))),
            None => calls.pending.contains_key(key).then_some(Ok(Json::Null)),
        },
    })
}
