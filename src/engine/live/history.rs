//! Decisions of live rules that read a history (the messages recorded earlier). A store is
//! independent of the rules. So an edit of the rules keeps the history, and the edited rules read
//! it.

use super::LiveRules;
use super::decide::decide_in_snapshot;
use crate::engine::{Decision, UnknownEntry};
use crate::history::{Past, RecordError, Store, StoreError};
use rulec_base::broken_invariant;
use rulec_sema::hir::ROUTES_TABLE;
use serde_json::Value as Json;

impl LiveRules {
    /// True if the rules have a `history` statement.
    pub fn has_history(&self) -> bool {
        self.rules().has_history()
    }

    /// Returns the recorded messages that a decision about `message` can read as `history`; see
    /// [`Rules::past`](crate::Rules::past).
    ///
    /// # Errors
    /// If the store fails.
    pub fn past(&self, store: &dyn Store, message: &Json) -> Result<Past, StoreError> {
        self.rules().past(store, message)
    }

    /// Records a message together with its decision; see [`Rules::record`](crate::Rules::record).
    ///
    /// # Errors
    /// The errors of [`Rules::record`](crate::Rules::record).
    pub fn record(&self, store: &dyn Store, message: &Json, decision: &Decision) -> Result<(), RecordError> {
        self.rules().record(store, message, decision)
    }

    /// Records a message without deciding it.
    ///
    /// # Errors
    /// The errors of [`Rules::record`](crate::Rules::record).
    pub fn observe(&self, store: &dyn Store, message: &Json) -> Result<(), RecordError> {
        self.rules().observe(store, message)
    }

    /// Decides a message by an entry (table, choice, router or flow set). `entry` is the name of
    /// the entry, and `past` are the recorded messages that its rules can read as `history`.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn decide_with_history(
        &self,
        entry: &str,
        message: &Json,
        past: &Past,
    ) -> Result<Decision, UnknownEntry> {
        let snapshot = self.shared.snapshot.load();
        let table = snapshot.base.rules.entry(entry)?.id();
        Ok(decide_in_snapshot(&snapshot, table, message, Some(past)))
    }

    /// Decides a message by the top-level routes, with its history, and records the message. No
    /// other message with the same key is recorded between the decision and the recording.
    ///
    /// ```
    /// use rulec::history::MemoryStore;
    /// use rulec::{Compiler, LiveRules};
    /// use serde_json::json;
    ///
    /// let rules = LiveRules::from_text(
    ///     Compiler::new(),
    ///     "input { tool: string, now: datetime }
    ///      history keep 1h
    ///      default -> run",
    /// )?;
    /// let store = MemoryStore::default();
    /// let call = json!({"tool": "search", "now": "2026-01-31T12:00:00Z"});
    /// assert_eq!(rules.decide_and_record(&store, &call)?.target(), Some("run"));
    /// rules.insert("route again when (count p in history: true) >= 1 -> deny")?;
    /// assert_eq!(rules.decide_and_record(&store, &call)?.target(), Some("deny"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Rules::record`](crate::Rules::record).
    pub fn decide_and_record(&self, store: &dyn Store, message: &Json) -> Result<Decision, RecordError> {
        let snapshot = self.shared.snapshot.load_full();
        let rules = &snapshot.base.rules;
        let Ok(entry) = rules.entry(ROUTES_TABLE) else {
            broken_invariant!("every rule set has the table of routes");
            return Err(StoreError::work_not_called_error().into());
        };
        let decide = |past: Past| Some(decide_in_snapshot(&snapshot, entry.id(), message, Some(&past)));
        let decision = rules.rule_set().decide_and_insert(store, message, decide)?;
        decision.ok_or_else(|| StoreError::work_not_called_error().into())
    }
}
