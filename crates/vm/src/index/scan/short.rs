//! Literals of one or two bytes. They are too short for grams, so every position of a text is
//! tested for them. Rules rarely have such literals.

use rulec_base::broken_invariant;

/// Number of words in a bitmap that has one bit for each pair of bytes.
const PAIR_BITMAP_WORDS: usize = 1 << 10;

/// Literals of one or two bytes, with their ids.
#[derive(Default)]
pub struct ShortLiterals {
    /// One bit for each pair of bytes, set if a literal equals the pair or its first byte. Empty if
    /// there are no literals.
    pairs: Box<[u64]>,
    ones: Vec<(u8, u32)>,
    twos: Vec<([u8; 2], u32)>,
}

impl ShortLiterals {
    /// Adds a literal if it has at most two bytes; otherwise returns false.
    pub fn add_if_short(&mut self, literal: &[u8], number: u32) -> bool {
        match *literal {
            [one] => {
                self.ones.push((one, number));
                (0..=255).for_each(|next| self.set_pair_bit([one, next]));
            }
            [one, two] => {
                self.twos.push(([one, two], number));
                self.set_pair_bit([one, two]);
            }
            _ => return false,
        }
        true
    }

    fn set_pair_bit(&mut self, pair: [u8; 2]) {
        if self.pairs.is_empty() {
            self.pairs = vec![0; PAIR_BITMAP_WORDS].into();
        }
        let pair = usize::from(u16::from_le_bytes(pair));
        self.pairs[pair / 64] |= 1 << (pair % 64);
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Sorts the literals, which the search requires.
    pub fn sort_literals(&mut self) {
        self.ones.sort_unstable();
        self.twos.sort_unstable();
    }

    /// Calls `hit` with the id and the start of each occurrence of a literal in the text.
    #[inline]
    pub fn scan_text(&self, text: &[u8], hit: &mut impl FnMut(u32, usize)) {
        let Ok(pairs) = <&[u64; PAIR_BITMAP_WORDS]>::try_from(&*self.pairs) else {
            return broken_invariant!("a search for short literals has a literal");
        };
        for at in 0..text.len() {
            let two = text.get(at..).and_then(|rest| rest.first_chunk()).copied();
            let pair = usize::from(u16::from_le_bytes(two.unwrap_or([text[at], 0])));
            if pairs[pair / 64] >> (pair % 64) & 1 == 0 {
                continue;
            }
            ids_equal_to(&self.ones, text[at]).for_each(|number| hit(number, at));
            if let Some(two) = two {
                ids_equal_to(&self.twos, two).for_each(|number| hit(number, at));
            }
        }
    }
}

/// Returns the ids of the literals that equal `wanted`. `literals` must be sorted.
fn ids_equal_to<T: Copy + Ord>(literals: &[(T, u32)], wanted: T) -> impl Iterator<Item = u32> {
    let from = literals.partition_point(|(literal, _)| *literal < wanted);
    let same = literals.iter().skip(from).take_while(move |(literal, _)| *literal == wanted);
    same.map(|(_, number)| *number)
}
