//! The seeded random number generator of tests and benchmarks (SplitMix64). With a seed, every
//! failure can be reproduced, and every run measures the same rules and messages.

/// A SplitMix64 generator, which can also take its first numbers from given bytes.
pub struct Random {
    state: u64,
    /// Bytes that the generator uses first, in reverse order.
    given: Vec<u8>,
}

impl Random {
    /// Creates a generator with a seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed, given: Vec::new() }
    }

    /// Creates a generator, for fuzzing, that uses the given bytes first and then continues with
    /// the seed 0.
    #[allow(dead_code, reason = "tests start from seeds")]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Random { state: 0, given: bytes.iter().rev().copied().collect() }
    }

    /// Returns the next random number.
    pub fn next(&mut self) -> u64 {
        if let Some(byte) = self.given.pop() {
            return u64::from(byte) | u64::from(self.given.pop().unwrap_or_default()) << 8;
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Returns true with a probability of `percent` percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns a random item.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}
