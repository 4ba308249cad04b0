//! The keywords of a text: its words in order, without repetitions and stop words.
//!
//! A word is a run of word characters, with apostrophes inside. Korean is split at spaces. Chinese
//! and Japanese are written without spaces. With the feature `chinese`, such text is segmented by
//! jieba's dictionary. Without the feature, such text is split at function characters (的, 了, 我 …).
//! Each piece then gives its pairs of adjacent characters, as in search indexes.

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
    /// Prepares the built-in stop words, and the author's stop words in `more`.
    pub fn new(more: &[Arc<str>]) -> KeywordExtractor {
        let more = more.iter().map(|word| COMPARISON_MODE.prepare(word.trim()).into());
        KeywordExtractor { stop_words: stop_words::all_stop_words().map(Box::from).chain(more).collect() }
    }

    /// Returns the keywords of a text, case-folded and in NFKC form.
    pub fn extract_keywords(&self, text: &str) -> Vec<String> {
        let text = COMPARISON_MODE.prepare(text).replace('’', "'");
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        for (kind, run) in split_into_runs(&text) {
            let mut take = |word: &str| {
                if !self.stop_words.contains(word) && seen.insert(Box::<str>::from(word)) {
                    found.push(word.to_owned());
                }
            };
            match kind {
                RunKind::Word => take(run),
                RunKind::Unspaced => segment_unspaced(run, &mut take),
            }
        }
        found
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunKind {
    /// A run of characters that forms one word.
    Word,
    /// A run of characters of a script that has no spaces between words.
    Unspaced,
}

/// Returns the kind of run that a character belongs to; `None` for a separator such as a space.
fn run_kind(c: char) -> Option<RunKind> {
    match c {
        c if is_word_char(c) || is_hangul(c) => Some(RunKind::Word),
        c if c.is_alphanumeric() => Some(RunKind::Unspaced),
        _ => None,
    }
}

/// True for a Korean character. Korean separates words by spaces, so such a character belongs to a
/// `Word`. The `word` modifier of the language excludes Korean, because particles follow the noun
/// without a space.
fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}')
}

fn split_into_runs(text: &str) -> Vec<(RunKind, &str)> {
    let mut runs = Vec::new();
    let mut open: Option<(RunKind, usize)> = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next_is_word = chars.peek().is_some_and(|(_, next)| run_kind(*next) == Some(RunKind::Word));
        let found = match (c, open) {
            // An apostrophe inside a word, as in "don't", belongs to the word.
            ('\'', Some((RunKind::Word, _))) if next_is_word => Some(RunKind::Word),
            _ => run_kind(c),
        };
        if let Some((run, start)) = open.filter(|(run, _)| Some(*run) != found) {
            runs.push((run, &text[start..at]));
            open = None;
        }
        if let (None, Some(run)) = (open, found) {
            open = Some((run, at));
        }
    }
    runs.extend(open.map(|(run, start)| (run, &text[start..])));
    runs
}

#[cfg(feature = "chinese")]
fn segment_unspaced<'t>(run: &'t str, take: &mut impl FnMut(&'t str)) {
    use jieba_rs::Jieba;
    use std::sync::LazyLock;
    // The dictionary is slow to load and large, so it is loaded for the first Chinese text.
    static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);
    JIEBA.cut(run, true).into_iter().for_each(|token| take(token.word));
}

#[cfg(not(feature = "chinese"))]
fn segment_unspaced<'t>(run: &'t str, take: &mut impl FnMut(&'t str)) {
    for piece in run.split(stop_words::is_function_character).filter(|piece| !piece.is_empty()) {
        let bounds: Vec<usize> = piece.char_indices().map(|(at, _)| at).chain([piece.len()]).collect();
        match bounds.len() {
            2 => take(piece),
            _ => bounds.windows(3).for_each(|pair| take(&piece[pair[0]..pair[2]])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(more: &[&str], text: &str, expected: &[&str]) {
        let more: Vec<Arc<str>> = more.iter().map(|word| (*word).into()).collect();
        assert_eq!(KeywordExtractor::new(&more).extract_keywords(text), expected, "{text}");
    }

    #[test]
    fn stop_words_go_and_the_others_stay_in_order() {
        check(&[], "", &[]);
        check(&[], "Where is my ORDER 1234, and where is the parcel?", &["order", "1234", "parcel"]);
        check(&[], "refund refund Refund", &["refund"]);
        check(&[], "I don't want it; it’s O'Brien's", &["want", "o'brien's"]);
        check(&["want", "Ｏｒｄｅｒ"], "I want the order back", &["back"]);
        check(&[], "snake_case foo-bar 'quoted'", &["snake_case", "foo", "bar", "quoted"]);
        check(&[], "Ｆｕｌｌ ＷＩＤＴＨ 😀!", &["full", "width"]);
        check(&[], "파일을 열어 주세요", &["파일을", "열어", "주세요"]);
    }

    #[test]
    #[cfg(not(feature = "chinese"))]
    fn chinese_gives_pairs_without_the_feature() {
        check(&[], "我要退款", &["退款"]);
        check(&[], "查询订单1234的状态", &["查询", "询订", "订单", "1234", "状态"]);
        check(&["订单"], "我的订单", &[]);
        check(&[], "查", &["查"]);
    }

    #[test]
    #[cfg(feature = "chinese")]
    fn chinese_is_segmented() {
        check(&[], "我要退款", &["退款"]);
        check(&[], "查询订单1234的状态", &["查询", "订单", "1234", "状态"]);
        check(&["订单"], "我的订单", &[]);
    }
}
