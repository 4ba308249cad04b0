//! Which intent a text has. An intent's score joins two kinds of evidence, each from 0 to 1, as if
//! they were independent (1 − (1 − a)(1 − b)): how many of its keywords occur, and how near the text
//! is to the nearest of its examples, measured on character n-grams (so that word forms and scripts
//! without spaces count) weighted by how few examples have them.

use super::MODE;
use super::words::Words;
use crate::sema::request::{Analysis, BEST, INTENT, SCORE};
use hashbrown::HashMap;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// What is left of doubt after each keyword that occurs.
const DOUBT: f64 = 0.4;
/// The lengths of n-grams, in characters.
const GRAMS: std::ops::RangeInclusive<usize> = 2..=4;
/// As much of a text as is looked at, in bytes.
const MAX_BYTES: usize = 8192;

/// The answer about a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Classified<'a> {
    /// The intent, when it is clear enough.
    pub intent: Option<&'a str>,
    /// The intent that scores highest, however little; `None` when nothing speaks for any.
    pub best: Option<&'a str>,
    /// Its score, from 0 to 1, to four decimals.
    pub score: f64,
}

impl Classified<'_> {
    /// As a record; what there is not is left out.
    pub fn into_json(self) -> Json {
        let mut map = Map::new();
        map.extend(self.intent.map(|name| (INTENT.to_owned(), name.into())));
        map.extend(self.best.map(|name| (BEST.to_owned(), name.into())));
        map.insert(SCORE.to_owned(), self.score.into());
        Json::Object(map)
    }
}

/// The intents made ready.
#[derive(Debug)]
pub struct Classifier {
    names: Vec<Arc<str>>,
    keywords: Words,
    /// The intent of each keyword.
    keyword_intents: Vec<usize>,
    /// Each known n-gram: its number and its weight.
    grams: HashMap<Box<str>, (u32, f64)>,
    /// The weight of an n-gram that no example has.
    unknown: f64,
    /// For each n-gram the examples that have it and its share of their direction.
    postings: Vec<Vec<(u32, f64)>>,
    /// The intent of each example.
    example_intents: Vec<usize>,
    threshold: f64,
    margin: f64,
}

impl Classifier {
    /// Learns the intents.
    pub fn new(analysis: &Analysis) -> Classifier {
        let intents = || analysis.intents.iter().enumerate();
        let keywords = || intents().flat_map(|(at, i)| i.keywords.iter().map(move |word| (at, &**word)));
        let examples: Vec<(usize, HashMap<Box<str>, f64>)> = intents()
            .flat_map(|(at, intent)| {
                let description = Some(&intent.description).filter(|text| !text.is_empty());
                intent.examples.iter().chain(description).map(move |example| (at, counts(&prepared(example))))
            })
            .filter(|(_, grams)| !grams.is_empty())
            .collect();
        let mut having: HashMap<&str, u32> = HashMap::new();
        for gram in examples.iter().flat_map(|(_, grams)| grams.keys()) {
            *having.entry(gram).or_default() += 1;
        }
        let rarity = |having: u32| ((1.0 + examples.len() as f64) / (1.0 + f64::from(having))).ln() + 1.0;
        // Sorted, so that sums come out the same each time.
        let mut known: Vec<(&str, u32)> = having.into_iter().collect();
        known.sort_unstable();
        let grams: HashMap<Box<str>, (u32, f64)> = known
            .iter()
            .zip(0..)
            .map(|((gram, having), id)| ((*gram).into(), (id, rarity(*having))))
            .collect();
        let mut postings = vec![Vec::new(); known.len()];
        for (example, (_, counts)) in (0..).zip(&examples) {
            let mut weighted: Vec<(u32, f64)> = counts
                .iter()
                .filter_map(|(gram, count)| grams.get(gram).map(|(id, weight)| (*id, count * weight)))
                .collect();
            weighted.sort_unstable_by_key(|(id, _)| *id);
            let length = norm(weighted.iter().map(|(_, weight)| *weight));
            for (id, weight) in weighted {
                postings[id as usize].push((example, weight / length));
            }
        }
        Classifier {
            names: analysis.intents.iter().map(|intent| intent.name.clone()).collect(),
            keywords: Words::new(keywords().map(|(_, word)| word)),
            keyword_intents: keywords().map(|(at, _)| at).collect(),
            unknown: rarity(0),
            example_intents: examples.iter().map(|(at, _)| *at).collect(),
            grams,
            postings,
            threshold: analysis.threshold,
            margin: analysis.margin,
        }
    }

    /// The intent of a text: the one that scores highest, if it reaches the threshold and is ahead
    /// of the second by the margin.
    pub fn classify(&self, text: &str) -> Classified<'_> {
        let scores = self.scores(text);
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let Some(best) = order.first().copied().filter(|best| scores[*best] > 0.0) else {
            return Classified { intent: None, best: None, score: 0.0 };
        };
        let score = scores[best];
        let second = order.get(1).map_or(0.0, |second| scores[*second]);
        // One more digit than scores have, against what subtraction leaves.
        let clear = score >= self.threshold && score - second + 1e-5 >= self.margin && score > second;
        let name = &*self.names[best];
        Classified { intent: clear.then_some(name), best: Some(name), score }
    }

    /// Each intent's score, to four decimals.
    fn scores(&self, text: &str) -> Vec<f64> {
        let text = prepared(text);
        let mut doubts = vec![1.0; self.names.len()];
        for (found, intent) in self.keywords.found_in(&text).into_iter().zip(&self.keyword_intents) {
            if found {
                doubts[*intent] *= DOUBT;
            }
        }
        let mut nearest = vec![0.0_f64; self.names.len()];
        for (near, intent) in self.similarities(&text).into_iter().zip(&self.example_intents) {
            nearest[*intent] = nearest[*intent].max(near);
        }
        let join = |(doubt, near): (f64, f64)| ((1.0 - doubt * (1.0 - near.min(1.0))) * 1e4).round() / 1e4;
        doubts.into_iter().zip(nearest).map(join).collect()
    }

    /// The cosine between the text and each example.
    fn similarities(&self, text: &str) -> Vec<f64> {
        let mut sums = vec![0.0; self.example_intents.len()];
        let (mut known, mut unknown) = (Vec::new(), 0.0);
        for (gram, count) in counts(text) {
            match self.grams.get(&gram) {
                Some((id, weight)) => known.push((*id, count * weight)),
                None => unknown += (count * self.unknown).powi(2),
            }
        }
        known.sort_unstable_by_key(|(id, _)| *id);
        let length = norm(known.iter().map(|(_, weight)| *weight).chain([f64::sqrt(unknown)]));
        for (id, weight) in known {
            for (example, share) in &self.postings[id as usize] {
                sums[*example as usize] += share * weight / length;
            }
        }
        sums
    }
}

fn norm(weights: impl Iterator<Item = f64>) -> f64 {
    weights.map(|weight| weight * weight).sum::<f64>().sqrt().max(f64::MIN_POSITIVE)
}

/// The text without case, in words parted by one space, with one at either end.
fn prepared(text: &str) -> String {
    let text = MODE.prepare(&text[..text.floor_char_boundary(MAX_BYTES)]).into_owned();
    let letters = |c: char| c.is_alphanumeric();
    let words: Vec<&str> = text.split(|c: char| !letters(c) && c != '+' && c != '#').collect();
    let mut out = String::from(" ");
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        out.push_str(word);
        out.push(' ');
    }
    out
}

/// How often each n-gram occurs, dampened: 1 + ln(count).
fn counts(prepared: &str) -> HashMap<Box<str>, f64> {
    let bounds: Vec<usize> = prepared.char_indices().map(|(at, _)| at).chain([prepared.len()]).collect();
    let mut counts: HashMap<Box<str>, f64> = HashMap::new();
    for length in GRAMS {
        for window in bounds.windows(length + 1) {
            let gram = &prepared[window[0]..window[length]];
            // A gap alone says nothing, and across one two characters say little.
            if gram.trim().chars().count() >= 2 {
                match counts.get_mut(gram) {
                    Some(count) => *count += 1.0,
                    None => {
                        counts.insert(gram.into(), 1.0);
                    }
                }
            }
        }
    }
    counts.values_mut().for_each(|count| *count = 1.0 + count.ln());
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sema::request::Intent;
    use crate::span::{FileId, Span};

    fn analysis(intents: &[(&str, &str, &[&str], &[&str])]) -> Analysis {
        let all = |words: &[&str]| words.iter().map(|word| (*word).into()).collect();
        let intents = intents.iter().map(|(name, description, keywords, examples)| Intent {
            name: (*name).into(),
            description: (*description).into(),
            keywords: all(keywords),
            examples: all(examples),
            span: Span::new(FileId(0), 0, 0),
        });
        Analysis { intents: intents.collect(), ..Analysis::default() }
    }

    fn desk() -> Analysis {
        analysis(&[
            (
                "refund",
                "",
                &["refund", "退款"],
                &["I want my money back", "please return my payment", "我要退钱"],
            ),
            (
                "status",
                "",
                &["tracking"],
                &["where is my order", "when will my parcel arrive", "我的快递到哪了"],
            ),
            ("login", "", &["password", "login"], &["I cannot sign in to my account", "登录不了"]),
        ])
    }

    #[test]
    fn the_intent_that_fits_is_given() {
        let classifier = Classifier::new(&desk());
        for (text, intent) in [
            ("I want my money back", Some("refund")),
            ("i want the money back!", Some("refund")),
            ("REFUND please", Some("refund")),
            ("请给我退款", Some("refund")),
            ("我要退钱啊", Some("refund")),
            ("where's my order", Some("status")),
            ("我的快递到哪里了", Some("status")),
            ("I can not sign into my account", Some("login")),
            ("my password does not work at login", Some("login")),
            ("refund or tracking", None),
            ("what is the weather like", None),
            ("refunded", None),
            ("", None),
            ("   …", None),
        ] {
            let found = classifier.classify(text);
            assert_eq!(found.intent, intent, "{text}: {found:?}");
            assert!((0.0..=1.0).contains(&found.score));
        }
    }

    #[test]
    fn scores_join_keywords_and_examples() {
        let classifier = Classifier::new(&desk());
        let best = |text: &str| {
            let found = classifier.classify(text);
            (found.best, found.score)
        };
        assert_eq!(best("I want my money back"), (Some("refund"), 1.0));
        assert_eq!(best("tracking"), (Some("status"), 0.6));
        assert_eq!(best("login 123 password"), (Some("login"), 0.84));
        assert_eq!(best("123 456"), (None, 0.0));
        let (name, joined) = best("tracking my order");
        assert!(name == Some("status") && joined > 0.6, "{joined}");
    }

    #[test]
    fn threshold_and_margin_decide() {
        let check = |threshold, margin, text: &str, expected: Option<&str>| {
            let classifier = Classifier::new(&Analysis { threshold, margin, ..desk() });
            assert_eq!(classifier.classify(text).intent, expected, "{threshold} {margin} {text}");
        };
        check(0.6, 0.1, "tracking", Some("status"));
        check(0.61, 0.1, "tracking", None);
        // 0.84 against 0.6.
        check(0.5, 0.24, "login 1 password tracking", Some("login"));
        check(0.5, 0.25, "login 1 password tracking", None);
        // Two alike are never clear.
        check(0.0, 0.0, "refund tracking", None);
    }

    #[test]
    fn a_description_counts_as_an_example_and_no_intents_as_none() {
        let described = analysis(&[("weather", "the weather of today", &[], &[])]);
        assert_eq!(Classifier::new(&described).classify("weather of today").best, Some("weather"));
        assert_eq!(
            Classifier::new(&analysis(&[])).classify("x").into_json(),
            serde_json::json!({"score": 0.0})
        );
    }

    #[test]
    fn a_long_text_is_looked_at_from_its_start() {
        let classifier = Classifier::new(&desk());
        let long = format!("{}refund", "件".repeat(MAX_BYTES));
        assert_eq!(classifier.classify(&long).intent, None);
        assert_eq!(classifier.classify(&format!("refund{}", " x".repeat(MAX_BYTES))).intent, Some("refund"));
    }
}
