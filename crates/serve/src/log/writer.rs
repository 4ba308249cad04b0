//! The thread that writes the decision log. It takes all lines that are waiting, and writes them in
//! one operation.

use super::output::LogOutput;
use super::spill::SpillFiles;
use super::{LogTask, ReportEvent, WaitingTotals, log_end_json};
use crate::metrics::LogMetrics;
use rulec_base::broken_invariant;
use serde_json::json;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use tokio::sync::oneshot;

/// Size in bytes of the pending lines at which the thread writes them, before it takes further
/// lines.
const MAX_GROUP_BYTES: usize = 1 << 20;

pub(super) struct LogWriter {
    pub output: LogOutput,
    /// Whether the log has the mode `sync`: answers wait until their lines are on the disk.
    pub is_sync: bool,
    pub waiting_totals: Arc<WaitingTotals>,
    pub spill: Option<Arc<SpillFiles>>,
    pub metrics: LogMetrics,
    pub report_event: ReportEvent,
    /// For each kind of [`Attempt`], whether the last attempt has failed. Of several failures in a
    /// row, only the first is reported.
    pub has_failed_by_attempt: [bool; 2],
}

/// An action of the writer that can fail. As a number, it is the index into
/// `Writer::has_failed_by_attempt`.
#[derive(Clone, Copy)]
enum Attempt {
    Write,
    /// The attempt to start a new log file because the current one is full.
    Rotate,
}

impl LogWriter {
    /// Writes the lines of the tasks that arrive through `tasks`, until the log is closed.
    pub fn run(mut self, tasks: &Receiver<LogTask>) {
        let mut is_open = true;
        while is_open {
            let Ok(first) = tasks.recv() else { break };
            let mut receipts = Vec::new();
            let mut lines = 0;
            let mut next = Some(first);
            while let Some(task) = next.take() {
                match task {
                    LogTask::Close => is_open = false,
                    LogTask::Spilled => {
                        // The lines in memory are older than the spilled lines, so they are written
                        // first.
                        self.flush(std::mem::take(&mut lines), &mut receipts);
                        self.drain_spill();
                    }
                    task => {
                        self.waiting_totals.remove_line(task.memory_bytes());
                        lines += self.add_task_line(task, &mut receipts);
                    }
                }
                if self.output.pending_bytes() < MAX_GROUP_BYTES {
                    next = tasks.try_recv().ok();
                }
            }
            self.flush(lines, &mut receipts);
        }
        self.drain_all();
        let closed = self.output.close();
        if closed.is_err() {
            self.metrics.failed_lines.inc();
        }
        self.report_outcome(Attempt::Write, closed);
        (self.report_event)("log_closed", log_end_json(&self.output.written_end().get()));
    }

    /// Reports the error of an attempt as an event. Reports nothing if the previous attempt of the
    /// same kind has failed too.
    fn report_outcome(&mut self, attempt: Attempt, outcome: io::Result<()>) {
        let was_failing =
            std::mem::replace(&mut self.has_failed_by_attempt[attempt as usize], outcome.is_err());
        if let (Err(error), false) = (outcome, was_failing) {
            (self.report_event)("log_failed", json!({ "error": error.to_string() }));
        }
    }

    /// Converts a task to a line, and adds the line to the pending lines. Adds the task's sender,
    /// if a request waits for the line, to `receipts`. Returns the number of added lines, 0 or 1.
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

    /// Writes the pending lines, and notifies the requests that wait for them through `receipts`.
    /// `lines` is the number of pending lines, for the metrics.
    fn flush(&mut self, lines: u64, receipts: &mut Vec<oneshot::Sender<bool>>) {
        let written = self.output.flush(self.is_sync);
        let was_written = written.is_ok();
        match was_written {
            true => drop(self.metrics.written_lines.inc_by(lines)),
            false => drop(self.metrics.failed_lines.inc_by(lines)),
        }
        for receipt in receipts.drain(..) {
            // Sending fails if the request was cancelled, because then its handler does not wait
            // any more.
            let _ = receipt.send(was_written);
        }
        self.report_outcome(Attempt::Write, written);
        // The requests above do not wait for a new file. If it cannot be started, no line is lost.
        if was_written {
            self.rotate_if_full();
        }
    }

    /// Moves the lines of the draining file to the log. After an error, reports it and returns
    /// false. The lines that are not in the log then stay in the spill files, and the next spilled
    /// line starts another attempt.
    fn drain_spill(&mut self) -> bool {
        let Some(spill) = self.spill.clone() else {
            broken_invariant!("only a log with spill files has spilled lines");
            return true;
        };
        let drained = self.drain_groups(&spill);
        let is_drained = drained.is_ok();
        if !is_drained {
            self.metrics.failed_lines.inc();
        }
        self.report_outcome(Attempt::Write, drained);
        self.rotate_if_full();
        is_drained
    }

    fn drain_groups(&mut self, spill: &SpillFiles) -> io::Result<()> {
        spill.begin_drain()?;
        while let Some(group) = spill.next_group(MAX_GROUP_BYTES)? {
            group.lines.iter().for_each(|line| self.output.add_line(line.clone()));
            self.output.flush(true)?;
            spill.end_group(&group);
            self.metrics.written_lines.inc_by(group.lines.len() as u64);
        }
        Ok(())
    }

    /// Moves lines to the log until the spill files are empty or an error occurs. Called when the
    /// service stops.
    fn drain_all(&mut self) {
        while self.spill.as_ref().is_some_and(|spill| !spill.is_empty()) && self.drain_spill() {}
    }

    fn rotate_if_full(&mut self) {
        let rotated = self.output.rotate_if_full();
        self.report_outcome(Attempt::Rotate, rotated);
    }
}

#[cfg(test)]
mod tests {
    use super::super::LogTarget;
    use super::*;
    use std::sync::Mutex;

    /// If a log file stays full for long because it cannot be renamed, a later loss of lines must
    /// still be reported.
    #[test]
    fn each_kind_of_failure_is_reported_once() {
        let output = LogOutput::open(LogTarget::Writer(Box::new(io::sink())), 0, None).expect("it opens");
        let events = Arc::<Mutex<Vec<String>>>::default();
        let sink = events.clone();
        let report = move |kind: &str, _| sink.lock().expect("no test panics here").push(kind.to_owned());
        let mut writer = LogWriter {
            output,
            is_sync: false,
            waiting_totals: Arc::default(),
            spill: None,
            metrics: LogMetrics::default(),
            report_event: Box::new(report),
            has_failed_by_attempt: [false; 2],
        };
        let failed = || Err(io::Error::other("full"));
        for attempt in [Attempt::Rotate, Attempt::Rotate, Attempt::Write, Attempt::Write, Attempt::Rotate] {
            writer.report_outcome(attempt, failed());
        }
        assert_eq!(events.lock().expect("no test panics here").len(), 2);
        writer.report_outcome(Attempt::Write, Ok(()));
        writer.report_outcome(Attempt::Rotate, failed());
        writer.report_outcome(Attempt::Write, failed());
        assert_eq!(events.lock().expect("no test panics here").len(), 3);
    }
}
