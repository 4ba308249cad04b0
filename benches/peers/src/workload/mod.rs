//! The workload on which all engines are measured: seeded routes and messages as plain data. It
//! needs only the crate `serde_json`, so that the build script and the instruction-count guard of
//! the root package can use the same code.

#![allow(dead_code, unused_imports, missing_docs, reason = "each user takes a part of it")]

pub mod detection;
pub mod generate;
pub mod message;
pub mod plain;
#[path = "../../../../tests/support/random.rs"]
pub mod random;
pub mod route;
pub mod verbs;
pub mod vocabulary;

pub use generate::{Shape, Variant, Workload};
pub use message::Message;
pub use route::{Comparison, Number, Route, Term, Words};
pub use vocabulary::Density;
