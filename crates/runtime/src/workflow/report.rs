//! The report of a run, as plain data.

use super::node::NodeId;
use rulec_lang::graph::names;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The report of one run of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The nodes whose processor ran, in order, those that failed among them. Parallel nodes have
    /// no processor and are not listed; their children are, in listed order.
    pub executed: Vec<NodeId>,
    /// Each delivery, in order; as JSON `[from, to, ready, loop_back]`.
    pub deliveries: Vec<Delivery>,
    /// The nodes that still wait for inputs, sorted by name.
    pub stalled: Vec<Stall>,
    /// The run was ended by its step limit.
    pub limit_hit: bool,
    /// The failures, in order.
    pub failures: Vec<Failure>,
    /// The last outputs of the nodes whose output went to no other node.
    pub outputs: BTreeMap<NodeId, Value>,
}

impl Report {
    /// Nothing failed, nothing waits, and the step limit was not reached.
    pub fn is_complete(&self) -> bool {
        self.stalled.is_empty() && self.failures.is_empty() && !self.limit_hit
    }
}

/// One delivery of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(NodeId, NodeId, bool, bool)", into = "(NodeId, NodeId, bool, bool)")]
pub struct Delivery {
    /// The node whose output it was.
    pub from: NodeId,
    /// To which node.
    pub to: NodeId,
    /// The receiving node had all its inputs then. Always so for a loop-back, and for a node that
    /// does not exist.
    pub ready: bool,
    /// The rule that chose the edge declares it a loop-back.
    pub loop_back: bool,
}

impl From<(NodeId, NodeId, bool, bool)> for Delivery {
    fn from((from, to, ready, loop_back): (NodeId, NodeId, bool, bool)) -> Self {
        Delivery { from, to, ready, loop_back }
    }
}

impl From<Delivery> for (NodeId, NodeId, bool, bool) {
    fn from(delivery: Delivery) -> Self {
        (delivery.from, delivery.to, delivery.ready, delivery.loop_back)
    }
}

/// A node that still waited when the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// The node that waits.
    pub node: NodeId,
    /// The nodes that have delivered, in order.
    pub received: Vec<NodeId>,
    /// The nodes whose delivery is missing; one with two edges to the waiting one may stand here twice.
    pub waiting_for: Vec<NodeId>,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stall { node, received, waiting_for } = self;
        write!(f, "`{node}` waits for {}; it has received {}", names(waiting_for), names(received))
    }
}

/// Something that went wrong without ending the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The node that failed; it delivered nothing.
    pub node: NodeId,
    /// The kind of failure.
    pub kind: FailureKind,
    /// In words.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` failed: {}", self.node, self.message)
    }
}

/// The ways in which a node can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The processor answered with an error.
    Error,
    /// The processor, the node's router or the merge of its inputs panicked.
    Panic,
    /// The processor took longer than the node's time limit.
    TimeLimit,
    /// A parallel node directly under a parallel node is not run.
    NestedParallel,
    /// A child of a parallel node does not exist.
    UnknownNode,
}
