//! Selects whether a decision releases the GIL. If two threads release the GIL for each short
//! decision, they are slower than one thread. So only long decisions release the GIL.

use super::shutdown::without_gil;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The minimum size of a text, in bytes, for which a decision releases the GIL.
const LONG_TEXT_BYTES: usize = 4096;
/// If a timed decision takes longer than this, the decisions of the same rules release the GIL
/// until the next timed one. The value is far below 5 ms, after which Python itself passes the GIL.
const LONG_DECISION_TIME: Duration = Duration::from_micros(200);
/// Of every `DECISIONS_PER_TIMING` decisions, one is timed.
const DECISIONS_PER_TIMING: u32 = 64;

/// Measures how long the decisions of a rule set take. `is_slow` is true if the last timed one took
/// longer than [`LONG_DECISION_TIME`]. A decision is also slow if its thread was interrupted, so
/// this state must not last.
#[derive(Default)]
pub struct GilPolicy {
    decision_count: AtomicU32,
    is_slow: AtomicBool,
}

impl GilPolicy {
    /// Runs the decision `decide`. Releases the GIL if the message is long or earlier decisions
    /// were slow. `bytes` is the size of the message, or 0 if it is unknown.
    pub fn run_decision<T: Send>(
        &self,
        py: Python<'_>,
        bytes: usize,
        decide: impl FnOnce() -> T + Send,
    ) -> T {
        let releases_gil = bytes >= LONG_TEXT_BYTES || self.is_slow.load(Ordering::Relaxed);
        if !self.decision_count.fetch_add(1, Ordering::Relaxed).is_multiple_of(DECISIONS_PER_TIMING) {
            return if releases_gil { without_gil(py, decide) } else { decide() };
        }
        let timed = || {
            let start = Instant::now();
            let decided = decide();
            self.is_slow.store(start.elapsed() > LONG_DECISION_TIME, Ordering::Relaxed);
            decided
        };
        if releases_gil { without_gil(py, timed) } else { timed() }
    }
}
