//! Checks that a decision without arguments allocates no memory after the first few decisions of
//! its thread. Both the VM and the public API promise this. A counting global allocator checks the
//! promise.

#![allow(unsafe_code, reason = "a global allocator can be written no other way")]

#[path = "support/engines.rs"]
mod engines;

use engines::{COLUMNS, Column, REFERENCE};
use rulec::{PreparedMessage, Rules};
use serde_json::{Value as Json, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::hint::black_box;

struct CountingAllocator;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count_allocation() {
    // The thread-local counter may already be destroyed while its thread ends.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is forwarded to the system allocator, and counting does not allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocation();
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_allocation();
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const INPUT_DECLARATION: &str = r#"
input {
  text: string
  ctx: {
    n: int
    name?: string
    tags?: list<string>
    items?: list<{ price: number, name?: string }>
    at?: datetime
    user?: { role: string @private, age?: int }
  }
}
"#;

/// Conditions to test. Each gets its own route, so that every condition is evaluated.
const CONDITIONS: &[&str] = &[
    r#"text contains "no such text""#,
    r#"text contains any ["zzz", "yyy", "xxx", "www", "vvv", "uuu"]"#,
    r#"text contains word "zzz" ignoring case"#,
    r#"text contains word any ["zzz", "yyy", "xxx", "www", "vvv"] ignoring case"#,
    r#"text starts_with "zzz" ignoring case and ctx.n > 0"#,
    r#"text like "*zzz?" ignoring case"#,
    r#"text matches r"(?i)\bzzz(s|es)?\b""#,
    r#"text matches any [r"^\w+@\w+$", r"z{3}\d+"]"#,
    r#"text == "zzz" ignoring case"#,
    r#"text in ["zzz", "yyy"] ignoring case"#,
    r#"ctx.name ends_with "zzz" ignoring case"#,
    r#"ctx.name contains ctx.user.role ignoring case and ctx.n == 0"#,
    r#"ctx.n in 100..=200 or ctx.n * 2 + 1 > 1000"#,
    r#"ctx.user.age ?? 3 > 100"#,
    r#"ctx.missing_not_read is missing and ctx.n > 99"#,
    r#"ctx.tags contains "zzz""#,
    r#"len(ctx.tags) > 9 or len(text) > 1000"#,
    r#"any tag in ctx.tags: tag == "zzz" ignoring case"#,
    r#"all item in ctx.items: item.price > 1000"#,
    r#"(count item in ctx.items: item.price > 5 and item.name is present) > 7"#,
    r#"lower(trim(ctx.name)) == "zzz""#,
    r#"upper(text) contains "ZZZ""#,
    r#"similarity(ctx.name, "zzzzzzzz") >= 0.9"#,
    r#"bucket(ctx.name) in 100..200"#,
    r#"hour(ctx.at) > 99"#,
];

fn rule_text(settings: &str, input: bool) -> String {
    let mut source = String::from(settings);
    if input {
        source.push_str(INPUT_DECLARATION);
    }
    for (at, condition) in CONDITIONS.iter().enumerate() {
        if input && condition.contains("missing_not_read") {
            continue;
        }
        source.push_str(&format!("route r{at} when {condition} -> answer\n"));
    }
    source.push_str("route jump when text contains \"jump\" -> goto inner\n");
    source.push_str("route found when text contains \"found\" -> answer { team: \"a\" }\n");
    source.push_str("default -> answer\n");
    source.push_str("table inner { route deep when text contains word \"deep\" -> answer  route on when ctx.n < 0 -> goto last }\n");
    source.push_str("table last { default -> answer }\n");
    source
}

fn sample_messages() -> Vec<Json> {
    let ctx = json!({
        "n": 4, "name": "Größe 文件", "tags": ["a", "b"], "at": "2024-05-01T10:00:00Z",
        "items": [{"price": 3, "name": "x"}, {"price": 7.5}], "user": {"role": "admin", "age": 33},
    });
    vec![
        json!({"text": "nothing here holds", "ctx": ctx}),
        json!({"text": "to jump and go DEEP, deep", "ctx": ctx}),
        json!({"text": "to jump and come back, found", "ctx": ctx}),
        json!({"text": "ＦＵＬＬ width ﬁ 文件 found", "ctx": ctx}),
        json!({"text": "few fields", "ctx": {"n": -1}}),
    ]
}

/// Counts the allocations that `call` makes on this thread.
fn count_allocations(call: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    call();
    ALLOCATIONS.get() - before
}

fn check(settings: &str, input: bool, column: Column) {
    let source = rule_text(settings, input);
    let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let rules = column.compile(&rules);
    let messages = sample_messages();
    let records: Vec<_> = messages.iter().map(|message| rules.prepare(message)).collect();
    let decide = |message: &Json| drop(black_box(rules.decide(message)));
    for _ in 0..3 {
        messages.iter().for_each(decide);
        records.iter().for_each(|record| drop(rules.main().decide_prepared(record)));
    }
    let lines: Vec<String> = messages.iter().map(Json::to_string).collect();
    let session = RefCell::new(rules.session());
    let choose = |record: &PreparedMessage<'_>| drop(black_box(session.borrow_mut().choose(record)));
    let decide_held = |message: &Json| drop(black_box(session.borrow_mut().decide(message)));
    let decide_line = |line: &String| {
        let decided = session.borrow_mut().decide_line(line.as_bytes());
        drop(black_box(decided).expect("it is an object"));
    };
    for _ in 0..3 {
        records.iter().for_each(choose);
        messages.iter().for_each(decide_held);
        lines.iter().for_each(decide_line);
    }
    let context = || format!("{column:?}, settings {settings:?}, input {input}");
    for ((message, record), line) in messages.iter().zip(&records).zip(&lines) {
        assert_eq!(rules.decide(message).breaches(), [], "{}", context());
        assert_eq!(count_allocations(|| decide(message)), 0, "{message}: {}", context());
        let by_record = || drop(black_box(rules.main().decide_prepared(record)));
        assert_eq!(count_allocations(by_record), 0, "record of {message}: {}", context());
        assert_eq!(count_allocations(|| choose(record)), 0, "choice by a record of {message}: {}", context());
        assert_eq!(count_allocations(|| decide_held(message)), 0, "{message}, by a session: {}", context());
        assert_eq!(count_allocations(|| decide_line(line)), 0, "{line}, by a session: {}", context());
    }
}

#[test]
fn decisions_allocate_nothing() {
    for settings in
        ["", "settings { case: insensitive }\n", "settings { case: insensitive, normalize: nfkc }\n"]
    {
        for input in [false, true] {
            for &column in COLUMNS.iter().filter(|column| column.engine != REFERENCE.engine) {
                check(settings, input, column);
            }
        }
    }
}

#[test]
fn the_allocator_counts() {
    assert_eq!(count_allocations(|| drop(black_box(Box::new(1)))), 1);
}
