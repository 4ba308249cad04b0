//! The limits of the service. Each protects the other callers from one caller.

use crate::problem::Problem;
use std::time::{Duration, Instant};

/// The limits of the service; [`Limits::default`] has the values that the program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of bytes of a request's body, and of a line of a stream.
    pub body: usize,
    /// Maximum number of open connections.
    pub connections: usize,
    /// Maximum number of requests that are answered at the same time. Others get the status 503.
    pub concurrency: usize,
    /// Maximum time for a request, from its head to its answer. A stream of lines has this time for
    /// each of its parts.
    pub deadline: Duration,
    /// Maximum time that a connection may take for the head of a request. An HTTP/1 connection may
    /// have no request for this time.
    pub head_time: Duration,
    /// Maximum time that an HTTP/2 connection may have no open request.
    pub idle_time: Duration,
    /// Maximum time in which a client takes no part of an answer.
    pub write_time: Duration,
    /// Maximum time that open requests have to end after the service was asked to stop.
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

/// The time at which a request must be answered. Work that may be long checks it between its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    end: Instant,
    limit: Duration,
}

impl Deadline {
    /// Returns the deadline of a request that arrives now.
    pub fn after(limit: Duration) -> Deadline {
        // A limit that is longer than time can be is as long as a year.
        let longest = Duration::from_secs(365 * 24 * 60 * 60);
        Deadline { end: Instant::now() + limit.min(longest), limit }
    }

    pub fn end(&self) -> Instant {
        self.end
    }

    /// Returns the time at which work must stop so that its state can still be answered.
    pub fn last_step(&self) -> Instant {
        self.end.checked_sub(self.limit / 10).unwrap_or(self.end)
    }

    /// Checks that there is still time.
    ///
    /// # Errors
    /// If the deadline has passed.
    pub fn check(&self) -> Result<(), Problem> {
        match Instant::now() < self.end {
            true => Ok(()),
            false => Err(self.problem()),
        }
    }

    /// Waits for `work` on this thread of the runtime, which may block.
    ///
    /// # Errors
    /// If the deadline passes first.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        let runtime = tokio::runtime::Handle::current();
        // The timer is created in the runtime.
        let in_time = async { tokio::time::timeout_at(self.end.into(), work).await };
        runtime.block_on(in_time).map_err(|_| self.problem())
    }

    /// Returns the error of a request that was not answered in time.
    pub fn problem(&self) -> Problem {
        let limit = self.limit.as_millis();
        Problem::too_slow(format!("the answer took longer than {limit} ms; see `--deadline`"))
    }
}
