//! The router, which connects rules with code: it decides each message by a rule set and calls the
//! async handler function that is registered for the selected target.
//!
//! A message is decided on the caller's task, which takes microseconds. Its handler then runs as a
//! separate task. The caller always gets an [`Outcome`] that names the route, even if the handler
//! fails. The rule set can be swapped while messages are in flight: each message finishes with the
//! rules that decided it.

mod build;
mod build_hooks;
mod difference;
mod failures;
mod fallback;
mod handler;
mod handlers;
mod history;
mod hooks;
mod log;
#[cfg(feature = "watch")]
mod low_priority;
mod outcome;
mod permission;
mod policy;
mod shadow;
#[cfg(feature = "watch")]
mod source;
mod started_route;
mod stats;
mod warning;
#[cfg(feature = "watch")]
mod watch;
#[cfg(feature = "watch")]
mod watch_error;
#[cfg(feature = "watch")]
mod watched;

pub use build::{Problem, RouterBuilder, RouterError};
pub use difference::RoutePosition;
pub use failures::TypedError;
pub use handler::{HandlerError, HandlerResult, Reply, Request};
pub use hooks::Finished;
#[doc(hidden)]
pub use log::credentials::Credentials;
pub use log::{DecidedMessage, DecisionLog, DecisionLogBuilder, LogStats, observed_log_line};
#[cfg(feature = "watch")]
#[doc(hidden)]
pub use low_priority::run_at_low_priority;
pub use outcome::{Attempt, HandlerOutcome, Outcome};
pub use permission::Permissions;
pub use policy::{CircuitState, Policy};
pub use shadow::{Differences, Generations, PairStats, ShadowStats, SwitchError};
#[cfg(feature = "watch")]
pub use source::{LoadedRules, SourceLoader};
pub use started_route::StartedRoute;
pub use stats::{Counts, HandlerStats, LATENCY_BOUNDS_US, Latencies, RouteStats, RouterStats};
pub use warning::Warning;
#[cfg(feature = "watch")]
pub use watch::{Watch, WatchStatus};
#[cfg(feature = "watch")]
pub use watch_error::WatchError;
#[cfg(feature = "watch")]
pub use watched::{WatchedRules, WatchedRulesBuilder};

use super::task;
use arc_swap::{ArcSwap, ArcSwapOption};
use failures::FailureMemory;
use handlers::HandlerMap;
use history::PreviousRules;
use hooks::RouterHooks;
use log::DecisionRecord;
use policy::CircuitBreaker;
use rulec::{Decision, Edit, EditError, Guard, LiveRules, UnknownEntry};
use rulec_sema::hir::ROUTES_TABLE;
use serde::Serialize;
use serde_json::Value as Json;
use shadow::ShadowRules;
use stats::RouterCounters;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use time::OffsetDateTime;

/// Selects a route for each message and runs the route's handler. Cheap to clone; clones share all
/// state, including the active rule set.
///
/// ```
/// use rulec::Rules;
/// use rulec_runtime::route::{HandlerOutcome, HandlerError, Request, Router};
/// use serde_json::json;
///
/// async fn chat(request: Request) -> Result<serde_json::Value, HandlerError> {
///     Err(format!("nothing to say about {:?}", request.text()).into())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rules = Rules::from_text(
///     r#"
///     route files when text contains "files" -> list_files(limit: ctx.limit ?? 20)
///     default -> chat
///     "#,
/// )?;
/// let router = Router::builder(rules)
///     .handler("list_files", |request| async move { json!({ "listed": request.args["limit"] }) })
///     .handler("chat", chat)
///     .build()?;
///
/// let outcome = router.route(json!({ "text": "show my files" })).await;
/// assert_eq!(outcome.reply(), Some(&json!({ "listed": 20 })));
///
/// // A failure is a result that names the route.
/// let outcome = router.route(json!({ "text": "hello" })).await;
/// assert!(matches!(&outcome.result, HandlerOutcome::Failed { route, .. } if route == "default"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Router {
    shared: Arc<RouterShared>,
}

struct RouterShared {
    /// The active rules, read for every message and replaced by a swap. `ArcSwap` makes reads
    /// lock-free, so swaps and messages never wait for each other. A panic cannot poison the
    /// `ArcSwap`.
    active_rules: ArcSwap<ActiveRules>,
    /// Rules that also decide every message, only to compare the decisions (shadow rules); `None`
    /// if they are not set.
    shadow_rules: ArcSwapOption<ShadowRules>,
    /// The rule sets that were active earlier, for [`Router::roll_back`]. A change of
    /// `active_rules` or `shadow_rules` also holds this lock, so that two changes never overlap.
    previous_rules: Mutex<PreviousRules>,
    handlers: Arc<HandlerMap>,
    /// Function that checks each edit of the rules. An edit is refused if its target is an
    /// unregistered handler.
    edit_guard: Arc<Guard>,
    entry_name: Option<String>,
    /// Function that returns the permissions of a message's sender. If `None`, senders have no
    /// permissions.
    permission_fn: Option<PermissionFn>,
    log: Option<DecisionLog>,
    hooks: RouterHooks,
    failure_memory: FailureMemory,
    stats: RouterCounters,
}

type PermissionFn = Box<dyn Fn(&Json) -> Permissions + Send + Sync>;

struct ActiveRules {
    rules: LiveRules,
    warnings: Vec<Warning>,
}

/// The result of replacing a router's active rules: the old rules, and the version and warnings of
/// the new rules.
#[derive(Clone, Debug)]
pub struct Swapped {
    /// The rules that were active before this change; swapping them in again undoes the change.
    pub previous: LiveRules,
    /// Version number (generation) of the new active rules; later rules have greater numbers.
    pub generation: u64,
    /// Warnings about the new rules. The rules are active nevertheless.
    pub warnings: Vec<Warning>,
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Router({:?}, {} handlers)",
            self.shared.active_rules.load().rules,
            self.shared.handlers.len()
        )
    }
}

impl Router {
    /// Starts building a router with these rules: `Rules`, or `LiveRules` if the rules should be
    /// editable while they serve.
    pub fn builder(rules: impl Into<LiveRules>) -> RouterBuilder {
        RouterBuilder::new(rules.into())
    }

    /// Decides a message, runs the selected handler, and returns the outcome. Takes a
    /// `serde_json::Value`, or an `Arc` of one if the caller keeps the value.
    ///
    /// The sender's permissions come from [`RouterBuilder::permissions`]. If that function is not
    /// set, the sender has no permissions.
    ///
    /// A message that is not an object is not decided; see [`HandlerOutcome::Invalid`]. Async host
    /// functions (functions of the program that rules call) are awaited; see
    /// [`rulec::decide_async`].
    ///
    /// Must run inside a tokio runtime with its timer enabled. If the returned future is dropped,
    /// the handler is aborted and the decision is logged as `cancelled`.
    pub async fn route(&self, message: impl Into<Arc<Json>>) -> Outcome {
        self.route_with_hooks(message.into(), None).await
    }

    /// Like [`Router::route`], but with the given permissions instead of
    /// [`RouterBuilder::permissions`].
    pub async fn route_as(&self, message: impl Into<Arc<Json>>, permissions: &Permissions) -> Outcome {
        self.route_with_hooks(message.into(), Some(permissions)).await
    }

    /// Like [`Router::route`], for any value that serializes to a JSON object. If JSON cannot
    /// represent the value, the outcome is [`HandlerOutcome::Invalid`].
    pub fn route_value<'r, T: Serialize + ?Sized>(
        &'r self,
        message: &T,
    ) -> impl Future<Output = Outcome> + Send + use<'r, T> {
        let message = serde_json::to_value(message);
        async move { self.route_converted(message, None).await }
    }

    /// Like [`Router::route_value`], but with the given permissions instead of
    /// [`RouterBuilder::permissions`].
    pub fn route_value_as<'r, T: Serialize + ?Sized>(
        &'r self,
        message: &T,
        permissions: &'r Permissions,
    ) -> impl Future<Output = Outcome> + Send + use<'r, T> {
        let message = serde_json::to_value(message);
        async move { self.route_converted(message, Some(permissions)).await }
    }

    async fn route_converted(
        &self,
        message: Result<Json, serde_json::Error>,
        permissions: Option<&Permissions>,
    ) -> Outcome {
        match message {
            Ok(message) => self.route_with_hooks(Arc::new(message), permissions).await,
            Err(error) => self.refuse_message(error.to_string()),
        }
    }

    /// Counts a message that cannot be decided, and returns its outcome with the reason `error`.
    fn refuse_message(&self, error: String) -> Outcome {
        let result = HandlerOutcome::Invalid { error };
        let entry = self.shared.entry_name.as_deref().unwrap_or(ROUTES_TABLE).to_owned();
        self.shared.stats.count_message(&entry, None, result.kind(), Duration::ZERO);
        Outcome { entry, generation: self.rules().generation(), result, ..Outcome::default() }
    }

    /// Routes a message: calls the hooks before the decision, decides, runs the handler, and calls
    /// the hooks after the handler. If a hook before the decision fails, the message is not
    /// decided. `permissions` are the sender's permissions; if `None`, the router's permission
    /// function computes them.
    async fn route_with_hooks(&self, original: Arc<Json>, permissions: Option<&Permissions>) -> Outcome {
        let hooks = &self.shared.hooks;
        let message = match hooks.call_before_hooks(original.clone()).await {
            Ok(message) => message,
            Err(error) => {
                let outcome = self.refuse_message(error);
                return hooks.call_after_hooks(&original, &original, outcome).await;
            }
        };
        let scope = self.shared.failure_memory.scope_of(&message);
        let message = self.shared.failure_memory.with_failures(message, &scope);
        let outcome = self.decide_and_handle(&original, message.clone(), scope, permissions).await;
        hooks.call_after_hooks(&original, &message, outcome).await
    }

    async fn decide_and_handle(
        &self,
        original: &Arc<Json>,
        message: Arc<Json>,
        scope: String,
        permissions: Option<&Permissions>,
    ) -> Outcome {
        let rules = self.shared.active_rules.load().rules.clone();
        let (time, start) = (OffsetDateTime::now_utc(), Instant::now());
        let decided = rulec::decide_async(|| self.shared.decide(&rules, &message)).await;
        let decision = match decided {
            Ok(decision) => Arc::new(decision),
            Err(error) => return undecided_outcome(&error, &rules),
        };
        let shadow_difference = match self.shared.shadow_rules.load_full() {
            Some(shadow) => shadow.compare_decision(&self.shared, &decision, &message).await,
            None => None,
        };
        let record = DecisionRecord { time, rules, decision, message: message.clone(), shadow_difference };
        StartedRoute::new(self, original, record, scope, start).run_as(permissions).await
    }

    /// Replaces the active rules. A message that is already decided finishes with the rules that
    /// decided it. Messages that arrive after this call returns are decided by the new rules.
    ///
    /// # Errors
    /// If the new rules lack the router's entry table (where decisions start), or one of their
    /// targets has no handler. The old rules stay active.
    pub fn swap(&self, rules: impl Into<LiveRules>) -> Result<Swapped, RouterError> {
        let next = self.validate(rules.into())?;
        Ok(self.activate(next, &mut self.lock_previous_rules()))
    }

    /// Returns the active rules. If the router was built from `LiveRules`, the caller can insert,
    /// replace and remove statements through the returned value. An edit that targets an
    /// unregistered handler is refused.
    ///
    /// After a swap, the returned rules are no longer active. So call this method again after each
    /// swap.
    pub fn rules(&self) -> LiveRules {
        self.shared.active_rules.load().rules.clone()
    }

    /// Applies edits to the active rules as one change; see [`LiveRules::edit`]. An edit of one
    /// route is quick. Any other edit takes as long as compiling the rules, so call this method
    /// from a thread that may block.
    ///
    /// # Errors
    /// If the rules cannot be edited, would not compile, or would target an unregistered handler.
    /// The rules are then unchanged.
    pub fn edit(&self, edits: &[Edit]) -> Result<(), EditError> {
        self.rules().edit(edits)
    }

    /// Returns the warnings about the active rules. The router checked the rules when they became
    /// active.
    pub fn warnings(&self) -> Vec<Warning> {
        self.shared.active_rules.load().warnings.clone()
    }

    /// Returns counts and latencies of routes and handlers since the router was built.
    pub fn stats(&self) -> RouterStats {
        let handlers = self.shared.handlers.iter();
        self.shared.stats.snapshot(
            handlers.map(|(name, handler)| (name, handler.circuit.as_ref().map(CircuitBreaker::state))),
        )
    }

    /// Returns the log to which the router writes decisions; `None` if it writes no log.
    pub fn log(&self) -> Option<&DecisionLog> {
        self.shared.log.as_ref()
    }

    /// Takes the lock that prevents other changes of the active and shadow rules. Decisions need no
    /// lock, so they never wait for a change.
    fn lock_previous_rules(&self) -> MutexGuard<'_, PreviousRules> {
        self.shared.previous_rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn validate(&self, rules: LiveRules) -> Result<ActiveRules, RouterError> {
        let shared = &*self.shared;
        build::validate_rules(rules, shared.entry_name.as_deref(), &shared.handlers, &shared.edit_guard)
            .map_err(|problems| RouterError { problems })
    }

    fn activate(&self, next: ActiveRules, previous: &mut PreviousRules) -> Swapped {
        let (generation, warnings) = (next.rules.generation(), next.warnings.clone());
        let old_rules = self.shared.active_rules.swap(Arc::new(next)).rules.clone();
        tracing::info!(target: "rulec::router", previous = old_rules.generation(), generation, "rules swapped");
        previous.push(old_rules.clone());
        Swapped { previous: old_rules, generation, warnings }
    }
}

impl RouterShared {
    fn decide(&self, rules: &LiveRules, message: &Json) -> Result<Decision, UnknownEntry> {
        match &self.entry_name {
            None => Ok(rules.decide(message)),
            Some(entry) => rules.decide_in(entry, message),
        }
    }
}

/// The sender of a message. The sender's permissions are computed only if a handler requires
/// permissions.
struct MessageSender<'r> {
    shared: &'r RouterShared,
    message: &'r Json,
    given_permissions: Option<&'r Permissions>,
    computed_permissions: OnceLock<Permissions>,
}

impl MessageSender<'_> {
    /// Returns the permissions in `required` that the sender of the message does not have.
    fn missing_permissions(&self, required: &[Arc<str>]) -> Vec<String> {
        if required.is_empty() {
            return Vec::new();
        }
        self.given_permissions
            .unwrap_or_else(|| self.computed_permissions.get_or_init(|| self.call_permission_fn()))
            .missing_permissions(required)
    }

    /// Calls the permission function that the program set. Returns no permissions if no function is
    /// set, or if the function panics.
    fn call_permission_fn(&self) -> Permissions {
        let Some(permission_fn) = &self.shared.permission_fn else { return Permissions::none() };
        task::catch_panic(|| permission_fn(self.message)).unwrap_or_else(|_| {
            // The panic message is left out, because it may contain private data.
            tracing::warn!(target: "rulec::router", "the function that returns the permissions of a sender panicked");
            Permissions::none()
        })
    }
}

/// Builds the outcome of a message that cannot be decided, because the entry table (where decisions
/// start) is missing. Only an edit can remove this table: building and swapping check that the
/// table exists.
fn undecided_outcome(unknown_entry: &UnknownEntry, rules: &LiveRules) -> Outcome {
    let result = HandlerOutcome::Failed { route: String::new(), error: unknown_entry.to_string() };
    Outcome { generation: rules.generation(), result, ..Outcome::default() }
}

/// A decision whose handler has not finished. The decision is counted and logged exactly once. If
/// the caller stops waiting, the decision is counted and logged when this value is dropped.
struct PendingDecision {
    shared: Arc<RouterShared>,
    log_record: Option<DecisionRecord>,
    outcome: Outcome,
    started_at: Instant,
}

impl PendingDecision {
    fn finish(&mut self, result: HandlerOutcome) -> Outcome {
        self.outcome.result = result;
        self.record_once(self.outcome.result.kind());
        std::mem::take(&mut self.outcome)
    }

    fn record_once(&mut self, result: &'static str) {
        let Some(record) = self.log_record.take() else { return };
        let outcome = &mut self.outcome;
        outcome.elapsed = self.started_at.elapsed();
        let (route, handler) = (outcome.route.as_deref(), outcome.handler.as_deref());
        let (generation, entry) = (outcome.generation, &*outcome.entry);
        let fallback = outcome.fallback.as_deref();
        let elapsed_us = outcome.elapsed_us();
        // The trace omits arguments and error texts, because both may contain private data.
        match result {
            "handled" | "no_route" => {
                tracing::info!(target: "rulec::decision", entry, route, handler, fallback, generation, result, elapsed_us);
            }
            _ => {
                tracing::warn!(target: "rulec::decision", entry, route, handler, fallback, generation, result, elapsed_us);
            }
        }
        let table = outcome.path.last().map_or(entry, String::as_str);
        self.shared.stats.count_message(table, route, result, outcome.elapsed);
        if let Some(log) = &self.shared.log {
            log.queue_decision(record, outcome, result);
        }
    }
}

impl Drop for PendingDecision {
    fn drop(&mut self) {
        self.record_once("cancelled");
    }
}
