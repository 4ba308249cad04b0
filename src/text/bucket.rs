//! `bucket(key)`: a stable hash into 0..=99, for gradual roll-outs (`bucket(ctx.user.id) in 0..10` is a tenth of them).
//!
//! The same key falls into the same bucket for ever, in every version and on every machine, so the function is written
//! out here in full, for others to repeat. Over the UTF-8 bytes of the key, in unsigned 64-bit arithmetic that wraps:
//!
//! 1. FNV-1a: `h = 0xcbf29ce484222325`; for each byte, `h = (h ^ byte) * 0x100000001b3`.
//! 2. MurmurHash3's finaliser, since FNV alone spreads short keys poorly: `h ^= h >> 33; h *= 0xff51afd7ed558ccd;
//!    h ^= h >> 33; h *= 0xc4ceb9fe1a85ec53; h ^= h >> 33`.
//! 3. The bucket is `h % 100`.
//!
//! The key is taken as it is: no folding, no normalisation. It is no secret and no defence: whoever picks a key can
//! pick a bucket.

/// The bucket of `key`, from 0 to 99. The algorithm is in the module's documentation and never changes.
pub fn bucket(key: &str) -> i64 {
    let h = key
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (finalise(h) % 100) as i64
}

/// MurmurHash3's finaliser.
pub(crate) fn finalise(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: [(&str, i64); 14] = [
        ("", 42),
        ("a", 15),
        ("b", 4),
        ("user-1", 77),
        ("user-2", 35),
        ("user-3", 36),
        ("42", 76),
        ("Alice", 15),
        ("alice", 36),
        ("文件", 43),
        ("café", 54),
        ("cafe\u{301}", 48),
        ("a@example.org", 58),
        ("the quick brown fox jumps over the lazy dog", 23),
    ];

    /// Computed by an independent Python program; a change here is a change for every roll-out in the field.
    #[test]
    fn golden_values() {
        for (key, expected) in GOLDEN {
            assert_eq!(bucket(key), expected, "{key:?}");
        }
    }

    #[test]
    fn spreads_evenly() {
        for (name, key) in [
            ("numbers", (|i| i.to_string()) as fn(u32) -> String),
            ("users", |i| format!("user-{i:08}")),
            ("tails", |i| format!("{i}@example.org")),
        ] {
            let mut counts = [0_u32; 100];
            (0..100_000).for_each(|i| counts[bucket(&key(i)) as usize] += 1);
            // 1000 expected in each, standard deviation 31.5; chi-squared has mean 99, deviation 14.
            let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
            assert!((45.0..170.0).contains(&chi), "{name}: chi-squared {chi}");
        }
    }
}
