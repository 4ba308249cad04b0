//! Workflows: what is found wrong with a graph, how it runs, and the cases as data.

mod check;
mod conformance;
mod engine;
mod names;
mod random;
mod saved;
mod support;
