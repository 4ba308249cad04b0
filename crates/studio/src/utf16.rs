//! Conversion between byte offsets and UTF-16 offsets, which browsers use.

/// Table that converts offsets in one text between bytes and UTF-16 units.
pub(crate) struct Utf16Offsets {
    /// Number of UTF-16 units before each byte offset of the text. Empty if the text is ASCII,
    /// because both kinds of offset are then equal.
    utf16_offset_by_byte: Vec<u32>,
    byte_length: usize,
}

impl Utf16Offsets {
    pub fn new(text: &str) -> Utf16Offsets {
        let mut units = Vec::new();
        if !text.is_ascii() {
            units.reserve_exact(text.len() + 1);
            let mut unit_count = 0;
            for c in text.chars() {
                units.extend(std::iter::repeat_n(unit_count, c.len_utf8()));
                unit_count += c.len_utf16() as u32;
            }
            units.push(unit_count);
        }
        Utf16Offsets { utf16_offset_by_byte: units, byte_length: text.len() }
    }

    /// Converts a byte offset to a UTF-16 offset.
    pub fn to_utf16(&self, byte: usize) -> usize {
        let byte = byte.min(self.byte_length);
        self.utf16_offset_by_byte.get(byte).map_or(byte, |unit| *unit as usize)
    }

    /// Converts a UTF-16 offset to a byte offset. An offset inside a surrogate pair is converted to
    /// the start of the character.
    pub fn to_byte(&self, unit: usize) -> usize {
        if self.utf16_offset_by_byte.is_empty() {
            return unit.min(self.byte_length);
        }
        let byte = self.utf16_offset_by_byte.partition_point(|before| (*before as usize) < unit);
        match self.utf16_offset_by_byte.get(byte) {
            Some(units_before) if *units_before as usize == unit => byte,
            // The offset lies inside a surrogate pair.
            _ => self
                .utf16_offset_by_byte
                .partition_point(|before| (*before as usize) + 1 < unit)
                .min(self.byte_length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_counted_in_utf16_units() {
        for (text, pairs) in [
            ("ab", &[(0, 0), (1, 1), (2, 2)][..]),
            ("a\u{1F600}文b", &[(0, 0), (1, 1), (5, 3), (8, 4), (9, 5)]),
        ] {
            let places = Utf16Offsets::new(text);
            for (byte, unit) in pairs {
                assert_eq!((places.to_utf16(*byte), places.to_byte(*unit)), (*unit, *byte), "{text}");
            }
            assert_eq!((places.to_byte(99), places.to_utf16(99)), (text.len(), text.encode_utf16().count()));
        }
        assert_eq!(Utf16Offsets::new("a\u{1F600}b").to_byte(2), 1);
    }
}
