//! The limits of the service. Each protects the other callers from one caller.

use std::time::Duration;

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
    /// Maximum time that a connection may take for the head of a request.
    pub head_time: Duration,
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
            drain: Duration::from_secs(30),
        }
    }
}
