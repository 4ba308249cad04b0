//! Bytecode: the compact form of a rule set that the virtual machine (VM) runs. It can be stored,
//! so that a program need not compile the rules again.
//!
//! | module | contents |
//! |---|---|
//! | [`instr`] | one instruction: at most 16 bytes; jumps go forward only |
//! | [`jump`] | the predicate results on which an instruction jumps |
//! | [`chunk`] | the bytecode as plain data: instructions, blocks, predicates, constants |
//! | [`pools`] | data built from the chunk at load: regexes, searchers, automata, sets |
//! | [`lower`](mod@lower) | lowering from the normal form to a chunk |
//! | [`fields`] | finds slots by field name |
//! | [`verify`](mod@verify) | the checks that a chunk must pass before it may run |
//! | [`disasm`] | a chunk as readable text |
//!
//! A *slot* is a message field that the rules read. The *normal form* is the program after
//! simplification: only predicates are negated, and equal parts are shared.
//!
//! A [`Bytecode`] is immutable and shared between threads. Only its [`Chunk`] needs to be stored,
//! because the [`Pools`] are built from the chunk.

#![allow(missing_docs, reason = "only this repository uses it, and items that need no doc have none")]

pub mod chunk;
pub mod disasm;
pub mod fields;
pub mod instr;
pub mod jump;
pub mod lower;
pub mod pools;
pub mod verify;

pub use chunk::Chunk;
pub use lower::{LowerError, growing_history_loops, lower};
pub use pools::Pools;
pub use verify::{VerifyError, verify};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A rule set's bytecode, with the regexes, automata and sets built from it. Precondition for
/// running it: [`verify`](fn@verify) accepted the chunk.
#[derive(Debug)]
pub struct Bytecode {
    chunk: Chunk,
    unique_number: u64,
    pools: Pools,
}

impl Bytecode {
    /// Builds the run-time data (regexes, searchers, automata) of a chunk, the stored bytecode.
    ///
    /// `surely_compiles` returns true for a regular expression that needs no check, because it
    /// certainly compiles. Its `bool` argument is the flag for case folding. If such an expression
    /// does not compile after all, it matches nothing.
    ///
    /// # Errors
    /// If a regular expression is invalid, or an automaton exceeds its size limits.
    pub fn new(
        chunk: Chunk,
        surely_compiles: impl Fn(&Arc<str>, bool) -> bool,
    ) -> Result<Bytecode, LowerError> {
        let pools = Pools::build(&chunk, surely_compiles)?;
        static NEXT_UNIQUE_NUMBER: AtomicU64 = AtomicU64::new(1);
        Ok(Bytecode { chunk, pools, unique_number: NEXT_UNIQUE_NUMBER.fetch_add(1, Ordering::Relaxed) })
    }

    /// Returns the number of this bytecode, which is unique in the process. Results of conditions
    /// on earlier messages are cached under this number, because they are valid for one bytecode
    /// only.
    pub fn unique_number(&self) -> u64 {
        self.unique_number
    }

    pub fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    pub fn pools(&self) -> &Pools {
        &self.pools
    }
}
