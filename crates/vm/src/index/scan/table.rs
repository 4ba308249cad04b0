//! The hash table from grams (short sequences of bytes) to the literals that contain them. It uses
//! open addressing over small slots. Records with the bytes of the literals are in a separate
//! vector. A candidate costs one cache line for the slot and one for the record.

use super::gram::{GramLevel, load_eight_bytes};
use rulec_base::broken_invariant;

/// Record index that means "no record".
const NO_RECORD: u32 = u32::MAX;
/// Number of literals from which an entry (a gram) is crowded. A further literal of a crowded entry
/// is stored under a longer gram instead, if the literal is long enough.
/// Compared with other values in benches/notes/constants.md.
const MIN_CROWDED_LITERALS: u32 = 4;
/// Flag of a crowded entry: some literals with this gram (byte sequence) are stored under longer
/// grams, at the next level.
const DEEPER_FLAG: u32 = 0x10;
/// Mask of the bits in `HashSlot::packed_state` that count the entry's literals, up to 15.
const COUNT_MASK: u32 = 0x0f;

/// Entry of the hash table for one gram. `packed_state` contains the upper 24 bits of the gram's
/// hash, [`DEEPER_FLAG`], and the number of the entry's literals. `last_record` is the index of the
/// record that was added last.
#[derive(Clone, Copy, Debug)]
struct HashSlot {
    packed_state: u32,
    last_record: u32,
}

const EMPTY_SLOT: HashSlot = HashSlot { packed_state: 0, last_record: NO_RECORD };

/// The entry of the hash table under which a literal is stored, or would be inserted. The level
/// (length class) and the hash of a gram (byte sequence) identify the entry.
pub struct GramEntry {
    level: GramLevel,
    hash: u64,
    /// Number of literals stored under the entry. [`GramTable::MAX_COUNTED_LITERALS`] means this
    /// number or more.
    pub capped_literal_count: u32,
}

/// Hash table from grams (byte sequences) to the literals that contain them.
pub struct GramTable {
    /// Entries of the hash table. Their number is a power of two, and at least one in eight entries
    /// is empty.
    slots: Vec<HashSlot>,
    /// The records of the literals, one after another. A record has two words, and after them the
    /// bytes of the literal in words of eight. If the length is no multiple of eight, the last of
    /// these words overlaps the previous word. The two words are:
    /// - `next | id << 32`, where `next` is the index of the next record in the same hash table
    ///   entry, and `id` is the id of the literal
    /// - `length | offset << 32`, where `length` is the length of the literal in bytes, and
    ///   `offset` is the offset of the gram in the literal
    records: Vec<u64>,
}

impl GramTable {
    /// Maximum value of [`GramEntry::capped_literal_count`]. Further literals are not counted.
    pub const MAX_COUNTED_LITERALS: u32 = COUNT_MASK;

    /// Creates a table with room for this number of literals.
    pub fn new(literals: usize) -> GramTable {
        let slots = (literals.saturating_mul(8) / 7 + 1).next_power_of_two().max(64);
        GramTable { slots: vec![EMPTY_SLOT; slots], records: Vec::new() }
    }

    /// Returns the largest number of literals of an entry, at most
    /// [`GramTable::MAX_COUNTED_LITERALS`].
    #[cfg(test)]
    pub fn max_entry_literals(&self) -> u32 {
        self.slots.iter().map(|slot| slot.packed_state & COUNT_MASK).max().unwrap_or(0)
    }

    /// Returns the slot with this hash, with its index. If there is none, returns the empty slot
    /// where the hash would be inserted.
    #[inline(always)]
    fn find_slot(&self, hash: u64) -> (usize, HashSlot) {
        let mask = self.slots.len() - 1;
        let mut index = hash as usize & mask;
        loop {
            let slot = self.slots[index];
            if slot.last_record == NO_RECORD || slot.packed_state >> 8 == (hash >> 40) as u32 {
                return (index, slot);
            }
            index = (index + 1) & mask;
        }
    }

    /// Returns the entry under which a literal is stored, or would be inserted. The lookup begins
    /// with a gram (byte sequence) of the length class `level`, and goes to longer grams while
    /// entries are crowded. `rest` contains the bytes of the literal from the gram on. `None` if
    /// `rest` is shorter than a gram of `level`.
    pub fn entry_for(&self, mut level: GramLevel, rest: &[u8]) -> Option<GramEntry> {
        let mut hash = level.hash_gram(rest)?;
        loop {
            let counted_literals = self.find_slot(hash).1.packed_state & COUNT_MASK;
            if counted_literals >= MIN_CROWDED_LITERALS
                && let Some(deeper) = level.next_deeper()
                && let Some(deeper_hash) = deeper.hash_gram(rest)
            {
                (level, hash) = (deeper, deeper_hash);
            } else {
                return Some(GramEntry { level, hash, capped_literal_count: counted_literals });
            }
        }
    }

    /// Adds a literal, whose id is `literal_id`, with the gram (byte sequence) of the length class
    /// `level` at offset `gram_offset`. Adds nothing if the table is full.
    pub fn insert_literal(&mut self, literal: &[u8], literal_id: u32, level: GramLevel, gram_offset: u16) {
        let needed_words = literal.len() / 8 + 3;
        let record = u32::try_from(self.records.len()).ok();
        let record = record.filter(|at| needed_words < (NO_RECORD - at) as usize);
        let (Some(record), Ok(length)) = (record, u32::try_from(literal.len())) else { return };
        self.records.extend([u64::from(literal_id) << 32, u64::from(length) | u64::from(gram_offset) << 32]);
        self.records.extend(literal.chunks_exact(8).map(|word| load_eight_bytes(word, 0)));
        if !literal.len().is_multiple_of(8) {
            self.records.push(load_eight_bytes(literal, literal.len().saturating_sub(8)));
        }
        self.add_record(level, literal.get(gram_offset.into()..).unwrap_or_default(), record);
    }

    /// Adds the record at index `record` to the entry of a gram. The gram is at the start of
    /// `rest`, the bytes of the literal from the gram on. The gram has the level `base` if fewer
    /// than [`MIN_CROWDED_LITERALS`] literals share this gram. Otherwise a longer gram is used if
    /// possible, and the entry of each shorter gram is flagged with [`DEEPER_FLAG`].
    fn add_record(&mut self, base: GramLevel, rest: &[u8], record: u32) {
        let Some(entry) = self.entry_for(base, rest) else {
            return broken_invariant!("a literal is long enough for its grams");
        };
        let mut level = base;
        while level != entry.level
            && let Some(deeper) = level.next_deeper()
        {
            let (index, _) = self.find_slot(level.hash_gram(rest).unwrap_or_default());
            self.slots[index].packed_state |= DEEPER_FLAG;
            level = deeper;
        }
        let (index, slot) = self.find_slot(entry.hash);
        let count = (entry.capped_literal_count + 1).min(COUNT_MASK);
        let state = (((entry.hash >> 40) as u32) << 8) | (slot.packed_state & DEEPER_FLAG) | count;
        self.slots[index] = HashSlot { packed_state: state, last_record: record };
        self.records[record as usize] |= u64::from(slot.last_record);
    }

    /// Calls `hit` with the id and the start of each literal that occurs in the text and has a gram
    /// at index `at`. `base_level` is the level (length class) of the shortest such gram, and
    /// `hash` is its hash.
    #[inline(always)]
    pub fn report_literals(
        &self,
        base_level: GramLevel,
        hash: u64,
        text: &[u8],
        at: usize,
        hit: &mut impl FnMut(u32, usize),
    ) {
        let (_, slot) = self.find_slot(hash);
        self.report_records(slot, text, at, hit);
        if slot.packed_state & DEEPER_FLAG != 0 {
            self.report_deeper_literals(base_level, text, at, hit);
        }
    }

    #[inline(never)]
    fn report_deeper_literals(
        &self,
        mut level: GramLevel,
        text: &[u8],
        at: usize,
        hit: &mut impl FnMut(u32, usize),
    ) {
        while let Some(deeper) = level.next_deeper()
            && let Some(hash) = deeper.hash_gram(&text[at.min(text.len())..])
        {
            let (_, slot) = self.find_slot(hash);
            self.report_records(slot, text, at, hit);
            if slot.packed_state & DEEPER_FLAG == 0 {
                return;
            }
            level = deeper;
        }
    }

    #[inline(always)]
    fn report_records(&self, slot: HashSlot, text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        let mut record = slot.last_record;
        while record != NO_RECORD {
            let Some((&[link, header], words)) =
                self.records.get(record as usize..).and_then(|rest| rest.split_first_chunk::<2>())
            else {
                return broken_invariant!("a link leads to a record");
            };
            let (length, offset) = (header as u32 as usize, (header >> 32) as usize);
            if let Some(start) = at.checked_sub(offset)
                && let Some(found) = text.get(start..).and_then(|rest| rest.get(..length))
                && is_literal_at(words, found, text, start)
            {
                hit((link >> 32) as u32, start);
            }
            record = link as u32;
        }
    }
}

/// True if the text has a literal at index `start`. `words` are the bytes of the literal as they
/// are stored in the table. `found` contains the bytes of the text from `start` on, as many as the
/// literal has.
#[inline(always)]
fn is_literal_at(words: &[u64], found: &[u8], text: &[u8], start: usize) -> bool {
    let Some(last_start) = found.len().checked_sub(8) else {
        let bits = 8 * found.len() as u32;
        return words
            .first()
            .is_some_and(|word| (word ^ load_eight_bytes(text, start)) & ((1 << bits) - 1) == 0);
    };
    let full_words = found.len() / 8;
    for (word, index) in words.iter().zip(0..full_words) {
        if *word != load_eight_bytes(found, index * 8) {
            return false;
        }
    }
    found.len().is_multiple_of(8)
        || words.get(full_words).is_some_and(|word| *word == load_eight_bytes(found, last_start))
}
