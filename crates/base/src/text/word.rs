//! The `word` modifier: where a keyword occurs as a whole word.
//!
//! A character is a **word character** if both hold:
//!
//! 1. `\w` of the `regex` crate matches it: a letter, a mark, a decimal digit, connecting
//!    punctuation such as `_`, or a joiner (Unicode Technical Standard 18, annex C).
//! 2. It is a decimal digit, or it does not belong to a script without spaces between words
//!    ([`UNSPACED_SCRIPTS`]). A character that Latin also uses does not belong to such a script.
//!
//! For example, `文`, `の`, `한`, `ก` and the sound mark `ー` are not word characters. The
//! keyword `文件` is therefore found in `打开文件吧`, and `ยกเลิก` in `ขอยกเลิกสินค้า`.
//! Full-width `Ａ` and `１` are word characters: `Ａ` is Latin, and `１` is a digit.
//!
//! A keyword that begins with a word character must not follow another word character in the text.
//! A keyword that ends with a word character must not precede another one. An edge that is not a
//! word character has no condition. This is why `C++` is found in `C++14` and `.rs` in `main.rs`.
//! The empty keyword has no edges and is found in every text, as with plain `contains`.
//!
//! All engines find keywords with a [`WordSearcher`]; [`has_word_edges`] checks each occurrence.
//! Characters are compared unchanged, so prepare both sides first ([`super::TextMode`]).

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{BuildError, MatchKind};
use memchr::memmem::Finder;
use regex_syntax::hir::{Class, HirKind};

use super::automaton::LiteralAutomaton;

/// True if `c` is a word character, as defined in the module documentation.
#[inline]
pub fn is_word_char(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { is_word_char_beyond_ascii(c) }
}

macro_rules! define_unspaced_scripts {
    ($($script:literal)*) => {
        /// The scripts that do not separate words by spaces. They are the Chinese, Japanese and
        /// Korean scripts, Javanese, Balinese, and the scripts of the line-breaking class SA
        /// (Unicode Standard Annex 14).
        pub const UNSPACED_SCRIPTS: &[&str] = &[$($script),*];

        /// The definition of word characters as a character class of the `regex` crate. The class
        /// is `\w` without the scripts that do not separate words by spaces. Decimal digits of
        /// those scripts stay in the class. So do characters that Latin also uses, or that belong
        /// to no single script.
        pub const WORD_CHAR_CLASS: &str = concat!(
            r"[\w--[",
            $(r"\p{scx:", $script, "}",)*
            r"--[\p{scx:Latin}\p{scx:Common}\p{scx:Inherited}\p{Nd}]]]"
        );
    };
}

define_unspaced_scripts! {
    "Han" "Hiragana" "Katakana" "Hangul" "Bopomofo" "Thai" "Lao" "Khmer" "Myanmar" "Tai_Le"
    "New_Tai_Lue" "Tai_Tham" "Tai_Viet" "Ahom" "Javanese" "Balinese"
}

/// The first and last character of each range in [`WORD_CHAR_CLASS`], in ascending order.
static WORD_CHAR_RANGES: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let kind = regex_syntax::parse(WORD_CHAR_CLASS).map(|hir| hir.into_kind());
    match kind {
        Ok(HirKind::Class(Class::Unicode(class))) => class.iter().map(|r| (r.start(), r.end())).collect(),
        // Does not happen while the Unicode tables are compiled in. Without them, only ASCII
        // characters are word characters.
        _ => Vec::new(),
    }
});

fn is_word_char_beyond_ascii(c: char) -> bool {
    let ranges = &*WORD_CHAR_RANGES;
    ranges.get(ranges.partition_point(|&(_, end)| end < c)).is_some_and(|&(start, _)| start <= c)
}

/// A searcher for keywords that occur as whole words. Overlapping occurrences are found too, so
/// `aa` is found as a word in `aaa aa`.
///
/// The time is linear for most texts. If a long keyword overlaps itself repeatedly, the worst case
/// is the product of both lengths.
#[derive(Clone, Debug)]
pub struct WordSearcher<'k>(WordFinder<'k>);

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a searcher of one keyword is made without allocating")]
enum WordFinder<'k> {
    /// The searcher of one keyword, and the length of the keyword's first character in bytes. After
    /// an occurrence, the search continues this number of bytes after the start of the occurrence.
    One(Finder<'k>, usize),
    Many(LiteralAutomaton),
}

impl<'k> WordSearcher<'k> {
    pub fn for_keyword(keyword: &'k str) -> WordSearcher<'k> {
        let step = keyword.chars().next().map_or(1, char::len_utf8);
        WordSearcher(WordFinder::One(Finder::new(keyword), step))
    }

    /// Creates a searcher that finds several keywords in one pass over a text. Returns an error if
    /// the keywords exceed the capacity of an automaton.
    pub fn for_keywords<K: AsRef<[u8]>>(
        keywords: impl IntoIterator<Item = K>,
    ) -> Result<WordSearcher<'static>, BuildError> {
        Ok(WordSearcher(WordFinder::Many(LiteralAutomaton::new(MatchKind::Standard, keywords)?)))
    }

    pub fn into_owned(self) -> WordSearcher<'static> {
        WordSearcher(match self.0 {
            WordFinder::One(finder, step) => WordFinder::One(finder.into_owned(), step),
            WordFinder::Many(automaton) => WordFinder::Many(automaton),
        })
    }

    /// True if any keyword occurs in the text as a whole word.
    #[inline]
    pub fn is_match(&self, text: &str) -> bool {
        self.any_match(text, |_, _| true)
    }

    /// Calls `accepts` with the keyword index and the byte range of each whole-word occurrence,
    /// until `accepts` returns true. Returns true if `accepts` returned true.
    #[inline]
    pub fn any_match(&self, text: &str, mut accepts: impl FnMut(usize, Range<usize>) -> bool) -> bool {
        match &self.0 {
            WordFinder::One(finder, step) => {
                let mut search_start = 0;
                while let Some(offset) =
                    text.as_bytes().get(search_start..).and_then(|rest| finder.find(rest))
                {
                    let (start, end) = (search_start + offset, search_start + offset + finder.needle().len());
                    if has_word_edges(text, start, end) && accepts(0, start..end) {
                        return true;
                    }
                    search_start = start + step;
                }
                false
            }
            WordFinder::Many(automaton) => automaton.overlapping_matches(text).any(|(keyword, range)| {
                has_word_edges(text, range.start, range.end) && accepts(keyword, range)
            }),
        }
    }

    /// Returns the approximate memory use of the automaton in bytes; 0 for a single keyword.
    pub fn memory_usage(&self) -> usize {
        match &self.0 {
            WordFinder::One(..) => 0,
            WordFinder::Many(automaton) => automaton.memory_usage(),
        }
    }
}

/// True if `keyword` occurs in `text` as a whole word.
pub fn contains_word(text: &str, keyword: &str) -> bool {
    WordSearcher::for_keyword(keyword).is_match(text)
}

/// True if `text` starts with `keyword` as a whole word.
pub fn starts_with_word(text: &str, keyword: &str) -> bool {
    text.starts_with(keyword) && has_word_edges(text, 0, keyword.len())
}

/// True if `text` ends with `keyword` as a whole word.
pub fn ends_with_word(text: &str, keyword: &str) -> bool {
    text.ends_with(keyword) && has_word_edges(text, text.len() - keyword.len(), text.len())
}

/// True if the slice of `text` from byte `start` to byte `end` is a whole word. Only the first and
/// last characters of the slice, and their neighbours, are checked. Use this function for
/// occurrences that were not found by a [`WordSearcher`].
///
/// True for an empty slice, which has no edges. False for offsets outside the text, out of order or
/// inside a character.
pub fn has_word_edges(text: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(word), Some(after)) = (text.get(..start), text.get(start..end), text.get(end..))
    else {
        return false;
    };
    let both_are_word_chars = |inside: Option<char>, outside: Option<char>| {
        inside.zip(outside).is_some_and(|(inside, outside)| is_word_char(inside) && is_word_char(outside))
    };
    !both_are_word_chars(word.chars().next(), before.chars().next_back())
        && !both_are_word_chars(word.chars().next_back(), after.chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_characters_are_recognized() {
        for (chars, expected) in [
            ("azAZ09_", true),
            (" -+.#@/\\\"'\n", false),
            ("éßſẞøŁ", true),
            ("אЯאعक", true),
            ("๑໒៣၄", true),
            ("กไม\u{e37}ກຂកខ\u{17d2}ကခᥐᦀᨠꪀ𑜀ꦄᬅ", false),
            ("\u{301}\u{200d}\u{203f}", true),
            ("Ａｚ１", true),
            ("文件〇々〆㐀𠀀", false),
            ("ひカｶーｰ\u{3099}ﾞ", false),
            ("한ᄒ\u{1161}ㅎ", false),
            ("ㄅㆠ", false),
            ("ˊˇ\u{323}", true),
            ("。、！—…😀", false),
        ] {
            for c in chars.chars() {
                assert_eq!(is_word_char(c), expected, "{c:?} U+{:04X}", c as u32);
            }
        }
    }

    /// Compares [`is_word_char`] for every character with the Unicode tables of another crate. If
    /// this test fails after an update, the crates have different Unicode versions, and
    /// [`WORD_CHAR_CLASS`] may be wrong for new characters.
    #[test]
    fn word_chars_agree_with_unicode() {
        use unicode_script::{Script, UnicodeScript};
        let digits = regex::Regex::new(r"^\p{Nd}").expect("a class");
        let unspaced: Vec<Script> =
            UNSPACED_SCRIPTS.iter().map(|name| Script::from_full_name(name).expect("a script")).collect();
        for c in '\0'..=char::MAX {
            let scripts = c.script_extension();
            let belongs = !scripts.is_common() && !scripts.is_inherited();
            let unspaced = belongs && unspaced.iter().any(|&script| scripts.contains_script(script));
            let expected = regex_syntax::try_is_word_character(c).expect("compiled in")
                && (!unspaced
                    || scripts.contains_script(Script::Latin)
                    || digits.is_match(c.encode_utf8(&mut [0; 4])));
            assert_eq!(is_word_char(c), expected, "{c:?} U+{:04X}", c as u32);
        }
    }

    fn assert_search_results(find: fn(&str, &str) -> bool, cases: &[(&str, &str, bool)]) {
        for &(text, keyword, expected) in cases {
            assert_eq!(find(text, keyword), expected, "{keyword:?} in {text:?}");
        }
    }

    #[test]
    fn words_are_found_anywhere_in_a_text() {
        assert_search_results(
            contains_word,
            &[
                ("show file now", "file", true),
                ("show files", "file", false),
                ("profile", "file", false),
                ("file", "file", true),
                ("my_file", "file", false),
                ("(file)", "file", true),
                ("aaa aa", "aa", true),
                ("aaa aaaa", "aa", false),
                ("-aa-aa- x", "-aa-", true),
                ("x-a-ab -a-a", "-a-a", true),
                ("profile files file", "file", true),
                ("I write C++14", "C++", true),
                ("I write OC++", "C++", false),
                ("main.rs", ".rs", true),
                ("main.rst", ".rs", false),
                ("un café noir", "café", true),
                ("cafés", "café", false),
                ("cafe\u{301}", "cafe", false),
                ("the big red fox", "big red", true),
                ("the big redder fox", "big red", false),
                ("打开文件吧", "文件", true),
                ("打开file吧", "file", true),
                ("ファイルを", "ファイル", true),
                ("파일을", "파일", true),
                ("文件A", "文件", true),
                ("ขอยกเลิกคำสั่งซื้อ", "ยกเลิก", true),
                ("ขอยกเลิกorder", "order", true),
                ("ຂໍຍົກເລີກແດ່", "ຍົກເລີກ", true),
                ("សូមបោះបង់ការបញ្ជាទិញ", "បោះបង់", true),
                ("အမှာစာကိုပယ်ဖျက်ပါ", "ပယ်ဖျက်", true),
                ("ᨠᩣ᩠ᨶᨿᩫᨠᩃᩮᩥᨠ", "ᨿᩫᨠ", true),
                ("ꦱꦶꦤꦲꦸ", "ꦤꦲ", true),
                ("๑๒", "๑", false),
                ("ยกเลิก๑", "ยกเลิก", true),
                ("ยกเลิก๑", "๑", true),
                ("Ａfile", "file", false),
                ("any", "", true),
                ("", "", true),
                ("", "a", false),
            ],
        );
    }

    /// Overlapping occurrences are found. The empty keyword occurs once per character, and the
    /// search for it terminates.
    #[test]
    fn overlapping_occurrences_are_found() {
        let places = |searcher: &WordSearcher<'_>, text: &str| {
            let mut found = Vec::new();
            assert!(!searcher.any_match(text, |keyword, place| {
                found.push((keyword, place));
                false
            }));
            found
        };
        assert_eq!(places(&WordSearcher::for_keyword(""), "é"), [(0, 0..0), (0, 2..2)]);
        assert_eq!(places(&WordSearcher::for_keyword("文文"), "文文文"), [(0, 0..6), (0, 3..9)]);
        let many = WordSearcher::for_keywords(["a a", "a"]).unwrap();
        assert_eq!(places(&many, "xa a a"), [(1, 3..4), (0, 3..6), (1, 5..6)]);
    }

    #[test]
    fn words_are_found_at_the_start_and_end() {
        assert_search_results(
            starts_with_word,
            &[
                ("show it", "show", true),
                ("shows it", "show", false),
                ("it show", "show", false),
                ("C++14", "C++", true),
                ("文件吧", "文件", true),
                ("x", "", true),
            ],
        );
        assert_search_results(
            ends_with_word,
            &[
                ("the file", "file", true),
                ("profile", "file", false),
                ("file it", "file", false),
                ("main.rs", ".rs", true),
                ("x", "", true),
                ("", "x", false),
            ],
        );
    }

    #[test]
    fn a_range_must_have_word_edges() {
        for (text, start, end, expected) in [
            ("a b c", 2, 3, true),
            ("abc", 1, 2, false),
            ("abc", 1, 1, true),
            ("abc", 2, 1, false),
            ("abc", 0, 4, false),
            ("é", 0, 1, false),
            ("abc", 0, 3, true),
        ] {
            assert_eq!(has_word_edges(text, start, end), expected, "{text:?} {start}..{end}");
        }
    }

    /// Compares the search with a plain loop that checks the word edges of every occurrence.
    #[test]
    fn searcher_agrees_with_plain_search() {
        let texts: Vec<String> = (0..4_u32.pow(7))
            .step_by(7)
            .map(|n| (0..7).map(|i| ['a', '-', '文', 'b'][(n / 4_u32.pow(i) % 4) as usize]).collect())
            .collect();
        for keyword in ["a", "aa", "-", "a-a", "aba", "文", "a文", "-a", "a-", "-aa-a"] {
            for text in &texts {
                let plain = text.char_indices().any(|(at, _)| {
                    text[at..].starts_with(keyword) && has_word_edges(text, at, at + keyword.len())
                });
                assert_eq!(contains_word(text, keyword), plain, "{keyword:?} in {text:?}");
                let many = WordSearcher::for_keywords([keyword, "other"]).unwrap();
                assert_eq!(many.is_match(text), plain, "{keyword:?} among others in {text:?}");
            }
        }
    }
}
