//! Record batches against JSON lines and against the bare loop of [`Session::choose`](rulec::Session::choose), on the same
//! messages and rules: first the ratios, all sides in turn, then criterion's figures.

#[path = "../../../benches/support/mod.rs"]
mod support;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::Field;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rulec_columns::{Decider, Options, Part, write_lines};
use serde_json::Value as Json;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::mixes::Case;
use support::rules::Kind;

/// The fields of a message that are of a type, in the order of `support/messages.rs`.
fn object(messages: &[Option<&Json>], fields: Vec<(&str, ArrayRef)>) -> ArrayRef {
    let nulls: NullBuffer = messages.iter().map(Option::is_some).collect();
    let (names, columns): (Vec<&str>, Vec<ArrayRef>) = fields.into_iter().unzip();
    let fields =
        names.iter().zip(&columns).map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    Arc::new(StructArray::new(fields.collect(), columns, Some(nulls)))
}

fn inside<'m>(messages: &[Option<&'m Json>], key: &str) -> Vec<Option<&'m Json>> {
    messages.iter().map(|message| message.and_then(|message| message.get(key))).collect()
}

fn texts(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = StringBuilder::new();
    inside(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_str)));
    Arc::new(build.finish())
}

fn words(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = StringDictionaryBuilder::<Int32Type>::new();
    inside(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_str)));
    Arc::new(build.finish())
}

fn ints(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = Int64Builder::new();
    inside(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_i64)));
    Arc::new(build.finish())
}

fn floats(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = Float64Builder::new();
    inside(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_f64)));
    Arc::new(build.finish())
}

fn bools(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = BooleanBuilder::new();
    inside(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_bool)));
    Arc::new(build.finish())
}

fn lists(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = ListBuilder::new(StringBuilder::new());
    for value in inside(messages, key) {
        match value.and_then(Json::as_array) {
            Some(items) => build.append_value(items.iter().map(Json::as_str)),
            None => build.append_null(),
        }
    }
    Arc::new(build.finish())
}

/// Messages of `support/messages.rs` as columns.
fn batch(messages: &[Json]) -> RecordBatch {
    let all: Vec<Option<&Json>> = messages.iter().map(Some).collect();
    let ctx = inside(&all, "ctx");
    let (user, order, error) = (inside(&ctx, "user"), inside(&ctx, "order"), inside(&ctx, "last_error"));
    let user = object(&user, vec![("role", words(&user, "role")), ("age_days", ints(&user, "age_days"))]);
    let order = object(&order, vec![("total", floats(&order, "total")), ("items", ints(&order, "items"))]);
    let error = object(&error, vec![("type", words(&error, "type")), ("count", ints(&error, "count"))]);
    let fields = vec![
        ("message_count", ints(&ctx, "message_count")),
        ("channel", words(&ctx, "channel")),
        ("country", words(&ctx, "country")),
        ("score", floats(&ctx, "score")),
        ("is_new", bools(&ctx, "is_new")),
        ("tags", lists(&ctx, "tags")),
        ("user", user),
        ("order", order),
        ("last_error", error),
    ];
    RecordBatch::try_from_iter([("text", texts(&all, "text")), ("ctx", object(&ctx, fields))])
        .expect("a batch")
}

/// Rows of a batch.
const ROWS: usize = 8_192;

/// The sides, of the same messages.
struct Sides {
    case: Case,
    messages: Vec<Json>,
    lines: Vec<String>,
    batch: RecordBatch,
}

impl Sides {
    fn new(routes: usize) -> Sides {
        let case = Case::new(routes, Kind::Mixed, true);
        let messages: Vec<Json> = case.mixed().into_iter().cycle().take(ROWS).collect();
        let lines = messages.iter().map(Json::to_string).collect();
        let batch = batch(&messages);
        let sides = Sides { case, messages, lines, batch };
        assert_eq!(sides.by_lines(), sides.by_columns(), "all sides answer alike");
        sides
    }

    fn by_lines(&self) -> String {
        let mut out = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            let decision = self.case.rules.main().decide_line(line.as_bytes()).expect("it is JSON");
            let answer = serde_json::to_string(&decision).expect("JSON");
            out += &format!("{{\"line\":{},{}\n", at + 1, &answer[1..]);
        }
        out
    }

    fn by_columns(&self) -> String {
        let mut out = Vec::new();
        let answers = self.decider().decide(&self.batch).expect("the same columns");
        write_lines(&answers, 1, &mut out).expect("memory");
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    fn decider(&self) -> Decider {
        let options = Options::default();
        Decider::new(&self.case.rules, None, self.batch.schema(), &options).expect("the columns suit")
    }
}

/// Prints messages a second of all sides, the best of rounds in turn, and the ratios.
fn ratios() {
    println!("million messages a second on one core, best of many rounds in turn");
    println!("routes  JSON lines  columns  decisions of columns  bare choose  columns/lines  columns/choose");
    for routes in [10, 100, 1_000] {
        let sides = Sides::new(routes);
        let (entry, mut out) = (sides.case.rules.main(), Vec::new());
        let mut lines = || {
            out.clear();
            for line in &sides.lines {
                let decision = entry.decide_line(black_box(line.as_bytes())).expect("it is JSON");
                serde_json::to_writer(&mut out, &decision).expect("memory");
                out.push(b'\n');
            }
            black_box(out.len());
        };
        let mut decider = sides.decider();
        let mut columns = || drop(black_box(decider.decide(black_box(&sides.batch))));
        let (mut other, part) = (sides.decider(), Part::from(sides.batch.clone()));
        let mut each = || {
            let take = |_, decision| drop(black_box(decision));
            other.each(black_box(&part), take).expect("the same columns");
        };
        let records: Vec<_> =
            sides.messages.iter().map(|message| sides.case.rules.prepare(message)).collect();
        let mut session = sides.case.rules.session();
        let mut choose = || {
            for record in &records {
                black_box(session.choose(black_box(record)));
            }
        };
        let mut rounds: [&mut dyn FnMut(); 4] = [&mut lines, &mut columns, &mut each, &mut choose];
        let mut best = [Duration::MAX; 4];
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            for (round, best) in rounds.iter_mut().zip(&mut best) {
                let start = Instant::now();
                round();
                *best = start.elapsed().min(*best);
            }
        }
        let rate = best.map(|time| sides.messages.len() as f64 / time.as_secs_f64() / 1e6);
        println!(
            "{routes:>6}  {:>10.2}  {:>7.2}  {:>20.2}  {:>11.2}  {:>13.2}  {:>14.2}",
            rate[0],
            rate[1],
            rate[2],
            rate[3],
            rate[1] / rate[0],
            rate[1] / rate[3]
        );
    }
}

fn columns(c: &mut Criterion) {
    // Under `cargo test` nothing is to be timed.
    if std::env::args().any(|arg| arg == "--bench") {
        ratios();
    }
    for routes in [10, 1_000] {
        let sides = Sides::new(routes);
        let mut group = c.benchmark_group(format!("columns/{routes}"));
        group.throughput(Throughput::Elements(sides.messages.len() as u64));
        group.sample_size(20).warm_up_time(Duration::from_millis(300));
        group.measurement_time(Duration::from_millis(1500));
        let mut decider = sides.decider();
        group.bench_function("batch", |bencher| bencher.iter(|| decider.decide(&sides.batch)));
        group.finish();
    }
}

criterion_group!(benches, columns);
criterion_main!(benches);
