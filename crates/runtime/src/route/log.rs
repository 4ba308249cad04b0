//! The decision log: a JSON line for every decision, written by a thread of its own behind a bounded
//! queue. A decision never waits for it; masking, explaining and writing all happen on that thread.
//! What cannot be queued or written is dropped and counted, and the first time it happens a warning
//! says so.

mod line;
mod writer;

pub(super) use line::Record;

use super::outcome::Outcome;
use line::Entry;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The time that the last handle waits for the queue to be written when nobody closed the log.
const GRACE: Duration = Duration::from_secs(1);

/// Writes decisions as JSON lines. Cheap to clone; clones write to the same place.
///
/// A line is an object:
///
/// ```json
/// {
///   "time": "2026-01-31T03:12:00.5Z", "generation": 3, "entry": "routes", "route": "refund",
///   "handler": "refund_handler", "path": ["routes", "billing"], "args": { "phone": "•••" },
///   "missing_args": ["kind"], "breaches": [{ "path": "ctx.n", "expected": "int", "found": "string" }],
///   "host_failures": ["lookup"], "elapsed_us": 1250, "result": "failed", "error": "no such invoice",
///   "shadow": { "generation": 4, "table": "routes", "route": "default", "handler": "chat", "differs": ["route", "handler", "args"] },
///   "message": { "text": "my money back", "ctx": { "user": { "phone": "•••" } } },
///   "explanation": { "entry": "routes", "chosen": "refund" }
/// }
/// ```
///
/// `route` and `handler` are null when no route held; `result` is the [`super::Ending`]'s kind, or
/// `cancelled` when the caller stopped waiting. Lists that are empty are left out, and so is what
/// the log was not asked for. Values of `@private` fields are masked, in arguments, message and
/// explanation; of a message that holds any, the handler's error is masked too, since the handler
/// may have quoted them. Nothing is private without an `input` block.
///
/// Call [`DecisionLog::close`] before the program ends. Without it the last handle, when dropped,
/// waits a second at most for what is queued.
#[derive(Clone, Debug)]
pub struct DecisionLog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// `None` only while the last handle is dropped.
    queue: Option<mpsc::Sender<Task>>,
    counters: Arc<Counters>,
    /// Ends when the writer's thread does.
    ended: Mutex<std::sync::mpsc::Receiver<()>>,
}

enum Task {
    Write(Box<Entry>),
    /// Answer when everything queued before has been tried; then end, if so asked.
    Flush {
        end: bool,
        done: oneshot::Sender<()>,
    },
}

/// The counts of the decisions recorded so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Lines written.
    pub written: u64,
    /// Lines dropped because the queue was full or the log closed.
    pub dropped: u64,
    /// Lines that could not be written whole, or not be flushed.
    pub failed: u64,
    /// The latest failure of the writer, in its own words.
    pub last_error: Option<String>,
}

#[derive(Debug, Default)]
struct Counters {
    written: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    last_error: Mutex<Option<String>>,
    /// True while lines are being dropped: each time it begins there is one warning.
    dropping: AtomicBool,
}

/// Sets up a [`DecisionLog`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct DecisionLogBuilder {
    capacity: usize,
    options: line::Options,
}

impl DecisionLogBuilder {
    /// Sets how many decisions may wait to be written, at least 1; 1024 when not set. Each keeps its
    /// message in memory.
    pub fn capacity(mut self, lines: usize) -> Self {
        self.capacity = lines.max(1);
        self
    }

    /// Sets whether lines hold the message; they do when not set.
    pub fn message(mut self, yes: bool) -> Self {
        self.options.message = yes;
        self
    }

    /// Sets whether lines hold the whole explanation; they do not when not set. The decision is made
    /// again for it on the writer's thread, host functions included.
    pub fn explanation(mut self, yes: bool) -> Self {
        self.options.explanation = yes;
        self
    }

    /// Appends to this file, which is created when there is none.
    ///
    /// # Errors
    /// When the file cannot be opened or the thread not be started.
    pub fn to_file(self, path: impl AsRef<Path>) -> io::Result<DecisionLog> {
        self.to_writer(OpenOptions::new().append(true).create(true).open(path)?)
    }

    /// Writes here. Each line is one `write`, unless the writer takes only part of it.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn to_writer(self, writer: impl Write + Send + 'static) -> io::Result<DecisionLog> {
        let (queue, tasks) = mpsc::channel(self.capacity);
        let (ends, ended) = std::sync::mpsc::channel();
        let counters = Arc::new(Counters::default());
        let mut writer = writer::Writer::new(writer, self.options, counters.clone());
        thread::Builder::new().name("rulec-log".to_owned()).spawn(move || {
            writer.run(tasks);
            drop(ends);
        })?;
        Ok(DecisionLog { inner: Arc::new(Inner { queue: Some(queue), counters, ended: Mutex::new(ended) }) })
    }
}

impl DecisionLog {
    /// Begins a log.
    pub fn builder() -> DecisionLogBuilder {
        DecisionLogBuilder { capacity: 1024, options: line::Options { message: true, explanation: false } }
    }

    /// A log that appends to this file, with everything else as it is when not set.
    ///
    /// # Errors
    /// When the file cannot be opened or the thread not be started.
    pub fn to_file(path: impl AsRef<Path>) -> io::Result<DecisionLog> {
        DecisionLog::builder().to_file(path)
    }

    /// Queues a decision, or drops and counts it when there is no room. Never waits.
    pub(super) fn record(&self, record: Record, outcome: &mut Outcome, result: &'static str) {
        let counters = &self.inner.counters;
        let Some(queue) = &self.inner.queue else { return };
        match queue.try_reserve() {
            Ok(place) => {
                place.send(Task::Write(Box::new(Entry::new(record, outcome, result))));
                counters.dropping.store(false, Ordering::Relaxed);
            }
            Err(error) => {
                counters.dropped.fetch_add(1, Ordering::Relaxed);
                if !counters.dropping.swap(true, Ordering::Relaxed) {
                    let why = match error {
                        mpsc::error::TrySendError::Full(()) => "its queue is full",
                        mpsc::error::TrySendError::Closed(()) => "it is closed",
                    };
                    tracing::warn!(target: "rulec::log", "the decision log drops lines: {why}");
                }
            }
        }
    }

    /// The counts of the decisions recorded so far.
    pub fn stats(&self) -> LogStats {
        self.inner.counters.stats()
    }

    /// Waits until everything recorded before has been written or has failed, and tells.
    pub async fn flush(&self) -> LogStats {
        self.ask(false).await
    }

    /// Like [`DecisionLog::flush`], and ends the log, for its clones too: what is recorded later is
    /// dropped and counted.
    pub async fn close(&self) -> LogStats {
        self.ask(true).await
    }

    async fn ask(&self, end: bool) -> LogStats {
        let (done, answer) = oneshot::channel();
        if let Some(queue) = &self.inner.queue {
            // An error means that the log has been closed already: there is nothing to wait for.
            if queue.send(Task::Flush { end, done }).await.is_ok() {
                let _ = answer.await;
            }
        }
        self.stats()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue = None;
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        if ended.recv_timeout(GRACE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            tracing::warn!(target: "rulec::log", "the decision log was left before everything was written; close it");
        }
    }
}

impl Counters {
    fn stats(&self) -> LogStats {
        LogStats {
            written: self.written.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            last_error: self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
