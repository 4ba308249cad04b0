//! Grams: the few bytes of a literal that it is found by, and the hashes they are looked up under.

/// The number of bytes by which a literal is keyed. A lookup begins at one of the first [`BASES`] levels;
/// the others are reached from a crowded entry of the one above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level(u8);

/// The levels that a position of a text is looked up at.
pub const BASES: usize = 8;
pub const SIXTEEN: Level = Level(0);
pub const TWELVE: Level = Level(1);
pub const EIGHT: Level = Level(2);
/// Six bytes, for literals of six and seven: a Chinese word of two characters above all.
pub const SIX: Level = Level(3);
/// Four bytes, for literals of four and five.
pub const FOUR: Level = Level(4);
pub const THREE: Level = Level(5);
pub const TWO: Level = Level(6);
pub const ONE: Level = Level(7);
/// Thirty-two bytes, below sixteen; then it doubles.
const FIRST_DEEP: Level = Level(8);
/// 32 KB.
const DEEPEST: Level = Level(18);

const BYTES: [usize; BASES] = [16, 12, 8, 6, 4, 3, 2, 1];
/// The bits of the first eight bytes that count at a base level.
const MASKS: [u64; BASES] =
    [u64::MAX, u64::MAX, u64::MAX, 0xffff_ffff_ffff, 0xffff_ffff, 0xff_ffff, 0xffff, 0xff];
static SECOND: [usize; BASES] = [8, 4, 0, 0, 0, 0, 0, 0];
const SALTS: [u64; BASES] = [
    0x2545_f491_4f6c_dd1d,
    0x5851_f42d_4c95_7f2d,
    0x1405_7b7e_f767_814f,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
];

impl Level {
    /// The levels that a literal of so many bytes may be keyed at, the best first.
    pub fn of_length(length: usize) -> &'static [Level] {
        match length {
            0 | 1 => &[ONE],
            2 => &[TWO],
            3 => &[THREE],
            4 | 5 => &[FOUR],
            6 | 7 => &[SIX],
            8..12 => &[EIGHT],
            12..16 => &[TWELVE, EIGHT],
            _ => &[SIXTEEN, TWELVE, EIGHT],
        }
    }

    pub const fn from_number(number: u8) -> Level {
        Level(number)
    }

    /// A number for it: for the first [`BASES`] levels below that.
    pub const fn number(self) -> u8 {
        self.0
    }

    pub fn bytes(self) -> usize {
        match BYTES.get(usize::from(self.0)) {
            Some(bytes) => *bytes,
            None => 32 << (self.0.min(DEEPEST.0) - FIRST_DEEP.0),
        }
    }

    /// The level below a crowded entry.
    pub fn deeper(self) -> Option<Level> {
        match self {
            SIXTEEN => Some(FIRST_DEEP),
            Level(deep) if (FIRST_DEEP.0..DEEPEST.0).contains(&deep) => Some(Level(deep + 1)),
            _ => None,
        }
    }

    /// The hash of the bytes that `text` begins with; none when there are too few.
    pub fn hash(self, text: &[u8]) -> Option<u64> {
        let gram = text.get(..self.bytes())?;
        Some(match usize::from(self.0) {
            base @ ..BASES => hash(base, load(gram, 0), load(gram, second(base))),
            deep => gram
                .chunks_exact(8)
                .fold(SALTS[4].wrapping_mul(deep as u64), |sum, word| mix(sum ^ load(word, 0))),
        })
    }
}

/// The offset of the other eight bytes that count at a base level: the first again, where no others do.
#[inline(always)]
pub fn second(base: usize) -> usize {
    // Masked, so that whoever reads there need not check.
    SECOND[base % BASES] & 12
}

/// The hash at a base level of a gram, of its first eight bytes and those at [`second`].
#[inline(always)]
pub fn hash(base: usize, first: u64, other: u64) -> u64 {
    let base = base % BASES;
    mix((first & MASKS[base] ^ SALTS[base])
        .wrapping_add((other & MASKS[base]).wrapping_mul(0xff51_afd7_ed55_8ccd)))
}

#[inline(always)]
fn mix(value: u64) -> u64 {
    let product = u128::from(value) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}

/// Eight bytes of `text` from `at` on, the first the lowest; zeros beyond its end.
#[inline(always)]
pub fn load(text: &[u8], at: usize) -> u64 {
    match text.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(eight) => u64::from_le_bytes(*eight),
        None => load_short(text.get(at..).unwrap_or_default()),
    }
}

fn load_short(text: &[u8]) -> u64 {
    text.iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}
