//! Tests of the durable store, which keeps histories on disk.

mod kill;
mod store;
