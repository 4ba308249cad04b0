//! The router: a rule set, and for each of its targets an async function that does the work.
//!
//! A message is decided on the caller's task, which takes microseconds, and its handler runs as a
//! task of its own. Whatever becomes of the handler, the message comes back as an [`Outcome`] that
//! names the route. The rule set can be swapped while messages are under way: each is decided and
//! answered by the generation it began with.

mod build;
mod handler;
mod log;
mod outcome;

pub use build::{Problem, RouterBuilder, RouterError, Warning};
pub use handler::{HandlerError, HandlerResult, Request};
pub use log::{DecisionLog, DecisionLogBuilder, LogStats};
pub use outcome::{Ending, Outcome};

use super::task::{self, Broken};
use arc_swap::ArcSwap;
use build::Handlers;
use log::Record;
use rulec::Rules;
use rulec::internals::sema::hir::TableId;
use serde_json::Value as Json;
use std::sync::Arc;
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
    handlers: Handlers,
    entry: Option<String>,
    log: Option<DecisionLog>,
}

struct Active {
    rules: Rules,
    entry: TableId,
    warnings: Vec<Warning>,
}

/// The result of a swap.
#[derive(Clone, Debug)]
pub struct Swapped {
    /// The rules that were in force; swapping them in again takes the change back.
    pub previous: Rules,
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
    /// Begins a router with these rules.
    pub fn builder(rules: Rules) -> RouterBuilder {
        RouterBuilder::new(rules)
    }

    /// Decides for a message, runs the handler it leads to, and tells what came of it. Takes a
    /// `serde_json::Value`, or one in an `Arc` when the caller keeps it too.
    ///
    /// Must run inside a tokio runtime with its timer enabled. When the returned future is dropped,
    /// the handler is stopped, and the decision is logged as `cancelled`.
    pub async fn route(&self, message: impl Into<Arc<Json>>) -> Outcome {
        let message = message.into();
        let active = self.shared.active.load_full();
        let (time, start) = (OffsetDateTime::now_utc(), Instant::now());
        let entry = active.rules.table(active.entry);
        let decision = entry.decide(&message);
        let args = Arc::new(decision.args().clone());
        let request = decision.target().map(|handler| Request {
            message: message.clone(),
            args: args.clone(),
            metadata: Arc::new(decision.metadata().clone()),
            route: decision.chosen().unwrap_or_default().to_owned(),
            handler: handler.to_owned(),
            generation: decision.generation(),
        });
        let outcome = Outcome::undecided(&decision);
        let record = Record {
            time,
            rules: active.rules.clone(),
            entry: active.entry,
            chosen: decision.statement(),
            host_failures: decision.failures().iter().map(|failure| failure.function.clone()).collect(),
            message,
            args,
        };
        let pending = Pending { log: self.shared.log.as_ref(), record: Some(record), outcome, start };
        let ending = match request {
            Some(request) => self.run(request).await,
            None => Ending::NoRoute,
        };
        pending.finish(ending)
    }

    async fn run(&self, request: Request) -> Ending {
        let route = request.route.clone();
        let Some(registered) = self.shared.handlers.get(&request.handler) else {
            // Building and swapping see to it that there is one; still no message may be lost.
            let error = format!("no handler is registered for `{}`", request.handler);
            return Ending::Failed { route, error };
        };
        match task::call(registered.limit, &registered.function, request).await {
            Ok(reply) => Ending::Handled(reply),
            Err(Broken::Failed(error)) => Ending::Failed { route, error },
            Err(Broken::TimedOut(after)) => Ending::TimedOut { route, after },
            Err(Broken::Panicked(message)) => Ending::Panicked { route, message },
        }
    }

    /// Puts other rules in force. Messages already decided are answered by the rules that decided
    /// them; those that come after this returns are decided by the new ones.
    ///
    /// # Errors
    /// When the entry is not among the new rules or one of their targets has no handler. The old
    /// rules stay in force.
    pub fn swap(&self, rules: Rules) -> Result<Swapped, RouterError> {
        let shared = &*self.shared;
        let next = build::validate(rules, shared.entry.as_deref(), &shared.handlers)
            .map_err(|problems| RouterError { problems })?;
        let (generation, warnings) = (next.rules.generation(), next.warnings.clone());
        let previous = shared.active.swap(Arc::new(next)).rules.clone();
        tracing::info!(target: "rulec::router", previous = previous.generation(), generation, "rules swapped");
        Ok(Swapped { previous, generation, warnings })
    }

    /// The rules in force.
    pub fn rules(&self) -> Rules {
        self.shared.active.load().rules.clone()
    }

    /// The oddities of the rules in force, which are not wrong.
    pub fn warnings(&self) -> Vec<Warning> {
        self.shared.active.load().warnings.clone()
    }

    /// The decision log, when there is one.
    pub fn log(&self) -> Option<&DecisionLog> {
        self.shared.log.as_ref()
    }
}

/// A decision on its way to an outcome. It is recorded once, also when the caller gives up waiting.
struct Pending<'r> {
    log: Option<&'r DecisionLog>,
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
        let elapsed_us = outcome.elapsed_us();
        // Neither arguments nor the texts of errors: both may hold what is private.
        match result {
            "handled" | "no_route" => {
                tracing::info!(target: "rulec::decision", entry, route, handler, generation, result, elapsed_us);
            }
            _ => {
                tracing::warn!(target: "rulec::decision", entry, route, handler, generation, result, elapsed_us);
            }
        }
        if let Some(log) = self.log {
            log.record(record, outcome, result);
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.record_once("cancelled");
    }
}
