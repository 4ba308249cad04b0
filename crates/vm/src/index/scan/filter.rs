//! The second stage of a scan: a Bloom filter over the grams (short byte sequences) of all
//! literals. For each position that the first stage found, the filter looks up the whole gram of
//! each class that is possible there.

use super::probes::{GramClass, ProbePosition, Probing, WINDOW_BYTES};

/// Minimum number of bits in the filter for each literal. With more bits, fewer sequences pass the
/// filter that are no gram of a literal. Measured in benches/notes/plain.md, "One gram for each
/// literal".
const MIN_BITS_PER_LITERAL: usize = 16;
/// Minimum number of 64-bit words of a filter.
const MIN_FILTER_WORDS: usize = 16;

/// A Bloom filter over grams (byte sequences). A gram sets two bits of one word.
pub struct GramFilter {
    /// The words of the filter, whose number is a power of two.
    words: Box<[u64]>,
    classes: &'static [GramClass; 8],
}

/// Returns the hash of a gram (byte sequence) of the class, at the start of `eight`. The upper bits
/// are used.
#[inline(always)]
fn hash_gram(eight: u64, class: GramClass) -> u64 {
    (eight << (class.unused_bits % 64)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the two bits of a gram in its word of a filter with `word_count` words.
#[inline(always)]
fn bits_of(hash: u64, word_count: usize) -> [u64; 2] {
    let word_bits = word_count.trailing_zeros();
    [hash >> (58 - word_bits) & 63, hash >> (52 - word_bits) & 63]
}

#[inline(always)]
fn word_of(hash: u64, word_count: usize) -> usize {
    (hash >> (64 - word_count.trailing_zeros())) as usize
}

impl GramFilter {
    /// Creates an empty filter for the grams (byte sequences) of this number of literals.
    pub fn new(literal_count: usize, probing: Probing) -> GramFilter {
        let bits = literal_count.saturating_mul(MIN_BITS_PER_LITERAL);
        let word_count = bits.div_ceil(64).next_power_of_two().max(MIN_FILTER_WORDS);
        GramFilter { words: vec![0; word_count].into(), classes: probing.classes() }
    }

    /// Adds the gram (byte sequence) of the class at the start of `eight`.
    pub fn add_gram(&mut self, class: usize, eight: u64) {
        let hash = hash_gram(eight, self.classes[class % 8]);
        let word_count = self.words.len();
        if let Some(word) = self.words.get_mut(word_of(hash, word_count)) {
            bits_of(hash, word_count).into_iter().for_each(|bit| *word |= 1 << bit);
        }
    }

    /// Calls `found` for each gram that passes the filter at the given positions. Its arguments are
    /// the class of the gram and the position of its first byte in the block. `window` has the
    /// bytes of the block.
    ///
    /// No gram begins before a text. There the position wraps around, and no literal is found.
    #[inline(always)]
    pub fn find_grams(
        &self,
        positions: &[ProbePosition],
        window: &[u8; WINDOW_BYTES],
        mut found: impl FnMut(GramClass, usize),
    ) {
        let word_count = self.words.len();
        for position in positions {
            let mut bits = u32::from(position.class_bits());
            while bits != 0 {
                let class = self.classes[(bits.trailing_zeros() % 8) as usize];
                bits &= bits - 1;
                let start = usize::from(position.offset_in_block().wrapping_sub(class.probe_offset));
                let eight = window[start..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
                let hash = hash_gram(eight, class);
                let word = self.words.get(word_of(hash, word_count)).copied().unwrap_or(0);
                let [first, second] = bits_of(hash, word_count);
                if word >> first & word >> second & 1 == 1 {
                    found(class, start);
                }
            }
        }
    }
}
