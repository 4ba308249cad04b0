//! Text to syntax tree: tokens (lossless), the split into statements, the grammar, the tree.

pub mod ast;
pub mod lex;
pub mod parse;

pub use parse::{Parsed, parse};
