//! Measures decisions per second. The engine is compared with a plain tree walker over
//! `serde_json::Value` (see `support/walker.rs`), on the same rules and messages. The benchmark
//! checks that both give the same answers before it starts timing.
//!
//! The output is a table of ratios for each mix of messages, then the results of criterion over all
//! mixes.

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rulec::PreparedMessage;
use rulec_sema::hir::TableId;
use rulec_vm::vm::{Scratch, Vm};
use serde_json::Value as Json;
use std::hint::black_box;
use std::time::{Duration, Instant};
use support::mixes::Case;
use support::rules::Kind;

const CASES: [(&str, usize, Kind); 4] = [
    ("fields", 10, Kind::Fields),
    ("fields", 100, Kind::Fields),
    ("mixed", 10, Kind::Mixed),
    ("mixed", 100, Kind::Mixed),
];

/// Runs `round` repeatedly for 250 ms. A round decides `messages` messages. Returns the nanoseconds
/// per message of the fastest round, because other processes can only slow a round down.
fn nanoseconds(messages: usize, mut round: impl FnMut()) -> f64 {
    round();
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(250) {
        let start = Instant::now();
        round();
        best = best.min(start.elapsed().as_nanos() as f64 / messages as f64);
    }
    best
}

/// Prints a table of nanoseconds per message for the tree walker and the engine, and of their
/// ratios.
fn ratios() {
    println!("nanoseconds a message (best of many rounds); ratios are walker / engine");
    println!("rules        mix    messages  walker  decide  record      vm | decide  record      vm");
    for (name, count, kind) in CASES {
        let case = Case::new(count, kind, false);
        let all = case.mixed();
        let mixes = case.mixes().into_iter().chain([("all", all.as_slice())]);
        for (mix, messages) in mixes.filter(|(_, messages)| !messages.is_empty()) {
            let records: Vec<PreparedMessage<'_>> =
                messages.iter().map(|message| case.rules.prepare(message)).collect();
            let entry = case.rules.main();
            let mut scratch = Scratch::new();
            let walker = nanoseconds(messages.len(), || {
                messages.iter().for_each(|message| {
                    black_box(case.walker.decide(black_box(message)));
                });
            });
            let decide = nanoseconds(messages.len(), || {
                messages.iter().for_each(|message| drop(black_box(case.rules.decide(black_box(message)))));
            });
            let record = nanoseconds(messages.len(), || {
                records.iter().for_each(|record| drop(black_box(entry.decide_prepared(black_box(record)))));
            });
            let vm = nanoseconds(messages.len(), || {
                for message in messages {
                    let mut vm = Vm::over_json(case.rules.bytecode(), &[], black_box(message), &mut scratch);
                    black_box(vm.decide(TableId(0)));
                }
            });
            println!(
                "{:<12} {mix:<6} {:>8} {walker:>7.0} {decide:>7.0} {record:>7.0} {vm:>7.0} | {:>6.1} {:>7.1} {:>7.1}",
                format!("{name} {count}"),
                messages.len(),
                walker / decide,
                walker / record,
                walker / vm
            );
        }
    }
}

fn decide(c: &mut Criterion) {
    // `cargo test` and `--list` must not run the timing.
    if std::env::args().any(|arg| arg == "--bench") {
        ratios();
    }
    for (name, count, kind) in CASES {
        let case = Case::new(count, kind, false);
        let messages = case.mixed();
        let records: Vec<PreparedMessage<'_>> =
            messages.iter().map(|message| case.rules.prepare(message)).collect();
        let entry = case.rules.main();
        let mut group = c.benchmark_group(format!("decide/{name}/{count}"));
        group.throughput(Throughput::Elements(messages.len() as u64));
        group.sample_size(20).warm_up_time(Duration::from_millis(300));
        group.measurement_time(Duration::from_millis(1000));
        let each = |run: &mut dyn FnMut(&Json)| messages.iter().for_each(|message| run(black_box(message)));
        group.bench_function("walker", |bencher| {
            bencher.iter(|| {
                each(&mut |message| {
                    black_box(case.walker.decide(message));
                })
            });
        });
        group.bench_function("decide", |bencher| {
            bencher.iter(|| each(&mut |message| drop(black_box(case.rules.decide(message)))));
        });
        group.bench_function("record", |bencher| {
            bencher.iter(|| records.iter().for_each(|record| drop(black_box(entry.decide_prepared(record)))));
        });
        group.finish();
    }
}

criterion_group!(benches, decide);
criterion_main!(benches);
