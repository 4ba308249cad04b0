//! What happened before: the earlier messages that rules read as `history`.
//!
//! A [`Store`] keeps them, separated by key. A decision never writes: the embedding program records
//! a message after it was decided, or observes one that is not decided. See
//! [`Session::with_history`](crate::Session::with_history).

mod memory;

pub use memory::MemoryStore;
pub use rulec_vm::vm::Past;

use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::history::{DECISION_FIELD, Timeline};
use rulec_lang::value::{Value, parse_datetime};
use rulec_sema::hir::{KeptFields, Program, Slot};
use rulec_vm::vm::HistoryMemo;
use serde_json::{Map, Value as Json};
use std::sync::{Arc, Mutex, PoisonError};
use time::{Duration, OffsetDateTime};

/// The message field with the current time.
const NOW_FIELD: &str = "now";
/// The number of messages that are kept for a key if the rules do not say.
const DEFAULT_MESSAGES: u64 = 10_000;

/// Keeps the earlier messages of each key.
pub trait Store: Send + Sync {
    /// Calls `work` with the earlier messages of a key, and keeps its changes. No other call for
    /// the same key runs at the same time.
    ///
    /// # Errors
    /// If the messages cannot be read, or the changes cannot be kept.
    fn with_key(&self, key: &str, work: &mut dyn FnMut(&mut Events)) -> Result<(), StoreError>;
}

/// Error: a store cannot read or keep messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the history cannot be kept: {0}")]
pub struct StoreError(pub String);

impl StoreError {
    pub(crate) fn without_work() -> StoreError {
        StoreError("the store did not call its work".to_owned())
    }
}

/// Error: a message cannot be recorded in a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub enum RecordError {
    /// The rules have no `history` statement.
    NoHistory,
    /// The message has no key; its field is missing or of another type.
    NoKey(String),
    /// The message has no time `now`.
    NoTime,
    /// The session has no store.
    NoStore,
    /// The store failed.
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

/// The earlier messages of one key, oldest first.
#[derive(Debug, Default)]
pub struct Events {
    timeline: Arc<Timeline>,
    /// The results about the messages that decisions remember.
    memo: Arc<Mutex<HistoryMemo>>,
}

impl Events {
    /// Creates the events of a key from elements that [`Events::elements`] returned.
    pub fn from_elements(elements: Vec<Json>) -> Events {
        Events { timeline: Arc::new(Timeline::from_elements(elements)), memo: Arc::default() }
    }

    /// Returns the elements, oldest first. Each is a JSON object: the kept fields of a message, and
    /// what the history adds.
    pub fn elements(&self) -> &[Json] {
        self.timeline.elements()
    }

    /// Inserts an element by its time, and removes elements that are no longer kept.
    pub(crate) fn insert(&mut self, at: OffsetDateTime, element: Map<String, Json>, plan: &HistoryPlan) {
        if Arc::get_mut(&mut self.timeline).is_none() {
            // A decision still reads the old timeline and remembers results by its positions.
            self.memo = Arc::default();
        }
        let timeline = Arc::make_mut(&mut self.timeline);
        let position = timeline.insert(at, element);
        let expired = timeline.newest_time().map_or(0, |newest| plan.first_kept(timeline, newest));
        let surplus = timeline.elements().len().saturating_sub(plan.at_most);
        timeline.remove_first(expired.max(surplus));
        self.memo.lock().unwrap_or_else(PoisonError::into_inner).forget_from(position);
    }
}

/// How messages are recorded for a rule set; derived from its `history` statement.
#[derive(Debug)]
pub(crate) struct HistoryPlan {
    key: Option<Slot>,
    keep: Option<Duration>,
    at_most: usize,
    kept_fields: KeptFields,
}

impl HistoryPlan {
    /// Returns the plan of a program; `None` if it has no `history` statement.
    pub fn new(program: &Program) -> Option<HistoryPlan> {
        let history = program.history.as_ref()?;
        Some(HistoryPlan {
            key: history.key.map(|slot| program.slots[slot.index()].clone()),
            keep: history.keep.map(|keep| Duration::milliseconds(i64::try_from(keep).unwrap_or(i64::MAX))),
            at_most: usize::try_from(history.at_most.unwrap_or(DEFAULT_MESSAGES)).unwrap_or(usize::MAX),
            kept_fields: program.kept_fields(),
        })
    }

    /// Returns the key of a message; the empty text if the rules keep one history for all messages.
    /// `None` if the message has no key.
    pub(crate) fn key(&self, message: &Json) -> Option<String> {
        let Some(slot) = &self.key else { return Some(String::new()) };
        match slot.load(message) {
            // The prefix keeps the text "1" and the number 1 apart.
            Value::Str(text) => Some(format!("\"{text}")),
            Value::Bool(value) => Some(value.to_string()),
            Value::Int(int) => Some(int.to_string()),
            Value::Wide(int) => Some(int.to_string()),
            _ => None,
        }
    }

    /// Returns the path of the field that separates histories; the empty text if there is none.
    pub(crate) fn key_path(&self) -> String {
        self.key.as_ref().map(Slot::name).unwrap_or_default()
    }

    /// Returns the index of the first element that is still kept at a time.
    fn first_kept(&self, timeline: &Timeline, now: OffsetDateTime) -> usize {
        let oldest = self.keep.and_then(|keep| now.checked_sub(keep));
        oldest.map_or(0, |oldest| timeline.first_since(oldest))
    }

    /// Returns the view of earlier messages that a test gives, oldest first.
    pub(crate) fn past_of_test(&self, elements: Vec<Json>, message: &Json) -> Past {
        let mut timeline = Timeline::from_elements(elements);
        let surplus = timeline.elements().len().saturating_sub(self.at_most);
        timeline.remove_first(surplus);
        let start = time_of_message(message).map_or(0, |now| self.first_kept(&timeline, now));
        Past::new(Arc::new(timeline), start, None)
    }

    /// Returns what a decision about `message` sees of the events of its key.
    pub(crate) fn past(&self, events: &Events, message: &Json) -> Past {
        let start = time_of_message(message).map_or(0, |now| self.first_kept(&events.timeline, now));
        Past::new(Arc::clone(&events.timeline), start, Some(Arc::clone(&events.memo)))
    }

    /// Returns an element of the history without its time and position. `decision` has the names of
    /// the chosen statement and of the handler; `None` if the message was not decided.
    pub(crate) fn element(&self, message: &Json, decision: Option<[Option<&str>; 2]>) -> Map<String, Json> {
        let mut element = self.kept_part(message);
        // An undeclared field of a message must not look like a decision.
        element.remove(DECISION_FIELD);
        if let Some([chosen, target]) = decision {
            let names = [("chosen", chosen), ("target", target)];
            let names = names.into_iter().filter_map(|(key, name)| Some((key.to_owned(), name?.into())));
            element.insert(DECISION_FIELD.to_owned(), names.collect::<Map<_, _>>().into());
        }
        element
    }

    /// Returns the fields of a message that rules read from the history.
    fn kept_part(&self, message: &Json) -> Map<String, Json> {
        let mut kept = Map::new();
        for path in &self.kept_fields {
            if path.is_empty() {
                return message.as_object().cloned().unwrap_or_default();
            }
            if let Some(value) = path.iter().try_fold(message, |value, name| value.get(&**name)) {
                insert_at(&mut kept, path, value);
            }
        }
        kept
    }
}

/// Inserts a value at a path of names. Objects on the way are created.
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
