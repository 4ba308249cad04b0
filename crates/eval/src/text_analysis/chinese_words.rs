//! Splits Chinese text into words by the dictionary of `jieba-rs`. The crate's own form of the
//! dictionary takes 2 MB of a package that is compressed anyway; the form of `data/words.bin` takes
//! 1.2 MB.

use jieba_rs::Jieba;
use rulec_base::broken_invariant;
use rulec_base::codec::{DecodeError, Reader, TableCounts};
use std::fmt::Write;
use std::sync::LazyLock;

/// The words in ascending order. First the number of words, and a byte for each word. Then the
/// number of bytes of characters, and the characters as UTF-16 in little-endian order. Then a
/// frequency for each word.
///
/// The high four bits of a word's byte are the number of characters that the word shares with the
/// word before it. The low four bits are the number of its other characters.
static WORDS: &[u8] = include_bytes!("../../data/words.bin");

/// The dictionary is slow to load and large, so it is loaded for the first Chinese text.
static JIEBA: LazyLock<Jieba> = LazyLock::new(|| {
    let lines = dictionary_lines(WORDS).ok();
    let jieba = lines.and_then(|lines| Jieba::with_dict(&mut lines.as_bytes()).ok());
    jieba.unwrap_or_else(|| {
        broken_invariant!("a test reads the dictionary");
        Jieba::empty()
    })
});

/// Calls `add_word` with each word of a text without spaces.
pub(super) fn split_into_words<'t>(text: &'t str, add_word: &mut impl FnMut(&'t str)) {
    JIEBA.cut(text, true).into_iter().for_each(|token| add_word(token.word));
}

/// Returns the dictionary in the form that `jieba-rs` reads: a line of each word and its frequency.
fn dictionary_lines(data: &[u8]) -> Result<String, DecodeError> {
    let mut reader = Reader::new(data, TableCounts::default());
    let word_count = reader.read_count()?;
    let shared_and_new = reader.read_raw(word_count)?;
    let byte_count = reader.read_count()?;
    let units = reader.read_raw(byte_count)?.chunks_exact(2);
    let mut chars = char::decode_utf16(units.map(|unit| u16::from_le_bytes([unit[0], unit[1]])));
    let (mut word, mut lines) = (Vec::new(), String::with_capacity(data.len() * 4));
    for counts in shared_and_new {
        word.truncate(usize::from(counts >> 4));
        word.extend(chars.by_ref().take(usize::from(counts & 15)).flatten());
        lines.extend(&word);
        // Writing to a string cannot fail.
        let _ = writeln!(lines, " {}", reader.read_number()?);
    }
    reader.expect_end()?;
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_base::codec::Writer;
    use serde_json::Value as Json;
    use std::process::Command;

    /// Returns the dictionary of the crate `jieba-rs`: words and frequencies in ascending order.
    fn words_of_crate() -> Vec<(String, u64)> {
        let metadata = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--offline", "--manifest-path"])
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
            .output()
            .expect("cargo runs");
        let metadata: Json = serde_json::from_slice(&metadata.stdout).expect("the output is JSON");
        let packages = metadata["packages"].as_array().expect("packages");
        let package = packages.iter().find(|package| package["name"] == "jieba-rs").expect("jieba-rs");
        let manifest = package["manifest_path"].as_str().expect("a path");
        let dictionary = manifest.replace("Cargo.toml", "src/data/dict.txt");
        let text = std::fs::read_to_string(dictionary).expect("the dictionary");
        let mut words: Vec<(String, u64)> = text
            .lines()
            .map(|line| {
                let mut parts = line.split_whitespace();
                let (word, frequency) = (parts.next().expect("a word"), parts.next().expect("a frequency"));
                (word.to_owned(), frequency.parse().expect("a number"))
            })
            .collect();
        words.sort();
        words
    }

    fn encode(words: &[(String, u64)]) -> Vec<u8> {
        let (mut counts, mut units, mut former) = (Vec::new(), Vec::new(), Vec::new());
        for (word, _) in words {
            let chars: Vec<char> = word.chars().collect();
            let shared = former.iter().zip(&chars).take(15).take_while(|(one, other)| one == other).count();
            counts.push(u8::try_from(shared << 4 | (chars.len() - shared)).expect("at most 15 characters"));
            let new: String = chars[shared..].iter().collect();
            units.extend(new.encode_utf16().flat_map(u16::to_le_bytes));
            former = chars;
        }
        let mut writer = Writer::new();
        writer.write_number(counts.len() as u64);
        writer.write_raw(&counts);
        writer.write_number(units.len() as u64);
        writer.write_raw(&units);
        words.iter().for_each(|(_, frequency)| writer.write_number(*frequency));
        writer.into_bytes()
    }

    /// `INSTA_UPDATE=always` writes the file again, for a new version of `jieba-rs`.
    #[test]
    fn the_dictionary_is_that_of_the_crate() {
        let words = words_of_crate();
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/words.bin");
            std::fs::write(file, encode(&words)).expect("the file can be written");
        }
        let expected: Vec<String> = words.iter().map(|(word, count)| format!("{word} {count}")).collect();
        let lines = dictionary_lines(WORDS).expect("the file can be read");
        assert!(lines.lines().eq(expected.iter().map(String::as_str)), "INSTA_UPDATE=always writes the file");
        assert_eq!(encode(&words), WORDS);
    }
}
