//! The hash table from grams to literals: open addressing over small slots, and records with the
//! literals' bytes. A candidate costs one cache line for the slot and one for the record.

use super::gram::{Level, load};
use rulec_base::broken_invariant;

/// Record index that means "no record".
const NONE: u32 = u32::MAX;
/// Number of literals from which an entry is crowded: further literals, if long enough, get longer
/// grams.
const CROWDED: u32 = 4;
/// Flag of a crowded entry: some literals with its gram are stored under longer grams, one level
/// deeper.
const DEEPER: u32 = 0x10;
/// Bits of `Slot::state` that count the literals of the entry, up to 15.
const COUNT: u32 = 0x0f;

/// Entry of the hash table for one gram. `state` holds the upper 24 bits of the gram's hash, the
/// flag and the count. `record` is the index of the newest record for the gram.
#[derive(Clone, Copy, Debug)]
struct Slot {
    state: u32,
    record: u32,
}

const EMPTY: Slot = Slot { state: 0, record: NONE };

/// The consecutive grams by which a literal is found.
#[derive(Clone, Copy)]
pub struct Grams {
    pub level: Level,
    /// Offset of the first gram in the literal.
    pub offset: u16,
    pub count: usize,
}

/// The entry of the hash table under which a literal is or would be stored.
pub struct GramEntry {
    level: Level,
    hash: u64,
    pub crowd: u32,
}

/// Hash table that finds literals by their grams.
pub struct Table {
    /// Entries of the hash table. Their number is a power of two, and at least an eighth of them is
    /// empty.
    slots: Vec<Slot>,
    /// For each literal: its length, its bytes in words of eight, and a record for each gram. If
    /// the length is no multiple of eight, the last word overlaps the word before it. A record has
    /// two words: `next | id << 32`, and `index | offset << 32`, where `index` is the literal's
    /// position in `records`.
    records: Vec<u64>,
    /// Number of records that were added to an entry whose count was already at the maximum.
    crowded: usize,
}

impl Table {
    /// Maximum value of [`GramEntry::crowd`].
    pub const MOST_CROWDED: u32 = COUNT;

    /// Creates a table for at most this number of grams.
    pub fn new(grams: usize) -> Table {
        let slots = (grams.saturating_mul(8) / 7 + 1).next_power_of_two().max(64);
        Table { slots: vec![EMPTY; slots], records: Vec::new(), crowded: 0 }
    }

    /// Returns the number of records that share their gram with at least [`Table::MOST_CROWDED`]
    /// others.
    pub fn crowded(&self) -> usize {
        self.crowded
    }

    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Returns the slot of a hash, or the empty slot where the hash would be inserted.
    #[inline(always)]
    fn find(&self, hash: u64) -> (usize, Slot) {
        let mask = self.slots.len() - 1;
        let mut index = hash as usize & mask;
        loop {
            let slot = self.slots[index];
            if slot.record == NONE || slot.state >> 8 == (hash >> 40) as u32 {
                return (index, slot);
            }
            index = (index + 1) & mask;
        }
    }

    /// Returns the entry for a literal that has the gram at the start of `rest`. `rest` is the
    /// literal from the gram on; `None` if it is too short.
    pub fn place(&self, mut level: Level, rest: &[u8]) -> Option<GramEntry> {
        let mut hash = level.hash(rest)?;
        loop {
            let crowd = self.find(hash).1.state & COUNT;
            if crowd >= CROWDED
                && let Some(below) = level.deeper()
                && let Some(hash_below) = below.hash(rest)
            {
                (level, hash) = (below, hash_below);
            } else {
                return Some(GramEntry { level, hash, crowd });
            }
        }
    }

    /// Adds a literal with `count` consecutive grams from `offset` on, and calls `each` with their
    /// hashes. Adds nothing if the table is full.
    pub fn insert(&mut self, literal: &[u8], number: u32, grams: Grams, mut each: impl FnMut(u64)) {
        let Grams { level, offset, count } = grams;
        let size = literal.len() / 8 + 3 + 2 * count;
        let Some(length_at) = u32::try_from(self.records.len()).ok().filter(|at| size < (NONE - at) as usize)
        else {
            return;
        };
        self.records.push(literal.len() as u64);
        self.records.extend(literal.chunks_exact(8).map(|word| load(word, 0)));
        if !literal.len().is_multiple_of(8) {
            self.records.push(load(literal, literal.len().saturating_sub(8)));
        }
        for offset in usize::from(offset)..usize::from(offset) + count {
            let rest = literal.get(offset..).unwrap_or_default();
            let Some(hash) = level.hash(rest) else {
                return broken_invariant!("a literal is long enough for its grams");
            };
            let record = self.records.len() as u32;
            self.records.extend([u64::from(number) << 32, u64::from(length_at) | (offset as u64) << 32]);
            self.link(level, rest, record);
            each(hash);
        }
    }

    /// Adds a record to the entry of its gram. Flags the crowded entries of its shorter grams.
    fn link(&mut self, base: Level, rest: &[u8], record: u32) {
        let Some(place) = self.place(base, rest) else {
            return broken_invariant!("a literal is long enough for its grams");
        };
        let mut level = base;
        while level != place.level
            && let Some(below) = level.deeper()
        {
            let (index, _) = self.find(level.hash(rest).unwrap_or_default());
            self.slots[index].state |= DEEPER;
            level = below;
        }
        let (index, slot) = self.find(place.hash);
        let count = (place.crowd + 1).min(COUNT);
        self.crowded += usize::from(place.crowd == COUNT);
        let state = (((place.hash >> 40) as u32) << 8) | (slot.state & DEEPER) | count;
        self.slots[index] = Slot { state, record };
        self.records[record as usize] |= u64::from(slot.record);
    }

    /// Calls `hit` for each literal that occurs in the text with its gram at `at`. `hash` is the
    /// hash of this gram.
    #[inline(always)]
    pub fn verify(&self, base: Level, hash: u64, text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        let (_, slot) = self.find(hash);
        self.walk(slot, text, at, hit);
        if slot.state & DEEPER != 0 {
            self.verify_below(base, text, at, hit);
        }
    }

    #[inline(never)]
    fn verify_below(&self, mut level: Level, text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        while let Some(below) = level.deeper()
            && let Some(hash) = below.hash(&text[at.min(text.len())..])
        {
            let (_, slot) = self.find(hash);
            self.walk(slot, text, at, hit);
            if slot.state & DEEPER == 0 {
                return;
            }
            level = below;
        }
    }

    #[inline(always)]
    fn walk(&self, slot: Slot, text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        let mut record = slot.record;
        while record != NONE {
            let Some(&[link, header]) =
                self.records.get(record as usize..).and_then(|rest| rest.first_chunk::<2>())
            else {
                return broken_invariant!("a link leads to a record");
            };
            let (length_at, offset) = (header as u32 as usize, (header >> 32) as usize);
            if let Some((length, words)) = self.records.get(length_at..).and_then(|rest| rest.split_first())
                && let Some(start) = at.checked_sub(offset)
                && let Some(found) = text.get(start..).and_then(|rest| rest.get(..*length as usize))
                && same(words, found, text, start)
            {
                hit((link >> 32) as u32, start);
            }
            record = link as u32;
        }
    }
}

/// True if a record's words equal the bytes found at `start` in the text.
#[inline(always)]
fn same(words: &[u64], found: &[u8], text: &[u8], start: usize) -> bool {
    let Some(last) = found.len().checked_sub(8) else {
        let bits = 8 * found.len() as u32;
        return words.first().is_some_and(|word| (word ^ load(text, start)) & ((1 << bits) - 1) == 0);
    };
    let full = found.len() / 8;
    for (word, index) in words.iter().zip(0..full) {
        if *word != load(found, index * 8) {
            return false;
        }
    }
    found.len().is_multiple_of(8) || words.get(full).is_some_and(|word| *word == load(found, last))
}
