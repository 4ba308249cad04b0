//! The first stage of a scan, which finds where a gram (a short byte sequence of a literal) may be.
//! The scan *probes* every `step`-th position of a text: it hashes the four or five bytes there. A
//! table maps the hash to the classes of grams that may contain these bytes. Texts use few entries
//! of the table, so that these remain in the fastest cache.

use super::gram::{GramLevel, load_eight_bytes};
use rulec_base::broken_invariant;

/// Number of positions that are probed one after another without a branch between them.
/// Measured in benches/notes/plain.md, "One gram for each literal".
const UNROLLED_PROBES: usize = 2;
/// Maximum distance in bytes between two probed positions of a text.
/// Measured in benches/notes/first-look.md, "Distance of probes".
pub const MAX_PROBE_STEP: usize = 4;
/// Number of positions of a text that are processed together, as a block. The position of a probe
/// must fit into a byte. Probes are made in groups, so the last group may go beyond the block's
/// end. The subtracted number is the room for such a group.
pub const BLOCK_POSITIONS: usize = 256 - UNROLLED_PROBES * MAX_PROBE_STEP;
/// Number of bytes that are read for a block of positions. This includes probes beyond its end, and
/// grams (byte sequences) that begin there.
pub const WINDOW_BYTES: usize = 256 + 40;
/// Number of bytes from which a group of probes reads.
const PROBED_BYTES: usize = UNROLLED_PROBES * MAX_PROBE_STEP + 4;

/// How a scan probes a text: every `step`-th position is probed, and a probe hashes `bytes` bytes,
/// four or five.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probing {
    pub step: usize,
    pub bytes: usize,
}

/// Number of literals from which a probe hashes five bytes. With more literals, most sequences of
/// four bytes in a text occur in some literal. Measured in benches/notes/plain.md, "One gram for
/// each literal".
const MIN_LITERALS_FOR_FIVE_BYTES: usize = 4_000;
impl Probing {
    /// Returns the probing for literals with the given lengths in bytes.
    pub fn for_literals(lengths: impl Iterator<Item = usize> + Clone) -> Probing {
        let (count, shortest) = (lengths.clone().count(), lengths.clone().min().unwrap_or(0));
        // A literal may be one byte too short for its last probe of five bytes. Few literals may
        // be, because each of them has many entries in the table.
        let has_few_incomplete_probes = |step: &usize| {
            let incomplete_probes = lengths.clone().filter(|length| *length < step + 4).count();
            shortest >= step + 3 && incomplete_probes * ENTRIES_PER_INCOMPLETE_PROBE <= count
        };
        match (2..=MAX_PROBE_STEP).rev().find(has_few_incomplete_probes) {
            Some(step) if count >= MIN_LITERALS_FOR_FIVE_BYTES => Probing { step, bytes: 5 },
            _ => Probing { step: Probing::step_for_length(shortest), bytes: 4 },
        }
    }

    /// Returns the largest distance in bytes between probes of four bytes at which every literal of
    /// at least `shortest` bytes is found. With a distance of `n`, a probe must fit at `n`
    /// consecutive offsets of a literal. One of these is then at a probed position. The last probe
    /// may have one byte beyond the literal, which can have any value.
    pub fn step_for_length(shortest: usize) -> usize {
        match shortest {
            0..=3 => 1,
            4 | 5 => 2,
            6 => 3,
            _ => MAX_PROBE_STEP,
        }
    }

    /// Returns the classes of grams (byte sequences) for this probing.
    pub fn classes(self) -> &'static [GramClass; 8] {
        let classes = if self.bytes == 4 { &FOUR_BYTE_CLASSES } else { &FIVE_BYTE_CLASSES };
        &classes[(self.step - 1) % MAX_PROBE_STEP]
    }

    /// Returns the number of the class for the gram (byte sequence) of a literal with `length`
    /// bytes. In this class, a probe lies at the start of the gram. The next `step - 1` classes
    /// have the same gram, and a probe at the following offsets. `None` if the literal is too
    /// short.
    pub fn first_class_for(self, length: usize) -> Option<usize> {
        let classes = self.classes().iter().enumerate().filter(|(_, class)| class.probe_offset == 0);
        let fitting = classes.filter(|(_, class)| class.gram_bytes() <= length);
        fitting.max_by_key(|(_, class)| class.gram_bytes()).map(|(number, _)| number)
    }
}

/// A class of grams (byte sequences): their length, and the offset of the probe in the gram. A
/// probe lies at the first `step` offsets of a gram. So there is a class for each length and
/// offset.
#[derive(Clone, Copy, Debug)]
pub struct GramClass {
    /// Number of bits by which eight bytes of a text are shifted, so that only the gram is left.
    pub unused_bits: u8,
    pub probe_offset: u8,
}

/// The unused elements of the lists of classes. A gram of this class would have more bytes than any
/// gram has, so no literal gets it.
const NO_CLASS: GramClass = GramClass { unused_bits: 0, probe_offset: u8::MAX };

impl GramClass {
    /// Returns the classes of grams with the given lengths in bytes, for a distance `step` of
    /// probes. There is room for eight classes, because the probe table has a bit for each.
    const fn list<const N: usize>(gram_lengths: [u8; N], step: usize) -> [GramClass; 8] {
        let mut classes = [NO_CLASS; 8];
        let mut number = 0;
        while number < N * step {
            let unused_bits = 64 - 8 * gram_lengths[number / step];
            classes[number] = GramClass { unused_bits, probe_offset: (number % step) as u8 };
            number += 1;
        }
        classes
    }

    pub const fn gram_bytes(self) -> usize {
        8 - self.unused_bits as usize / 8
    }

    pub fn level(self) -> GramLevel {
        GramLevel::from_gram_bytes(self.gram_bytes())
    }
}

/// The classes of grams (byte sequences) for probes of four bytes, by the distance of the probes
/// minus one. Each literal gets a gram of the greatest length that it has room for. Lengths are
/// left out where there would be more than eight classes.
static FOUR_BYTE_CLASSES: [[GramClass; 8]; MAX_PROBE_STEP] = [
    GramClass::list([3, 4, 5, 6, 7, 8], 1),
    GramClass::list([4, 5, 6, 8], 2),
    GramClass::list([6, 8], 3),
    GramClass::list([7, 8], 4),
];
/// The same for probes of five bytes. These are at every second position or farther apart, so the
/// first element is not used.
static FIVE_BYTE_CLASSES: [[GramClass; 8]; MAX_PROBE_STEP] = [
    GramClass::list([5, 6, 7, 8], 1),
    GramClass::list([5, 6, 7, 8], 2),
    GramClass::list([6, 8], 3),
    GramClass::list([7, 8], 4),
];

/// Buffer for the positions of a block at which a literal's gram (byte sequence) may be.
pub type ProbePositions = [ProbePosition; 256];

/// A probed position of a block that may lie in a gram (byte sequence). The high byte has a bit for
/// each class of gram that is possible there. The low byte is the position.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbePosition(u16);

impl ProbePosition {
    #[inline(always)]
    fn new(number: usize, classes: u8) -> ProbePosition {
        ProbePosition(u16::from(classes) << 8 | number as u16)
    }

    #[inline(always)]
    pub fn offset_in_block(self) -> u8 {
        self.0 as u8
    }

    /// Returns a bit set of classes of grams (byte sequences). If the bit of a class is set, the
    /// position may lie in a gram of this class.
    #[inline(always)]
    pub fn class_bits(self) -> u8 {
        (self.0 >> 8) as u8
    }
}

/// Number of entries of the smallest probe table. There are four sizes of tables; with more grams,
/// a larger table is used.
/// Measured in benches/notes/first-look.md, "Size of the table".
const TINY_TABLE_SIZE: usize = 1 << 12;
const SMALL_TABLE_SIZE: usize = 1 << 14;
const MEDIUM_TABLE_SIZE: usize = 1 << 17;
const LARGE_TABLE_SIZE: usize = 1 << 20;

/// Number of table entries for a probe whose last byte lies beyond its literal. There is one entry
/// for each value of this byte.
/// Compared with other values in benches/notes/constants.md.
const ENTRIES_PER_INCOMPLETE_PROBE: usize = 256;

/// The table that maps four or five bytes of a text to the classes of grams (byte sequences) that
/// may contain them.
pub struct ProbeTable {
    /// For each hash of a probe's bytes, a bit set of the classes of grams with such bytes.
    class_bits_by_hash: Box<[u8]>,
    probing: Probing,
}

/// Returns the index of the entry for four bytes of a text in a probe table with `size` entries.
#[inline(always)]
fn hash_four_bytes(four: u32, size: usize) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> (32 - size.trailing_zeros())) as usize
}

/// Returns the index of the entry for the first five bytes of `eight` in a probe table with `size`
/// entries.
#[inline(always)]
fn hash_five_bytes(eight: u64, size: usize) -> usize {
    ((eight << 24).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - size.trailing_zeros())) as usize
}

impl ProbeTable {
    pub fn probing(&self) -> Probing {
        self.probing
    }

    /// Creates an empty table with room for the grams (byte sequences) of literals with the given
    /// lengths in bytes. A literal has an entry for each offset of a probe in its gram.
    pub fn new(lengths: impl Iterator<Item = usize>, probing: Probing) -> ProbeTable {
        let entry_count = |length: usize| {
            if length < probing.step + probing.bytes - 1 { ENTRIES_PER_INCOMPLETE_PROBE } else { 1 }
        };
        let table_size = match probing.step * lengths.map(entry_count).sum::<usize>() {
            0..=200 => TINY_TABLE_SIZE,
            201..=1_500 => SMALL_TABLE_SIZE,
            1_501..=12_000 => MEDIUM_TABLE_SIZE,
            _ => LARGE_TABLE_SIZE,
        };
        ProbeTable { class_bits_by_hash: vec![0; table_size].into(), probing }
    }

    fn hash_slot(&self, eight: u64) -> usize {
        let size = self.class_bits_by_hash.len();
        if self.probing.bytes == 4 {
            hash_four_bytes(eight as u32, size)
        } else {
            hash_five_bytes(eight, size)
        }
    }

    /// True if no gram (byte sequence of a literal) that was added so far has a probe with the
    /// first bytes of `eight`. A gram with such a probe would add an entry to the table, so that
    /// more positions of texts pass the first stage.
    pub fn is_new_probe(&self, eight: u64) -> bool {
        self.class_bits_by_hash.get(self.hash_slot(eight)).is_none_or(|classes| *classes == 0)
    }

    /// Records that a gram (byte sequence of a literal) of the class with this number has a probe
    /// with the first bytes of `rest`. These are the bytes of the literal from the probe on. There
    /// may be one byte less than a probe has.
    pub fn add_probe(&mut self, class: usize, rest: &[u8]) {
        let eight = load_eight_bytes(rest, 0);
        let (last_byte, entries) = match rest.len() < self.probing.bytes {
            true => (8 * rest.len(), ENTRIES_PER_INCOMPLETE_PROBE as u64),
            false => (0, 1),
        };
        for value in 0..entries {
            let slot = self.hash_slot(eight | value << last_byte);
            if let Some(classes) = self.class_bits_by_hash.get_mut(slot) {
                *classes |= 1 << (class % 8);
            }
        }
    }

    /// Writes the positions of a block that may lie in a gram to `positions`. `window` has the
    /// bytes of the block and some bytes after it. `first` is the first position to probe, and
    /// `block_len` is the number of bytes in the block; the last positions may be beyond it.
    /// Returns the number of positions, and the position where the next block begins.
    #[inline(never)]
    pub fn probe_block(
        &self,
        window: &[u8; WINDOW_BYTES],
        first: usize,
        block_len: usize,
        positions: &mut ProbePositions,
    ) -> (usize, usize) {
        // The table sizes are compile-time constants, so that no index needs a bounds check.
        match self.class_bits_by_hash.len() {
            TINY_TABLE_SIZE => self.probe_sized_table::<TINY_TABLE_SIZE>(window, first, block_len, positions),
            SMALL_TABLE_SIZE => {
                self.probe_sized_table::<SMALL_TABLE_SIZE>(window, first, block_len, positions)
            }
            MEDIUM_TABLE_SIZE => {
                self.probe_sized_table::<MEDIUM_TABLE_SIZE>(window, first, block_len, positions)
            }
            _ => self.probe_sized_table::<LARGE_TABLE_SIZE>(window, first, block_len, positions),
        }
    }

    #[inline(always)]
    fn probe_sized_table<const SIZE: usize>(
        &self,
        window: &[u8; WINDOW_BYTES],
        first: usize,
        block_len: usize,
        positions: &mut ProbePositions,
    ) -> (usize, usize) {
        let Ok(classes) = (&*self.class_bits_by_hash).try_into() else {
            broken_invariant!("the table of probes has one of the known sizes");
            return (0, block_len);
        };
        match self.probing {
            Probing { step: 1, .. } => {
                probe_positions::<1, 4, SIZE>(classes, window, first, block_len, positions)
            }
            Probing { step: 2, bytes: 4 } => {
                probe_positions::<2, 4, SIZE>(classes, window, first, block_len, positions)
            }
            Probing { step: 3, bytes: 4 } => {
                probe_positions::<3, 4, SIZE>(classes, window, first, block_len, positions)
            }
            Probing { bytes: 4, .. } => {
                probe_positions::<MAX_PROBE_STEP, 4, SIZE>(classes, window, first, block_len, positions)
            }
            Probing { step: 2, .. } => {
                probe_positions::<2, 5, SIZE>(classes, window, first, block_len, positions)
            }
            Probing { step: 3, .. } => {
                probe_positions::<3, 5, SIZE>(classes, window, first, block_len, positions)
            }
            _ => probe_positions::<MAX_PROBE_STEP, 5, SIZE>(classes, window, first, block_len, positions),
        }
    }
}

#[inline(always)]
fn probe_positions<const STEP: usize, const BYTES: usize, const SIZE: usize>(
    table: &[u8; SIZE],
    window: &[u8; WINDOW_BYTES],
    first: usize,
    block_len: usize,
    positions: &mut ProbePositions,
) -> (usize, usize) {
    let (mut count, mut at) = (0, first);
    while at < block_len
        && let Some(probed_bytes) = window.get(at..).and_then(|rest| rest.first_chunk::<PROBED_BYTES>())
    {
        let classes_at = |index: usize| {
            let rest = &probed_bytes[index * STEP..];
            table[if BYTES == 4 {
                hash_four_bytes(rest.first_chunk().map_or(0, |four| u32::from_le_bytes(*four)), SIZE)
            } else {
                hash_five_bytes(rest.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight)), SIZE)
            }]
        };
        if (0..UNROLLED_PROBES).fold(0, |all, index| all | classes_at(index)) != 0 {
            for index in 0..UNROLLED_PROBES {
                // Always written, but counted only if it passes, to avoid a branch.
                positions[count & 0xff] = ProbePosition::new(at + index * STEP, classes_at(index));
                count += usize::from(classes_at(index) != 0);
            }
        }
        at += UNROLLED_PROBES * STEP;
    }
    (count, at)
}
