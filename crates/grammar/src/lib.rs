//! The parser that pest derives from `grammar/tokens.pest` and `grammar/rules.pest`.
//!
//! It is a crate of its own because the derived code takes long to compile. Other changes of the
//! parser do not compile it again.
//!
//! The parser reads no text: its input has one ASCII character for each token. The crate
//! `rulec-syntax` cuts the text into tokens and assigns the characters.

#![forbid(unsafe_code)]

#[allow(missing_docs, reason = "derived code; the grammar documents its rules")]
mod derived {
    /// The parser of the rules language: `Grammar::parse(rule, codes)`. `codes` has one ASCII
    /// character for each token of the text.
    #[derive(pest_derive::Parser)]
    #[grammar = "../grammar/tokens.pest"]
    #[grammar = "../grammar/rules.pest"]
    pub struct Grammar;
}

pub use derived::{Grammar, Rule};
