//! Lists common words, which occur in many sentences on any subject, so that the intent classifier
//! gives them little weight.
//!
//! Rare words get a high weight. Among a hundred training sentences, `i` and `的` are frequent and
//! get a low one. Among five sentences they look rare. If the examples of only one intent contained
//! `how do I`, these words would draw every question to that intent.
//!
//! The classifier therefore starts with a *prior*: assumed counts, as if it had already read
//! [`PRIOR_SENTENCES`] other sentences. Each common word is assumed to occur in half of these
//! sentences. The more sentences the author writes, the less these assumed sentences matter. No
//! word is removed, so a common word can still distinguish two intents.

use hashbrown::HashSet;
use std::sync::LazyLock;

/// The number of assumed sentences. The classifier counts words as if it had read these sentences
/// in addition to the author's sentences.
pub const PRIOR_SENTENCES: f64 = 50.0;

/// How many of the [`PRIOR_SENTENCES`] are assumed to contain a given common word: half.
pub const PRIOR_SENTENCES_PER_COMMON_WORD: f64 = PRIOR_SENTENCES / 2.0;

/// Common English words, without apostrophes, because [`super::features`] also drops apostrophes.
const COMMON_WORDS: &str = "
    a about also am an and any are arent as at be been being but by can cant could couldnt did didnt do does doesnt
    doing done dont for from get give go going got had has have having he hello her here hey hi him his how hows i id
    if ill im in into is isnt it its ive just know let lets like make may me might mine more must my myself need no
    not of off ok okay on or our ours out over please shall she should shouldnt so some tell than that thats the
    their them then there theres these they this those to too under up us very want was wasnt we were what whats when
    where which who whom whos whose why will with wont would wouldnt yes you your youre yours yourself";

/// Common characters: Chinese in traditional and simplified form, and Japanese particles.
const COMMON_CHARS: &str = "我你您他她它们們的地得了着著过過吗嗎呢吧啊呀嘛哦是在有没沒和与與或就都也还還又不很太这這那哪个個些一下么麼什怎样樣\
                     为為可以能会會想要请請帮幫给給把被让讓从從到对對跟用里裡上去来來说說のはがをにでとも";

static COMMON_WORD_SET: LazyLock<HashSet<Vec<char>, foldhash::fast::FixedState>> =
    LazyLock::new(|| COMMON_WORDS.split_whitespace().map(|word| word.chars().collect()).collect());

static COMMON_CHAR_SET: LazyLock<HashSet<char, foldhash::fast::FixedState>> =
    LazyLock::new(|| COMMON_CHARS.chars().filter(|c| !c.is_whitespace()).collect());

/// True if `word`, which must be case-folded, is a common word.
pub fn is_common_word(word: &[char]) -> bool {
    COMMON_WORD_SET.contains(word)
}

/// True if `c` is a common word, or occurs in a common word, in a script without spaces between
/// words, such as Chinese. False for all characters of other scripts.
pub fn is_common_char(c: char) -> bool {
    COMMON_CHAR_SET.contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_common_words() {
        for (word, expected) in [
            ("how", true),
            ("whats", true),
            ("yourself", true),
            ("refund", false),
            ("yourselves", false),
            ("", false),
            ("où", false),
            ("我", false),
        ] {
            let word: Vec<char> = word.chars().collect();
            assert_eq!(is_common_word(&word), expected, "{word:?}");
        }
        for (c, expected) in [('的', true), ('來', true), ('の', true), ('退', false), (' ', false)] {
            assert_eq!(is_common_char(c), expected, "{c:?}");
        }
    }

    #[test]
    fn common_words_are_sorted_and_folded() {
        let words: Vec<&str> = COMMON_WORDS.split_whitespace().collect();
        assert!(words.is_sorted(), "in alphabetical order");
        assert_eq!(words.len(), COMMON_WORD_SET.len(), "each once");
        assert_eq!(COMMON_CHARS.chars().count(), COMMON_CHAR_SET.len(), "each once");
        // Features are computed from case-folded text, so an entry that is not folded would never
        // match.
        assert_eq!(rulec_base::text::fold_text(COMMON_WORDS), COMMON_WORDS);
    }
}
