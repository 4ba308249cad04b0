//! Converts rule text to a syntax tree, formats rule text, and writes names and literals as rule
//! text. A text is split into tokens, and the tokens into statements. The grammar parses each
//! statement, and a builder creates its syntax tree.

#![forbid(unsafe_code)]

pub mod ast;
pub mod format;
pub mod lex;
pub mod loader;
pub mod parse;
pub mod write;

pub use parse::{ParseResult, parse};
