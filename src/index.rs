//! The index: how a decision finds the few rules that may hold without trying all.

pub mod scan;
