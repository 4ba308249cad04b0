//! Checks that no engine reads beyond the end of a text. Each byte buffer ends at a page boundary,
//! and the next page is unreadable, so that a read past the end terminates the process.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "a global allocator can be written no other way")]

#[path = "support/engines.rs"]
mod engines;

use engines::COLUMNS;
use rulec::Rules;
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;
use std::ptr::null_mut;

const PAGE_BYTES: usize = 4096;

/// Returns the size of the pages that hold `size` bytes and one guard page.
fn page_count(size: usize) -> usize {
    size.next_multiple_of(PAGE_BYTES) + PAGE_BYTES
}

struct FenceAllocator;

/// True for texts and other byte buffers of at least 16 bytes. No code reads shorter buffers
/// several bytes at a time.
fn is_fenced(layout: Layout) -> bool {
    layout.align() == 1 && layout.size() >= 16
}

// SAFETY: each fenced allocation has its own pages, large enough, until it is freed. The system
// allocator serves all other allocations.
unsafe impl GlobalAlloc for FenceAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_fenced(layout) {
            // SAFETY: the caller upholds the contract of `alloc`.
            return unsafe { System.alloc(layout) };
        }
        let (length, rights) = (page_count(layout.size()), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the pages are new and not shared. The last page is made unreadable, and the
        // returned bytes end where that page begins.
        unsafe {
            let start =
                libc::mmap(null_mut(), length, rights, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
            if start == libc::MAP_FAILED {
                return null_mut();
            }
            let fence = start.cast::<u8>().add(length - PAGE_BYTES);
            if libc::mprotect(fence.cast(), PAGE_BYTES, libc::PROT_NONE) != 0 {
                return null_mut();
            }
            fence.sub(layout.size())
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // `is_fenced` depends only on the layout, so it returns the same result as in `alloc`.
        unsafe {
            if !is_fenced(layout) {
                return System.dealloc(pointer, layout);
            }
            let length = page_count(layout.size());
            libc::munmap(pointer.add(layout.size()).add(PAGE_BYTES).sub(length).cast(), length);
        }
    }
}

#[global_allocator]
static ALLOCATOR: FenceAllocator = FenceAllocator;

const WORDS: [&str; 6] =
    ["q", "ab", "Kiosk", "sixteen bytes so", "查订单ab", "thirty-two bytes of text, so many"];

/// Returns routes that search the text with every operator.
fn compile_rules() -> Rules {
    let tests = WORDS.iter().flat_map(|word| {
        [
            format!("text contains \"{word}\" and n == 3"),
            format!("text contains \"{word}\" ignoring case and n == 3"),
            format!("text contains word \"{word}\""),
            format!("text starts_with \"{word}\" and n == 4"),
            format!("text ends_with \"{word}\" ignoring case and n == 4"),
            format!("text == \"{word}\" or text == other"),
            format!("text like \"*{word}?\" and n == 4"),
            format!("text matches r\"{word}[0-9]+\""),
            format!("text contains all [\"{word}\", \"no such\"]"),
            format!("text contains other and n == 5 and other == \"{word}\""),
        ]
    });
    let routes: Vec<String> =
        tests.enumerate().map(|(at, test)| format!("route r{at} when {test} -> h")).collect();
    Rules::from_text(&routes.join("\n")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn no_engine_reads_behind_a_text() {
    let rules = compile_rules();
    let columns: Vec<Rules> = COLUMNS.iter().map(|column| column.compile(&rules)).collect();
    let mut chosen = BTreeSet::new();
    for word in WORDS {
        for (before, n) in (0..50).zip([3, 4, 5].into_iter().cycle()) {
            let whole = format!("{}{word}9", ".".repeat(before));
            for end in (0..=whole.len()).rev().take(word.len() + 2).filter(|end| whole.is_char_boundary(*end))
            {
                let message = json!({ "text": whole[..end].to_owned(), "other": word.to_owned(), "n": n });
                let line = message.to_string().into_boxed_str();
                let answers = columns.iter().map(|rules| {
                    let answer = rules.decide(&message).chosen().map(str::to_owned);
                    let by_line = rules.decide_line(line.as_bytes()).expect("it is JSON");
                    assert_eq!(by_line.chosen(), answer.as_deref(), "{message}");
                    let by_record = rules.session().choose(&rules.prepare(&message)).chosen.is_some();
                    assert_eq!(by_record, answer.is_some(), "{message}");
                    answer
                });
                let mut answers: Vec<Option<String>> = answers.collect();
                assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?} {message}");
                chosen.extend(answers.swap_remove(0));
            }
        }
    }
    assert!(chosen.len() > 20, "{chosen:?}");
}
