//! Finds the keywords of a text, which rules read as `request.keywords`: its words in order,
//! without repetitions and stop words.
//!
//! A word is a run of word characters, with apostrophes inside. Korean is split at spaces. Chinese
//! and Japanese are written without spaces. With the Cargo feature `chinese`, such text is
//! segmented by jieba's dictionary. Without the feature, such text is split at function characters
//! (的, 了, 我 …). Then each pair of adjacent characters of a piece counts as a word, as in search
//! indexes.

use super::COMPARISON_MODE;
use super::stop_words;
use hashbrown::HashSet;
use rulec_base::text::is_word_char;
use std::sync::Arc;

#[derive(Debug)]
pub struct KeywordExtractor {
    stop_words: HashSet<Box<str>>,
}

impl KeywordExtractor {
    /// Prepares the built-in stop words, and `author_words`, the stop words that the author of the
    /// rules added.
    pub fn new(author_words: &[Arc<str>]) -> KeywordExtractor {
        let author_words = author_words.iter().map(|word| COMPARISON_MODE.prepare(word.trim()).into());
        KeywordExtractor {
            stop_words: stop_words::all_stop_words().map(Box::from).chain(author_words).collect(),
        }
    }

    /// Returns the keywords of a text, in order, case-folded and in NFKC form.
    pub fn extract_keywords(&self, text: &str) -> Vec<String> {
        let text = COMPARISON_MODE.prepare(text).replace('’', "'");
        let mut keywords = Vec::new();
        let mut distinct_words = HashSet::new();
        for (kind, run) in split_into_runs(&text) {
            let mut add_keyword = |word: &str| {
                if !self.stop_words.contains(word) && distinct_words.insert(Box::<str>::from(word)) {
                    keywords.push(word.to_owned());
                }
            };
            match kind {
                RunKind::Word => add_keyword(run),
                RunKind::Unspaced => segment_unspaced(run, &mut add_keyword),
            }
        }
        keywords
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunKind {
    /// Consecutive characters of a script with spaces between words, which form one word.
    Word,
    /// Consecutive characters of a script that has no spaces between words.
    Unspaced,
}

/// Returns the kind of run that a character can belong to. `None` for a separator such as a space.
fn run_kind(c: char) -> Option<RunKind> {
    match c {
        c if is_word_char(c) || is_hangul(c) => Some(RunKind::Word),
        c if c.is_alphanumeric() => Some(RunKind::Unspaced),
        _ => None,
    }
}

/// True for a Korean character. Korean separates words by spaces, so its characters form a
/// [`RunKind::Word`]. In rules, the modifier `word` does not treat Korean this way, because
/// particles follow nouns without a space.
fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}')
}

fn split_into_runs(text: &str) -> Vec<(RunKind, &str)> {
    let mut runs = Vec::new();
    let mut open_run: Option<(RunKind, usize)> = None;
    let mut chars = text.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let next_is_word = chars.peek().is_some_and(|(_, next)| run_kind(*next) == Some(RunKind::Word));
        let char_kind = match (c, open_run) {
            // An apostrophe inside a word, as in "don't", belongs to the word.
            ('\'', Some((RunKind::Word, _))) if next_is_word => Some(RunKind::Word),
            _ => run_kind(c),
        };
        if let Some((kind, start)) = open_run.filter(|(kind, _)| Some(*kind) != char_kind) {
            runs.push((kind, &text[start..offset]));
            open_run = None;
        }
        if let (None, Some(kind)) = (open_run, char_kind) {
            open_run = Some((kind, offset));
        }
    }
    runs.extend(open_run.map(|(kind, start)| (kind, &text[start..])));
    runs
}

#[cfg(feature = "chinese")]
fn segment_unspaced<'t>(run: &'t str, add_keyword: &mut impl FnMut(&'t str)) {
    use jieba_rs::Jieba;
    use std::sync::LazyLock;
    // The dictionary is slow to load and large, so it is loaded for the first Chinese text.
    static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);
    JIEBA.cut(run, true).into_iter().for_each(|token| add_keyword(token.word));
}

#[cfg(not(feature = "chinese"))]
fn segment_unspaced<'t>(run: &'t str, add_keyword: &mut impl FnMut(&'t str)) {
    for piece in run.split(stop_words::is_function_character).filter(|piece| !piece.is_empty()) {
        let bounds: Vec<usize> =
            piece.char_indices().map(|(offset, _)| offset).chain([piece.len()]).collect();
        match bounds.len() {
            2 => add_keyword(piece),
            _ => bounds.windows(3).for_each(|pair| add_keyword(&piece[pair[0]..pair[2]])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_keywords(author_words: &[&str], text: &str, expected: &[&str]) {
        let author_words: Vec<Arc<str>> = author_words.iter().map(|word| (*word).into()).collect();
        assert_eq!(KeywordExtractor::new(&author_words).extract_keywords(text), expected, "{text}");
    }

    #[test]
    fn stop_words_are_removed_and_other_words_stay_in_order() {
        check_keywords(&[], "", &[]);
        check_keywords(&[], "Where is my ORDER 1234, and where is the parcel?", &["order", "1234", "parcel"]);
        check_keywords(&[], "refund refund Refund", &["refund"]);
        check_keywords(&[], "I don't want it; it’s O'Brien's", &["want", "o'brien's"]);
        check_keywords(&["want", "Ｏｒｄｅｒ"], "I want the order back", &["back"]);
        check_keywords(&[], "snake_case foo-bar 'quoted'", &["snake_case", "foo", "bar", "quoted"]);
        check_keywords(&[], "Ｆｕｌｌ ＷＩＤＴＨ 😀!", &["full", "width"]);
        check_keywords(&[], "파일을 열어 주세요", &["파일을", "열어", "주세요"]);
    }

    #[test]
    #[cfg(not(feature = "chinese"))]
    fn chinese_gives_pairs_without_the_feature() {
        check_keywords(&[], "我要退款", &["退款"]);
        check_keywords(&[], "查询订单1234的状态", &["查询", "询订", "订单", "1234", "状态"]);
        check_keywords(&["订单"], "我的订单", &[]);
        check_keywords(&[], "查", &["查"]);
    }

    #[test]
    #[cfg(feature = "chinese")]
    fn chinese_is_segmented() {
        check_keywords(&[], "我要退款", &["退款"]);
        check_keywords(&[], "查询订单1234的状态", &["查询", "订单", "1234", "状态"]);
        check_keywords(&["订单"], "我的订单", &[]);
    }
}
