//! The memory of a decision is bounded by the size of its message: the most that is held at once while a message is
//! read and decided, by an allocator that counts, is a factor of the message's bytes. What the rules build
//! themselves has limits of its own.

#![allow(unsafe_code, reason = "a global allocator can be written no other way")]

use rulec::Rules;
use rulec::internals::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

struct Counting;

thread_local! {
    /// The bytes held by this thread, and the most so far.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn hold(bytes: isize) {
    // A thread that is ending has no counter any more.
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: every call is passed on to the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        hold(layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Where it cannot grow in its place, both are held for a moment.
        hold(size as isize);
        hold(-(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes held at once by work, beside those held before.
fn most_held<T>(work: impl FnOnce() -> T) -> usize {
    let (before, _) = HELD.get();
    HELD.set((before, before));
    let made = black_box(work());
    let (_, most) = HELD.get();
    drop(made);
    (most - before) as usize
}

/// A message of so many bytes at most whose field `l` is made of one element again and again.
fn message(bytes: usize, open: &str, element: impl Fn(usize) -> String, close: &str) -> String {
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
    let messages = |bytes: usize| {
        [
            ("numbers", message(bytes, "[", |_| "1".to_owned(), "]")),
            ("texts", message(bytes, "[", |_| "\"\"".to_owned(), "]")),
            ("letters", message(bytes, "[", |_| "\"a\"".to_owned(), "]")),
            ("lists", message(bytes, "[", |_| "[]".to_owned(), "]")),
            ("lists of one", message(bytes, "[", |_| "[1]".to_owned(), "]")),
            ("objects", message(bytes, "[", |_| "{}".to_owned(), "]")),
            ("objects of one", message(bytes, "[", |_| "{\"\":1}".to_owned(), "]")),
            ("keys", message(bytes, "{", |at| format!("\"{at:x}\":1"), "}")),
            ("one text", message(bytes, "", |at| if at == 0 { format!("\"{}\"", "a".repeat(bytes - 40)) } else { "x".repeat(bytes) }, "")),
        ]
    };
    let rules = Rules::from_text("route r when len(l) > 3 or l has_key \"x\" or text contains \"b\" -> h").unwrap_or_else(|error| panic!("{}", error.render()));
    rules.decide_line(b"{}").expect("it is JSON");
    for bytes in [(1 << 20), (1 << 20) + (1 << 19), (1 << 21)] {
        for (name, text) in messages(bytes) {
            let tree = most_held(|| json::parse_object(&text).unwrap_or_else(|error| panic!("{name}: {error}")));
            let line = most_held(|| rules.decide_line(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}")));
            println!("{name:16} {:9} tree {:6.1} line {:6.1}", text.len(), tree as f64 / text.len() as f64, line as f64 / text.len() as f64);
        }
    }
}
