//! The decision log: one JSON line for each decision. A separate thread writes the lines, so that a
//! decision does not wait for the disk. Only in the mode [`LogMode::Sync`] an answer waits for its
//! line.

mod closing;
mod file;
mod options;
mod output;
mod record;
#[cfg(feature = "remote")]
mod remote;
mod sampling;
mod spill;
mod writer;

use crate::metrics::LogMetrics;
use crate::problem::Problem;
use crate::receipt::Receipt;
use crate::rules::StartError;
use crate::trace::TraceId;
use closing::LogCloseSignal;
pub use options::{LogMode, LogOptions, LogTarget};
use output::{LogOutput, WrittenLogEnd};
pub(crate) use record::DecisionRecord;
#[cfg(feature = "remote")]
pub use remote::{LogProtocol, RemoteLog};
use rulec::{Decision, Rules};
use rulec_base::message;
use rulec_report::chain::HashChain;
use rulec_runtime::route::observed_log_line;
pub(crate) use sampling::SampleOutcome;
pub use sampling::{LogSampling, LogShare};
use serde_json::Value as Json;
use spill::{SpillFiles, SpillResult};
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use writer::LogWriter;

/// A function that receives the events of the decision log: the kind of event, and a JSON object
/// with the event's other fields.
pub(crate) type ReportEvent = Box<dyn Fn(&str, Json) + Send>;

/// The memory that is reserved for a decision until its line of the decision log is formatted. Only
/// the mode `sync` reserves memory.
#[derive(Default)]
pub(crate) struct MemoryReservation {
    _permit: Option<OwnedSemaphorePermit>,
}

/// The number of lines that wait in memory until they are written to the decision log, and the
/// number of their bytes.
#[derive(Default)]
struct WaitingLineTotals {
    line_count: AtomicUsize,
    byte_count: AtomicUsize,
}

impl WaitingLineTotals {
    /// Counts a line of `bytes` bytes as waiting. If that exceeds the maximum numbers of lines or
    /// bytes in `capacity`, counts nothing and returns false.
    fn try_add_line(&self, bytes: usize, capacity: (usize, usize)) -> bool {
        let lines_before = self.line_count.fetch_add(1, Ordering::Relaxed);
        let bytes_before = self.byte_count.fetch_add(bytes, Ordering::Relaxed);
        let fits = lines_before < capacity.0 && bytes_before.saturating_add(bytes) <= capacity.1;
        if !fits {
            self.remove_line(bytes);
        }
        fits
    }

    fn remove_line(&self, bytes: usize) {
        self.line_count.fetch_sub(1, Ordering::Relaxed);
        self.byte_count.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Approximate number of bytes that a waiting decision takes in memory, without its message.
const QUEUED_DECISION_BYTES: usize = 512;

/// Maximum of `max_waiting_bytes` in the mode `sync`, about 4 GB. A semaphore has one permit for
/// each free byte, and one call can acquire at most this number of permits.
const MAX_FREE_BYTES: usize = u32::MAX as usize;

/// A task for the thread that writes the decision log.
enum LogTask {
    Decision(Box<DecisionRecord>, Option<oneshot::Sender<bool>>),
    /// A complete JSON line, such as a line about a change of the rules. The sender reports whether
    /// the line was written to the disk.
    Line(Vec<u8>, Option<oneshot::Sender<bool>>),
    /// The spill file has lines, which the log's thread must move to the log.
    Spilled,
    Close,
}

impl LogTask {
    /// Returns the approximate number of bytes that this task takes in memory while it waits.
    fn memory_bytes(&self) -> usize {
        match self {
            LogTask::Decision(record, _) => record.message_json.len() + QUEUED_DECISION_BYTES,
            LogTask::Line(line, _) => line.len(),
            LogTask::Spilled | LogTask::Close => 0,
        }
    }
}

/// A decision log: queues lines for the thread that writes them.
pub(crate) struct DecisionLog {
    mode: LogMode,
    /// Maximum number of lines, and maximum number of bytes, that wait in memory.
    max_lines_and_bytes: (usize, usize),
    tasks: Sender<LogTask>,
    waiting_totals: Arc<WaitingLineTotals>,
    /// One permit for each free byte of memory, in the mode `sync`. The limit of open requests does
    /// not bound this memory: the decision of a cancelled request still waits for the disk.
    free_bytes: Arc<Semaphore>,
    written_end: WrittenLogEnd,
    sampling: LogSampling,
    /// Number of lines of the decision log that were dropped since a line was last queued.
    dropped_lines: AtomicUsize,
    spill: Option<Arc<SpillFiles>>,
    /// Whether all lines pass through the spill files, as the lines for a server do. Otherwise,
    /// only lines that arrive too fast do.
    spills_all_lines: bool,
    closing: Arc<LogCloseSignal>,
    /// The open lock file of spill files that belong to no log file. The lock is held until the
    /// process ends.
    _spill_lock: Option<File>,
    metrics: LogMetrics,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl DecisionLog {
    /// Opens the decision log, and starts the thread that writes it. Appends to an existing file.
    /// `report` receives the events of the log.
    ///
    /// # Errors
    /// If the file or its spill file cannot be opened, the mode needs a file, or the thread cannot
    /// start.
    pub fn open(
        options: LogOptions,
        metrics: LogMetrics,
        report: ReportEvent,
    ) -> Result<DecisionLog, StartError> {
        let LogOptions {
            target,
            mode,
            max_waiting_lines: capacity,
            max_waiting_bytes: capacity_bytes,
            max_spill_bytes,
            rotate_bytes,
            key,
            checkpoint_interval,
            sampling,
        } = options;
        let (spilling, spills_all_lines) = (target.spill_files_of(mode)?, target.is_remote());
        let retry_pauses = target.retry_pauses();
        // `LogOutput::open` locks a log file, so no other process uses the spill files either. A
        // server has no such file.
        let lock = spilling.as_deref().filter(|_| spills_all_lines).map(file::lock).transpose()?;
        let output = LogOutput::open(target, mode, rotate_bytes, key.map(|key| (key, checkpoint_interval)))?;
        let spill =
            spilling.map(|path| SpillFiles::open(&path, max_spill_bytes).map(Arc::new)).transpose()?;
        let written_end = output.written_end().clone();
        report("log_opened", log_end_json(&written_end.get()));
        let (tasks, received) = channel();
        let closing = Arc::<LogCloseSignal>::default();
        let waiting_totals = Arc::<WaitingLineTotals>::default();
        let has_spilled = spill.as_ref().is_some_and(|spill| !spill.is_empty());
        let writer = LogWriter {
            output,
            is_sync: mode == LogMode::Sync,
            retry_pauses,
            closing: closing.clone(),
            waiting_totals: waiting_totals.clone(),
            spill: spill.clone(),
            metrics: metrics.clone(),
            report_event: report,
            has_failed_by_attempt: [false; 2],
        };
        let thread = std::thread::Builder::new().name("rulec-log".to_owned());
        let thread = thread.spawn(move || writer.run(&received)).map_err(|error| {
            StartError::Options(message!("the thread of the decision log cannot start: {error}"))
        })?;
        if has_spilled {
            let _ = tasks.send(LogTask::Spilled);
        }
        let thread = Mutex::new(Some(thread));
        let dropped = AtomicUsize::new(0);
        let capacity = (capacity, capacity_bytes);
        let free_bytes = Arc::new(Semaphore::new(capacity_bytes.min(MAX_FREE_BYTES)));
        Ok(DecisionLog {
            mode,
            max_lines_and_bytes: capacity,
            tasks,
            waiting_totals,
            free_bytes,
            written_end,
            sampling,
            dropped_lines: dropped,
            spill,
            spills_all_lines,
            closing,
            _spill_lock: lock,
            metrics,
            thread,
        })
    }

    /// Returns the end of the decision log as JSON: the number of the last written line, and its
    /// hash, which depends on all lines.
    pub fn chain_end(&self) -> Json {
        log_end_json(&self.written_end.get())
    }

    /// Reserves memory for a decision about a message of `message_bytes` bytes.
    ///
    /// # Errors
    /// In the mode `sync`, if the decisions that wait for the disk leave too little memory.
    pub fn try_reserve_memory(&self, message_bytes: usize) -> Result<MemoryReservation, Problem> {
        if self.mode != LogMode::Sync {
            return Ok(MemoryReservation::default());
        }
        let reservation = self.free_bytes.clone().try_acquire_many_owned(self.needed_bytes(message_bytes));
        reservation.map(|permit| MemoryReservation { _permit: Some(permit) }).map_err(|_| {
            Problem::overloaded("too many decisions wait for the decision log, so nothing is decided")
        })
    }

    /// Waits until memory for a decision about a message of `message_bytes` bytes is reserved.
    pub async fn reserve_memory(&self, message_bytes: usize) -> MemoryReservation {
        if self.mode != LogMode::Sync {
            return MemoryReservation::default();
        }
        let needed = self.needed_bytes(message_bytes);
        // Acquiring fails only if the semaphore is closed, which never happens.
        MemoryReservation { _permit: self.free_bytes.clone().acquire_many_owned(needed).await.ok() }
    }

    /// Returns the number of bytes to reserve for a message, at most the whole capacity. So a
    /// message larger than the capacity can still be logged, when no other decision waits.
    fn needed_bytes(&self, message_bytes: usize) -> u32 {
        let needed = message_bytes.saturating_add(QUEUED_DECISION_BYTES).min(self.max_lines_and_bytes.1);
        u32::try_from(needed).unwrap_or(u32::MAX)
    }

    /// Returns whether the decision log keeps a decision. Counts a decision that the log does not
    /// keep. `request` has the trace id that the caller has sent, and the message as JSON text.
    pub fn sample_decision(
        &self,
        rules_name: &str,
        decision: &Decision,
        route: Option<&str>,
        request: (Option<&TraceId>, &[u8]),
    ) -> SampleOutcome {
        let outcome = self.sampling.choose(rules_name, decision, route, request);
        if outcome == SampleOutcome::LeftOut {
            self.metrics.sampled_out_decisions.inc();
        }
        outcome
    }

    /// Queues the decision log's line for a decision, and returns at once. In the mode `sync`, the
    /// receipt reports when the line is on the disk.
    pub fn record(&self, record: DecisionRecord) -> Receipt {
        if self.mode == LogMode::Sync {
            let (sender, written) = oneshot::channel();
            self.queue_task(LogTask::Decision(Box::new(record), Some(sender)));
            return Receipt::new(written);
        }
        if let Some(spill) = self.spill_for_new_lines() {
            self.spill_decision(spill, &record);
            return Receipt::NONE;
        }
        let task = LogTask::Decision(Box::new(record), None);
        match (
            self.waiting_totals.try_add_line(task.memory_bytes(), self.max_lines_and_bytes),
            &self.spill,
            task,
        ) {
            (true, _, task) => {
                self.report_dropped_lines();
                self.send_task(task);
            }
            (false, Some(spill), LogTask::Decision(record, _)) => self.spill_decision(spill, &record),
            _ => self.count_dropped_line(),
        }
        Receipt::NONE
    }

    /// Queues the decision log's line for a message that was recorded in a history, but not
    /// decided. Such a line is never dropped, because the message influences later decisions in the
    /// log.
    pub fn queue_observed_message(&self, rules_name: &str, rules: &Rules, message: &Json) -> Receipt {
        // Writing cannot fail: the message was read as JSON.
        let line = observed_log_line(rules, message).unwrap_or_default();
        let mut line: Json = serde_json::from_slice(&line).unwrap_or_default();
        line["rules"] = rules_name.into();
        self.audit(&line)
    }

    /// Queues a line of the decision log about a change of the rules. Such a line is never dropped,
    /// even if the waiting lines exceed the capacity. In the mode `sync`, the receipt reports when
    /// the line is on the disk.
    pub fn audit(&self, event: &Json) -> Receipt {
        let (sender, written) = oneshot::channel();
        self.queue_line(event.to_string().into_bytes(), Some(sender));
        Some(written).filter(|_| self.mode == LogMode::Sync).map_or(Receipt::NONE, Receipt::new)
    }

    /// Adds a line to the decision log that is never dropped. `sender` reports whether the line was
    /// written to the log; a line in the spill files is not reported.
    fn queue_line(&self, line: Vec<u8>, sender: Option<oneshot::Sender<bool>>) {
        match self.spill_for_new_lines() {
            Some(spill) => drop(self.spill_lines(spill, &[&*line], true)),
            None => self.queue_task(LogTask::Line(line, sender)),
        }
    }

    /// Sends a task to the thread that writes the log, even if the waiting lines then exceed the
    /// capacity.
    fn queue_task(&self, task: LogTask) {
        self.waiting_totals.try_add_line(task.memory_bytes(), (usize::MAX, usize::MAX));
        self.send_task(task);
    }

    fn send_task(&self, task: LogTask) {
        if self.tasks.send(task).is_err() {
            // The thread has ended. That happens only while the service stops.
            self.metrics.failed_lines.inc();
        }
    }

    /// Returns the spill files if a new line must go there. While lines wait in them, new lines
    /// follow, so that all lines keep their order.
    fn spill_for_new_lines(&self) -> Option<&SpillFiles> {
        self.spill.as_deref().filter(|spill| self.spills_all_lines || !spill.is_empty())
    }

    /// Counts a line that is dropped: it will never be written to the decision log.
    fn count_dropped_line(&self) {
        self.dropped_lines.fetch_add(1, Ordering::Relaxed);
        self.metrics.dropped_lines.inc();
    }

    /// Appends the line of a decision to the spill files, after a line with the number of dropped
    /// lines. Drops the line if the files are full.
    fn spill_decision(&self, spill: &SpillFiles, record: &DecisionRecord) {
        let (line, dropped) = (record.to_line(), self.dropped_lines.swap(0, Ordering::Relaxed));
        let report = dropped_lines_report(dropped);
        let lines = [&*report, &*line];
        if !self.spill_lines(spill, if dropped > 0 { &lines } else { &lines[1..] }, false) {
            self.dropped_lines.fetch_add(dropped, Ordering::Relaxed);
            self.count_dropped_line();
        }
    }

    /// Appends lines to the spill files, and notifies the thread that writes the log. Returns false
    /// if the files are full. Lines that `must_keep` are appended even then.
    fn spill_lines(&self, spill: &SpillFiles, lines: &[&[u8]], must_keep: bool) -> bool {
        match spill.add_lines(lines, must_keep) {
            Ok(SpillResult::Full) => return false,
            Ok(spilled) => {
                self.metrics.spilled_lines.inc_by(lines.len() as u64);
                if spilled == SpillResult::First {
                    let _ = self.tasks.send(LogTask::Spilled);
                }
            }
            Err(_) => drop(self.metrics.failed_lines.inc_by(lines.len() as u64)),
        }
        true
    }

    /// If lines of the decision log were dropped, queues a line that reports how many.
    fn report_dropped_lines(&self) {
        if self.dropped_lines.load(Ordering::Relaxed) == 0 {
            return;
        }
        let dropped = self.dropped_lines.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            self.queue_line(dropped_lines_report(dropped), None);
        }
    }

    /// Writes all waiting lines and then a checkpoint (a signed line), if the log has a key. Ends
    /// the thread that writes the log.
    pub fn close(&self) {
        self.report_dropped_lines();
        self.closing.begin();
        let _ = self.tasks.send(LogTask::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // If the thread panicked, there is nothing left to do: the service is ending.
            let _ = thread.join();
        }
    }
}

/// Returns the line that reports the number of dropped lines.
fn dropped_lines_report(count: usize) -> Vec<u8> {
    serde_json::json!({ "dropped": count }).to_string().into_bytes()
}

/// Returns the end of the decision log as JSON: the number of the last line, and its hash, which
/// depends on all lines. With both, a person can detect later whether lines at the end were
/// removed.
fn log_end_json(chain: &HashChain) -> Json {
    serde_json::json!({ "lines": chain.next_line_number() - 1, "head": chain.last_hash_hex() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec::LiveRules;
    use std::time::Duration;

    fn open_test_log(path: std::path::PathBuf, mode: LogMode, capacity_bytes: usize) -> DecisionLog {
        let target = LogTarget::File(path);
        let (capacity, rotate_bytes, key) = (1000, u64::MAX, None);
        let options = LogOptions {
            target,
            mode,
            max_waiting_lines: capacity,
            max_waiting_bytes: capacity_bytes,
            max_spill_bytes: u64::MAX,
            rotate_bytes,
            key,
            checkpoint_interval: Duration::from_secs(10),
            sampling: LogSampling::default(),
        };
        DecisionLog::open(options, LogMetrics::default(), Box::new(|_, _| {})).expect("it opens")
    }

    /// A decision whose request is cancelled keeps its reservation, so that the memory is bounded.
    #[tokio::test]
    async fn memory_for_waiting_decisions_is_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = open_test_log(folder.path().join("log"), LogMode::Sync, 2 * (QUEUED_DECISION_BYTES + 100));
        let reservations = [log.try_reserve_memory(100).expect("room"), log.reserve_memory(100).await];
        let problem = log.try_reserve_memory(0).map(drop).expect_err("no room");
        assert_eq!(problem.status(), 503);
        drop(reservations);
        let all = log.try_reserve_memory(1 << 30).expect("a large message waits alone");
        assert!(log.try_reserve_memory(0).is_err());
        drop(all);
        let rules = LiveRules::from_text(crate::rules::compiler(), "default -> chat").expect("rules");
        let decision = rules.decide_line(b"{}").expect("an object");
        for _ in 0..100 {
            let (rules, decision, message_json) = (rules.clone(), decision.clone(), b"{}".to_vec());
            let (rules_name, reservation) = ("a".to_owned(), log.reserve_memory(2).await);
            let (flow_name, elapsed, trace) = (None, Duration::ZERO, None);
            let record = DecisionRecord {
                rules_name,
                rules,
                decision,
                message_json,
                flow_name,
                elapsed,
                trace,
                sample_share: None,
                _reservation: reservation,
            };
            log.record(record).wait().await.expect("it is written");
        }
        log.close();
        assert_eq!(log.free_bytes.available_permits(), 2 * (QUEUED_DECISION_BYTES + 100));
        let log = open_test_log(folder.path().join("other"), LogMode::Drop, 0);
        assert!(log.try_reserve_memory(0).is_ok(), "the other modes do not wait");
    }
}
