//! Measures the time of a request while the file of the rules changes ten times a second. Compares
//! it with the time while the rules stay the same.

use crate::client::{latencies, median, quantile};
use crate::servers::{Servers, rules};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Requests a second. They keep a processor busy for a small part of the time.
const RATE: u32 = 1000;
const ROUND: Duration = Duration::from_secs(5);
const ROUNDS: usize = 6;
const RELOAD_INTERVAL: Duration = Duration::from_millis(100);

/// Prints the 50th and 99th percentile of both, as medians of all rounds.
pub fn compare(servers: &Servers, decisions: &[Vec<u8>]) {
    let measure = || {
        let times = latencies(servers.service, decisions, RATE, ROUND).expect("answers");
        times.iter().map(|time| time.as_secs_f64() * 1e6).collect::<Vec<f64>>()
    };
    let (mut idle, mut reloading, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut first_version, mut reloads) = (1, 0);
    for _ in 0..ROUNDS {
        let quiet = measure();
        let loaded = servers.loaded_versions.load(Ordering::Relaxed);
        let (busy, next_version) = while_reloading(servers, first_version, measure);
        first_version = next_version;
        reloads += servers.loaded_versions.load(Ordering::Relaxed) - loaded;
        ratios.push(quantile(busy.clone(), 0.99) / quantile(quiet.clone(), 0.99));
        idle.push(quiet);
        reloading.push(busy);
    }
    for (name, rounds) in [("idle:  ", &idle), ("reload:", &reloading)] {
        let of = |share| median(rounds.iter().map(|times| quantile(times.clone(), share)).collect());
        println!(
            "{name} median {:.0} us, 99th percentile {:.0} us, 99.9th {:.0} us",
            of(0.5),
            of(0.99),
            of(0.999)
        );
    }
    let spread: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    let per_second = reloads as f64 / (ROUND.as_secs_f64() * ROUNDS as f64);
    println!("ratio of the 99th percentiles: {:.2} (rounds: {})", median(ratios), spread.join(", "));
    println!("versions that came into force: {per_second:.1} a second");
}

/// Calls `measure` while another thread changes the file of the rules. Returns the result, and the
/// number of the next version.
fn while_reloading<T>(servers: &Servers, first_version: usize, measure: impl FnOnce() -> T) -> (T, usize) {
    let is_over = AtomicBool::new(false);
    let new_file = servers.rules_path.with_extension("new");
    // Writing the texts is no work of the service, so they are made before the measurement.
    let count = 2 * (ROUND.as_millis() / RELOAD_INTERVAL.as_millis()) as usize;
    let texts: Vec<String> = (first_version..first_version + count).map(rules).collect();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let (mut written, mut due) = (0, Instant::now());
            while !is_over.load(Ordering::Relaxed) {
                std::fs::write(&new_file, &texts[written % count]).expect("it can be written");
                std::fs::rename(&new_file, &servers.rules_path).expect("it can be renamed");
                written += 1;
                due += RELOAD_INTERVAL;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            first_version + written
        });
        let measured = measure();
        is_over.store(true, Ordering::Relaxed);
        (measured, writing.join().expect("it ends"))
    })
}
