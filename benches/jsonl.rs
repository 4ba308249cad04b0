//! JSON lines end to end, in messages a second: a line in, a decision's line out, against a loop
//! that only parses the line. First the ratio at 1,000 routes, both sides in turn: how the whole way
//! stands to parsing the same lines into a typed struct and writing a fixed line.

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;
use serde_json::Value as Json;
use std::hint::black_box;
use std::time::{Duration, Instant};
use support::mixes::Case;
use support::rules::Kind;

/// A message of `support/messages.rs`.
#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only parsed")]
struct Typed {
    text: String,
    ctx: Ctx,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only parsed")]
struct Ctx {
    message_count: i64,
    channel: String,
    country: Option<String>,
    score: Option<f64>,
    is_new: Option<bool>,
    tags: Option<Vec<String>>,
    user: Option<User>,
    order: Option<Order>,
    last_error: Option<LastError>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only parsed")]
struct User {
    role: String,
    age_days: Option<i64>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only parsed")]
struct Order {
    total: f64,
    items: Option<i64>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only parsed")]
struct LastError {
    #[serde(rename = "type")]
    kind: String,
    count: i64,
}

/// The line that is written by the loop that only parses: as long as a decision's.
const FIXED: &[u8] =
    b"{\"entry\":\"routes\",\"chosen\":\"default\",\"target\":\"default_handler\",\"args\":{},\"metadata\":{}}\n";

/// Prints messages a second of both sides, the best of rounds in turn, and the ratio.
fn ratios() {
    println!("1,000 routes; million messages a second, best of many rounds in turn");
    println!("input       typed parse  whole way  ratio");
    for (name, declared) in [("inferred", false), ("declared", true)] {
        let case = Case::new(1_000, Kind::Mixed, declared);
        let lines: Vec<String> = case.mixed().iter().map(Json::to_string).collect();
        let entry = case.rules.main();
        let mut out = Vec::new();
        let mut parse = || {
            out.clear();
            for line in &lines {
                black_box(serde_json::from_str::<Typed>(black_box(line)).expect("it is a message"));
                out.extend_from_slice(FIXED);
            }
            black_box(out.len());
        };
        let mut answers = Vec::new();
        let mut decide = || {
            answers.clear();
            for line in &lines {
                let decision = entry.decide_line(black_box(line.as_bytes())).expect("it is JSON");
                serde_json::to_writer(&mut answers, &decision).expect("it is written");
                answers.push(b'\n');
            }
            black_box(answers.len());
        };
        let mut rounds: [&mut dyn FnMut(); 2] = [&mut parse, &mut decide];
        let mut best = [Duration::MAX; 2];
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            for (round, best) in rounds.iter_mut().zip(&mut best) {
                let start = Instant::now();
                round();
                *best = start.elapsed().min(*best);
            }
        }
        let rate = best.map(|time| lines.len() as f64 / time.as_secs_f64() / 1e6);
        println!("{name:<10} {:>12.2} {:>10.2} {:>6.2}", rate[0], rate[1], rate[1] / rate[0]);
    }
}

fn jsonl(c: &mut Criterion) {
    ratios();
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
                    // The strict reader: no doubled keys, no depth over 128.
                    let message = rulec::internals::json::parse(black_box(line)).expect("it is JSON");
                    let decision = case.rules.decide(&message);
                    serde_json::to_writer(&mut out, &decision).expect("it is written");
                    out.push(b'\n');
                }
                black_box(out.len());
            });
        });
        let mut out = Vec::new();
        group.bench_function("slots_decide_write", |bencher| {
            bencher.iter(|| {
                out.clear();
                for line in &lines {
                    // What `rulec run` does: the strict checks, and no tree.
                    let decision =
                        case.rules.main().decide_line(black_box(line.as_bytes())).expect("it is JSON");
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
