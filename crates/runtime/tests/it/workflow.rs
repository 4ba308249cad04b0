//! Tests of workflows: graph checks, execution, and conformance cases.

mod check;
mod conformance;
mod engine;
mod names;
mod random;
mod saved;
mod size;
mod support;
