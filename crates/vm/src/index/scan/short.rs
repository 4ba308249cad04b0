//! Finds literals of one or two bytes. Such literals are too short for grams (sequences of several
//! bytes), so a scan looks for them at every position of a text. Rules rarely have such literals.

use rulec_base::broken_invariant;

/// Number of words in a bitmap that has one bit for each pair of bytes.
const PAIR_BITMAP_WORDS: usize = 1 << 10;

/// Literals of one or two bytes, with their ids.
#[derive(Default)]
pub struct ShortLiterals {
    /// One bit for each pair of bytes, set if a literal equals the pair or its first byte. The list
    /// is empty if there are no literals.
    pair_bits: Box<[u64]>,
    single_byte_literals: Vec<(u8, u32)>,
    two_byte_literals: Vec<([u8; 2], u32)>,
}

impl ShortLiterals {
    /// Adds a literal, whose id is `literal_id`, if it has at most two bytes; otherwise returns
    /// false.
    pub fn add_if_short(&mut self, literal: &[u8], literal_id: u32) -> bool {
        match *literal {
            [one] => {
                self.single_byte_literals.push((one, literal_id));
                (0..=255).for_each(|next| self.set_pair_bit([one, next]));
            }
            [one, two] => {
                self.two_byte_literals.push(([one, two], literal_id));
                self.set_pair_bit([one, two]);
            }
            _ => return false,
        }
        true
    }

    fn set_pair_bit(&mut self, pair: [u8; 2]) {
        if self.pair_bits.is_empty() {
            self.pair_bits = vec![0; PAIR_BITMAP_WORDS].into();
        }
        let pair = usize::from(u16::from_le_bytes(pair));
        self.pair_bits[pair / 64] |= 1 << (pair % 64);
    }

    pub fn is_empty(&self) -> bool {
        self.pair_bits.is_empty()
    }

    /// Sorts the literals by their bytes, because [`ShortLiterals::scan_text`] finds them by binary
    /// search.
    pub fn sort_literals(&mut self) {
        self.single_byte_literals.sort_unstable();
        self.two_byte_literals.sort_unstable();
    }

    /// Calls `hit` with the id and the start of each occurrence of a literal in the text.
    #[inline]
    pub fn scan_text(&self, text: &[u8], hit: &mut impl FnMut(u32, usize)) {
        let Ok(pair_bits) = <&[u64; PAIR_BITMAP_WORDS]>::try_from(&*self.pair_bits) else {
            return broken_invariant!("a search for short literals has a literal");
        };
        for at in 0..text.len() {
            let next_two = text.get(at..).and_then(|rest| rest.first_chunk()).copied();
            let pair_index = usize::from(u16::from_le_bytes(next_two.unwrap_or([text[at], 0])));
            if pair_bits[pair_index / 64] >> (pair_index % 64) & 1 == 0 {
                continue;
            }
            ids_equal_to(&self.single_byte_literals, text[at]).for_each(|number| hit(number, at));
            if let Some(next_two) = next_two {
                ids_equal_to(&self.two_byte_literals, next_two).for_each(|number| hit(number, at));
            }
        }
    }
}

/// Returns the ids of the literals that equal `wanted`. `literals` must be sorted.
fn ids_equal_to<T: Copy + Ord>(literals: &[(T, u32)], wanted: T) -> impl Iterator<Item = u32> {
    let first_match = literals.partition_point(|(literal, _)| *literal < wanted);
    let matches = literals.iter().skip(first_match).take_while(move |(literal, _)| *literal == wanted);
    matches.map(|(_, number)| *number)
}
