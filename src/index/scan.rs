//! Which of many literals occur in a text: the part of the index that reads every byte of a message.

mod frequency;
mod gram;
mod pairs;
mod table;
#[cfg(test)]
mod tests;

use frequency::Frequency;
use gram::{BASES, FOUR, LONG, Level, ONE, SIX, THREE, TWO, load};
use pairs::{FOUR_BITS, LONG_BITS, Pairs, WINDOW, BLOCK, LIST, ONE_BITS, TWO_BITS, SIX_BITS, THREE_BITS};
use table::Table;

#[derive(Clone, Debug)]
pub struct Scanner {
    pairs: Pairs,
    filter: Vec<u64>,
    filter_shift: u32,
    table: Table,
    frequency: Frequency,
    present: u32,
    ones: bool,
    /// Whether every gram begins where a character does.
    aligned: bool,
    sparse: bool,
}

impl Default for Scanner {
    fn default() -> Scanner {
        Scanner::new()
    }
}

impl Scanner {
    pub fn new() -> Scanner {
        Scanner::with_capacity(0)
    }

    fn with_capacity(literals: usize) -> Scanner {
        let mut scanner = Scanner {
            pairs: Pairs::new(),
            filter: Vec::new(),
            filter_shift: 0,
            table: Table::new(literals),
            frequency: Frequency::new(),
            present: 0,
            ones: false,
            aligned: true,
            sparse: true,
        };
        scanner.clear_filter();
        scanner
    }

    pub fn from_literals<'l>(literals: impl IntoIterator<Item = &'l [u8]>) -> Scanner {
        let literals: Vec<&[u8]> = literals.into_iter().collect();
        let mut scanner = Scanner::with_capacity(literals.len());
        literals.iter().for_each(|literal| scanner.frequency.count(literal));
        literals.iter().for_each(|literal| {
            scanner.add(literal);
        });
        scanner
    }

    pub fn insert(&mut self, literal: &[u8]) -> u32 {
        self.frequency.count(literal);
        self.add(literal)
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn heap_bytes(&self) -> usize {
        self.pairs.heap_bytes() + self.filter.capacity() * 8 + self.table.heap_bytes() + self.frequency.heap_bytes()
    }

    fn clear_filter(&mut self) {
        let bits = self.table.slot_count() * 16;
        self.filter.clear();
        self.filter.resize(bits / 64, 0);
        self.filter_shift = 64 - bits.trailing_zeros();
    }

    fn add(&mut self, literal: &[u8]) -> u32 {
        if self.table.is_full() {
            let mut hashes = Vec::new();
            self.table.grow(|hash| hashes.push(hash));
            self.clear_filter();
            hashes.into_iter().for_each(|hash| self.set_filter(hash));
        }
        let level = Level::of_length(literal.len());
        let offset = self.choose(level, literal);
        let rest = &literal[offset..];
        if rest.first().is_some_and(|byte| (0x80..0xc0).contains(byte)) { self.aligned = false; }
        self.pairs.add(level, load(rest, 0) as u32, |p| self.frequency.of_pair(p));
        self.sparse = self.pairs.share() < 0.03;
        self.present |= [LONG_BITS, SIX_BITS, FOUR_BITS, THREE_BITS, TWO_BITS, ONE_BITS][level.number() as usize];
        self.ones |= level == ONE;
        self.set_filter(level.hash(rest).unwrap_or_default());
        self.table.insert(level, literal, offset as u16).unwrap_or(u32::MAX)
    }

    fn set_filter(&mut self, hash: u64) {
        let bit = hash >> self.filter_shift;
        if let Some(word) = self.filter.get_mut((bit >> 6) as usize) {
            *word |= 1 << (bit & 63);
        }
    }

    fn choose(&self, level: Level, literal: &[u8]) -> usize {
        if [THREE, TWO, ONE].contains(&level) { return 0; }
        let mut best = [(f32::INFINITY, 0); 4];
        for offset in 0..=(literal.len() - level.bytes()).min(47) {
            if (0x80..0xc0).contains(&literal[offset]) { continue; }
            let eight = load(literal, offset);
            let new = self.pairs.added_share(level, eight as u32, |p| self.frequency.of_pair(p));
            let f = self.frequency.of_four(eight as u32);
            let f = if level == FOUR { f } else { f.min(self.frequency.of_four((eight >> 16) as u32)) };
            let f = if level == LONG { f.min(self.frequency.of_four((eight >> 32) as u32)) } else { f };
            let cost = new * 30.0 + f;
            let mut c = (cost, offset);
            for b in &mut best { if c.0 < b.0 { std::mem::swap(b, &mut c); } }
        }
        if best[0].0 == f32::INFINITY { return 0; }
        let mut r = (f32::INFINITY, best[0].1);
        for &(cost, o) in best.iter().filter(|b| b.0 < f32::INFINITY) {
            let eight = load(literal, o);
            let f = self.frequency.of_four(eight as u32).min(self.frequency.of_four((eight >> 32) as u32));
            let crowd = self.table.place(level, &literal[o..]).map_or(0, |p| p.crowd);
            let cost = cost + f * crowd as f32 * 3.0 + if crowd == 15 { 1.0 } else { 0.0 };
            if cost < r.0 { r = (cost, o); }
        }
        r.1
    }

    pub fn scan(&self, text: &[u8], mut hit: impl FnMut(u32, usize)) {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let mut copy;
            let window: &[u8; WINDOW] = match rest.first_chunk() {
                Some(window) => window,
                None => {
                    copy = [0; WINDOW];
                    copy[..rest.len()].copy_from_slice(rest);
                    &copy
                }
            };
            let length = rest.len().min(BLOCK);
            let mut list = [0u8; LIST];
            let (count, next) = if self.sparse { self.pairs.look::<true>(window, length, self.aligned, &mut list) } else { self.pairs.look::<false>(window, length, self.aligned, &mut list) };
            if count > 0 { self.candidates(&list, count, window, text, at, &mut hit); }
            at += next;
        }
    }

    #[inline(always)]
    fn candidates(&self, list: &[u8; LIST], count: usize, window: &[u8; WINDOW], text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        let mut grams = [0u16; 128];
        let mut n = 0usize;
        for &i in list.iter().take(count) {
            let classes = self.pairs.classes(load4(window, i));
            let (level, bits) = LEVELS[classes.trailing_zeros() as usize & 31];
            grams[n & 127] = u16::from(level) << 8 | u16::from(i);
            n += 1;
            let classes = classes & !bits;
            let (level, bits) = LEVELS[classes.trailing_zeros() as usize & 31];
            grams[n & 127] = u16::from(level) << 8 | u16::from(i);
            n += usize::from(classes != 0);
            let mut classes = classes & !bits;
            while classes != 0 {
                let (level, bits) = LEVELS[classes.trailing_zeros() as usize & 31];
                grams[n & 127] = u16::from(level) << 8 | u16::from(i);
                n += 1;
                classes &= !bits;
            }
            if n > 121 {
                self.verify(&mut grams, n, window, text, at, hit);
                n = 0;
            }
        }
        self.verify(&mut grams, n, window, text, at, hit);
    }

    #[inline(always)]
    fn verify(&self, grams: &mut [u16; 128], count: usize, window: &[u8; WINDOW], text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        let mut kept = 0;
        let filter = &self.filter[..];
        for c in 0..count.min(128) {
            let gram = grams[c];
            let hash = gram::hash(usize::from(gram >> 8), load8(window, gram as u8));
            let bit = hash >> self.filter_shift;
            let pass = filter.get((bit >> 6) as usize).map_or(0, |w| w >> (bit & 63) & 1);
            grams[kept & 127] = gram;
            kept += pass as usize;
        }
        for &gram in grams.iter().take(kept) {
            let hash = gram::hash(usize::from(gram >> 8), load8(window, gram as u8));
            self.table.verify((gram >> 8) as u8, hash, text, at + usize::from(gram & 0xff), hit);
        }
    }
}

/// Level and bits of each class
const LEVELS: [(u8, u32); 32] = {
    let mut all = [(0, 0); 32];
    let mut bit = 0;
    while bit < 32 {
        all[bit] = match 1u32 << bit {
            b if b & LONG_BITS != 0 => (0, LONG_BITS),
            b if b & SIX_BITS != 0 => (1, SIX_BITS),
            b if b & FOUR_BITS != 0 => (2, FOUR_BITS),
            b if b & THREE_BITS != 0 => (3, THREE_BITS),
            b if b & TWO_BITS != 0 => (4, TWO_BITS),
            _ => (5, ONE_BITS),
        };
        bit += 1;
    }
    all
};

#[inline(always)]
fn load8(window: &[u8; WINDOW], at: u8) -> u64 {
    window[at.into()..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
}
#[inline(always)]
fn load4(window: &[u8; WINDOW], at: u8) -> u32 {
    window[at.into()..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}
