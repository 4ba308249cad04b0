//! The router: a rule set, and for each of its targets an async function that does the work.
//!
//! A message is decided on the caller's task, which takes microseconds, and its handler runs as a
//! task of its own. Whatever becomes of the handler, the message comes back as an [`Outcome`] that
//! names the route. The rule set can be swapped while messages are under way: each is decided and
//! answered by the generation it began with.

mod build;
mod chain;
mod difference;
mod handler;
mod log;
mod outcome;
mod permission;
mod policy;
mod previous;
mod shadow;
mod stats;
#[cfg(feature = "watch")]
mod watch;

pub use build::{Problem, RouterBuilder, RouterError, Warning};
pub use difference::Place;
pub use handler::{HandlerError, HandlerResult, Request};
pub use log::{DecisionLog, DecisionLogBuilder, LogStats};
pub use outcome::{Ending, Outcome, Tried};
pub use permission::Permissions;
pub use policy::{CircuitState, Policy};
pub use shadow::{Differences, Generations, PairStats, ShadowStats, SwitchError};
pub use stats::{Counts, HandlerStats, LATENCY_BOUNDS_US, Latencies, RouteStats, RouterStats};
#[cfg(feature = "watch")]
pub use watch::{Watch, WatchError, WatchStatus};

use super::task;
use arc_swap::{ArcSwap, ArcSwapOption};
use build::Handlers;
use log::Record;
use policy::Circuit;
use previous::Previous;
use rulec::{Decision, Edit, EditError, Guard, LiveRules, UnknownEntry};
use serde_json::Value as Json;
use shadow::Shadow;
use stats::Stats;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use time::OffsetDateTime;

/// Decides where messages go and runs the handlers there. Cheap to clone; clones share everything,
/// the rule set in force included.
///
/// ```
/// use rulec::Rules;
/// use rulec_runtime::route::{Ending, HandlerError, Request, Router};
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
/// assert!(matches!(&outcome.result, Ending::Failed { route, .. } if route == "default"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Router {
    shared: Arc<Shared>,
}

struct Shared {
    /// Read for every message and written at a swap: `ArcSwap` makes reading lock-free, so that a
    /// swap never waits for messages nor they for it, and no panic can poison it.
    active: ArcSwap<Active>,
    /// Rules that decide beside them.
    shadow: ArcSwapOption<Shadow>,
    /// Locked while either of the two is changed.
    previous: Mutex<Previous>,
    handlers: Arc<Handlers>,
    /// Refuses edits of the rules that lead to a handler there is not.
    guard: Arc<Guard>,
    entry: Option<String>,
    /// Says what the sender of a message is granted.
    grants: Option<Grants>,
    log: Option<DecisionLog>,
    stats: Stats,
}

type Grants = Box<dyn Fn(&Json) -> Permissions + Send + Sync>;

struct Active {
    rules: LiveRules,
    warnings: Vec<Warning>,
}

/// The result of a swap.
#[derive(Clone, Debug)]
pub struct Swapped {
    /// The rules that were in force; swapping them in again takes the change back.
    pub previous: LiveRules,
    /// The generation now in force.
    pub generation: u64,
    /// The oddities of the new rules, which are not wrong.
    pub warnings: Vec<Warning>,
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Router({:?}, {} handlers)", self.shared.active.load().rules, self.shared.handlers.len())
    }
}

impl Router {
    /// Begins a router with these rules: `Rules`, or `LiveRules` to edit them while they serve.
    pub fn builder(rules: impl Into<LiveRules>) -> RouterBuilder {
        RouterBuilder::new(rules.into())
    }

    /// Decides for a message, runs the handler it leads to, and tells what came of it. Takes a
    /// `serde_json::Value`, or one in an `Arc` when the caller keeps it too. What the sender may do says
    /// [`RouterBuilder::permissions`]; nothing, when that is not set.
    ///
    /// Must run inside a tokio runtime with its timer enabled. When the returned future is dropped,
    /// the handler is stopped, and the decision is logged as `cancelled`.
    pub async fn route(&self, message: impl Into<Arc<Json>>) -> Outcome {
        self.route_by(message.into(), None).await
    }

    /// The same for a sender who has these permissions, whatever [`RouterBuilder::permissions`] says.
    pub async fn route_as(&self, message: impl Into<Arc<Json>>, permissions: &Permissions) -> Outcome {
        self.route_by(message.into(), Some(permissions)).await
    }

    async fn route_by(&self, message: Arc<Json>, permissions: Option<&Permissions>) -> Outcome {
        let rules = self.shared.active.load().rules.clone();
        let (time, start) = (OffsetDateTime::now_utc(), Instant::now());
        let decision = match self.shared.decide(&rules, &message) {
            Ok(decision) => Arc::new(decision),
            Err(gone) => return undecided(&gone, &rules),
        };
        let request = decision.target().map(|handler| Request {
            message: message.clone(),
            args: Arc::new(decision.args().clone()),
            metadata: Arc::new(decision.metadata().clone()),
            route: decision.chosen().unwrap_or_default().to_owned(),
            handler: handler.to_owned(),
            generation: decision.generation(),
            attempt: 1,
        });
        let outcome = Outcome::undecided(&decision);
        let shadow = self.shared.shadow.load();
        let instead = shadow.as_ref().and_then(|shadow| shadow.observe(&self.shared, &decision, &message));
        drop(shadow);
        let record = Record { time, rules, decision: decision.clone(), message: message.clone(), instead };
        let mut pending = Pending { shared: &self.shared, record: Some(record), outcome, start };
        let Some(request) = request else { return pending.finish(Ending::NoRoute) };
        let sender =
            Sender { shared: &self.shared, message: &message, given: permissions, told: OnceLock::new() };
        let run = chain::run(&self.shared, &decision, request, &sender).await;
        pending.outcome.attempts = run.attempts;
        pending.outcome.tried = run.tried;
        pending.outcome.fallback = Some(run.by).filter(|by| Some(by) != pending.outcome.handler.as_ref());
        pending.finish(run.ending)
    }

    /// Puts other rules in force. Messages already decided are answered by the rules that decided
    /// them; those that come after this returns are decided by the new ones.
    ///
    /// # Errors
    /// When the entry is not among the new rules or one of their targets has no handler. The old
    /// rules stay in force.
    pub fn swap(&self, rules: impl Into<LiveRules>) -> Result<Swapped, RouterError> {
        let next = self.validated(rules.into())?;
        Ok(self.put_in_force(next, &mut self.switching()))
    }

    /// The rules in force. When the router was given `LiveRules`, statements can be inserted, replaced and removed through
    /// them; an edit that leads to a handler there is not is refused. After a swap they are no longer in force, so ask
    /// again rather than keep them.
    pub fn rules(&self) -> LiveRules {
        self.shared.active.load().rules.clone()
    }

    /// Makes edits of the rules in force, as one: [`LiveRules::edit`]. Whatever other than one route is edited takes as
    /// long as compiling the rules does, so call it where blocking is no harm.
    ///
    /// # Errors
    /// When the rules cannot be edited, or would be wrong, or lead to a handler there is not. They are then as they were.
    pub fn edit(&self, edits: &[Edit]) -> Result<(), EditError> {
        self.rules().edit(edits)
    }

    /// The oddities of the rules in force as they were put there, which are not wrong.
    pub fn warnings(&self) -> Vec<Warning> {
        self.shared.active.load().warnings.clone()
    }

    /// Counts and latencies of routes and handlers since the router was built.
    pub fn stats(&self) -> RouterStats {
        let handlers = self.shared.handlers.iter();
        self.shared.stats.so_far(handlers.map(|(name, one)| (name, one.circuit.as_ref().map(Circuit::state))))
    }

    /// The decision log, when there is one.
    pub fn log(&self) -> Option<&DecisionLog> {
        self.shared.log.as_ref()
    }

    /// Held while it is changed which rules are in force or in the shadow; decisions do not ask for it.
    fn switching(&self) -> MutexGuard<'_, Previous> {
        self.shared.previous.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn validated(&self, rules: LiveRules) -> Result<Active, RouterError> {
        let shared = &*self.shared;
        build::validate(rules, shared.entry.as_deref(), &shared.handlers, &shared.guard)
            .map_err(|problems| RouterError { problems })
    }

    fn put_in_force(&self, next: Active, previous: &mut Previous) -> Swapped {
        let (generation, warnings) = (next.rules.generation(), next.warnings.clone());
        let before = self.shared.active.swap(Arc::new(next)).rules.clone();
        tracing::info!(target: "rulec::router", previous = before.generation(), generation, "rules swapped");
        previous.push(before.clone());
        Swapped { previous: before, generation, warnings }
    }
}

impl Shared {
    fn decide(&self, rules: &LiveRules, message: &Json) -> Result<Decision, UnknownEntry> {
        match &self.entry {
            None => Ok(rules.decide(message)),
            Some(entry) => rules.decide_in(entry, message),
        }
    }
}

/// The sender of a message, whose permissions are asked for when a handler requires any.
struct Sender<'r> {
    shared: &'r Shared,
    message: &'r Json,
    given: Option<&'r Permissions>,
    told: OnceLock<Permissions>,
}

impl Sender<'_> {
    /// The permissions of a list that the sender does not have.
    fn missing(&self, required: &[Arc<str>]) -> Vec<String> {
        if required.is_empty() {
            return Vec::new();
        }
        self.given.unwrap_or_else(|| self.told.get_or_init(|| self.ask())).missing(required)
    }

    /// None, when nobody says or saying it fails.
    fn ask(&self) -> Permissions {
        let Some(grants) = &self.shared.grants else { return Permissions::none() };
        task::caught(|| grants(self.message)).unwrap_or_else(|_| {
            // Without the panic's text, which may hold what is private.
            tracing::warn!(target: "rulec::router", "the function that tells the permissions of a sender panicked");
            Permissions::none()
        })
    }
}

/// The outcome when an edit has removed the entry; building and swapping see to it that it is there.
fn undecided(gone: &UnknownEntry, rules: &LiveRules) -> Outcome {
    let result = Ending::Failed { route: String::new(), error: gone.to_string() };
    Outcome { generation: rules.generation(), result, ..Outcome::default() }
}

/// A decision on its way to an outcome. It is recorded once, also when the caller gives up waiting.
struct Pending<'r> {
    shared: &'r Shared,
    record: Option<Record>,
    outcome: Outcome,
    start: Instant,
}

impl Pending<'_> {
    fn finish(mut self, ending: Ending) -> Outcome {
        self.outcome.result = ending;
        self.record_once(self.outcome.result.kind());
        std::mem::take(&mut self.outcome)
    }

    fn record_once(&mut self, result: &'static str) {
        let Some(record) = self.record.take() else { return };
        let outcome = &mut self.outcome;
        outcome.elapsed = self.start.elapsed();
        let (route, handler) = (outcome.route.as_deref(), outcome.handler.as_deref());
        let (generation, entry) = (outcome.generation, &*outcome.entry);
        let fallback = outcome.fallback.as_deref();
        let elapsed_us = outcome.elapsed_us();
        // Neither arguments nor the texts of errors: both may hold what is private.
        match result {
            "handled" | "no_route" => {
                tracing::info!(target: "rulec::decision", entry, route, handler, fallback, generation, result, elapsed_us);
            }
            _ => {
                tracing::warn!(target: "rulec::decision", entry, route, handler, fallback, generation, result, elapsed_us);
            }
        }
        let table = outcome.path.last().map_or(entry, String::as_str);
        self.shared.stats.message(table, route, result, outcome.elapsed);
        if let Some(log) = &self.shared.log {
            log.record(record, outcome, result);
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.record_once("cancelled");
    }
}
