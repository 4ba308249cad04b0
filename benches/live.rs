//! Measures live rules: the cost of an edit among many routes, and the cost of a decision with
//! unmerged edits and during a merge. The variants are timed alternately in one process. The bench
//! reports medians, and for edits also the 99th percentile.
//!
//! `cargo bench --bench live`, or with another number of routes
//! `cargo bench --bench live -- 10000`.

mod support;

use rulec::{Compiler, LiveRules};
use serde_json::Value as Json;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::messages::messages;
use support::rules::{Kind, file, phrases, routes};

/// Number of edits of each kind.
const EDITS: usize = 1000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs this bench only as a smoke test, without timing.
    let timed = args.iter().any(|arg| arg == "--bench");
    let count = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(if timed { 100_000 } else { 200 });
    for declared in [true, false] {
        edits(count, declared);
    }
    decisions(count);
}

fn live(count: usize, declared: bool) -> LiveRules {
    let source = file(&routes(count, Kind::Mixed, 7), declared);
    LiveRules::from_text(Compiler::new(), &source).expect("it compiles").merge_after(usize::MAX)
}

/// Returns `count` routes to insert later, each as its text and its name. Their names differ from
/// the names of the compiled routes.
fn later(count: usize, seed: u64) -> Vec<(String, String)> {
    let mut routes = routes(count, Kind::Mixed, seed);
    routes.iter_mut().enumerate().for_each(|(at, route)| route.name = format!("later_{seed}_{at}"));
    routes.into_iter().map(|route| (route.to_string(), route.name)).collect()
}

/// Returns the median and the 99th percentile of the times, in microseconds.
fn spread(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_nanos() as f64 / 1000.0;
    (at(0.5), at(0.99))
}

fn each<T>(items: &[T], mut run: impl FnMut(&T)) -> Vec<Duration> {
    let timed = items.iter().map(|item| {
        let start = Instant::now();
        run(item);
        start.elapsed()
    });
    timed.collect()
}

fn settled<T>(live: &LiveRules, items: &[T], run: impl FnMut(&T)) -> Vec<Duration> {
    live.wait_for_merge();
    each(items, run)
}

fn edits(count: usize, declared: bool) {
    let live = live(count, declared);
    let known: Vec<String> = routes(count, Kind::Mixed, 7)
        .into_iter()
        .step_by((count / EDITS).max(1))
        .map(|route| route.name)
        .collect();
    let (first, second) = (later(EDITS, 8), later(EDITS, 9));
    let renamed: Vec<String> =
        first.iter().zip(&second).map(|((_, name), (text, other))| text.replacen(other, name, 1)).collect();
    // A row starts only after the background work of the previous row has finished.
    let rows = [
        ("insert", each(&first, |(text, _)| live.insert(text).expect("it fits"))),
        ("replace", settled(&live, &renamed, |text| live.replace(text).expect("it is there"))),
        ("remove a later one", settled(&live, &first, |(_, name)| live.remove(name).expect("it is there"))),
        ("remove of the base", settled(&live, &known, |name| live.remove(name).expect("it is there"))),
    ];
    let start = Instant::now();
    live.merge().expect("it compiles");
    println!("\n{count} routes, input {}: µs an edit", if declared { "declared" } else { "inferred" });
    println!("{:<20} {:>8} {:>8}", "", "median", "99 %");
    for (name, times) in rows {
        let (median, most) = spread(times);
        println!("{name:<20} {median:>8.1} {most:>8.1}");
    }
    println!("a merge takes {:.2} s", start.elapsed().as_secs_f64());
}

/// Decides all messages once, and appends the average nanoseconds per message to `into`.
fn rounds(messages: &[Json], into: &mut Vec<f64>, mut decide: impl FnMut(&Json)) {
    let start = Instant::now();
    messages.iter().for_each(&mut decide);
    into.push(start.elapsed().as_nanos() as f64 / messages.len() as f64);
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

fn decisions(count: usize) {
    let plain = live(count, true);
    let phrases = phrases(&routes(count, Kind::Mixed, 7));
    let messages = messages(500, &phrases, 11);
    let rules = plain.rules();
    // `edited` has 100 additional routes whose priorities are in the range of the base. `removed`
    // has 100 routes fewer.
    let edited = live(count, true);
    later(100, 8).iter().for_each(|(text, _)| edited.insert(text).expect("it fits"));
    let removed = live(count, true);
    for route in routes(count, Kind::Mixed, 7).iter().step_by((count / 100).max(1)) {
        removed.remove(&route.name).expect("it is there");
    }
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..41 {
        let [a, b, c, d] = &mut times;
        rounds(&messages, a, |message| drop(black_box(rules.decide(black_box(message)))));
        rounds(&messages, b, |message| drop(black_box(plain.decide(black_box(message)))));
        rounds(&messages, c, |message| drop(black_box(edited.decide(black_box(message)))));
        rounds(&messages, d, |message| drop(black_box(removed.decide(black_box(message)))));
    }
    let [base, empty, inserts, removes] = times.map(median);
    println!("\n{count} routes: ns a decision");
    for (name, time) in [
        ("Rules", base),
        ("LiveRules, nothing edited", empty),
        ("100 routes inserted", inserts),
        ("100 routes removed", removes),
    ] {
        println!("{name:<28} {time:>8.0} {:>6.2} ×", time / base);
    }
    // Compare decisions during a merge with decisions just before it.
    let (mut beside, mut alone) = (Vec::new(), Vec::new());
    for at in 0..3 {
        edited.insert(&format!("route again_{at} when text contains \"zzz{at}\" -> x")).expect("it fits");
        later(100, 20 + at).iter().for_each(|(text, _)| edited.insert(text).expect("it fits"));
        for _ in 0..20 {
            rounds(&messages, &mut alone, |message| drop(black_box(edited.decide(black_box(message)))));
        }
        let merging = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                edited.merge().expect("it compiles");
                merging.store(false, Ordering::Relaxed);
            });
            while merging.load(Ordering::Relaxed) {
                rounds(&messages, &mut beside, |message| drop(black_box(edited.decide(black_box(message)))));
            }
        });
    }
    let most = beside.iter().copied().fold(0.0, f64::max);
    let (beside, alone) = (median(beside), median(alone));
    println!("{:<28} {alone:>8.0}", "100 inserted, no merge");
    println!(
        "{:<28} {beside:>8.0} {:>6.2} × (slowest round of 500: {most:.0})",
        "beside a merge",
        beside / alone
    );
}
