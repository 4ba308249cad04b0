//! Text, the way rules see it. Every text operator reads its operands through here, so that the
//! engines cannot differ in what "ignoring case" or `word` means.
//!
//! | module | the question it answers |
//! |---|---|
//! | [`mod@fold`] | which characters are equal when case is ignored? |
//! | [`normalize`] | how are both sides of a text predicate prepared? ([`TextMode`]) |
//! | [`word`] | what is a word character, and where may a keyword of `word` stand? |
//! | [`glob`] | does the whole text fit a `like` pattern? |
//! | [`pattern`] | how are regular expressions compiled, and when? |
//! | [`prepared`] | which texts of a decision have been prepared already? |
//! | [`texts`] | which of many texts is this? |
//! | [`mod@similarity`] | how near are two texts, from 0 to 1? |
//! | [`mod@bucket`] | into which stable bucket does a key fall, by our hash or another system's? |
//! | [`network`] | in which network does an address lie? |
//! | [`version`] | in which order do versions stand? |
//! | [`zone`] | how late is it in a time zone? |
//! | [`mod@printable`] | how is a text shown without steering the terminal? |
//!
//! Nothing in here fails: each function is total over all texts.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

pub mod automaton;
pub mod bucket;
mod expanding;
pub mod fold;
pub mod glob;
pub mod network;
pub mod normalize;
pub mod parsed;
pub mod pattern;
pub mod prepared;
pub mod printable;
pub mod similarity;
mod size;
pub mod texts;
pub mod version;
pub mod word;
pub mod zone;

pub use bucket::finalise;
pub use bucket::{Bucket, Hash};
pub use fold::{fold, fold_char, fold_into, is_folded};
pub use glob::Glob;
pub use normalize::{Form, TextMode};
pub use parsed::{keeping_parsed, parsed};
pub use pattern::{LazyRegex, regex};
pub use prepared::PreparedTexts;
pub use printable::{on_one_line, printable, shortened};
pub use similarity::{Scratch, Similarity, similarity};
pub use size::{
    REGEX_MEMORY, REGEX_SIZE_LIMIT, automaton_states, compiled_size, group_names, surely_compiles,
};
pub use word::{WordSearcher, contains_word, ends_with_word, is_word_char, starts_with_word, word_edges_ok};

/// The columns a text takes in a terminal: two for the wide characters of East Asia and emoji.
pub fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}
