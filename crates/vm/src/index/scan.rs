//! Searches a text for many literals. This is the part of the index that reads every byte of a
//! message.
//!
//! A literal is found by its gram: a sequence of up to eight of its bytes that is rare in texts.
//! The search *probes* a text: it hashes four or five bytes. The gram has room for a probe at
//! several consecutive offsets. So only every second, third or fourth position of a text must be
//! probed. The distance between probed positions depends on the shortest literal. The search has
//! three stages, each of which leaves few candidates.
//!
//! 1. `probes`: finds positions that may lie in a gram. One table lookup for each probed position.
//!    The entry says which lengths the gram may have, and at which offset of it the probe may lie.
//! 2. `filter`: looks up the whole gram, for each of these lengths and offsets, in a Bloom filter.
//! 3. `table`: finds the literals that have the gram, and compares them with the text.
//!
//! `long` combines the stages. Literals of one or two bytes have no grams, see `short`. Literals of
//! three or four bytes with a rare byte may be found by that byte, see `rare`.
//!
//! # Costs
//!
//! With natural literals, the scan of a text takes a third of a nanosecond per byte, and more time
//! for every literal found. From 100,000 literals on, the table exceeds the caches, so each literal
//! found costs one or two memory accesses.
//!
//! In the worst case, each position of the text has a gram that many literals share. Each such
//! position costs a comparison with each of these literals. To limit the comparisons, the literals
//! of such a crowded gram get longer grams. The lengths grow byte by byte up to eight, then to 12,
//! 16, 32, 64 and so on. After this, a gram is shared only by short literals (up to 31 bytes), or
//! by literals with equal beginning and end. For example, of all strings of fifteen bytes over two
//! letters, some hundred share a gram.
//!
//! A scanner with grams takes at least 6 KB. From some thousand literals on, it takes a megabyte of
//! address space, of which only the parts that texts probe are touched.

mod filter;
mod frequency;
mod gram;
mod gram_selection;
mod long;
mod probes;
mod rare;
mod short;
mod table;
#[cfg(test)]
mod tests;

use frequency::ByteFrequency;
use long::{LongLiterals, TextBlock};
use probes::{BLOCK_POSITIONS, MAX_PROBE_STEP, ProbePosition, ProbePositions, WINDOW_BYTES};
use rare::RareByteLiterals;
use rulec_base::text::fold::fold_into_slice;
use short::ShortLiterals;
use std::fmt;

/// A searcher that finds many literals in a text at once. Rules over many fields have a scanner for
/// each field. Most scanners have only one kind of literal: long, short or with a rare byte. To
/// save memory, each kind has a separate allocation, which other scanners do not need.
pub struct LiteralScanner {
    long_literals: Option<Box<LongLiterals>>,
    short_literals: Option<Box<ShortLiterals>>,
    rare_byte_literals: Option<Box<RareByteLiterals>>,
    /// Number of literals that the scanner searches for. Empty literals are not counted.
    literal_count: u32,
}

/// Working memory of a scan. The memory is reused without clearing, because clearing would take as
/// long as reading a short text. A scan reads only bytes that it has written itself.
#[derive(Clone, Debug)]
pub struct ScanBuffers {
    /// The bytes that are scanned in this buffer instead of the text itself: a whole folded text,
    /// or the last bytes of an unfolded text, fewer than [`WINDOW_BYTES`]. During a scan,
    /// [`PADDING_BYTES`] zeros follow these bytes.
    scan_bytes: [u8; WINDOW_BYTES + PADDING_BYTES],
    positions: ProbePositions,
}

impl Default for ScanBuffers {
    fn default() -> ScanBuffers {
        ScanBuffers {
            scan_bytes: [0; WINDOW_BYTES + PADDING_BYTES],
            positions: [ProbePosition::default(); 256],
        }
    }
}

impl ScanBuffers {
    /// Folds the case of a text into the scan buffer. Returns false if the text is too long, or if
    /// folding might change characters other than ASCII letters.
    #[inline]
    pub fn fold_text(&mut self, text: &[u8]) -> bool {
        fold_into_slice(text, &mut self.scan_bytes[..BLOCK_POSITIONS])
    }

    /// Returns the text that was folded last, which has `length` bytes.
    #[inline]
    pub fn folded_text(&self, length: usize) -> &[u8] {
        &self.scan_bytes[..length.min(BLOCK_POSITIONS)]
    }
}

/// Number of bytes that a scan may read beyond a text's end. The last probes read there, and so
/// does the hash of a gram (byte sequence) at the last position.
const PADDING_BYTES: usize = 64;

impl fmt::Debug for LiteralScanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner").field("literals", &self.literal_count).finish_non_exhaustive()
    }
}

impl LiteralScanner {
    /// Builds a scanner for literals. Empty literals are skipped. The id of any other literal is
    /// its position among the literals that are not empty, counted from 0. The literals should be
    /// distinct; equal literals are both found.
    pub fn from_literals<'l>(literals: impl IntoIterator<Item = &'l [u8]>) -> LiteralScanner {
        let literals: Vec<&[u8]> = literals.into_iter().filter(|literal| !literal.is_empty()).collect();
        // All literals are counted before the gram of the first one is chosen, so that rare grams
        // are known.
        let mut frequency = ByteFrequency::new();
        literals.iter().for_each(|literal| frequency.count_literal(literal));
        let mut short_literals = ShortLiterals::default();
        let numbered_literals = literals
            .iter()
            .zip(0..)
            .filter(|(literal, number)| !short_literals.add_if_short(literal, *number));
        let mut numbered_literals: Vec<(&[u8], u32)> =
            numbered_literals.map(|(literal, number)| (*literal, number)).collect();
        short_literals.sort_literals();
        let rare_byte_literals = RareByteLiterals::take_short_literals(&mut numbered_literals, &frequency);
        let long_literals =
            (!numbered_literals.is_empty()).then(|| LongLiterals::new(&numbered_literals, &frequency));
        LiteralScanner {
            long_literals: long_literals.map(Box::new),
            short_literals: (!short_literals.is_empty()).then(|| Box::new(short_literals)),
            rare_byte_literals: rare_byte_literals.map(Box::new),
            literal_count: literals.len() as u32,
        }
    }

    /// Calls `hit` with the id and the start of each occurrence of a literal. The order is
    /// arbitrary, and an occurrence may be reported twice.
    #[inline(always)]
    pub fn scan(&self, text: &[u8], buffers: &mut ScanBuffers, mut hit: impl FnMut(u32, usize)) {
        self.scan_short_and_rare(text, &mut hit);
        let Some(long_literals) = &self.long_literals else { return };
        let ScanBuffers { scan_bytes: text_end, positions } = buffers;
        let mut position = 0;
        while position < text.len() {
            // A gram may begin in the block before, up to three bytes before the first probe.
            let lead = position.min(MAX_PROBE_STEP);
            let block_offset = position - lead;
            let remaining_text = &text[block_offset..];
            let window: &[u8; WINDOW_BYTES] = match remaining_text.first_chunk() {
                Some(window) => window,
                None => {
                    text_end[..remaining_text.len()].copy_from_slice(remaining_text);
                    text_end[remaining_text.len()..remaining_text.len() + PADDING_BYTES].fill(0);
                    text_end.first_chunk().unwrap_or(&[0; WINDOW_BYTES])
                }
            };
            position = block_offset
                + long_literals.scan_block(
                    TextBlock { window, text, block_offset },
                    (lead, remaining_text.len().min(BLOCK_POSITIONS)),
                    positions,
                    &mut hit,
                );
        }
    }

    /// Scans the text of `length` bytes that [`ScanBuffers::fold_text`] left in the buffers. Calls
    /// `hit` with the id and the start of each occurrence of a literal.
    #[inline(always)]
    pub fn scan_folded(&self, length: usize, buffers: &mut ScanBuffers, mut hit: impl FnMut(u32, usize)) {
        let ScanBuffers { scan_bytes: text_end, positions } = buffers;
        let length = length.min(BLOCK_POSITIONS);
        text_end[length..length + PADDING_BYTES].fill(0);
        let text = &text_end[..length];
        self.scan_short_and_rare(text, &mut hit);
        if let (Some(long_literals), 1..) = (&self.long_literals, length) {
            let window = text_end.first_chunk().unwrap_or(&[0; WINDOW_BYTES]);
            long_literals.scan_block(
                TextBlock { window, text, block_offset: 0 },
                (0, length),
                positions,
                &mut hit,
            );
        }
    }

    /// Finds the literals that are not found by grams (byte sequences): literals of one or two
    /// bytes, and literals with a rare byte.
    #[inline(always)]
    fn scan_short_and_rare(&self, text: &[u8], hit: &mut impl FnMut(u32, usize)) {
        if let Some(short_literals) = &self.short_literals {
            short_literals.scan_text(text, hit);
        }
        if let Some(rare_byte_literals) = &self.rare_byte_literals {
            rare_byte_literals.scan_text(text, hit);
        }
    }
}
