//! `bucket(key)`: a stable hash of a key, such as a user id, for gradual rollouts.
//! `bucket(ctx.user.id) in 0..10` selects a tenth of the users.
//!
//! A key has the same bucket in every version and on every machine, permanently. The function is
//! specified here so that other programs can implement it. It reads the UTF-8 bytes of the key and
//! uses wrapping unsigned 64-bit arithmetic:
//!
//! 1. FNV-1a: `h = 0xcbf29ce484222325`; for each byte, `h = (h ^ byte) * 0x100000001b3`.
//! 2. The finalizer of MurmurHash3, because FNV alone distributes short keys poorly:
//!    `h ^= h >> 33; h *= 0xff51afd7ed558ccd; h ^= h >> 33; h *= 0xc4ceb9fe1a85ec53; h ^= h >> 33`.
//! 3. The bucket is `h % 100`.
//!
//! The number of buckets may also be another multiple `n` of 100. The bucket is then
//! `h % 100 * (n / 100) + h / 100 % (n / 100)`. So each of the 100 buckets is divided into
//! `n / 100` buckets, and a rollout keeps its users if the rule changes to finer buckets.
//!
//! With a seed, the hashed bytes are `SEED:KEY`. [`BucketHash`] names the algorithms of other
//! systems, so that users who migrate from these systems keep every key in its group.
//!
//! The key is neither folded nor normalized. The hash gives no security: anyone who can choose a
//! key can choose its bucket.

/// An algorithm that assigns keys to buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketHash {
    /// The algorithm of rulec itself, which assigns each key to one of the buckets 0 to 99. The
    /// module documentation specifies the algorithm, which never changes.
    Rulec,
    /// The buckets 1 to 100 of the feature-flag system Unleash: MurmurHash3 (x86, 32 bits, seed 0)
    /// of the UTF-8 bytes of `SEED:KEY`, modulo 100, plus 1. Unleash calls the seed `groupId`. A
    /// rollout of 25 % selects the buckets 1 to 25.
    Unleash,
    /// The buckets 1 to 1000 by which Unleash selects a variant of a feature; the weights of the
    /// variants add up to 1000. The hash is the hash of [`BucketHash::Unleash`], but with
    /// MurmurHash3 seed 86028157 and modulo 1000.
    UnleashVariants,
    /// The buckets 0 to 0.999 of the feature-flag system GrowthBook with `hashVersion` 1: FNV-1a
    /// (32 bits) of the key followed by the seed, modulo 1000, divided by 1000. The hash reads
    /// UTF-16 code units, as the JavaScript library of GrowthBook does.
    GrowthBook1,
    /// The buckets 0 to 0.9999 of the feature-flag system GrowthBook with `hashVersion` 2: FNV-1a
    /// (32 bits) of the seed followed by the key, then FNV-1a of that number in decimal, modulo
    /// 10000, divided by 10000.
    GrowthBook2,
}

/// A bucket, as an integer or as a fraction. The fraction is the number of buckets before this
/// bucket, divided by the number of all buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bucket {
    Number(i64),
    Part(f64),
}

impl BucketHash {
    /// The name of each hash algorithm, as rules write it in the third argument of `bucket`.
    pub const HASH_NAMES: [(&'static str, BucketHash); 5] = [
        ("rulec", BucketHash::Rulec),
        ("unleash", BucketHash::Unleash),
        ("unleash_variants", BucketHash::UnleashVariants),
        ("growthbook_1", BucketHash::GrowthBook1),
        ("growthbook_2", BucketHash::GrowthBook2),
    ];

    pub fn from_name(name: &str) -> Option<BucketHash> {
        BucketHash::HASH_NAMES.iter().find(|(hash_name, _)| *hash_name == name).map(|(_, hash)| *hash)
    }

    /// Returns the bucket of a key. For [`BucketHash::Rulec`], an empty `seed` means no seed.
    pub fn bucket(self, key: &str, seed: &str) -> Bucket {
        let seeded = || seed.bytes().chain([b':']).chain(key.bytes());
        let murmur = |seed, buckets: u32| Bucket::Number((murmur3(seeded(), seed) % buckets + 1).into());
        match self {
            BucketHash::Rulec => Bucket::Number(fine_bucket(key, seed, MIN_BUCKETS)),
            BucketHash::Unleash => murmur(0, 100),
            BucketHash::UnleashVariants => murmur(86_028_157, 1000),
            BucketHash::GrowthBook1 => Bucket::Part(f64::from(fnv32_of_utf16([key, seed]) % 1000) / 1000.0),
            BucketHash::GrowthBook2 => {
                let first = fnv32_of_utf16([seed, key]).to_string();
                Bucket::Part(f64::from(fnv32_of_utf16([&first, ""]) % 10_000) / 10_000.0)
            }
        }
    }
}

/// Minimum number of buckets among which `bucket(key, of: …)` distributes keys.
const MIN_BUCKETS: u64 = 100;
/// Maximum number of buckets among which `bucket(key, of: …)` distributes keys. With this number of
/// buckets, each bucket has a millionth of the keys.
const MAX_BUCKETS: i64 = 1_000_000;

/// True if keys can be assigned to this number of buckets: a multiple of 100, up to a million.
pub fn is_bucket_count(count: i64) -> bool {
    (MIN_BUCKETS as i64..=MAX_BUCKETS).contains(&count) && count % MIN_BUCKETS as i64 == 0
}

/// Returns the bucket of a key among `count` buckets. `None` if [`is_bucket_count`] is false for
/// `count`. The algorithm is specified in the module documentation. An empty `seed` means no seed.
pub fn bucket_among(key: &str, seed: &str, count: i64) -> Option<i64> {
    is_bucket_count(count).then(|| fine_bucket(key, seed, count as u64))
}

fn fine_bucket(key: &str, seed: &str, count: u64) -> i64 {
    let prefix = if seed.is_empty() { "" } else { ":" };
    let bytes = seed.bytes().chain(prefix.bytes()).chain(key.bytes());
    let h =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let (h, parts) = (murmur3_finalize(h), count / MIN_BUCKETS);
    (h % MIN_BUCKETS * parts + h / MIN_BUCKETS % parts) as i64
}

/// Returns the 32-bit FNV-1a hash of the UTF-16 code units of two concatenated texts.
fn fnv32_of_utf16(texts: [&str; 2]) -> u32 {
    let units = texts.into_iter().flat_map(str::encode_utf16);
    units.fold(0x811c_9dc5, |h, unit| (h ^ u32::from(unit)).wrapping_mul(0x0100_0193))
}

/// Returns the MurmurHash3 hash (x86 variant, 32 bits) of a sequence of bytes.
fn murmur3(bytes: impl Iterator<Item = u8>, seed: u32) -> u32 {
    let scramble = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (mut h, mut block, mut length) = (seed, 0, 0_u32);
    for byte in bytes {
        block |= u32::from(byte) << (8 * (length % 4));
        length = length.wrapping_add(1);
        if length % 4 == 0 {
            h = (h ^ scramble(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
            block = 0;
        }
    }
    h ^= scramble(block) ^ length;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// Mixes the bits of a hash with the 64-bit finalizer of MurmurHash3.
pub fn murmur3_finalize(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED_BUCKETS: [(&str, i64); 14] = [
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

    /// Compares buckets with expected values that an independent Python program computed. If an
    /// expected value changed, users would move to other buckets in every running rollout.
    #[test]
    fn buckets_match_a_python_program() {
        for (key, expected) in EXPECTED_BUCKETS {
            assert_eq!(BucketHash::Rulec.bucket(key, ""), Bucket::Number(expected), "{key:?}");
        }
    }

    /// If the number of buckets is a larger multiple of 100, each of the 100 buckets is divided. So
    /// each key stays within its bucket of the 100.
    #[test]
    fn finer_buckets_divide_coarser_ones() {
        for (key, expected) in EXPECTED_BUCKETS {
            assert_eq!(bucket_among(key, "", 100), Some(expected), "{key:?}");
            for count in [1000, 10_000, 1_000_000] {
                let fine = bucket_among(key, "", count).expect("a number of buckets");
                assert_eq!(fine / (count / 100), expected, "{key:?} of {count}");
            }
        }
        assert_eq!(bucket_among("a", "s", 100).map(Bucket::Number), Some(BucketHash::Rulec.bucket("a", "s")));
        for count in [-100, 0, 1, 99, 150, 1_000_100, i64::MAX] {
            assert_eq!(bucket_among("a", "", count), None, "{count}");
        }
        // 2.5 % of 100,000 keys are 2500, with a standard deviation of 49. The bounds allow four
        // standard deviations.
        let chosen =
            (0..100_000).filter(|i| bucket_among(&format!("user-{i}"), "", 10_000) < Some(250)).count();
        assert!((2300..2700).contains(&chosen), "{chosen}");
    }

    /// Checks the published test vectors of MurmurHash3 and FNV-1a.
    #[test]
    fn hashes_equal_published_values() {
        for (text, seed, expected) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("test", 0, 0xba6b_d213),
            ("Hello, world!", 0x9747_b28c, 0x2488_4cba),
            ("The quick brown fox jumps over the lazy dog", 0, 0x2e4f_f723),
        ] {
            assert_eq!(murmur3(text.bytes(), seed), expected, "{text}");
        }
        for (text, expected) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(fnv32_of_utf16([text, ""]), expected, "{text}");
        }
    }

    /// Compares buckets with the expected values of the feature-flag systems Unleash (its client
    /// specification) and GrowthBook (its file `cases.json`).
    #[test]
    fn buckets_match_other_systems() {
        let check = |hash: BucketHash, seed: &str, key: &str, expected| {
            assert_eq!(hash.bucket(key, seed), expected, "{hash:?} {seed} {key}");
        };
        for (seed, key, part, variant) in [("gr1", "123", 73, 96), ("groupX", "999", 25, 60)] {
            check(BucketHash::Unleash, seed, key, Bucket::Number(part));
            // The published numbers are modulo 100, which divides 1000.
            let Bucket::Number(found) = BucketHash::UnleashVariants.bucket(key, seed) else {
                panic!("no number")
            };
            assert_eq!((found - 1) % 100 + 1, variant, "{seed} {key}");
        }
        for (seed, key, part) in [
            ("", "a", 0.22),
            ("", "b", 0.077),
            ("b", "a", 0.946),
            ("ef", "d", 0.652),
            ("asdf", "8952klfjas09ujk", 0.549),
            ("", "123", 0.011),
            ("", "___)((*\":&", 0.563),
            ("feature", "456", 0.178),
            ("feature", "fds", 0.514),
        ] {
            check(BucketHash::GrowthBook1, seed, key, Bucket::Part(part));
        }
        for (seed, key, part) in [
            ("seed", "a", 0.0505),
            ("seed", "b", 0.2696),
            ("foo", "ab", 0.2575),
            ("foo", "def", 0.2019),
            ("89123klj", "8952klfjas09ujkasdf", 0.124),
            ("90850943850283058242805", "123", 0.7516),
            ("()**(%$##$%#$#", "___)((*\":&", 0.0128),
            ("feature", "123", 0.5231),
        ] {
            check(BucketHash::GrowthBook2, seed, key, Bucket::Part(part));
        }
    }

    #[test]
    fn keys_spread_evenly_over_the_buckets() {
        for (name, key) in [
            ("numbers", (|i| i.to_string()) as fn(u32) -> String),
            ("users", |i| format!("user-{i:08}")),
            ("tails", |i| format!("{i}@example.org")),
        ] {
            let mut counts = [0_u32; 100];
            (0..100_000).for_each(|i| counts[fine_bucket(&key(i), "", 100) as usize] += 1);
            // Each bucket has 1000 expected keys, with a standard deviation of 31.5. Chi-squared
            // has the mean 99 and the standard deviation 14.
            let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
            assert!((45.0..170.0).contains(&chi), "{name}: chi-squared {chi}");
        }
    }
}
