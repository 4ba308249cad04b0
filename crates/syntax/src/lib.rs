//! Text to syntax tree: tokens (lossless), the split into statements, the grammar, the tree; and back, the formatter.

#![forbid(unsafe_code)]

pub mod ast;
pub mod format;
pub mod lex;
pub mod loader;
pub mod parse;
pub mod write;

pub use parse::{Parsed, parse};
