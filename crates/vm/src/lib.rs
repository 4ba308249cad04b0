//! The engine that applications run: bytecode, the virtual machine, and the index that finds the
//! rules whose conditions may be true.
//!
//! | module | contents |
//! |---|---|
//! | [`bytecode`] | instructions, lowering (translation of conditions), verifier, disassembler |
//! | [`input`] | reads JSON text or `Serialize` values into slots, without building a tree |
//! | [`index`] | finds candidate rules for a message: literals, attributes, bitmaps, cost model |
//! | [`table_search`] | the search through tables, shared by all engines |
//! | [`vm`] | the dispatch loop and its working memory, which decisions reuse |

#![forbid(unsafe_code)]

pub mod bytecode;
pub mod index;
pub mod input;
pub mod table_search;
pub mod vm;
