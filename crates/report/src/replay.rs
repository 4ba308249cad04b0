//! Repeats the decisions about the messages of a log or a file, in order, with their history. The
//! messages are recorded in memory, so that later decisions can read them. `doctor`, `diff
//! --replay`, the report and the studio use this module, so that all of them decide alike.

use rulec::history::{MemoryStore, Past};
use rulec::{Decision, Entry, Rules, Session};
use serde_json::Value as Json;
use std::sync::Arc;

/// The messages that were replayed so far, as the history of the next ones.
pub struct ReplayHistory<'r> {
    rules: &'r Rules,
    /// `None` if the rules keep no history.
    store: Option<Arc<MemoryStore>>,
}

impl<'r> ReplayHistory<'r> {
    /// Creates a history without messages.
    pub fn new(rules: &'r Rules) -> ReplayHistory<'r> {
        ReplayHistory { rules, store: rules.has_history().then(Arc::default) }
    }

    /// Returns the store of the recorded messages; `None` if the rules keep no history.
    pub fn store(&self) -> Option<&Arc<MemoryStore>> {
        self.store.as_ref()
    }

    /// Records a message that is not decided. Does nothing if the rules keep no history, or if the
    /// message has no time or no key.
    pub fn observe(&self, message: &Json) {
        if let Some(store) = &self.store {
            let _ = self.rules.observe(&**store, message);
        }
    }

    /// Decides a message by `entry`, such as a table of these rules, and records it. The result is
    /// only needed by later decisions. A message without a time or a key is not recorded.
    pub fn decide(&self, entry: Entry<'_>, message: &Json) {
        if let Some(store) = &self.store {
            let _ = entry.decide_and_record(&**store, message);
        }
    }

    /// Records a message that is not decided, and returns the earlier messages that a judgement of
    /// a payload with this message reads. A message without a time or a key is not recorded.
    pub fn observe_and_return_past(&self, message: &Json) -> Past {
        let Some(store) = &self.store else { return Past::default() };
        let recorded = self.rules.observe_and_keep(&**store, message);
        recorded.or_else(|_| self.rules.past(&**store, message)).unwrap_or_default()
    }

    /// Decides a message by `entry`, such as a table of these rules, and records it. Returns the
    /// earlier messages that the decision has read. A message without a time or a key is not
    /// recorded.
    pub fn decide_and_return_past(&self, entry: Entry<'_>, message: &Json) -> Past {
        let Some(store) = &self.store else { return Past::default() };
        match entry.decide_record_and_keep(&**store, message, usize::MAX) {
            Ok((_, past)) => past.unwrap_or_default(),
            Err(_) => self.rules.past(&**store, message).unwrap_or_default(),
        }
    }
}

/// Decides a message with the history of the session's store, and records it. The message is only
/// decided if the rules keep no history, or if the message has no time or no key.
pub fn decide_and_record(session: &mut Session, message: &Json) -> Decision {
    session.decide_and_record(message).unwrap_or_else(|_| {
        // The fallback is never needed, because a store in memory does not fail.
        session.decide_with_history(message).unwrap_or_else(|_| session.decide(message))
    })
}
