//! The thread that writes the log. A writer may fail, take half a line, or panic: nothing of it
//! reaches a decision, every line is accounted for, and a line begun is finished before the next.

use super::line::{Entry, Options};
use super::{Counters, Task};
use crate::task::caught;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use tokio::sync::mpsc;

/// The most lines handed over before they are flushed, however busy the log is.
const FLUSH_EVERY: u64 = 256;

pub(super) struct Writer<W> {
    out: W,
    options: Options,
    counters: Arc<Counters>,
    /// The line being written, and how much of it the writer has taken. After a failure in its
    /// middle it stays here until the rest is written too.
    line: Vec<u8>,
    taken: usize,
    /// Lines handed over whole since the last flush.
    unflushed: u64,
    /// True when the last attempt failed: each time it begins there is one warning.
    failing: bool,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W, options: Options, counters: Arc<Counters>) -> Self {
        Writer { out, options, counters, line: Vec::new(), taken: 0, unflushed: 0, failing: false }
    }

    /// Works until the log is closed or its last handle dropped.
    pub(super) fn run(&mut self, mut tasks: mpsc::Receiver<Task>) {
        let mut closing = Vec::new();
        while let Some(task) = tasks.blocking_recv() {
            match task {
                Task::Write(entry) => {
                    if let Err(error) = self.write(&entry) {
                        self.report(&error);
                    }
                    if tasks.is_empty() || self.unflushed >= FLUSH_EVERY {
                        self.flush();
                    }
                }
                Task::Flush { end, done } => {
                    self.flush();
                    if end {
                        // What is queued already is still taken, what comes later is refused.
                        tasks.close();
                        closing.push(done);
                    } else {
                        // Whoever asked may have stopped waiting.
                        let _ = done.send(());
                    }
                }
            }
        }
        self.flush();
        if !self.line.is_empty() {
            self.line.clear();
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
        }
        for done in closing {
            let _ = done.send(());
        }
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        // The rest of an earlier line goes first, else this one would be glued to it.
        let line = self
            .finish_line()
            .and_then(|()| guarded(|| entry.to_line(self.options).map_err(io::Error::from)))
            .inspect_err(|_| self.count_failed(1))?;
        (self.line, self.taken) = (line, 0);
        self.finish_line().inspect_err(|_| {
            // Nothing of it is out there, so nothing has to follow.
            if self.taken == 0 {
                self.line.clear();
                self.count_failed(1);
            }
        })
    }

    /// Writes what is left of the line at hand.
    fn finish_line(&mut self) -> io::Result<()> {
        if self.line.is_empty() {
            return Ok(());
        }
        while let Some(rest) = self.line.get(self.taken..).filter(|rest| !rest.is_empty()) {
            match guarded(|| self.out.write(rest)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => self.taken += taken,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.line.clear();
        self.unflushed += 1;
        Ok(())
    }

    fn flush(&mut self) {
        if let Err(error) = self.finish_line() {
            self.report(&error);
        }
        if self.unflushed == 0 {
            return;
        }
        let lines = std::mem::take(&mut self.unflushed);
        match guarded(|| self.out.flush()) {
            Ok(()) => {
                self.counters.written.fetch_add(lines, Ordering::Relaxed);
                self.failing = false;
            }
            Err(error) => {
                self.count_failed(lines);
                self.report(&error);
            }
        }
    }

    fn count_failed(&self, lines: u64) {
        self.counters.failed.fetch_add(lines, Ordering::Relaxed);
    }

    fn report(&mut self, error: &io::Error) {
        let text = error.to_string();
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(target: "rulec::log", error = %text, "the decision log cannot be written");
        }
        *self.counters.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}

/// Turns a panic of somebody else's code into an error.
fn guarded<T>(run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    caught(run).unwrap_or_else(|panic| Err(io::Error::other(panic)))
}
