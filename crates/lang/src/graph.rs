//! The graph of a workflow as plain data: nodes, their possible successors, and the faults found
//! before a run. `workflow` statements in rule files and workflows that programs build are checked
//! alike.

mod check;
mod node;

pub use check::{Finding, FindingKind, Severity, check_graph};
pub use node::{NodeId, Route, Target, Vertex, join_names, set_incoming_edges};
