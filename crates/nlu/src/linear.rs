//! Scores texts: the classifier has one linear function per intent, fitted to the training
//! sentences of all intents. The value of a function is the sum *w*·*x* of a sentence's features
//! *x*, each multiplied by the intent's weight *w* of this feature.
//!
//! Training chooses the weights *w* of an intent that minimise a sum of three terms. `½|w|²` keeps
//! the weights small. `Σ c · max(0, 1 - w·x)²`, over the sentences of the intent, penalises values
//! below 1. `Σ c' · max(0, w·x)²`, over all other sentences, penalises values above 0.
//!
//! This minimum is found through its dual problem, which has one variable α ≥ 0 per sentence. The
//! variables are improved in repeated passes over the sentences; each step sets one α to its best
//! value. (Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for
//! large-scale linear SVM", ICML 2008.)
//!
//! All intents are fitted together. The weights of a feature for all intents are one row, so that
//! the inner loops run over a row. A compiler can vectorize them without changing the order of any
//! sum. The final weights are rounded to eight bits, with one scale per row, which changes scores
//! by some thousandths.

use super::vocabulary::SparseVector;

/// The factor `c` in the formula of the module documentation: the penalty for a low score of an
/// intent on its own sentences. It is higher than `c'`, because an intent has few sentences of its
/// own.
const OWN_LABEL_COST: f32 = 5.0;
/// The factor `c'` in the formula of the module documentation: the penalty for a score above 0 on a
/// sentence of another intent.
const OTHER_LABEL_COST: f32 = 1.0;

/// Training ends after a pass in which no variable α changes by more than this value. There is one
/// α for each sentence and intent.
const CONVERGENCE_TOLERANCE: f32 = 1e-3;
/// Target number of visits to sentences, summed over all passes. It determines the number of
/// passes, from [`MIN_TRAINING_PASSES`] to [`MAX_TRAINING_PASSES`]. With few sentences, many passes
/// cost little. With many sentences, many passes gain little.
const TARGET_SENTENCE_VISITS: usize = 40_000;
/// Minimum number of passes over the sentences.
const MIN_TRAINING_PASSES: usize = 8;
/// Maximum number of passes over the sentences. It bounds the training time of small models.
const MAX_TRAINING_PASSES: usize = 100;

/// A training sentence as a vector, with the intent that it belongs to.
#[derive(Clone, Debug)]
pub struct TrainingRow {
    /// The features of the sentence with their weights, each feature at most once.
    pub vector: SparseVector,
    /// Index of the intent that the sentence belongs to.
    pub label: usize,
}

/// The fitted linear functions, one per intent. The label of a function is the index of its intent.
#[derive(Clone, Debug)]
pub struct LinearModel {
    label_count: usize,
    /// A row for each feature, with one weight per label, rounded to an 8-bit number.
    weights: Vec<i8>,
    /// The scale of each row: a weight is the 8-bit number in `weights` times the scale of its row.
    row_scales: Vec<f32>,
}

impl LinearModel {
    /// Fits one linear function per intent to the training sentences `rows`. Precondition: all
    /// feature ids are below `features`, and all labels below `labels`.
    pub fn train(rows: &[TrainingRow], features: usize, labels: usize) -> LinearModel {
        let mut fitting = LinearTraining {
            label_count: labels,
            weights: vec![0.0; features * labels],
            alphas: vec![0.0; rows.len() * labels],
            label_values: vec![0.0; labels],
            label_steps: vec![0.0; labels],
        };
        let mut row_order: Vec<usize> = (0..rows.len()).collect();
        let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
        let passes =
            (TARGET_SENTENCE_VISITS / rows.len().max(1)).clamp(MIN_TRAINING_PASSES, MAX_TRAINING_PASSES);
        for _ in 0..passes {
            random.shuffle(&mut row_order);
            let mut largest_change = 0.0_f32;
            for &i in &row_order {
                largest_change = largest_change.max(fitting.update_alphas(i, &rows[i]));
            }
            if largest_change < CONVERGENCE_TOLERANCE {
                break;
            }
        }
        fitting.into_model()
    }

    /// Returns the value of each intent's function at `vector`, in the order of the labels.
    pub fn label_scores(&self, vector: &[(u32, f32)]) -> Vec<f32> {
        let mut sums = vec![0.0; self.label_count];
        for &(feature, value) in vector {
            let value = value * self.row_scales[feature as usize];
            let row = &self.weights[feature as usize * self.label_count..][..self.label_count];
            for (sum, &weight) in sums.iter_mut().zip(row) {
                *sum += value * f32::from(weight);
            }
        }
        sums
    }

    /// Returns the approximate memory use of the fitted functions in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.weights.len() + size_of_val(self.row_scales.as_slice())
    }
}

struct LinearTraining {
    label_count: usize,
    /// The weights before they are rounded to 8 bits, in the layout of [`LinearModel::weights`].
    weights: Vec<f32>,
    /// The variables α that the training computes: a row for each sentence, with one variable for
    /// each intent.
    alphas: Vec<f32>,
    /// The value of each intent's function on the sentence that is being visited.
    label_values: Vec<f32>,
    /// For each intent, the factor by which the vector of the visited sentence is added to the
    /// intent's weights.
    label_steps: Vec<f32>,
}

impl LinearTraining {
    /// Sets the variables α of sentence `row_index` to their best values, and returns the largest
    /// change of one of them.
    fn update_alphas(&mut self, row_index: usize, row: &TrainingRow) -> f32 {
        let labels = self.label_count;
        self.label_values.fill(0.0);
        for &(feature, value) in &row.vector {
            let weights = &self.weights[feature as usize * labels..][..labels];
            for (sum, weight) in self.label_values.iter_mut().zip(weights) {
                *sum += value * weight;
            }
        }
        let squared_length: f32 = row.vector.iter().map(|(_, value)| value * value).sum();
        let alphas = &mut self.alphas[row_index * labels..][..labels];

        // The function of the sentence's intent should have w·x ≥ 1. The new α is computed first,
        // so that the loop below can treat all labels alike.
        let old_alpha = alphas[row.label];
        let ridge = 0.5 / OWN_LABEL_COST;
        let new_alpha = (old_alpha
            + (1.0 - self.label_values[row.label] - ridge * old_alpha) / (squared_length + ridge))
            .max(0.0);

        // The functions of the other intents should have w·x ≤ 0.
        let ridge = 0.5 / OTHER_LABEL_COST;
        let factor = 1.0 / (squared_length + ridge);
        let mut largest_change = 0.0_f32;
        for ((step, sum), alpha) in self.label_steps.iter_mut().zip(&self.label_values).zip(alphas.iter_mut())
        {
            let new = (*alpha + (sum - ridge * *alpha) * factor).max(0.0);
            *step = *alpha - new;
            *alpha = new;
        }
        alphas[row.label] = new_alpha;
        self.label_steps[row.label] = new_alpha - old_alpha;
        for step in &self.label_steps {
            largest_change = largest_change.max(step.abs());
        }
        if largest_change > 0.0 {
            for &(feature, value) in &row.vector {
                let weights = &mut self.weights[feature as usize * labels..][..labels];
                for (weight, step) in weights.iter_mut().zip(&self.label_steps) {
                    *weight += value * step;
                }
            }
        }
        largest_change
    }

    fn into_model(self) -> LinearModel {
        let mut scales = Vec::new();
        let mut weights = Vec::with_capacity(self.weights.len());
        for row in self.weights.chunks_exact(self.label_count.max(1)) {
            let scale = row.iter().fold(0.0_f32, |largest, weight| largest.max(weight.abs())) / 127.0;
            scales.push(scale);
            // A row of zeros has scale 0; the quotient is then NaN, which the conversion to an
            // integer turns into 0.
            weights.extend(row.iter().map(|weight| (weight / scale).round() as i8));
        }
        LinearModel { label_count: self.label_count, weights, row_scales: scales }
    }
}

/// Marsaglia's xorshift generator with a fixed seed: a pseudo-random order that is always the same.
struct XorShift(u64);

impl XorShift {
    fn shuffle(&mut self, items: &mut [usize]) {
        for i in (1..items.len()).rev() {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            items.swap(i, (self.0 % (i as u64 + 1)) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn training_row(label: usize, vector: &[(u32, f32)]) -> TrainingRow {
        TrainingRow { vector: vector.to_vec(), label }
    }

    /// Returns two sentences with different labels. Each has one feature of its own and one shared
    /// feature.
    fn two_sentences() -> Vec<TrainingRow> {
        vec![training_row(0, &[(0, 0.8), (2, 0.6)]), training_row(1, &[(1, 0.8), (2, 0.6)])]
    }

    #[test]
    fn sentences_of_two_intents_are_separated() {
        let linear = LinearModel::train(&two_sentences(), 3, 2);
        for (vector, own_label, other_label) in
            [(vec![(0, 0.8), (2, 0.6)], 0, 1), (vec![(1, 0.8), (2, 0.6)], 1, 0), (vec![(0, 1.0)], 0, 1)]
        {
            let scores = linear.label_scores(&vector);
            assert!(scores[own_label] > 0.7 && scores[other_label] < 0.2, "{vector:?}: {scores:?}");
        }
        let shared = linear.label_scores(&[(2, 1.0)]);
        assert!((shared[0] - shared[1]).abs() < 0.02 && shared[0] < 0.5, "{shared:?}");
        assert_eq!(linear.label_scores(&[]), [0.0, 0.0]);
    }

    /// Checks that the fitted weights are optimal. At the optimum, the derivative of the minimised
    /// sum with respect to each weight is zero. This means `w = Σ ± α x`. Here α is twice the cost,
    /// times the amount by which the value of a sentence misses its bound (1 or 0).
    #[test]
    fn fitted_weights_are_optimal() {
        let (rows, labels, features) = (two_sentences(), 2, 3);
        let linear = LinearModel::train(&rows, features, labels);
        for label in 0..labels {
            let mut expected = vec![0.0_f32; features];
            for row in &rows {
                let value = linear.label_scores(&row.vector)[label];
                let alpha = if row.label == label {
                    2.0 * OWN_LABEL_COST * (1.0 - value).max(0.0)
                } else {
                    -2.0 * OTHER_LABEL_COST * value.max(0.0)
                };
                row.vector.iter().for_each(|&(feature, x)| expected[feature as usize] += alpha * x);
            }
            for (feature, expected) in expected.iter().enumerate() {
                let weight = linear.label_scores(&[(feature as u32, 1.0)])[label];
                assert!((weight - expected).abs() < 0.06, "{label} {feature}: {weight} {expected}");
            }
        }
    }

    #[test]
    fn models_of_few_or_conflicting_sentences_are_fitted() {
        assert_eq!(LinearModel::train(&[], 0, 0).label_scores(&[]), Vec::<f32>::new());
        assert_eq!(LinearModel::train(&[training_row(0, &[])], 1, 1).label_scores(&[(0, 1.0)]), [0.0]);
        let single_row_scores =
            LinearModel::train(&[training_row(0, &[(0, 1.0)])], 1, 1).label_scores(&[(0, 1.0)]);
        assert!(single_row_scores[0] > 0.85 && single_row_scores[0] <= 1.0, "{single_row_scores:?}");
        let conflicting_scores =
            LinearModel::train(&[training_row(0, &[(0, 1.0)]), training_row(1, &[(0, 1.0)])], 1, 2)
                .label_scores(&[(0, 1.0)]);
        assert!(
            (conflicting_scores[0] - conflicting_scores[1]).abs() < 0.02,
            "the same sentence in two intents: {conflicting_scores:?}"
        );
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut order: Vec<usize> = (0..1000).collect();
        XorShift(1).shuffle(&mut order);
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }
}
