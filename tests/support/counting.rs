//! A global allocator that counts the bytes that a test program requests. The counts do not depend
//! on the machine or its load.

#![allow(unsafe_code, reason = "a global allocator can be written no other way")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct CountingAllocator;

/// Number of bytes that all threads requested. A program that uses it has only one test, so that no
/// other test adds to the count.
static ALLOCATED_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded to the system allocator, and counting does not allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Only the growth counts; the old size was counted before.
        ALLOCATED_BYTES.fetch_add(size.saturating_sub(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns the number of bytes that all threads have requested so far.
pub fn requested_bytes() -> usize {
    ALLOCATED_BYTES.load(Ordering::Relaxed)
}
