//! Runs the handler that a decision selects, under its policy, and then its fallbacks if it fails.

use super::build::Registered;
use super::handler::Request;
use super::outcome::{Attempt, HandlerOutcome};
use super::policy::{Circuit, Leave};
use super::stats::Stats;
use super::{Sender, Shared};
use crate::task::{self, Broken};
use backon::Retryable;
use rulec::Decision;
use serde_json::Value as Json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The result of running a handler and its fallbacks.
pub(super) struct Run {
    pub ending: HandlerOutcome,
    /// Name of the handler that was tried last and ended with `ending`.
    pub by: String,
    /// Number of calls of that handler.
    pub attempts: u32,
    /// Handlers that were tried before this one and did not reply.
    pub tried: Vec<Attempt>,
}

/// Why a handler did not reply.
enum Failure {
    CircuitOpen,
    Broken(Broken),
}

/// Runs the handler that the decision selects, then its fallbacks until one replies.
pub(super) async fn run(shared: &Shared, decision: &Decision, request: Request, sender: &Sender<'_>) -> Run {
    let route = request.route.clone();
    let target = request.handler.clone();
    let missing = sender.missing(decision.required_permissions());
    if !missing.is_empty() {
        shared.stats.call(&target, "refused", Duration::ZERO);
        let ending = HandlerOutcome::Refused { route, missing };
        return Run { ending, by: target, attempts: 0, tried: Vec::new() };
    }
    let Some(registered) = shared.handlers.get(&target) else {
        // Building, swapping and editing ensure that the handler exists. If the handler is missing
        // nevertheless, the message must not be lost.
        let error = format!("no handler is registered for `{target}`");
        return Run {
            ending: HandlerOutcome::Failed { route, error },
            by: target,
            attempts: 0,
            tried: Vec::new(),
        };
    };
    let deadline = Deadline::after(registered.policy.chain_limit);
    let mut run = call(shared, registered, &target, &request, deadline).await;
    for name in &registered.policy.fallbacks {
        let is_wanted = !run.ending.is_reply() && !deadline.is_over();
        let Some(fallback) = shared.handlers.get(name).filter(|_| is_wanted) else { break };
        let missing = sender.missing(decision.permissions_required_by(name));
        if !missing.is_empty() {
            shared.stats.call(name, "refused", Duration::ZERO);
            let refused = HandlerOutcome::Refused { route: route.clone(), missing };
            run.tried.push(Attempt::new(name, 0, &refused));
            continue;
        }
        tracing::warn!(
            target: "rulec::router", handler = run.by, result = run.ending.kind(), fallback = name.as_str(),
            "another handler takes over"
        );
        let mut tried = std::mem::take(&mut run.tried);
        tried.push(Attempt::new(&run.by, run.attempts, &run.ending));
        run = Run { tried, ..call(shared, fallback, name, &request, deadline).await };
    }
    run
}

/// The deadline of the handler and all its fallbacks together; `None` means no limit.
#[derive(Clone, Copy)]
struct Deadline(Option<tokio::time::Instant>);

impl Deadline {
    fn after(limit: Option<Duration>) -> Deadline {
        Deadline(limit.map(|limit| tokio::time::Instant::now() + limit))
    }

    fn left(self) -> Option<Duration> {
        self.0.map(|end| end.saturating_duration_since(tokio::time::Instant::now()))
    }

    fn is_over(self) -> bool {
        self.left() == Some(Duration::ZERO)
    }

    /// Returns the time limit of one call: the smaller of `limit` and the remaining time.
    fn within(self, limit: Option<Duration>) -> Option<Duration> {
        limit.into_iter().chain(self.left()).min()
    }
}

/// Calls a handler, with retries, within the limits of its policy and the deadline.
async fn call(
    shared: &Shared,
    registered: &Registered,
    name: &str,
    request: &Request,
    deadline: Deadline,
) -> Run {
    let attempts = AtomicU32::new(0);
    let once = || async {
        let Some(leave) =
            registered.circuit.as_ref().map(Circuit::leave).map_or(Some(None), |one| one.map(Some))
        else {
            shared.stats.call(name, "circuit_open", Duration::ZERO);
            return Err(Failure::CircuitOpen);
        };
        let attempt = attempts.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request { handler: name.to_owned(), attempt, ..request.clone() };
        let counted =
            Counted { stats: &shared.stats, handler: name, start: Instant::now(), result: "cancelled" };
        let result =
            task::call(deadline.within(registered.policy.time_limit), &registered.function, request).await;
        counted.ended(&result);
        if let Some(leave) = leave {
            Leave::ended(leave, result.is_ok());
        }
        result.map_err(Failure::Broken)
    };
    let result = match registered.policy.pauses() {
        None => once().await,
        Some(pauses) => {
            let fits = |pause: &Duration| deadline.left().is_none_or(|left| *pause < left);
            once.retry(pauses).when(Failure::may_pass).adjust(|_, pause| pause.filter(fits)).await
        }
    };
    let ending = ending(request.route.clone(), result);
    Run { ending, by: name.to_owned(), attempts: attempts.into_inner(), tried: Vec::new() }
}

impl Failure {
    /// True if a retry may succeed.
    fn may_pass(&self) -> bool {
        matches!(self, Failure::Broken(Broken::Failed(_) | Broken::TimedOut(_)))
    }
}

fn ending(route: String, result: Result<Json, Failure>) -> HandlerOutcome {
    match result {
        Ok(reply) => HandlerOutcome::Handled(reply),
        Err(Failure::CircuitOpen) => HandlerOutcome::CircuitOpen { route },
        Err(Failure::Broken(Broken::Failed(error))) => HandlerOutcome::Failed { route, error },
        Err(Failure::Broken(Broken::TimedOut(after))) => HandlerOutcome::TimedOut { route, after },
        Err(Failure::Broken(Broken::Panicked(message))) => HandlerOutcome::Panicked { route, message },
    }
}

/// A running handler call. Dropping the value adds the call to the statistics, with the result
/// `cancelled` unless another one was set.
struct Counted<'r> {
    stats: &'r Stats,
    handler: &'r str,
    start: Instant,
    result: &'static str,
}

impl Counted<'_> {
    fn ended(mut self, result: &Result<Json, Broken>) {
        self.result = match result {
            Ok(_) => "handled",
            Err(Broken::Failed(_)) => "failed",
            Err(Broken::TimedOut(_)) => "timed_out",
            Err(Broken::Panicked(_)) => "panicked",
        };
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.stats.call(self.handler, self.result, self.start.elapsed());
    }
}
