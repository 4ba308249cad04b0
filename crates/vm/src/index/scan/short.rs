//! Literals of one byte or two: too short for a gram, they are looked for at every position. Rules seldom have any.

/// The places of a bitmap of all pairs of bytes, in words.
const WORDS: usize = 1 << 10;

/// Literals of one byte or two, with their numbers.
#[derive(Default)]
pub struct Shorts {
    /// A bit for each pair of bytes that some literal is, or begins; empty when there is none.
    pairs: Box<[u64]>,
    ones: Vec<(u8, u32)>,
    twos: Vec<([u8; 2], u32)>,
}

impl Shorts {
    /// Adds a literal; false when it is longer.
    pub fn add(&mut self, literal: &[u8], number: u32) -> bool {
        match *literal {
            [one] => {
                self.ones.push((one, number));
                (0..=255).for_each(|next| self.set([one, next]));
            }
            [one, two] => {
                self.twos.push(([one, two], number));
                self.set([one, two]);
            }
            _ => return false,
        }
        true
    }

    fn set(&mut self, pair: [u8; 2]) {
        if self.pairs.is_empty() {
            self.pairs = vec![0; WORDS].into();
        }
        let pair = usize::from(u16::from_le_bytes(pair));
        self.pairs[pair / 64] |= 1 << (pair % 64);
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Makes them ready to be looked for.
    pub fn finish(&mut self) {
        self.ones.sort_unstable();
        self.twos.sort_unstable();
    }

    /// Reports the number of each where it stands.
    #[inline]
    pub fn scan(&self, text: &[u8], hit: &mut impl FnMut(u32, usize)) {
        let Ok(pairs) = <&[u64; WORDS]>::try_from(&*self.pairs) else { return };
        for at in 0..text.len() {
            let two = text.get(at..).and_then(|rest| rest.first_chunk()).copied();
            let pair = usize::from(u16::from_le_bytes(two.unwrap_or([text[at], 0])));
            if pairs[pair / 64] >> (pair % 64) & 1 == 0 {
                continue;
            }
            all(&self.ones, text[at]).for_each(|number| hit(number, at));
            if let Some(two) = two {
                all(&self.twos, two).for_each(|number| hit(number, at));
            }
        }
    }
}

/// The numbers of what is the same.
fn all<T: Copy + Ord>(literals: &[(T, u32)], wanted: T) -> impl Iterator<Item = u32> {
    let from = literals.partition_point(|(literal, _)| *literal < wanted);
    let same = literals.iter().skip(from).take_while(move |(literal, _)| *literal == wanted);
    same.map(|(_, number)| *number)
}
