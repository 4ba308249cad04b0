//! Rules from watched files without handlers, for a program that only needs decisions and acts on
//! them itself.

use super::log::{DecisionLog, DecisionRecord, decided_result_name};
use super::outcome::Outcome;
use super::source::{LoadedRules, SourceLoader};
use super::stats::{RouterCounters, RouterStats};
use super::watch::{FirstRulesVersion, Watch, WatchStatus, WatchTarget, WatchedFiles, next_status};
use super::watch_error::WatchError;
use arc_swap::ArcSwap;
use rulec::{Decision, LiveRules, UnknownEntry};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use time::OffsetDateTime;
use tokio::sync::watch;

/// Rules that are loaded from watched files, with status, counts and a decision log, but without
/// handlers: the program acts on the decisions itself. Cheap to clone; clones share the rules, the
/// counts and the log. A state that [`WatchedRules::changed`] has returned to one clone is still
/// new to the other clones.
///
/// A file is a rule text, an artifact (a file of compiled rules), or a JSON document of another
/// system; [`SourceLoader`] describes them. It is watched as by
/// [`Router::watch`](super::Router::watch): a version that cannot be loaded is refused, and the
/// last good version stays active.
///
/// ```
/// use rulec::Compiler;
/// use rulec_runtime::route::WatchedRules;
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("support.rules");
/// let text = "route refund when text contains \"refund\" -> billing\ndefault -> chat";
/// std::fs::write(&path, text)?;
/// let rules = WatchedRules::open(Compiler::new(), &path).await?;
/// assert_eq!(rules.decide(&json!({"text": "a refund"})).target(), Some("billing"));
/// assert_eq!((rules.status().loaded, rules.stats().messages.decided), (1, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct WatchedRules {
    shared: Arc<SharedWatchedRules>,
    /// Watches the rule files. The watching ends when all clones are dropped, because the watching
    /// task holds only `shared`, not this value.
    watch: Arc<Watch>,
    statuses: watch::Receiver<WatchStatus>,
}

struct SharedWatchedRules {
    rules: ArcSwap<LoadedRules>,
    counters: RouterCounters,
    log: Option<DecisionLog>,
}

impl WatchTarget for Arc<SharedWatchedRules> {
    fn activate_version(&self, rules: LoadedRules) -> Result<u64, WatchError> {
        let generation = rules.rules.generation();
        self.rules.store(Arc::new(rules));
        Ok(generation)
    }

    fn active_generation(&self) -> u64 {
        self.rules.load().rules.generation()
    }
}

/// The settings from which [`WatchedRules`] are opened: the loader, the path and the decision log.
#[must_use]
pub struct WatchedRulesBuilder {
    loader: SourceLoader,
    path: PathBuf,
    log: Option<DecisionLog>,
}

impl std::fmt::Debug for WatchedRulesBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WatchedRulesBuilder({})", self.path.display())
    }
}

impl WatchedRulesBuilder {
    /// Sets the log to which decisions are written. By default, decisions are not logged.
    pub fn log(mut self, log: DecisionLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Loads the rule files and starts to watch them.
    ///
    /// Must run inside a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// If the current file cannot be loaded, or the operating system cannot watch files.
    pub async fn open(self) -> Result<WatchedRules, WatchError> {
        let files = WatchedFiles::new(self.loader, &self.path);
        let first = FirstRulesVersion::load(files).await?;
        let shared = Arc::new(SharedWatchedRules {
            rules: ArcSwap::from_pointee(first.rules.clone()),
            counters: RouterCounters::default(),
            log: self.log,
        });
        let generation = first.rules.rules.generation();
        let watch = first.watch(shared.clone(), generation)?;
        let statuses = watch.statuses();
        Ok(WatchedRules { shared, watch: Arc::new(watch), statuses })
    }
}

impl std::fmt::Debug for WatchedRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WatchedRules({:?})", self.shared.rules.load().rules)
    }
}

impl WatchedRules {
    /// Starts to build watched rules from a file, which `loader` loads. A `Compiler` may be given
    /// as the loader.
    pub fn builder(loader: impl Into<SourceLoader>, path: impl AsRef<Path>) -> WatchedRulesBuilder {
        WatchedRulesBuilder { loader: loader.into(), path: path.as_ref().to_owned(), log: None }
    }

    /// Loads a file with `loader` and watches it, without a decision log. A `Compiler` may be given
    /// as the loader.
    ///
    /// Must run inside a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// If the current file cannot be loaded, or the operating system cannot watch files.
    pub async fn open(
        loader: impl Into<SourceLoader>,
        path: impl AsRef<Path>,
    ) -> Result<WatchedRules, WatchError> {
        WatchedRules::builder(loader, path).open().await
    }

    /// Decides a message by the routes outside any table, in the active version of the rules.
    /// Counts and logs the decision.
    pub fn decide(&self, message: &Json) -> Decision {
        let (rules, time, start) = (self.rules(), OffsetDateTime::now_utc(), Instant::now());
        let decision = rules.decide(message);
        self.record_decision(rules, message, decision, time, start)
    }

    /// Decides a message by the entry of this name (a table, choice or router, or the flows) in the
    /// active version of the rules. Counts and logs the decision.
    ///
    /// # Errors
    /// If the active version has no such entry.
    pub fn decide_in(&self, entry: &str, message: &Json) -> Result<Decision, UnknownEntry> {
        let (rules, time, start) = (self.rules(), OffsetDateTime::now_utc(), Instant::now());
        let decision = rules.decide_in(entry, message)?;
        Ok(self.record_decision(rules, message, decision, time, start))
    }

    /// Like [`WatchedRules::decide`], but also awaits the results of the async host functions that
    /// rules call; see [`rulec::decide_async`].
    pub async fn decide_async(&self, message: &Json) -> Decision {
        let (rules, time, start) = (self.rules(), OffsetDateTime::now_utc(), Instant::now());
        let decision = rulec::decide_async(|| rules.decide(message)).await;
        self.record_decision(rules, message, decision, time, start)
    }

    /// Returns the active version of the rules. Decisions by the returned rules are neither counted
    /// nor logged.
    pub fn rules(&self) -> LiveRules {
        self.shared.rules.load().rules.clone()
    }

    /// Returns the active version of the rules as it was loaded. If the file is a JSON document,
    /// also returns the result of its import, with the payload context.
    pub fn loaded_rules(&self) -> LoadedRules {
        LoadedRules::clone(&self.shared.rules.load())
    }

    /// Returns the current state of the watched files.
    pub fn status(&self) -> WatchStatus {
        self.watch.status()
    }

    /// Waits until a version of the files becomes active or is refused, and returns the new state.
    /// Returns at once if such a change has happened since the previous call.
    pub async fn changed(&mut self) -> WatchStatus {
        next_status(&mut self.statuses).await
    }

    /// Waits until the state differs from `known`, and returns the new state. `None` if the
    /// watching has ended; see [`Watch::changed_since`].
    pub fn changed_since(
        &self,
        known: WatchStatus,
    ) -> impl Future<Output = Option<WatchStatus>> + Send + use<> {
        self.watch.changed_since(known)
    }

    /// Checks soon whether the files have changed, without waiting for a notification of the
    /// operating system. [`WatchedRules::changed`] reports a new version.
    pub fn check(&self) {
        self.watch.check();
    }

    /// Returns counts and latencies of the routes since the rules were opened. The list of handlers
    /// is empty.
    pub fn stats(&self) -> RouterStats {
        self.shared.counters.snapshot(std::iter::empty())
    }

    /// Returns the log to which decisions are written; `None` if no log was set.
    pub fn log(&self) -> Option<&DecisionLog> {
        self.shared.log.as_ref()
    }

    /// Counts and logs a decision with the result `decided` if a route was chosen, otherwise
    /// `no_route` or `invalid`.
    fn record_decision(
        &self,
        rules: LiveRules,
        message: &Json,
        decision: Decision,
        time: OffsetDateTime,
        start: Instant,
    ) -> Decision {
        let mut outcome = Outcome { elapsed: start.elapsed(), ..Outcome::from_decision(&decision) };
        let result = decided_result_name(&outcome, &decision);
        let table = outcome.path.last().unwrap_or(&outcome.entry);
        self.shared.counters.count_message(table, outcome.route.as_deref(), result, outcome.elapsed);
        if let Some(log) = &self.shared.log {
            let (decision, message) = (Arc::new(decision.clone()), Arc::new(message.clone()));
            let record = DecisionRecord { time, rules, decision, message, shadow_difference: None };
            log.queue_decision(record, &mut outcome, result);
        }
        decision
    }
}
