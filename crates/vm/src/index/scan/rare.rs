//! Literals of three or four bytes that contain a rare byte. A text is searched for the rare byte.
//! If such literals had grams, all literals would need more probes, and the grams would be so short
//! that many positions pass.

use super::frequency::Frequency;
use super::gram::load;
use super::probes::Probes;
use memchr::memchr3_iter;
use rulec_base::broken_invariant;
use std::ops::RangeInclusive;

/// Lengths in bytes of the literals that may be found by a rare byte.
/// Measured in benches/notes/literal-scan.md, "Literals of verbs".
const LENGTHS: RangeInclusive<usize> = 3..=4;
/// Minimum number of literals in the scanner. With fewer, the short literals cost less than a
/// second search.
/// Measured in benches/notes/literal-scan.md, "Literals of verbs".
const FROM: usize = 256;
/// Maximum number of distinct rare bytes to search for. Not tuned: `memchr` searches for at most
/// three.
const BYTES: usize = 3;
/// Maximum share of these rare bytes, taken together, in typical texts.
/// Measured in benches/notes/literal-scan.md, "Literals of verbs".
const MOST: f32 = 0.01;

/// Literals that are found by a rare byte.
#[derive(Default)]
pub struct Rares {
    /// The rare bytes to search for; the last one is repeated if there are fewer than three.
    bytes: [u8; BYTES],
    groups: Vec<Group>,
}

/// Literals of one length with the same byte at the same offset.
struct Group {
    byte: u8,
    offset: usize,
    /// Mask of the literals' bytes in a word of eight bytes.
    mask: u64,
    /// The literals as words of eight bytes, with their ids, sorted.
    literals: Vec<(u64, u32)>,
}

impl Rares {
    /// Removes the shortest literals from the list and returns a search for them. Returns `None`
    /// unless the other literals can then be probed at fewer positions.
    pub fn take(literals: &mut Vec<(&[u8], u32)>, frequency: &Frequency) -> Option<Rares> {
        let shortest = |literals: &mut dyn Iterator<Item = usize>| literals.min().unwrap_or(usize::MAX);
        let is_short = |literal: &[u8]| LENGTHS.contains(&literal.len());
        let lengths = || literals.iter().map(|(literal, _)| literal.len());
        let others = shortest(&mut lengths().filter(|length| !LENGTHS.contains(length)));
        let mut rares = Rares::default();
        if literals.len() < FROM || Probes::step(others) <= Probes::step(shortest(&mut lengths())) {
            return None;
        }
        let mut bytes: Vec<u8> = Vec::new();
        for (literal, number) in literals.iter().filter(|(literal, _)| is_short(literal)) {
            // A byte that other literals already use adds no cost.
            let cost = |at: &usize| match literal[*at] {
                byte if bytes.contains(&byte) => 0.0,
                byte => frequency.of_byte(byte),
            };
            let at = (0..literal.len()).min_by(|one, other| cost(one).total_cmp(&cost(other)));
            let Some(offset) = at else {
                broken_invariant!("a short literal is not empty");
                continue;
            };
            if !bytes.contains(&literal[offset]) {
                bytes.push(literal[offset]);
            }
            if bytes.len() > BYTES {
                return None;
            }
            rares.add(literal, *number, offset);
        }
        let share: f32 = bytes.iter().map(|byte| frequency.of_byte(*byte)).sum();
        let last = bytes.last().filter(|_| share <= MOST)?;
        rares.bytes = std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(*last));
        rares.groups.iter_mut().for_each(|group| group.literals.sort_unstable());
        literals.retain(|(literal, _)| !is_short(literal));
        Some(rares)
    }

    fn add(&mut self, literal: &[u8], number: u32, offset: usize) {
        let (byte, mask) = (literal[offset], (1 << (8 * literal.len())) - 1);
        let same = |group: &Group| (group.byte, group.offset, group.mask) == (byte, offset, mask);
        let at = self.groups.iter().position(same).unwrap_or_else(|| {
            self.groups.push(Group { byte, offset, mask, literals: Vec::new() });
            self.groups.len() - 1
        });
        self.groups[at].literals.push((load(literal, 0), number));
    }

    /// Calls `hit` with the id and the start of each occurrence of a literal.
    #[inline(always)]
    pub fn scan(&self, text: &[u8], hit: &mut impl FnMut(u32, usize)) {
        let [first, second, third] = self.bytes;
        for at in memchr3_iter(first, second, third, text) {
            self.compare(text, at, hit);
        }
    }

    /// Compares the text around the rare byte at `at` with the literals that contain this byte.
    #[inline(never)]
    fn compare(&self, text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        for group in self.groups.iter().filter(|group| group.byte == text[at]) {
            let Some(start) = at.checked_sub(group.offset) else { continue };
            let found = load(text, start) & group.mask;
            // Beyond the text's end are zeros, which a literal could contain.
            if text.len() - start < (group.mask.count_ones() / 8) as usize {
                continue;
            }
            let from = group.literals.partition_point(|(literal, _)| *literal < found);
            let same = group.literals.iter().skip(from).take_while(|(literal, _)| *literal == found);
            same.for_each(|(_, number)| hit(*number, start));
        }
    }
}
