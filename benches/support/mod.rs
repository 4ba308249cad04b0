//! Code shared by benchmarks: seeded rules and messages, and the tree walker used as the baseline.

#![allow(dead_code, missing_docs, reason = "each benchmark uses a part of it")]

pub mod heap;
pub mod messages;
pub mod mixes;
#[path = "../../tests/support/random.rs"]
pub mod random;
pub mod rules;
pub mod walker;
pub mod words;
