//! Measures decisions whose messages are recorded on disk: one thread against the time of an fsync,
//! and many threads that share the wait for the disk.
//!
//! `cargo bench -p rulec-history-store --bench durable`. On one core: `taskset -c 0` before the
//! command. The folder is below `TMPDIR`, which must be on a disk, not in memory.

use rulec::Rules;
use rulec_history_store::DurableStore;
use serde_json::{Value as Json, json};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const RULES: &str = "input { tool: string, amount: number, user: string, now: datetime }
history by user keep 30d
route fast when (count p in history within 1m: p.tool == tool) >= 1_000 -> deny
route over when (sum p.amount for p in history within 1d: p.tool == tool) > 1e12 -> ask
default -> run";
/// Number of bytes that the measured fsync writes: about the bytes that SQLite writes for a commit.
const FSYNC_BYTES: usize = 8 * 1024;

fn main() {
    // `cargo test` runs this bench only as a smoke test, without timing.
    let is_timed = std::env::args().any(|arg| arg == "--bench");
    let (singles, shared) = if is_timed { (2_000, 400) } else { (3, 2) };
    let rules = Rules::from_text(RULES).expect("the rules compile");
    measure_single(&rules, singles);
    let threads: &[usize] = if is_timed { &[1, 16, 64, 256, 1_024] } else { &[2] };
    println!("threads | durable decisions a second");
    threads.iter().for_each(|threads| measure_shared(&rules, *threads, shared));
    measure_deferred(&rules, if is_timed { 100_000 } else { 10 });
}

fn call(user: usize, number: usize) -> Json {
    let (minute, second) = (number / 60 % 1_440, number % 60);
    json!({
        "tool": (["search", "read", "mail"][number % 3]),
        "amount": (number % 100) as f64,
        "user": format!("user {user}"),
        "now": format!("2026-01-31T{:02}:{:02}:{second:02}Z", minute / 60, minute % 60),
    })
}

fn store(folder: &Path) -> Arc<DurableStore> {
    Arc::new(DurableStore::open(folder).expect("a folder that can be written"))
}

/// Measures single decisions with recording, alternately with an fsync in the same folder.
fn measure_single(rules: &Rules, count: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut session = rules.session().with_history(store(folder.path()));
    let mut file = File::create(folder.path().join("fsync")).expect("a file");
    let (mut fsyncs, mut decisions) = (Vec::new(), Vec::new());
    for number in 0..count {
        let message = call(number % 20, number);
        let start = Instant::now();
        file.write_all(&[7; FSYNC_BYTES]).and_then(|()| file.sync_data()).expect("it is written");
        fsyncs.push(start.elapsed());
        let start = Instant::now();
        session.decide_and_record(&message).expect("it is recorded");
        decisions.push(start.elapsed());
    }
    let [fsync, decision] = [fsyncs, decisions].map(median);
    println!(
        "one thread | microseconds: fsync {fsync:.1}, decide and record {decision:.1}, ratio {:.2}",
        decision / fsync
    );
}

/// Measures threads that decide and record at the same time, each for keys of its own.
fn measure_shared(rules: &Rules, threads: usize, decisions_per_thread: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path());
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let mut session = rules.session().with_history(store.clone());
            scope.spawn(move || {
                for number in 0..decisions_per_thread {
                    let message = call(thread, number);
                    session.decide_and_record(&message).expect("it is recorded");
                }
            });
        }
    });
    let rate = (threads * decisions_per_thread) as f64 / start.elapsed().as_secs_f64();
    println!("{threads:>7} | {rate:.0}");
}

/// Measures one thread that waits for the disk once for 1,000 decisions, as `rulec run` does.
fn measure_deferred(rules: &Rules, count: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(DurableStore::open(folder.path()).expect("a folder").deferred());
    let mut session = rules.session().with_history(store.clone());
    let start = Instant::now();
    for number in 0..count {
        session.decide_and_record(&call(number % 1_000, number)).expect("it is recorded");
        if number % 1_000 == 999 {
            store.flush().expect("it is written");
        }
    }
    store.flush().expect("it is written");
    println!("deferred | {:.0} decisions a second", count as f64 / start.elapsed().as_secs_f64());
}

/// Returns the median in microseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64 / 1000.0
}
