//! Checks that the memory of a decision is bounded by the size of its message. A counting global
//! allocator measures the peak while a message is parsed and decided. The peak must be at most the
//! message size times a constant. Values that the rules build have limits of their own.

#![allow(unsafe_code, reason = "a global allocator can be written no other way")]

use rulec::history::MemoryStore;
use rulec::{Compiler, LiveRules, Rules};
use rulec_base::json;
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

struct CountingAllocator;

thread_local! {
    /// Number of bytes that this thread has allocated now, and the peak of this number.
    static HELD_AND_PEAK_BYTES: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn add_held_bytes(bytes: isize) {
    // The thread-local counter may already be destroyed while its thread ends.
    let _ = HELD_AND_PEAK_BYTES.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: every call is forwarded to the system allocator, and counting does not allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add_held_bytes(layout.size() as isize);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add_held_bytes(-(layout.size() as isize));
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // If the block cannot grow in place, the old and the new block exist together for a moment.
        add_held_bytes(size as isize);
        add_held_bytes(-(layout.size() as isize));
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns the peak number of bytes that `work` adds to the bytes allocated before.
fn peak_held_bytes<T>(work: impl FnOnce() -> T) -> usize {
    let (before, _) = HELD_AND_PEAK_BYTES.get();
    HELD_AND_PEAK_BYTES.set((before, before));
    let made = black_box(work());
    let (_, most) = HELD_AND_PEAK_BYTES.get();
    drop(made);
    (most - before) as usize
}

/// Returns a message of at most `bytes` bytes, whose list `l` repeats one element.
fn build_message(bytes: usize, open: &str, element: impl Fn(usize) -> String, close: &str) -> String {
    let mut text = format!("{{\"text\":\"a\",\"l\":{open}");
    for at in 0.. {
        let element = element(at);
        if text.len() + element.len() + close.len() + 2 > bytes {
            break;
        }
        if at > 0 {
            text.push(',');
        }
        text.push_str(&element);
    }
    text + close + "}"
}

#[test]
fn a_message_takes_a_factor_of_its_bytes() {
    /// Maximum ratio of memory to message size, as promised in docs/limits.md.
    const MAX_BYTES_PER_MESSAGE_BYTE: f64 = 48.0;
    let one = |element: &'static str| move |_| element.to_owned();
    let objects = json::MAX_MESSAGE_OBJECTS - 1;
    let worst = move |at| if at < objects { "{\"\":1}" } else { "1" }.to_owned();
    let bytes = json::MAX_MESSAGE_BYTES;
    let mut wrong = Vec::new();
    let rules =
        "input { text: string\n l: any }\nroute r when (l as list)[0] == 3 or (l as dict)[text] == 3 -> h";
    let rules = Rules::from_text(rules).unwrap_or_else(|error| panic!("{}", error.render()));
    rules.decide_line(b"{}").expect("it is JSON");
    for (name, text) in [
        ("numbers", build_message(bytes, "[", one("1"), "]")),
        // While a list grows, its old and new buffers exist at the same time.
        ("grown numbers", build_message((9 << 20) + 100, "[", one("1"), "]")),
        ("texts", build_message(bytes, "[", one("\"\""), "]")),
        ("lists", build_message(bytes, "[", one("[1]"), "]")),
        ("objects", build_message(bytes, "[", worst, "]")),
        ("keys", build_message(bytes, "{", |at| format!("\"{at:x}\":1"), "}")),
        ("one text", format!("{{\"l\":\"{}\"}}", "a".repeat(bytes - 8))),
    ] {
        assert!(text.len() <= bytes);
        let tree = peak_held_bytes(|| json::parse_object(&text).expect("it is JSON"));
        let line = peak_held_bytes(|| rules.decide_line(text.as_bytes()).expect("it is JSON"));
        for (how, held) in [("tree", tree), ("line", line)] {
            let factor = held as f64 / text.len() as f64;
            println!("{name:14} {how} {factor:5.1}");
            if factor > MAX_BYTES_PER_MESSAGE_BYTE {
                wrong.push(format!("{name}, read as a {how}: {factor:.1} times its bytes"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Former bug: a message with two million objects of one key each took 1.6 GB.
#[test]
fn a_message_of_small_objects_is_refused_alike_however_it_is_read() {
    let element = |_: usize| "{\"\":1}".to_owned();
    let text = build_message(json::MAX_MESSAGE_BYTES, "[", element, "]");
    let rules = Rules::from_text("route r when text == \"b\" -> h").expect("it compiles");
    let expected = json::parse_object(&text).expect_err("they are too many");
    assert_eq!((expected.kind().code().as_str(), expected.path()), ("E0608", "l[499999]"));
    assert_eq!(text.as_bytes()[expected.offset()], b'"');
    assert!(peak_held_bytes(|| json::parse_object(&text).map(drop).expect_err("too many")) < 600 << 20);
    assert_eq!(rules.decide_line(text.as_bytes()).map(drop), Err(expected));
    // Braces inside strings do not count as objects.
    let braces = format!("{{\"text\":\"{}\"}}", "{".repeat(4 << 20));
    rules.decide_line(braces.as_bytes()).expect("it has one object");
}

/// Former bug: a condition used as a value was evaluated both for true and for false. The results
/// for an element were not cached, so each nesting level doubled the work.
#[test]
fn conditions_as_values_take_work_in_proportion_to_their_depth() {
    let line = serde_json::json!({ "l": vec!["a".repeat(4_000); 1_000] }).to_string();
    let held = |depth: usize| {
        let inner = (0..depth)
            .fold("lower(x) == \"b\"".to_owned(), |inner, _| format!("[{inner} and x != \"c\"][0]"));
        let rules = Rules::from_text(&format!("route r when any x in l: {inner} -> h")).expect("it compiles");
        rules.decide_line(b"{}").expect("it is JSON");
        peak_held_bytes(|| rules.decide_line(line.as_bytes()).expect("it is JSON"))
    };
    let (few, many) = (held(3), held(8));
    assert!(few > 8_000_000, "{few} bytes: nothing was built");
    assert!(many < 2 * few, "{many} bytes eight deep, {few} three deep");
}

/// Former bug: each inserted or replaced route built an automaton for flow patterns, even without
/// flows. That took half the time of an edit.
#[test]
fn an_edit_of_a_route_builds_nothing_for_flows_that_are_not_there() {
    let rules = LiveRules::from_text(Compiler::new(), "input { n: int }\ndefault -> h").expect("it compiles");
    rules.insert("route warm when n == 0 -> h").expect("it fits");
    let held = peak_held_bytes(|| rules.insert("route a when n == 1 -> h").expect("it fits"));
    println!("{held} bytes");
    assert!(held < 40_000, "{held} bytes");
}

/// Former bug: `any` and `all` used as values were evaluated once for true and once for false,
/// including nested quantifiers. Each nesting level doubled the work.
#[test]
fn quantifiers_as_values_take_work_in_proportion_to_their_depth() {
    /// Length of the text. The thread does not retain this much memory for its next decision.
    const LETTER_COUNT: usize = 1 << 20;
    let held = |depth: usize, open: &str, close: &str| {
        let inner = (1..=depth).rev().fold("lower(x0 as string) == \"b\"".to_owned(), |inner, at| {
            let quantifier = if at % 2 == 0 { "any" } else { "all" };
            // The innermost element is the text itself.
            let inner = inner.replace("x0", &format!("x{at}"));
            format!("{open}{quantifier} x{at} in (x{} as list<any>): {inner}{close}", at - 1)
        });
        let condition = inner.replace("(x0 as list<any>)", "ctx.l");
        let rules = Rules::from_text(&format!("route r when {condition} -> h")).expect("it compiles");
        let list =
            (0..depth).fold(format!("\"{}\"", "A".repeat(LETTER_COUNT)), |list, _| format!("[{list}]"));
        rules.decide_line(b"{}").expect("it is JSON");
        let line = format!("{{\"ctx\":{{\"l\":{list}}}}}");
        peak_held_bytes(|| assert_eq!(rules.decide_line(line.as_bytes()).expect("it is JSON").exceeded(), []))
    };
    for (open, close) in [("[", "][0]"), ("[not (", ")][0]"), ("(if [", "][0] then 1 else 2) == 1")] {
        let (few, many) = (held(3, open, close), held(10, open, close));
        assert!(few >= LETTER_COUNT, "{few} bytes: nothing was built");
        assert!(many < few + 8 * LETTER_COUNT, "{open}: {many} bytes ten deep, {few} three deep");
    }
}

/// A million keys with 50 messages each must fit into 4 GB: 80 bytes a message. `RULEC_KEYS` sets
/// the number of keys.
#[test]
fn kept_messages_take_little_memory() {
    const MESSAGES: usize = 50;
    let keys: usize = std::env::var("RULEC_KEYS").ok().and_then(|text| text.parse().ok()).unwrap_or(500);
    let rules = Rules::from_text(
        "input { tool: string, amount: number, user: string, now: datetime }
         history by user keep 30d
         route over when (sum p.amount for p in history: p.tool == tool) > 1_000 -> ask
         route again when previous.decision.target == \"ask\" -> ask
         default -> run",
    )
    .expect("they compile");
    // Keys are spread over 64 shards by a hash that differs in each process. With room for twice as
    // many keys, one run in six would overfill a shard.
    let store = MemoryStore::new(8 * keys).unpacked(64 * MESSAGES);
    let record_keys = |first: usize, end: usize| {
        let (before, _) = HELD_AND_PEAK_BYTES.get();
        for key in first..end {
            let user = format!("user-{key:08}");
            for at in 0..MESSAGES {
                let tool = ["search", "read_file", "send_email", "pay"][at * 7 % 4];
                let amount = (at * key % 1_000) as f64 + 0.5;
                let now = format!("2026-01-31T12:{at:02}:{:02}Z", key % 60);
                let message = json!({"tool": tool, "amount": amount, "user": user, "now": now});
                let decision = rules.decide(&message);
                rules.record(&store, &message, &decision).expect("it is recorded");
            }
        }
        let (after, _) = HELD_AND_PEAK_BYTES.get();
        (after - before) as usize
    };
    // The messages of the first keys also pay for the messages that are not packed: their number
    // does not grow with the keys.
    record_keys(0, keys / 2);
    let held = record_keys(keys / 2, keys) / (keys.div_ceil(2) * MESSAGES);
    println!("{keys} keys: {held} more bytes a message, with its share of the key");
    assert_eq!(store.key_count(), keys);
    assert!(held < 80, "{held} bytes");
}
