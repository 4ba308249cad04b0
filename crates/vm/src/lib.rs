//! The engine that applications run: bytecode, the index that finds candidate rules, and the
//! virtual machine.
//!
//! | module | contents |
//! |---|---|
//! | [`bytecode`] | instructions, lowering from the normal form, the verifier, the disassembler |
//! | [`input`] | reads messages into slots without a tree, from JSON text or `Serialize` values |
//! | [`index`] | candidate rules of a message: literals, attributes, bitmaps, cost model |
//! | [`table_search`] | the search through tables, shared by all engines |
//! | [`vm`] | the dispatch loop and its reusable working memory |

#![forbid(unsafe_code)]

pub mod bytecode;
pub mod index;
pub mod input;
pub mod table_search;
pub mod vm;
