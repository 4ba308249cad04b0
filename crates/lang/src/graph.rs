//! The graph of a workflow as plain data: nodes, their possible successors, and the faults found
//! before a run. The same checks apply to `workflow` statements in rule files and to workflows that
//! programs build.

mod check;
mod node;

pub use check::{Finding, FindingKind, Severity, check_graph};
pub use node::{NodeId, Route, Target, Vertex, join_names, set_incoming_edges};
