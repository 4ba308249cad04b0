//! Tests of the history on disk.

mod kill;
mod store;
