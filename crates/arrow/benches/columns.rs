//! Compares the speed of decisions from record batches with two other ways. One way decides from
//! JSON lines; the other is a bare loop of [`Session::choose`](rulec::Session::choose). All decide
//! the same messages by the same rules. The benchmark first prints the ratios of alternating
//! measurements, and then criterion's results.
//!
//! The command `columns count SIDE ROUTES TEXTS` decides one batch, so that callgrind
//! (`--toggle-collect='*decide_all*'`) can count the instructions. SIDE is `lines`, `columns`,
//! `each` (decisions from columns, without answer columns) or `choose`. TEXTS is a variant of
//! [`TableVariant`].

#[path = "../../../benches/support/mod.rs"]
mod support;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::Field;
use criterion::{Criterion, Throughput, criterion_group};
use rulec::{Rules, Tier};
use rulec_arrow::{BatchWithErrors, Decider, Options, write_lines};
use serde_json::Value as Json;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::messages::messages;
use support::mixes::Case;
use support::rules::{self, Kind, Term};

/// Builds an object column from its typed fields; a row without the object is null.
fn object_column(messages: &[Option<&Json>], fields: Vec<(&str, ArrayRef)>) -> ArrayRef {
    let nulls: NullBuffer = messages.iter().map(Option::is_some).collect();
    let (names, columns): (Vec<&str>, Vec<ArrayRef>) = fields.into_iter().unzip();
    let fields =
        names.iter().zip(&columns).map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    Arc::new(StructArray::new(fields.collect(), columns, Some(nulls)))
}

fn nested_values<'m>(messages: &[Option<&'m Json>], key: &str) -> Vec<Option<&'m Json>> {
    messages.iter().map(|message| message.and_then(|message| message.get(key))).collect()
}

fn text_column(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = StringBuilder::new();
    nested_values(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_str)));
    Arc::new(build.finish())
}

fn dictionary_column(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = StringDictionaryBuilder::<Int32Type>::new();
    nested_values(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_str)));
    Arc::new(build.finish())
}

fn int_column(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = Int64Builder::new();
    nested_values(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_i64)));
    Arc::new(build.finish())
}

fn float_column(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = Float64Builder::new();
    nested_values(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_f64)));
    Arc::new(build.finish())
}

fn bool_column(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = BooleanBuilder::new();
    nested_values(messages, key).iter().for_each(|value| build.append_option(value.and_then(Json::as_bool)));
    Arc::new(build.finish())
}

fn list_column(messages: &[Option<&Json>], key: &str) -> ArrayRef {
    let mut build = ListBuilder::new(StringBuilder::new());
    for value in nested_values(messages, key) {
        match value.and_then(Json::as_array) {
            Some(items) => build.append_value(items.iter().map(Json::as_str)),
            None => build.append_null(),
        }
    }
    Arc::new(build.finish())
}

/// Variants of the benchmarked table, by the texts of its messages. In each variant, columns with
/// few distinct texts are dictionaries, as in real tables.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TableVariant {
    /// The messages have a few hundred distinct texts, which repeat.
    Repeated,
    /// The texts are as in `Repeated`, stored as a dictionary.
    Dictionary,
    /// All messages have distinct texts.
    Different,
    /// All messages have distinct texts, but the rules do not read them. The columns that the rules
    /// read are dictionaries with few distinct values.
    Few,
}

impl TableVariant {
    const ALL: [TableVariant; 4] =
        [TableVariant::Repeated, TableVariant::Dictionary, TableVariant::Different, TableVariant::Few];

    fn messages(self, case: &Case, routes: usize) -> Vec<Json> {
        match self {
            TableVariant::Repeated | TableVariant::Dictionary => {
                case.mixed().into_iter().cycle().take(ROWS_PER_BATCH).collect()
            }
            TableVariant::Different | TableVariant::Few => {
                messages(ROWS_PER_BATCH, &rules::phrases(&rules::routes(routes, Kind::Mixed, 7)), 23)
            }
        }
    }
}

/// Builds `routes` routes that test only the channel, the country and the role.
fn few_conditions(routes: usize) -> Rules {
    let of_few = |term: &Term| match term {
        Term::Equal(path, _) | Term::NotEqual(path, _) | Term::OneOf(path, _) => {
            *path != "ctx.last_error.type"
        }
        _ => false,
    };
    let mut all = rules::routes(400 * routes, Kind::Fields, 7);
    all.retain(|route| route.terms.iter().all(of_few));
    all.truncate(routes);
    assert_eq!(all.len(), routes, "there are as many among many");
    let source = rules::file(&all, true);
    Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// Converts messages of `support/messages.rs` to columns.
fn to_batch(messages: &[Json], table: TableVariant) -> RecordBatch {
    let all: Vec<Option<&Json>> = messages.iter().map(Some).collect();
    let ctx = nested_values(&all, "ctx");
    let (user, order, error) =
        (nested_values(&ctx, "user"), nested_values(&ctx, "order"), nested_values(&ctx, "last_error"));
    let user = object_column(
        &user,
        vec![("role", dictionary_column(&user, "role")), ("age_days", int_column(&user, "age_days"))],
    );
    let order = object_column(
        &order,
        vec![("total", float_column(&order, "total")), ("items", int_column(&order, "items"))],
    );
    let error = object_column(
        &error,
        vec![("type", dictionary_column(&error, "type")), ("count", int_column(&error, "count"))],
    );
    let fields = vec![
        ("message_count", int_column(&ctx, "message_count")),
        ("channel", dictionary_column(&ctx, "channel")),
        ("country", dictionary_column(&ctx, "country")),
        ("score", float_column(&ctx, "score")),
        ("is_new", bool_column(&ctx, "is_new")),
        ("tags", list_column(&ctx, "tags")),
        ("user", user),
        ("order", order),
        ("last_error", error),
    ];
    let text = if table == TableVariant::Dictionary {
        dictionary_column(&all, "text")
    } else {
        text_column(&all, "text")
    };
    RecordBatch::try_from_iter([("text", text), ("ctx", object_column(&ctx, fields))]).expect("a batch")
}

/// Number of rows in a batch.
const ROWS_PER_BATCH: usize = 8_192;

/// Inputs of the compared implementations, all made from the same messages.
struct ComparedInputs {
    case: Case,
    messages: Vec<Json>,
    lines: Vec<String>,
    batch: RecordBatch,
}

impl ComparedInputs {
    fn new(routes: usize, table: TableVariant) -> ComparedInputs {
        let mut case = Case::new(routes, Kind::Mixed, true);
        if table == TableVariant::Few {
            case.rules = few_conditions(routes);
        }
        // With few routes, the engine switches to machine code only after thousands of decisions.
        // The benchmark compiles the rules to machine code at once.
        if routes <= 10 {
            case.rules = case.rules.with_tier(Tier::Jit);
        }
        case.rules.warm_up().expect("what decides is made");
        let messages = table.messages(&case, routes);
        let lines = messages.iter().map(Json::to_string).collect();
        let batch = to_batch(&messages, table);
        let sides = ComparedInputs { case, messages, lines, batch };
        assert_eq!(sides.decide_lines(), sides.decide_columns(), "all sides answer alike");
        sides
    }

    fn decide_lines(&self) -> String {
        let mut out = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            let decision = self.case.rules.main().decide_line(line.as_bytes()).expect("it is JSON");
            let answer = serde_json::to_string(&decision).expect("JSON");
            out += &format!("{{\"line\":{},{}\n", at + 1, &answer[1..]);
        }
        out
    }

    fn decide_columns(&self) -> String {
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

/// The compared implementations, by name; each function decides all messages.
type Implementations<'s> = [(&'static str, Box<dyn FnMut() + 's>); 4];

impl ComparedInputs {
    fn implementations(&self) -> Implementations<'_> {
        let (entry, mut out) = (self.case.rules.main(), Vec::new());
        let lines = move || {
            out.clear();
            for line in &self.lines {
                let decision = entry.decide_line(black_box(line.as_bytes())).expect("it is JSON");
                serde_json::to_writer(&mut out, &decision).expect("memory");
                out.push(b'\n');
            }
            black_box(out.len());
        };
        let mut decider = self.decider();
        let columns = move || drop(black_box(decider.decide(black_box(&self.batch))));
        let (mut other, part) = (self.decider(), BatchWithErrors::from(self.batch.clone()));
        let each = move || {
            let take = |_, decision| drop(black_box(decision));
            other.decide_each_row(black_box(&part), take).expect("the same columns");
        };
        let records: Vec<_> = self.messages.iter().map(|message| self.case.rules.prepare(message)).collect();
        let mut session = self.case.rules.session();
        let choose = move || {
            for record in &records {
                black_box(session.choose(black_box(record)));
            }
        };
        [
            ("lines", Box::new(lines)),
            ("columns", Box::new(columns)),
            ("each", Box::new(each)),
            ("choose", Box::new(choose)),
        ]
    }
}

/// Runs an implementation; callgrind counts the instructions inside this function.
#[inline(never)]
fn decide_all(way: &mut dyn FnMut()) {
    way();
}

/// If the arguments request the command `count`, decides one batch twice. Only the second run,
/// after this warm-up, goes through [`decide_all`], where callgrind counts. Returns false if the
/// arguments request another command.
fn run_for_callgrind() -> bool {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, side, routes, texts] = arguments.as_slice() else { return false };
    let table = TableVariant::ALL.into_iter().find(|table| format!("{table:?}").eq_ignore_ascii_case(texts));
    let (Ok(routes), Some(table), "count") = (routes.parse(), table, count.as_str()) else { return false };
    let sides = ComparedInputs::new(routes, table);
    let mut ways = sides.implementations();
    let Some((_, way)) = ways.iter_mut().find(|(name, _)| name == side) else { return false };
    way();
    decide_all(way);
    println!("{ROWS_PER_BATCH} rows");
    true
}

/// Prints the messages per second of each implementation, and the ratios. Each rate is the best of
/// alternating rounds.
fn print_ratios() {
    println!("million messages a second on one core, best of many rounds in turn");
    println!(
        "routes  texts       JSON lines  columns  decisions of columns  bare choose  columns/lines  columns/choose"
    );
    for (routes, table) in
        [10, 100, 1_000].into_iter().flat_map(|n| TableVariant::ALL.map(|table| (n, table)))
    {
        let sides = ComparedInputs::new(routes, table);
        let mut ways = sides.implementations();
        let mut best = [Duration::MAX; 4];
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            for ((_, way), best) in ways.iter_mut().zip(&mut best) {
                let start = Instant::now();
                way();
                *best = start.elapsed().min(*best);
            }
        }
        let rate = best.map(|time| sides.messages.len() as f64 / time.as_secs_f64() / 1e6);
        println!(
            "{routes:>6}  {:<10}  {:>10.2}  {:>7.2}  {:>20.2}  {:>11.2}  {:>13.2}  {:>14.2}",
            format!("{table:?}"),
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
    // Under `cargo test` no timing runs.
    if std::env::args().any(|arg| arg == "--bench") {
        print_ratios();
    }
    for routes in [10, 1_000] {
        let sides = ComparedInputs::new(routes, TableVariant::Repeated);
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

fn main() {
    if !run_for_callgrind() {
        benches();
        Criterion::default().configure_from_args().final_summary();
    }
}
