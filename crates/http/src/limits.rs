//! The limits that keep every HTTP call bounded: time, retries and response size. Also computes the
//! pauses between attempts.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// Longest time limit of a call; a longer limit is shortened to it. A year is practically
/// unlimited, but small enough to be added to an `Instant` without overflow.
const MAX_TIME_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// The limits of a call. Defaults: 20 seconds per attempt, 60 seconds in total, 2 retries, and 1
/// MiB per response. The pauses double from 200 milliseconds up to 5 seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time limit of one attempt, from connecting to the last byte of the response.
    pub attempt: Duration,
    /// Time limit of a whole call: all attempts and the pauses between them.
    pub overall: Duration,
    /// Maximum number of retries. Only failed connections and the statuses 502, 503 and 504 are
    /// retried. A server may have processed a request although the connection failed. So a POST or
    /// PATCH is sent again only if no connection was made, or after status 503. A
    /// [repeatable](super::Request::repeatable) request has no such restriction.
    pub retries: u32,
    /// The pause before the first retry, and the maximum pause. Each pause is twice the previous
    /// one, less a random part of at most a quarter, so that many callers do not retry in step.
    pub pauses: (Duration, Duration),
    /// Maximum size of a response body in bytes; a longer body is an error.
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
    /// Returns the time limit of an attempt that starts `elapsed` after the start of the call. The
    /// bool is true if the overall limit is the shorter one, and false if the limit per attempt is.
    pub(super) fn time_for_attempt(&self, elapsed: Duration) -> (Duration, bool) {
        let remaining = self.overall.saturating_sub(elapsed).min(MAX_TIME_LIMIT);
        if remaining < self.attempt { (remaining, true) } else { (self.attempt, false) }
    }

    pub(super) fn applied_limit(&self, is_overall: bool) -> Duration {
        if is_overall { self.overall } else { self.attempt }
    }

    /// Returns the pause before the next attempt, without its random part. `attempts` have failed
    /// so far, and the call began `elapsed` ago. `None` if no retry is left, or if the overall time
    /// limit would be reached before the retry starts.
    pub(super) fn pause_before_retry(&self, attempts: u32, elapsed: Duration) -> Option<Duration> {
        if attempts > self.retries {
            return None;
        }
        let doublings = 2_u32.saturating_pow(attempts.saturating_sub(1));
        let (first, longest) = self.pauses;
        let pause = first.saturating_mul(doublings).min(longest);
        (elapsed.saturating_add(pause) < self.overall).then_some(pause)
    }
}

/// Shortens a pause before a retry by a random part of at most a quarter. So callers that failed at
/// the same time do not retry at the same time.
pub fn with_jitter(pause: Duration) -> Duration {
    // The standard library seeds each hasher at random.
    let random = RandomState::new().build_hasher().finish() as u32;
    pause.mul_f64(1.0 - 0.25 * f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_milliseconds(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn pauses_double_up_to_the_cap_and_end() {
        let limits = Limits {
            retries: 5,
            pauses: (from_milliseconds(100), from_milliseconds(500)),
            overall: from_milliseconds(10_000),
            ..Limits::default()
        };
        let pauses: Vec<_> =
            (1..=7).map(|attempts| limits.pause_before_retry(attempts, from_milliseconds(0))).collect();
        let expected = [100, 200, 400, 500, 500].map(|pause| Some(from_milliseconds(pause)));
        assert_eq!(pauses[..5], expected);
        assert_eq!(pauses[5..], [None, None]);
        let with = |retries| Limits { retries, ..limits.clone() };
        assert_eq!(with(0).pause_before_retry(1, from_milliseconds(0)), None);
        assert_eq!(
            with(u32::MAX).pause_before_retry(u32::MAX, from_milliseconds(0)),
            Some(from_milliseconds(500))
        );
        for (elapsed, expected) in [(9_899, Some(from_milliseconds(100))), (9_900, None), (20_000, None)] {
            assert_eq!(limits.pause_before_retry(1, from_milliseconds(elapsed)), expected, "{elapsed}");
        }
    }

    #[test]
    fn pauses_differ_by_at_most_a_quarter() {
        let pauses: Vec<Duration> = (0..100).map(|_| with_jitter(from_milliseconds(1_000))).collect();
        assert!(
            pauses.iter().all(|pause| (from_milliseconds(750)..=from_milliseconds(1_000)).contains(pause)),
            "{pauses:?}"
        );
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }

    #[test]
    fn the_overall_limit_shortens_the_last_attempt() {
        let limits =
            Limits { attempt: from_milliseconds(100), overall: from_milliseconds(250), ..Limits::default() };
        for (elapsed, expected) in
            [(0, (100, false)), (150, (100, false)), (151, (99, true)), (300, (0, true))]
        {
            let (time, overall) = limits.time_for_attempt(from_milliseconds(elapsed));
            assert_eq!((time, overall), (from_milliseconds(expected.0), expected.1), "{elapsed}");
        }
        let endless = Limits { attempt: Duration::MAX, overall: Duration::MAX, ..Limits::default() };
        assert_eq!(endless.time_for_attempt(from_milliseconds(1)), (MAX_TIME_LIMIT, true));
        assert_eq!(
            (limits.applied_limit(false), limits.applied_limit(true)),
            (from_milliseconds(100), from_milliseconds(250))
        );
    }
}
