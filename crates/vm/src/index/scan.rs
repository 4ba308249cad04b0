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
//! They are put together in `long`. Literals of one byte or two have no grams: `short`. Those of three or four that have a byte
//! seldom seen are found by it: `rare`.
//!
//! # Costs
//!
//! Among natural literals a text costs a third of a nanosecond a byte, and some more for every literal found:
//! with 100,000 literals or more, whose table is larger than the caches, that is an access to memory or two.
//! In the worst case each position of the text has a gram that many literals share: it then costs a
//! comparison with each of those. Below a crowded gram a byte more tells apart, or four, up to sixteen, then
//! thirty-two, sixty-four …, and where many literals have the same end, all of them have fewer and longer grams; so
//! what stays together is short (at most 31 bytes) or equal at its beginning and its end: of all strings of fifteen
//! bytes over two letters, say, some hundred have a gram in common. A scanner of literals with grams takes 6 KB however few they are,
//! and of some thousand literals or more a megabyte of addresses, of which those are touched that texts ask for.

mod choice;
mod frequency;
mod gram;
mod long;
mod probes;
mod rare;
mod short;
mod table;
#[cfg(test)]
mod tests;

use frequency::Frequency;
use long::{Block, GRAMS, Gram, Longs};
use probes::{BLOCK, Position, Positions, WINDOW};
use rare::Rares;
use rulec_base::text::fold::fold_within;
use short::Shorts;
use std::fmt;

/// Finds which of many literals occur in a text. Each kind of them lies apart: rules over many fields have a scanner for each
/// field, most of which have one kind.
pub struct Scanner {
    longs: Option<Box<Longs>>,
    shorts: Option<Box<Shorts>>,
    rares: Option<Box<Rares>>,
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
        Buffers {
            end: [0; WINDOW + BEYOND],
            positions: [Position::default(); 256],
            grams: [Gram::default(); GRAMS],
        }
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
        let longs = (!numbered.is_empty()).then(|| Longs::new(&numbered, &frequency));
        Scanner {
            longs: longs.map(Box::new),
            shorts: (!shorts.is_empty()).then(|| Box::new(shorts)),
            rares: rares.map(Box::new),
            count: literals.len() as u32,
        }
    }

    /// Reports every place of the text where a literal is: its number, and where it starts. They come in
    /// no order, and some twice.
    #[inline(always)]
    pub fn scan(&self, text: &[u8], buffers: &mut Buffers, mut hit: impl FnMut(u32, usize)) {
        self.scan_apart(text, &mut hit);
        let Some(longs) = &self.longs else { return };
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
            at += longs.scan(Block { window, text, at }, rest.len().min(BLOCK), positions, grams, &mut hit);
        }
    }

    /// The same for a text that [`Buffers::fold`] has left there, of so many bytes.
    #[inline(always)]
    pub fn scan_folded(&self, length: usize, buffers: &mut Buffers, mut hit: impl FnMut(u32, usize)) {
        let Buffers { end, positions, grams } = buffers;
        let length = length.min(BLOCK);
        end[length..length + BEYOND].fill(0);
        let text = &end[..length];
        self.scan_apart(text, &mut hit);
        if let (Some(longs), 1..) = (&self.longs, length) {
            let window = end.first_chunk().unwrap_or(&[0; WINDOW]);
            longs.scan(Block { window, text, at: 0 }, length, positions, grams, &mut hit);
        }
    }

    /// Reports the literals that have no grams.
    #[inline(always)]
    fn scan_apart(&self, text: &[u8], hit: &mut impl FnMut(u32, usize)) {
        if let Some(shorts) = &self.shorts {
            shorts.scan(text, hit);
        }
        if let Some(rares) = &self.rares {
            rares.scan(text, hit);
        }
    }
}
