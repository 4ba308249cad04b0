//! The limits of the service, such as its maximum number of connections. They prevent one client
//! from using up the resources that other clients need.

use crate::problem::Problem;
use prometheus_client::encoding::EncodeLabelValue;
use rulec_base::json::MAX_NESTING_DEPTH;
use std::time::{Duration, Instant};

/// The limits of the service. [`Limits::default`] returns the limits of `rulec serve` without
/// options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of bytes of a request's body, and of a line of a stream.
    pub max_body_bytes: usize,
    /// Maximum number of open connections.
    pub max_connections: usize,
    /// Maximum number of requests that are answered at the same time. Further requests get the
    /// status 503.
    pub max_open_requests: usize,
    /// Maximum time from the arrival of a request's head to its answer. In a stream of lines, this
    /// is the maximum time for each block of lines.
    pub request_time_limit: Duration,
    /// Maximum time in which a client must send the complete head of a request. An HTTP/1
    /// connection without a request is closed after this time.
    pub head_time: Duration,
    /// Maximum time that an HTTP/2 connection may stay open without a request.
    pub idle_time: Duration,
    /// Maximum time in which a client must receive the next part of an answer. After this time, the
    /// connection is closed.
    pub write_time: Duration,
    /// Maximum time that the service waits for open requests after it is asked to stop. Then it
    /// ends without their answers.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_body_bytes: 1 << 20,
            max_connections: 1024,
            max_open_requests: 256,
            request_time_limit: Duration::from_secs(10),
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(60),
            write_time: Duration::from_secs(30),
            drain_time: Duration::from_secs(30),
        }
    }
}

/// A limit of the service. Its name is the value of the label `limit` in the metrics.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the names are the labels")]
pub(crate) enum LimitName {
    bodies,
    body,
    concurrency,
    connections,
    deadline,
    depth,
    drain,
    head,
    head_time,
    idle_time,
    log_bytes,
    log_lines,
    log_spill,
    questions,
    steps,
    streams,
    write_time,
}

/// A limit of the service, as the metrics, the help and the documentation show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitRow {
    /// The value of the label `limit` in the metrics.
    pub name: String,
    /// The value of the limit, in the unit `unit`.
    pub value: u64,
    /// The unit: `bytes`, `milliseconds`, or the things that are counted, such as `connections`.
    pub unit: &'static str,
    /// The option of `rulec serve` that sets the limit; `None` for a fixed limit.
    pub option: Option<&'static str>,
    /// Whether the metric `rulec_limits_hit_total` counts how often the limit was reached.
    pub is_counted: bool,
}

/// The limits of the decision log. [`crate::LogOptions`] describes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// Maximum number of lines that wait in memory.
    pub max_waiting_lines: usize,
    /// Maximum number of bytes in memory for waiting lines.
    pub max_waiting_bytes: usize,
    /// Maximum number of bytes of the spill files.
    pub max_spill_bytes: u64,
}

/// Maximum number of AuthZEN questions in one request.
pub(crate) const MAX_AUTHZEN_QUESTIONS: usize = 1_000;
/// Maximum number of node calls in a workflow run, which bounds the size of its report. The calls
/// of a resumed run before it was saved count too.
pub(crate) const MAX_WORKFLOW_STEPS: usize = 10_000;
/// Maximum number of requests that may be open at the same time on one HTTP/2 connection.
pub(crate) const MAX_STREAMS_PER_CONNECTION: u32 = 128;
/// Maximum number of bytes of the request line and headers of a request.
pub(crate) const MAX_HEAD_BYTES: usize = 32 << 10;
/// Number of bytes with which an incomplete request counts towards the limit for all bodies
/// together, in addition to the bytes of its body.
pub(crate) const OPEN_REQUEST_BYTES: usize = 16 << 10;

impl Limits {
    /// Returns the maximum number of bytes of all bodies that are being received: as many bodies of
    /// the maximum size as requests may be answered at the same time.
    pub(crate) fn max_total_body_bytes(&self) -> usize {
        self.max_body_bytes.saturating_add(OPEN_REQUEST_BYTES).saturating_mul(self.max_open_requests.max(1))
    }

    /// Returns all limits of the service. `log` has the limits of the decision log; `None` if there
    /// is no log.
    pub fn limit_rows(&self, log: Option<LogLimits>) -> Vec<LimitRow> {
        let fixed = |name, value: usize, unit| (name, value as u64, unit, None, true);
        let set = |name, value: usize, unit, option| (name, value as u64, unit, Some(option), true);
        let time = |name, value: Duration, option| {
            let milliseconds = u64::try_from(value.as_millis()).unwrap_or(u64::MAX);
            (name, milliseconds, "milliseconds", Some(option), true)
        };
        // The HTTP/2 library refuses further requests and larger heads itself.
        let streams = (LimitName::streams, u64::from(MAX_STREAMS_PER_CONNECTION), "requests", None, false);
        let mut rows = vec![
            set(LimitName::body, self.max_body_bytes, "bytes", "--max-body"),
            fixed(LimitName::bodies, self.max_total_body_bytes(), "bytes"),
            set(LimitName::connections, self.max_connections, "connections", "--max-connections"),
            set(LimitName::concurrency, self.max_open_requests, "requests", "--max-requests"),
            time(LimitName::deadline, self.request_time_limit, "--deadline"),
            time(LimitName::head_time, self.head_time, "--head-time"),
            time(LimitName::idle_time, self.idle_time, "--idle-time"),
            time(LimitName::write_time, self.write_time, "--write-time"),
            time(LimitName::drain, self.drain_time, "--drain"),
            fixed(LimitName::head, MAX_HEAD_BYTES, "bytes"),
            streams,
            fixed(LimitName::depth, MAX_NESTING_DEPTH, "levels"),
            fixed(LimitName::questions, MAX_AUTHZEN_QUESTIONS, "questions"),
            // A run that reaches the limit ends incomplete, and can be resumed. This is no error.
            (LimitName::steps, MAX_WORKFLOW_STEPS as u64, "calls", None, false),
        ];
        // The metrics of the decision log count the lines over these limits.
        rows.extend(log.into_iter().flat_map(|log| {
            [
                (LimitName::log_lines, log.max_waiting_lines as u64, "lines", None, false),
                (LimitName::log_bytes, log.max_waiting_bytes as u64, "bytes", None, false),
                (LimitName::log_spill, log.max_spill_bytes, "bytes", Some("--log-spill-max"), false),
            ]
        }));
        let to_row = |(name, value, unit, option, is_counted): (LimitName, _, _, _, _)| LimitRow {
            name: format!("{name:?}"),
            value,
            unit,
            option,
            is_counted,
        };
        rows.into_iter().map(to_row).collect()
    }
}

/// The time by which a request must be answered. Long work calls
/// [`RequestDeadline::check_not_passed`] repeatedly, to stop in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestDeadline {
    end_instant: Instant,
    time_limit: Duration,
}

impl RequestDeadline {
    /// Returns the deadline of a request that arrives now and may take the time `limit`.
    pub fn after(limit: Duration) -> RequestDeadline {
        // Caps the limit at a year, because adding a very long time to the clock would overflow.
        let longest = Duration::from_secs(365 * 24 * 60 * 60);
        RequestDeadline { end_instant: Instant::now() + limit.min(longest), time_limit: limit }
    }

    pub fn end(&self) -> Instant {
        self.end_instant
    }

    /// Returns the time at which a workflow must stop: a tenth of the limit before the deadline.
    /// The remaining time is for writing the answer.
    pub fn workflow_deadline(&self) -> Instant {
        self.end_instant.checked_sub(self.time_limit / 10).unwrap_or(self.end_instant)
    }

    /// Returns an error if the deadline of the request has passed.
    ///
    /// # Errors
    /// If the deadline has passed.
    pub fn check_not_passed(&self) -> Result<(), Problem> {
        match Instant::now() < self.end_instant {
            true => Ok(()),
            false => Err(self.timeout_problem()),
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
        let in_time = async { tokio::time::timeout_at(self.end_instant.into(), work).await };
        runtime.block_on(in_time).map_err(|_| self.timeout_problem())
    }

    /// Returns the error for a request whose deadline has passed.
    pub fn timeout_problem(&self) -> Problem {
        let limit = self.time_limit.as_millis();
        Problem::too_slow(format!(
            "the answer took longer than {limit} ms; see `--deadline`. The work may still be done: a message that \
             is recorded now is recorded twice if the request is repeated"
        ))
    }
}
