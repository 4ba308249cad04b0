//! The first look at a text: which pairs of bytes begin and go on a gram. A pair of bytes selects
//! sixteen bits that say for which classes of grams it may be the first half, and sixteen for which
//! it may be the second; a gram may be at a position if the two share a bit. Texts use few of the
//! 65,536 pairs, so that what is read of the table stays in the innermost cache.

use super::gram::{FOUR, LONG, Level, ONE, SIX, THREE, TWO};

/// The classes of each base level, as a bit set. The more a level has, the fewer positions pass.
pub const LONG_BITS: u32 = 0x007f;
pub const SIX_BITS: u32 = 0x0380;
pub const FOUR_BITS: u32 = 0x1c00;
pub const THREE_BITS: u32 = 0x2000;
pub const TWO_BITS: u32 = 0x4000;
pub const ONE_BITS: u32 = 0x8000;

/// So many positions of a text are looked at together; they are numbered by a byte, with room for
/// seven beyond the end.
pub const BLOCK: usize = 248;
/// What is read of a block: eight bytes from each position on, and some.
pub const WINDOW: usize = BLOCK + 24;

/// Room for the positions of a block that pass.
pub const LIST: usize = 256;

/// The table of pairs.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// By the pair in little-endian order: first halves in the lower sixteen bits.
    bits: Box<[u32; 0x10000]>,
    /// How often, as estimated, a position of a text has a first half and a second half of a class.
    first: [f32; 16],
    second: [f32; 16],
}

impl Pairs {
    pub fn new() -> Pairs {
        // Collected from the heap, since an array on the stack would be too large; the length is right.
        let bits = vec![0; 0x10000].into_boxed_slice().try_into().unwrap_or_else(|_| Box::new([0; 0x10000]));
        Pairs { bits, first: [0.0; 16], second: [0.0; 16] }
    }

    pub fn heap_bytes(&self) -> usize {
        size_of::<[u32; 0x10000]>()
    }

    /// The bits of a pair.
    #[inline(always)]
    pub fn get(&self, pair: u16) -> u32 {
        self.bits[usize::from(pair)]
    }

    /// The classes of the grams that may begin with these bytes, the first the lowest.
    #[inline(always)]
    pub fn classes(&self, four: u32) -> u32 {
        self.get(four as u16) & self.get((four >> 16) as u16) >> 16
    }

    /// Lists the positions of a block where a gram may be; how many, and where the next block begins.
    #[inline(never)]
    pub fn look<const SPARSE: bool>(
        &self,
        window: &[u8; WINDOW],
        length: usize,
        aligned: bool,
        list: &mut [u8; LIST],
    ) -> (usize, usize) {
        let character = if aligned { 0x00c0_c0f0 } else { 0 };
        let pair = |at: usize| self.get(window[at..].first_chunk().map_or(0, |pair| u16::from_le_bytes(*pair)));
        let (mut count, mut at) = (0, 0);
        while at < length.min(BLOCK) {
            let four = window[at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
            if four & character == 0x0080_80e0 {
                list[count & 0xff] = at as u8;
                count += usize::from(self.classes(four) != 0);
                at += 3;
                continue;
            }
            let pairs: [u32; 10] = std::array::from_fn(|index| pair(at + index));
            let passed = |index: usize| pairs[index] & pairs[index + 2] >> 16;
            if !SPARSE || (0..8).fold(0, |all, index| all | passed(index)) != 0 {
                for index in 0..8 {
                    list[count & 0xff] = (at + index) as u8;
                    count += usize::from(passed(index) != 0);
                }
            }
            at += 8;
        }
        (count, at)
    }

    /// The estimated share of positions that pass.
    pub fn share(&self) -> f32 {
        self.first.iter().zip(&self.second).map(|(first, second)| first * second).sum()
    }

    /// How much larger the share gets with this gram of four bytes or more.
    pub fn added_share(&self, level: Level, four: u32, frequency: impl Fn(u16) -> f32) -> f32 {
        let (first, second) = (four as u16, (four >> 16) as u16);
        let class = class(level, first);
        let more = |pair: u16, shift: u32| {
            if self.get(pair) >> (class + shift) & 1 == 0 { frequency(pair) } else { 0.0 }
        };
        let (p, q) = (self.first[class as usize], self.second[class as usize]);
        (p + more(first, 0)) * (q + more(second, 16)) - p * q
    }

    /// Lets the gram pass that these bytes begin with.
    pub fn add(&mut self, level: Level, four: u32, frequency: impl Fn(u16) -> f32) {
        let (first, second) = (four as u16, (four >> 16) as u16);
        let class = class(level, first);
        match level {
            ONE => {
                for next in 0..=255 {
                    self.set(class, first & 0xff | next << 8, &frequency);
                }
                self.any_second(class);
            }
            TWO => {
                self.set(class, first, &frequency);
                self.any_second(class);
            }
            THREE => {
                self.set(class, first, &frequency);
                if self.get(second & 0xff) >> (class + 16) & 1 == 0 {
                    for next in 0..=255 {
                        self.set(class + 16, second & 0xff | next << 8, &frequency);
                    }
                }
            }
            _ => {
                self.set(class, first, &frequency);
                self.set(class + 16, second, &frequency);
            }
        }
    }

    fn any_second(&mut self, class: u32) {
        if self.bits[0] >> (class + 16) & 1 == 0 {
            self.bits.iter_mut().for_each(|bits| *bits |= 1 << (class + 16));
            self.second[class as usize] = 1.0;
        }
    }

    fn set(&mut self, bit: u32, pair: u16, frequency: impl Fn(u16) -> f32) {
        let bits = &mut self.bits[usize::from(pair)];
        if *bits >> bit & 1 == 0 {
            *bits |= 1 << bit;
            let shares = if bit < 16 { &mut self.first } else { &mut self.second };
            let share = &mut shares[bit as usize % 16];
            *share = (*share + frequency(pair)).min(1.0);
        }
    }
}

/// The class of a gram: its level's, and of those one that its first half selects.
fn class(level: Level, first: u16) -> u32 {
    let bits = match level {
        LONG => LONG_BITS,
        SIX => SIX_BITS,
        FOUR => FOUR_BITS,
        THREE => THREE_BITS,
        TWO => TWO_BITS,
        _ => ONE_BITS,
    };
    let spread = u32::from(first).wrapping_mul(0x9e37) & 0xffff;
    bits.trailing_zeros() + (spread * bits.count_ones() >> 16)
}
