//! Lookup of anchored literals, which must be at the start or end of a text. A search would be
//! slower: it would read the whole text, and stop at each occurrence of a common ending such as
//! `.exe`.

use hashbrown::HashSet;
use rulec_base::text::texts::TextIds;
use rulec_lang::operators::Anchor;

/// Maximum length in bytes of a literal that is found by lookup. The limit is not tuned:
/// [`TextIds::get_short_text_id`] compares at most sixteen bytes.
pub const MAX_LITERAL_BYTES: usize = 16;

/// A set of literal lengths, with one bit for each length.
type LengthSet = u32;

/// The set of all lengths of at least eight bytes. Literals of these lengths are also filtered by
/// their first or last eight bytes.
const EIGHT_OR_MORE_BYTES: LengthSet = !0xff;

/// Finds the literals of a set with which a text begins. A separate instance finds the literals
/// with which a text ends.
#[derive(Debug)]
pub struct EdgeLiterals {
    /// The lengths (in bytes) of the literals that are shorter than four bytes.
    short_lengths: LengthSet,
    /// The lengths (in bytes) of the literals of at least four bytes, by their first or last four
    /// bytes.
    lengths_by_four_bytes: LengthsByOuterBytes,
    /// The lengths (in bytes) of the literals of at least eight bytes, by their first or last eight
    /// bytes.
    lengths_by_eight_bytes: LengthsByOuterBytes,
    /// The literals with which a text may begin (or end), each with its id.
    literal_ids: TextIds,
}

/// Map from a hash of a literal's first or last bytes to the lengths of the literals with these
/// bytes. A hash collision can only add lengths, which costs time but loses no literal.
#[derive(Debug)]
struct LengthsByOuterBytes {
    lengths: Box<[LengthSet]>,
    hash_shift: u32,
}

/// Number of entries in the hash table per distinct value of the first or last bytes.
/// Measured in benches/notes/many-fields.md, "The first that holds among 3,000 rules".
const SLOTS_PER_VALUE: usize = 8;

impl LengthsByOuterBytes {
    /// Builds the map from literals. Each element of `literals` has the first or last bytes of a
    /// literal as a number, and the length of the literal.
    fn new(literals: &[(u64, usize)]) -> LengthsByOuterBytes {
        let distinct_values: HashSet<u64> = literals.iter().map(|(outer, _)| *outer).collect();
        let slot_count = (distinct_values.len() * SLOTS_PER_VALUE).next_power_of_two().max(2);
        let mut map = LengthsByOuterBytes {
            lengths: vec![0; slot_count].into(),
            hash_shift: 64 - slot_count.trailing_zeros(),
        };
        for (outer, length) in literals {
            let slot = map.hash_slot(*outer);
            map.lengths[slot] |= 1 << length;
        }
        map
    }

    #[inline(always)]
    fn hash_slot(&self, outer: u64) -> usize {
        (outer.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.hash_shift) as usize
    }

    #[inline(always)]
    fn lengths_of(&self, outer: Option<u64>) -> LengthSet {
        outer.and_then(|outer| self.lengths.get(self.hash_slot(outer))).copied().unwrap_or(0)
    }
}

/// Returns the last `length` bytes of a text if `at` is the end, else the first ones; `None` if the
/// text is shorter.
#[inline(always)]
fn outer_bytes(text: &[u8], at: Anchor, length: usize) -> Option<&[u8]> {
    match at {
        Anchor::End => text.get(text.len().checked_sub(length)?..),
        _ => text.get(..length),
    }
}

/// Returns the last four bytes of a text as a number if `at` is the end, else the first four;
/// `None` if the text is shorter.
#[inline(always)]
fn outer_four_bytes(text: &[u8], at: Anchor) -> Option<u64> {
    let four = outer_bytes(text, at, 4)?.first_chunk()?;
    Some(u64::from(u32::from_le_bytes(*four)))
}

/// Returns the last eight bytes of a text as a number if `at` is the end, else the first eight;
/// `None` if the text is shorter.
#[inline(always)]
fn outer_eight_bytes(text: &[u8], at: Anchor) -> Option<u64> {
    let eight = outer_bytes(text, at, 8)?.first_chunk()?;
    Some(u64::from_le_bytes(*eight))
}

impl EdgeLiterals {
    /// Builds the lookup from literals and their ids. Each literal has one to [`MAX_LITERAL_BYTES`]
    /// bytes, and must be at the edge `anchor` (start or end) of a text. Returns `None` if there is
    /// no literal.
    pub fn new(anchor: Anchor, literals: &[(&str, u32)]) -> Option<Box<EdgeLiterals>> {
        if literals.is_empty() {
            return None;
        }
        let mut texts = TextIds::default();
        literals.iter().for_each(|(literal, literal_id)| texts.insert(literal, *literal_id));
        let lengths_by = |outer: fn(&[u8], Anchor) -> Option<u64>| {
            let value_and_length =
                |(literal, _): &(&str, u32)| Some((outer(literal.as_bytes(), anchor)?, literal.len()));
            LengthsByOuterBytes::new(&literals.iter().filter_map(value_and_length).collect::<Vec<_>>())
        };
        let lengths = literals.iter().map(|(literal, _)| literal.len());
        let short = lengths.filter(|length| *length < 4).fold(0, |short, length| short | 1 << length);
        Some(Box::new(EdgeLiterals {
            short_lengths: short,
            lengths_by_four_bytes: lengths_by(outer_four_bytes),
            lengths_by_eight_bytes: lengths_by(outer_eight_bytes),
            literal_ids: texts,
        }))
    }

    /// Calls `hit` with the id of each literal that is at the edge `at` (start or end) of a text.
    #[inline(always)]
    pub fn find_at_edge(&self, text: &[u8], at: Anchor, hit: &mut impl FnMut(u32)) {
        let mut lengths =
            self.short_lengths | self.lengths_by_four_bytes.lengths_of(outer_four_bytes(text, at));
        if lengths & EIGHT_OR_MORE_BYTES != 0 {
            lengths &=
                !EIGHT_OR_MORE_BYTES | self.lengths_by_eight_bytes.lengths_of(outer_eight_bytes(text, at));
        }
        while lengths != 0 {
            let Some(candidate) = outer_bytes(text, at, lengths.trailing_zeros() as usize) else { return };
            if let Some(literal_id) = self.literal_ids.get_short_text_id(candidate) {
                hit(literal_id);
            }
            lengths &= lengths - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A literal is not found in the middle of a text, or at the other edge.
    #[test]
    fn literals_are_found_only_at_their_edge() {
        let words =
            ["a", ".exe", "b.exe", "x", "longer.exe", "\\longer.exe", "exactly8", "文", "sixteen bytes ok"];
        let literals: Vec<(&str, u32)> = words.into_iter().zip(0..).collect();
        let texts = [
            "",
            "a",
            ".exe",
            "aa",
            "b.exe.",
            "c:\\longer.exe",
            "longer.exe\\",
            "文x文",
            "exactly8",
            "exactly89",
        ];
        for at in [Anchor::Start, Anchor::End] {
            let edges = EdgeLiterals::new(at, &literals).expect("there are some");
            for text in texts.iter().chain(&words) {
                let mut found = Vec::new();
                edges.find_at_edge(text.as_bytes(), at, &mut |number| found.push(number));
                let stands = |word: &str| {
                    if at == Anchor::End { text.ends_with(word) } else { text.starts_with(word) }
                };
                let mut expected: Vec<u32> =
                    literals.iter().filter(|(word, _)| stands(word)).map(|(_, number)| *number).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{text:?} {at:?}");
            }
        }
    }
}
