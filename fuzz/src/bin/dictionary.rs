//! The words of the language as a dictionary for a fuzzer, from the tables that the language is made of.

use rulec::internals::syntax::parse::keywords;
use rulec::internals::{builtins, ops};
use std::collections::BTreeSet;

fn main() {
    let operators = ops::TABLE.iter().map(|row| row.spelling);
    let functions = builtins::TABLE.iter().map(|row| row.name);
    let statements = keywords().map(|(word, _)| word);
    let words: BTreeSet<&str> = operators.chain(functions).chain(statements).collect();
    for word in words {
        println!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""));
    }
}
