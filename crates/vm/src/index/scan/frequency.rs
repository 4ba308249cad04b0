//! Estimates how frequent bytes are in texts, from the literals and from typical English and
//! Chinese texts. The estimate serves to find each literal by its rarest grams (short sequences of
//! its bytes).

use super::gram::load_eight_bytes;

/// Weight of the typical texts in the estimate: their byte frequencies count as much as this number
/// of bytes of literals.
/// Compared with other values in benches/notes/constants.md.
const TYPICAL_TEXT_WEIGHT: f32 = 3000.0;
/// Number of bytes of literals after which no more literals are counted. The limit bounds the build
/// time and is not tuned: more bytes would hardly change the estimate.
/// Compared with other values in benches/notes/constants.md.
const MAX_COUNTED_BYTES: f32 = 4_000_000.0;

pub struct ByteFrequency {
    /// Number of occurrences of each pair of bytes in the literals. The index is the pair as a
    /// number in little-endian order.
    pair_counts: Box<[u16]>,
    /// Number of counted bytes, plus [`TYPICAL_TEXT_WEIGHT`].
    total_weight: f32,
    /// For each hash of four bytes, the number of occurrences of such sequences in the literals.
    four_byte_counts: Box<[u16]>,
    /// For each byte, its fraction of the bytes in typical texts.
    byte_shares: [f32; 256],
}

impl ByteFrequency {
    pub fn new() -> ByteFrequency {
        ByteFrequency {
            pair_counts: vec![0; 0x10000].into(),
            total_weight: TYPICAL_TEXT_WEIGHT,
            four_byte_counts: vec![0; 0x10000].into(),
            byte_shares: std::array::from_fn(|byte| typical_byte_share(byte as u8)),
        }
    }

    /// Counts the bytes, byte pairs and sequences of four bytes at the beginning of a literal, up
    /// to 64 bytes.
    pub fn count_literal(&mut self, literal: &[u8]) {
        if self.total_weight > MAX_COUNTED_BYTES {
            return;
        }
        let counted_length = literal.len().min(64);
        for at in 1..counted_length {
            let eight = load_eight_bytes(literal, at - 1);
            let pair_count = &mut self.pair_counts[eight as usize & 0xffff];
            *pair_count = pair_count.saturating_add(1);
            if at + 2 < counted_length {
                let four_count = &mut self.four_byte_counts[hash_slot(eight as u32)];
                *four_count = four_count.saturating_add(1);
            }
        }
        self.total_weight += counted_length as f32;
    }

    /// Returns the fraction of the bytes in typical texts that are equal to `byte`.
    pub fn byte_share(&self, byte: u8) -> f32 {
        self.byte_shares[usize::from(byte)]
    }

    pub fn pair_share(&self, pair: u16) -> f32 {
        let [first, second] = pair.to_le_bytes();
        // Bytes above ASCII mostly follow each other, because three in ten texts are assumed to be
        // Chinese.
        let adjacency_factor = if first >= 0x80 { 3.0 } else { 1.0 };
        let typical_fraction =
            self.byte_shares[usize::from(first)] * self.byte_shares[usize::from(second)] * adjacency_factor;
        (f32::from(self.pair_counts[usize::from(pair)]) + TYPICAL_TEXT_WEIGHT * typical_fraction)
            / self.total_weight
    }

    /// Returns the estimated fraction of positions in texts at which these four bytes occur.
    pub fn four_bytes_share(&self, four: u32) -> f32 {
        let typical_fraction = self.pair_share(four as u16) * self.pair_share((four >> 16) as u16);
        (f32::from(self.four_byte_counts[hash_slot(four)]) + TYPICAL_TEXT_WEIGHT * typical_fraction)
            / self.total_weight
    }
}

fn hash_slot(four: u32) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

/// Returns the estimated fraction of the bytes of typical texts that equal `byte`. Seven in ten
/// texts are assumed to be English, and three in ten Chinese.
fn typical_byte_share(byte: u8) -> f32 {
    let thousandths = match byte {
        b' ' => 130.0,
        b'e' => 80.0,
        b't' | b'a' | b'o' => 50.0,
        b'i' | b'n' | b's' | b'r' => 42.0,
        b'h' => 30.0,
        b'l' | b'd' => 24.0,
        b'u' | b'c' | b'm' => 18.0,
        b'p' | b'f' | b'g' | b'w' | b'y' => 13.0,
        b'b' | b'v' => 8.0,
        b'.' | b',' | b'k' => 6.0,
        b'0'..=b'9' => 6.0,
        b'j' | b'q' | b'x' | b'z' => 1.2,
        // Chinese: the first byte of a character, and the other bytes.
        0xe4..=0xe9 => 17.0,
        0x80..=0xbf => 3.0,
        _ => 0.5,
    };
    thousandths / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair_to_number(two: &[u8; 2]) -> u16 {
        u16::from_le_bytes(*two)
    }

    #[track_caller]
    fn assert_close(given: f32, expected: f32) {
        assert!((given - expected).abs() <= expected.abs() * 1e-4, "{given} is not {expected}");
    }

    #[test]
    fn counted_literals_add_to_typical_shares() {
        let mut frequency = ByteFrequency::new();
        assert_close(frequency.pair_share(pair_to_number(b"ab")), 0.05 * 0.008);
        assert_close(frequency.pair_share(pair_to_number(&[0xe4, 0xb8])), 0.017 * 0.003 * 3.0);
        let before = frequency.four_bytes_share(u32::from_le_bytes(*b"abcd"));
        assert_close(before, 0.05 * 0.008 * 0.018 * 0.024);
        frequency.count_literal(b"abcd");
        let [ab, bc, cd] = [b"ab", b"bc", b"cd"].map(|two| frequency.pair_share(pair_to_number(two)));
        assert_close(ab, (1.0 + 3000.0 * 0.05 * 0.008) / 3004.0);
        assert_close(bc, (1.0 + 3000.0 * 0.008 * 0.018) / 3004.0);
        assert_close(cd, (1.0 + 3000.0 * 0.018 * 0.024) / 3004.0);
        assert_close(
            frequency.four_bytes_share(u32::from_le_bytes(*b"abcd")),
            (1.0 + 3000.0 * ab * cd) / 3004.0,
        );
        // A literal of three bytes has two pairs, and no sequence of four bytes.
        frequency.count_literal(b"xyz");
        assert_close(frequency.pair_share(pair_to_number(b"yz")), (1.0 + 3000.0 * 0.013 * 0.0012) / 3007.0);
        let none = frequency.pair_share(pair_to_number(b"xy")) * frequency.pair_share(pair_to_number(b"z\0"));
        assert_close(frequency.four_bytes_share(u32::from_le_bytes(*b"xyz\0")), 3000.0 * none / 3007.0);
    }
}
