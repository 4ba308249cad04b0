//! The graph of a workflow as plain data: nodes, where each may lead, and what is wrong with that before anything
//! runs. The checker holds the `workflow`s of rule files against it, and whoever builds one in a program the same.

mod check;
mod node;

pub use check::{Finding, FindingKind, Severity, check};
pub use node::{NodeId, Route, Target, Vertex, connect, names};
