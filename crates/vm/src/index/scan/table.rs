//! The table of literals by gram: open addressing over small slots, and records that hold the
//! literals' bytes, so that a candidate costs one cache line for the slot and one for the record.

use super::gram::{Level, load};

/// No record.
const NONE: u32 = u32::MAX;
/// As many literals of one gram go into one entry before longer ones are keyed by more bytes.
const CROWDED: u32 = 4;
/// The mark of a crowded entry: longer literals of its gram are found one level down.
const DEEPER: u32 = 0x10;
/// The part of `Slot::state` that counts the literals, up to 15.
const COUNT: u32 = 0x0f;

/// One gram: the upper 24 bits of its hash above the marks and the count, and its newest record.
#[derive(Clone, Copy, Debug)]
struct Slot {
    state: u32,
    record: u32,
}

const EMPTY: Slot = Slot { state: 0, record: NONE };

/// The grams by which a literal is found, one behind the other.
#[derive(Clone, Copy)]
pub struct Grams {
    pub level: Level,
    /// The offset of the first.
    pub offset: u16,
    pub count: usize,
}

/// The place where a literal would go.
pub struct Place {
    level: Level,
    hash: u64,
    pub crowd: u32,
}

/// The literals by gram.
pub struct Table {
    /// More than there are literals, an eighth of them empty.
    slots: Vec<Slot>,
    /// Of each literal its length, the bytes in words of eight, the last of which overlaps the one before where the
    /// length is no multiple of eight, and a record for each of its grams: `next | number << 32`, and
    /// `length's place | offset << 32`.
    records: Vec<u64>,
    /// The number of records that went where most others are.
    crowded: usize,
}

impl Table {
    /// The number to which [`Place::crowd`] counts.
    pub const MOST_CROWDED: u32 = COUNT;

    /// A table with room for so many grams.
    pub fn new(grams: usize) -> Table {
        let slots = (grams.saturating_mul(8) / 7 + 1).next_power_of_two().max(64);
        Table { slots: vec![EMPTY; slots], records: Vec::new(), crowded: 0 }
    }

    /// The number of records whose gram [`Table::MOST_CROWDED`] others have.
    pub fn crowded(&self) -> usize {
        self.crowded
    }

    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// The slot of a hash, or the empty one where it would go.
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

    /// The place of the literal whose bytes from its gram on are `rest`.
    pub fn place(&self, mut level: Level, rest: &[u8]) -> Option<Place> {
        let mut hash = level.hash(rest)?;
        loop {
            let crowd = self.find(hash).1.state & COUNT;
            if crowd >= CROWDED
                && let Some(below) = level.deeper()
                && let Some(hash_below) = below.hash(rest)
            {
                (level, hash) = (below, hash_below);
            } else {
                return Some(Place { level, hash, crowd });
            }
        }
    }

    /// Adds a literal that has `count` grams of a level from `offset` on, and calls with the hash of each. Nothing
    /// is added when the table can hold no more.
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
            let Some(hash) = level.hash(rest) else { return };
            let record = self.records.len() as u32;
            self.records.extend([u64::from(number) << 32, u64::from(length_at) | (offset as u64) << 32]);
            self.link(level, rest, record);
            each(hash);
        }
    }

    /// Puts a record under its gram, and marks the crowded entries above it.
    fn link(&mut self, base: Level, rest: &[u8], record: u32) {
        let Some(place) = self.place(base, rest) else { return };
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

    /// Reports every literal whose gram at a base level is at `at` in the text.
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
                return;
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

/// True when a record's words are the bytes found at `start` of the text.
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
