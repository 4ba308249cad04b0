//! Intel's Hyperscan (libhs 5) as a text scanner, and as the scanner of the index prototype.
//! Hyperscan is a C++ library, so this module needs the feature `hyperscan`. Its only purpose here
//! is to show how fast a scan can be.

use super::Engine;
use super::keyed::{Keyed, LiteralScan};
use super::lines::KeyedLines;
use crate::workload::Workload;
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;

/// The functions of `hs.h` that are used.
mod hs {
    use super::*;

    #[repr(C)]
    pub struct CompileError {
        pub message: *mut c_char,
        pub expression: c_int,
    }

    pub const MODE_BLOCK: c_uint = 1;
    pub const FLAG_CASELESS: c_uint = 1;
    /// Flag of a literal: a scan reports the literal at most once.
    pub const FLAG_SINGLEMATCH: c_uint = 8;

    pub type OnEvent = extern "C" fn(c_uint, c_ulonglong, c_ulonglong, c_uint, *mut c_void) -> c_int;

    unsafe extern "C" {
        pub fn hs_compile_lit_multi(
            expressions: *const *const c_char,
            flags: *const c_uint,
            ids: *const c_uint,
            lens: *const usize,
            elements: c_uint,
            mode: c_uint,
            platform: *const c_void,
            db: *mut *mut c_void,
            error: *mut *mut CompileError,
        ) -> c_int;
        pub fn hs_free_compile_error(error: *mut CompileError) -> c_int;
        pub fn hs_alloc_scratch(db: *const c_void, scratch: *mut *mut c_void) -> c_int;
        pub fn hs_scan(
            db: *const c_void,
            data: *const c_char,
            length: c_uint,
            flags: c_uint,
            scratch: *mut c_void,
            on_event: OnEvent,
            context: *mut c_void,
        ) -> c_int;
        pub fn hs_free_scratch(scratch: *mut c_void) -> c_int;
        pub fn hs_free_database(db: *mut c_void) -> c_int;
    }
}

/// A compiled set of literals, with the memory for a scan.
pub struct Database {
    db: *mut c_void,
    scratch: *mut c_void,
}

pub fn build(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(Keyed::new(workload, |literals| Database::new(literals, false))?))
}

/// Builds the index prototype that scans texts with Hyperscan and decides lines of JSON.
pub fn build_lines(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(KeyedLines(Keyed::new(workload, |literals| Database::new(literals, false))?)))
}

impl Database {
    /// Compiles the literals. If `ignoring_case` is set, capital and small letters count as equal.
    pub fn new(literals: &[String], ignoring_case: bool) -> Result<Database, String> {
        let pointers: Vec<*const c_char> = literals.iter().map(|word| word.as_ptr().cast()).collect();
        let lengths: Vec<usize> = literals.iter().map(String::len).collect();
        let case = if ignoring_case { hs::FLAG_CASELESS } else { 0 };
        let flags = vec![hs::FLAG_SINGLEMATCH | case; literals.len()];
        let ids: Vec<c_uint> = (0..literals.len() as c_uint).collect();
        let mut database = Database { db: ptr::null_mut(), scratch: ptr::null_mut() };
        let mut error: *mut hs::CompileError = ptr::null_mut();
        // SAFETY: all arrays have `literals.len()` elements and outlive the call, which copies
        // them.
        let code = unsafe {
            hs::hs_compile_lit_multi(
                pointers.as_ptr(),
                flags.as_ptr(),
                ids.as_ptr(),
                lengths.as_ptr(),
                literals.len() as c_uint,
                hs::MODE_BLOCK,
                ptr::null(),
                &mut database.db,
                &mut error,
            )
        };
        if code != 0 {
            // SAFETY: on failure the library returns an error with a message, which is freed once.
            let message = unsafe {
                let message = CStr::from_ptr((*error).message).to_string_lossy().into_owned();
                hs::hs_free_compile_error(error);
                message
            };
            return Err(message);
        }
        // SAFETY: the database is valid, and the scratch pointer is null, as a first allocation
        // requires.
        match unsafe { hs::hs_alloc_scratch(database.db, &mut database.scratch) } {
            0 => Ok(database),
            code => Err(format!("no scratch memory (code {code})")),
        }
    }
}

extern "C" fn on_event(
    id: c_uint,
    _from: c_ulonglong,
    _to: c_ulonglong,
    _flags: c_uint,
    context: *mut c_void,
) -> c_int {
    // SAFETY: `scan` passes a pointer to its callback, which lives until the scan returns.
    let hit = unsafe { &mut *context.cast::<&mut dyn FnMut(usize)>() };
    hit(id as usize);
    0
}

impl LiteralScan for Database {
    fn scan(&self, text: &[u8], mut hit: &mut dyn FnMut(usize)) {
        let context: *mut &mut dyn FnMut(usize) = &mut hit;
        // SAFETY: the length matches the text, and only this thread uses the database and its
        // scratch.
        unsafe {
            hs::hs_scan(
                self.db,
                text.as_ptr().cast(),
                text.len() as c_uint,
                0,
                self.scratch,
                on_event,
                context.cast(),
            );
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: the library allocated both pointers, or they are null, which it accepts.
        unsafe {
            hs::hs_free_scratch(self.scratch);
            hs::hs_free_database(self.db);
        }
    }
}
