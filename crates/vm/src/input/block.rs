//! Several bytes of JSON text at once: where the first of them stands that ends a run of plain characters, and digits.

/// The bytes of a block.
pub(super) const BLOCK: usize = 16;
/// The bytes of a large block, which compilers compare by two registers or one.
pub(super) const LARGE: usize = 32;

/// The number of bytes before the first quote, backslash or control character of a block; [`BLOCK`] where there is none.
#[inline(always)]
pub(super) fn plain(block: &[u8; BLOCK]) -> usize {
    let both = u128::from_le_bytes(*block);
    let first = special(both as u64);
    if first != 0 {
        return first.trailing_zeros() as usize / 8;
    }
    8 + special((both >> 64) as u64).trailing_zeros() as usize / 8
}

/// True when no byte of a large block ends a run of plain characters.
#[inline]
pub(super) fn is_plain(block: &[u8; LARGE]) -> bool {
    // Without a branch a byte, so that many are compared at once.
    let special = |byte: u8| u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < b' ');
    block.iter().fold(0, |found, byte| found | special(*byte)) == 0
}

/// Each byte of a word set to this.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES * 0x80;

/// The bytes of a word that end a run of plain characters. Their highest bit is set in the answer; of those behind the
/// first it may be set wrongly.
#[inline(always)]
fn special(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | control) & HIGHS
}

/// The number of digits that eight bytes begin with, and their value.
#[inline(always)]
pub(super) fn digits(bytes: &[u8; 8]) -> (usize, u64) {
    // Digits become their values, and whatever is none 10 and more.
    let values = u64::from_le_bytes(*bytes) ^ (ONES * u64::from(b'0'));
    let others = (values.wrapping_add(ONES * (0x80 - 10)) | values) & HIGHS;
    let count = (others.trailing_zeros() / 8) as usize;
    // The last digit comes to stand in the highest byte, behind zeros.
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
    fn plain_characters_end_at_the_first_that_is_none() {
        for at in 0..=BLOCK {
            for (end, behind) in [(b'"', b'x'), (b'\\', b'"'), (0, 0xff), (0x1f, b' '), (b'\n', b'\\')] {
                let mut block = [b'a'; BLOCK];
                for (place, byte) in block.iter_mut().enumerate() {
                    *byte = match place {
                        place if place == at => end,
                        place if place > at => behind,
                        place => [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff, b'z'][place % 9],
                    };
                }
                assert_eq!(plain(&block), at, "{block:?}");
                let mut large = [b'a'; LARGE];
                large[LARGE - BLOCK - 3..LARGE - 3].copy_from_slice(&block);
                assert_eq!(is_plain(&large), at == BLOCK, "{block:?}");
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
                assert_eq!(digits(&bytes), (text.len(), number), "{bytes:?}");
                assert_eq!(digits(&behind).0, 0);
            }
        }
    }
}
