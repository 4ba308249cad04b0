//! The search for many literals in a text: the part of the index that reads every byte of a message.
//!
//! A literal is found by its grams, a few bytes of it that are rare in texts. It has several, one behind the other, so
//! that a text need be looked at only at every second, third or fourth position, as the shortest literal allows. That
//! is done in three steps, each of which leaves little to the next, and the first two of which hardly branch on what
//! they see, since a branch mispredicted costs as much as looking at ten positions:
//!
//! 1. `probes`: where may a gram be? One read of a table, by a hash of four bytes.
//! 2. A filter of one bit a gram, by a hash of all of the gram's bytes.
//! 3. `table`: the literals of the gram, compared with the text.
//!
//! Literals of one byte or two have no grams: `short`. Those of three or four that have a byte seldom seen are found by it: `rare`.
//!
//! # Costs
//!
//! Among natural literals a text costs a third of a nanosecond a byte, and some more for every literal found:
//! with 100,000 literals or more, whose table is larger than the caches, that is an access to memory or two.
//! In the worst case each position of the text has a gram that many literals share: it then costs a
//! comparison with each of those. Below a crowded gram a byte more tells apart, or four, up to sixteen, then
//! thirty-two, sixty-four …, and where many literals have the same end, all of them have fewer and longer grams; so
//! what stays together is short (at most 31 bytes) or equal at its beginning and its end: of all strings of fifteen
//! bytes over two letters, say, some hundred have a gram in common. A scanner takes 6 KB however few its literals are,
//! and of some thousand literals or more a megabyte of addresses, of which those are touched that texts ask for.

mod choice;
mod frequency;
mod gram;
mod probes;
mod rare;
mod short;
mod table;
#[cfg(test)]
mod tests;

use crate::text::fold::fold_within;
use choice::{Choice, choose};
use frequency::Frequency;
use gram::{BASES, Level, load};
use probes::{BLOCK, Position, Positions, Probes, WINDOW};
use rare::Rares;
use short::Shorts;
use std::fmt;
use table::{Grams, Table};

/// Finds which of many literals occur in a text.
pub struct Scanner {
    probes: Probes,
    /// A bit for every gram, by the upper bits of its hash.
    filter: Vec<u64>,
    filter_shift: u32,
    table: Table,
    shorts: Shorts,
    rares: Rares,
    /// The number of literals.
    count: u32,
}

/// The memory that a scan works in, kept from one to the next since clearing it would take as long as reading a short
/// text: nothing is read that the same scan has not written.
#[derive(Clone, Debug)]
pub struct Buffers {
    /// The end of a text, with zeros behind it.
    end: [u8; WINDOW + BEYOND],
    positions: Positions,
    grams: [Gram; GRAMS],
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { end: [0; WINDOW + BEYOND], positions: [Position::default(); 256], grams: [Gram(0); GRAMS] }
    }
}

impl Buffers {
    /// Folds a text where a scan reads it; false when it is too long for that, or when more than its ASCII letters may
    /// fold.
    #[inline]
    pub fn fold(&mut self, text: &[u8]) -> bool {
        fold_within(text, &mut self.end[..BLOCK])
    }

    /// The text that was folded last, of so many bytes.
    #[inline]
    pub fn folded(&self, length: usize) -> &[u8] {
        &self.end[..length.min(BLOCK)]
    }
}

/// The bytes beyond a text's end that are looked at, by probes and of a gram at its last position.
const BEYOND: usize = 64;
/// Room for the grams of positions that are filtered together, [`BASES`] at most each.
const GRAMS: usize = 256;
/// The number of grams that may have more literals than a table counts.
const MOST_CROWDED: usize = 64;
/// The number of bits of the filter for each slot of the table.
const FILTER_BITS: usize = 16;

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner").field("literals", &self.count).finish_non_exhaustive()
    }
}

impl Scanner {
    /// A scanner of these literals, numbered from 0 on. They are expected to be distinct and not empty:
    /// of two that are equal both are found, an empty one gets no number.
    pub fn from_literals<'l>(literals: impl IntoIterator<Item = &'l [u8]>) -> Scanner {
        let literals: Vec<&[u8]> = literals.into_iter().filter(|literal| !literal.is_empty()).collect();
        // Counted first, so that what is rare is known when the first one chooses.
        let mut frequency = Frequency::new();
        literals.iter().for_each(|literal| frequency.count(literal));
        let mut shorts = Shorts::default();
        let numbered = literals.iter().zip(0..).filter(|(literal, number)| !shorts.add(literal, *number));
        let mut numbered: Vec<(&[u8], u32)> = numbered.map(|(literal, number)| (*literal, number)).collect();
        shorts.finish();
        let rares = Rares::take(&mut numbered, &frequency);
        let shortest = numbered.iter().map(|(literal, _)| literal.len()).min().unwrap_or(0);
        let mut step = Probes::step(shortest);
        let scanner = loop {
            let scanner = Scanner::stepping(step, &numbered, &frequency);
            // The fewer grams a literal has, the longer they are: of those that many share, such as an ending.
            if step == 1 || scanner.table.crowded() <= MOST_CROWDED + numbered.len() / 256 {
                break scanner;
            }
            step /= 2;
        };
        Scanner { shorts, rares, count: literals.len() as u32, ..scanner }
    }

    /// A scanner that probes a text at every so manyth position.
    fn stepping(step: usize, literals: &[(&[u8], u32)], frequency: &Frequency) -> Scanner {
        let lengths = literals.iter().map(|(literal, _)| literal.len());
        let mut scanner = Scanner::over(Probes::new(lengths, step), Table::new(literals.len() * step));
        for (literal, number) in literals {
            if let Some(Choice { level, offset, .. }) =
                choose(literal, step, &scanner.probes, frequency, &scanner.table)
            {
                scanner.add(literal, *number, Grams { level, offset, count: step });
            }
        }
        scanner
    }

    /// A scanner with an empty filter.
    fn over(probes: Probes, table: Table) -> Scanner {
        let bits = table.slot_count() * FILTER_BITS;
        let (filter, filter_shift) = (vec![0; bits / 64], 64 - bits.trailing_zeros());
        Scanner {
            probes,
            filter,
            filter_shift,
            table,
            shorts: Shorts::default(),
            rares: Rares::default(),
            count: 0,
        }
    }

    fn add(&mut self, literal: &[u8], number: u32, grams: Grams) {
        let Scanner { probes, filter, filter_shift, table, .. } = self;
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

    /// Reports every place of the text where a literal is: its number, and where it starts. They come in
    /// no order, and some twice.
    #[inline(always)]
    pub fn scan(&self, text: &[u8], buffers: &mut Buffers, mut hit: impl FnMut(u32, usize)) {
        self.shorts.scan(text, &mut hit);
        self.rares.scan(text, &mut hit);
        // Rules over many fields look for nothing in many of them.
        if self.table.is_empty() {
            return;
        }
        let Buffers { end, positions, grams } = buffers;
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let window: &[u8; WINDOW] = match rest.first_chunk() {
                Some(window) => window,
                None => {
                    end[..rest.len()].copy_from_slice(rest);
                    end[rest.len()..rest.len() + BEYOND].fill(0);
                    end.first_chunk().unwrap_or(&[0; WINDOW])
                }
            };
            let (count, next) = self.probes.look(window, rest.len().min(BLOCK), positions);
            if count > 0 {
                let block = Block { window, text, at };
                self.find(&positions[..count.min(256)], block, grams, &mut hit);
            }
            at += next;
        }
    }

    /// The same for a text that [`Buffers::fold`] has left there, of so many bytes.
    #[inline(always)]
    pub fn scan_folded(&self, length: usize, buffers: &mut Buffers, mut hit: impl FnMut(u32, usize)) {
        let Buffers { end, positions, grams } = buffers;
        let length = length.min(BLOCK);
        end[length..length + BEYOND].fill(0);
        let text = &end[..length];
        self.shorts.scan(text, &mut hit);
        self.rares.scan(text, &mut hit);
        if self.table.is_empty() || length == 0 {
            return;
        }
        let window = end.first_chunk().unwrap_or(&[0; WINDOW]);
        let (count, _) = self.probes.look(window, length, positions);
        if count > 0 {
            self.find(&positions[..count.min(256)], Block { window, text, at: 0 }, grams, &mut hit);
        }
    }

    /// Filters the grams that the positions of a block may have, and compares the literals of those that are left.
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
                // Most have one level.
                while levels != 0 {
                    let gram = Gram::new((levels.trailing_zeros() % 8) as u8, found.number());
                    let bit = gram.hash(window) >> self.filter_shift;
                    let word = self.filter.get((bit / 64) as usize).copied().unwrap_or(0);
                    // Written in any case, and counted if it passes: no branch.
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

/// A part of a text that is looked at as a whole.
#[derive(Clone, Copy)]
struct Block<'t> {
    /// Its bytes, with some behind it, or zeros.
    window: &'t [u8; WINDOW],
    text: &'t [u8],
    /// The offset in the text at which it begins.
    at: usize,
}

/// A gram to look for: the level above the position in the block.
#[derive(Clone, Copy, Debug)]
struct Gram(u16);

impl Gram {
    #[inline(always)]
    fn new(level: u8, position: u8) -> Gram {
        Gram(u16::from(level) << 8 | u16::from(position))
    }

    fn level(self) -> Level {
        Level::from_number((self.0 >> 8) as u8)
    }

    fn position(self) -> usize {
        usize::from(self.0 & 0xff)
    }

    #[inline(always)]
    fn hash(self, window: &[u8; WINDOW]) -> u64 {
        let eight = window[self.position()..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        self.level().hash_of(eight)
    }
}
