//! Finds literals of three or four bytes that contain a rare byte. The search finds each rare byte
//! in a text, then compares the bytes around it with the literals. Other literals are found by
//! their grams (sequences of several bytes). With grams for these short literals, the scan would
//! have to probe more positions of a text. Such grams would also be so short that they match at
//! many positions.

use super::frequency::ByteFrequency;
use super::gram::load_eight_bytes;
use super::probes::Probing;
use memchr::memchr3_iter;
use rulec_base::broken_invariant;
use std::ops::RangeInclusive;

/// Lengths in bytes of the literals that may be found by one rare byte instead of grams.
/// Measured in benches/notes/literal-scan.md, "Literals of verbs".
const RARE_LITERAL_LENGTHS: RangeInclusive<usize> = 3..=4;
/// Minimum number of literals in a scanner that has a separate search for rare bytes. With fewer
/// literals, probing more positions costs less than a second search.
/// Measured in benches/notes/literal-scan.md, "Literals of verbs".
const MIN_SCANNER_LITERALS: usize = 256;
/// Maximum number of distinct rare bytes that are searched. The number is not tuned: `memchr`
/// searches for at most three bytes at once.
const MAX_RARE_BYTES: usize = 3;
/// Maximum fraction of the bytes in typical texts that the rare bytes may make up together.
/// Measured in benches/notes/literal-scan.md, "Literals of verbs".
const MAX_RARE_BYTE_SHARE: f32 = 0.01;

/// A searcher that finds literals of three or four bytes by a rare byte that they contain.
#[derive(Default)]
pub struct RareByteLiterals {
    /// The rare bytes to search for. If there are fewer than three, the last one is repeated.
    rare_bytes: [u8; MAX_RARE_BYTES],
    groups: Vec<RareByteGroup>,
}

/// The literals of one length that have the same rare byte at the same offset.
struct RareByteGroup {
    rare_byte: u8,
    rare_byte_offset: usize,
    /// Mask that selects the bytes of a literal in a word of eight bytes.
    literal_mask: u64,
    /// The literals of the group, which have one length and the same rare byte at one offset. Each
    /// literal is a word of eight bytes, with its id. The list is sorted, for a binary search.
    literals: Vec<(u64, u32)>,
}

impl RareByteLiterals {
    /// Removes the literals of three and four bytes from the list, and returns a search for them.
    /// Returns `None`, and removes nothing, if this search would save no time, in any of these
    /// cases:
    /// - There are few literals.
    /// - Without the removed literals, the scan could not probe fewer positions of a text.
    /// - The literals have more than `MAX_RARE_BYTES` distinct rare bytes.
    /// - These bytes are too frequent in texts.
    pub fn take_short_literals(
        literals: &mut Vec<(&[u8], u32)>,
        frequency: &ByteFrequency,
    ) -> Option<RareByteLiterals> {
        let min_length = |literals: &mut dyn Iterator<Item = usize>| literals.min().unwrap_or(usize::MAX);
        let is_short = |literal: &[u8]| RARE_LITERAL_LENGTHS.contains(&literal.len());
        let lengths = || literals.iter().map(|(literal, _)| literal.len());
        let other_min_length =
            min_length(&mut lengths().filter(|length| !RARE_LITERAL_LENGTHS.contains(length)));
        let mut rare_literals = RareByteLiterals::default();
        if literals.len() < MIN_SCANNER_LITERALS
            || Probing::step_for_length(other_min_length)
                <= Probing::step_for_length(min_length(&mut lengths()))
        {
            return None;
        }
        let mut bytes: Vec<u8> = Vec::new();
        for (literal, number) in literals.iter().filter(|(literal, _)| is_short(literal)) {
            // A byte that other literals already use adds no cost.
            let byte_cost = |offset: &usize| match literal[*offset] {
                byte if bytes.contains(&byte) => 0.0,
                byte => frequency.byte_share(byte),
            };
            let cheapest = (0..literal.len()).min_by(|a, b| byte_cost(a).total_cmp(&byte_cost(b)));
            let Some(offset) = cheapest else {
                broken_invariant!("a short literal is not empty");
                continue;
            };
            if !bytes.contains(&literal[offset]) {
                bytes.push(literal[offset]);
            }
            if bytes.len() > MAX_RARE_BYTES {
                return None;
            }
            rare_literals.add_literal(literal, *number, offset);
        }
        let total_share: f32 = bytes.iter().map(|byte| frequency.byte_share(*byte)).sum();
        let last_byte = bytes.last().filter(|_| total_share <= MAX_RARE_BYTE_SHARE)?;
        rare_literals.rare_bytes = std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(*last_byte));
        rare_literals.groups.iter_mut().for_each(|group| group.literals.sort_unstable());
        literals.retain(|(literal, _)| !is_short(literal));
        Some(rare_literals)
    }

    fn add_literal(&mut self, literal: &[u8], literal_id: u32, offset: usize) {
        let (byte, mask) = (literal[offset], (1 << (8 * literal.len())) - 1);
        let is_same_group = |group: &RareByteGroup| {
            (group.rare_byte, group.rare_byte_offset, group.literal_mask) == (byte, offset, mask)
        };
        let group_index = self.groups.iter().position(is_same_group).unwrap_or_else(|| {
            self.groups.push(RareByteGroup {
                rare_byte: byte,
                rare_byte_offset: offset,
                literal_mask: mask,
                literals: Vec::new(),
            });
            self.groups.len() - 1
        });
        self.groups[group_index].literals.push((load_eight_bytes(literal, 0), literal_id));
    }

    /// Calls `hit` with the id and the start of each occurrence of a literal in the text.
    #[inline(always)]
    pub fn scan_text(&self, text: &[u8], hit: &mut impl FnMut(u32, usize)) {
        let [first, second, third] = self.rare_bytes;
        for at in memchr3_iter(first, second, third, text) {
            self.report_literals_around(text, at, hit);
        }
    }

    /// Compares the bytes around the rare byte at index `at` with the literals that contain this
    /// rare byte.
    #[inline(never)]
    fn report_literals_around(&self, text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        for group in self.groups.iter().filter(|group| group.rare_byte == text[at]) {
            let Some(start) = at.checked_sub(group.rare_byte_offset) else { continue };
            let text_bytes = load_eight_bytes(text, start) & group.literal_mask;
            // Beyond the text's end are zeros, which a literal could contain.
            if text.len() - start < (group.literal_mask.count_ones() / 8) as usize {
                continue;
            }
            let first_match = group.literals.partition_point(|(literal, _)| *literal < text_bytes);
            let matches =
                group.literals.iter().skip(first_match).take_while(|(literal, _)| *literal == text_bytes);
            matches.for_each(|(_, number)| hit(*number, start));
        }
    }
}
