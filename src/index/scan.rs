//! The search for many literals in a text: the part of the index that reads every byte of a message.
//!
//! A literal is found by a gram, a few bytes of it that are rare in texts. A text is read in three steps,
//! each of which leaves little to the next, and the first two of which do not branch on what they see,
//! since a branch mispredicted costs as much as looking at ten positions:
//!
//! 1. `pairs`: where may a gram be? Two reads of a table that stays in the innermost cache; in Chinese
//!    one position in three.
//! 2. A filter of one bit a gram, by a hash of all of the gram's bytes.
//! 3. `table`: the literals of the gram, compared with the text.
//!
//! # Costs
//!
//! Among natural literals a text costs about a nanosecond a byte, and some more for every literal found:
//! with 100,000 literals or more, whose table is larger than the caches, that is an access to memory or two.
//! In the worst case each position of the text has a gram that many literals share: it then costs a
//! comparison with each of those. A literal goes where few others are, and below a crowded gram of sixteen
//! bytes the next thirty-two, sixty-four … tell apart; so what stays together is short (at most
//! 31 bytes) or equal at its beginning and its end: of all strings of fifteen bytes over two letters,
//! say, some hundred have a gram in common. A scanner takes 20 KB however few its literals are, and of
//! some hundred literals or more half a megabyte of addresses, of which those are touched that texts ask for.

mod choice;
mod frequency;
mod gram;
mod pairs;
mod table;
#[cfg(test)]
mod tests;

use choice::{choose, is_inner};
use frequency::Frequency;
use gram::{BASES, Level, load, second};
use pairs::{BLOCK, FULL, Pairs, Position, Positions, SMALL, Sized, WINDOW, classes_of};
use std::fmt;
use table::Table;

/// Finds which of many literals occur in a text.
pub struct Scanner {
    pairs: Pairs,
    /// A bit for every gram, by the upper bits of its hash.
    filter: Vec<u64>,
    filter_shift: u32,
    table: Table,
    /// True when few positions pass the first look.
    sparse: bool,
    /// True when every gram begins where a character does.
    aligned: bool,
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

/// The bytes beyond a text's end that are looked at, of a gram at its last position.
const BEYOND: usize = 32;

/// Room for the grams that a block's positions may have, [`BASES`] at most a position.
const GRAMS: usize = 128;
/// The number of bits of the filter for each slot of the table.
const FILTER_BITS: usize = 16;
/// Below this share of positions, whether one of eight passes is a branch that is predicted well.
const SPARSE: f32 = 0.03;

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner").field("literals", &self.table.len()).finish_non_exhaustive()
    }
}

impl Scanner {
    /// A scanner of these literals, numbered from 0 on. They are expected to be distinct and not empty:
    /// of two that are equal both are found, an empty one gets no number.
    pub fn from_literals<'l>(literals: impl IntoIterator<Item = &'l [u8]>) -> Scanner {
        let literals: Vec<&[u8]> = literals.into_iter().collect();
        // Counted first, so that what is rare is known when the first one chooses.
        let mut frequency = Frequency::new();
        literals.iter().for_each(|literal| frequency.count(literal));
        let mut scanner = Scanner::over(Pairs::new(literals.len()), Table::new(literals.len()));
        for literal in literals.into_iter().filter(|literal| !literal.is_empty()) {
            let choice = choose(literal, &scanner.pairs, &frequency, &scanner.table);
            let gram = &literal[choice.offset.into()..];
            if let Some(hash) = scanner.table.insert(choice.level, literal, choice.offset) {
                scanner.set_filter(hash);
                scanner.pairs.add(choice.level, load(gram, 0) as u32, |pair| frequency.of_pair(pair));
                scanner.aligned &= !gram.first().is_some_and(|byte| is_inner(*byte));
            }
        }
        scanner.sparse = scanner.pairs.share() < SPARSE;
        scanner
    }

    /// A scanner with an empty filter.
    fn over(pairs: Pairs, table: Table) -> Scanner {
        let bits = table.slot_count() * FILTER_BITS;
        let (filter, filter_shift) = (vec![0; bits / 64], 64 - bits.trailing_zeros());
        Scanner { pairs, filter, filter_shift, table, sparse: true, aligned: true }
    }

    fn set_filter(&mut self, hash: u64) {
        let bit = hash >> self.filter_shift;
        if let Some(word) = self.filter.get_mut((bit / 64) as usize) {
            *word |= 1 << (bit % 64);
        }
    }

    /// Reports every place of the text where a literal is: its number, and where it starts. They come in
    /// no order, and some twice.
    pub fn scan(&self, text: &[u8], buffers: &mut Buffers, hit: impl FnMut(u32, usize)) {
        if self.table.len() == 0 {
            // Rules over many fields look for nothing in many of them.
        } else if let Some(pairs) = self.pairs.sized::<FULL>() {
            self.scan_by(pairs, text, buffers, hit);
        } else if let Some(pairs) = self.pairs.sized::<SMALL>() {
            self.scan_by(pairs, text, buffers, hit);
        }
    }

    #[inline]
    fn scan_by<const SIZE: usize>(
        &self,
        pairs: Sized<'_, SIZE>,
        text: &[u8],
        buffers: &mut Buffers,
        mut hit: impl FnMut(u32, usize),
    ) {
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
            let length = rest.len().min(BLOCK);
            let (count, next) = match self.sparse {
                true => pairs.look::<true>(window, length, self.aligned, positions),
                false => pairs.look::<false>(window, length, self.aligned, positions),
            };
            if count > 0 {
                let block = Block { window, text, at };
                self.find(&positions[..count.min(256)], block, grams, &mut hit);
            }
            at += next;
        }
    }

    /// Collects the grams that the positions of a block may have, and has them verified.
    #[inline(always)]
    fn find(
        &self,
        positions: &[Position],
        block: Block<'_>,
        grams: &mut [Gram; GRAMS],
        hit: &mut impl FnMut(u32, usize),
    ) {
        let mut count = 0;
        for found in positions {
            let position = found.number();
            // Most have classes of one level, some of two: the second is written, and counted if it is one.
            let (level, rest) = split(found.classes());
            grams[count % GRAMS] = Gram::new(level, position);
            let (level, mut others) = split(rest);
            grams[(count + 1) % GRAMS] = Gram::new(level, position);
            count += 1 + usize::from(rest != 0);
            while others != 0 {
                let (level, after) = split(others);
                grams[count % GRAMS] = Gram::new(level, position);
                count += 1;
                others = after;
            }
            if count > GRAMS - BASES {
                self.verify(grams, count, block, hit);
                count = 0;
            }
        }
        self.verify(grams, count, block, hit);
    }

    /// Filters the grams, and compares the literals of those that are left.
    #[inline(always)]
    fn verify(
        &self,
        grams: &mut [Gram; GRAMS],
        count: usize,
        Block { window, text, at }: Block<'_>,
        hit: &mut impl FnMut(u32, usize),
    ) {
        let mut kept = 0;
        for index in 0..count.min(GRAMS) {
            let gram = grams[index];
            let bit = gram.hash(window) >> self.filter_shift;
            let word = self.filter.get((bit / 64) as usize).copied().unwrap_or(0);
            grams[kept % GRAMS] = gram;
            kept += (word >> (bit % 64) & 1) as usize;
        }
        for gram in grams.iter().take(kept) {
            self.table.verify(gram.level(), gram.hash(window), text, at + gram.position(), hit);
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
        let base = usize::from(self.0 >> 8) % BASES;
        let load = |at: usize| window[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        gram::hash(base, load(self.position()), load(self.position() + second(base)))
    }
}

/// The level of the lowest class, and the classes of the other levels.
#[inline(always)]
fn split(classes: u64) -> (u8, u64) {
    let (level, same) = LEVELS[classes.trailing_zeros() as usize % 64];
    (level, classes & !same)
}

/// The level of each class, and all its classes.
const LEVELS: [(u8, u64); 64] = {
    let mut all = [(0, 0); 64];
    let mut level = 0;
    while level < BASES as u8 {
        let classes = classes_of(Level::from_number(level));
        let mut class = 0;
        while class < 64 {
            if classes >> class & 1 == 1 {
                all[class] = (level, classes);
            }
            class += 1;
        }
        level += 1;
    }
    all
};
