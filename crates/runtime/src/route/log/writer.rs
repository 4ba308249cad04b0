//! The thread that writes the decision log. The output may fail, accept part of a line, or panic.
//! Such a failure does not affect any decision, and every line is counted as written or failed. A
//! partly written line is completed before the next one.

use super::line::{LogLineOptions, QueuedDecision};
use super::{LogCounters, LogTask};
use crate::task::catch_panic;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use tokio::sync::mpsc;

/// Maximum number of lines that are written before the output is flushed, while more lines are
/// queued. If no line is queued, the output is flushed at once.
const MAX_UNFLUSHED_LINES: u64 = 256;

pub(super) struct LogWriter<W> {
    output: W,
    line_options: LogLineOptions,
    counters: Arc<LogCounters>,
    /// The bytes of the current line; the first `written_byte_count` bytes are already written.
    /// After a failure in the middle of a line, both fields keep their values until the rest is
    /// written.
    line_bytes: Vec<u8>,
    written_byte_count: usize,
    /// Number of lines that were written completely since the output was last flushed.
    unflushed_line_count: u64,
    /// Whether the last write failed. A warning is logged only when a series of failures begins.
    last_write_failed: bool,
}

impl<W: Write> LogWriter<W> {
    pub(super) fn new(output: W, options: LogLineOptions, counters: Arc<LogCounters>) -> Self {
        LogWriter {
            output,
            line_options: options,
            counters,
            line_bytes: Vec::new(),
            written_byte_count: 0,
            unflushed_line_count: 0,
            last_write_failed: false,
        }
    }

    /// Processes queued tasks until the log is closed or its last handle is dropped.
    pub(super) fn run_tasks(&mut self, mut tasks: mpsc::Receiver<LogTask>) {
        let mut close_replies = Vec::new();
        while let Some(task) = tasks.blocking_recv() {
            match task {
                LogTask::Write(entry) => {
                    if let Err(error) = self.write_entry(&entry) {
                        self.report_write_error(&error);
                    }
                    if tasks.is_empty() || self.unflushed_line_count >= MAX_UNFLUSHED_LINES {
                        self.flush();
                    }
                }
                LogTask::Flush { closes_log, reply_sender } => {
                    self.flush();
                    if closes_log {
                        // Tasks that are already queued are still processed; later tasks are
                        // refused.
                        tasks.close();
                        close_replies.push(reply_sender);
                    } else {
                        // The caller may have stopped waiting.
                        let _ = reply_sender.send(());
                    }
                }
            }
        }
        self.flush();
        if !self.line_bytes.is_empty() {
            self.line_bytes.clear();
            self.counters.failed_count.fetch_add(1, Ordering::Relaxed);
        }
        for reply_sender in close_replies {
            let _ = reply_sender.send(());
        }
    }

    fn write_entry(&mut self, entry: &QueuedDecision) -> io::Result<()> {
        // First writes the rest of an earlier line. Otherwise the two lines would be joined.
        let line = self
            .finish_line()
            .and_then(|()| {
                catch_write_panic(|| entry.to_json_line(self.line_options).map_err(io::Error::from))
            })
            .inspect_err(|_| self.count_failed_lines(1))?;
        (self.line_bytes, self.written_byte_count) = (line, 0);
        self.finish_line().inspect_err(|_| {
            // No byte of the line was written, so there is no rest to keep.
            if self.written_byte_count == 0 {
                self.line_bytes.clear();
                self.count_failed_lines(1);
            }
        })
    }

    /// Writes the bytes of the current line that the output has not accepted yet. After an error,
    /// the rest of the line can be written by another call.
    fn finish_line(&mut self) -> io::Result<()> {
        if self.line_bytes.is_empty() {
            return Ok(());
        }
        while let Some(rest) = self.line_bytes.get(self.written_byte_count..).filter(|rest| !rest.is_empty())
        {
            match catch_write_panic(|| self.output.write(rest)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.written_byte_count += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.line_bytes.clear();
        self.unflushed_line_count += 1;
        Ok(())
    }

    fn flush(&mut self) {
        if let Err(error) = self.finish_line() {
            self.report_write_error(&error);
        }
        if self.unflushed_line_count == 0 {
            return;
        }
        let lines = std::mem::take(&mut self.unflushed_line_count);
        match catch_write_panic(|| self.output.flush()) {
            Ok(()) => {
                self.counters.written_count.fetch_add(lines, Ordering::Relaxed);
                self.last_write_failed = false;
            }
            Err(error) => {
                self.count_failed_lines(lines);
                self.report_write_error(&error);
            }
        }
    }

    fn count_failed_lines(&self, lines: u64) {
        self.counters.failed_count.fetch_add(lines, Ordering::Relaxed);
    }

    fn report_write_error(&mut self, error: &io::Error) {
        let text = error.to_string();
        if !std::mem::replace(&mut self.last_write_failed, true) {
            tracing::warn!(target: "rulec::log", error = %text, "the decision log cannot be written");
        }
        *self.counters.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}

/// Calls `operation`, which writes to the output, and converts a panic of the output to an error.
fn catch_write_panic<T>(operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_panic(operation).unwrap_or_else(|panic| Err(io::Error::other(panic)))
}
