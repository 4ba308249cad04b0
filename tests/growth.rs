//! Compiling takes memory in proportion to the file, for every kind of statement and list.
//!
//! It counts the bytes that compiling asks the allocator for, with n and with 4n statements or elements:
//! the same on every machine, however busy. It catches what is copied, collected or written anew for each element.
//! It cannot catch a search from the front for each element, which allocates nothing: that is what
//! `benches/growth.sh` counts instructions for.

#![allow(unsafe_code, reason = "a global allocator can be written no other way")]

#[path = "support/growth.rs"]
mod growth;

use growth::{Comes, kinds};
use rulec::Compiler;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

/// The bytes asked for, by all threads: large sources are compiled on several. There is one test in this file.
static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // What grows is counted once.
        BYTES.fetch_add(size.saturating_sub(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes that compiling a source asks for.
fn bytes(name: &str, source: &str, comes: Comes) -> usize {
    let compiler = Compiler::new().allow_missing_functions();
    let before = BYTES.load(Ordering::Relaxed);
    let compiled = compiler.compile_text(source);
    let bytes = BYTES.load(Ordering::Relaxed) - before;
    let error = compiled.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let shown: String = error.chars().take(300).collect();
    assert_eq!(compiled.is_ok(), comes == Comes::Right, "{name}: {shown}");
    bytes
}

#[test]
fn compiling_takes_memory_in_proportion_to_the_file() {
    const FEW: usize = 60;
    /// Names are held against misspelt ones up to a bound, which so many reach.
    const FEW_WRONG: usize = 300;
    // What is made once for all compilations is made before.
    bytes("first", "route r when text matches r\"a\" -> h", Comes::Right);
    let mut wrong = Vec::new();
    for (name, source, comes) in kinds() {
        let n = if *comes == Comes::Right { FEW } else { FEW_WRONG };
        let (few, many) = (bytes(name, &source(n), *comes), bytes(name, &source(4 * n), *comes));
        // Training the classifier takes the product of intents and words: see docs/limits.md.
        if many > 6 * few && *name != "intent" {
            wrong.push(format!("{name}: {few} bytes, and {many} for four times as much"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
