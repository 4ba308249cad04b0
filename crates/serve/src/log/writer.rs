//! The thread that writes the decision log. It takes all lines that are waiting, and writes them in
//! one operation.
//!
//! If a server does not accept the lines, the thread sends them again until the server accepts them
//! or the log closes. Only in the mode `sync` it sends them once, because requests wait.

use super::closing::LogCloseSignal;
use super::output::{LogFlushError, LogOutput};
use super::spill::SpillFiles;
use super::{LogTask, ReportEvent, WaitingLineTotals, log_end_json};
use crate::metrics::LogMetrics;
use rulec_base::broken_invariant;
use serde_json::json;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Size in bytes of the pending lines at which the thread writes them, before it takes further
/// lines.
const MAX_GROUP_BYTES: usize = 1 << 20;

pub(super) struct LogWriter {
    pub output: LogOutput,
    /// Whether the log has the mode `sync`: answers wait until their lines are on the disk.
    pub is_sync: bool,
    /// The first and the longest pause before lines are sent to a server again.
    pub retry_pauses: (Duration, Duration),
    pub closing: Arc<LogCloseSignal>,
    pub waiting_totals: Arc<WaitingLineTotals>,
    pub spill: Option<Arc<SpillFiles>>,
    pub metrics: LogMetrics,
    pub report_event: ReportEvent,
    /// For each kind of [`LogWriterAttempt`], whether the last attempt has failed. Of several
    /// failures in a row, only the first is reported.
    pub has_failed_by_attempt: [bool; 2],
}

/// An action of the thread that writes the decision log, which can fail. As a number, it is the
/// index into `LogWriter::has_failed_by_attempt`.
#[derive(Clone, Copy)]
enum LogWriterAttempt {
    Write,
    /// The attempt to start a new log file because the current one is full.
    Rotate,
}

impl LogWriter {
    /// Writes the lines of the tasks that arrive through `tasks`, until the log is closed.
    pub fn run(mut self, tasks: &Receiver<LogTask>) {
        let mut is_open = true;
        while is_open {
            let Some(first) = self.next_task(tasks) else { break };
            let mut receipts = Vec::new();
            let mut lines = 0;
            let is_blocked = !self.send_kept_lines();
            let mut next = Some(first);
            while let Some(task) = next.take() {
                match task {
                    LogTask::Close => is_open = false,
                    LogTask::Spilled => {
                        // The lines in memory are older than the spilled lines, so they are written
                        // first.
                        self.flush(std::mem::take(&mut lines), &mut receipts);
                        self.drain_all_spill_files();
                    }
                    task if is_blocked => self.refuse_task_line(task),
                    task => {
                        self.waiting_totals.remove_line(task.memory_bytes());
                        lines += self.add_task_line(task, &mut receipts);
                    }
                }
                if is_blocked || self.output.pending_bytes() < MAX_GROUP_BYTES {
                    next = tasks.try_recv().ok();
                }
            }
            self.flush(lines, &mut receipts);
        }
        self.drain_all_spill_files();
        // Lines that the server has not accepted are counted already, or are in the spill files.
        if !self.output.has_pending_lines() {
            let closed = self.output.close();
            if closed.is_err() {
                self.metrics.failed_lines.inc();
            }
            self.report_outcome(LogWriterAttempt::Write, closed);
        }
        (self.report_event)("log_closed", log_end_json(&self.output.written_end().get()));
    }

    /// Waits for the next task. If a checkpoint is due before the task arrives, writes it. `None`
    /// if there will be no further task.
    fn next_task(&mut self, tasks: &Receiver<LogTask>) -> Option<LogTask> {
        while let Some(pause) = self.output.time_to_checkpoint() {
            if !pause.is_zero() {
                match tasks.recv_timeout(pause) {
                    Ok(task) => return Some(task),
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
            self.output.add_checkpoint();
            let written = self.write_pending(self.is_sync);
            self.report_outcome(
                LogWriterAttempt::Write,
                written.map(drop).map_err(LogFlushError::into_io_error),
            );
        }
        tasks.recv().ok()
    }

    /// Reports the error of an attempt as an event. Reports nothing if the previous attempt of the
    /// same kind has failed too.
    fn report_outcome(&mut self, attempt: LogWriterAttempt, outcome: io::Result<()>) {
        let was_failing =
            std::mem::replace(&mut self.has_failed_by_attempt[attempt as usize], outcome.is_err());
        if let (Err(error), false) = (outcome, was_failing) {
            (self.report_event)("log_failed", json!({ "error": error.to_string() }));
        }
    }

    /// Converts a task to a line of the decision log, and adds the line to the pending lines. Adds
    /// the task's sender, if a request waits for the line, to `receipts`. Returns the number of
    /// added lines, 0 or 1.
    fn add_task_line(&mut self, task: LogTask, receipts: &mut Vec<oneshot::Sender<bool>>) -> u64 {
        let (line, receipt) = match task {
            // If making the line panics, only this line is lost. Its receipt is dropped, so the
            // waiting answer gets an error.
            LogTask::Decision(record, receipt) => {
                (catch_unwind(AssertUnwindSafe(|| record.to_line())).ok(), receipt)
            }
            LogTask::Line(line, receipt) => (Some(line), receipt),
            LogTask::Spilled | LogTask::Close => return 0,
        };
        let Some(line) = line else {
            self.metrics.failed_lines.inc();
            return 0;
        };
        self.output.add_line(line);
        receipts.extend(receipt);
        1
    }

    /// Counts a line as failed, because lines before it wait for a server that does not accept
    /// them. If a request waits for the line, it gets an error.
    fn refuse_task_line(&mut self, task: LogTask) {
        self.waiting_totals.remove_line(task.memory_bytes());
        self.metrics.failed_lines.inc();
        if let LogTask::Decision(_, Some(receipt)) | LogTask::Line(_, Some(receipt)) = task {
            let _ = receipt.send(false);
        }
    }

    /// Sends the lines that could not be sent earlier to the server again. Their number and hashes
    /// depend on no later line, so they must arrive before later lines are added. Returns false if
    /// lines are still pending.
    fn send_kept_lines(&mut self) -> bool {
        if !self.output.has_pending_lines() {
            return true;
        }
        // Outside the mode `sync`, lines are pending only after the last attempt of a closing log.
        if !self.is_sync {
            return false;
        }
        let sent = self.output.flush(self.is_sync);
        self.report_outcome(LogWriterAttempt::Write, sent.map(drop).map_err(LogFlushError::into_io_error));
        !self.output.has_pending_lines()
    }

    /// Writes the pending lines, and notifies the requests that wait for them through `receipts`.
    /// `lines` is the number of pending lines, for the metrics.
    fn flush(&mut self, lines: u64, receipts: &mut Vec<oneshot::Sender<bool>>) {
        if lines == 0 && receipts.is_empty() {
            return;
        }
        let written = self.write_pending(self.is_sync);
        let was_written = written.is_ok();
        self.count_lines(lines, &written);
        for receipt in receipts.drain(..) {
            // Sending fails if the request was cancelled, because then its handler does not wait
            // any more.
            let _ = receipt.send(was_written);
        }
        self.report_outcome(LogWriterAttempt::Write, written.map(drop).map_err(LogFlushError::into_io_error));
        // The requests above do not wait for a new file. If it cannot be started, no line is lost.
        if was_written {
            self.rotate_if_full();
        }
    }

    /// Counts lines as written or failed. A server may have rejected a part of them.
    fn count_lines(&self, lines: u64, written: &Result<u64, LogFlushError>) {
        let rejected = written.as_ref().map_or(lines, |rejected| lines.min(*rejected));
        self.metrics.written_lines.inc_by(lines - rejected);
        self.metrics.failed_lines.inc_by(rejected);
    }

    /// Writes the pending lines. If a server keeps failing, sends them again, with pauses, until it
    /// accepts them. After the log has begun to close, makes one more attempt.
    fn write_pending(&mut self, syncs: bool) -> Result<u64, LogFlushError> {
        let (mut pause, longest_pause) = self.retry_pauses;
        loop {
            let is_last = self.is_sync || self.closing.is_closing();
            match self.output.flush(syncs) {
                Err(error) if error.keeps_lines() && !is_last => {
                    self.report_outcome(LogWriterAttempt::Write, Err(error.into_io_error()));
                    self.closing.pause(pause);
                    pause = (pause * 2).min(longest_pause);
                }
                written => return written,
            }
        }
    }

    /// Moves the lines of the draining file to the log. After an error, reports it and returns
    /// false. The lines that are not in the log then stay in the spill files, and the next spilled
    /// line starts another attempt.
    fn drain_spill_files(&mut self) -> bool {
        let Some(spill) = self.spill.clone() else {
            broken_invariant!("only a log with spill files has spilled lines");
            return true;
        };
        let drained = self.drain_groups(&spill);
        let is_drained = drained.is_ok();
        if drained.as_ref().is_err_and(|error| !error.keeps_lines()) {
            self.metrics.failed_lines.inc();
        }
        self.report_outcome(LogWriterAttempt::Write, drained.map_err(LogFlushError::into_io_error));
        self.rotate_if_full();
        is_drained
    }

    fn drain_groups(&mut self, spill: &SpillFiles) -> Result<(), LogFlushError> {
        spill.begin_drain().map_err(LogFlushError::Failed)?;
        while let Some(group) = spill.next_group(MAX_GROUP_BYTES).map_err(LogFlushError::Failed)? {
            group.lines.iter().for_each(|line| self.output.add_line(line.clone()));
            let written = self.write_pending(true);
            if let Err(error) = written.as_ref()
                && !error.is_refusal()
            {
                return written.map(drop);
            }
            // The server would refuse the same lines again, so they leave the spill files too.
            spill.end_group(&group);
            self.count_lines(group.lines.len() as u64, &written);
            self.report_outcome(
                LogWriterAttempt::Write,
                written.map(drop).map_err(LogFlushError::into_io_error),
            );
        }
        Ok(())
    }

    /// Moves lines to the log until the spill files are empty or an error occurs.
    fn drain_all_spill_files(&mut self) {
        // Pending lines are in the spill files too, and must not be added twice.
        while self.spill.as_ref().is_some_and(|spill| !spill.is_empty())
            && !self.output.has_pending_lines()
            && self.drain_spill_files()
        {}
    }

    fn rotate_if_full(&mut self) {
        let rotated = self.output.rotate_if_full();
        self.report_outcome(LogWriterAttempt::Rotate, rotated);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LogMode, LogTarget};
    use super::*;
    use std::sync::Mutex;

    /// If a log file stays full for long because it cannot be renamed, a later loss of lines must
    /// still be reported.
    #[test]
    fn each_kind_of_failure_is_reported_once() {
        let target = LogTarget::Writer(Box::new(io::sink()));
        let output = LogOutput::open(target, LogMode::Drop, 0, None).expect("it opens");
        let events = Arc::<Mutex<Vec<String>>>::default();
        let sink = events.clone();
        let report = move |kind: &str, _| sink.lock().expect("no test panics here").push(kind.to_owned());
        let mut writer = LogWriter {
            output,
            is_sync: false,
            retry_pauses: (Duration::ZERO, Duration::ZERO),
            closing: Arc::default(),
            waiting_totals: Arc::default(),
            spill: None,
            metrics: LogMetrics::default(),
            report_event: Box::new(report),
            has_failed_by_attempt: [false; 2],
        };
        let failed = || Err(io::Error::other("full"));
        for attempt in [
            LogWriterAttempt::Rotate,
            LogWriterAttempt::Rotate,
            LogWriterAttempt::Write,
            LogWriterAttempt::Write,
            LogWriterAttempt::Rotate,
        ] {
            writer.report_outcome(attempt, failed());
        }
        assert_eq!(events.lock().expect("no test panics here").len(), 2);
        writer.report_outcome(LogWriterAttempt::Write, Ok(()));
        writer.report_outcome(LogWriterAttempt::Rotate, failed());
        writer.report_outcome(LogWriterAttempt::Write, failed());
        assert_eq!(events.lock().expect("no test panics here").len(), 3);
    }
}
