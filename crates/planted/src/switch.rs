//! The switch of a program with planted faults: which of them are on. This text is no module here: it becomes the module `planted` of
//! the copy (`tree`).
//!
//! `RULEC_PLANTED` has the numbers of the faults that are on, between commas, or the name of a file to which the number of each fault
//! that is come to is added, once a process.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const MOST: u32 = 1 << 14;

/// A bit a fault: of those that are on once the variable was read, and before that, or where the file is written, of those that
/// were not come to yet. Most are off, and cost a look at the bit.
static BITS: [AtomicU64; MOST as usize / 64] = [const { AtomicU64::new(u64::MAX) }; MOST as usize / 64];
/// The file that is written, if one is; empty until the variable was read.
static FILE: OnceLock<Option<File>> = OnceLock::new();

fn place(number: u32) -> (&'static AtomicU64, u64) {
    let number = number % MOST;
    (&BITS[number as usize / 64], 1 << (number % 64))
}

/// True when the fault of that number is on.
#[inline]
pub fn on(number: u32) -> bool {
    let (bits, bit) = place(number);
    bits.load(Relaxed) & bit != 0 && asked(number)
}

#[cold]
fn asked(number: u32) -> bool {
    let file = FILE.get_or_init(|| begin(&env::var("RULEC_PLANTED").unwrap_or_default()));
    let (bits, bit) = place(number);
    let Some(mut file) = file.as_ref() else { return bits.load(Relaxed) & bit != 0 };
    if bits.fetch_and(!bit, Relaxed) & bit != 0 {
        // In one write, since other processes add to the file; without allocating, since some tests count that.
        let mut line = [b' '; 12];
        let _ = write!(&mut line[..11], "{number}");
        line[11] = b'\n';
        let _ = file.write_all(&line);
    }
    false
}

/// Reads the variable: sets the bits, or opens the file.
fn begin(variable: &str) -> Option<File> {
    let numbers: Option<Vec<u32>> =
        variable.split_terminator(',').map(|number| number.parse().ok()).collect();
    if numbers.is_none()
        && let Ok(file) = OpenOptions::new().create(true).append(true).open(variable)
    {
        return Some(file);
    }
    BITS.iter().for_each(|bits| bits.store(0, Relaxed));
    for number in numbers.into_iter().flatten() {
        let (bits, bit) = place(number);
        bits.fetch_or(bit, Relaxed);
    }
    None
}
