//! Whether a decision releases the interpreter lock. Two threads that pass the lock to each other
//! for each short decision are slower than one, so only long decisions release it.

use super::shutdown::without_gil;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The size in bytes from which the decision of a text releases the lock.
const LONG_TEXT: usize = 4096;
/// The duration from which decisions of the same rules release the lock. It is far below the 5 ms
/// after which Python itself passes the lock on.
const LONG_DECISION: Duration = Duration::from_micros(200);
/// The number of decisions of which one is timed.
const TIMED: u32 = 64;

/// How long the decisions of some rules take.
#[derive(Default)]
pub struct Pace {
    decisions: AtomicU32,
    is_slow: AtomicBool,
}

impl Pace {
    /// Runs a decision about a message of `bytes` bytes, 0 if the size is unknown.
    pub fn run<T: Send>(&self, py: Python<'_>, bytes: usize, decide: impl FnOnce() -> T + Send) -> T {
        if bytes >= LONG_TEXT || self.is_slow.load(Ordering::Relaxed) {
            return without_gil(py, decide);
        }
        if !self.decisions.fetch_add(1, Ordering::Relaxed).is_multiple_of(TIMED) {
            return decide();
        }
        let start = Instant::now();
        let decided = decide();
        if start.elapsed() > LONG_DECISION {
            self.is_slow.store(true, Ordering::Relaxed);
        }
        decided
    }
}
