//! What every engine must know about the rule language: types, values, and the tables of operators,
//! functions and limits. This crate does not depend on rule syntax or on execution.
//!
//! | module | contents |
//! |---|---|
//! | [`ty`] [`value`] | types as sets of kinds; values as borrowed views; three-valued logic |
//! | [`operators`] | the table of operators, their implementations, modifiers and limits |
//! | [`builtins`] | the table of functions |
//! | [`limits`] [`arena`] | the limits of a decision; the memory for values, which applies them |
//! | [`schema`] | the declared input as a contract, and its violations |
//! | [`history`] | parts of a history; exact sums |
//! | [`graph`] | the graph of a workflow as plain data, and checks before a run |

#![forbid(unsafe_code)]

pub mod arena;
pub mod builtins;
pub mod graph;
pub mod history;
pub mod limits;
pub mod operators;
pub mod privacy;
pub mod schema;
pub mod ty;
pub mod value;
