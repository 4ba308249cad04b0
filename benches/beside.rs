//! Measures decisions during edits. Two threads decide without pause. They alternate between
//! deciding alone, and deciding while a third thread edits routes, lists and `let`s at full speed.
//!
//! The bench reports the time of each decision and the heap size after the edits. The exit status
//! is 1 if edits slow decisions down too much, or if memory grows with the number of edits.
//!
//! `cargo bench --bench beside`, or with other numbers of routes and edits
//! `cargo bench --bench beside -- 10000 100000`.

mod support;

use rulec::{Compiler, Edit, LiveRules};
use serde_json::Value as Json;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;
use support::heap::{self, Counting};
use support::messages::messages;
use support::rules::{Kind, file, phrases, routes};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Number of turns. Each turn has decisions without edits, then decisions during edits.
const TURNS: usize = 10;
/// Number of decisions per thread in a turn without edits.
const DECISIONS_ALONE: usize = 100_000;
/// Number of route edits for each edit of a list or a `let`.
const ROUTE_EDITS_PER_OTHER_EDIT: usize = 50;
/// Maximum allowed slowdown by edits: the 99th percentile of decision times during edits, divided
/// by the 99th percentile without edits.
const MAX_SLOWDOWN: f64 = 2.0;
/// Maximum allowed growth of memory: the heap after all edits, divided by the heap after a tenth of
/// them.
const MAX_GROWTH: f64 = 1.1;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs this bench only as a smoke test, without timing.
    let timed = args.iter().any(|arg| arg == "--bench");
    let mut numbers = args.iter().filter_map(|arg| arg.parse().ok());
    let count = numbers.next().unwrap_or(if timed { 2_000 } else { 50 });
    let edits = numbers.next().unwrap_or(if timed { 20_000 } else { 40 });
    let alone = if timed { DECISIONS_ALONE } else { 100 };
    let all = routes(count, Kind::Mixed, 7);
    let source = format!("{}\nlist spare = [\"a\"]\nlet other = text in spare\n", file(&all, true));
    let live = LiveRules::from_text(Compiler::new(), &source).expect("it compiles");
    let messages = messages(500, &phrases(&all), 11);
    let (mut idle, mut busy, mut held) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS {
        decide_on_two_threads(&live, &messages, &mut idle, |decided| decided < alone);
        let editing = AtomicBool::new(true);
        thread::scope(|scope| {
            scope.spawn(|| {
                edit(&live, turn, edits / TURNS);
                editing.store(false, Ordering::Relaxed);
            });
            decide_on_two_threads(&live, &messages, &mut busy, |_| editing.load(Ordering::Relaxed));
        });
        live.merge().expect("it compiles");
        live.wait_for_merge();
        held.push(heap::held() - (idle.capacity() + busy.capacity()) * size_of::<u32>());
    }
    println!("{count} routes, {edits} edits; ns a decision");
    println!("{:<14} {:>10} {:>8} {:>8} {:>8}", "", "decisions", "median", "99 %", "99.9 %");
    let [(_, before), (_, beside)] = [("alone", idle), ("beside edits", busy)].map(|(name, mut times)| {
        times.sort_unstable();
        let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(0);
        let (half, most, rare) = (at(0.5), at(0.99), at(0.999));
        println!("{name:<14} {:>10} {half:>8} {most:>8} {rare:>8}", times.len());
        (name, most)
    });
    let slower = f64::from(beside) / f64::from(before.max(1));
    println!(
        "99th percentile during edits: {slower:.2} × the value without edits; at most {MAX_SLOWDOWN} is allowed"
    );
    let megabytes: Vec<String> = held.iter().map(|bytes| format!("{:.1}", *bytes as f64 / 1e6)).collect();
    let larger = held[TURNS - 1] as f64 / held[0] as f64;
    println!("MB of the heap after each tenth of the edits: {}", megabytes.join(" "));
    println!("the last: {larger:.2} × the first; {MAX_GROWTH} is allowed");
    ExitCode::from(u8::from(timed && (slower > MAX_SLOWDOWN || larger > MAX_GROWTH)))
}

/// Decides on two threads. A thread continues while `goes_on` returns true; its argument is the
/// number of decisions that this thread has made. Adds the time of each decision, in nanoseconds,
/// to `into`.
fn decide_on_two_threads(
    live: &LiveRules,
    messages: &[Json],
    into: &mut Vec<u32>,
    goes_on: impl Fn(usize) -> bool + Sync,
) {
    let decide = || {
        let mut times = Vec::with_capacity(DECISIONS_ALONE);
        while goes_on(times.len()) {
            for message in messages {
                let start = Instant::now();
                black_box(live.decide(black_box(message)));
                times.push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
            }
        }
        times
    };
    thread::scope(|scope| {
        let other = scope.spawn(decide);
        into.extend(decide());
        into.extend(other.join().expect("it decides"));
    });
}

/// Makes about `edits` edits of routes: inserts, replaces and removes each route. Sometimes also
/// replaces a list and a `let`. The names of the routes contain `turn`.
fn edit(live: &LiveRules, turn: usize, edits: usize) {
    for at in 0..edits / 3 {
        let name = format!("later_{turn}_{}", at % 40);
        let route = |word: &str| format!("route {name} when text contains \"{word} {at}\" -> x");
        live.insert(&route("one")).expect("it fits");
        live.replace(&route("two")).expect("it is there");
        live.remove(&name).expect("it is there");
        if at % ROUTE_EDITS_PER_OTHER_EDIT == 0 {
            let list = Edit::replace(format!("list spare = [\"a\", \"b {at}\"]"));
            let other = Edit::replace(format!("let other = text in spare and text != \"{at}\""));
            live.edit(&[list, other]).expect("they are there");
        }
    }
}
