//! The first stage of a scan, which finds where a gram (a short byte sequence of a literal) may
//! begin. The scan *probes* every `step`-th position of a text: it hashes the four bytes there. A
//! table maps the hash to the levels (length classes) of grams that may begin with these bytes.
//! Texts use few entries of the table, so that these remain in the fastest cache.

use super::gram::{GramLevel, THREE_BYTE_LEVEL};
use rulec_base::broken_invariant;

/// Number of positions that are probed one after another without a branch between them.
const UNROLLED_PROBES: usize = 8;
/// Maximum distance in bytes between two probed positions of a text.
/// Measured in benches/notes/first-look.md, "Distance of probes".
const MAX_PROBE_STEP: usize = 4;
/// Number of positions of a text that are processed together, as a block. The position of a probe
/// must fit into a byte. Probes are made in groups, so the last group may go beyond the block's
/// end. The subtracted number is the room for such a group.
pub const BLOCK_POSITIONS: usize = 256 - UNROLLED_PROBES * MAX_PROBE_STEP;
/// Number of bytes that are read for a block of positions. This includes probes beyond its end, and
/// grams (byte sequences) that begin there.
pub const WINDOW_BYTES: usize = 256 + 32;

/// Buffer for the positions of a block at which a literal's gram (byte sequence) may begin.
pub type ProbePositions = [ProbePosition; 256];

/// A position of a block where a gram (byte sequence) may begin. The high byte has a bit for each
/// length class (level) of gram that is possible there. The low byte is the position.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbePosition(u16);

impl ProbePosition {
    #[inline(always)]
    fn new(number: usize, levels: u8) -> ProbePosition {
        ProbePosition(u16::from(levels) << 8 | number as u16)
    }

    #[inline(always)]
    pub fn offset_in_block(self) -> u8 {
        self.0 as u8
    }

    /// Returns a bit set of gram levels (length classes of byte sequences). If the bit of a level
    /// is set, a gram of this level may begin at the position.
    #[inline(always)]
    pub fn level_bits(self) -> u32 {
        u32::from(self.0) >> 8
    }
}

/// Number of entries of the smallest probe table. There are four sizes of tables; with more grams,
/// a larger table is used.
const TINY_TABLE_SIZE: usize = 1 << 12;
const SMALL_TABLE_SIZE: usize = 1 << 14;
const MEDIUM_TABLE_SIZE: usize = 1 << 17;
const LARGE_TABLE_SIZE: usize = 1 << 20;

/// Number of table entries for a gram (byte sequence) of three bytes. The table is indexed by four
/// bytes, so there is one entry for each value of the fourth byte.
/// Compared with other values in benches/notes/constants.md.
const ENTRIES_PER_THREE_BYTE_GRAM: usize = 256;

/// The table that maps four bytes of a text to the length classes of grams (byte sequences) that
/// may begin there. Also has the distance in bytes between probed positions.
pub struct ProbeTable {
    /// For each hash of four bytes, a bit set of the length classes (levels) of the grams that
    /// begin with such bytes.
    level_bits_by_hash: Box<[u8]>,
    probe_step: usize,
}

/// Returns the index of the entry for four bytes of a text in a probe table with `size` entries.
#[inline(always)]
fn hash_slot(four: u32, size: usize) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> (32 - size.trailing_zeros())) as usize
}

impl ProbeTable {
    /// Returns the largest distance in bytes between probed positions at which every literal of at
    /// least `shortest` bytes is found. With a distance of `n`, a literal needs `n` consecutive
    /// grams (sequences of at least three bytes). One of these then begins at a probed position.
    pub fn step_for_length(shortest: usize) -> usize {
        match shortest {
            0..=3 => 1,
            4 | 5 => 2,
            6 => 3,
            _ => MAX_PROBE_STEP,
        }
    }

    /// Returns the distance in bytes between probed positions of a text.
    #[cfg(test)]
    pub fn probe_step(&self) -> usize {
        self.probe_step
    }

    /// Creates an empty table with room for literals of the given lengths in bytes. A scan probes
    /// only every `step`-th position of a text. Each literal gets `step` consecutive grams (byte
    /// sequences), so one of them begins at a probed position.
    pub fn new(lengths: impl Iterator<Item = usize>, step: usize) -> ProbeTable {
        let entry_count = |length: usize| if length < step + 3 { ENTRIES_PER_THREE_BYTE_GRAM } else { 1 };
        let table_size = match step * lengths.map(entry_count).sum::<usize>() {
            0..=200 => TINY_TABLE_SIZE,
            201..=1_500 => SMALL_TABLE_SIZE,
            1_501..=12_000 => MEDIUM_TABLE_SIZE,
            _ => LARGE_TABLE_SIZE,
        };
        ProbeTable { level_bits_by_hash: vec![0; table_size].into(), probe_step: step }
    }

    /// True if no gram (byte sequence of a literal) that was added so far begins with these four
    /// bytes. A gram that begins with them would add an entry to the table, so that more positions
    /// of texts pass the first stage.
    pub fn is_new_prefix(&self, four: u32) -> bool {
        self.level_bits_by_hash
            .get(hash_slot(four, self.level_bits_by_hash.len()))
            .is_none_or(|levels| *levels == 0)
    }

    /// Records that a gram (byte sequence of a literal) of this length class begins with the four
    /// bytes `four`.
    pub fn add_gram(&mut self, level: GramLevel, four: u32) {
        let is_three = level == THREE_BYTE_LEVEL;
        let (four, entries) =
            if is_three { (four & 0xff_ffff, ENTRIES_PER_THREE_BYTE_GRAM as u32) } else { (four, 1) };
        for next in 0..entries {
            let slot = hash_slot(four | next << 24, self.level_bits_by_hash.len());
            if let Some(levels) = self.level_bits_by_hash.get_mut(slot) {
                *levels |= 1 << level.number();
            }
        }
    }

    /// Writes the positions of a block at which a gram may begin to `positions`. `window` has the
    /// bytes of the block and some bytes after it. `block_len` is the number of bytes in the block;
    /// the last positions may be beyond it. Returns the number of positions, and the position where
    /// the next block begins.
    #[inline(never)]
    pub fn probe_block(
        &self,
        window: &[u8; WINDOW_BYTES],
        block_len: usize,
        positions: &mut ProbePositions,
    ) -> (usize, usize) {
        // The table sizes are compile-time constants, so that no index needs a bounds check.
        match self.level_bits_by_hash.len() {
            TINY_TABLE_SIZE => self.probe_sized_table::<TINY_TABLE_SIZE>(window, block_len, positions),
            SMALL_TABLE_SIZE => self.probe_sized_table::<SMALL_TABLE_SIZE>(window, block_len, positions),
            MEDIUM_TABLE_SIZE => self.probe_sized_table::<MEDIUM_TABLE_SIZE>(window, block_len, positions),
            _ => self.probe_sized_table::<LARGE_TABLE_SIZE>(window, block_len, positions),
        }
    }

    #[inline(always)]
    fn probe_sized_table<const SIZE: usize>(
        &self,
        window: &[u8; WINDOW_BYTES],
        block_len: usize,
        positions: &mut ProbePositions,
    ) -> (usize, usize) {
        let Ok(levels) = (&*self.level_bits_by_hash).try_into() else {
            broken_invariant!("the table of probes has one of the known sizes");
            return (0, block_len);
        };
        match self.probe_step {
            1 => probe_positions::<1, SIZE>(levels, window, block_len, positions),
            2 => probe_positions::<2, SIZE>(levels, window, block_len, positions),
            3 => probe_positions::<3, SIZE>(levels, window, block_len, positions),
            _ => probe_positions::<MAX_PROBE_STEP, SIZE>(levels, window, block_len, positions),
        }
    }
}

#[inline(always)]
fn probe_positions<const STEP: usize, const SIZE: usize>(
    table: &[u8; SIZE],
    window: &[u8; WINDOW_BYTES],
    block_len: usize,
    positions: &mut ProbePositions,
) -> (usize, usize) {
    let (mut count, mut at) = (0, 0);
    while at < block_len
        && let Some(probed_bytes) =
            window.get(at..).and_then(|rest| rest.first_chunk::<{ UNROLLED_PROBES * MAX_PROBE_STEP }>())
    {
        let levels_at = |index: usize| {
            let four = probed_bytes[index * STEP..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
            table[hash_slot(four, SIZE)]
        };
        if (0..UNROLLED_PROBES).fold(0, |all, index| all | levels_at(index)) != 0 {
            for index in 0..UNROLLED_PROBES {
                // Always written, but counted only if it passes, to avoid a branch.
                positions[count & 0xff] = ProbePosition::new(at + index * STEP, levels_at(index));
                count += usize::from(levels_at(index) != 0);
            }
        }
        at += UNROLLED_PROBES * STEP;
    }
    (count, at)
}
