//! The engine that makes decisions in applications. Rules are compiled to bytecode, which a virtual
//! machine runs. An index finds the few rules whose conditions may be true for a message, so that
//! most rules need not be evaluated.
//!
//! | module | contents |
//! |---|---|
//! | [`bytecode`] | instructions, lowering (translation of conditions), verifier, disassembler |
//! | [`input`] | reads JSON text or `Serialize` values into slots, without building a tree |
//! | [`index`] | finds the rules that a message may match, by literals and values; cost model |
//! | [`table_search`] | the search through tables, shared by all engines |
//! | [`vm`] | the dispatch loop and its working memory, which decisions reuse |

#![forbid(unsafe_code)]

pub mod bytecode;
pub mod index;
pub mod input;
pub mod table_search;
pub mod vm;
