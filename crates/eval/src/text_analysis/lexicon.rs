//! Computes the score of a lexicon: the total weight of the lexicon words that occur in a text.

use super::COMPARISON_MODE;
use rulec_base::text::WordSearcher;
use rulec_sema::request::Lexicon;

#[derive(Debug)]
pub struct LexiconScorer {
    /// Searcher for all words of the lexicon. `None` if the words are too long for the searcher
    /// (billions of bytes); the score is then 0.
    word_searcher: Option<WordSearcher<'static>>,
    weights: Vec<f64>,
}

impl LexiconScorer {
    pub fn new(lexicon: &Lexicon) -> LexiconScorer {
        let words =
            lexicon.weighted_words.iter().map(|(word, _)| COMPARISON_MODE.prepare(word.trim()).into_owned());
        LexiconScorer {
            word_searcher: WordSearcher::for_keywords(words).ok(),
            weights: lexicon.weighted_words.iter().map(|(_, weight)| *weight).collect(),
        }
    }

    /// Returns the total weight of the lexicon words that occur in a text. A word matches as in the
    /// operator `contains word`. Each word counts once, and the sum is at most 1. The sum is
    /// rounded to nine decimals, so that 0.7 plus 0.1 gives 0.8.
    pub fn score_text(&self, text: &str) -> f64 {
        let mut occurs = vec![false; self.weights.len()];
        if let Some(words) = &self.word_searcher {
            words.any_match(&COMPARISON_MODE.prepare(text), |word, _| {
                occurs[word] = true;
                false
            });
        }
        let matched_weights = self.weights.iter().zip(occurs).filter(|(_, occurs)| *occurs);
        // `Iterator::sum` of no floats is -0.0.
        let sum = matched_weights.fold(0.0, |sum: f64, (weight, _)| sum + weight);
        (sum.min(1.0) * 1e9).round() / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_base::text::contains_word;

    #[test]
    fn weights_are_summed_once_each_and_capped() {
        let entries = [("urgent", 0.7), ("now", 0.1), ("right now", 0.5), ("紧急", 0.9), ("one", 1.0)];
        let entries = entries.map(|(word, weight)| (word.into(), weight)).to_vec();
        let scorer = LexiconScorer::new(&Lexicon { name: "urgency".into(), weighted_words: entries });
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
            assert_eq!(scorer.score_text(text).to_bits(), f64::to_bits(score), "{text}");
        }
    }

    #[test]
    fn words_are_found_as_contains_word_finds_them() {
        let words = ["file", "C++", "文件", "show file", "Ｆｕｌｌ", "café", "a", "-a", "aa"];
        for text in [
            "show FILE now",
            "show file in a 文件夹",
            "profile",
            "I write c++14",
            "打开文件夹",
            "full",
            "CAFE\u{301}s",
            "aaa -aa",
            "-a",
            "",
        ] {
            for word in words {
                let entries = words.map(|other| (other.into(), f64::from(u8::from(other == word)))).to_vec();
                let score = LexiconScorer::new(&Lexicon { name: "words".into(), weighted_words: entries })
                    .score_text(text);
                let contains = contains_word(&COMPARISON_MODE.prepare(text), &COMPARISON_MODE.prepare(word));
                assert_eq!(score, f64::from(u8::from(contains)), "{word} in {text}");
            }
        }
    }
}
