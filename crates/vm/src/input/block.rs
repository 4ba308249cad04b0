//! Scans several bytes of JSON text at once. Finds digits, and the end of a sequence of plain
//! characters (those that need no special treatment in a JSON string).

/// Number of bytes in a block. The bytes of a block are processed at once.
/// Measured in benches/notes/json-reading.md, "Experiments".
pub(super) const BLOCK_BYTES: usize = 16;
/// Number of bytes in a large block. Compilers compare such a block with one or two vector
/// instructions.
/// Measured in benches/notes/json-reading.md, "Experiments".
pub(super) const LARGE_BLOCK_BYTES: usize = 32;

/// Returns the number of bytes before the first quote, backslash or control character;
/// [`BLOCK_BYTES`] if there is none.
#[inline(always)]
pub(super) fn plain_prefix_len(block: &[u8; BLOCK_BYTES]) -> usize {
    let block_bits = u128::from_le_bytes(*block);
    let special_bits = special_byte_bits(block_bits as u64);
    if special_bits != 0 {
        return special_bits.trailing_zeros() as usize / 8;
    }
    8 + special_byte_bits((block_bits >> 64) as u64).trailing_zeros() as usize / 8
}

/// True if a large block has only plain characters: no quote, backslash or control character.
#[inline]
pub(super) fn is_large_block_plain(block: &[u8; LARGE_BLOCK_BYTES]) -> bool {
    // No branch per byte, so that the compiler can vectorize the comparison.
    let is_special = |byte: u8| u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < b' ');
    block.iter().fold(0, |found, byte| found | is_special(*byte)) == 0
}

/// A word of eight bytes, each with the value 1.
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
/// A word of eight bytes, each with only its highest bit set.
const HIGH_BITS: u64 = LOW_BITS * 0x80;

/// Returns a word in which the highest bit of a byte is set if this byte of `word` is a quote,
/// backslash or control character. Only the lowest set bit is reliable: bits of later bytes may be
/// set wrongly.
#[inline(always)]
fn special_byte_bits(word: u64) -> u64 {
    let zero_bytes = |word: u64| word.wrapping_sub(LOW_BITS) & !word;
    let control_bytes = word.wrapping_sub(LOW_BITS * 0x20) & !word;
    (zero_bytes(word ^ (LOW_BITS * u64::from(b'"')))
        | zero_bytes(word ^ (LOW_BITS * u64::from(b'\\')))
        | control_bytes)
        & HIGH_BITS
}

/// Returns the number of digits at the start of eight bytes, and the value of these digits as an
/// integer.
#[inline(always)]
pub(super) fn leading_digits(bytes: &[u8; 8]) -> (usize, u64) {
    // Digits become their values; other bytes become 10 or more.
    let values = u64::from_le_bytes(*bytes) ^ (LOW_BITS * u64::from(b'0'));
    let non_digits = (values.wrapping_add(LOW_BITS * (0x80 - 10)) | values) & HIGH_BITS;
    let count = (non_digits.trailing_zeros() / 8) as usize;
    // Moves the last digit to the highest byte and fills the lower bytes with zeros.
    let values = values.wrapping_shl(64 - 8 * count as u32);
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let first = (pairs & 0xff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let second = (pairs >> 16 & 0xff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    (count, first.wrapping_add(second) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_prefix_ends_at_the_first_special_byte() {
        for at in 0..=BLOCK_BYTES {
            for (end, behind) in [(b'"', b'x'), (b'\\', b'"'), (0, 0xff), (0x1f, b' '), (b'\n', b'\\')] {
                let mut block = [b'a'; BLOCK_BYTES];
                for (place, byte) in block.iter_mut().enumerate() {
                    *byte = match place {
                        place if place == at => end,
                        place if place > at => behind,
                        place => [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff, b'z'][place % 9],
                    };
                }
                assert_eq!(plain_prefix_len(&block), at, "{block:?}");
                let mut large = [b'a'; LARGE_BLOCK_BYTES];
                large[LARGE_BLOCK_BYTES - BLOCK_BYTES - 3..LARGE_BLOCK_BYTES - 3].copy_from_slice(&block);
                assert_eq!(is_large_block_plain(&large), at == BLOCK_BYTES, "{block:?}");
            }
        }
    }

    #[test]
    fn digits_are_counted_and_added_up() {
        for number in [0_u64, 1, 7, 10, 42, 909, 1_234, 56_789, 100_000, 7_654_321, 12_345_678, 99_999_999] {
            let text = number.to_string();
            for behind in [
                *b"xxxxxxxx",
                *b"//////:/",
                *b".,}] e\n\"",
                [0xff; 8],
                [0; 8],
                [0x80, 0xb0, 0x3a, 0x2f, 0, 0, 0, 0],
            ] {
                let mut bytes = behind;
                bytes[..text.len()].copy_from_slice(text.as_bytes());
                assert_eq!(leading_digits(&bytes), (text.len(), number), "{bytes:?}");
                assert_eq!(leading_digits(&behind).0, 0);
            }
        }
    }
}
