//! The fuzz targets, one module each: `run` checks the project on one input. The programs in
//! `fuzz_targets` call `run` with the inputs of libFuzzer, and the test `kept` calls `run` with the
//! inputs in `corpus`.

pub mod analysis;
pub mod artifact;
pub mod check;
pub mod columns;
pub mod differential;
pub mod edits;
pub mod format;
pub mod import;
pub mod language_server;
pub mod message;
pub mod parse;
pub mod studio;
