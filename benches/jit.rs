//! Compares the JIT with the VM, both without an index, for 1, 10 and 100 routes. The routes test
//! arithmetic and comparisons, fields, or texts. For 1 and 10 routes, hand-written Rust is compared
//! too.
//!
//! The benchmark checks the answers before it starts timing. All engines of a row are timed
//! alternately in one process, and the table shows medians. A second table shows how long compiling
//! takes.

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rulec::{Indexing, PreparedMessage, Rules, Tier};
use rulec_jit::JitCode;
use rulec_sema::hir::TableId;
use rulec_vm::vm::{Scratch, Vm};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::messages::messages;
use support::random::Random;
use support::rules::{self, Kind};

/// A benchmark case: rules, and messages for them.
struct Case {
    name: &'static str,
    vm: Rules,
    jit: Rules,
    messages: Vec<Json>,
}

impl Case {
    fn new(name: &'static str, source: &str, messages: Vec<Json>) -> Case {
        let rules = Rules::from_text(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let rules = rules.with_index(Indexing::Never);
        let (vm, jit) = (rules.with_tier(Tier::Vm), rules.with_tier(Tier::Jit));
        jit.warm_up().expect("the host is supported");
        for message in &messages {
            assert_eq!(jit.decide(message).chosen(), vm.decide(message).chosen(), "{message}\n{source}");
        }
        Case { name, vm, jit, messages }
    }
}

/// Generates routes with comparisons and arithmetic over numbers; most of them do not match.
fn numbers(name: &'static str, routes: usize, arithmetic: bool) -> Case {
    let mut random = Random::new(5);
    let mut source = String::from("input { ctx: { a: int  b: int  f: float  g?: number  on: bool } }\n");
    for at in 0..routes {
        let (n, m) = (random.below(40) + 60, random.below(9) + 1);
        let condition = match (arithmetic, at % 4) {
            (false, 0) => format!("ctx.a > {n} and ctx.b != {m} and ctx.on"),
            (false, 1) => format!("ctx.f >= 0.{n} and ctx.a in {n}..{}", n + 9),
            (false, 2) => format!("ctx.g < {m} and ctx.b == {n} or ctx.a == {n}"),
            (false, _) => format!("not ctx.on and ctx.a <= -{m} or ctx.f > {n}"),
            (true, 0) => format!("ctx.a * {m} + ctx.b > {} and ctx.on", n * 20),
            (true, 1) => format!("ctx.f / {m} + ctx.a - ctx.b > {n}"),
            (true, 2) => format!("(ctx.g ?? {m}) * 2 > ctx.a + {}", n * 3),
            (true, _) => format!("ctx.a % {} == {m} and ctx.f * ctx.f > {n}", m + 5),
        };
        let _ = writeln!(source, "route r{at} when {condition} -> h{at}");
    }
    let mut message = || {
        let g = if random.chance(80) { json!(random.below(50)) } else { json!(null) };
        let f = random.below(1000) as f64 / 20.0;
        json!({"ctx": {
            "a": random.below(60), "b": random.below(60), "f": f, "g": g, "on": random.chance(50)
        }})
    };
    Case::new(name, &source, (0..200).map(|_| message()).collect())
}

fn of_kind(name: &'static str, count: usize, kind: Kind) -> Case {
    let routes = rules::routes(count, kind, 7);
    Case::new(name, &rules::file(&routes, true), messages(200, &rules::phrases(&routes), 11))
}

/// The typed record that hand-written code would read instead of a JSON message.
struct Typed<'m> {
    text: &'m str,
    role: &'m str,
    count: i64,
}

/// Defines the same routes twice: as rules and as straight-line Rust.
macro_rules! by_hand {
    ($function:ident, $source:ident: $(($at:literal, $word:literal, $count:literal, $role:literal))*) => {
        #[inline(never)]
        fn $function(message: &Typed<'_>) -> Option<usize> {
            $(if message.text.contains($word) && message.count > $count && message.role == $role {
                return Some($at);
            })*
            None
        }

        const $source: &str = concat!("input { text: string  ctx: { role: string  count: int } }\n", $(
            "route r", $at, " when text contains \"", $word, "\" and ctx.count > ",
            $count, " and ctx.role == \"", $role, "\" -> h\n"
        ),*);
    };
}

by_hand!(one_by_hand, ONE: (0, "refund", 3, "customer"));
by_hand!(ten_by_hand, TEN:
    (0, "cancel order", 3, "admin") (1, "发票", 2, "customer") (2, "password", 5, "agent")
    (3, "delivery", 7, "customer") (4, "track", 1, "manager") (5, "invoice", 4, "customer")
    (6, "地址", 3, "partner") (7, "upgrade", 9, "admin") (8, "meeting", 2, "agent")
    (9, "refund", 3, "customer"));

/// Returns messages for the routes of `by_hand`. Their context often satisfies all conditions, so
/// that the evaluation reaches the last route.
fn by_hand_messages() -> Vec<Json> {
    let mut all = messages(4_000, &["refund".to_owned()], 3);
    let late = |message: &Json| {
        let text = message["text"].as_str().unwrap_or_default();
        let others = ["cancel order", "发票", "password", "delivery", "track", "invoice", "地址", "upgrade"];
        text.contains("refund") && others.iter().all(|word| !text.contains(word))
    };
    all.retain(late);
    all.truncate(200);
    for message in &mut all {
        let text = message["text"].clone();
        *message = json!({"text": text, "ctx": {"role": "customer", "count": 12}});
    }
    assert!(all.len() > 50);
    all
}

type Round<'r> = (&'static str, Box<dyn FnMut() + 'r>);

/// Times the engines alternately, and returns the median for each in nanoseconds per message.
fn timed(messages: usize, mut engines: Vec<Round<'_>>) -> Vec<f64> {
    let mut times = vec![Vec::new(); engines.len()];
    for round in 0..120 {
        for (at, (_, run)) in engines.iter_mut().enumerate() {
            let start = Instant::now();
            (0..8).for_each(|_| run());
            if round >= 20 {
                times[at].push(start.elapsed().as_nanos() as f64 / (8 * messages) as f64);
            }
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    times.iter_mut().map(median).collect()
}

/// Returns the operations to time for one case, each on the VM and on the JIT: choosing a route for
/// a prepared record, a full decision on a prepared record, and a decision on JSON.
fn engines<'r>(case: &'r Case, records: &'r [[PreparedMessage<'r>; 2]]) -> Vec<Round<'r>> {
    let choose = |rules: &'r Rules, which: usize| {
        let mut session = rules.session();
        Box::new(move || {
            for record in records {
                black_box(session.choose(black_box(&record[which])));
            }
        })
    };
    let record = |rules: &'r Rules, which: usize| {
        let entry = rules.main();
        Box::new(move || {
            records
                .iter()
                .for_each(|record| drop(black_box(entry.decide_prepared(black_box(&record[which])))));
        })
    };
    let json = |rules: &'r Rules| {
        Box::new(move || {
            case.messages.iter().for_each(|message| drop(black_box(rules.decide(black_box(message)))));
        })
    };
    vec![
        ("choose vm", choose(&case.vm, 0)),
        ("choose jit", choose(&case.jit, 1)),
        ("record vm", record(&case.vm, 0)),
        ("record jit", record(&case.jit, 1)),
        ("json vm", json(&case.vm)),
        ("json jit", json(&case.jit)),
    ]
}

fn records(case: &Case) -> Vec<[PreparedMessage<'_>; 2]> {
    case.messages.iter().map(|message| [case.vm.prepare(message), case.jit.prepare(message)]).collect()
}

fn cases() -> Vec<Case> {
    vec![
        numbers("comparisons 1", 1, false),
        numbers("comparisons 10", 10, false),
        numbers("comparisons 100", 100, false),
        numbers("arithmetic 1", 1, true),
        numbers("arithmetic 10", 10, true),
        numbers("arithmetic 100", 100, true),
        of_kind("fields 10", 10, Kind::Fields),
        of_kind("fields 100", 100, Kind::Fields),
        of_kind("mixed 1", 1, Kind::Mixed),
        of_kind("mixed 10", 10, Kind::Mixed),
        of_kind("mixed 100", 100, Kind::Mixed),
        Case::new("by hand 1", ONE, by_hand_messages()),
        Case::new("by hand 10", TEN, by_hand_messages()),
    ]
}

/// Prints the table of ratios between the VM and the JIT.
fn ratios(cases: &[Case]) {
    println!("nanoseconds a message (medians, in turns); ratios are vm / jit");
    println!("rules               choose: vm    jit       |  record: vm    jit       |    json: vm    jit");
    for case in cases {
        let records = records(case);
        let typed: Vec<Typed<'_>> = case.messages.iter().map(to_typed).collect();
        let mut engines = engines(case, &records);
        let by_hand: Option<fn(&Typed<'_>) -> Option<usize>> = match case.name {
            "by hand 1" => Some(one_by_hand),
            "by hand 10" => Some(ten_by_hand),
            _ => None,
        };
        if let Some(by_hand) = by_hand {
            for (message, typed) in case.messages.iter().zip(&typed) {
                let expected = by_hand(typed).map(|at| format!("r{at}"));
                assert_eq!(case.vm.decide(message).chosen(), expected.as_deref());
            }
            let typed = &typed;
            let run = move || {
                typed.iter().for_each(|typed| {
                    black_box(by_hand(black_box(typed)));
                })
            };
            engines.push(("by hand", Box::new(run)));
        }
        let times = timed(case.messages.len(), engines);
        let mut line = format!("{:<18}", case.name);
        for pair in times[..6].chunks(2) {
            let _ = write!(line, " {:>10.1} {:>7.1} {:>5.2}x |", pair[0], pair[1], pair[0] / pair[1]);
        }
        if let Some(by_hand) = times.get(6) {
            let _ = write!(line, " by hand {by_hand:.1}: choose jit {:.2}x of it", times[1] / by_hand);
        }
        println!("{line}");
    }
}

fn to_typed(message: &Json) -> Typed<'_> {
    Typed {
        text: message["text"].as_str().unwrap_or_default(),
        role: message["ctx"]["role"].as_str().unwrap_or_default(),
        count: message["ctx"]["count"].as_i64().unwrap_or_default(),
    }
}

/// Prints, for the JIT, compile time in microseconds per route and code size in bytes per route.
fn compiling() {
    println!("compiling             µs a route   bytes a route");
    for (kind, name) in [(Kind::Fields, "fields"), (Kind::Mixed, "mixed")] {
        for count in [1, 10, 100, 1_000] {
            let rules = Rules::from_text(&rules::file(&rules::routes(count, kind, 7), true)).unwrap();
            let bytecode = rulec_vm::bytecode::lower(rules.program(), rules.normal()).unwrap();
            let bytecode = Arc::new(bytecode);
            let mut best = f64::INFINITY;
            let mut size = 0;
            for _ in 0..if count < 1_000 { 20 } else { 3 } {
                let start = Instant::now();
                let code = JitCode::compile(bytecode.clone()).expect("the host is supported");
                best = best.min(start.elapsed().as_secs_f64());
                size = code.code_bytes();
            }
            let (each, bytes) = (best * 1e6 / count as f64, size / count);
            println!("{:<20} {each:>11.1} {bytes:>15}", format!("{name} {count}"));
        }
    }
}

fn jit(c: &mut Criterion) {
    let cases = cases();
    // `cargo test` and `--list` must not run the timing.
    if std::env::args().any(|arg| arg == "--bench") {
        ratios(&cases);
        compiling();
    }
    for case in cases.iter().filter(|case| case.name.ends_with("0")) {
        let records = records(case);
        let mut group = c.benchmark_group(format!("jit/{}", case.name));
        group.throughput(Throughput::Elements(case.messages.len() as u64));
        group.sample_size(15).warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_millis(600));
        let mut scratch = Scratch::new();
        let code = case.vm.bytecode();
        group.bench_function("machine alone", |bencher| {
            bencher.iter(|| {
                for message in &case.messages {
                    black_box(Vm::over_json(code, &[], black_box(message), &mut scratch).decide(TableId(0)));
                }
            });
        });
        for (name, mut run) in engines(case, &records) {
            group.bench_function(name, |bencher| bencher.iter(&mut run));
        }
    }
}

criterion_group!(benches, jit);
criterion_main!(benches);
