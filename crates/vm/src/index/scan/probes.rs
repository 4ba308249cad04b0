//! The first look at a text: at every so manyth position four bytes are hashed, and a table says on which levels a
//! gram may begin with them. Texts ask for few places of the table, so that what is read of it stays in the
//! innermost cache.

use super::gram::{Level, THREE};

/// The number of positions that are probed without a branch between them.
const TOGETHER: usize = 8;
/// The greatest distance of two probes.
const MOST_STEP: usize = 4;
/// The positions of a text that are looked at together; they are numbered by a byte, with room for the probes beyond.
pub const BLOCK: usize = 256 - TOGETHER * MOST_STEP;
/// The bytes that are read of a block: those of the probes beyond its end, and of grams that begin there.
pub const WINDOW: usize = 256 + 32;

/// Room for the positions of a block that pass.
pub type Positions = [Position; 256];

/// A position of a block that passes: the levels of the grams that may be there above its number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position(u16);

impl Position {
    #[inline(always)]
    fn new(number: usize, levels: u8) -> Position {
        Position(u16::from(levels) << 8 | number as u16)
    }

    #[inline(always)]
    pub fn number(self) -> u8 {
        self.0 as u8
    }

    /// A bit for each level.
    #[inline(always)]
    pub fn levels(self) -> u32 {
        u32::from(self.0) >> 8
    }
}

/// The places of the table, by how many grams there are.
const TINY: usize = 1 << 12;
const SMALL: usize = 1 << 14;
const MIDDLE: usize = 1 << 17;
const LARGE: usize = 1 << 20;

/// A gram of three bytes is entered with each byte that may follow.
const THREE_ENTRIES: usize = 256;

/// The positions of a text to probe, and the answers.
pub struct Probes {
    /// By the hash of four bytes, a bit for each level on which a gram begins with them.
    levels: Box<[u8]>,
    step: usize,
}

/// The place of four bytes in a table of that size.
#[inline(always)]
fn place(four: u32, size: usize) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> (32 - size.trailing_zeros())) as usize
}

impl Probes {
    /// The distance of probes that come upon each literal of at least so many bytes with a gram of four bytes, or three.
    pub fn step(shortest: usize) -> usize {
        match shortest {
            0..=3 => 1,
            4 | 5 => 2,
            6 => 3,
            _ => MOST_STEP,
        }
    }

    /// The distance of its probes.
    #[cfg(test)]
    pub fn distance(&self) -> usize {
        self.step
    }

    /// For literals of these lengths, of each of which a gram begins at one of `step` positions.
    pub fn new(lengths: impl Iterator<Item = usize>, step: usize) -> Probes {
        let entries = |length: usize| if length < step + 3 { THREE_ENTRIES } else { 1 };
        let size = match step * lengths.map(entries).sum::<usize>() {
            0..=200 => TINY,
            201..=1_500 => SMALL,
            1_501..=12_000 => MIDDLE,
            _ => LARGE,
        };
        Probes { levels: vec![0; size].into(), step }
    }

    /// True when no gram begins with these bytes.
    pub fn is_new(&self, four: u32) -> bool {
        self.levels.get(place(four, self.levels.len())).is_none_or(|levels| *levels == 0)
    }

    /// Lets a gram pass that begins with these bytes.
    pub fn add(&mut self, level: Level, four: u32) {
        let is_three = level == THREE;
        let (four, entries) = if is_three { (four & 0xff_ffff, THREE_ENTRIES as u32) } else { (four, 1) };
        for next in 0..entries {
            let place = place(four | next << 24, self.levels.len());
            if let Some(levels) = self.levels.get_mut(place) {
                *levels |= 1 << level.number();
            }
        }
    }

    /// Lists the positions of a block where a gram may be, some beyond its `length` among them; how many they
    /// are, and where the next block begins.
    #[inline(never)]
    pub fn look(&self, window: &[u8; WINDOW], length: usize, positions: &mut Positions) -> (usize, usize) {
        // Tables whose sizes are known, so that no place need be checked.
        match self.levels.len() {
            TINY => self.look_in::<TINY>(window, length, positions),
            SMALL => self.look_in::<SMALL>(window, length, positions),
            MIDDLE => self.look_in::<MIDDLE>(window, length, positions),
            _ => self.look_in::<LARGE>(window, length, positions),
        }
    }

    #[inline(always)]
    fn look_in<const SIZE: usize>(
        &self,
        window: &[u8; WINDOW],
        length: usize,
        positions: &mut Positions,
    ) -> (usize, usize) {
        let Ok(levels) = (&*self.levels).try_into() else { return (0, length) };
        match self.step {
            1 => look::<1, SIZE>(levels, window, length, positions),
            2 => look::<2, SIZE>(levels, window, length, positions),
            3 => look::<3, SIZE>(levels, window, length, positions),
            _ => look::<MOST_STEP, SIZE>(levels, window, length, positions),
        }
    }
}

#[inline(always)]
fn look<const STEP: usize, const SIZE: usize>(
    table: &[u8; SIZE],
    window: &[u8; WINDOW],
    length: usize,
    positions: &mut Positions,
) -> (usize, usize) {
    let (mut count, mut at) = (0, 0);
    while at < length
        && let Some(here) = window.get(at..).and_then(|rest| rest.first_chunk::<{ TOGETHER * MOST_STEP }>())
    {
        let levels = |index: usize| {
            let four = here[index * STEP..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
            table[place(four, SIZE)]
        };
        if (0..TOGETHER).fold(0, |all, index| all | levels(index)) != 0 {
            for index in 0..TOGETHER {
                // Written in any case, and counted if it passes: no branch.
                positions[count & 0xff] = Position::new(at + index * STEP, levels(index));
                count += usize::from(levels(index) != 0);
            }
        }
        at += TOGETHER * STEP;
    }
    (count, at)
}
