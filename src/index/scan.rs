//! Stand-in until the real scanner is merged.
use aho_corasick::AhoCorasick;
/// Finds which of many literals occur in a text.
#[derive(Debug, Default)]
pub struct Scanner {
    ac: Option<AhoCorasick>,
    first: usize,
    later: Vec<Box<[u8]>>,
}
impl Scanner {
    /// Without literals.
    pub fn new() -> Scanner {
        Scanner::default()
    }
    /// Literals numbered in order.
    pub fn from_literals<'l>(literals: impl IntoIterator<Item = &'l [u8]>) -> Scanner {
        let all: Vec<&[u8]> = literals.into_iter().collect();
        let ac = (!all.is_empty()).then(|| AhoCorasick::new(&all).unwrap());
        Scanner { first: all.len(), ac, later: Vec::new() }
    }
    /// A further literal; its number is returned.
    pub fn insert(&mut self, literal: &[u8]) -> u32 {
        self.later.push(literal.into());
        self.len() as u32 - 1
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.first + self.later.len()
    }
    /// Calls with each that occurs.
    pub fn scan(&self, text: &[u8], mut hit: impl FnMut(u32, usize)) {
        if let Some(ac) = &self.ac {
            for m in ac.find_overlapping_iter(text) {
                hit(m.pattern().as_u32(), m.start())
            }
        }
        for (at, literal) in self.later.iter().enumerate() {
            for start in memchr::memmem::find_iter(text, literal) {
                hit((self.first + at) as u32, start)
            }
        }
    }
}
