//! The switch of a program with planted faults: which of them is on. This text is no module here: it becomes the module `planted` of
//! the copy (`tree`).
//!
//! `RULEC_PLANTED` is the number of the fault that is on, or the name of a file to which the number of each fault that is come to
//! is added, once a process.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

/// The variable was not looked at yet.
const UNREAD: u32 = u32::MAX;
/// None is on, and those that are come to are written down.
const WATCHED: u32 = u32::MAX - 1;
const MOST: usize = 1 << 14;

static CHOSEN: AtomicU32 = AtomicU32::new(UNREAD);
static SEEN: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];
static FILE: OnceLock<File> = OnceLock::new();

/// True when the fault of that number is on.
#[inline]
pub fn on(number: u32) -> bool {
    let chosen = CHOSEN.load(Relaxed);
    chosen == number || (chosen >= WATCHED && asked(number))
}

#[cold]
fn asked(number: u32) -> bool {
    if CHOSEN.load(Relaxed) == UNREAD {
        begin(&env::var("RULEC_PLANTED").unwrap_or_default());
    }
    let chosen = CHOSEN.load(Relaxed);
    if chosen == WATCHED && !SEEN[number as usize % MOST].swap(true, Relaxed) {
        // In one write, since other processes add to the file; without allocating, since some tests count that.
        let mut line = [b' '; 12];
        let _ = write!(&mut line[..11], "{number}");
        line[11] = b'\n';
        let _ = FILE.get().map(|mut file| file.write_all(&line));
    }
    chosen == number
}

fn begin(variable: &str) {
    let file = |name| OpenOptions::new().create(true).append(true).open(name);
    let chosen = match variable.parse() {
        Ok(chosen) => chosen,
        Err(_) => file(variable).map_or(0, |file| {
            let _ = FILE.set(file);
            WATCHED
        }),
    };
    CHOSEN.store(chosen, Relaxed);
}
