//! Seeds for random trials. `RULEC_TIMES` multiplies the default number of trials. `RULEC_SEED` is
//! the number of a run; runs with different numbers use different seeds.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

/// Number of seeds between the first seed of a run and the first seed of the next run.
const RUN: u64 = 1 << 32;

fn env_number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")),
        Err(_) => otherwise,
    }
}

/// Returns the seeds of a test that runs `usual` trials by default.
pub fn seeds(usual: u64) -> Range<u64> {
    let first = env_number("RULEC_SEED", 0) * RUN;
    first..first + usual * env_number("RULEC_TIMES", 1)
}

/// True if `RULEC_TIMES` requests more trials than the default. In such a long run, each trial may
/// also take longer.
pub fn is_long() -> bool {
    env_number("RULEC_TIMES", 1) > 1
}

/// Runs a trial for each seed, on two threads. Each thread counts in a value of its own; `add` adds
/// up the two values.
///
/// # Panics
/// If a trial panics.
pub fn run_trials<T: Default + Send>(
    seeds: Range<u64>,
    trial: impl Fn(u64, &mut T) + Sync,
    add: impl Fn(&mut T, T),
) -> T {
    let half = |odd: u64| {
        let mut counted = T::default();
        seeds.clone().filter(|seed| seed % 2 == odd).for_each(|seed| trial(seed, &mut counted));
        counted
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut counted = half(0);
        add(&mut counted, other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        counted
    })
}
