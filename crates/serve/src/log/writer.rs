//! The thread that writes the decision log. Lines that wait together are written together.

use super::output::Output;
use super::spill::Spill;
use super::{Report, Task, Waiting, log_end_json};
use crate::metrics::LogMetrics;
use serde_json::json;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use tokio::sync::oneshot;

/// Maximum number of bytes that are written together.
const MAX_GROUP_BYTES: usize = 1 << 20;

pub(super) struct Writer {
    pub output: Output,
    /// Whether answers wait until their lines are on the disk.
    pub is_sync: bool,
    pub waiting: Arc<Waiting>,
    pub spill: Option<Arc<Spill>>,
    pub metrics: LogMetrics,
    pub report_event: Report,
    /// Whether the last attempt to write or to begin a new file has failed, which is reported once.
    pub is_failing: bool,
}

impl Writer {
    /// Writes what arrives, until the log is closed.
    pub fn run(mut self, tasks: &Receiver<Task>) {
        let mut is_open = true;
        while is_open {
            let Ok(first) = tasks.recv() else { break };
            let mut receipts = Vec::new();
            let mut lines = 0;
            let mut next = Some(first);
            while let Some(task) = next.take() {
                match task {
                    Task::Close => is_open = false,
                    Task::Spilled => {
                        // The lines in memory are older than the spilled ones.
                        self.flush(std::mem::take(&mut lines), &mut receipts);
                        self.drain_spill();
                    }
                    task => {
                        self.waiting.remove(task.bytes());
                        lines += self.add(task, &mut receipts);
                    }
                }
                if self.output.pending_bytes() < MAX_GROUP_BYTES {
                    next = tasks.try_recv().ok();
                }
            }
            self.flush(lines, &mut receipts);
        }
        let closed = self.output.close();
        if closed.is_err() {
            self.metrics.failed.inc();
        }
        self.report(closed);
        (self.report_event)("log_closed", log_end_json(&self.output.end().get()));
    }

    /// Reports an error, unless the one before it was reported and nothing has succeeded since.
    fn report(&mut self, outcome: io::Result<()>) {
        let was_failing = std::mem::replace(&mut self.is_failing, outcome.is_err());
        if let (Err(error), false) = (outcome, was_failing) {
            (self.report_event)("log_failed", json!({ "error": error.to_string() }));
        }
    }

    /// Adds the line of a task to the next group. Returns the number of lines.
    fn add(&mut self, task: Task, receipts: &mut Vec<oneshot::Sender<bool>>) -> u64 {
        let (line, receipt) = match task {
            // A panic affects its own line only. The answer that waits for it gets an error.
            Task::Decision(record, receipt) => {
                (catch_unwind(AssertUnwindSafe(|| record.to_line())).ok(), receipt)
            }
            Task::Line(line, receipt) => (Some(line), receipt),
            Task::Spilled | Task::Close => return 0,
        };
        let Some(line) = line else {
            self.metrics.failed.inc();
            return 0;
        };
        self.output.add(line);
        receipts.extend(receipt);
        1
    }

    /// Writes the group, and answers those who wait for its lines.
    fn flush(&mut self, lines: u64, receipts: &mut Vec<oneshot::Sender<bool>>) {
        let written = self.output.flush(self.is_sync);
        let is_written = written.is_ok();
        match is_written {
            true => drop(self.metrics.written.inc_by(lines)),
            false => drop(self.metrics.failed.inc_by(lines)),
        }
        for receipt in receipts.drain(..) {
            // The client may be gone.
            let _ = receipt.send(is_written);
        }
        // A file that stays too long is no loss of lines, so that the answers need not wait.
        let rotated = written.and_then(|()| self.output.rotate_if_full());
        self.report(rotated);
    }

    fn drain_spill(&mut self) {
        let Writer { output, spill, metrics, .. } = self;
        let Some(spill) = spill.clone() else { return };
        let mut count = 0;
        let drained = spill.drain(|line| {
            output.add(line);
            count += 1;
            if output.pending_bytes() < MAX_GROUP_BYTES {
                return Ok(());
            }
            output.flush(false)
        });
        // The lines are removed only after they are on the disk.
        let drained = drained.and_then(|()| output.flush(true)).and_then(|()| spill.end_drain());
        metrics.written.inc_by(count);
        if drained.is_err() {
            metrics.failed.inc();
        }
        let rotated = drained.and_then(|()| output.rotate_if_full());
        self.report(rotated);
    }
}
