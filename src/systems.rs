//! The systems that run on the one language and engine: reading what they were written in before,
//! and holding the engine against their cases.

pub mod conformance;
pub mod import;
