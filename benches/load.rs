//! Measures the time to load rules from source and from an artifact, alternately in one process,
//! and the heap size of the rules: `cargo bench --bench load`, or `-- 10000` for one size.

mod support;

use rulec::Rules;
use std::hint::black_box;
use std::time::{Duration, Instant};
use support::heap::{Counting, held};
use support::rules::{Kind, file, routes};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of a call, its duration, and the number of heap bytes that stay allocated.
fn measured<T>(make: impl FnOnce() -> T) -> (T, Duration, usize) {
    let before = held();
    let start = Instant::now();
    let made = make();
    let time = start.elapsed();
    (made, time, held().saturating_sub(before))
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn main() {
    // Cargo passes `--bench`, which is not a number.
    let sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1_000, 10_000, 100_000] } else { sizes };
    println!(
        "{:>8} {:>11} {:>11} {:>6} {:>11} {:>11} {:>11}",
        "routes", "source ms", "artifact ms", "ratio", "heap source", "heap artif.", "file"
    );
    for count in sizes {
        let source = file(&routes(count, Kind::Mixed, 1), true);
        let bytes = Rules::from_text(&source).expect("it compiles").to_artifact(false);
        let runs = if count > 20_000 { 5 } else { 15 };
        let (mut compiled, mut loaded) = (Vec::new(), Vec::new());
        let (mut heap_compiled, mut heap_loaded) = (0, 0);
        for _ in 0..runs {
            let (rules, time, heap) = measured(|| Rules::from_text(black_box(&source)).expect("it compiles"));
            compiled.push(time);
            heap_compiled = heap;
            drop(rules);
            let (rules, time, heap) = measured(|| Rules::from_artifact(black_box(&bytes)).expect("it loads"));
            loaded.push(time);
            heap_loaded = heap;
            drop(rules);
        }
        let (compiled, loaded) = (median(compiled), median(loaded));
        println!(
            "{count:>8} {compiled:>11.2} {loaded:>11.2} {:>6.1} {:>11} {:>11} {:>11}",
            compiled / loaded,
            heap_compiled / count,
            heap_loaded / count,
            bytes.len() / count,
        );
    }
    println!("heap and file in bytes a route");
}
