//! Many words looked for at once, each standing as a word of its own in the sense of the language's
//! `contains word`: scripts written without spaces are found inside a run of characters.

use super::MODE;
use crate::text::{WordSearcher, contains_word};

/// Words to look for in texts.
#[derive(Debug)]
pub struct Words {
    words: Vec<String>,
    /// `None`: there are too many for one pass, and they are looked for one by one.
    searcher: Option<WordSearcher<'static>>,
}

impl Words {
    /// Takes the words as the author wrote them.
    pub fn new<'w>(words: impl IntoIterator<Item = &'w str>) -> Words {
        let words: Vec<String> =
            words.into_iter().map(|word| MODE.prepare(word.trim()).into_owned()).collect();
        let searcher = WordSearcher::many(&words).ok();
        Words { words, searcher }
    }

    /// For each word, whether it occurs in a text that was prepared as the words are.
    pub fn found_in(&self, prepared: &str) -> Vec<bool> {
        let Some(searcher) = &self.searcher else {
            return self.words.iter().map(|word| contains_word(prepared, word)).collect();
        };
        let mut found = vec![false; self.words.len()];
        searcher.any(prepared, |word, _| {
            found[word] = true;
            false
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_as_contains_word_finds_them() {
        let words = ["file", "C++", "文件", "show file", "Ｆｕｌｌ", "café", "a", "-a", "aa"];
        let many = Words::new(words);
        let one_by_one = Words { words: many.words.clone(), searcher: None };
        for text in [
            "show FILE now",
            "profile",
            "I write c++14",
            "打开文件夹",
            "full",
            "CAFE\u{301}s",
            "aaa -aa",
            "-a",
            "",
        ] {
            let prepared = MODE.prepare(text);
            assert_eq!(many.found_in(&prepared), one_by_one.found_in(&prepared), "{text}");
        }
        assert_eq!(
            many.found_in("show file in a 文件夹"),
            [true, false, true, true, false, false, true, false, false]
        );
    }
}
