//! The vocabulary of the classifier: assigns a weight to each feature, and converts texts to
//! vectors.
//!
//! A weight is high for a feature that is frequent in the text but rare in the training sentences
//! (TF-IDF). It is `(1 + ln n) · (1 + ln((1 + s) / (1 + d)))`. Here *n* is how often the feature
//! occurs in the text, and *d* of *s* sentences contain the feature. *s* and *d* include the
//! assumed sentences of [`super::common`].
//!
//! Each group of features is scaled to equal length, and the whole vector to length 1. A feature
//! outside the vocabulary is weighted like a feature that occurs in no sentence. Such a feature is
//! left out of the vector but counts towards the vector's length.

use super::common::{PRIOR_SENTENCES, PRIOR_SENTENCES_PER_COMMON_WORD};
use super::features::{FEATURE_GROUP_COUNT, Feature};
use hashbrown::HashMap;

/// Maximum number of features in a vocabulary, 2¹⁵, which bounds the memory of a model. The most
/// frequent features are kept.
pub const MAX_FEATURES: usize = 1 << 15;

/// A text as a vector: the ids of its features with their weights, each id at most once.
pub type SparseVector = Vec<(u32, f32)>;

type FeatureMap<V> = HashMap<u64, V, foldhash::fast::FixedState>;

/// For each feature, counts the sentences that contain the feature.
#[derive(Debug, Default)]
pub struct FeatureCounter {
    sentence_count: u32,
    /// For each feature: the number of sentences that contain it, and whether it consists only of
    /// common words.
    sentence_counts: FeatureMap<(u32, bool)>,
}

impl FeatureCounter {
    /// Counts the features of one training sentence, each feature once. `features` must be sorted.
    pub fn add_sentence(&mut self, features: &[Feature]) {
        self.sentence_count += 1;
        for occurrences in features.chunk_by(|a, b| a.hash == b.hash) {
            self.sentence_counts.entry(occurrences[0].hash).or_insert((0, occurrences[0].is_common)).0 += 1;
        }
    }

    pub fn into_vocabulary(self) -> Vocabulary {
        let mut counted_features: Vec<(u64, (u32, bool))> = self.sentence_counts.into_iter().collect();
        // Equally frequent features are ordered by their hash. This order is arbitrary, but always
        // the same, and without a bias against the intents declared last.
        counted_features.sort_unstable_by_key(|&(hash, (count, _))| (std::cmp::Reverse(count), hash));
        counted_features.truncate(MAX_FEATURES);
        let idf = |count: u32, common: bool| {
            let prior = if common { PRIOR_SENTENCES_PER_COMMON_WORD } else { 0.0 };
            let sentences = f64::from(self.sentence_count) + PRIOR_SENTENCES;
            (1.0 + portable_natural_log((1.0 + sentences) / (1.0 + f64::from(count) + prior))) as f32
        };
        Vocabulary {
            weights: counted_features.iter().map(|&(_, (count, common))| idf(count, common)).collect(),
            unknown_feature_weights: [idf(0, false), idf(0, true)],
            id_by_hash: counted_features.iter().zip(0..).map(|(&(hash, _), id)| (hash, id)).collect(),
        }
    }
}

/// The features of the training sentences with their weights, by which texts are converted to
/// vectors.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    id_by_hash: FeatureMap<u32>,
    /// The weight of each feature, indexed by feature id.
    weights: Vec<f32>,
    /// Weights of features outside the vocabulary. The first is for features with at least one
    /// uncommon word, the second for features that consist only of common words.
    unknown_feature_weights: [f32; 2],
}

impl Vocabulary {
    /// Returns the number of features in the vocabulary.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Returns the approximate memory use of the vocabulary in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.id_by_hash.allocation_size() + size_of_val(self.weights.as_slice())
    }

    /// Converts a text to a vector of length at most 1; `features` are the sorted features of the
    /// text.
    pub fn to_vector(&self, features: &[Feature]) -> SparseVector {
        let mut vector = Vec::with_capacity(features.len());
        let mut squares = [0.0_f32; FEATURE_GROUP_COUNT];
        // Each feature id is stored with its group in the low bits, until the length of each group
        // is known.
        for occurrences in features.chunk_by(|a, b| a.hash == b.hash) {
            let Feature { hash, group, is_common: common } = occurrences[0];
            let id = self.id_by_hash.get(&hash);
            let idf =
                id.map_or(self.unknown_feature_weights[usize::from(common)], |&n| self.weights[n as usize]);
            let weight = if occurrences.len() == 1 {
                idf
            } else {
                idf * (1.0 + portable_natural_log(occurrences.len() as f64) as f32)
            };
            squares[group as usize] += weight * weight;
            if let Some(&id) = id {
                vector.push((id << FEATURE_GROUP_BITS | group as u32, weight));
            }
        }
        let groups = squares.iter().filter(|&&square| square > 0.0).count() as f32;
        let scales = squares.map(|square| 1.0 / (square * groups).sqrt());
        for (id, weight) in &mut vector {
            *weight *= scales[(*id & FEATURE_GROUP_MASK) as usize];
            *id >>= FEATURE_GROUP_BITS;
        }
        vector
    }
}

const FEATURE_GROUP_BITS: u32 = 2;
const FEATURE_GROUP_MASK: u32 = (1 << FEATURE_GROUP_BITS) - 1;
const _: () =
    assert!(FEATURE_GROUP_COUNT <= 1 << FEATURE_GROUP_BITS && MAX_FEATURES < 1 << (32 - FEATURE_GROUP_BITS));

/// Returns the natural logarithm of a positive, finite, normal `x`. The result is the same on every
/// platform, which `f64::ln` does not guarantee. The result differs from the exact value by at most
/// a few units in its last place.
fn portable_natural_log(x: f64) -> f64 {
    // x = m · 2^e with m in [1/√2, √2), and ln m = 2 artanh((m - 1) / (m + 1)).
    const MANTISSA_MASK: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let (mut m, mut e) = (f64::from_bits(bits & MANTISSA_MASK | 1023 << 52), (bits >> 52) as i64 - 1023);
    if m > std::f64::consts::SQRT_2 {
        (m, e) = (m / 2.0, e + 1);
    }
    let ratio = (m - 1.0) / (m + 1.0);
    let series = (0..=10).rev().fold(0.0, |sum, k| sum * (ratio * ratio) + 1.0 / f64::from(2 * k + 1));
    2.0 * ratio * series + e as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::super::features::{FeatureExtractor, KeywordFinder};
    use super::*;

    #[test]
    fn portable_ln_agrees_with_ln() {
        for i in 1..20_000 {
            for x in [f64::from(i), f64::from(i) / 128.0, 1.0 / f64::from(i)] {
                assert!(
                    (portable_natural_log(x) - x.ln()).abs() <= 4e-15 * x.ln().abs().max(1.0),
                    "{x}: {} {}",
                    portable_natural_log(x),
                    x.ln()
                );
            }
        }
        assert_eq!(portable_natural_log(1.0), 0.0);
    }

    fn vocabulary_of(sentences: &[&str]) -> Vocabulary {
        let mut counter = FeatureCounter::default();
        for sentence in sentences {
            counter.add_sentence(FeatureExtractor::default().extract(sentence, &KeywordFinder::default()));
        }
        counter.into_vocabulary()
    }

    fn vector_length(vocabulary: &Vocabulary, text: &str) -> f32 {
        let vector =
            vocabulary.to_vector(FeatureExtractor::default().extract(text, &KeywordFinder::default()));
        assert!(vector.iter().all(|&(id, _)| (id as usize) < vocabulary.len()), "{text}");
        vector.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt()
    }

    #[test]
    fn unknown_features_shorten_the_vector() {
        let trained_vocabulary = vocabulary_of(&["open the red door", "红色的门"]);
        for (text, min_length, max_length) in [
            ("open the red door", 0.9999, 1.0001),
            ("open the red door open the red door", 0.9, 1.0001),
            ("红色的门", 0.9999, 1.0001),
            ("open the window", 0.2, 0.8),
            ("zzz", 0.0, 0.0),
            ("", 0.0, 0.0),
        ] {
            let length = vector_length(&trained_vocabulary, text);
            assert!((min_length..=max_length).contains(&length), "{text}: {length}");
        }
    }

    #[test]
    fn rare_features_weigh_more_and_common_words_less() {
        let vocabulary = vocabulary_of(&["pay the bill", "pay the rent", "pay the price"]);
        let alone = |text| vector_length(&vocabulary, &format!("{text} zzz qqq"));
        assert!(alone("bill") > alone("pay"));
        assert!(alone("pay") > alone("the"));
    }

    #[test]
    fn the_vocabulary_is_bounded() {
        let sentences: Vec<String> = (0..40_000).map(|i| format!("often w{i}")).collect();
        let sentences: Vec<&str> = sentences.iter().map(String::as_str).collect();
        let vocabulary = vocabulary_of(&sentences);
        assert_eq!(vocabulary.len(), MAX_FEATURES);
        assert!(vector_length(&vocabulary, "often") > 0.7, "the frequent ones are kept");
        let kept_features = (0..40_000)
            .filter(|i| {
                vector_length(&vocabulary, &format!("qqq w{i}")) > vector_length(&vocabulary, "qqq w")
            })
            .count();
        assert!(kept_features > 1000, "{kept_features}");
    }
}
