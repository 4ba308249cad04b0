//! The tests of the language server in one program, so that the crates it needs are linked once.

mod answers;
mod client;
mod edits;
