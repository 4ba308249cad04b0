//! Runs the handler that a decision selects, under the handler's policy. If the handler fails, runs
//! its fallbacks.

use super::failures::TypedError;
use super::handler::Request;
use super::handlers::RegisteredHandler;
use super::outcome::{Attempt, HandlerOutcome};
use super::policy::{CallPermit, CircuitBreaker};
use super::{MessageSender, RouterShared};
use crate::task::{self, TaskFailure};
use backon::Retryable;
use rulec::Decision;
use serde_json::Value as Json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The result of calling the selected handler and, if it failed, its fallbacks.
pub(super) struct HandlerRun {
    pub outcome: HandlerOutcome,
    /// Name of the handler that was called last; the last call ended with `outcome`.
    pub last_handler: String,
    /// Number of calls of the handler `last_handler`.
    pub attempt_count: u32,
    /// The other handlers that were tried for this message and did not reply. A fallback that was
    /// not called, because the sender lacks a permission, is listed with 0 calls.
    pub tried_handlers: Vec<Attempt>,
    /// The type of the last error, if the handler returned a [`TypedError`](super::TypedError).
    pub error_type: Option<String>,
}

/// The reason why a handler did not reply: its circuit breaker is open, or its call failed.
enum HandlerFailure {
    CircuitOpen,
    TaskFailure(TaskFailure),
}

/// Calls the handler that the decision selects. If it fails, calls its fallbacks until one of them
/// replies.
pub(super) async fn run_handlers(
    shared: &Arc<RouterShared>,
    decision: &Decision,
    request: Request,
    sender: &MessageSender<'_>,
) -> HandlerRun {
    let route = request.route.clone();
    let target = request.handler.clone();
    let missing = sender.missing_permissions(decision.required_permissions());
    if !missing.is_empty() {
        shared.stats.count_call(&target, "refused", Duration::ZERO);
        let outcome = HandlerOutcome::Refused { route, missing };
        return HandlerRun {
            outcome,
            last_handler: target,
            attempt_count: 0,
            tried_handlers: Vec::new(),
            error_type: None,
        };
    }
    let Some(registered) = shared.handlers.get(&target) else {
        // Building, swapping and editing ensure that the handler exists. If the handler is missing
        // nevertheless, the message must not be lost.
        let error = format!("no handler is registered for `{target}`");
        return HandlerRun {
            outcome: HandlerOutcome::Failed { route, error },
            last_handler: target,
            attempt_count: 0,
            tried_handlers: Vec::new(),
            error_type: None,
        };
    };
    let deadline = HandlerChainDeadline::starting_now(registered.policy.chain_time_limit);
    let mut run = call_with_retries(shared, registered, &target, &request, deadline).await;
    for name in &registered.policy.fallbacks {
        let may_fall_back = !run.outcome.is_handled() && !deadline.has_passed();
        let Some(fallback) = shared.handlers.get(name).filter(|_| may_fall_back) else { break };
        let missing = sender.missing_permissions(decision.permissions_required_by(name));
        if !missing.is_empty() {
            shared.stats.count_call(name, "refused", Duration::ZERO);
            let refusal = HandlerOutcome::Refused { route: route.clone(), missing };
            run.tried_handlers.push(Attempt::new(name, 0, &refusal));
            continue;
        }
        tracing::warn!(
            target: "rulec::router", handler = run.last_handler, result = run.outcome.kind(), fallback = name.as_str(),
            "another handler takes over"
        );
        let mut tried = std::mem::take(&mut run.tried_handlers);
        tried.push(Attempt::new(&run.last_handler, run.attempt_count, &run.outcome));
        run = HandlerRun {
            tried_handlers: tried,
            ..call_with_retries(shared, fallback, name, &request, deadline).await
        };
    }
    run
}

/// The deadline for a handler together with all its fallbacks; `None` means no limit.
#[derive(Clone, Copy)]
struct HandlerChainDeadline(Option<tokio::time::Instant>);

impl HandlerChainDeadline {
    fn starting_now(limit: Option<Duration>) -> HandlerChainDeadline {
        HandlerChainDeadline(limit.map(|limit| tokio::time::Instant::now() + limit))
    }

    fn remaining_time(self) -> Option<Duration> {
        self.0.map(|end| end.saturating_duration_since(tokio::time::Instant::now()))
    }

    fn has_passed(self) -> bool {
        self.remaining_time() == Some(Duration::ZERO)
    }

    /// Returns the time limit of one call: the smaller of `limit` and the time until the deadline.
    /// `None` if there is neither a limit nor a deadline.
    fn limit_for_call(self, limit: Option<Duration>) -> Option<Duration> {
        limit.into_iter().chain(self.remaining_time()).min()
    }
}

/// Calls a handler, and retries failed calls. Applies the limits of the handler's policy and the
/// deadline.
async fn call_with_retries(
    shared: &Arc<RouterShared>,
    registered: &RegisteredHandler,
    name: &str,
    request: &Request,
    deadline: HandlerChainDeadline,
) -> HandlerRun {
    let attempts = AtomicU32::new(0);
    let error_type: Arc<Mutex<Option<String>>> = Arc::default();
    let call_once = || async {
        let Some(permit) = registered
            .circuit
            .as_ref()
            .map(CircuitBreaker::acquire_permit)
            .map_or(Some(None), |one| one.map(Some))
        else {
            shared.stats.count_call(name, "circuit_open", Duration::ZERO);
            return Err(HandlerFailure::CircuitOpen);
        };
        let attempt = attempts.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request { handler: name.to_owned(), attempt, ..request.clone() };
        let counted_call = CountedCall::new(shared, name);
        let (function, error_type) = (registered.function.clone(), error_type.clone());
        *lock_error_type(&error_type) = None;
        let call = async move {
            let result = function(request).await;
            let typed = result.as_ref().err().and_then(|error| error.downcast_ref::<TypedError>());
            *lock_error_type(&error_type) = typed.map(|error| error.kind().to_owned());
            result
        };
        let limit = deadline.limit_for_call(registered.policy.attempt_time_limit);
        let result = task::run_with_limit(limit, call).await;
        counted_call.finish(&result);
        if let Some(permit) = permit {
            CallPermit::record_result(permit, result.is_ok());
        }
        result.map_err(HandlerFailure::TaskFailure)
    };
    let result = match registered.policy.retry_pauses() {
        None => call_once().await,
        Some(pauses) => {
            let ends_before_deadline =
                |pause: &Duration| deadline.remaining_time().is_none_or(|remaining| *pause < remaining);
            call_once
                .retry(pauses)
                .when(HandlerFailure::may_succeed_on_retry)
                .adjust(|_, pause| pause.filter(ends_before_deadline))
                .await
        }
    };
    let outcome = handler_outcome(request.route.clone(), result);
    let error_type =
        lock_error_type(&error_type).take().filter(|_| matches!(outcome, HandlerOutcome::Failed { .. }));
    HandlerRun {
        outcome,
        last_handler: name.to_owned(),
        attempt_count: attempts.into_inner(),
        tried_handlers: Vec::new(),
        error_type,
    }
}

fn lock_error_type(error_type: &Mutex<Option<String>>) -> MutexGuard<'_, Option<String>> {
    error_type.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HandlerFailure {
    /// True if another call of the handler may succeed after this failure.
    fn may_succeed_on_retry(&self) -> bool {
        matches!(self, HandlerFailure::TaskFailure(TaskFailure::Failed(_) | TaskFailure::TimedOut(_)))
    }
}

fn handler_outcome(route: String, result: Result<Json, HandlerFailure>) -> HandlerOutcome {
    match result {
        Ok(reply) => HandlerOutcome::Handled(reply),
        Err(HandlerFailure::CircuitOpen) => HandlerOutcome::CircuitOpen { route },
        Err(HandlerFailure::TaskFailure(TaskFailure::Failed(error))) => {
            HandlerOutcome::Failed { route, error }
        }
        Err(HandlerFailure::TaskFailure(TaskFailure::TimedOut(limit))) => {
            HandlerOutcome::TimedOut { route, after: limit }
        }
        Err(HandlerFailure::TaskFailure(TaskFailure::Panicked(message))) => {
            HandlerOutcome::Panicked { route, message }
        }
    }
}

/// A running handler call, which is counted in the router's statistics when this value is dropped.
/// The counted result is `cancelled`, unless `finish` has replaced it by the result of the call.
pub(super) struct CountedCall {
    shared: Arc<RouterShared>,
    handler_name: String,
    start: Instant,
    result_name: &'static str,
}

impl CountedCall {
    pub fn new(shared: &Arc<RouterShared>, handler: &str) -> CountedCall {
        let (shared, handler) = (shared.clone(), handler.to_owned());
        CountedCall { shared, handler_name: handler, start: Instant::now(), result_name: "cancelled" }
    }

    pub fn finish(mut self, result: &Result<Json, TaskFailure>) {
        self.result_name = match result {
            Ok(_) => "handled",
            Err(TaskFailure::Failed(_)) => "failed",
            Err(TaskFailure::TimedOut(_)) => "timed_out",
            Err(TaskFailure::Panicked(_)) => "panicked",
        };
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        self.shared.stats.count_call(&self.handler_name, self.result_name, self.start.elapsed());
    }
}
