//! The decision log: one JSON line for each decision. A thread writes the lines, so that a decision
//! does not wait for the disk, unless the mode is [`LogMode::Sync`].

mod file;
mod output;
mod spill;
mod writer;

use crate::metrics::LogMetrics;
use crate::problem::Problem;
use crate::receipt::Receipt;
use crate::rules::StartError;
use crate::trace::TraceId;
use output::{LogEnd, Output};
use rulec::{Decision, LiveRules, SigningKey};
use rulec_base::message;
use rulec_report::chain::Chain;
use rulec_runtime::route::DecidedMessage;
use serde_json::Value as Json;
use spill::Spill;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use writer::Writer;

/// What happens to lines that come faster than they can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogMode {
    /// They are dropped and counted. The next line says how many were dropped before it.
    #[default]
    Drop,
    /// They wait in a file next to the log.
    Spill,
    /// Each answer waits until its line is on the disk. Lines that come together are written
    /// together. So no answered decision is lost, even if the machine stops.
    Sync,
}

/// Where the lines of a decision log go.
pub enum LogTarget {
    /// To a file, which is continued if it exists.
    File(PathBuf),
    /// To a writer, such as standard output.
    Writer(Box<dyn Write + Send>),
}

/// The settings of a decision log.
pub struct LogOptions {
    /// Where the lines go.
    pub target: LogTarget,
    /// What happens to lines that come too fast.
    pub mode: LogMode,
    /// Maximum number of lines that wait in memory, in the modes `drop` and `spill`.
    pub capacity: usize,
    /// Maximum number of bytes of the messages that wait in memory. In the mode `sync`, further
    /// requests get the status 503, and further lines of a stream wait.
    pub capacity_bytes: usize,
    /// Number of bytes after which a file is renamed, and a new file is begun.
    pub rotate_bytes: u64,
    /// The key that signs checkpoints; `None` for a log without checkpoints.
    pub key: Option<SigningKey>,
}

/// Receives the events of the log: the kind, and an object.
pub(crate) type Report = Box<dyn Fn(&str, Json) + Send>;

/// A decision that the log records.
pub(crate) struct Record {
    pub rules_name: String,
    pub rules: LiveRules,
    pub decision: Decision,
    /// The message as JSON text.
    pub text: Vec<u8>,
    /// The name of the flow that a classifier found.
    pub flow: Option<String>,
    pub elapsed: Duration,
    /// The trace of the caller.
    pub trace: Option<TraceId>,
    /// Held until the line is made.
    pub _room: Room,
}

/// The place of a decision in the memory of a log, until its line is made.
#[derive(Default)]
pub(crate) struct Room {
    _permit: Option<OwnedSemaphorePermit>,
}

/// The lines that wait in memory.
#[derive(Default)]
struct Waiting {
    lines: AtomicUsize,
    bytes: AtomicUsize,
}

impl Waiting {
    /// Adds a line of this size. Returns false, and adds nothing, if that would be more than
    /// `capacity` lines and bytes.
    fn try_add(&self, bytes: usize, capacity: (usize, usize)) -> bool {
        let lines_before = self.lines.fetch_add(1, Ordering::Relaxed);
        let bytes_before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let fits = lines_before < capacity.0 && bytes_before.saturating_add(bytes) <= capacity.1;
        if !fits {
            self.remove(bytes);
        }
        fits
    }

    fn remove(&self, bytes: usize) {
        self.lines.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Number of bytes that a decision takes in memory, about, without its message.
const DECISION_BYTES: usize = 512;

/// Maximum of the capacity in the mode `sync`, about 4 GB.
const MAX_FREE_BYTES: usize = u32::MAX as usize;

/// What the writer's thread receives.
enum Task {
    Decision(Box<Record>, Option<oneshot::Sender<bool>>),
    /// A line that is already JSON text, such as an audited change.
    Line(Vec<u8>, Option<oneshot::Sender<bool>>),
    /// Lines wait in the spill file.
    Spilled,
    Close,
}

impl Task {
    /// Number of bytes that the task takes in memory while it waits.
    fn bytes(&self) -> usize {
        match self {
            Task::Decision(record, _) => record.text.len() + DECISION_BYTES,
            Task::Line(line, _) => line.len(),
            Task::Spilled | Task::Close => 0,
        }
    }
}

/// A decision log that decisions are added to.
pub(crate) struct DecisionLog {
    mode: LogMode,
    /// Maximum number of lines, and of bytes, that wait in memory.
    capacity: (usize, usize),
    tasks: Sender<Task>,
    waiting: Arc<Waiting>,
    /// The bytes that are free for decisions in the mode `sync`. The requests themselves do not
    /// limit them: a decision whose request is cancelled still waits for the disk.
    free_bytes: Arc<Semaphore>,
    end: LogEnd,
    /// Number of lines dropped since the last line that was queued.
    dropped: AtomicUsize,
    spill: Option<Arc<Spill>>,
    metrics: LogMetrics,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl DecisionLog {
    /// Opens the log and starts its thread. An existing file is continued.
    ///
    /// # Errors
    /// If the file cannot be opened, or the mode needs a file.
    pub fn open(options: LogOptions, metrics: LogMetrics, report: Report) -> Result<DecisionLog, StartError> {
        let LogOptions { target, mode, capacity, capacity_bytes, rotate_bytes, key } = options;
        let spilling = match (mode, &target) {
            (LogMode::Drop, _) | (LogMode::Sync, LogTarget::File(_)) => None,
            (LogMode::Spill, LogTarget::File(path)) => Some(path.clone()),
            (_, LogTarget::Writer(_)) => {
                return Err(StartError::Options(message!(
                    "the modes `spill` and `sync` need a file: give `--log FILE`"
                )));
            }
        };
        // The lock of the log protects the spill files too.
        let output = Output::open(target, rotate_bytes, key)?;
        let spill = spilling.map(|path| Spill::open(&path).map(Arc::new)).transpose()?;
        let end = output.end().clone();
        report("log_opened", log_end_json(&end.get()));
        let (tasks, received) = channel();
        let waiting = Arc::<Waiting>::default();
        let has_spilled = spill.as_ref().is_some_and(|spill| !spill.is_empty());
        let writer = Writer {
            output,
            is_sync: mode == LogMode::Sync,
            waiting: waiting.clone(),
            spill: spill.clone(),
            metrics: metrics.clone(),
            report_event: report,
            failing: [false; 2],
        };
        let thread = std::thread::Builder::new().name("rulec-log".to_owned());
        let thread = thread.spawn(move || writer.run(&received)).map_err(|error| {
            StartError::Options(message!("the thread of the decision log cannot start: {error}"))
        })?;
        if has_spilled {
            let _ = tasks.send(Task::Spilled);
        }
        let thread = Mutex::new(Some(thread));
        let dropped = AtomicUsize::new(0);
        let capacity = (capacity, capacity_bytes);
        let free_bytes = Arc::new(Semaphore::new(capacity_bytes.min(MAX_FREE_BYTES)));
        Ok(DecisionLog { mode, capacity, tasks, waiting, free_bytes, end, dropped, spill, metrics, thread })
    }

    /// Returns the end of the log: the number of its last line, and the hash of all lines.
    pub fn end(&self) -> Json {
        log_end_json(&self.end.get())
    }

    /// Returns room for a decision about a message of this size.
    ///
    /// # Errors
    /// If the decisions before it wait for the disk, and no more fit into the memory.
    pub fn room(&self, message_bytes: usize) -> Result<Room, Problem> {
        if self.mode != LogMode::Sync {
            return Ok(Room::default());
        }
        let room = self.free_bytes.clone().try_acquire_many_owned(self.needed_bytes(message_bytes));
        room.map(|permit| Room { _permit: Some(permit) }).map_err(|_| {
            Problem::overloaded("too many decisions wait for the decision log, so nothing is decided")
        })
    }

    /// Waits for room for a decision about a message of this size.
    pub async fn wait_for_room(&self, message_bytes: usize) -> Room {
        if self.mode != LogMode::Sync {
            return Room::default();
        }
        let needed = self.needed_bytes(message_bytes);
        // The semaphore is never closed.
        Room { _permit: self.free_bytes.clone().acquire_many_owned(needed).await.ok() }
    }

    /// A message that is larger than the capacity waits alone.
    fn needed_bytes(&self, message_bytes: usize) -> u32 {
        let needed = message_bytes.saturating_add(DECISION_BYTES).min(self.capacity.1);
        u32::try_from(needed).unwrap_or(u32::MAX)
    }

    /// Adds a decision. Waits for nothing; the receipt says when the line is on the disk.
    pub fn record(&self, record: Record) -> Receipt {
        if self.mode == LogMode::Sync {
            let (sender, written) = oneshot::channel();
            self.queue(Task::Decision(Box::new(record), Some(sender)));
            return Receipt::new(written);
        }
        // Lines after a spilled line spill too, so that all lines keep their order.
        if let Some(spill) = self.spill.as_ref().filter(|spill| !spill.is_empty()) {
            self.spill_line(spill, &record.to_line());
            return Receipt::NONE;
        }
        let task = Task::Decision(Box::new(record), None);
        match (self.waiting.try_add(task.bytes(), self.capacity), &self.spill, task) {
            (true, _, task) => {
                self.report_dropped();
                self.send(task);
            }
            (false, Some(spill), Task::Decision(record, _)) => self.spill_line(spill, &record.to_line()),
            _ => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                self.metrics.dropped.inc();
            }
        }
        Receipt::NONE
    }

    /// Adds a change of the rules. Such a line is never dropped.
    pub fn audit(&self, event: &Json) -> Receipt {
        let line = event.to_string().into_bytes();
        if let Some(spill) = self.spill.as_ref().filter(|spill| !spill.is_empty()) {
            self.spill_line(spill, &line);
            return Receipt::NONE;
        }
        let (sender, written) = oneshot::channel();
        self.queue(Task::Line(line, Some(sender)));
        Some(written).filter(|_| self.mode == LogMode::Sync).map_or(Receipt::NONE, Receipt::new)
    }

    /// Sends a task, whether or not the lines fit into the capacity.
    fn queue(&self, task: Task) {
        self.waiting.try_add(task.bytes(), (usize::MAX, usize::MAX));
        self.send(task);
    }

    fn send(&self, task: Task) {
        if self.tasks.send(task).is_err() {
            // The thread has ended, which happens only at the end of the service.
            self.metrics.failed.inc();
        }
    }

    fn spill_line(&self, spill: &Spill, line: &[u8]) {
        match spill.add(line) {
            Ok(must_wake) => {
                self.metrics.spilled.inc();
                if must_wake {
                    let _ = self.tasks.send(Task::Spilled);
                }
            }
            Err(_) => drop(self.metrics.failed.inc()),
        }
    }

    /// Adds a line that says how many lines were dropped, if there were any.
    fn report_dropped(&self) {
        if self.dropped.load(Ordering::Relaxed) == 0 {
            return;
        }
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            let line = serde_json::json!({ "dropped": dropped }).to_string();
            self.queue(Task::Line(line.into_bytes(), None));
        }
    }

    /// Writes all lines that wait, a last checkpoint, and ends the thread.
    pub fn close(&self) {
        self.report_dropped();
        let _ = self.tasks.send(Task::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread has been counted as a failure of its lines.
            let _ = thread.join();
        }
    }
}

/// Describes the end of a log: what a person notes to find out later whether it was cut off.
fn log_end_json(chain: &Chain) -> Json {
    serde_json::json!({ "lines": chain.next_number() - 1, "head": chain.head() })
}

impl Record {
    /// Returns the line without its place in the chain. Values of `@private` fields are masked.
    fn to_line(&self) -> Vec<u8> {
        let message = self.rules.rules().parse_message(&self.text).map(Json::Object).unwrap_or_default();
        let decided = DecidedMessage::new(&self.decision, &message).elapsed(self.elapsed);
        // A message that was read as JSON can be written as JSON.
        let mut line = decided.flow(self.flow.as_deref()).to_log_line().unwrap_or_default();
        line.pop_if(|last| *last == b'\n');
        line.pop_if(|last| *last == b'}');
        line.extend_from_slice(b",\"rules\":");
        let _ = serde_json::to_writer(&mut line, &self.rules_name);
        if let Some(trace) = &self.trace {
            line.extend_from_slice(format!(",\"trace_id\":\"{}\"", trace.as_str()).as_bytes());
        }
        line.push(b'}');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: PathBuf, mode: LogMode, capacity_bytes: usize) -> DecisionLog {
        let target = LogTarget::File(path);
        let (capacity, rotate_bytes, key) = (1000, u64::MAX, None);
        let options = LogOptions { target, mode, capacity, capacity_bytes, rotate_bytes, key };
        DecisionLog::open(options, LogMetrics::default(), Box::new(|_, _| {})).expect("it opens")
    }

    /// A decision whose request is cancelled keeps its room, so that the memory has a bound.
    #[tokio::test]
    async fn decisions_that_wait_for_the_disk_have_a_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = open(folder.path().join("log"), LogMode::Sync, 2 * (DECISION_BYTES + 100));
        let rooms = [log.room(100).expect("room"), log.wait_for_room(100).await];
        let problem = log.room(0).map(drop).expect_err("no room");
        assert_eq!(problem.status(), 503);
        drop(rooms);
        let all = log.room(1 << 30).expect("a large message waits alone");
        assert!(log.room(0).is_err());
        drop(all);
        let rules = LiveRules::from_text(crate::rules::compiler(), "default -> chat").expect("rules");
        let decision = rules.decide_line(b"{}").expect("an object");
        for _ in 0..100 {
            let (rules, decision, text) = (rules.clone(), decision.clone(), b"{}".to_vec());
            let (rules_name, room) = ("a".to_owned(), log.wait_for_room(2).await);
            let (flow, elapsed, trace) = (None, Duration::ZERO, None);
            let record = Record { rules_name, rules, decision, text, flow, elapsed, trace, _room: room };
            log.record(record).wait().await.expect("it is written");
        }
        log.close();
        assert_eq!(log.free_bytes.available_permits(), 2 * (DECISION_BYTES + 100));
        let log = open(folder.path().join("other"), LogMode::Drop, 0);
        assert!(log.room(0).is_ok(), "the other modes do not wait");
    }
}
