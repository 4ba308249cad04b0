//! The engine that services run: bytecode, the index that finds the few rules that may hold, and the virtual machine.
//!
//! | module | contents |
//! |---|---|
//! | [`bytecode`] | instructions, lowering from the normal form, the verifier, the disassembler |
//! | [`input`] | messages straight into slots, from JSON text or any `Serialize` value, without a tree |
//! | [`index`] | candidate rules for a message: literals, attributes, ranges, bitmaps, and the cost model |
//! | [`table_search`] | the search from table to table, shared by VM, index, machine code and live rules |
//! | [`vm`] | the dispatch loop and its reusable working memory |

#![forbid(unsafe_code)]

pub mod bytecode;
pub mod index;
pub mod input;
pub mod table_search;
pub mod vm;
