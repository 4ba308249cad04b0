//! Stand-in until the real scanner is merged.
use aho_corasick::AhoCorasick;
/// Finds which of many literals occur in a text.
#[derive(Debug)]
pub struct Scanner {
    ac: Option<AhoCorasick>,
    len: usize,
}
impl Scanner {
    /// Literals numbered in order.
    pub fn from_literals<'l>(literals: impl IntoIterator<Item = &'l [u8]>) -> Scanner {
        let all: Vec<&[u8]> = literals.into_iter().collect();
        Scanner { len: all.len(), ac: (!all.is_empty()).then(|| AhoCorasick::new(all).unwrap()) }
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Calls with each that occurs.
    pub fn scan(&self, text: &[u8], mut hit: impl FnMut(u32, usize)) {
        if let Some(ac) = &self.ac {
            for m in ac.find_overlapping_iter(text) {
                hit(m.pattern().as_u32(), m.start())
            }
        }
    }
}
