//! Grams: the few bytes of a literal that it is found by, and the hashes they are looked up under.

/// What a literal is keyed by: so many bytes of it. The first [`BASES`] are where a look-up begins;
/// the others are reached from a crowded entry of the one above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level(u8);

/// The levels that every candidate of a text is looked up at.
pub const BASES: usize = 6;
/// Eight bytes, for literals of eight or more.
pub const LONG: Level = Level(0);
/// Six bytes, for six and seven: a Chinese word of two characters above all.
pub const SIX: Level = Level(1);
/// Four bytes, for four and five.
pub const FOUR: Level = Level(2);
/// Literals of three bytes.
pub const THREE: Level = Level(3);
/// Literals of two bytes.
pub const TWO: Level = Level(4);
/// Literals of one byte.
pub const ONE: Level = Level(5);
const TWELVE: Level = Level(6);
const SIXTEEN: Level = Level(7);
/// Sixteen bytes doubled eleven times: 32 KB.
const DEEPEST: Level = Level(18);

/// The mark of a crowded entry: a literal of its gram is found one level down.
pub const DEEPER: u32 = 0x10;
/// The same for twelve bytes below eight.
pub const DEEPER_TWELVE: u32 = 0x20;

const MASKS: [u64; 8] = [u64::MAX, 0xffff_ffff_ffff, 0xffff_ffff, 0xff_ffff, 0xffff, 0xff, 0, 0];
const SALTS: [u64; 8] = [
    0x2545_f491_4f6c_dd1d,
    0x5851_f42d_4c95_7f2d,
    0x1405_7b7e_f767_814f,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0,
    0,
];

impl Level {
    /// Where the look-up of a literal of so many bytes begins.
    pub fn of_length(length: usize) -> Level {
        match length {
            0 | 1 => ONE,
            2 => TWO,
            3 => THREE,
            4 | 5 => FOUR,
            6 | 7 => SIX,
            _ => LONG,
        }
    }

    /// The level by its number, as [`Level::number`] gave it.
    pub fn from_number(number: u8) -> Level {
        Level(number)
    }

    /// A number for it: for the first [`BASES`] levels below that.
    pub fn number(self) -> u8 {
        self.0
    }

    /// How many bytes are looked at.
    pub fn bytes(self) -> usize {
        match self {
            LONG => 8,
            SIX => 6,
            FOUR => 4,
            THREE => 3,
            TWO => 2,
            ONE => 1,
            TWELVE => 12,
            Level(deep) => 16 << (deep.min(DEEPEST.0) - SIXTEEN.0),
        }
    }

    /// The level below for a literal that has so many bytes from its gram on, with the mark its
    /// entry here gets.
    pub fn deeper(self, rest: usize) -> Option<(Level, u32)> {
        match self {
            LONG if rest >= 16 => Some((SIXTEEN, DEEPER)),
            LONG if rest >= 12 => Some((TWELVE, DEEPER_TWELVE)),
            _ => self.marked(DEEPER).filter(|below| self != LONG && rest >= below.bytes()).map(|below| (below, DEEPER)),
        }
    }

    /// The level that a mark leads to.
    pub fn marked(self, mark: u32) -> Option<Level> {
        match self {
            LONG if mark == DEEPER_TWELVE => Some(TWELVE),
            LONG => Some(SIXTEEN),
            Level(deep) if deep >= SIXTEEN.0 && deep < DEEPEST.0 => Some(Level(deep + 1)),
            _ => None,
        }
    }

    /// The hash of the bytes that `text` begins with; none when there are too few.
    pub fn hash(self, text: &[u8]) -> Option<u64> {
        let gram = text.get(..self.bytes())?;
        Some(match self {
            Level(base) if usize::from(base) < BASES => hash(base.into(), load(gram, 0)),
            TWELVE => mix(mix(load(gram, 0) ^ SALTS[0]) ^ load(gram, 4) ^ SALTS[3]),
            Level(deep) => gram
                .chunks_exact(8)
                .fold(SALTS[4].wrapping_mul(deep.into()), |sum, word| mix(sum ^ load(word, 0))),
        })
    }
}

/// The hash at a base level of the gram at the beginning of eight bytes.
#[inline(always)]
pub fn hash(base: usize, eight: u64) -> u64 {
    let base = base & 7;
    mix(eight & MASKS[base] ^ SALTS[base])
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
