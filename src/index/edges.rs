//! The literals that a text must begin or end with: looked up at its edge, where searching for them would read the
//! whole text and come upon each ending that all rules share.

use crate::ops::Anchor;
use crate::text::texts::Texts;

/// The longest literal, in bytes, that is looked up.
pub const MOST: usize = 16;
/// The bits of the filter for each literal.
const FILTER_BITS: usize = 16;

/// Literals at one edge of texts, with their numbers.
#[derive(Debug)]
pub struct Edges {
    /// A bit for each length that some literal has.
    lengths: u32,
    /// A bit for the outer eight bytes of each literal, or four where it has no more, by their hash's upper bits.
    filter: Box<[u64]>,
    shift: u32,
    texts: Texts,
}

/// The lengths of literals that are filtered by their outer four bytes, and by eight.
const BY_FOUR: u32 = 0xf0;
const BY_EIGHT: u32 = !0xff;

/// The outer bytes of a text at an edge, as many as are asked for.
#[inline(always)]
fn outer(text: &[u8], at: Anchor, length: usize) -> Option<&[u8]> {
    match at {
        Anchor::End => text.get(text.len().checked_sub(length)?..),
        _ => text.get(..length),
    }
}

/// The outer four bytes as a word, where there are so many, and eight.
#[inline(always)]
fn words(text: &[u8], at: Anchor) -> (Option<u64>, Option<u64>) {
    let four = outer(text, at, 4).and_then(<[u8]>::first_chunk);
    let eight = outer(text, at, 8).and_then(<[u8]>::first_chunk);
    (four.map(|four| u64::from(u32::from_le_bytes(*four))), eight.map(|eight| u64::from_le_bytes(*eight)))
}

impl Edges {
    /// Of literals of one to [`MOST`] bytes.
    pub fn new(at: Anchor, literals: &[(&str, u32)]) -> Edges {
        let bits = (literals.len() * FILTER_BITS).next_power_of_two().max(64);
        let (filter, shift) = (vec![0; bits / 64].into(), 64 - bits.trailing_zeros());
        let mut edges = Edges { lengths: 0, filter, shift, texts: Texts::default() };
        for (literal, number) in literals {
            edges.lengths |= 1 << literal.len();
            edges.texts.insert(literal, *number);
            let (four, eight) = words(literal.as_bytes(), at);
            if let Some(word) = eight.or(four) {
                let bit = edges.bit(word);
                edges.filter[(bit / 64) as usize] |= 1 << (bit % 64);
            }
        }
        edges
    }

    #[inline(always)]
    fn bit(&self, word: u64) -> u64 {
        word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift
    }

    #[inline(always)]
    fn passes(&self, word: Option<u64>) -> bool {
        let bit = word.map_or(0, |word| self.bit(word));
        let bits = self.filter.get((bit / 64) as usize).copied().unwrap_or(0);
        word.is_some() && bits >> (bit % 64) & 1 != 0
    }

    /// Reports the number of each literal that a text has at the edge.
    #[inline(always)]
    pub fn find(&self, text: &[u8], at: Anchor, hit: &mut impl FnMut(u32)) {
        let mut lengths = self.lengths;
        if lengths == 0 {
            return;
        }
        let (four, eight) = words(text, at);
        if lengths & BY_FOUR != 0 && !self.passes(four) {
            lengths &= !BY_FOUR;
        }
        if lengths & BY_EIGHT != 0 && !self.passes(eight) {
            lengths &= !BY_EIGHT;
        }
        while lengths != 0 {
            let Some(found) = outer(text, at, lengths.trailing_zeros() as usize) else { return };
            if let Some(number) = self.texts.get_short(found) {
                hit(number);
            }
            lengths &= lengths - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is found that stands elsewhere in the text, or at the other edge.
    #[test]
    fn literals_are_found_at_their_edge_alone() {
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
            let edges = Edges::new(at, &literals);
            for text in texts.iter().chain(&words) {
                let mut found = Vec::new();
                edges.find(text.as_bytes(), at, &mut |number| found.push(number));
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
