//! Searches a text for literals of at least three bytes, by their grams (short sequences of their
//! bytes).

use super::filter::GramFilter;
use super::frequency::ByteFrequency;
use super::gram::load_eight_bytes;
use super::gram_selection::choose_gram;
use super::probes::{ProbePosition, ProbePositions, ProbeTable, Probing, WINDOW_BYTES};
use super::table::GramTable;

/// The search for literals by their grams (byte sequences), in three stages: a table that shows
/// where in a text a gram may be, a filter, and a hash table.
pub struct LongLiterals {
    pub probes: ProbeTable,
    pub filter: GramFilter,
    pub table: GramTable,
}

impl LongLiterals {
    /// Builds the search from pairs of a literal and its id. `frequency` estimates which byte
    /// sequences are rare in texts, so that each literal is found by its rarest one.
    pub fn new(literals: &[(&[u8], u32)], frequency: &ByteFrequency) -> LongLiterals {
        let lengths = literals.iter().map(|(literal, _)| literal.len());
        let probing = Probing::for_literals(lengths.clone());
        let mut probes = ProbeTable::new(lengths, probing);
        let mut filter = GramFilter::new(literals.len(), probing);
        let mut table = GramTable::new(literals.len());
        for (literal, number) in literals {
            let Some(gram) = choose_gram(literal, &probes, frequency, &table) else { continue };
            let offset = usize::from(gram.offset);
            for probe_offset in 0..probing.step {
                let class = gram.first_class + probe_offset;
                probes.add_probe(class, &literal[offset + probe_offset..]);
            }
            filter.add_gram(gram.first_class, load_eight_bytes(literal, offset));
            table.insert_literal(literal, *number, gram.level, gram.offset);
        }
        LongLiterals { probes, filter, table }
    }

    /// Calls `hit` with the id and the start of each literal found in a block of `block_len` bytes.
    /// The first `first` bytes of the block were probed with the block before. Returns the offset
    /// in the block from which the next block is probed. Positions are probed in groups, so this
    /// offset may be greater than `block_len`. `positions` is working memory.
    #[inline(always)]
    pub fn scan_block(
        &self,
        block: TextBlock<'_>,
        (first, block_len): (usize, usize),
        positions: &mut ProbePositions,
        hit: &mut impl FnMut(u32, usize),
    ) -> usize {
        let (count, next) = self.probes.probe_block(block.window, first, block_len, positions);
        if count > 0 {
            self.find_literals(&positions[..count.min(256)], block, hit);
        }
        next
    }

    /// Filters the grams (byte sequences) at the positions that passed the first stage. For the
    /// grams that pass, compares the text with the literals that have the gram.
    #[inline(always)]
    fn find_literals(
        &self,
        positions: &[ProbePosition],
        TextBlock { window, text, block_offset }: TextBlock<'_>,
        hit: &mut impl FnMut(u32, usize),
    ) {
        self.filter.find_grams(positions, window, |class, position| {
            let level = class.level();
            let hash = level.hash_eight_bytes(load_eight_bytes(window, position));
            self.table.report_literals(level, hash, text, block_offset + position, hit);
        });
    }
}

/// A block of a text: some hundred bytes that the stages of the search process together.
#[derive(Clone, Copy)]
pub struct TextBlock<'t> {
    /// The bytes of the block, followed by the next bytes of the text. Bytes beyond the end of the
    /// text are zero.
    pub window: &'t [u8; WINDOW_BYTES],
    pub text: &'t [u8],
    /// Offset in bytes of the block from the start of the text.
    pub block_offset: usize,
}
