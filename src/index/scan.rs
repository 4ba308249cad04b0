//! Which of many literals occur in a text: the part of the index that reads every byte of a message.

mod frequency;
mod gram;
mod pairs;
mod table;
#[cfg(test)]
mod tests;

use frequency::Frequency;
use gram::{BASES, FOUR, LONG, Level, ONE, SIX, THREE, TWO, load};
use pairs::{FOUR_BITS, LONG_BITS, Pairs, WINDOW, BLOCK, SHORT_BITS, SIX_BITS, THREE_BITS};
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
        self.present |= [LONG_BITS, SIX_BITS, FOUR_BITS, THREE_BITS, SHORT_BITS, SHORT_BITS][level.number() as usize];
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
            let mut list = [0u8; 256];
            let (count, next) = if self.sparse { self.pairs.look::<true>(window, length, self.aligned, &mut list) } else { self.pairs.look::<false>(window, length, self.aligned, &mut list) };
            if count > 0 { self.candidates(&list, count, window, text, at, &mut hit); }
            at += next;
        }
    }

    #[inline(always)]
    fn candidates(&self, list: &[u8; 256], count: usize, window: &[u8; WINDOW], text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        let mut keep = [0u16; 64];
        let mut kept = 0usize;
        for &i in list.iter().take(count) {
            let p = usize::from(i).min(WINDOW - 8);
            let eight = load(window, p);
            let classes = self.pairs.classes(eight as u32);
            let mut test = |level: Level, bits: u32| {
                let hash = gram::hash(level.number().into(), eight);
                let bit = hash >> self.filter_shift;
                let pass = self.filter.get((bit >> 6) as usize).map_or(0, |w| w >> (bit & 63) & 1);
                keep[kept & 63] = u16::from(level.number()) << 8 | u16::from(i);
                kept += pass as usize & usize::from(classes & bits != 0);
            };
            test(LONG, LONG_BITS);
            if self.present & SIX_BITS != 0 { test(SIX, SIX_BITS); }
            if self.present & FOUR_BITS != 0 { test(FOUR, FOUR_BITS); }
            if classes & (THREE_BITS | SHORT_BITS) != 0 {
                test(THREE, THREE_BITS);
                test(TWO, SHORT_BITS);
                test(ONE, SHORT_BITS);
            }
            if kept > 58 {
                self.verify(&keep[..kept], window, text, at, hit);
                kept = 0;
            }
        }
        self.verify(&keep[..kept.min(64)], window, text, at, hit);
    }

    #[inline(always)]
    fn verify(&self, keep: &[u16], window: &[u8; WINDOW], text: &[u8], at: usize, hit: &mut impl FnMut(u32, usize)) {
        let mut list = [0u16; 64];
        let mut n = 0;
        for &c in keep {
            let p = usize::from(c & 0xff);
            let hash = gram::hash(usize::from(c >> 8), load(window, p));
            list[n & 63] = c;
            n += usize::from(self.table.may_hold(hash));
        }
        for &c in &list[..n.min(64)] {
            let p = usize::from(c & 0xff);
            let hash = gram::hash(usize::from(c >> 8), load(window, p));
            self.table.verify((c >> 8) as u8, hash, text, at + p, hit);
        }
    }
}
