//! Replays: each replay decides the recorded messages of a file again, on a thread of its own. The
//! result of each message is kept as a small row. So a million messages can be counted, filtered
//! and sorted fast. A single message is read again from the file when it is needed.

mod decider;
mod history;
mod job;
mod rows;
mod sums;

pub(crate) use decider::{ReplayDecider, to_earlier_decision};
pub(crate) use history::{MAX_EARLIER_MESSAGES, ReplayedMessage, split_payload_line};
pub(crate) use rows::preview_text_and_fields;

use crate::api::{AskRows, Progress, ReplayState, Source};
use crate::snapshot::ProjectSnapshot;
use rulec::Message;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A file of messages or logged decisions, which a replay can decide again.
pub(crate) struct MessageFile {
    pub description: Source,
    pub path: PathBuf,
    /// Whether the file was given as a decision log. Every line must then be a logged decision. If
    /// false, each line is either a message or a logged decision.
    pub is_log: bool,
}

/// Cached result of a row query: the query, the number of rows that existed when the query ran, and
/// the indices of the matching rows.
type CachedQuery = (AskRows, usize, Arc<Vec<u32>>);

/// A replay, running or ended: the rules decide all messages of a file again.
pub(crate) struct Replay {
    pub id: usize,
    pub source: Arc<MessageFile>,
    /// The rules that decide the messages of the replay.
    pub snapshot: Arc<ProjectSnapshot>,
    /// Older rules whose results are compared with the results of the current rules; `None` for a
    /// replay without comparison.
    pub older_snapshot: Option<Arc<ProjectSnapshot>>,
    pub show_private: bool,
    start_time: Instant,
    is_cancelled: AtomicBool,
    results: Mutex<ReplayResults>,
    /// Result of the last row query, `None` before the first one. Kept because the page requests
    /// the rows of one query in several parts.
    last_query: Mutex<Option<CachedQuery>>,
    progress: watch::Sender<Progress>,
}

/// The position of a line in the replayed file, and a hash to detect changes of the line.
#[derive(Clone, Copy, Debug)]
struct FileLine {
    /// Byte offset of the line in the file.
    byte_offset: u64,
    /// Number of the line in the replayed file, from 1.
    line_number: u64,
    /// A hash of the line. It shows whether the line has changed since the replay.
    fingerprint: u32,
}

/// Returns a hash of a line, without its line break.
fn line_fingerprint(line: &[u8]) -> u32 {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    hasher.finish() as u32
}

/// The result of a replay for one message.
#[derive(Clone, Copy, Debug)]
struct ReplayRow {
    file_line: FileLine,
    /// Time of the message in milliseconds since 1970; NaN if the time is unknown.
    time_ms: f64,
    /// Name of the entry (such as a table) that decided, as an index into
    /// [`ReplayResults::indexed_names`].
    entry_name_index: u32,
    /// Key of the chosen statement, as an index into [`ReplayResults::indexed_names`].
    key_index: u32,
    /// Key of the statement that was chosen earlier, as an index into
    /// [`ReplayResults::indexed_names`]. The older rules chose it. Without older rules, it is from
    /// the decision log. [`UNKNOWN_NUMBER`] if neither is known.
    older_key_index: u32,
    is_flipped: bool,
    /// Duration of the handler in microseconds; [`UNKNOWN_NUMBER`] if unknown.
    elapsed_us: u32,
    /// A hash of the history key (such as a user id) under which the message was recorded;
    /// [`UNKNOWN_NUMBER`] if it was not recorded.
    session_hash: u32,
    /// Name of the chosen statement, and name of its handler, as recorded in the history. Indices
    /// into [`ReplayResults::indexed_names`]; [`UNKNOWN_NUMBER`] for none.
    recorded_chosen_and_target: [u32; 2],
}

/// The line of a message that should only be recorded in the history, and not be decided.
#[derive(Clone, Copy, Debug)]
struct ObservedLine {
    file_line: FileLine,
    /// A hash of the history key (such as a user id) under which the message was recorded;
    /// [`UNKNOWN_NUMBER`] if it was not recorded.
    session_hash: u32,
}

/// Value of a `u32` field of [`ReplayRow`] or [`ObservedLine`] that is unknown or missing.
const UNKNOWN_NUMBER: u32 = u32::MAX;

/// Results of a replay that were collected so far.
#[derive(Default)]
struct ReplayResults {
    rows: Vec<ReplayRow>,
    observed: Vec<ObservedLine>,
    /// Number of decided messages that were recorded in no history, although the rules keep one.
    unrecorded_count: usize,
    /// Keys and names of statements, and names of tables, other entry points and handlers, without
    /// duplicates. Rows refer to them by index.
    indexed_names: Vec<String>,
    index_by_name: HashMap<String, u32>,
    invalid_line_count: usize,
    line_errors: Vec<(u64, Message)>,
    unknown_entry_count: usize,
    without_message_count: usize,
    masked_message_count: usize,
    changed_from_log_count: usize,
    flipped_count: usize,
    is_log: bool,
    failure: Option<Message>,
    elapsed: Duration,
}

impl ReplayResults {
    fn index_of_name(&mut self, name: &str) -> u32 {
        if let Some(index) = self.index_by_name.get(name) {
            return *index;
        }
        let index = self.indexed_names.len() as u32;
        self.indexed_names.push(name.to_owned());
        self.index_by_name.insert(name.to_owned(), index);
        index
    }

    fn name_at_index(&self, index: u32) -> &str {
        self.indexed_names.get(index as usize).map_or("", String::as_str)
    }
}

impl Replay {
    fn lock_results(&self) -> MutexGuard<'_, ReplayResults> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a replay that has not yet decided any message. `snapshot` contains the rules that
    /// decide, and `older_snapshot` the older rules to compare with, if any. If `show_private` is
    /// false, responses mask the values of private fields.
    pub fn new(
        id: usize,
        source: Arc<MessageFile>,
        (snapshot, older_snapshot): (Arc<ProjectSnapshot>, Option<Arc<ProjectSnapshot>>),
        show_private: bool,
    ) -> Replay {
        let bytes = source.description.bytes;
        let progress = Progress { state: ReplayState::Running, read: 0, bytes, messages: 0, flipped: 0 };
        Replay {
            id,
            source,
            snapshot,
            older_snapshot,
            show_private,
            start_time: Instant::now(),
            is_cancelled: false.into(),
            results: Mutex::default(),
            last_query: Mutex::default(),
            progress: watch::Sender::new(progress),
        }
    }

    /// Returns a receiver that is notified when the progress changes.
    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Cancels the replay; the results collected so far are kept.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    pub fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    pub fn is_running(&self) -> bool {
        self.progress.borrow().state == ReplayState::Running
    }

    /// Returns the time that the replay has taken so far or, if it has ended, in total.
    fn elapsed(&self) -> Duration {
        if self.is_running() { self.start_time.elapsed() } else { self.lock_results().elapsed }
    }
}
