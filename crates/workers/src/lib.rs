//! Workers for the nodes of plans that a language model writes, see `rulec_runtime::payload`. Each
//! function here returns the factory of one node type, for `CoordinatorBuilder::node_kind`.
//!
//! | node type | factory |
//! |---|---|
//! | `PYTHON` | [`python_node`]: runs Python code in a process of its own |
//! | `DATABASE` | [`database_node`]: queries SQLite files; needs the feature `database` |
//!
//! A program registers only the node types that it allows. The limits here protect the program from
//! accidents. The limits are no sandbox: Python code can read the files that the program can read.

#[cfg(feature = "database")]
mod database;
mod python;

#[cfg(feature = "database")]
pub use database::{Access, Database, database_node};
pub use python::{Python, python_node};
