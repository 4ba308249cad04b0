//! The limits of the service, such as its maximum number of connections. They prevent one client
//! from using up the resources that other clients need.

use crate::problem::Problem;
use std::time::{Duration, Instant};

/// The limits of the service. [`Limits::default`] returns the limits of `rulec serve` without
/// options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of bytes of a request's body, and of a line of a stream.
    pub body: usize,
    /// Maximum number of open connections.
    pub connections: usize,
    /// Maximum number of requests that are answered at the same time. Further requests get the
    /// status 503.
    pub concurrency: usize,
    /// Maximum time from the arrival of a request's head to its answer. In a stream of lines, this
    /// is the maximum time for each block of lines.
    pub deadline: Duration,
    /// Maximum time in which a client must send the complete head of a request. An HTTP/1
    /// connection without a request is closed after this time.
    pub head_time: Duration,
    /// Maximum time that an HTTP/2 connection may stay open without a request.
    pub idle_time: Duration,
    /// Maximum time in which a client must take the next part of an answer. Later, the connection
    /// is closed.
    pub write_time: Duration,
    /// Maximum time for the requests that are still open when the service is asked to stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 1 << 20,
            connections: 1024,
            concurrency: 256,
            deadline: Duration::from_secs(10),
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(60),
            write_time: Duration::from_secs(30),
            drain: Duration::from_secs(30),
        }
    }
}

/// The time by which a request must be answered. Long work calls [`Deadline::check`] repeatedly, to
/// stop in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    end: Instant,
    limit: Duration,
}

impl Deadline {
    /// Returns the deadline of a request that arrives now and may take the time `limit`.
    pub fn after(limit: Duration) -> Deadline {
        // Caps the limit at a year, because adding a very long time to the clock would overflow.
        let longest = Duration::from_secs(365 * 24 * 60 * 60);
        Deadline { end: Instant::now() + limit.min(longest), limit }
    }

    pub fn end(&self) -> Instant {
        self.end
    }

    /// Returns the time at which a workflow must stop: a tenth of the limit before the deadline.
    /// The remaining time is for writing the answer.
    pub fn last_step(&self) -> Instant {
        self.end.checked_sub(self.limit / 10).unwrap_or(self.end)
    }

    /// Returns an error if the deadline has passed.
    ///
    /// # Errors
    /// If the deadline has passed.
    pub fn check(&self) -> Result<(), Problem> {
        match Instant::now() < self.end {
            true => Ok(()),
            false => Err(self.problem()),
        }
    }

    /// Blocks this thread until the future `work` is complete. Must run on a thread of the tokio
    /// runtime that may block.
    ///
    /// # Errors
    /// If the deadline passes first.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        let runtime = tokio::runtime::Handle::current();
        // `timeout_at` must be called inside the runtime, because it creates a timer.
        let in_time = async { tokio::time::timeout_at(self.end.into(), work).await };
        runtime.block_on(in_time).map_err(|_| self.problem())
    }

    /// Returns the error for a request whose deadline has passed.
    pub fn problem(&self) -> Problem {
        let limit = self.limit.as_millis();
        Problem::too_slow(format!(
            "the answer took longer than {limit} ms; see `--deadline`. The work may still be done: a message that \
             is recorded now is recorded twice if the request is repeated"
        ))
    }
}
