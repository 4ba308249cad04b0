//! Converts text to a syntax tree, and formats and writes rule text. The stages are lossless
//! tokens, splitting into statements, the grammar, and building the tree.

#![forbid(unsafe_code)]

pub mod ast;
pub mod format;
pub mod lex;
pub mod loader;
pub mod parse;
pub mod write;

pub use parse::{Parsed, parse};
