//! Measures rules that read a history of earlier messages, and the same rules without a history.
//! The variants are timed alternately in one process, over a stream of messages with different
//! keys.
//!
//! `cargo bench --bench history`, or with other numbers of rules and earlier messages
//! `cargo bench --bench history -- 1000 100`.

use rulec::history::MemoryStore;
use rulec::{Rules, Session};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of keys for which earlier messages are recorded before the timing starts.
const KEYS: usize = 20;
/// Number of timed decisions of each variant.
const DECISIONS: usize = 2_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs this bench only as a smoke test, without timing.
    let timed = args.iter().any(|arg| arg == "--bench");
    let numbers: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let sizes: &[(usize, usize)] = match (numbers.as_slice(), timed) {
        ([rules, past, ..], _) => &[(*rules, *past)],
        (_, true) => &[(1, 1_000), (10, 1_000), (100, 1_000), (1_000, 1_000), (10_000, 1_000), (10_000, 10)],
        (_, false) => &[(20, 10)],
    };
    println!("rules past | microseconds: without history, with history, ratio, decide and record");
    sizes.iter().for_each(|(rules, past)| measure(*rules, *past));
}

/// Returns rules for the calls of tools. Each rule names a tool, and limits it by a count, a sum or
/// an earlier call. Without a history, the rule reads a field of the message instead.
fn source(rules: usize, with_history: bool) -> String {
    let mut source = String::from(
        "input { tool: string, amount: number, user: string, recent: int, total: number, now: datetime }\n",
    );
    if with_history {
        source.push_str("history by user keep 30d at most 100_000\n");
    }
    for rule in 0..rules {
        let tool = format!("tool_{}", rule / 3);
        let past = match (rule % 3, with_history) {
            (0, true) => "(count p in history within 1h: p.tool == tool) >= 100000".to_owned(),
            (1, true) => format!("(sum p.amount for p in history within 1d: p.tool == \"{tool}\") > 1e12"),
            (_, true) => format!("(last p in history: p.tool == \"{tool}\").amount > 1e12"),
            (0, false) => "recent >= 100000".to_owned(),
            (1, false) => "total > 1e12".to_owned(),
            (_, false) => "total > 2e12".to_owned(),
        };
        let _ = writeln!(source, "route r{rule} when tool == \"{tool}\" and {past} -> deny");
    }
    source.push_str("default -> run\n");
    source
}

/// Returns the message for a call of a tool, with the given number. Successive calls are ten
/// seconds apart.
fn call(number: usize, tools: usize) -> Json {
    let (minute, second) = (number / 6, number % 6 * 10);
    let (day, hour) = (1 + minute / 1_440, minute / 60 % 24);
    json!({
        "tool": format!("tool_{}", number * 7 % tools),
        "amount": 12.5 + (number % 100) as f64,
        "user": format!("user {}", number % KEYS),
        "recent": number % 50,
        "total": number % 5_000,
        "now": format!("2026-01-{day:02}T{hour:02}:{:02}:{second:02}Z", minute % 60),
    })
}

fn measure(rules: usize, past: usize) {
    let tools = rules.div_ceil(3);
    let mut sessions = [false, true].map(|with_history| {
        let rules = Rules::from_text(&source(rules, with_history)).expect("the rules compile");
        rules.session().with_history(Arc::new(MemoryStore::default()))
    });
    let [without, with] = &mut sessions;
    for number in 0..past * KEYS {
        with.observe(&call(number, tools)).expect("it is recorded");
    }
    let calls: Vec<Json> = (past * KEYS..past * KEYS + DECISIONS).map(|number| call(number, tools)).collect();
    let mut times: [Vec<Duration>; 3] = Default::default();
    let mut decide = |session: &mut Session, call: &Json, slot: usize, records: bool| {
        let start = Instant::now();
        let decision = match (slot, records) {
            (0, _) => session.decide(call),
            (_, false) => session.decide_with_history(call).expect("a store"),
            (_, true) => session.decide_and_record(call).expect("it is recorded"),
        };
        black_box(decision);
        times[slot].push(start.elapsed());
    };
    for call in &calls {
        decide(without, call, 0, false);
        decide(with, call, 1, false);
        decide(with, call, 2, true);
    }
    let [without, with, recorded] = times.map(median);
    println!("{rules:>6} {past:>5} | {without:8.2} {with:8.2} {:6.2} {recorded:8.2}", with / without);
}

/// Returns the median in microseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64 / 1000.0
}
