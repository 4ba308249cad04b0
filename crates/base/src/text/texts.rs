//! A map from texts to ids, optimized for the short texts in rules. A text of up to sixteen bytes
//! is represented as two 64-bit integers, which are hashed and compared directly.

use hashbrown::HashMap;

/// A map from texts to ids. Lookups of texts of up to sixteen bytes are fast.
#[derive(Clone, Debug, Default)]
pub struct TextIds {
    /// Hash table of short texts with open addressing; the number of slots is a power of two. Most
    /// lookups find nothing, and such a lookup compares every slot up to the next empty one. So
    /// small tables are at most a quarter full, and large tables at most half.
    slots: Box<[TextSlot]>,
    /// Number of texts of up to sixteen bytes in the hash table.
    short_text_count: usize,
    long_text_ids: HashMap<Box<[u8]>, u32, foldhash::fast::FixedState>,
    /// The lengths of the long texts in the map, modulo 64, as a bit set. A looked-up text whose
    /// length is not in this set is not in the map, so it need not be hashed. This is so for most
    /// long texts of a message.
    long_length_bits: u64,
}

/// A short text in the encoding of [`pack_short_text`], with its length and its id.
#[derive(Clone, Copy, Debug)]
struct TextSlot {
    packed_text: (u64, u64),
    byte_length: u32,
    id: u32,
}

/// Value of the field `length` that marks a slot of the hash table as empty.
const EMPTY_SLOT_LENGTH: u32 = u32::MAX;
/// Minimum number of slots of a hash table that may become half full. A table with fewer slots
/// grows when it is a quarter full. The sparser table needs fewer comparisons, but more of the
/// processor's cache. Measured in benches/notes/decision-cost.md, "Late hits and misses at 100 to
/// 1,000 routes".
const MIN_HALF_FULL_SLOTS: usize = 1 << 10;
/// Maximum length in bytes of a text that fits into two 64-bit integers. Not tuned: the two have
/// sixteen bytes.
const MAX_SHORT_TEXT_BYTES: usize = 16;

/// Encodes a text of up to sixteen bytes as two 64-bit integers; `None` for a longer text.
/// Different texts of equal length have different encodings.
#[inline(always)]
fn pack_short_text(text: &[u8]) -> Option<(u64, u64)> {
    let eight = |offset: usize| Some(u64::from_le_bytes(*text.get(offset..)?.first_chunk()?));
    let four = |offset: usize| Some(u64::from(u32::from_le_bytes(*text.get(offset..)?.first_chunk()?)));
    match text.len() {
        8..=MAX_SHORT_TEXT_BYTES => Some((eight(0)?, eight(text.len() - 8)?)),
        4..8 => Some((four(0)?, four(text.len() - 4)?)),
        1..4 => {
            let byte = |offset: usize| u64::from(text[offset]);
            Some((byte(0) | byte(text.len() / 2) << 8, byte(text.len() - 1)))
        }
        0 => Some((0, 0)),
        _ => None,
    }
}

#[inline(always)]
fn hash_packed_text((first, last): (u64, u64), length: usize) -> usize {
    let product =
        u128::from(first ^ 0x9e37_79b9_7f4a_7c15) * u128::from(last ^ 0xd6e8_feb8_6659_fd93 ^ length as u64);
    (product as u64 ^ (product >> 64) as u64) as usize
}

impl TextIds {
    /// Returns the id of a text, or `None` if the map does not contain it.
    #[inline(always)]
    pub fn get(&self, text: &[u8]) -> Option<u32> {
        if text.len() > MAX_SHORT_TEXT_BYTES {
            self.get_long_text_id(text)
        } else {
            self.get_short_text_id(text)
        }
    }

    /// Returns the id of a text of up to sixteen bytes; `None` if the map has no such text.
    #[inline(always)]
    pub fn get_short_text_id(&self, text: &[u8]) -> Option<u32> {
        let packed_text = pack_short_text(text)?;
        let mask = self.slots.len().wrapping_sub(1);
        let mut index = hash_packed_text(packed_text, text.len());
        loop {
            let slot = self.slots.get(index & mask)?;
            if slot.byte_length == text.len() as u32 && slot.packed_text == packed_text {
                return Some(slot.id);
            }
            if slot.byte_length == EMPTY_SLOT_LENGTH {
                return None;
            }
            index = (index & mask) + 1;
        }
    }

    #[inline(always)]
    fn get_long_text_id(&self, text: &[u8]) -> Option<u32> {
        let has_length = self.long_length_bits >> (text.len() % 64) & 1 != 0;
        if has_length { self.find_long_text(text) } else { None }
    }

    #[inline(never)]
    fn find_long_text(&self, text: &[u8]) -> Option<u32> {
        self.long_text_ids.get(text).copied()
    }

    /// Adds a text with its id to the map. A text that is already present keeps its id.
    pub fn insert(&mut self, text: &str, id: u32) {
        let Some(packed_text) = pack_short_text(text.as_bytes()) else {
            self.long_length_bits |= 1 << (text.len() % 64);
            self.long_text_ids.entry(text.as_bytes().into()).or_insert(id);
            return;
        };
        let min_slots_per_text = if self.slots.len() < MIN_HALF_FULL_SLOTS { 4 } else { 2 };
        if self.short_text_count * min_slots_per_text >= self.slots.len() {
            let larger = (self.slots.len() * 2).max(8);
            let slots = std::mem::replace(&mut self.slots, vec![VACANT_SLOT; larger].into());
            slots
                .iter()
                .filter(|slot| slot.byte_length != EMPTY_SLOT_LENGTH)
                .for_each(|slot| self.insert_slot(*slot));
        }
        if self.get(text.as_bytes()).is_none() {
            self.short_text_count += 1;
            self.insert_slot(TextSlot { packed_text, byte_length: text.len() as u32, id });
        }
    }

    fn insert_slot(&mut self, slot: TextSlot) {
        let mask = self.slots.len().wrapping_sub(1);
        let mut index = hash_packed_text(slot.packed_text, slot.byte_length as usize) & mask;
        while self.slots[index].byte_length != EMPTY_SLOT_LENGTH {
            index = (index + 1) & mask;
        }
        self.slots[index] = slot;
    }

    pub fn len(&self) -> usize {
        self.short_text_count + self.long_text_ids.len()
    }

    /// True if the map contains no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

const VACANT_SLOT: TextSlot = TextSlot { packed_text: (0, 0), byte_length: EMPTY_SLOT_LENGTH, id: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_are_distinct() {
        let mut texts = TextIds::default();
        assert_eq!((texts.get(b""), texts.get(b"a")), (None, None));
        let all: Vec<String> = (0..5000_u32)
            .map(|n| {
                let word = format!("{n:b}").replace('0', "é").repeat(2);
                word.chars().take(n as usize % 24).collect()
            })
            .chain(["", "a", "ab", "ba", "aab", "aba", "baa", "abcd", "abcdabcd"].map(str::to_owned))
            .collect();
        let mut numbers = std::collections::HashMap::new();
        for (number, text) in all.iter().enumerate() {
            texts.insert(text, number as u32);
            numbers.entry(text.clone()).or_insert(number as u32);
        }
        assert_eq!(texts.len(), numbers.len());
        for (text, number) in &numbers {
            assert_eq!(texts.get(text.as_bytes()), Some(*number), "{text:?}");
            let other = format!("{text}x");
            assert_eq!(texts.get(other.as_bytes()), numbers.get(&other).copied(), "{other:?}");
        }
    }
}
