//! The graph of a workflow as plain data: nodes, their possible successors, and the faults found
//! before a run. The checker for `workflow`s in rule files and programs that build workflows use
//! the same checks.

mod check;
mod node;

pub use check::{Finding, FindingKind, Severity, check_graph};
pub use node::{NodeId, Route, Target, Vertex, join_names, set_incoming_edges};
