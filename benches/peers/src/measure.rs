//! Checks and times engines. An engine is timed only after its answers have been compared. All
//! engines run alternately in every round, so that other load affects them equally.
//!
//! The clock is the processor time of the thread. On a busy machine it excludes the time of other
//! processes.

use crate::engines::{Ready, Sample};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Minimum duration of a batch of messages.
const MIN_BATCH_TIME: Duration = Duration::from_millis(10);
/// Minimum number of messages in a batch, for engines that decide fewer messages in
/// [`MIN_BATCH_TIME`]. If this number would take longer than `MAX_BATCH_NANOSECONDS`, the batch has
/// as many messages as fit into that time, but at least two.
const MIN_BATCH_MESSAGES: f64 = 64.0;
/// Maximum duration, in nanoseconds, of a batch that has more than two messages.
const MAX_BATCH_NANOSECONDS: f64 = 200e6;
/// Maximum time for checking the answers of one engine on one mix of messages.
const MAX_CHECK_TIME: Duration = Duration::from_secs(2);

/// A stopwatch for the processor time of the thread.
pub struct Stopwatch(Duration);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Stopwatch::now())
    }

    pub fn elapsed(&self) -> Duration {
        Stopwatch::now().saturating_sub(self.0)
    }

    fn now() -> Duration {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
    }
}

/// Compares the answers of an engine with the expected answers. Returns the number of messages
/// compared: all messages, unless that takes too long.
///
/// # Errors
/// If an answer differs; the error shows the first such message.
pub fn check(ready: &mut dyn Ready, samples: &[Sample], expected: &[Option<u32>]) -> Result<usize, String> {
    let start = Stopwatch::start();
    for (at, expected) in expected.iter().enumerate() {
        let answer = ready.decide(at);
        if answer != *expected {
            let json = &samples[at].json;
            return Err(format!("answers {answer:?} instead of {expected:?} for\n  {json}"));
        }
        if start.elapsed() > MAX_CHECK_TIME {
            return Ok(at + 1);
        }
    }
    Ok(expected.len())
}

/// Estimates nanoseconds per message from the first two messages.
pub fn probe(ready: &mut dyn Ready, messages: usize) -> f64 {
    let count = messages.min(2);
    let start = Stopwatch::start();
    ready.batch(0, count, messages);
    start.elapsed().as_nanos() as f64 / count as f64
}

/// An engine that is timed alternately with others.
struct Turn<'r, 'e> {
    ready: &'r mut (dyn Ready + 'e),
    /// Number of messages per batch.
    count: usize,
    from: usize,
    times: Vec<f64>,
}

impl Turn<'_, '_> {
    fn run(&mut self, messages: usize) -> Duration {
        let start = Stopwatch::start();
        self.ready.batch(self.from, self.count, messages);
        let elapsed = start.elapsed();
        self.from = (self.from + self.count) % messages;
        elapsed
    }

    /// Warms up the engine, and determines the number of messages per batch.
    fn calibrate(&mut self, messages: usize) {
        loop {
            let elapsed = self.run(messages);
            let each = elapsed.as_nanos() as f64 / self.count as f64;
            let wanted = MIN_BATCH_TIME.as_nanos() as f64 / each;
            let wanted = wanted.max(MIN_BATCH_MESSAGES.min(MAX_BATCH_NANOSECONDS / each)).max(2.0) as usize;
            if elapsed >= MIN_BATCH_TIME / 2 || wanted <= self.count {
                self.count = wanted.max(1);
                return;
            }
            self.count = wanted.min(self.count * 16);
        }
    }
}

/// Returns the median time over `rounds` rounds for each engine, in nanoseconds per message.
/// `messages` is the number of messages that each engine can decide.
pub fn interleaved(readies: &mut [Box<dyn Ready + '_>], messages: usize, rounds: usize) -> Vec<f64> {
    let mut turns: Vec<Turn<'_, '_>> = readies
        .iter_mut()
        .map(|ready| Turn { ready: &mut **ready, count: 2, from: 0, times: Vec::new() })
        .collect();
    turns.iter_mut().for_each(|turn| turn.calibrate(messages));
    for _ in 0..rounds {
        for turn in &mut turns {
            let elapsed = turn.run(messages);
            turn.times.push(elapsed.as_nanos() as f64 / turn.count as f64);
        }
    }
    turns.into_iter().map(|turn| median(turn.times)).collect()
}

/// Returns the median, or NaN if there are no times.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
