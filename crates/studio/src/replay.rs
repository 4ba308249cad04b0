//! Many messages decided again, on a thread of its own: what each came to is kept as a small row, so that a million of them can be
//! counted, filtered and sorted at once, and any of them opened by its place in the file.
//!
//! | module | what it holds |
//! |---|---|
//! | `decider` | one version of the rules, deciding message after message |
//! | `job` | the thread: lines of the file, decided, into rows |
//! | `sums` | rows counted: by statement, over time, by flips |
//! | `rows` | rows filtered and sorted, and the messages behind them |

mod decider;
mod job;
mod rows;
mod sums;

pub(crate) use decider::Decider;

use crate::api::{AskRows, Progress, ReplayState, Source};
use crate::known::Known;
use rulec::Message;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A file of messages or decisions.
pub(crate) struct Messages {
    pub about: Source,
    pub path: PathBuf,
    /// True when every line is known to be a decision.
    pub is_log: bool,
}

/// A question for rows, the number of rows seen when it was asked, and the rows that answer it.
type FoundRows = (AskRows, usize, Arc<Vec<u32>>);

/// A replay, running or ended.
pub(crate) struct Replay {
    pub id: usize,
    pub source: Arc<Messages>,
    /// The rules that decide; and those before, to compare with.
    pub known: Arc<Known>,
    pub before: Option<Arc<Known>>,
    pub show_private: bool,
    begun: Instant,
    cancelled: AtomicBool,
    tally: Mutex<Tally>,
    /// The rows that were asked for last, by their places: the page asks for them bit by bit.
    found: Mutex<Option<FoundRows>>,
    progress: watch::Sender<Progress>,
}

/// A message, decided.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The place of its line in the file.
    offset: u64,
    line: u64,
    /// Milliseconds since 1970; NaN where no time is known.
    time: f64,
    /// The names by their numbers in [`Tally::names`].
    entry: u32,
    key: u32,
    /// [`NOTHING`] where nothing is known.
    before: u32,
    flipped: bool,
    /// Microseconds; [`NOTHING`] where it is not known.
    elapsed: u32,
}

/// The number that stands where there is none.
const NOTHING: u32 = u32::MAX;

/// All that was found so far.
#[derive(Default)]
struct Tally {
    rows: Vec<Row>,
    /// Keys and entries, each once.
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

impl Tally {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }
}

impl Replay {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A replay of which nothing is decided yet.
    pub fn new(
        id: usize,
        source: Arc<Messages>,
        (known, before): (Arc<Known>, Option<Arc<Known>>),
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

    /// Tells whenever it has come further.
    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Ends it; what was counted until now stays.
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

    /// The milliseconds that it took.
    fn elapsed(&self) -> Duration {
        if self.is_running() { self.begun.elapsed() } else { self.tally().elapsed }
    }
}
