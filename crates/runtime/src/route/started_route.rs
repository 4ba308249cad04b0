//! Decided messages whose handler the caller can run itself, for programs that have their own
//! executor instead of tokio.

use super::fallback::{self, CountedCall};
use super::log::DecisionRecord;
use super::outcome::{HandlerOutcome, Outcome};
use super::{HandlerError, MessageSender, PendingDecision, Permissions, Request, Router, TypedError};
use crate::task::{TaskFailure, error_chain_text};
use futures_util::FutureExt;
use rulec::Decision;
use serde_json::Value as Json;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use time::OffsetDateTime;

/// A message that is decided and whose handler has not run yet; see [`Router::begin_route`]. If
/// this value is dropped, the decision is counted and logged as `cancelled`.
#[must_use]
pub struct StartedRoute {
    router: Router,
    decision: Arc<Decision>,
    message: Arc<Json>,
    /// The request to the selected handler; `None` if no handler was selected.
    request: Option<Request>,
    failure_scope: String,
    /// The permissions that the router's permission function returned for the sender; `None` if the
    /// function was not called.
    computed_permissions: Option<Permissions>,
    pending_decision: PendingDecision,
    /// Counts the handler call that the caller itself makes. `None` until
    /// [`StartedRoute::own_call`] has returned the request for this call.
    counted_call: Option<CountedCall>,
}

impl Router {
    /// Decides a message, but does not run the handler; the caller does. This is the first half of
    /// [`Router::route`], for programs that have their own executor. Needs no tokio runtime.
    ///
    /// Returns `None` if the router has hooks or shadow rules, or if an async host function must be
    /// awaited. Returns `None` also if the rules lack the entry table, where decisions start.
    /// Nothing is then counted or logged, and the caller uses [`Router::route`].
    pub fn begin_route(&self, original_message: impl Into<Arc<Json>>) -> Option<StartedRoute> {
        let original_message = original_message.into();
        if !self.shared.hooks.is_empty() || self.shared.shadow_rules.load().is_some() {
            return None;
        }
        let scope = self.shared.failure_memory.scope_of(&original_message);
        let message = self.shared.failure_memory.with_failures(original_message.clone(), &scope);
        let rules = self.shared.active_rules.load().rules.clone();
        let (time, start) = (OffsetDateTime::now_utc(), Instant::now());
        let decided = rulec::decide_async(|| self.shared.decide(&rules, &message)).now_or_never()?;
        let decision = Arc::new(decided.ok()?);
        let record = DecisionRecord { time, rules, decision, message, shadow_difference: None };
        Some(StartedRoute::new(self, &original_message, record, scope, start))
    }
}

impl StartedRoute {
    pub(super) fn new(
        router: &Router,
        original: &Arc<Json>,
        record: DecisionRecord,
        scope: String,
        start: Instant,
    ) -> StartedRoute {
        let (decision, message) = (record.decision.clone(), record.message.clone());
        let request = decision.target().map(|handler| Request {
            original: original.clone(),
            message: message.clone(),
            args: Arc::new(decision.args().clone()),
            exact_args: decision.exact_args(),
            metadata: Arc::new(decision.metadata().clone()),
            route: decision.chosen().unwrap_or_default().to_owned(),
            handler: handler.to_owned(),
            generation: decision.generation(),
            attempt: 1,
        });
        let outcome = Outcome::from_decision(&decision);
        let shared = router.shared.clone();
        let pending = PendingDecision { shared, log_record: Some(record), outcome, started_at: start };
        let (router, computed_permissions) = (router.clone(), None);
        StartedRoute {
            router,
            decision,
            message,
            request,
            failure_scope: scope,
            computed_permissions,
            pending_decision: pending,
            counted_call: None,
        }
    }

    /// Returns the request for the selected handler. `None` if no handler was selected;
    /// [`StartedRoute::finish`] then ignores its argument.
    pub fn request(&self) -> Option<&Request> {
        self.request.as_ref()
    }

    /// Returns the request for the selected handler if the caller may call the handler itself. The
    /// sender must have the required permissions, and the handler must have no
    /// [`Policy`](super::Policy). The caller then passes the handler's result to
    /// [`StartedRoute::finish`]. If this method returns `None`, the caller must call
    /// [`StartedRoute::run`] instead.
    ///
    /// `permissions` are the sender's permissions; if `None`, the router's permission function
    /// computes them.
    pub fn own_call(&mut self, permissions: Option<&Permissions>) -> Option<Request> {
        let request = self.request.as_ref()?;
        let shared = &self.router.shared;
        let is_plain = shared.handlers.get(&request.handler)?.policy.has_no_settings();
        if !is_plain {
            return None;
        }
        let sender = self.message_sender(permissions);
        let missing = sender.missing_permissions(self.decision.required_permissions());
        self.computed_permissions = sender.computed_permissions.into_inner();
        if !missing.is_empty() {
            return None;
        }
        self.counted_call = Some(CountedCall::new(shared, &request.handler));
        Some(request.clone())
    }

    /// Counts and logs the decision, and returns the outcome of the message. `result` is the result
    /// of the handler, which the caller has called itself; see [`StartedRoute::own_call`].
    pub fn finish(mut self, result: Result<Json, HandlerError>) -> Outcome {
        let request = match self.take_request() {
            ControlFlow::Continue(request) => request,
            ControlFlow::Break(outcome) => return outcome,
        };
        let typed = result.as_ref().err().and_then(|error| error.downcast_ref::<TypedError>());
        let error_type = typed.map(|error| error.kind().to_owned());
        let result = result.map_err(|error| TaskFailure::Failed(error_chain_text(&*error)));
        if let Some(call) = self.counted_call.take() {
            call.finish(&result);
        }
        let outcome = match result {
            Ok(reply) => HandlerOutcome::Handled(reply),
            Err(failure) => {
                HandlerOutcome::Failed { route: request.route.clone(), error: failure.to_string() }
            }
        };
        let failures = &self.router.shared.failure_memory;
        failures.record_outcome(&self.failure_scope, &outcome, error_type.as_deref(), &request.handler);
        self.pending_decision.outcome.attempts = 1;
        self.pending_decision.finish(outcome)
    }

    /// Calls the selected handler as [`Router::route`] does, with retries and fallbacks.
    /// `permissions` are the sender's permissions; if `None`, the router's permission function
    /// computes them. Must run inside a tokio runtime with its timer enabled.
    pub async fn run(self, permissions: Option<Permissions>) -> Outcome {
        self.run_as(permissions.as_ref()).await
    }

    pub(super) async fn run_as(mut self, permissions: Option<&Permissions>) -> Outcome {
        let request = match self.take_request() {
            ControlFlow::Continue(request) => request,
            ControlFlow::Break(outcome) => return outcome,
        };
        let run = {
            let sender = self.message_sender(permissions);
            fallback::run_handlers(&self.router.shared, &self.decision, request, &sender).await
        };
        let error_type = run.error_type.as_deref();
        self.router.shared.failure_memory.record_outcome(
            &self.failure_scope,
            &run.outcome,
            error_type,
            &run.last_handler,
        );
        let outcome = &mut self.pending_decision.outcome;
        outcome.attempts = run.attempt_count;
        outcome.tried = run.tried_handlers;
        outcome.fallback =
            Some(run.last_handler).filter(|last_handler| Some(last_handler) != outcome.handler.as_ref());
        self.pending_decision.finish(run.outcome)
    }

    /// Takes the request for the selected handler. If no handler was selected, counts and logs the
    /// decision, and returns the outcome of the message.
    fn take_request(&mut self) -> ControlFlow<Outcome, Request> {
        match self.request.take() {
            Some(request) => ControlFlow::Continue(request),
            None => ControlFlow::Break(self.pending_decision.finish(match self.decision.refusal() {
                Some(error) => HandlerOutcome::Invalid { error: error.to_string() },
                None => HandlerOutcome::NoRoute,
            })),
        }
    }

    fn message_sender<'r>(&'r self, permissions: Option<&'r Permissions>) -> MessageSender<'r> {
        MessageSender {
            shared: &self.router.shared,
            message: &self.message,
            given_permissions: permissions,
            computed_permissions: self
                .computed_permissions
                .clone()
                .map_or_else(OnceLock::new, OnceLock::from),
        }
    }
}
