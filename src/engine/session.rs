//! Sessions. A session selects the engine and allocates the working memory once, so that each of
//! its decisions is fast.

use super::backend::Backend;
use super::decision::Decision;
use super::engine_choice::EngineChoice;
use super::input::{Input, PreparedMessage};
use super::set::RuleSetHandle;
use crate::history::{Past, RecordError, Store, StoreError};
use rulec_base::json::{DecimalPaths, JsonError};
use rulec_eval::decision::Choice;
use rulec_lang::value::Value;
use rulec_sema::hir::{RuleId, SlotId};
use rulec_vm::input::{InputPlan, SlotFiller};
use rulec_vm::vm::Scratch;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An entry (part of the rules that can decide, such as a table) with its own working memory, the
/// selected engine and its machine code. A session gives the same results as
/// [`Entry`](super::Entry) and is the fastest way to decide. A service keeps one session per
/// thread.
///
/// The session keeps its rules alive. A session cannot be used with other rules.
///
/// ```
/// use rulec::Rules;
/// use serde_json::json;
///
/// let rules = Rules::from_text("route small when n < 10 -> few\ndefault -> many")?;
/// let mut session = rules.session();
/// assert_eq!(session.decide(&json!({"n": 3})).target(), Some("few"));
/// assert_eq!(session.decide_line(br#"{"n": 30}"#)?.target(), Some("many"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    rules: Arc<RuleSetHandle>,
    engine_choice: EngineChoice,
    scratch: Scratch,
    /// The generation (version number) of the session's rules.
    generation: u64,
    /// The store of recorded messages; `None` if decisions read no history.
    history_store: Option<Arc<dyn Store>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = &self.rules.program.tables[self.engine_choice.table.index()];
        write!(f, "Session({}, generation {})", table.name, self.rules.generation)
    }
}

impl Session {
    /// Creates a session. `rules` is a reference counter of the rule set for this session alone, so
    /// that sessions on several threads do not contend for one counter.
    pub(super) fn new(rules: Arc<RuleSetHandle>, engine_choice: EngineChoice) -> Session {
        Session {
            generation: rules.generation,
            rules,
            engine_choice,
            scratch: Scratch::new(),
            history_store: None,
        }
    }

    /// Makes the session decide by another entry (table, choice, router or flow set) of the same
    /// rules. The session keeps its working memory.
    pub(super) fn set_engine_choice(&mut self, engine_choice: EngineChoice) {
        self.engine_choice = engine_choice;
    }

    /// Decides for a message by the entry (table, choice, router or flow set) of the session.
    ///
    /// Reads no history, also if the session has a store: a store can fail, and this call returns
    /// no error. A decision without the history could permit what the history forbids. Use
    /// [`Session::decide_with_history`], and [`Session::record`] after it.
    pub fn decide(&mut self, message: &Json) -> Decision {
        self.engine_choice.decide(&self.rules, &mut self.scratch, Input::Tree(message))
    }

    /// Returns this session with a store of recorded messages. The calls
    /// [`Session::decide_and_record`] and [`Session::decide_with_history`] then read these messages
    /// as `history`; [`Session::decide`] does not.
    ///
    /// ```
    /// use rulec::Rules;
    /// use rulec::history::MemoryStore;
    /// use serde_json::json;
    /// use std::sync::Arc;
    ///
    /// let rules = Rules::from_text(
    ///     "input { tool: string, user: string, now: datetime }
    ///      history by user keep 24h
    ///      route too_fast when (count p in history within 1m: p.tool == tool) >= 2 -> slow_down
    ///      default -> run",
    /// )?;
    /// let mut session = rules.session().with_history(Arc::new(MemoryStore::default()));
    /// let call = json!({"tool": "search", "user": "ann", "now": "2026-01-31T12:00:00Z"});
    /// assert_eq!(session.decide_and_record(&call)?.target(), Some("run"));
    /// assert_eq!(session.decide_and_record(&call)?.target(), Some("run"));
    /// assert_eq!(session.decide_and_record(&call)?.target(), Some("slow_down"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_history(mut self, store: Arc<dyn Store>) -> Session {
        self.history_store = Some(store);
        self
    }

    /// Decides a message like [`Session::decide`]. Rules can read, as `history`, the recorded
    /// messages that have the same history key as this message. Records nothing.
    ///
    /// # Errors
    /// If the store fails.
    pub fn decide_with_history(&mut self, message: &Json) -> Result<Decision, StoreError> {
        let past = match &self.history_store {
            Some(store) => self.rules.past(&**store, message)?,
            None => Past::default(),
        };
        Ok(self.decide_with_owned_past(past, message))
    }

    /// Decides a message, with `past` as the recorded messages that the rules read as `history`;
    /// see [`Rules::past`](crate::Rules::past).
    pub fn decide_with_past(&mut self, past: &Past, message: &Json) -> Decision {
        self.decide_with_owned_past(past.clone(), message)
    }

    /// Records a message together with its decision; see [`Rules::record`](crate::Rules::record).
    ///
    /// # Errors
    /// The errors of [`Rules::record`](crate::Rules::record).
    pub fn record(&self, message: &Json, decision: &Decision) -> Result<(), RecordError> {
        let store = self.history_store.as_deref().ok_or(RecordError::NoStore)?;
        self.rules.insert_message(store, message, Some(decision))
    }

    /// Records a message without deciding it; see [`Rules::observe`](crate::Rules::observe).
    ///
    /// # Errors
    /// The errors of [`Rules::record`](crate::Rules::record).
    pub fn observe(&self, message: &Json) -> Result<(), RecordError> {
        let store = self.history_store.as_deref().ok_or(RecordError::NoStore)?;
        self.rules.insert_message(store, message, None)
    }

    /// Decides a message with its history, and records the message. No other message with the same
    /// key is recorded between the decision and the recording.
    ///
    /// # Errors
    /// The errors of [`Rules::record`](crate::Rules::record).
    pub fn decide_and_record(&mut self, message: &Json) -> Result<Decision, RecordError> {
        let store = self.history_store.clone().ok_or(RecordError::NoStore)?;
        let rules = Arc::clone(&self.rules);
        let decide = |past| Some(self.decide_with_owned_past(past, message));
        let decision = rules.decide_and_insert(&*store, message, decide)?;
        decision.ok_or_else(|| StoreError::work_not_called_error().into())
    }

    /// Decides a message, with `past` as the recorded messages that the rules read as `history`.
    fn decide_with_owned_past(&mut self, past: Past, message: &Json) -> Decision {
        let mut scratch = self.scratch.with_history(past);
        self.engine_choice.decide(&self.rules, &mut scratch, Input::Tree(message))
    }

    /// Decides for a message given as JSON text; see
    /// [`Entry::decide_line`](super::Entry::decide_line).
    pub fn decide_line(&mut self, text: &[u8]) -> Result<Decision, JsonError> {
        self.engine_choice.decide_line(&self.rules, &mut self.scratch, text)
    }

    /// Returns the message fields whose numbers are read as exact decimals, not as floats. Not part
    /// of the stable API.
    #[doc(hidden)]
    pub fn decimal_paths(&self) -> &DecimalPaths {
        &self.rules.decimal_paths
    }

    /// Masks the keys of `@private` dicts in an error about the JSON text of a message; see
    /// [`Rules::masked_error`](super::Rules::masked_error).
    #[must_use]
    pub fn masked_error(&self, error: JsonError) -> JsonError {
        self.rules.program.message_privacy().mask_error(error)
    }

    /// Decides for any value that serializes to a JSON object; see
    /// [`Entry::decide_value`](super::Entry::decide_value).
    ///
    /// # Errors
    /// If the value cannot be represented as JSON, or is not an object.
    pub fn decide_value<T: Serialize>(&mut self, message: &T) -> Result<Decision, serde_json::Error> {
        self.engine_choice.decide_value(&self.rules, &mut self.scratch, message, |decide| decide())
    }

    /// Decides for a message that [`Rules::prepare`](super::Rules::prepare) has read. If other
    /// rules prepared the message, the message is read again.
    pub fn decide_prepared(&mut self, message: &PreparedMessage<'_>) -> Decision {
        self.engine_choice.decide_prepared(&self.rules, &mut self.scratch, message)
    }

    /// Returns only the statement that [`Session::decide_prepared`] chooses. Arguments are not
    /// evaluated, and failures of host functions are not reported.
    #[inline]
    pub fn choose(&mut self, message: &PreparedMessage<'_>) -> Choice {
        self.engine_choice.choose_statement(&self.rules, self.generation, &mut self.scratch, message)
    }

    /// Returns only the chosen statement, as [`Session::choose`], with `past` as the recorded
    /// messages that the rules read as `history`.
    pub(super) fn choose_with_past(&mut self, past: Past, message: &PreparedMessage<'_>) -> Choice {
        let mut scratch = self.scratch.with_history(past);
        self.engine_choice.choose_statement(&self.rules, self.generation, &mut scratch, message)
    }

    /// Decides for a message in another format than JSON, such as a row of columnar data. `source`
    /// reads it from `data` into slots (one value for each field that the rules use). `None` if
    /// `source` returns `None` or the message must be read as a JSON tree. The caller must then
    /// decide on the JSON tree. Not part of the stable API.
    #[doc(hidden)]
    pub fn decide_from<D: ?Sized>(
        &mut self,
        data: &D,
        source: impl for<'f> FnOnce(&mut SlotFiller<'f>, &'f D) -> Option<()>,
    ) -> Option<Decision> {
        self.engine_choice.decide_from_source(&self.rules, &mut self.scratch, data, source)
    }

    /// Decides for a message that the caller has read into slots: one value for each field that the
    /// rules use. Precondition: the message does not violate the `input` declaration. `None` if the
    /// message must be read as a JSON tree. Not part of the stable API.
    #[doc(hidden)]
    pub fn decide_slots(&mut self, slots: &[Value<'_>]) -> Option<Decision> {
        self.plan()?;
        Some(self.engine_choice.decide(&self.rules, &mut self.scratch, Input::Slots(slots.into(), &[])))
    }

    /// Returns every route of the session's entry (such as a table) whose condition holds, in
    /// evaluation order. `source` reads the message from `data`. `None` if `source` returns `None`
    /// or the message must be read as a JSON tree. Not part of the stable API.
    #[doc(hidden)]
    pub fn matched_from<D: ?Sized>(
        &mut self,
        data: &D,
        source: impl for<'f> FnOnce(&mut SlotFiller<'f>, &'f D) -> Option<()>,
    ) -> Option<Vec<RuleId>> {
        self.engine_choice.matching_rules_from_source(&self.rules, &mut self.scratch, data, source)
    }

    /// Returns the plan that maps message fields to slots (one value for each field that the rules
    /// use). `None` if messages must be read as JSON trees. Not part of the stable API.
    #[doc(hidden)]
    pub fn plan(&self) -> Option<&InputPlan> {
        self.engine_choice.input_plan(&self.rules)
    }

    /// Returns the slots (fields that rules read) that a decision of this session may read. Not
    /// part of the stable API.
    #[doc(hidden)]
    pub fn read_slots(&self) -> BTreeSet<SlotId> {
        self.rules.program.fields_of_decision(self.engine_choice.table)
    }

    /// Returns the names of all routes of the session's entry (such as a table) whose conditions
    /// hold, in evaluation order. A jump (`goto`) is listed if its own condition holds; the routes
    /// of its target are not listed.
    pub fn matched(&mut self, message: &Json) -> Vec<&str> {
        let ids = self.engine_choice.matching_rules(&self.rules, &mut self.scratch, Input::Tree(message));
        ids.into_iter().map(|id| &*self.rules.program.rules[id.index()].name).collect()
    }

    /// Returns the engine for the next message that is a JSON tree. With the tier `auto`, messages
    /// whose fields were read in advance may use another engine.
    pub fn backend(&mut self) -> Backend {
        self.engine_choice.backend(&self.rules, true)
    }
}

#[cfg(all(test, feature = "jit"))]
impl Session {
    /// Returns the engine for the next message that is already read into slots (one value for each
    /// field that the rules use).
    pub(super) fn slots_backend(&mut self) -> Backend {
        self.engine_choice.backend(&self.rules, false)
    }
}
