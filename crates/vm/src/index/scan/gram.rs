//! Grams: short sequences of a literal's bytes by which the literal is found, and the hashes of
//! grams.

/// Length class of a gram; [`GramLevel::gram_bytes`] is the length in bytes. A lookup begins at one
/// of the first [`BASE_LEVEL_COUNT`] levels. If too many literals share a gram (the gram is
/// crowded), the lookup continues at the next level, with a longer gram.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub struct GramLevel(u8);

/// Number of base levels: the length classes at which the lookup of a gram (byte sequence) can
/// begin. The grams of these levels have three to eight bytes. The number is not tuned: it follows
/// from the eight bytes that a lookup reads at once.
const BASE_LEVEL_COUNT: usize = 6;
/// Number of the length class whose grams (byte sequences) have 32 bytes. The two classes before it
/// have 12 and 16 bytes. From this class on, each class doubles the length.
const FIRST_DOUBLING_LEVEL: u8 = 8;
/// The last length class, whose grams (byte sequences) are 32 KB long. If many literals share a
/// gram, they get grams of the next class, and hashing these grams takes time. The limit bounds
/// this build time and is not tuned.
const DEEPEST_LEVEL: GramLevel = GramLevel(18);

/// For each base level, the mask that selects the gram's bytes in a word of eight bytes. The table
/// is padded to eight entries, so that an index `% 8` needs no bounds check.
const GRAM_MASKS: [u64; 8] = [
    0xff_ffff,
    0xffff_ffff,
    0xff_ffff_ffff,
    0xffff_ffff_ffff,
    0xff_ffff_ffff_ffff,
    u64::MAX,
    u64::MAX,
    u64::MAX,
];
const HASH_SALTS: [u64; 8] = [
    0x2545_f491_4f6c_dd1d,
    0x5851_f42d_4c95_7f2d,
    0x1405_7b7e_f767_814f,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
];

impl GramLevel {
    /// Returns the base level (length class) whose grams have this number of bytes, from three to
    /// eight.
    pub fn from_gram_bytes(gram_bytes: usize) -> GramLevel {
        GramLevel(gram_bytes.clamp(3, 8) as u8 - 3)
    }

    pub fn gram_bytes(self) -> usize {
        match self.0 {
            base @ ..6 => usize::from(base) + 3,
            6 => 12,
            7 => 16,
            deep => 32 << (deep.min(DEEPEST_LEVEL.0) - FIRST_DOUBLING_LEVEL),
        }
    }

    /// Returns the next level (length class), whose grams are longer; `None` for the last level.
    pub fn next_deeper(self) -> Option<GramLevel> {
        (self < DEEPEST_LEVEL).then_some(GramLevel(self.0 + 1))
    }

    /// Returns the hash of the gram (a sequence of this level's length) at the start of `text`.
    /// `None` if `text` is shorter than the gram.
    #[inline]
    pub fn hash_gram(self, text: &[u8]) -> Option<u64> {
        let gram = text.get(..self.gram_bytes())?;
        if usize::from(self.0) < BASE_LEVEL_COUNT {
            return Some(self.hash_eight_bytes(load_eight_bytes(gram, 0)));
        }
        let last_word = load_eight_bytes(gram, gram.len() - 8);
        let salt = HASH_SALTS[4].wrapping_mul(u64::from(self.0)) ^ last_word;
        Some(gram.chunks_exact(8).fold(mix_bits(salt), |sum, word| mix_bits(sum ^ load_eight_bytes(word, 0))))
    }

    /// Returns the hash of the gram (a sequence of this level's length) at the start of `eight`.
    /// The number `eight` has eight bytes of a text in little-endian order. Precondition: the gram
    /// fits into it.
    #[inline(always)]
    pub fn hash_eight_bytes(self, eight: u64) -> u64 {
        let level = usize::from(self.0) % 8;
        mix_bits(eight & GRAM_MASKS[level] ^ HASH_SALTS[level])
    }
}

#[inline(always)]
fn mix_bits(value: u64) -> u64 {
    let product = u128::from(value) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}

/// Loads eight bytes of `text`, beginning at index `at`, in little-endian order. Bytes beyond the
/// end are zero.
#[inline(always)]
pub fn load_eight_bytes(text: &[u8], at: usize) -> u64 {
    match text.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(eight) => u64::from_le_bytes(*eight),
        None => load_padded(text.get(at..).unwrap_or_default()),
    }
}

#[inline]
fn load_padded(text: &[u8]) -> u64 {
    text.iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}
