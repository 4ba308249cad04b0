//! The score of a lexicon.

use super::MODE;
use super::words::Words;
use crate::sema::request::Lexicon;

/// A lexicon made ready.
#[derive(Debug)]
pub struct Scorer {
    words: Words,
    weights: Vec<f64>,
}

impl Scorer {
    /// Makes a lexicon ready.
    pub fn new(lexicon: &Lexicon) -> Scorer {
        Scorer {
            words: Words::new(lexicon.entries.iter().map(|(word, _)| &**word)),
            weights: lexicon.entries.iter().map(|(_, weight)| *weight).collect(),
        }
    }

    /// The sum of the weights of the words that occur, each counted once; at most 1. Rounded to nine
    /// decimals, so that 0.7 and 0.1 are 0.8.
    pub fn score(&self, text: &str) -> f64 {
        let found = self.words.found_in(&MODE.prepare(text));
        let sum: f64 =
            found.iter().zip(&self.weights).filter(|(found, _)| **found).map(|(_, weight)| weight).sum();
        (sum.min(1.0) * 1e9).round() / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_summed_once_each_and_capped() {
        let entries = [("urgent", 0.7), ("now", 0.1), ("right now", 0.5), ("紧急", 0.9), ("one", 1.0)];
        let entries = entries.map(|(word, weight)| (word.into(), weight)).to_vec();
        let scorer = Scorer::new(&Lexicon { name: "urgency".into(), entries });
        for (text, score) in [
            ("", 0.0),
            ("nothing of it", 0.0),
            ("URGENT: act now", 0.8),
            ("now now now", 0.1),
            ("right now", 0.6),
            ("urgently known", 0.0),
            ("情况紧急请处理", 0.9),
            ("ｕｒｇｅｎｔ", 0.7),
            ("urgent, right now", 1.0),
            ("one", 1.0),
        ] {
            assert_eq!(scorer.score(text), score, "{text}");
        }
    }
}
