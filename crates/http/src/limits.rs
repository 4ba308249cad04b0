//! The limits of every call — how long, how often and how much — and the pauses between its attempts.

use std::time::Duration;

/// As good as no limit, and small enough to be added to any point in time.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The limits of a call. By default: 20 seconds for one attempt and 60 for all, 2 retries with pauses
/// from 200 milliseconds doubling up to 5 seconds, and 1 MiB of answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time for one attempt, from connecting to the answer's last byte.
    pub attempt: Duration,
    /// The time for all attempts and the pauses between them.
    pub overall: Duration,
    /// The attempts that may follow the first. Only a connection that fails and the answers 502, 503 and
    /// 504 are tried again. The server may have done its work before the connection broke: an endpoint
    /// that must not see a call twice wants 0.
    pub retries: u32,
    /// The pause before the first retry, and the longest there may be. Each is twice the one before; there
    /// is no random part.
    pub pauses: (Duration, Duration),
    /// The bytes of an answer that are read; a longer one is an error.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            attempt: Duration::from_secs(20),
            overall: Duration::from_secs(60),
            retries: 2,
            pauses: (Duration::from_millis(200), Duration::from_secs(5)),
            body: 1 << 20,
        }
    }
}

impl Limits {
    /// Returns the time an attempt may take when the call has taken `elapsed`, and whether it is the overall limit that
    /// bounds it.
    pub(super) fn time_for_attempt(&self, elapsed: Duration) -> (Duration, bool) {
        let left = self.overall.saturating_sub(elapsed).min(LONGEST);
        if left < self.attempt { (left, true) } else { (self.attempt, false) }
    }

    pub(super) fn limit(&self, overall: bool) -> Duration {
        if overall { self.overall } else { self.attempt }
    }

    /// The pause after `attempts` failed attempts; `None` when no other may follow or when the time would
    /// be over before it began.
    pub(super) fn pause(&self, attempts: u32, elapsed: Duration) -> Option<Duration> {
        if attempts > self.retries {
            return None;
        }
        let doublings = 2_u32.saturating_pow(attempts.saturating_sub(1));
        let (first, longest) = self.pauses;
        let pause = first.saturating_mul(doublings).min(longest);
        (elapsed.saturating_add(pause) < self.overall).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn pauses_double_up_to_the_cap_and_end() {
        let limits =
            Limits { retries: 5, pauses: (ms(100), ms(500)), overall: ms(10_000), ..Limits::default() };
        let pauses: Vec<_> = (1..=7).map(|attempts| limits.pause(attempts, ms(0))).collect();
        let expected = [100, 200, 400, 500, 500].map(|pause| Some(ms(pause)));
        assert_eq!(pauses[..5], expected);
        assert_eq!(pauses[5..], [None, None]);
        let with = |retries| Limits { retries, ..limits.clone() };
        assert_eq!(with(0).pause(1, ms(0)), None);
        assert_eq!(with(u32::MAX).pause(u32::MAX, ms(0)), Some(ms(500)));
        for (elapsed, expected) in [(9_899, Some(ms(100))), (9_900, None), (20_000, None)] {
            assert_eq!(limits.pause(1, ms(elapsed)), expected, "{elapsed}");
        }
    }

    #[test]
    fn the_overall_limit_shortens_the_last_attempt() {
        let limits = Limits { attempt: ms(100), overall: ms(250), ..Limits::default() };
        for (elapsed, expected) in
            [(0, (100, false)), (150, (100, false)), (151, (99, true)), (300, (0, true))]
        {
            let (time, overall) = limits.time_for_attempt(ms(elapsed));
            assert_eq!((time, overall), (ms(expected.0), expected.1), "{elapsed}");
        }
        let endless = Limits { attempt: Duration::MAX, overall: Duration::MAX, ..Limits::default() };
        assert_eq!(endless.time_for_attempt(ms(1)), (LONGEST, true));
        assert_eq!((limits.limit(false), limits.limit(true)), (ms(100), ms(250)));
    }
}
