//! The built-in intent classifier: which of the author's intents does a message mean, and how surely?
//!
//! It works offline and needs nothing but the rules file: it is trained at load on what the author wrote for each
//! intent, and answers with a score from 0 to 1, or abstains.
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
//! | module | the question it answers |
//! |---|---|
//! | `features` | which words, word pairs, character n-grams and keywords does a text have? |
//! | `common` | which of them are in every second sentence, whatever it is about? |
//! | `vocabulary` | how much does each weigh, and how does a text become a vector? |
//! | `linear` | what does each intent ask of a vector? |
//!
//! A text becomes a vector of TF-IDF weights. For each intent one linear function is fitted: at least 1 on its own
//! sentences, at most 0 on those of all others (squared hinge losses, ridge penalty: a linear support vector machine,
//! one against the rest). There is no constant term, so a text that shares nothing with any sentence scores 0
//! whatever the number of intents, and what a text says beyond the vocabulary makes its vector longer and its scores
//! lower. That is what lets one `threshold` serve three intents with five sentences each as well as 150 with a hundred.
//!
//! The score is that function, cut to 0..=1 and rounded to four decimals, so that the number shown is the number
//! compared: near 1 is as sure as of its own examples, 0 is nothing in common. It is a measure of evidence and not a
//! probability.
//!
//! # What it promises
//!
//! - The same intents in the same order give the same scores, bit for bit, on every machine: sums have one order,
//!   nothing depends on a hash table's order, on threads, on a clock or on the platform's `ln` or `exp`.
//! - Case, full-width forms (Unicode NFKC) and the amount of white space make no difference, nor does punctuation
//!   where there is white space too.
//! - Of a text, only the first [`MAX_TEXT_BYTES`] bytes are read.
//!
//! # What it costs
//!
//! With *i* intents, *s* sentences (descriptions, keywords and examples) and *f* features (at most
//! [`MAX_FEATURES`], the most frequent): a model keeps *f* × (*i* + 42) bytes or so, training needs
//! 4 × (*f* + *s*) × *i* bytes for a while and time in proportion to *s* × *i*. See `benches/classify.rs`.

#![forbid(unsafe_code)]

mod common;
mod features;
mod linear;
mod vocabulary;

use features::{Keywords, Reader};
use linear::Linear;
use rulec_base::diag::Message;
use rulec_base::message;
use smallvec::SmallVec;
use std::fmt;
use vocabulary::Vocabulary;

pub use features::MAX_TEXT_BYTES;
pub use vocabulary::MAX_FEATURES;

/// The most intents a [`Verdict`] ranks.
pub const MAX_RANKED: usize = 5;

/// The most sentences times intents that are trained on; 2²⁶ take 256 MiB while training.
pub const MAX_TRAINING_SIZE: usize = 1 << 26;

/// An intent as the author declares it. All of its texts count, each as one sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intent {
    /// The name that [`Verdict::chosen`] answers with; unique among the intents.
    pub id: String,
    /// The intent's subject, in a sentence. May be empty.
    pub description: String,
    /// Words or phrases that speak for the intent wherever they stand in a message, however long it is; where
    /// words have edges, at them (`port` is not found in `report`).
    pub keywords: Vec<String>,
    /// Messages as users would write them; five to ten make a good start.
    pub examples: Vec<String>,
}

impl Intent {
    /// An intent without texts.
    pub fn new(id: impl Into<String>) -> Self {
        Intent { id: id.into(), ..Intent::default() }
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// Adds keywords.
    #[must_use]
    pub fn keywords(mut self, keywords: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.keywords.extend(keywords.into_iter().map(Into::into));
        self
    }

    /// Adds examples.
    #[must_use]
    pub fn examples(mut self, examples: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.examples.extend(examples.into_iter().map(Into::into));
        self
    }

    /// Everything it is trained on; blank texts teach nothing.
    fn sentences(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.description)
            .chain(&self.keywords)
            .chain(&self.examples)
            .map(String::as_str)
            .filter(|text| !text.trim().is_empty())
    }
}

/// The thresholds for abstaining. A higher threshold or margin means fewer wrong answers and fewer answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The least score of an intent that is chosen, from 0 to 1.
    pub threshold: f64,
    /// The least lead over the second, from 0 to 1.
    pub margin: f64,
}

impl Default for Options {
    /// 0.3 and 0.05: tuned on sets of 2 to 150 intents with 3 to 100 sentences each.
    fn default() -> Self {
        Options { threshold: 0.3, margin: 0.05 }
    }
}

impl Options {
    /// The intent to choose of `ranked`, best first: none below the threshold or the margin, nor at score 0.
    pub fn choose<'a, 'c>(&self, ranked: &'a [Ranked<'c>]) -> Option<&'a Ranked<'c>> {
        let best = ranked.first()?;
        let lead = best.score - ranked.get(1).map_or(0.0, |second| second.score);
        // Scores have four decimals, and so has their difference but for rounding.
        let lead = round(lead);
        (best.score > 0.0 && best.score >= self.threshold && lead >= self.margin).then_some(best)
    }

    fn check(&self) -> Result<(), TrainError> {
        for (name, value) in [("threshold", self.threshold), ("margin", self.margin)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(TrainError::Option { name, value });
            }
        }
        Ok(())
    }
}

/// The reason why a classifier could not be trained.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TrainError {
    /// An intent has no text with a word, a symbol or a keyword in it.
    NoText {
        /// Its id.
        id: String,
    },
    /// Two intents have one id.
    Duplicate {
        /// The id.
        id: String,
    },
    /// A threshold or margin outside 0..=1.
    Option {
        /// The option's name.
        name: &'static str,
        /// The value it had.
        value: f64,
    },
    /// More than [`MAX_TRAINING_SIZE`].
    TooLarge {
        /// The number of intents.
        intents: usize,
        /// The number of sentences they have together.
        sentences: usize,
    },
}

impl TrainError {
    /// The reason, in words.
    pub fn in_words(&self) -> Message {
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
                message!("`{name}` is {value}: it has to be a number from 0 to 1")
            }
            TrainError::TooLarge { intents, sentences } => message!(
                "{intents} intents with {sentences} sentences are too many for the built-in classifier: the product of both may be at most {MAX_TRAINING_SIZE}"
            ),
        }
    }
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words())
    }
}

impl std::error::Error for TrainError {}

/// An intent with its score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranked<'c> {
    /// Its place among the intents the classifier was trained on.
    pub index: usize,
    /// Its id.
    pub id: &'c str,
    /// From 0 to 1, in steps of 0.0001.
    pub score: f64,
}

/// The answer of [`Classifier::classify`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict<'c> {
    ranked: SmallVec<[Ranked<'c>; MAX_RANKED]>,
    chosen: Option<&'c str>,
}

impl<'c> Verdict<'c> {
    /// The id of the intent the message means; none when the classifier abstains.
    pub fn chosen(&self) -> Option<&'c str> {
        self.chosen
    }

    /// The best intents, at most [`MAX_RANKED`], best first; of equal ones, the one declared first. Empty for a
    /// text without a word, a symbol or a keyword.
    pub fn ranked(&self) -> &[Ranked<'c>] {
        &self.ranked
    }

    /// The best intent's score, chosen or not; 0 when there is none.
    pub fn score(&self) -> f64 {
        self.ranked.first().map_or(0.0, |best| best.score)
    }
}

/// A trained model: immutable, to be shared among threads.
#[derive(Clone, Debug)]
pub struct Classifier {
    ids: Vec<String>,
    options: Options,
    keywords: Keywords,
    vocabulary: Vocabulary,
    linear: Linear,
}

impl Classifier {
    /// Learns `intents`. Without any, every text is abstained from.
    pub fn train(intents: &[Intent], options: Options) -> Result<Classifier, TrainError> {
        options.check()?;
        let ids: Vec<String> = intents.iter().map(|intent| intent.id.clone()).collect();
        let mut seen = hashbrown::HashSet::new();
        if let Some(twice) = intents.iter().find(|intent| !seen.insert(intent.id.as_str())) {
            return Err(TrainError::Duplicate { id: twice.id.clone() });
        }
        let sentences: Vec<(&str, usize)> = intents
            .iter()
            .enumerate()
            .flat_map(|(label, intent)| intent.sentences().map(move |sentence| (sentence, label)))
            .collect();
        if intents.len().saturating_mul(sentences.len()) > MAX_TRAINING_SIZE {
            return Err(TrainError::TooLarge { intents: intents.len(), sentences: sentences.len() });
        }
        let keywords = Keywords::new(intents.iter().flat_map(|intent| &intent.keywords).map(String::as_str));

        let mut reader = Reader::default();
        let mut has_text = vec![false; ids.len()];
        let mut counting = vocabulary::Counting::default();
        for &(sentence, label) in &sentences {
            let features = reader.read(sentence, &keywords);
            has_text[label] |= !features.is_empty();
            counting.add(features);
        }
        if let Some((id, _)) = ids.iter().zip(&has_text).find(|(_, has_text)| !**has_text) {
            return Err(TrainError::NoText { id: id.clone() });
        }
        let vocabulary = counting.finish();

        let rows: Vec<linear::Row> = sentences
            .iter()
            .map(|&(sentence, label)| {
                let vector = vocabulary.vector(reader.read(sentence, &keywords));
                linear::Row { vector, label }
            })
            .collect();
        let linear = Linear::fit(&rows, vocabulary.len(), ids.len());
        Ok(Classifier { ids, options, keywords, vocabulary, linear })
    }

    /// Finds the intent that `text` means. The same text has the same answer, whatever was asked before.
    pub fn classify(&self, text: &str) -> Verdict<'_> {
        let mut reader = Reader::default();
        let features = reader.read(text, &self.keywords);
        if features.is_empty() {
            return Verdict::default();
        }
        let scores = self.linear.scores(&self.vocabulary.vector(features));

        let mut best: SmallVec<[(f32, usize); MAX_RANKED + 1]> = SmallVec::new();
        for (index, &score) in scores.iter().enumerate() {
            let place = best.iter().position(|&(other, _)| score > other).unwrap_or(best.len());
            if place < MAX_RANKED {
                best.insert(place, (score, index));
                best.truncate(MAX_RANKED);
            }
        }
        let ranked: SmallVec<_> = best
            .into_iter()
            .map(|(score, index)| Ranked {
                index,
                id: self.ids[index].as_str(),
                score: round(f64::from(score.clamp(0.0, 1.0))),
            })
            .collect();
        let chosen = self.options.choose(&ranked).map(|best| best.id);
        Verdict { ranked, chosen }
    }

    /// The ids, in the order they were declared in.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// The thresholds for abstaining.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Roughly how many bytes the model takes.
    pub fn memory(&self) -> usize {
        self.vocabulary.memory() + self.linear.memory() + self.keywords.memory()
    }
}

/// A score or a difference of scores, to four decimals.
fn round(score: f64) -> f64 {
    (score * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests;
