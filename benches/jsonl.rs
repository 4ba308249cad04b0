//! JSON lines end to end, in messages a second: a line in, a decision's line out, against a loop
//! that only parses the line.

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::Value as Json;
use std::hint::black_box;
use std::time::Duration;
use support::mixes::Case;
use support::rules::Kind;

fn jsonl(c: &mut Criterion) {
    for (name, declared) in [("inferred", false), ("declared", true)] {
        let case = Case::new(100, Kind::Mixed, declared);
        let lines: Vec<String> = case.mixed().iter().map(Json::to_string).collect();
        let mut group = c.benchmark_group(format!("jsonl/{name}"));
        group.throughput(Throughput::Elements(lines.len() as u64));
        group.sample_size(20).warm_up_time(Duration::from_millis(300));
        group.measurement_time(Duration::from_millis(1500));
        group.bench_function("parse_only", |bencher| {
            bencher.iter(|| {
                for line in &lines {
                    black_box(serde_json::from_str::<Json>(black_box(line)).expect("it is JSON"));
                }
            });
        });
        let mut out = Vec::new();
        group.bench_function("parse_decide_write", |bencher| {
            bencher.iter(|| {
                out.clear();
                for line in &lines {
                    let message: Json = serde_json::from_str(black_box(line)).expect("it is JSON");
                    let decision = case.rules.decide(&message);
                    serde_json::to_writer(&mut out, &decision).expect("it is written");
                    out.push(b'\n');
                }
                black_box(out.len());
            });
        });
        let mut out = Vec::new();
        group.bench_function("strict_parse_decide_write", |bencher| {
            bencher.iter(|| {
                out.clear();
                for line in &lines {
                    // The strict reader that `rulec run` uses: no doubled keys, no depth over 128.
                    let message = rulec::json::parse(black_box(line)).expect("it is JSON");
                    let decision = case.rules.decide(&message);
                    serde_json::to_writer(&mut out, &decision).expect("it is written");
                    out.push(b'\n');
                }
                black_box(out.len());
            });
        });
        group.finish();
    }
}

criterion_group!(benches, jsonl);
criterion_main!(benches);
