//! Replays: each replay decides the recorded messages of a file again, on a thread of its own. The
//! result of each message is kept as a small row. So a million messages can be counted, filtered
//! and sorted fast. A single message is read again from the file when it is needed.

mod decider;
mod job;
mod rows;
mod sums;

pub(crate) use decider::ReplayDecider;

use crate::api::{AskRows, Progress, ReplayState, Source};
use crate::snapshot::ProjectSnapshot;
use rulec::Message;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A file of messages or logged decisions.
pub(crate) struct MessageFile {
    pub about: Source,
    pub path: PathBuf,
    /// Whether every line is known to be a logged decision.
    pub is_log: bool,
}

/// Cached result of a row query: the query, the number of rows that existed when the query ran, and
/// the indices of the matching rows.
type FoundRows = (AskRows, usize, Arc<Vec<u32>>);

/// A replay of a file, running or ended.
pub(crate) struct Replay {
    pub id: usize,
    pub source: Arc<MessageFile>,
    /// Rules that decide the messages.
    pub known: Arc<ProjectSnapshot>,
    /// Older rules whose results are compared with the results of the current rules.
    pub before: Option<Arc<ProjectSnapshot>>,
    pub show_private: bool,
    begun: Instant,
    cancelled: AtomicBool,
    tally: Mutex<ReplayResults>,
    /// Result of the last row query. The page requests the rows of one query in several parts.
    found: Mutex<Option<FoundRows>>,
    progress: watch::Sender<Progress>,
}

/// Result of deciding one message.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Byte offset of the message's line in the file.
    offset: u64,
    line: u64,
    /// Time of the message in milliseconds since 1970; NaN if the time is unknown.
    time: f64,
    /// Name of the entry (such as a table) that decided, as an index into [`ReplayResults::names`].
    entry: u32,
    /// Key of the chosen statement, as an index into [`ReplayResults::names`].
    key: u32,
    /// Key of the statement that the older rules or the log chose, as an index into
    /// [`ReplayResults::names`]. [`UNKNOWN_NUMBER`] if unknown.
    before: u32,
    flipped: bool,
    /// Duration of the handler in microseconds; [`UNKNOWN_NUMBER`] if unknown.
    elapsed: u32,
}

/// Value of a `u32` field of [`Row`] that is unknown.
const UNKNOWN_NUMBER: u32 = u32::MAX;

/// Results of a replay that were collected so far.
#[derive(Default)]
struct ReplayResults {
    rows: Vec<Row>,
    /// Statement keys and entry names, without duplicates. Rows refer to them by index.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    refused: usize,
    refusals: Vec<(u64, Message)>,
    foreign: usize,
    bare: usize,
    masked: usize,
    otherwise: usize,
    flipped: usize,
    is_log: bool,
    failure: Option<Message>,
    elapsed: Duration,
}

impl ReplayResults {
    fn number_of_name(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn name_of_number(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }
}

impl Replay {
    fn lock_results(&self) -> MutexGuard<'_, ReplayResults> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a replay without results.
    pub fn new(
        id: usize,
        source: Arc<MessageFile>,
        (known, before): (Arc<ProjectSnapshot>, Option<Arc<ProjectSnapshot>>),
        show_private: bool,
    ) -> Replay {
        let bytes = source.about.bytes;
        let progress = Progress { state: ReplayState::Running, read: 0, bytes, messages: 0, flipped: 0 };
        Replay {
            id,
            source,
            known,
            before,
            show_private,
            begun: Instant::now(),
            cancelled: false.into(),
            tally: Mutex::default(),
            found: Mutex::default(),
            progress: watch::Sender::new(progress),
        }
    }

    /// Returns a receiver that is notified when the progress changes.
    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Cancels the replay; the results collected so far are kept.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    pub fn is_running(&self) -> bool {
        self.progress.borrow().state == ReplayState::Running
    }

    /// Returns the time that the replay has taken so far or, if it has ended, in total.
    fn elapsed(&self) -> Duration {
        if self.is_running() { self.begun.elapsed() } else { self.lock_results().elapsed }
    }
}
