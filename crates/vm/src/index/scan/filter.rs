//! The second stage of a scan: a Bloom filter over the grams (short byte sequences) of all
//! literals. For each position that the first stage found, the filter looks up the whole gram of
//! each class that is possible there.

use super::probes::{GramClass, ProbePosition, Probing, WINDOW_BYTES};
use rulec_base::broken_invariant;

/// Minimum number of bits in the filter for each literal. With more bits, fewer sequences pass the
/// filter that are no gram of a literal. Measured in benches/notes/plain.md, "One gram for each
/// literal".
const MIN_BITS_PER_LITERAL: usize = 10;
/// Numbers of 64-bit words of the filters, from the smallest to the largest.
const FILTER_SIZES: [usize; 5] = [1 << 4, 1 << 8, 1 << 12, 1 << 15, 1 << 18];

/// Maximum number of positions that are filtered together.
pub const FILTERED_POSITIONS: usize = 32;
/// Maximum number of grams that are looked up together, eight for each position.
const MAX_CANDIDATES: usize = 8 * FILTERED_POSITIONS;

/// A Bloom filter over grams (byte sequences). A gram sets two bits of one word.
pub struct GramFilter {
    words: Box<[u64]>,
    classes: &'static [GramClass; 8],
}

/// Buffer for the grams (byte sequences) that pass the filter.
pub type FoundGrams = [FoundGram; MAX_CANDIDATES];

/// A gram (byte sequence) that passes the filter.
#[derive(Clone, Copy, Debug, Default)]
pub struct FoundGram {
    class: u8,
    /// Position in the block of the gram's first byte. A gram that begins before the first block is
    /// no gram: its position wraps around, and no literal is found there.
    position: u8,
}

impl FoundGram {
    pub fn position(self) -> usize {
        usize::from(self.position)
    }

    pub fn class(self, probing: Probing) -> GramClass {
        probing.classes()[usize::from(self.class % 8)]
    }
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
        let size = FILTER_SIZES.into_iter().find(|words| 64 * words >= bits).unwrap_or(FILTER_SIZES[4]);
        GramFilter { words: vec![0; size].into(), classes: probing.classes() }
    }

    /// Adds the gram (byte sequence) of the class at the start of `eight`.
    pub fn add_gram(&mut self, class: usize, eight: u64) {
        let hash = hash_gram(eight, self.classes[class % 8]);
        let word_count = self.words.len();
        if let Some(word) = self.words.get_mut(word_of(hash, word_count)) {
            bits_of(hash, word_count).into_iter().for_each(|bit| *word |= 1 << bit);
        }
    }

    /// Returns the grams that pass the filter at the given positions, at most
    /// [`FILTERED_POSITIONS`]. `window` has the bytes of the block.
    #[inline(always)]
    pub fn find_grams<'b>(
        &self,
        positions: &[ProbePosition],
        window: &[u8; WINDOW_BYTES],
        found_grams: &'b mut FoundGrams,
    ) -> &'b [FoundGram] {
        let [tiny, small, medium, large, _] = FILTER_SIZES;
        // The filter sizes are compile-time constants, so that no index needs a bounds check.
        let found_count = match self.words.len() {
            len if len == tiny => self.check::<{ FILTER_SIZES[0] }>(positions, window, found_grams),
            len if len == small => self.check::<{ FILTER_SIZES[1] }>(positions, window, found_grams),
            len if len == medium => self.check::<{ FILTER_SIZES[2] }>(positions, window, found_grams),
            len if len == large => self.check::<{ FILTER_SIZES[3] }>(positions, window, found_grams),
            _ => self.check::<{ FILTER_SIZES[4] }>(positions, window, found_grams),
        };
        &found_grams[..found_count.min(MAX_CANDIDATES)]
    }

    /// Writes the grams that pass the filter to `found_grams`, and returns their number.
    #[inline(always)]
    fn check<const SIZE: usize>(
        &self,
        positions: &[ProbePosition],
        window: &[u8; WINDOW_BYTES],
        found_grams: &mut FoundGrams,
    ) -> usize {
        let Ok(words) = <&[u64; SIZE]>::try_from(&*self.words) else {
            broken_invariant!("the filter has one of the known sizes");
            return 0;
        };
        let mut count = 0;
        for position in positions {
            let mut bits = u32::from(position.class_bits());
            while bits != 0 {
                let class_number = (bits.trailing_zeros() % 8) as u8;
                bits &= bits - 1;
                let class = self.classes[usize::from(class_number)];
                let start = position.offset_in_block().wrapping_sub(class.probe_offset);
                let eight =
                    window[usize::from(start)..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
                let hash = hash_gram(eight, class);
                let (word, [first, second]) = (words[word_of(hash, SIZE)], bits_of(hash, SIZE));
                // Always written, but counted only if it passes, to avoid a branch.
                found_grams[count % MAX_CANDIDATES] = FoundGram { class: class_number, position: start };
                count += (word >> first & word >> second & 1) as usize;
            }
        }
        count
    }
}
