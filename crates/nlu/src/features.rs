//! Extracts the features of a text: the words, word pairs and character sequences by which the
//! intent classifier recognizes intents. Training and classification both read a text only through
//! [`FeatureExtractor::extract`].
//!
//! The text is prepared: Unicode NFKC, case folding, and one space per run of white space. Then it
//! is split into **tokens**. A token is a run of word characters, or one character of a script that
//! does not separate words by spaces. An emoji or another symbol is also a token. Punctuation ends
//! a token and is dropped. An apostrophe inside a word is only dropped: `what's` becomes `whats`.
//! There are three groups of features:
//!
//! | group | features |
//! |---|---|
//! | [`FeatureGroup::Word`] | each token, each pair of adjacent tokens, first and last token |
//! | [`FeatureGroup::Ngram`] | n-grams: 2 to 4 characters in words, 2 to 3 in unspaced scripts |
//! | [`FeatureGroup::Keyword`] | each keyword of the intents that the text contains |
//!
//! A space is added on both sides of a word before its n-grams are computed. A feature is
//! identified by a 64-bit hash. The hash is implemented here so that no library update changes it.
//! A collision among some thousand features is unlikely and would do little harm.

use super::common::{is_common_char, is_common_word};
use rulec_base::text::{NormalizationForm, TextMode, WordSearcher, is_word_char};

/// Maximum number of bytes of a text that are read: 8 KiB, to bound the time. The limit applies to
/// the original text, and again to the prepared text, because preparation can expand a text.
pub const MAX_TEXT_BYTES: usize = 8 << 10;

/// Lengths, in characters, of the n-grams (sequences of characters of a word) in scripts with
/// spaces between words.
const NGRAM_LENGTHS: std::ops::RangeInclusive<usize> = 2..=4;
/// Lengths, in characters, of the n-grams in scripts without spaces. These n-grams are shorter,
/// because a character of such a script carries more information.
const UNSPACED_NGRAM_LENGTHS: std::ops::RangeInclusive<usize> = 2..=3;

/// The group of a feature. In the vector of a text, each group has the same total weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeatureGroup {
    /// Words, pairs of adjacent words, and the first and last word of the text.
    Word,
    /// Character n-grams: short sequences of characters of words, or of text without spaces.
    Ngram,
    /// Keywords of the intents that occur in the text.
    Keyword,
}

pub const FEATURE_GROUP_COUNT: usize = 3;

/// One occurrence in a text of a feature: a word, a word pair, a character n-gram or a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feature {
    pub hash: u64,
    pub group: FeatureGroup,
    /// Whether the feature consists only of common words; [`super::common`] lists these words.
    pub is_common: bool,
}

fn normalize_text(text: &str) -> String {
    let text = truncate_text(text.trim_start());
    let prepared =
        TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::Nfkc }.prepare(text);
    let mut normalized = String::with_capacity(prepared.len());
    for word in truncate_text(&prepared).split_whitespace() {
        if !normalized.is_empty() {
            normalized.push(' ');
        }
        normalized.push_str(word);
    }
    normalized
}

/// Returns at most the first [`MAX_TEXT_BYTES`] bytes of `text`, cut at a character boundary.
fn truncate_text(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Finds the keywords of all intents in one pass over a text.
#[derive(Clone, Debug, Default)]
pub struct KeywordFinder {
    /// Searcher for all keywords. `None` if there are no keywords, or if building the searcher
    /// failed, which only happens with billions of bytes of keywords. Without a searcher, a keyword
    /// has an effect only as a training sentence.
    searcher: Option<WordSearcher<'static>>,
}

impl KeywordFinder {
    /// Prepares the search for `keywords`. Blank and duplicate keywords are ignored.
    pub fn new<'a>(keywords: impl Iterator<Item = &'a str>) -> KeywordFinder {
        let mut prepared: Vec<String> =
            keywords.map(normalize_text).filter(|keyword| !keyword.is_empty()).collect();
        prepared.sort_unstable();
        prepared.dedup();
        if prepared.is_empty() {
            return KeywordFinder::default();
        }
        KeywordFinder { searcher: WordSearcher::for_keywords(&prepared).ok() }
    }

    /// Returns the approximate memory use of the keyword search in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.searcher.as_ref().map_or(0, WordSearcher::memory_usage)
    }
}

/// Extracts the features (words, n-grams and keywords) of texts, with memory that is reused from
/// text to text.
#[derive(Debug, Default)]
pub struct FeatureExtractor {
    normalized_text: String,
    /// The current word with a leading space. In a script without spaces between words, the current
    /// run of characters, without a leading space.
    char_run: Vec<char>,
    tokens: Vec<TextToken>,
    features: Vec<Feature>,
}

#[derive(Clone, Copy, Debug)]
struct TextToken {
    hash: u64,
    is_common: bool,
}

impl FeatureExtractor {
    /// Returns the features of `text`, sorted; a feature that occurs twice is listed twice. The
    /// result is empty if the text contains no token and no keyword.
    pub fn extract(&mut self, text: &str, keywords: &KeywordFinder) -> &[Feature] {
        self.normalized_text = normalize_text(text);
        self.tokens.clear();
        self.features.clear();
        self.split_into_tokens();
        self.add_word_features();
        if let Some(searcher) = &keywords.searcher {
            searcher.any_match(&self.normalized_text, |_, range| {
                let hash = self.normalized_text[range]
                    .chars()
                    .fold(FeatureHash::KEYWORD_SEED, FeatureHash::add_char)
                    .to_final_hash();
                self.features.push(Feature { hash, group: FeatureGroup::Keyword, is_common: false });
                false
            });
        }
        self.features.sort_unstable();
        &self.features
    }

    /// Splits the prepared text into `tokens`, and adds the n-grams to `features`.
    fn split_into_tokens(&mut self) {
        let mut remaining_chars = self.normalized_text.chars();
        // In `char_run`, a word begins with a space; characters of a script without spaces do not.
        self.char_run.clear();
        while let Some(c) = remaining_chars.next() {
            if is_word_char(c) {
                if self.char_run.first() != Some(&' ') {
                    end_unspaced_run(&mut self.char_run, &mut self.features);
                    self.char_run.push(' ');
                }
                self.char_run.push(c);
            } else if matches!(c, '\'' | '’') && self.char_run.first() == Some(&' ') {
                // An apostrophe inside a word is dropped; after a word it ends the word.
                if !remaining_chars.clone().next().is_some_and(is_word_char) {
                    end_word(&mut self.char_run, &mut self.tokens, &mut self.features);
                }
            } else {
                if self.char_run.first() == Some(&' ') {
                    end_word(&mut self.char_run, &mut self.tokens, &mut self.features);
                }
                if c.is_alphanumeric() || is_symbol(c) {
                    self.char_run.push(c);
                    self.tokens.push(TextToken {
                        hash: FeatureHash::TOKEN_SEED.add_char(c).0,
                        is_common: is_common_char(c),
                    });
                } else {
                    end_unspaced_run(&mut self.char_run, &mut self.features);
                }
            }
        }
        match self.char_run.first() {
            Some(' ') => end_word(&mut self.char_run, &mut self.tokens, &mut self.features),
            _ => end_unspaced_run(&mut self.char_run, &mut self.features),
        }
    }

    /// Adds the features of the group [`FeatureGroup::Word`]: each token, each pair of adjacent
    /// tokens, the first token and the last token.
    fn add_word_features(&mut self) {
        let word = |hash: FeatureHash, common| Feature {
            hash: hash.to_final_hash(),
            group: FeatureGroup::Word,
            is_common: common,
        };
        for token in &self.tokens {
            self.features
                .push(word(FeatureHash::SINGLE_TOKEN_SEED.add_token_hash(token.hash), token.is_common));
        }
        for pair in self.tokens.windows(2) {
            let hash = FeatureHash::TOKEN_PAIR_SEED.add_token_hash(pair[0].hash).add_token_hash(pair[1].hash);
            self.features.push(word(hash, pair[0].is_common && pair[1].is_common));
        }
        if let (Some(first), Some(last)) = (self.tokens.first(), self.tokens.last()) {
            self.features
                .push(word(FeatureHash::FIRST_TOKEN_SEED.add_token_hash(first.hash), first.is_common));
            self.features.push(word(FeatureHash::LAST_TOKEN_SEED.add_token_hash(last.hash), last.is_common));
        }
    }
}

/// Adds the word in `run` to the tokens and its n-grams to the features, and clears `run`.
fn end_word(run: &mut Vec<char>, tokens: &mut Vec<TextToken>, features: &mut Vec<Feature>) {
    let is_common = is_common_word(&run[1..]);
    let hash = run[1..].iter().copied().fold(FeatureHash::TOKEN_SEED, FeatureHash::add_char).0;
    tokens.push(TextToken { hash, is_common });
    run.push(' ');
    for_each_ngram(run, NGRAM_LENGTHS, |hash, _| {
        features.push(Feature { hash, group: FeatureGroup::Ngram, is_common })
    });
    run.clear();
}

/// Adds the n-grams of the unspaced characters in `run` to the features, and clears `run`.
fn end_unspaced_run(run: &mut Vec<char>, features: &mut Vec<Feature>) {
    for_each_ngram(run, UNSPACED_NGRAM_LENGTHS, |hash, gram| {
        let common = gram.iter().all(|&c| is_common_char(c));
        features.push(Feature { hash, group: FeatureGroup::Ngram, is_common: common });
    });
    run.clear();
}

/// Calls `emit` with the hash and the characters of each n-gram of `run`.
fn for_each_ngram(
    run: &[char],
    lengths: std::ops::RangeInclusive<usize>,
    mut emit: impl FnMut(u64, &[char]),
) {
    for start in 0..run.len() {
        let mut hash = FeatureHash::NGRAM_SEED;
        for (i, &c) in run[start..].iter().take(*lengths.end()).enumerate() {
            hash = hash.add_char(c);
            if lengths.contains(&(i + 1)) {
                emit(hash.to_final_hash(), &run[start..=start + i]);
            }
        }
    }
}

/// True if `c`, which is no letter, digit or space, is a symbol such as an emoji, an arrow or a
/// currency sign. ASCII characters and punctuation are not symbols.
fn is_symbol(c: char) -> bool {
    !matches!(c,
        '\0'..='\u{a1}' | '§' | '«' | '\u{ad}' | '¶'..='¸' | '»' | '¿'
        | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{fe00}'..='\u{fe6f}' | '\u{fff0}'..='\u{ffff}')
}

/// A hash of characters: FNV-1a, mixed at the end by the finalizer of MurmurHash3.
#[derive(Clone, Copy)]
struct FeatureHash(u64);

impl FeatureHash {
    /// Initial hash of a token. Each kind of feature has its own initial hash, so that the word
    /// `to` and the n-gram `to` are different features.
    const TOKEN_SEED: FeatureHash = FeatureHash(0xcbf2_9ce4_8422_2325);
    const SINGLE_TOKEN_SEED: FeatureHash = FeatureHash(0x9e37_79b9_7f4a_7c15);
    const TOKEN_PAIR_SEED: FeatureHash = FeatureHash(0x3c6e_f372_fe94_f82a);
    const FIRST_TOKEN_SEED: FeatureHash = FeatureHash(0xdaa6_6d2c_7ddf_743f);
    const LAST_TOKEN_SEED: FeatureHash = FeatureHash(0x78dd_e6e5_fd29_f054);
    const NGRAM_SEED: FeatureHash = FeatureHash(0x1715_609f_7c74_6c69);
    const KEYWORD_SEED: FeatureHash = FeatureHash(0xb54c_da58_fbbe_e87e);

    fn add_char(self, c: char) -> FeatureHash {
        FeatureHash((self.0 ^ u64::from(c)).wrapping_mul(0x100_0000_01b3))
    }

    fn add_token_hash(self, hash: u64) -> FeatureHash {
        FeatureHash((self.0 ^ FeatureHash(hash).to_final_hash()).wrapping_mul(0x100_0000_01b3))
    }

    fn to_final_hash(self) -> u64 {
        rulec_base::text::murmur3_finalize(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract_features(text: &str) -> Vec<Feature> {
        FeatureExtractor::default().extract(text, &KeywordFinder::default()).to_vec()
    }

    /// Counts the features of each group, and the features that consist of common words.
    fn count_features(text: &str, keywords: &[&str]) -> ([usize; FEATURE_GROUP_COUNT], usize) {
        let keywords = KeywordFinder::new(keywords.iter().copied());
        let mut counts = [0; FEATURE_GROUP_COUNT];
        let mut extractor = FeatureExtractor::default();
        let features = extractor.extract(text, &keywords);
        assert!(features.is_sorted());
        features.iter().for_each(|feature| counts[feature.group as usize] += 1);
        (counts, features.iter().filter(|feature| feature.is_common).count())
    }

    #[test]
    fn features_are_counted_by_group() {
        for (text, expected, common) in [
            ("", [0, 0, 0], 0),
            (" \t\u{3000}\n", [0, 0, 0], 0),
            ("?! ... \u{ff0c} -- ''", [0, 0, 0], 0),
            // Features: the token, first and last; then the n-grams ` r`, `re`, …, `d `; ` re`, …;
            // ` ref`, ….
            ("refund", [3, 7 + 6 + 5, 0], 0),
            ("the", [3, 4 + 3 + 2, 0], 3 + 9),
            // Features: two tokens, a pair, first and last.
            ("the refund", [5, 9 + 18, 0], 2 + 9),
            // Two characters are two tokens, because the script has no spaces.
            ("退款", [5, 1, 0], 0),
            ("我的", [5, 1, 0], 5 + 1),
            ("我退款", [7, 2 + 1, 0], 2),
            // An n-gram never spans two runs; a pair of tokens does.
            ("退, 款", [5, 0, 0], 0),
            ("a退", [5, 2 + 1, 0], 1 + 1 + 3),
            ("😡", [3, 0, 0], 0),
            ("😡😡", [5, 1, 0], 0),
            ("C++", [3, 3, 0], 0),
        ] {
            assert_eq!(count_features(text, &[]), (expected, common), "{text:?}");
        }
    }

    #[test]
    fn keywords_are_found_at_the_edges_of_words() {
        let keywords = ["port", "Sea  Port", " ", "", "port", "退款", "款"];
        for (text, expected) in [
            ("the port", 1),
            ("a report on ports", 0),
            ("the SEA\n port", 2),
            ("PORT, port", 2),
            ("我要退款", 2),
            ("我要退\u{3000}款", 1),
        ] {
            assert_eq!(
                count_features(text, &keywords).0[FeatureGroup::Keyword as usize],
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn equivalent_texts_have_equal_features() {
        for (a, b) in [
            ("what's up", "WHATS  up!"),
            ("what’s up", "whats up"),
            ("'what' 's up'", "what s up"),
            ("  show\tmy files ", "Show my\u{3000}files."),
            ("ＶＰＮ 连不上", "vpn 连不上"),
            ("cafe\u{301}", "CAFÉ"),
            ("ﬁle", "file"),
            ("退款。", "「退款」"),
        ] {
            assert_eq!(extract_features(a), extract_features(b), "{a:?} {b:?}");
        }
        for (a, b) in [("red door", "door red"), ("refund", "refunds"), ("退款", "款退"), ("ab", "a b")] {
            assert_ne!(extract_features(a), extract_features(b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn text_beyond_the_limit_is_ignored() {
        for (unit, name) in [("word ", "words"), ("x", "one word"), ("退", "unspaced"), ("ﷺ ", "expanding")]
        {
            let long = unit.repeat(300_000);
            let mut extractor = FeatureExtractor::default();
            let features = extractor.extract(&long, &KeywordFinder::default()).len();
            assert!((1000..8 * MAX_TEXT_BYTES).contains(&features), "{name}: {features}");
            assert!(
                (MAX_TEXT_BYTES - 8..=MAX_TEXT_BYTES).contains(&extractor.normalized_text.len()),
                "{name}"
            );
        }
        // Leading white space does not count towards the limit.
        assert_eq!(extract_features(&format!("{}refund", " ".repeat(1 << 20))), extract_features("refund"));
    }

    /// The expected hashes were computed once. A change here would change every score of deployed
    /// rule sets.
    #[test]
    fn hashes_never_change() {
        let hash =
            |text| extract_features(text).iter().fold(0, |sum: u64, feature| sum.wrapping_add(feature.hash));
        for (text, expected) in [("refund", 16_849_407_792_626_303_206), ("退款", 11_975_705_141_799_969_805)]
        {
            assert_eq!(hash(text), expected, "{text}");
        }
    }
}
