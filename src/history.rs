//! Histories: the messages recorded before a decision, which rules read as `history`.
//!
//! A [`Store`] stores the messages of each history key, such as a user id. Deciding does not record
//! a message. The embedding program records a message after its decision, or observes a message
//! without deciding it. See [`Session::with_history`](crate::Session::with_history).

mod cache;
mod in_use;
mod memory;
mod pack;

pub use cache::EventCache;
pub(crate) use in_use::with_key_unless_nested;
pub use memory::MemoryStore;
pub use rulec_lang::history::{HashKey, HistoryGap};
pub use rulec_vm::vm::Past;

use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::history::{DECISION_FIELD, HASH_FIELD, Timeline};
use rulec_lang::value::{Value, format_datetime, parse_datetime};
use rulec_sema::hir::{History, HistoryReach, HistoryReads, KeptFields, Program, Slot};
use rulec_vm::vm::HistoryMemo;
use serde_json::{Map, Value as Json};
use std::sync::{Arc, Mutex, PoisonError};
use time::{Duration, OffsetDateTime};

/// The field of a message that contains its time, from which the age of recorded messages is
/// computed.
const NOW_FIELD: &str = "now";

/// A store of the recorded messages of each history key, such as a user id.
pub trait Store: Send + Sync {
    /// Calls `work` with the recorded messages of a history key, and stores the changes that `work`
    /// makes. Calls for the same key run one after another. `work` must not use a history itself,
    /// because two such calls could wait for each other for ever.
    ///
    /// If several processes share a store, another process may change the messages during the call.
    /// The store then calls `work` again with the changed messages. Only the changes of the last
    /// call of `work` are stored.
    ///
    /// # Errors
    /// If the messages cannot be read, or the changes cannot be stored.
    fn with_key(&self, key: &str, work: &mut dyn FnMut(&mut Events)) -> Result<(), StoreError>;
}

/// Error: a store cannot read or store messages. Contains the reason in English.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the history cannot be kept: {0}")]
pub struct StoreError(pub String);

impl StoreError {
    pub(crate) fn work_not_called_error() -> StoreError {
        StoreError("the store did not call its work".to_owned())
    }

    /// Returns the error for a function of the embedding program that uses a history during a
    /// decision that reads a history.
    pub(crate) fn history_in_use_error() -> StoreError {
        StoreError("a decision reads a history now; record the message after the decision".to_owned())
    }
}

/// Error: a message cannot be recorded in a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub enum RecordError {
    /// The rules have no `history` statement.
    NoHistory,
    /// The message has no key: the field at this path is missing, or its value cannot be a key.
    NoKey(String),
    /// The message has no time `now`.
    NoTime,
    /// The session has no store, which [`Session::with_history`](crate::Session::with_history)
    /// would set.
    NoStore,
    /// The store has failed to read or store messages.
    Store(StoreError),
}

impl RecordError {
    /// Returns the problem and a suggested fix as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            RecordError::NoHistory => {
                message!("the rules keep no history; declare one: `history by ctx.session keep 24h`")
            }
            RecordError::NoKey(path) => {
                message!("the message has no `{path}`, which separates histories; add it to the message")
            }
            RecordError::NoTime => {
                message!("the message has no time `now`; add it, as in \"now\": \"2026-01-31T12:00:00Z\"")
            }
            RecordError::NoStore => {
                message!("the session has no store; give it one: `session.with_history(store)`")
            }
            RecordError::Store(error) => Message::verbatim(error.to_string()),
        }
    }
}

impl From<StoreError> for RecordError {
    fn from(error: StoreError) -> RecordError {
        RecordError::Store(error)
    }
}

/// The recorded messages of one history key, oldest first. A recorded message is called an element.
#[derive(Debug)]
pub struct Events {
    timeline: Arc<Timeline>,
    /// Results of conditions on the recorded messages, which later decisions reuse.
    memo: Arc<Mutex<HistoryMemo>>,
    changes: Option<Changes>,
    stamp: Option<Box<str>>,
}

/// The changes that the function `work` of [`Store::with_key`] made to the messages of a history
/// key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The inserted messages. Each was inserted in the order of its time `at`, after other messages
    /// with the same time.
    pub inserted: Vec<Json>,
    /// How many of the oldest messages were removed after the insertions.
    pub removed: usize,
}

impl Events {
    /// Creates an empty list of recorded messages for one history key. A store must use the same
    /// `hash_key` for all its keys, and must store it as long as the messages.
    pub fn new(hash_key: HashKey) -> Events {
        Events::from_elements(Vec::new(), hash_key)
    }

    /// Creates the list of recorded messages of a history key from saved messages, which
    /// [`Events::elements`] has returned. `hash_key` must be the key with which their private texts
    /// were hashed.
    pub fn from_elements(elements: Vec<Json>, hash_key: HashKey) -> Events {
        let timeline = Timeline::from_elements(elements).with_hash_key(hash_key);
        Events { timeline: Arc::new(timeline), memo: Arc::default(), changes: None, stamp: None }
    }

    /// Returns these events (recorded messages) with `dropped` as the time that [`Events::dropped`]
    /// returns. A store passes the time that it has saved with the events, as RFC 3339 text.
    #[must_use]
    pub fn with_dropped(self, dropped: Option<&str>) -> Events {
        let timeline =
            Arc::unwrap_or_clone(self.timeline).with_last_dropped_time(dropped.and_then(parse_datetime));
        Events { timeline: Arc::new(timeline), ..self }
    }

    /// Returns these events (recorded messages) with recording of changes switched on, for
    /// [`Events::take_changes`].
    #[must_use]
    pub fn with_changes(self) -> Events {
        Events { changes: Some(Changes::default()), ..self }
    }

    /// Returns the recorded messages, oldest first. Each is a JSON object with the recorded fields
    /// of the message, and fields that the history adds, such as its time `at`.
    pub fn elements(&self) -> &[Json] {
        self.timeline.elements()
    }

    /// Returns the time of the newest message that was removed before it was too old, for example
    /// by the bound `at most`, as RFC 3339 text. `None` if no message was removed in this way.
    pub fn dropped(&self) -> Option<String> {
        self.timeline.last_dropped_time().map(format_datetime)
    }

    /// Sets a text that a shared store keeps with the recorded messages, for example their version
    /// at a server. This crate does not interpret the text.
    pub fn set_stamp(&mut self, stamp: &str) {
        self.stamp = Some(stamp.into());
    }

    /// Returns the text that [`Events::set_stamp`] has set last. `None` if it was never set.
    pub fn stamp(&self) -> Option<&str> {
        self.stamp.as_deref()
    }

    /// Returns the messages that were inserted into this history since the last call of this
    /// function, and the number of messages that were removed. Always empty without
    /// [`Events::with_changes`].
    pub fn take_changes(&mut self) -> Changes {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Inserts the recorded message `element` in the order of time. Then removes the messages that
    /// are too old for `plan`, and the oldest messages above its bound `at most`.
    pub(crate) fn insert(&mut self, at: OffsetDateTime, element: Map<String, Json>, plan: &HistoryPlan) {
        if Arc::get_mut(&mut self.timeline).is_none() {
            // A decision still reads the old timeline, and may store results for its positions in
            // the old memo.
            self.memo = Arc::default();
        }
        let timeline = Arc::make_mut(&mut self.timeline);
        let position = timeline.insert(at, element);
        if let Some(changes) = &mut self.changes {
            let index = usize::try_from(position - timeline.first_position()).unwrap_or(0);
            changes.inserted.extend(timeline.elements().get(index).cloned());
        }
        let expired = timeline.newest_time().map_or(0, |newest| plan.first_kept_index(timeline, newest));
        timeline.remove_oldest(expired);
        let removed = expired + timeline.drop_surplus(plan.max_messages);
        if let Some(changes) = &mut self.changes {
            changes.removed += removed;
        }
        self.memo.lock().unwrap_or_else(PoisonError::into_inner).invalidate_from(position);
    }
}

/// How to record messages for a program. Derived from the program's `history` statement, and from
/// the fields that its rules read in `history`.
#[derive(Debug)]
pub(crate) struct HistoryPlan {
    key_slot: Option<Slot>,
    max_age: Option<Duration>,
    max_messages: usize,
    kept_fields: KeptFields,
    /// The paths among `kept_fields` whose private texts are stored as hashes.
    hashed_paths: Vec<Vec<Arc<str>>>,
    reach: HistoryReach,
    /// Whether any rule of the program reads the history (the messages recorded earlier).
    reads_history: bool,
}

impl HistoryPlan {
    /// Returns how to record messages for a program. `None` if the program has no `history`
    /// statement.
    pub fn new(program: &Program) -> Option<HistoryPlan> {
        let history = program.history.as_ref()?;
        let HistoryReads { kept: kept_fields, reach, .. } = program.history_reads();
        Some(HistoryPlan {
            key_slot: history.key.map(|slot| program.slots[slot.index()].clone()),
            max_age: history
                .max_age_ms
                .map(|keep| Duration::milliseconds(i64::try_from(keep).unwrap_or(i64::MAX))),
            max_messages: usize::try_from(history.max_messages.unwrap_or(History::DEFAULT_MAX_MESSAGES))
                .unwrap_or(usize::MAX),
            kept_fields,
            hashed_paths: history.hashed_paths.clone(),
            reach,
            reads_history: program.history_slot().is_some(),
        })
    }

    /// Returns the history key of a message. Empty text if all messages share one history. `None`
    /// if the message lacks the key field, or its value cannot be a key.
    pub(crate) fn history_key(&self, message: &Json) -> Option<String> {
        let Some(slot) = &self.key_slot else { return Some(String::new()) };
        match slot.load(message) {
            // The quotation mark keeps the text "1" and the number 1 apart.
            Value::Str(text) => Some(["\"", text].concat()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Int(int) => Some(int.to_string()),
            Value::Wide(int) => Some(int.to_string()),
            _ => None,
        }
    }

    /// True if private texts of recorded messages are stored as hashes.
    pub(crate) fn has_hashes(&self) -> bool {
        !self.hashed_paths.is_empty()
    }

    /// Returns the path of the field that is the history key. Empty text if all messages share one
    /// history.
    pub(crate) fn key_path(&self) -> String {
        self.key_slot.as_ref().map(Slot::name).unwrap_or_default()
    }

    /// True if the messages recorded with this plan are sufficient for rules with the plan `other`.
    pub(crate) fn covers(&self, other: &HistoryPlan) -> bool {
        let is_kept = |path: &Vec<Arc<str>>| {
            let is_hashed = |plan: &HistoryPlan| plan.hashed_paths.contains(path);
            let is_read = self.kept_fields.contains(path) || self.kept_fields.contains(&Vec::new());
            is_read && is_hashed(self) == is_hashed(other)
        };
        other.kept_fields.iter().all(is_kept)
            && other.reach <= self.reach
            && other.reads_history <= self.reads_history
    }

    /// Returns the index of the first recorded message that is not too old at the time `now`.
    fn first_kept_index(&self, timeline: &Timeline, now: OffsetDateTime) -> usize {
        let oldest = self.max_age.and_then(|keep| now.checked_sub(keep));
        oldest.map_or(0, |oldest| timeline.first_index_since(oldest))
    }

    /// Returns the history that the decision about `message` reads in a test. `elements` are the
    /// earlier messages that the test lists, oldest first.
    pub(crate) fn past_of_test(&self, mut elements: Vec<Json>, message: &Json) -> Past {
        let hash_key = HashKey::default();
        elements.iter_mut().for_each(|element| self.hash_private_texts(element, hash_key));
        let mut timeline = Timeline::from_elements(elements).with_hash_key(hash_key);
        timeline.drop_surplus(self.max_messages);
        self.past_in_timeline(&Arc::new(timeline), None, message)
    }

    /// Returns the part of the recorded messages in `events` that the decision about `message` can
    /// read.
    pub(crate) fn past(&self, events: &Events, message: &Json) -> Past {
        self.past_in_timeline(&events.timeline, Some(&events.memo), message)
    }

    /// Returns the empty history for a message that has no history key.
    pub(crate) fn past_without_key(&self) -> Past {
        Past::default().with_gap(self.reads_history.then_some(HistoryGap::NoKey))
    }

    fn past_in_timeline(
        &self,
        timeline: &Arc<Timeline>,
        memo: Option<&Arc<Mutex<HistoryMemo>>>,
        message: &Json,
    ) -> Past {
        let now = time_of_message(message);
        let start = now.map_or(0, |now| self.first_kept_index(timeline, now));
        let is_dropped = timeline.last_dropped_time().is_some_and(|dropped| self.would_read(dropped, now));
        Past::new(Arc::clone(timeline), start, memo.cloned())
            .with_gap(is_dropped.then_some(HistoryGap::Dropped))
    }

    /// True if a decision at the time `now` would read a message of the time `at`, if that message
    /// were still stored.
    fn would_read(&self, at: OffsetDateTime, now: Option<OffsetDateTime>) -> bool {
        let since = |age: Duration| now.and_then(|now| now.checked_sub(age));
        let windows_start = match self.reach {
            HistoryReach::Nothing => return false,
            HistoryReach::Within(age) => {
                since(Duration::milliseconds(i64::try_from(age).unwrap_or(i64::MAX)))
            }
            HistoryReach::Everything => None,
        };
        let kept_since = self.max_age.and_then(since);
        windows_start.is_none_or(|start| at >= start) && kept_since.is_none_or(|start| at >= start)
    }

    /// Replaces the private texts of a message, at the paths in `hashed_paths`, by their hashes.
    /// Removes any other value at these paths, because only texts can be hashed.
    fn hash_private_texts(&self, element: &mut Json, hash_key: HashKey) {
        for path in &self.hashed_paths {
            let Some((last, parents)) = path.split_last() else { continue };
            let parent = parents.iter().try_fold(&mut *element, |value, name| value.get_mut(&**name));
            let Some(Json::Object(record)) = parent else { continue };
            match record.get_mut(&**last) {
                Some(Json::String(text)) => {
                    let hash = Map::from_iter([(HASH_FIELD.to_owned(), hash_key.hash(text).into())]);
                    record.insert(last.to_string(), hash.into());
                }
                _ => drop(record.remove(&**last)),
            }
        }
    }

    /// Converts a message to an element of the history, without its time and position. `decision`
    /// contains the names of the chosen statement and of the handler. It is `None` if the message
    /// is recorded without a decision.
    pub(crate) fn create_element(
        &self,
        message: &Json,
        decision: Option<[Option<&str>; 2]>,
        events: &Events,
    ) -> Map<String, Json> {
        let mut element = self.recorded_fields(message, events.timeline.hash_key());
        // The message may have an undeclared field with this name, which must not be taken for the
        // decision.
        element.remove(DECISION_FIELD);
        if let Some([chosen, target]) = decision {
            let names = [("chosen", chosen), ("target", target)];
            let names = names.into_iter().filter_map(|(key, name)| Some((key.to_owned(), name?.into())));
            element.insert(DECISION_FIELD.to_owned(), names.collect::<Map<_, _>>().into());
        }
        element
    }

    /// Returns the fields of a message that are recorded: the fields that rules read from the
    /// history. Private texts are replaced by their hashes with the key `hash_key`.
    fn recorded_fields(&self, message: &Json, hash_key: HashKey) -> Map<String, Json> {
        let mut kept = Map::new();
        for path in &self.kept_fields {
            if path.is_empty() {
                return message.as_object().cloned().unwrap_or_default();
            }
            if let Some(value) = path.iter().try_fold(message, |value, name| value.get(&**name)) {
                insert_at(&mut kept, path, value);
            }
        }
        if self.hashed_paths.is_empty() {
            return kept;
        }
        let mut kept = Json::Object(kept);
        self.hash_private_texts(&mut kept, hash_key);
        match kept {
            Json::Object(kept) => kept,
            _ => Map::new(),
        }
    }
}

/// Inserts a value at a path of field names. Creates the objects that are missing on the path.
fn insert_at(object: &mut Map<String, Json>, path: &[Arc<str>], value: &Json) {
    match path {
        [] => {}
        [name] => drop(object.insert(name.to_string(), value.clone())),
        [name, rest @ ..] => {
            let inner = object.entry(&**name).or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(inner) = inner {
                insert_at(inner, rest, value);
            }
        }
    }
}

pub(crate) fn time_of_message(message: &Json) -> Option<OffsetDateTime> {
    parse_datetime(message.get(NOW_FIELD)?.as_str()?)
}
