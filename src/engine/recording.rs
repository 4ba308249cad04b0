//! Records messages in a store, with or without their decision. Later decisions read these messages
//! as `history`.

use super::Rules;
use super::decision::Decision;
use super::set::RuleSet;
use crate::history::{self, Events, HistoryPlan, Past, RecordError, Store, StoreError, time_of_message};
use serde_json::Value as Json;
use time::OffsetDateTime;

impl RuleSet {
    /// Returns the recorded messages that a decision about `message` can read; see [`Rules::past`].
    pub(super) fn past(&self, store: &dyn Store, message: &Json) -> Result<Past, StoreError> {
        let Some(plan) = self.history_plan() else { return Ok(Past::default()) };
        let Some(key) = plan.history_key(message) else { return Ok(plan.past_without_key()) };
        let mut past = None;
        history::with_key_unless_nested(store, &key, &mut |events| past = Some(plan.past(events, message)))?;
        Ok(past.unwrap_or_default())
    }

    /// Records a message. `decision` is the decision about it; `None` if no decision was made.
    pub(super) fn insert_message(
        &self,
        store: &dyn Store,
        message: &Json,
        decision: Option<&Decision>,
    ) -> Result<(), RecordError> {
        self.decide_and_insert(store, message, |_| decision.cloned()).map(drop)
    }

    /// Calls `decide` with the recorded messages that a decision about `message` can read. Then
    /// records the message with this decision. No other message with the same history key is
    /// recorded during this call.
    pub(super) fn decide_and_insert(
        &self,
        store: &dyn Store,
        message: &Json,
        mut decide: impl FnMut(Past) -> Option<Decision>,
    ) -> Result<Option<Decision>, RecordError> {
        let mut decision = None;
        self.with_events(store, message, |plan, at, events| {
            decision = decide(plan.past(events, message));
            let names = decision.as_ref().map(|decision| [decision.chosen(), decision.target()]);
            let element = plan.create_element(message, names, events);
            events.insert(at, element, plan);
        })?;
        Ok(decision)
    }

    /// Calls `work` with the history plan (how to record messages), the time of `message`, and the
    /// recorded messages with the same history key.
    fn with_events(
        &self,
        store: &dyn Store,
        message: &Json,
        mut work: impl FnMut(&HistoryPlan, OffsetDateTime, &mut Events),
    ) -> Result<(), RecordError> {
        let plan = self.history_plan().ok_or(RecordError::NoHistory)?;
        let key = plan.history_key(message).ok_or_else(|| RecordError::NoKey(plan.key_path()))?;
        let at = time_of_message(message).ok_or(RecordError::NoTime)?;
        history::with_key_unless_nested(store, &key, &mut |events| work(plan, at, events))?;
        Ok(())
    }
}

impl Rules {
    /// True if the rules have a `history` statement.
    pub fn has_history(&self) -> bool {
        self.rule_set().history_plan().is_some()
    }

    /// Records a message without a decision, and returns the messages that were recorded before. No
    /// other message with the same key is recorded during this call. Not part of the stable API.
    ///
    /// # Errors
    /// The errors of [`Rules::record`].
    #[doc(hidden)]
    pub fn observe_and_keep(&self, store: &dyn Store, message: &Json) -> Result<Past, RecordError> {
        let mut read = Past::default();
        let keep = |past: Past| {
            read = past.to_owned_view();
            None
        };
        self.rule_set().decide_and_insert(store, message, keep)?;
        Ok(read)
    }

    /// True if the history contains hashes of private texts. A store then needs a secret
    /// [`HashKey`](crate::history::HashKey), which it must store as long as the messages.
    pub fn hashes_history(&self) -> bool {
        self.rule_set().history_plan().is_some_and(HistoryPlan::has_hashes)
    }

    /// Returns the recorded messages that a decision about `message` can read as `history`. Empty
    /// if the rules have no `history` statement, or if the message has no key.
    ///
    /// # Errors
    /// If the store fails.
    pub fn past(&self, store: &dyn Store, message: &Json) -> Result<Past, StoreError> {
        self.rule_set().past(store, message)
    }

    /// Records a message together with the decision about it. The time of the message is its field
    /// `now`.
    ///
    /// # Errors
    /// If the message has no key or no time, if the rules keep no history, or if the store fails.
    pub fn record(&self, store: &dyn Store, message: &Json, decision: &Decision) -> Result<(), RecordError> {
        self.rule_set().insert_message(store, message, Some(decision))
    }

    /// Records a message with the names of the statement and of the handler that an earlier
    /// decision about it chose, for example from a log. Not part of the stable API.
    ///
    /// # Errors
    /// The errors of [`Rules::record`].
    #[doc(hidden)]
    pub fn record_names(
        &self,
        store: &dyn Store,
        message: &Json,
        statement_and_handler: [Option<&str>; 2],
    ) -> Result<(), RecordError> {
        self.rule_set().with_events(store, message, |plan, at, events| {
            let element = plan.create_element(message, Some(statement_and_handler), events);
            events.insert(at, element, plan);
        })
    }

    /// Returns the key of the history to which a message belongs. `None` if the message has no key,
    /// or if the rules keep no history. Not part of the stable API.
    #[doc(hidden)]
    pub fn history_key(&self, message: &Json) -> Option<String> {
        self.rule_set().history_plan()?.history_key(message)
    }

    /// Records a message without a decision, such as the result of a tool.
    ///
    /// # Errors
    /// The errors of [`Rules::record`].
    pub fn observe(&self, store: &dyn Store, message: &Json) -> Result<(), RecordError> {
        self.rule_set().insert_message(store, message, None)
    }
}
