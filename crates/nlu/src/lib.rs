//! The built-in intent classifier: it finds the intent that a message expresses, with a score.
//!
//! The classifier works offline and needs only the rules file. At load time it is trained on the
//! texts that the author wrote for each intent. It returns a score from 0 to 1, or abstains.
//!
//! ```
//! # use rulec::classifier::{Classifier, Intent, Options};
//! let intents = [
//!     Intent::new("refund").keywords(["refund", "退款"]).examples(["i want my money back", "我想把钱退回来"]),
//!     Intent::new("opening_hours").examples(["when do you open", "are you open on sunday", "你们几点开门"]),
//! ];
//! let classifier = Classifier::train(&intents, Options::default())?;
//! assert_eq!(classifier.classify("Please give me my money back!").chosen(), Some("refund"));
//! assert_eq!(classifier.classify("请问周日几点开门").chosen(), Some("opening_hours"));
//! assert_eq!(classifier.classify("who wrote hamlet").chosen(), None);
//! # Ok::<(), rulec::classifier::TrainError>(())
//! ```
//!
//! # How it works
//!
//! | module | the question that it answers |
//! |---|---|
//! | `features` | which words, word pairs, character n-grams and keywords does a text have? |
//! | `common` | which of them are common in sentences on any subject? |
//! | `vocabulary` | what weight has each, and how is a text converted to a vector? |
//! | `linear` | how does each intent score a vector? |
//!
//! A text becomes a vector of TF-IDF weights. One linear function is fitted per intent: at least 1
//! on the intent's own sentences, at most 0 on all others. This is a one-versus-rest linear support
//! vector machine, with squared hinge loss and ridge penalty. There is no constant term, so a text
//! that shares no feature with any sentence scores 0, whatever the number of intents. A text's
//! features outside the vocabulary lower its scores: they count towards the vector's length, which
//! is scaled to 1. One `threshold` therefore works for three intents with five sentences each and
//! for 150 intents with a hundred sentences each.
//!
//! An intent's score is the value of its function, clamped to 0..=1 and rounded to four decimals.
//! The rounded score is also the number that is compared with the threshold. A score near 1 means
//! that the text is like an example of the intent; 0 means that the text shares nothing with the
//! intent. The score measures evidence and is not a probability.
//!
//! # Guarantees
//!
//! - The same intents in the same order give the same scores, bit for bit, on every machine. Sums
//!   have a fixed order. Nothing depends on hash table order, threads, a clock, or the platform's
//!   `ln` or `exp`.
//! - Case, full-width forms (Unicode NFKC) and the amount of white space make no difference.
//!   Punctuation makes no difference if there is white space too.
//! - Only the first [`MAX_TEXT_BYTES`] bytes of a text are read.
//!
//! # Cost
//!
//! Let *i* be the number of intents, *s* of sentences (descriptions, keywords and examples), and
//! *f* of features. At most [`MAX_FEATURES`] features are kept, the most frequent ones. A model
//! takes about *f* × (*i* + 42) bytes. Training takes 4 × (*f* + *s*) × *i* bytes temporarily, and
//! time proportional to *s* × *i*. See `benches/classify.rs`.

#![forbid(unsafe_code)]

mod common;
mod features;
mod linear;
mod vocabulary;

use features::{FeatureExtractor, KeywordFinder};
use linear::LinearModel;
use rulec_base::diag::Message;
use rulec_base::message;
use smallvec::SmallVec;
use vocabulary::Vocabulary;

pub use features::MAX_TEXT_BYTES;
pub use vocabulary::MAX_FEATURES;

/// Maximum number of intents in the ranking of a [`Verdict`].
pub const MAX_RANKED: usize = 5;

/// Maximum product of the number of sentences and the number of intents in training, to bound
/// memory. At this maximum, 2²⁶, training takes 256 MiB.
pub const MAX_TRAINING_SIZE: usize = 1 << 26;

/// An intent as the author declares it. Each of its texts counts as one sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intent {
    /// The id of the intent, which [`Verdict::chosen`] returns; unique among the intents.
    pub id: String,
    /// A sentence that describes the intent, from which the classifier learns. May be empty.
    pub description: String,
    /// Words or phrases that indicate the intent wherever they occur in a message, regardless of
    /// its length. In scripts with word boundaries, a keyword matches only whole words: `port` is
    /// not found in `report`.
    pub keywords: Vec<String>,
    /// Messages as users would write them, from which the classifier learns. Five to ten are a good
    /// start.
    pub examples: Vec<String>,
}

impl Intent {
    /// Creates an intent without description, keywords and examples. Add some, because the
    /// classifier learns from them.
    pub fn new(id: impl Into<String>) -> Self {
        Intent { id: id.into(), ..Intent::default() }
    }

    /// Sets the sentence that describes the intent. The classifier learns from it as from an
    /// example.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// Adds words or phrases that indicate the intent wherever they occur in a message.
    #[must_use]
    pub fn keywords(mut self, keywords: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.keywords.extend(keywords.into_iter().map(Into::into));
        self
    }

    /// Adds messages as users would write them, from which the classifier learns.
    #[must_use]
    pub fn examples(mut self, examples: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.examples.extend(examples.into_iter().map(Into::into));
        self
    }

    /// Returns the texts from which the classifier learns the intent: description, keywords and
    /// examples. Blank texts are skipped.
    fn training_sentences(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.description)
            .chain(&self.keywords)
            .chain(&self.examples)
            .map(String::as_str)
            .filter(|text| !text.trim().is_empty())
    }
}

/// The minimum score of the best intent, and its minimum lead over the second-best intent. Below
/// one of them, the classifier abstains: it chooses no intent. A higher threshold or margin gives
/// fewer wrong answers, but also fewer answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Minimum score of the chosen intent, from 0 to 1.
    pub threshold: f64,
    /// Minimum difference between the scores of the chosen and the second-best intent, from 0 to 1.
    pub margin: f64,
}

impl Default for Options {
    /// Returns the threshold 0.3 and the margin 0.05. They were tuned on sets of 2 to 150 intents
    /// with 3 to 100 sentences each.
    fn default() -> Self {
        Options { threshold: 0.3, margin: 0.05 }
    }
}

impl Options {
    /// Returns the best intent of `ranked`, which is sorted by descending score. Returns `None` if
    /// its score is 0 or below the threshold, or if its lead is below the margin.
    pub fn choose<'a, 'c>(&self, ranked: &'a [Ranked<'c>]) -> Option<&'a Ranked<'c>> {
        let best = ranked.first()?;
        let lead = best.score - ranked.get(1).map_or(0.0, |second| second.score);
        // Scores have four decimals, but their difference has a floating-point error, which
        // rounding removes.
        let lead = round_score(lead);
        (best.score > 0.0 && best.score >= self.threshold && lead >= self.margin).then_some(best)
    }

    fn check_options(&self) -> Result<(), TrainError> {
        for (name, value) in [("threshold", self.threshold), ("margin", self.margin)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(TrainError::Option { name, value });
            }
        }
        Ok(())
    }
}

/// The reason why a classifier could not be trained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum TrainError {
    /// An intent cannot be learned: none of its texts contains a word, a symbol or a keyword.
    NoText {
        /// The id of the intent that cannot be learned.
        id: String,
    },
    /// Two intents have the same id, so a result would not identify one of them.
    Duplicate {
        /// The id that two intents have.
        id: String,
    },
    /// An option, the threshold or the margin, is outside 0..=1.
    Option {
        /// The name of the invalid option: `threshold` or `margin`.
        name: &'static str,
        /// The value of the option that is outside 0..=1.
        value: f64,
    },
    /// The number of sentences times the number of intents exceeds [`MAX_TRAINING_SIZE`].
    TooLarge {
        /// The number of intents with which the classifier should have been trained.
        intents: usize,
        /// The number of training sentences (descriptions, keywords and examples) of all intents.
        sentences: usize,
    },
}

impl TrainError {
    /// Returns the reason why the classifier could not be trained, with a remedy, as a localized
    /// message.
    pub fn to_message(&self) -> Message {
        match self {
            TrainError::NoText { id } => {
                message!(
                    "intent `{id}` has nothing to learn from: give it a description, examples or keywords"
                )
            }
            TrainError::Duplicate { id } => {
                message!("there are two intents `{id}`: rename one, or put their examples together")
            }
            TrainError::Option { name, value } => {
                message!("`{name}` is {value}, but must be a number from 0 to 1")
            }
            TrainError::TooLarge { intents, sentences } => message!(
                "{intents} intents with {sentences} sentences are too many for the built-in classifier: the product of both may be at most {MAX_TRAINING_SIZE}"
            ),
        }
    }
}

/// An intent with the score that the classifier gave it for a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranked<'c> {
    /// Index of the intent in the list with which the classifier was trained.
    pub index: usize,
    /// Id of the intent, as the author declared it.
    pub id: &'c str,
    /// The classifier's score for the intent, from 0 to 1, in steps of 0.0001.
    pub score: f64,
}

/// The result of [`Classifier::classify`]: the best intents with their scores, and the chosen
/// intent if the classifier did not abstain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict<'c> {
    ranked: SmallVec<[Ranked<'c>; MAX_RANKED]>,
    chosen: Option<&'c str>,
}

impl<'c> Verdict<'c> {
    /// Returns the id of the intent that the message expresses, or `None` if the classifier
    /// abstains (chooses no intent).
    pub fn chosen(&self) -> Option<&'c str> {
        self.chosen
    }

    /// Returns the best intents, at most [`MAX_RANKED`], best first. Intents with equal scores are
    /// in declaration order. Empty for a text without a word, a symbol or a keyword.
    pub fn ranked(&self) -> &[Ranked<'c>] {
        &self.ranked
    }

    /// Returns the score of the best intent, even if the classifier abstains; 0 if no intent is
    /// ranked.
    pub fn score(&self) -> f64 {
        self.ranked.first().map_or(0.0, |best| best.score)
    }
}

/// A trained intent classifier. Immutable, so threads can share it.
#[derive(Clone, Debug)]
pub struct Classifier {
    intent_ids: Vec<String>,
    options: Options,
    keyword_finder: KeywordFinder,
    vocabulary: Vocabulary,
    linear_model: LinearModel,
}

impl Classifier {
    /// Trains a classifier on `intents`. Without intents, the classifier chooses no intent for any
    /// text. [`TrainError`] lists the intents and options that are refused.
    pub fn train(intents: &[Intent], options: Options) -> Result<Classifier, TrainError> {
        options.check_options()?;
        let intent_ids: Vec<String> = intents.iter().map(|intent| intent.id.clone()).collect();
        let mut known_ids = hashbrown::HashSet::new();
        if let Some(duplicate) = intents.iter().find(|intent| !known_ids.insert(intent.id.as_str())) {
            return Err(TrainError::Duplicate { id: duplicate.id.clone() });
        }
        let sentences: Vec<(&str, usize)> = intents
            .iter()
            .enumerate()
            .flat_map(|(label, intent)| intent.training_sentences().map(move |sentence| (sentence, label)))
            .collect();
        if intents.len().saturating_mul(sentences.len()) > MAX_TRAINING_SIZE {
            return Err(TrainError::TooLarge { intents: intents.len(), sentences: sentences.len() });
        }
        let keyword_finder =
            KeywordFinder::new(intents.iter().flat_map(|intent| &intent.keywords).map(String::as_str));

        let mut extractor = FeatureExtractor::default();
        let mut has_text = vec![false; intent_ids.len()];
        let mut counter = vocabulary::FeatureCounter::default();
        for &(sentence, label) in &sentences {
            let features = extractor.extract(sentence, &keyword_finder);
            has_text[label] |= !features.is_empty();
            counter.add_sentence(features);
        }
        if let Some((id, _)) = intent_ids.iter().zip(&has_text).find(|(_, has_text)| !**has_text) {
            return Err(TrainError::NoText { id: id.clone() });
        }
        let vocabulary = counter.into_vocabulary();

        let rows: Vec<linear::TrainingRow> = sentences
            .iter()
            .map(|&(sentence, label)| {
                let vector = vocabulary.to_vector(extractor.extract(sentence, &keyword_finder));
                linear::TrainingRow { vector, label }
            })
            .collect();
        let linear_model = LinearModel::train(&rows, vocabulary.len(), intent_ids.len());
        Ok(Classifier { intent_ids, options, keyword_finder, vocabulary, linear_model })
    }

    /// Finds the intent that `text` expresses. The result depends only on the text, not on earlier
    /// calls.
    pub fn classify(&self, text: &str) -> Verdict<'_> {
        let mut extractor = FeatureExtractor::default();
        let features = extractor.extract(text, &self.keyword_finder);
        if features.is_empty() {
            return Verdict::default();
        }
        let scores = self.linear_model.label_scores(&self.vocabulary.to_vector(features));

        let mut best: SmallVec<[(f32, usize); MAX_RANKED + 1]> = SmallVec::new();
        for (index, &score) in scores.iter().enumerate() {
            let rank = best.iter().position(|&(ranked_score, _)| score > ranked_score).unwrap_or(best.len());
            if rank < MAX_RANKED {
                best.insert(rank, (score, index));
                best.truncate(MAX_RANKED);
            }
        }
        let ranked: SmallVec<_> = best
            .into_iter()
            .map(|(score, index)| Ranked {
                index,
                id: self.intent_ids[index].as_str(),
                score: round_score(f64::from(score.clamp(0.0, 1.0))),
            })
            .collect();
        let chosen = self.options.choose(&ranked).map(|best| best.id);
        Verdict { ranked, chosen }
    }

    /// Returns the ids of the classifier's intents, in the order in which they were given for
    /// training.
    pub fn ids(&self) -> &[String] {
        &self.intent_ids
    }

    /// Returns the minimum score and lead below which the classifier abstains.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Returns the approximate memory use of the trained classifier in bytes.
    pub fn memory(&self) -> usize {
        self.vocabulary.memory_bytes() + self.linear_model.memory_bytes() + self.keyword_finder.memory_bytes()
    }
}

/// Rounds a score or a difference of scores to four decimals.
fn round_score(score: f64) -> f64 {
    (score * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests;
