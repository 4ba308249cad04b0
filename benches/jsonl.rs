//! Measures decisions on JSON lines end to end, in messages per second. The path from an input line
//! to a decision line is compared with a loop that only parses the line.
//!
//! First it prints a table for 1,000 routes, with all loops timed alternately. The ratio compares
//! the whole path with a loop that parses each line into a typed struct and writes a fixed line.
//! The last column times only the choice of the route, for messages that were read before the
//! timing. What the whole path takes longer is the time for reading lines and writing decisions.
//! `cargo bench --bench jsonl -- ratio` prints only this table.

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;
use serde_json::Value as Json;
use std::hint::black_box;
use std::time::{Duration, Instant};
use support::mixes::Case;
use support::rules::Kind;

/// The typed form of a message that `support/messages.rs` generates.
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

/// The line that the parse-only loop writes. It is as long as a decision line.
const FIXED: &[u8] =
    b"{\"entry\":\"routes\",\"chosen\":\"default\",\"target\":\"default_handler\",\"args\":{},\"metadata\":{}}\n";

/// Prints nanoseconds per message for each loop, as the median of alternating rounds. Also prints
/// the ratio of the whole path to the parse-only loop.
fn ratios() {
    println!("1,000 routes; nanoseconds a message, median of many rounds in turn");
    println!("input       typed loop  whole way  ratio  deciding alone");
    for (name, declared) in [("inferred", false), ("declared", true)] {
        let case = Case::new(1_000, Kind::Mixed, declared);
        let messages = case.mixed();
        let lines: Vec<String> = messages.iter().map(Json::to_string).collect();
        let mut out = Vec::new();
        let mut parse = || {
            out.clear();
            for line in &lines {
                black_box(serde_json::from_str::<Typed>(black_box(line)).expect("it is a message"));
                out.extend_from_slice(FIXED);
            }
            black_box(out.len());
        };
        let (mut answers, mut session) = (Vec::new(), case.rules.session());
        let mut decide = || {
            answers.clear();
            for line in &lines {
                let decision = session.decide_line(black_box(line.as_bytes())).expect("it is JSON");
                decision.write_json(&mut answers);
                answers.push(b'\n');
            }
            black_box(answers.len());
        };
        let records: Vec<_> = messages.iter().map(|message| case.rules.prepare(message)).collect();
        let mut session = case.rules.session();
        let mut choose = || {
            for record in &records {
                black_box(session.choose(black_box(record)));
            }
        };
        let mut rounds: [&mut dyn FnMut(); 3] = [&mut parse, &mut decide, &mut choose];
        let mut times: [Vec<Duration>; 3] = Default::default();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            for (round, times) in rounds.iter_mut().zip(&mut times) {
                let start = Instant::now();
                round();
                times.push(start.elapsed());
            }
        }
        let [typed, whole, alone] = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e9 / lines.len() as f64
        });
        println!("{name:<10} {typed:>11.0} {whole:>10.0} {:>6.2} {alone:>15.0}", typed / whole);
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
                    // This is the strict JSON parser, which rejects duplicate keys and more than
                    // 128 levels of nesting.
                    let message = rulec_base::json::parse(black_box(line)).expect("it is JSON");
                    let decision = case.rules.decide(&message);
                    serde_json::to_writer(&mut out, &decision).expect("it is written");
                    out.push(b'\n');
                }
                black_box(out.len());
            });
        });
        let (mut out, mut session) = (Vec::new(), case.rules.session());
        group.bench_function("slots_decide_write", |bencher| {
            bencher.iter(|| {
                out.clear();
                for line in &lines {
                    // This is the path of `rulec run`: the same strict checks, but without a JSON
                    // tree.
                    let decision = session.decide_line(black_box(line.as_bytes())).expect("it is JSON");
                    decision.write_json(&mut out);
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
