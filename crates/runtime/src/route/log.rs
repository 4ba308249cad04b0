//! The decision log: one JSON line per decision. A separate thread writes the lines from a bounded
//! queue, so a decision never waits for the log. Masking, explaining and writing all happen on that
//! thread. Lines that cannot be queued or written are dropped and counted. When a series of dropped
//! lines begins, a warning is logged.

pub(crate) mod credentials;
mod line;
mod writer;

pub(super) use line::DecisionRecord;
#[cfg(feature = "watch")]
pub(super) use line::decided_result_name;
pub use line::{DecidedMessage, observed_log_line};

use super::outcome::Outcome;
use line::QueuedDecision;
use rulec_base::broken_invariant;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Maximum time that dropping the last log handle waits until queued lines are written. A closed
/// log does not wait.
const DROP_GRACE_PERIOD: Duration = Duration::from_secs(1);

/// Writes decisions as JSON lines. Cheap to clone; clones write to the same output.
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
/// `route` and `handler` are null if no route matched. `result` is the kind of the
/// [`super::HandlerOutcome`], `cancelled` if the caller stopped waiting, or `decided` for a route
/// that `WatchedRules` chose. Empty lists are omitted, and also the fields that the log's settings
/// exclude.
///
/// `history_gap` is `no_key` or `dropped`, if the history may have lacked messages that the rules
/// read.
///
/// Values of `@private` fields are masked in arguments, message and explanation. If a message
/// contains such values, error texts are masked too, because a handler may have quoted them.
/// Without an `input` block no value is private, except credentials: the headers `authorization`,
/// `cookie`, `proxy-authorization`, `set-cookie` and `x-api-key` in a field `headers`.
///
/// Call [`DecisionLog::close`] before the program ends. Otherwise dropping the last handle waits at
/// most one second for queued lines.
#[derive(Clone, Debug)]
pub struct DecisionLog {
    inner: Arc<DecisionLogInner>,
}

#[derive(Debug)]
struct DecisionLogInner {
    /// The queue of tasks for the thread that writes the log. `None` only while the last log handle
    /// is being dropped.
    queue: Option<mpsc::Sender<LogTask>>,
    counters: Arc<LogCounters>,
    /// Channel that disconnects when the thread that writes the log ends. So the last log handle
    /// can wait for the end of the thread.
    writer_end_receiver: Mutex<std::sync::mpsc::Receiver<()>>,
}

enum LogTask {
    Write(Box<QueuedDecision>),
    /// Request to send a reply on `reply_sender` after all earlier lines were written or dropped.
    /// If `closes_log` is true, the log is closed.
    Flush {
        closes_log: bool,
        reply_sender: oneshot::Sender<()>,
    },
}

/// Numbers of log lines that were written or lost since the log was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Number of lines that were written to the output.
    pub written: u64,
    /// Number of lines that were never written, because the queue was full or the log was closed.
    pub dropped: u64,
    /// Number of lines that the output did not accept completely or did not flush.
    pub failed: u64,
    /// The message of the latest write error; `None` if there was none.
    pub last_error: Option<String>,
}

#[derive(Debug, Default)]
struct LogCounters {
    written_count: AtomicU64,
    dropped_count: AtomicU64,
    failed_count: AtomicU64,
    last_error: Mutex<Option<String>>,
    /// Whether the latest line was dropped. A warning is logged only for the first line of a series
    /// of dropped lines.
    latest_was_dropped: AtomicBool,
}

/// The settings from which a [`DecisionLog`] is built: the capacity of its queue and the contents
/// of its lines.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct DecisionLogBuilder {
    queue_capacity: usize,
    line_options: line::LogLineOptions,
}

impl DecisionLogBuilder {
    /// Sets how many decisions may wait in the queue, at least 1. Default: 1024. Each queued
    /// decision keeps its message in memory.
    pub fn capacity(mut self, lines: usize) -> Self {
        self.queue_capacity = lines.max(1);
        self
    }

    /// Sets whether each line of the decision log contains the message that was decided. Default:
    /// true.
    pub fn message(mut self, included: bool) -> Self {
        self.line_options.includes_message = included;
        self
    }

    /// Sets whether each line contains the full explanation of the decision. Default: false. To
    /// explain the decision, the thread that writes the log decides the message again. The second
    /// decision repeats the calls of the program's functions that the rules use.
    pub fn explanation(mut self, included: bool) -> Self {
        self.line_options.includes_explanation = included;
        self
    }

    /// Sets whether lines contain the analysis of the message's text, as `analysis`; see
    /// [`rulec::Rules::analyze_text`]. Default: false. If `text` is `@private`, the analysis is
    /// masked.
    pub fn analysis(mut self, included: bool) -> Self {
        self.line_options.includes_analysis = included;
        self
    }

    /// Builds a log that appends to this file, which is created if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be opened or the thread cannot be started.
    pub fn to_file(self, path: impl AsRef<Path>) -> io::Result<DecisionLog> {
        self.to_writer(OpenOptions::new().append(true).create(true).open(path)?)
    }

    /// Builds a log that writes to this writer. Each line is one `write` call, unless the writer
    /// accepts only part of the line.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn to_writer(self, writer: impl Write + Send + 'static) -> io::Result<DecisionLog> {
        let (queue, tasks) = mpsc::channel(self.queue_capacity);
        let (end_signal, writer_ended) = std::sync::mpsc::channel();
        let counters = Arc::new(LogCounters::default());
        let mut writer = writer::LogWriter::new(writer, self.line_options, counters.clone());
        thread::Builder::new().name("rulec-log".to_owned()).spawn(move || {
            writer.run_tasks(tasks);
            drop(end_signal);
        })?;
        Ok(DecisionLog {
            inner: Arc::new(DecisionLogInner {
                queue: Some(queue),
                counters,
                writer_end_receiver: Mutex::new(writer_ended),
            }),
        })
    }
}

impl DecisionLog {
    /// Starts building a decision log; [`DecisionLogBuilder::to_file`] or
    /// [`DecisionLogBuilder::to_writer`] builds it.
    pub fn builder() -> DecisionLogBuilder {
        DecisionLogBuilder {
            queue_capacity: 1024,
            line_options: line::LogLineOptions {
                includes_message: true,
                includes_explanation: false,
                includes_analysis: false,
            },
        }
    }

    /// Builds a log that appends to this file, with default settings.
    ///
    /// # Errors
    /// If the file cannot be opened or the thread cannot be started.
    pub fn to_file(path: impl AsRef<Path>) -> io::Result<DecisionLog> {
        DecisionLog::builder().to_file(path)
    }

    /// Queues a decision for the log. `result` names the result of the handler in the log line. If
    /// the queue is full or closed, drops the decision and counts it. Never waits. `outcome` is
    /// unchanged when this function returns. It is mutable because its reply is moved out while the
    /// rest is cloned.
    pub(super) fn queue_decision(&self, record: DecisionRecord, outcome: &mut Outcome, result: &'static str) {
        let counters = &self.inner.counters;
        let Some(queue) = &self.inner.queue else {
            return broken_invariant!("the queue of a log exists until its last handle is dropped");
        };
        match queue.try_reserve() {
            Ok(slot) => {
                slot.send(LogTask::Write(Box::new(QueuedDecision::new(record, outcome, result))));
                counters.latest_was_dropped.store(false, Ordering::Relaxed);
            }
            Err(error) => {
                counters.dropped_count.fetch_add(1, Ordering::Relaxed);
                if !counters.latest_was_dropped.swap(true, Ordering::Relaxed) {
                    let reason = match error {
                        mpsc::error::TrySendError::Full(()) => "its queue is full",
                        mpsc::error::TrySendError::Closed(()) => "it is closed",
                    };
                    tracing::warn!(target: "rulec::log", "the decision log drops lines: {reason}");
                }
            }
        }
    }

    /// Returns how many log lines were written or lost so far.
    pub fn stats(&self) -> LogStats {
        self.inner.counters.stats()
    }

    /// Waits until the lines of all earlier decisions were written or have failed. Then returns how
    /// many lines were written or lost.
    pub async fn flush(&self) -> LogStats {
        self.flush_and_wait(false).await
    }

    /// Like [`DecisionLog::flush`], but also closes the log and its clones. Decisions after the
    /// call are dropped and counted.
    pub async fn close(&self) -> LogStats {
        self.flush_and_wait(true).await
    }

    async fn flush_and_wait(&self, closes_log: bool) -> LogStats {
        let (reply_sender, reply) = oneshot::channel();
        if let Some(queue) = &self.inner.queue {
            // An error means that the log is already closed, so there is no reply to wait for.
            if queue.send(LogTask::Flush { closes_log, reply_sender }).await.is_ok() {
                let _ = reply.await;
            }
        }
        self.stats()
    }
}

impl Drop for DecisionLogInner {
    fn drop(&mut self) {
        self.queue = None;
        let writer_ended = self.writer_end_receiver.get_mut().unwrap_or_else(PoisonError::into_inner);
        if writer_ended.recv_timeout(DROP_GRACE_PERIOD) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            tracing::warn!(target: "rulec::log", "the decision log was left before everything was written; close it");
        }
    }
}

impl LogCounters {
    fn stats(&self) -> LogStats {
        LogStats {
            written: self.written_count.load(Ordering::Relaxed),
            dropped: self.dropped_count.load(Ordering::Relaxed),
            failed: self.failed_count.load(Ordering::Relaxed),
            last_error: self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
