//! Text operations as rules define them. Every text operator reads its operands through this
//! module, so that all engines agree on what `ignoring case` and `word` mean.
//!
//! | module | the question that it answers |
//! |---|---|
//! | [`invisible`] | which characters does a reader not see? |
//! | [`mod@fold`] | which characters are equal when case is ignored? |
//! | [`normalize`] | how are both operands of a text predicate prepared? ([`TextMode`]) |
//! | [`word`] | which characters form words, and where does a keyword match as a whole word? |
//! | [`glob`] | does the whole text match a `like` pattern? |
//! | [`pattern`] | how are regular expressions compiled, and when? |
//! | [`prepared`] | which texts are already normalized for this decision? |
//! | [`texts`] | which id does this text have in a set of texts? |
//! | [`mod@similarity`] | how similar are two texts, from 0 to 1? |
//! | [`mod@bucket`] | into which bucket does a key fall, by the hash of a given system? |
//! | [`network`] | does an address lie in a network? |
//! | [`version`] | how do two versions compare? |
//! | [`zone`] | which UTC offset does a time zone have at a given time? |
//! | [`mod@printable`] | how is a text displayed without terminal control characters? |
//!
//! No operation fails during a decision: each accepts every text.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

pub mod automaton;
pub mod bucket;
mod expanding;
pub mod fold;
pub mod glob;
pub mod invisible;
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

pub use bucket::murmur3_finalize;
pub use bucket::{Bucket, BucketHash, bucket_among, is_bucket_count};
pub use fold::{fold_char, fold_into, fold_text, is_folded};
pub use glob::Glob;
pub use normalize::{NormalizationForm, TextMode};
pub use parsed::{parse_cached, with_parse_cache};
pub use pattern::{LazyRegex, compile_regex};
pub use prepared::PreparedTexts;
pub use printable::{to_one_line, to_printable, truncate_chars};
pub use similarity::{SimilarityPattern, SimilarityScratch, similarity};
pub use size::{
    DEFAULT_REGEX_MEMORY_BYTES, MAX_REGEX_BYTES, RegexGroup, automaton_state_count, capture_groups,
    max_compiled_bytes, surely_compiles,
};
pub use word::{WordSearcher, contains_word, ends_with_word, has_word_edges, is_word_char, starts_with_word};

/// Returns the number of terminal columns of a text. Wide East Asian characters and emoji take two.
pub fn display_width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}
