//! The first look at a text: which pairs of bytes begin and go on a gram. A pair of bytes selects
//! thirty-two bits that say for which classes of grams it may be the first half, and thirty-two for which
//! it may be the second; a gram may be at a position if the two share a bit. Texts use few of the
//! 65,536 pairs, so that what is read of the table stays in the innermost cache.

use super::gram::{BASES, Level, ONE, THREE, TWO};

/// The first class of each base level, and how many it has. The more, the fewer positions pass.
const CLASSES: [(u32, u32); BASES] = [(0, 9), (9, 6), (15, 6), (21, 4), (25, 4), (29, 1), (30, 1), (31, 1)];

/// The classes of a base level as a set of bits.
pub const fn classes_of(level: Level) -> u64 {
    let (first, count) = CLASSES[level.number() as usize % BASES];
    ((1 << count) - 1) << first
}

/// The number of positions of a text that are looked at together; they are numbered by a byte, with room for
/// seven beyond the end.
pub const BLOCK: usize = 248;
/// The bytes that are read of a block: eight from each position on, and some.
pub const WINDOW: usize = BLOCK + 32;

/// Room for the positions of a block that pass, and one write more.
pub type Positions = [Position; 256];

/// A position of a block that passes: the classes of the grams that may be there above its number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position(u64);

impl Position {
    #[inline(always)]
    fn new(number: usize, classes: u64) -> Position {
        Position(classes << 8 | number as u64)
    }

    #[inline(always)]
    pub fn number(self) -> u8 {
        self.0 as u8
    }

    #[inline(always)]
    pub fn classes(self) -> u64 {
        self.0 >> 8
    }
}

/// The places of a table that has one for each pair.
pub const FULL: usize = 0x10000;
/// The places of the table of few literals, in which pairs share places: rules over hundreds of fields have a scanner for each.
pub const SMALL: usize = 0x800;
/// A scanner of no more literals than these has the small table.
const FEW: usize = 192;

pub struct Pairs {
    /// By the place of a pair, [`FULL`] or [`SMALL`] of them: first halves in the lower half.
    bits: Box<[u64]>,
    /// The estimated share of a text's positions that have a first half, and a second half, of a class.
    first: [f32; 32],
    second: [f32; 32],
}

impl Pairs {
    /// For so many literals.
    pub fn new(literals: usize) -> Pairs {
        let size = if literals > FEW { FULL } else { SMALL };
        Pairs { bits: vec![0; size].into(), first: [0.0; 32], second: [0.0; 32] }
    }

    /// The bits of all places, where it is of that size.
    #[inline(always)]
    pub fn sized<const SIZE: usize>(&self) -> Option<Sized<'_, SIZE>> {
        (&*self.bits).try_into().ok().map(Sized)
    }

    fn place(&self, pair: u16) -> usize {
        usize::from(pair) & (self.bits.len() - 1)
    }

    /// The bits of a pair.
    fn get(&self, pair: u16) -> u64 {
        self.bits.get(self.place(pair)).copied().unwrap_or(0)
    }

    /// The estimated share of positions that pass.
    pub fn share(&self) -> f32 {
        self.first.iter().zip(&self.second).map(|(first, second)| first * second).sum()
    }

    /// The growth of the share with this gram of four bytes or more.
    pub fn added_share(&self, level: Level, four: u32, frequency: impl Fn(u16) -> f32) -> f32 {
        let (first, second) = (four as u16, (four >> 16) as u16);
        let class = class(level, first);
        let more = |pair: u16, shift: u32| {
            if self.get(pair) >> (class + shift) & 1 == 0 { frequency(pair) } else { 0.0 }
        };
        let (p, q) = (self.first[class as usize], self.second[class as usize]);
        (p + more(first, 0)) * (q + more(second, 32)) - p * q
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
                for next in 0..=255 {
                    self.set(class + 32, second & 0xff | next << 8, &frequency);
                }
            }
            _ => {
                self.set(class, first, &frequency);
                self.set(class + 32, second, &frequency);
            }
        }
    }

    fn any_second(&mut self, class: u32) {
        if self.bits[0] >> (class + 32) & 1 == 0 {
            self.bits.iter_mut().for_each(|bits| *bits |= 1 << (class + 32));
            self.second[class as usize] = 1.0;
        }
    }

    fn set(&mut self, bit: u32, pair: u16, frequency: impl Fn(u16) -> f32) {
        let place = self.place(pair);
        let bits = &mut self.bits[place];
        if *bits >> bit & 1 == 0 {
            *bits |= 1 << bit;
            let shares = if bit < 32 { &mut self.first } else { &mut self.second };
            let share = &mut shares[bit as usize % 32];
            *share = (*share + frequency(pair)).min(1.0);
        }
    }
}

/// The place of a pair in a table of that size: the first byte, and as many bits of the second as there is room for.
#[inline(always)]
fn place<const SIZE: usize>(pair: u16) -> usize {
    usize::from(pair) & (SIZE - 1)
}

/// The pairs' bits in a table whose size is known, so that no place need be checked.
#[derive(Clone, Copy)]
pub struct Sized<'p, const SIZE: usize>(&'p [u64; SIZE]);

impl<const SIZE: usize> Sized<'_, SIZE> {
    #[inline(always)]
    fn get(self, pair: u16) -> u64 {
        self.0[place::<SIZE>(pair)]
    }

    /// The classes of the grams that may begin with these bytes, the first the lowest.
    #[inline(always)]
    fn classes(self, four: u32) -> u64 {
        self.get(four as u16) & self.get((four >> 16) as u16) >> 32
    }

    /// Lists the positions of a block where a gram may be, some beyond its `length` among them; how many
    /// they are, and where the next block begins. `SPARSE` is for the case that few pass, `aligned` says that every gram begins
    /// where a character does.
    #[inline(never)]
    pub fn look<const SPARSE: bool>(
        self,
        window: &[u8; WINDOW],
        length: usize,
        aligned: bool,
        positions: &mut Positions,
    ) -> (usize, usize) {
        let character = if aligned { 0x00c0_c0f0 } else { 0 };
        let (mut count, mut at) = (0, 0);
        // Written in any case, and counted if it passes: no branch.
        let mut push = |position: usize, classes: u64| {
            positions[count & 0xff] = Position::new(position, classes);
            count += usize::from(classes != 0);
        };
        while at < length
            && let Some(here) = window.get(at..).and_then(|rest| rest.first_chunk::<16>())
        {
            let four = u32::from_le_bytes([here[0], here[1], here[2], here[3]]);
            // A character of three bytes.
            if four & character == 0x0080_80e0 {
                push(at, self.classes(four));
                at += 3;
                continue;
            }
            let pairs: [u64; 10] = std::array::from_fn(|index| {
                here[index..].first_chunk().map_or(0, |pair| self.get(u16::from_le_bytes(*pair)))
            });
            let classes = |index: usize| pairs[index] & pairs[index + 2] >> 32;
            if !SPARSE || (0..8).fold(0, |all, index| all | classes(index)) != 0 {
                for index in 0..8 {
                    push(at + index, classes(index));
                }
            }
            at += 8;
        }
        (count, at)
    }
}

/// The class of a gram: its level's, and of those one that its first half selects.
fn class(level: Level, first: u16) -> u32 {
    let (class, count) = CLASSES[usize::from(level.number()) % BASES];
    let spread = u32::from(first).wrapping_mul(0x9e37) & 0xffff;
    class + ((spread * count) >> 16)
}
