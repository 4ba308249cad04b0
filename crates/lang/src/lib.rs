//! The facts of the language that every engine shares: types, values, and the tables of operators, functions and
//! limits. Nothing here knows how rules are written or run.
//!
//! | module | contents |
//! |---|---|
//! | [`ty`] [`value`] | types as sets of kinds; values as borrowed views; Kleene's truth values |
//! | [`operators`] | the table of operators, their implementations, their modifiers, their use under limits |
//! | [`builtins`] | the table of functions |
//! | [`limits`] [`arena`] | the limits of a decision; the memory that values are built in, which applies the limits |
//! | [`schema`] | the declared input as a contract, and its violations |
//! | [`graph`] | the graph of a workflow as plain data, and the faults that it has before it runs |

#![forbid(unsafe_code)]

pub mod arena;
pub mod builtins;
pub mod graph;
pub mod limits;
pub mod operators;
pub mod schema;
pub mod ty;
pub mod value;
