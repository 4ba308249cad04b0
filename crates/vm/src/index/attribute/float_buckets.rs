//! Finds a number among the sorted constants of predicates. The constants are in buckets, so that
//! a search reads few of them.

/// Sorted floats in buckets (intervals of equal width), so that a number is searched in one bucket
/// only.
#[derive(Clone, Debug, Default)]
pub(super) struct FloatBuckets {
    sorted_floats: Box<[f64]>,
    /// The smallest of `sorted_floats`.
    smallest: f64,
    /// Number of buckets divided by the distance from the smallest to the largest of
    /// `sorted_floats`.
    buckets_per_unit: f64,
    /// Index of the last bucket, as a float, so that it can be compared without a conversion.
    last_bucket_index: f64,
    /// For each bucket, the index in `sorted_floats` of its first value. One more entry at the end
    /// is the number of all values.
    bucket_starts: Box<[u32]>,
}

/// Constant for rounding a float to an integer. After it is added to a float, the lowest bits of
/// the sum are the rounded integer.
const ROUND_TO_INTEGER: f64 = (1_u64 << 52) as f64;

/// Maximum number of buckets of [`FloatBuckets`]. More would save hardly any time but take memory.
/// Measured in benches/notes/decision-cost.md, "Late hits and misses at 100 to 1,000 routes".
const MAX_BUCKETS: usize = 256;

impl FloatBuckets {
    pub fn new(values: Box<[f64]>) -> FloatBuckets {
        let (first, last) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
        let buckets = (2 * values.len()).clamp(1, MAX_BUCKETS);
        let scale = if first < last { buckets as f64 / (last - first) } else { 0.0 };
        let (last, starts) = ((buckets - 1) as f64, vec![0; buckets + 1].into());
        let mut floats = FloatBuckets {
            sorted_floats: values,
            smallest: first,
            buckets_per_unit: scale,
            last_bucket_index: last,
            bucket_starts: starts,
        };
        let mut starts = floats.bucket_starts.clone();
        for value in &floats.sorted_floats {
            starts[floats.bucket_of(*value) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        floats.bucket_starts = starts;
        floats
    }

    /// Returns the bucket of a number. A greater number never gets a lower bucket, even with
    /// rounding. So the values in lower buckets are smaller, and in higher buckets greater.
    #[inline(always)]
    fn bucket_of(&self, float: f64) -> usize {
        let position = (float - self.smallest) * self.buckets_per_unit;
        let position = if position > 0.0 { position } else { 0.0 };
        let position = if position < self.last_bucket_index { position } else { self.last_bucket_index };
        // Rounds to an integer. A cast takes three times as long, because it handles values out of
        // range.
        (position + ROUND_TO_INTEGER).to_bits() as u32 as usize
    }

    /// Returns the number of `sorted_floats` that are less than `float`, and whether `float` is one
    /// of them.
    #[inline(always)]
    pub fn search_value(&self, float: f64) -> (usize, bool) {
        let bucket = self.bucket_of(float);
        let [bucket_start, bucket_end] = match self.bucket_starts.get(bucket..) {
            Some([start, end, ..]) => [*start as usize, *end as usize],
            _ => [0, 0],
        };
        let bucket_values = self.sorted_floats.get(bucket_start..bucket_end).unwrap_or_default();
        let below = bucket_values.partition_point(|other| *other < float);
        (bucket_start + below, bucket_values.get(below) == Some(&float))
    }
}

/// Magnitude up to which floats represent every integer exactly.
const MAX_EXACT_INT: i64 = 1 << 53;

/// Returns an integer as a float; `None` if the float might not be exact.
#[inline]
pub(super) fn to_exact_float(int: i64) -> Option<f64> {
    (-MAX_EXACT_INT..=MAX_EXACT_INT).contains(&int).then_some(int as f64)
}

#[cfg(test)]
mod tests {
    use super::FloatBuckets;

    /// Compares the search in buckets with a plain search, for numbers that are close together, far
    /// apart and in between.
    #[test]
    fn bucket_search_equals_linear_search() {
        let spread = (0..500).map(|n| f64::from(n) * 0.7 - 100.0);
        let skewed = (0..60).map(|n| 1.5_f64.powi(n * 20) - 3.0);
        let huge = [f64::MIN, -1.0, -0.0, 5e-324, 1.0, f64::MAX];
        let sets: [Vec<f64>; 5] = [spread.collect(), skewed.collect(), huge.into(), vec![7.0], Vec::new()];
        for values in sets {
            let floats = FloatBuckets::new(values.clone().into());
            let near =
                values.iter().flat_map(|value| [*value, value.next_up(), value.next_down(), value * 1.01]);
            for float in near.chain([0.0, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300]) {
                let below = values.partition_point(|value| *value < float);
                assert_eq!(floats.search_value(float), (below, values.get(below) == Some(&float)), "{float}");
            }
        }
    }
}
