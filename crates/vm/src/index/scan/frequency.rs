//! Estimates how frequent bytes are in texts, from the literals and from typical English and
//! Chinese texts. The estimate serves to find each literal by its rarest grams.

use super::gram::load_eight_bytes;

/// Weight of the frequencies in typical texts, expressed as a number of counted bytes of literals.
const PRIOR_BYTES: f32 = 3000.0;
/// Number of counted bytes after which no more literals are counted. Bound on build time, not
/// tuned: more bytes would hardly change the estimate.
const MAX_COUNTED_BYTES: f32 = 4_000_000.0;

pub struct ByteFrequency {
    pairs: Box<[u16]>,
    total: f32,
    /// Number of occurrences in the literals of each sequence of four bytes, by a hash of the
    /// sequence.
    fours: Box<[u16]>,
    bytes: [f32; 256],
}

impl ByteFrequency {
    pub fn new() -> ByteFrequency {
        ByteFrequency {
            pairs: vec![0; 0x10000].into(),
            total: PRIOR_BYTES,
            fours: vec![0; 0x10000].into(),
            bytes: std::array::from_fn(|byte| typical_share(byte as u8)),
        }
    }

    /// Counts the bytes, byte pairs and sequences of four bytes at the beginning of a literal, up
    /// to 64 bytes.
    pub fn count_literal(&mut self, literal: &[u8]) {
        if self.total > MAX_COUNTED_BYTES {
            return;
        }
        let length = literal.len().min(64);
        for at in 1..length {
            let eight = load_eight_bytes(literal, at - 1);
            let pair = &mut self.pairs[eight as usize & 0xffff];
            *pair = pair.saturating_add(1);
            if at + 2 < length {
                let four = &mut self.fours[hash_slot(eight as u32)];
                *four = four.saturating_add(1);
            }
        }
        self.total += length as f32;
    }

    /// Returns the fraction of the bytes in typical texts that are equal to `byte`.
    pub fn byte_share(&self, byte: u8) -> f32 {
        self.bytes[usize::from(byte)]
    }

    pub fn pair_share(&self, pair: u16) -> f32 {
        let [first, second] = pair.to_le_bytes();
        // Bytes above ASCII mostly follow each other, because three in ten texts are assumed to be
        // Chinese.
        let together = if first >= 0x80 { 3.0 } else { 1.0 };
        let usual = self.bytes[usize::from(first)] * self.bytes[usize::from(second)] * together;
        (f32::from(self.pairs[usize::from(pair)]) + PRIOR_BYTES * usual) / self.total
    }

    /// Returns the estimated fraction of positions in texts at which these four bytes occur.
    pub fn four_bytes_share(&self, four: u32) -> f32 {
        let usual = self.pair_share(four as u16) * self.pair_share((four >> 16) as u16);
        (f32::from(self.fours[hash_slot(four)]) + PRIOR_BYTES * usual) / self.total
    }
}

fn hash_slot(four: u32) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

/// Returns the fraction of a byte among all bytes of typical texts, three in ten of which are
/// Chinese.
fn typical_share(byte: u8) -> f32 {
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

    fn pair(two: &[u8; 2]) -> u16 {
        u16::from_le_bytes(*two)
    }

    #[track_caller]
    fn close(given: f32, expected: f32) {
        assert!((given - expected).abs() <= expected.abs() * 1e-4, "{given} is not {expected}");
    }

    #[test]
    fn what_is_counted_adds_to_what_is_known_beforehand() {
        let mut frequency = ByteFrequency::new();
        close(frequency.pair_share(pair(b"ab")), 0.05 * 0.008);
        close(frequency.pair_share(pair(&[0xe4, 0xb8])), 0.017 * 0.003 * 3.0);
        let before = frequency.four_bytes_share(u32::from_le_bytes(*b"abcd"));
        close(before, 0.05 * 0.008 * 0.018 * 0.024);
        frequency.count_literal(b"abcd");
        let [ab, bc, cd] = [b"ab", b"bc", b"cd"].map(|two| frequency.pair_share(pair(two)));
        close(ab, (1.0 + 3000.0 * 0.05 * 0.008) / 3004.0);
        close(bc, (1.0 + 3000.0 * 0.008 * 0.018) / 3004.0);
        close(cd, (1.0 + 3000.0 * 0.018 * 0.024) / 3004.0);
        close(frequency.four_bytes_share(u32::from_le_bytes(*b"abcd")), (1.0 + 3000.0 * ab * cd) / 3004.0);
        // A literal of three bytes has two pairs, and no sequence of four bytes.
        frequency.count_literal(b"xyz");
        close(frequency.pair_share(pair(b"yz")), (1.0 + 3000.0 * 0.013 * 0.0012) / 3007.0);
        let none = frequency.pair_share(pair(b"xy")) * frequency.pair_share(pair(b"z\0"));
        close(frequency.four_bytes_share(u32::from_le_bytes(*b"xyz\0")), 3000.0 * none / 3007.0);
    }
}
