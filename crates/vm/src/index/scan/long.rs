//! Searches a text for literals of at least three bytes, by their grams (short sequences of their
//! bytes).

use super::frequency::ByteFrequency;
use super::gram::{BASE_LEVEL_COUNT, GramLevel, load_eight_bytes};
use super::gram_selection::{GramChoice, choose_grams};
use super::probes::{ProbePosition, ProbePositions, ProbeTable, WINDOW_BYTES};
use super::table::{GramTable, LiteralGrams};

/// Capacity of the buffer for grams (byte sequences) that are filtered together. Up to
/// [`BASE_LEVEL_COUNT`] grams of different lengths may begin at one position. So
/// `GRAM_BUFFER_LEN / BASE_LEVEL_COUNT` positions are filtered at a time.
pub const GRAM_BUFFER_LEN: usize = 256;
/// Maximum number of records (one for each gram of a literal) that a search stores under grams
/// which many literals share already. Such grams slow down a scan. The maximum is one higher for
/// every 256 literals. If it is exceeded, the search is built again with half the distance between
/// probed positions. Then each literal has fewer and longer grams, which fewer literals share.
/// Compared with other values in benches/notes/constants.md.
pub const MAX_CROWDED_RECORDS: usize = 64;
/// Number of bits in the filter for each slot of the hash table. With more bits, fewer positions of
/// a text pass the filter without having a gram.
/// Compared with other values in benches/notes/constants.md.
const FILTER_BITS_PER_SLOT: usize = 16;

/// The search for literals by their grams (byte sequences), in three stages: a table that shows
/// where in a text a gram may begin, a filter, and a hash table.
pub struct LongLiterals {
    pub probes: ProbeTable,
    /// Filter with a set bit for each gram (byte sequence of a literal). The upper bits of the
    /// gram's hash are the index of its bit.
    pub filter: Box<[u64]>,
    pub filter_shift: u32,
    pub table: GramTable,
}

impl LongLiterals {
    /// Builds the search from pairs of a literal and its id. `frequency` estimates which byte
    /// sequences are rare in texts, so that each literal is found by its rarest ones.
    pub fn new(literals: &[(&[u8], u32)], frequency: &ByteFrequency) -> LongLiterals {
        let shortest = literals.iter().map(|(literal, _)| literal.len()).min().unwrap_or(0);
        let mut step = ProbeTable::step_for_length(shortest);
        loop {
            let search = LongLiterals::with_step(step, literals, frequency);
            // With fewer grams, each gram is longer. This helps if many literals share a gram, such
            // as an ending.
            if step == 1 || search.table.crowded_record_count() <= MAX_CROWDED_RECORDS + literals.len() / 256
            {
                return search;
            }
            step /= 2;
        }
    }

    /// Builds a search that probes every `step`-th position of a text.
    fn with_step(step: usize, literals: &[(&[u8], u32)], frequency: &ByteFrequency) -> LongLiterals {
        let lengths = literals.iter().map(|(literal, _)| literal.len());
        let (probes, table) = (ProbeTable::new(lengths, step), GramTable::new(literals.len() * step));
        let filter_bits = table.slot_count() * FILTER_BITS_PER_SLOT;
        let (filter, filter_shift) = (vec![0; filter_bits / 64].into(), 64 - filter_bits.trailing_zeros());
        let mut search = LongLiterals { probes, filter, filter_shift, table };
        for (literal, number) in literals {
            if let Some(GramChoice { level, first_gram_offset: offset, .. }) =
                choose_grams(literal, step, &search.probes, frequency, &search.table)
            {
                search.add_literal(
                    literal,
                    *number,
                    LiteralGrams { level, first_gram_offset: offset, gram_count: step },
                );
            }
        }
        search
    }

    fn add_literal(&mut self, literal: &[u8], literal_id: u32, grams: LiteralGrams) {
        let LongLiterals { probes, filter, filter_shift, table } = self;
        table.insert_literal(literal, literal_id, grams, |hash| {
            let bit = hash >> *filter_shift;
            if let Some(word) = filter.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
        });
        for offset in
            usize::from(grams.first_gram_offset)..usize::from(grams.first_gram_offset) + grams.gram_count
        {
            probes.add_gram(grams.level, load_eight_bytes(literal, offset) as u32);
        }
    }

    /// Calls `hit` with the id and the start of each literal found in a block of `block_len` bytes.
    /// Returns the offset in the block at which the next block begins. Positions are probed in
    /// groups, so this offset may be greater than `block_len`. `positions` and `grams` are working
    /// memory.
    #[inline(always)]
    pub fn scan_block(
        &self,
        block: TextBlock<'_>,
        block_len: usize,
        positions: &mut ProbePositions,
        grams: &mut [GramPosition; GRAM_BUFFER_LEN],
        hit: &mut impl FnMut(u32, usize),
    ) -> usize {
        let (count, next) = self.probes.probe_block(block.window, block_len, positions);
        if count > 0 {
            self.find_literals(&positions[..count.min(256)], block, grams, hit);
        }
        next
    }

    /// Filters the grams (byte sequences) at the positions that passed the first stage. For the
    /// grams that pass, compares the text with the literals that contain the gram.
    #[inline(always)]
    fn find_literals(
        &self,
        positions: &[ProbePosition],
        TextBlock { window, text, block_offset: at }: TextBlock<'_>,
        grams: &mut [GramPosition; GRAM_BUFFER_LEN],
        hit: &mut impl FnMut(u32, usize),
    ) {
        for positions in positions.chunks(GRAM_BUFFER_LEN / BASE_LEVEL_COUNT) {
            let mut count = 0;
            for position in positions {
                let mut levels = position.level_bits();
                // One iteration for each level of gram; most positions have one.
                while levels != 0 {
                    let gram =
                        GramPosition::new((levels.trailing_zeros() % 8) as u8, position.offset_in_block());
                    let bit = gram.hash(window) >> self.filter_shift;
                    let word = self.filter.get((bit / 64) as usize).copied().unwrap_or(0);
                    // Always written, but counted only if it passes, to avoid a branch.
                    grams[count % GRAM_BUFFER_LEN] = gram;
                    count += (word >> (bit % 64) & 1) as usize;
                    levels &= levels - 1;
                }
            }
            for gram in grams.iter().take(count) {
                self.table.report_literals(gram.level(), gram.hash(window), text, at + gram.position(), hit);
            }
        }
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

/// A possible gram (byte sequence of a literal) at a position of a block. The high byte is the
/// gram's length class, the low byte is the position.
#[derive(Clone, Copy, Debug, Default)]
pub struct GramPosition(u16);

impl GramPosition {
    #[inline(always)]
    pub fn new(level: u8, position: u8) -> GramPosition {
        GramPosition(u16::from(level) << 8 | u16::from(position))
    }

    fn level(self) -> GramLevel {
        GramLevel::from_number((self.0 >> 8) as u8)
    }

    fn position(self) -> usize {
        usize::from(self.0 & 0xff)
    }

    #[inline(always)]
    pub fn hash(self, window: &[u8; WINDOW_BYTES]) -> u64 {
        let eight = window[self.position()..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        self.level().hash_eight_bytes(eight)
    }
}
