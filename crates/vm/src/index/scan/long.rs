//! Literals of three or more bytes, found by their grams.

use super::frequency::Frequency;
use super::gram::{BASES, Level, load};
use super::gram_selection::{Choice, choose};
use super::probes::{Position, Positions, Probes, WINDOW};
use super::table::{Grams, Table};

/// Capacity of the buffer for grams that are filtered together; a position has at most [`BASES`]
/// grams.
pub const GRAMS: usize = 256;
/// Number of crowded grams that is accepted before probes are placed closer together.
pub const MOST_CROWDED: usize = 64;
/// Number of filter bits for each slot of the hash table.
const FILTER_BITS: usize = 16;

/// The search for literals by their grams.
pub struct Longs {
    pub probes: Probes,
    /// Filter with one set bit for each gram, at the upper bits of the gram's hash.
    pub filter: Box<[u64]>,
    pub filter_shift: u32,
    pub table: Table,
}

impl Longs {
    /// Builds the search from literals and their ids.
    pub fn new(literals: &[(&[u8], u32)], frequency: &Frequency) -> Longs {
        let shortest = literals.iter().map(|(literal, _)| literal.len()).min().unwrap_or(0);
        let mut step = Probes::step(shortest);
        loop {
            let longs = Longs::stepping(step, literals, frequency);
            // With fewer grams, each gram is longer. This helps if many literals share a gram, such
            // as an ending.
            if step == 1 || longs.table.crowded() <= MOST_CROWDED + literals.len() / 256 {
                return longs;
            }
            step /= 2;
        }
    }

    /// Builds the search with probes at every `step`-th position.
    fn stepping(step: usize, literals: &[(&[u8], u32)], frequency: &Frequency) -> Longs {
        let lengths = literals.iter().map(|(literal, _)| literal.len());
        let (probes, table) = (Probes::new(lengths, step), Table::new(literals.len() * step));
        let bits = table.slot_count() * FILTER_BITS;
        let (filter, filter_shift) = (vec![0; bits / 64].into(), 64 - bits.trailing_zeros());
        let mut longs = Longs { probes, filter, filter_shift, table };
        for (literal, number) in literals {
            if let Some(Choice { level, offset, .. }) =
                choose(literal, step, &longs.probes, frequency, &longs.table)
            {
                longs.add(literal, *number, Grams { level, offset, count: step });
            }
        }
        longs
    }

    fn add(&mut self, literal: &[u8], number: u32, grams: Grams) {
        let Longs { probes, filter, filter_shift, table } = self;
        table.insert(literal, number, grams, |hash| {
            let bit = hash >> *filter_shift;
            if let Some(word) = filter.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
        });
        for offset in usize::from(grams.offset)..usize::from(grams.offset) + grams.count {
            probes.add(grams.level, load(literal, offset) as u32);
        }
    }

    /// Calls `hit` for each literal in a block of `length` bytes, and returns the number of bytes
    /// processed.
    #[inline(always)]
    pub fn scan(
        &self,
        block: Block<'_>,
        length: usize,
        positions: &mut Positions,
        grams: &mut [Gram; GRAMS],
        hit: &mut impl FnMut(u32, usize),
    ) -> usize {
        let (count, next) = self.probes.look(block.window, length, positions);
        if count > 0 {
            self.find(&positions[..count.min(256)], block, grams, hit);
        }
        next
    }

    /// Filters the grams at the positions of a block that passed the first stage. Then compares the
    /// text with the literals of the remaining grams.
    #[inline(always)]
    fn find(
        &self,
        positions: &[Position],
        Block { window, text, at }: Block<'_>,
        grams: &mut [Gram; GRAMS],
        hit: &mut impl FnMut(u32, usize),
    ) {
        for positions in positions.chunks(GRAMS / BASES) {
            let mut count = 0;
            for found in positions {
                let mut levels = found.levels();
                // Most positions have one level.
                while levels != 0 {
                    let gram = Gram::new((levels.trailing_zeros() % 8) as u8, found.number());
                    let bit = gram.hash(window) >> self.filter_shift;
                    let word = self.filter.get((bit / 64) as usize).copied().unwrap_or(0);
                    // Always written, but counted only if it passes, to avoid a branch.
                    grams[count % GRAMS] = gram;
                    count += (word >> (bit % 64) & 1) as usize;
                    levels &= levels - 1;
                }
            }
            for gram in grams.iter().take(count) {
                self.table.verify(gram.level(), gram.hash(window), text, at + gram.position(), hit);
            }
        }
    }
}

/// A part of a text that is processed as a whole.
#[derive(Clone, Copy)]
pub struct Block<'t> {
    /// The bytes of the block, followed by more of the text, or zeros.
    pub window: &'t [u8; WINDOW],
    pub text: &'t [u8],
    /// Offset of the block in the text.
    pub at: usize,
}

/// A possible gram at a position: the level in the high byte, the position in the block in the low
/// byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gram(u16);

impl Gram {
    #[inline(always)]
    pub fn new(level: u8, position: u8) -> Gram {
        Gram(u16::from(level) << 8 | u16::from(position))
    }

    fn level(self) -> Level {
        Level::from_number((self.0 >> 8) as u8)
    }

    fn position(self) -> usize {
        usize::from(self.0 & 0xff)
    }

    #[inline(always)]
    pub fn hash(self, window: &[u8; WINDOW]) -> u64 {
        let eight = window[self.position()..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        self.level().hash_of(eight)
    }
}
