//! Bytecode: the compact form of a rule set that the virtual machine runs.
//!
//! | module | what it holds |
//! |---|---|
//! | [`instr`] | one instruction: at most 16 bytes, jumps only forward |
//! | [`jump`] | when a test jumps |
//! | [`chunk`] | the whole as plain data: instructions, blocks, predicates, constants |
//! | [`pools`] | what is built from it at load: regexes, searchers, automata, sets |
//! | [`lower`](mod@lower) | from the normal form to a chunk |
//! | [`fields`] | the slots by the names of their fields |
//! | [`verify`](mod@verify) | what must hold before a chunk may run |
//! | [`disasm`] | a chunk as readable text |
//!
//! A [`Bytecode`] is immutable and shared between threads. The [`Chunk`] is all of it that needs to
//! be stored; the [`Pools`] follow from the chunk.

#![allow(missing_docs, reason = "nobody outside this repository uses it, and what needs no doc has none")]

pub mod chunk;
pub mod disasm;
pub mod fields;
pub mod instr;
pub mod jump;
pub mod lower;
pub mod pools;
pub mod verify;

pub use chunk::Chunk;
pub use lower::{LowerError, lower};
pub use pools::Pools;
pub use verify::{VerifyError, verify};

use std::sync::Arc;

/// A rule set, ready to run once [`verify`](fn@verify) has accepted it.
#[derive(Debug)]
pub struct Bytecode {
    chunk: Chunk,
    pools: Pools,
}

impl Bytecode {
    /// Builds what a chunk needs at run time. Some regular expressions are `known` to compile, given with whether
    /// they ignore case; one that does not after all matches nothing.
    ///
    /// # Errors
    /// An invalid regular expression, or an automaton over its limits.
    pub fn new(chunk: Chunk, known: impl Fn(&Arc<str>, bool) -> bool) -> Result<Bytecode, LowerError> {
        let pools = Pools::build(&chunk, known)?;
        Ok(Bytecode { chunk, pools })
    }

    pub fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    pub fn pools(&self) -> &Pools {
        &self.pools
    }
}
