//! The report of a workflow run as plain data, which a program can store or show.

use super::node::NodeId;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::graph::join_names;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The report of one workflow run: the nodes that ran, their outputs and the failures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The nodes whose processor was called, in order, including failed nodes. A parallel node has
    /// no processor and is not listed. Its children are listed in the order of its `next` list.
    pub executed: Vec<NodeId>,
    /// All deliveries of outputs to nodes, in order. In JSON: `[from, to, ready, loop_back]`.
    pub deliveries: Vec<Delivery>,
    /// The nodes that still wait for inputs when the run ends, sorted by name.
    pub stalled: Vec<Stall>,
    /// Whether the run ended because it reached the step limit, the maximum number of processor
    /// calls.
    pub limit_hit: bool,
    /// The failures of nodes, in the order in which they happened.
    pub failures: Vec<Failure>,
    /// The last output of each node whose output was delivered to no other node.
    pub outputs: BTreeMap<NodeId, Value>,
}

impl Report {
    /// True if no node failed, no node waits, and the step limit was not reached.
    pub fn is_complete(&self) -> bool {
        self.stalled.is_empty() && self.failures.is_empty() && !self.limit_hit
    }
}

/// The delivery of one node's output to another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(NodeId, NodeId, bool, bool)", into = "(NodeId, NodeId, bool, bool)")]
pub struct Delivery {
    /// The node whose output was delivered.
    pub from: NodeId,
    /// The node that received the output.
    pub to: NodeId,
    /// Whether this delivery was the last missing input, so that the receiving node can run. Always
    /// true for a loop-back (an edge to an earlier node), and if the receiving node does not exist.
    pub ready: bool,
    /// Whether the edge leads back to an earlier node (a loop-back), as declared by the rule that
    /// selected the edge.
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

/// The kind of a node's failure, and its description.
pub(super) type NodeError = (FailureKind, String);

/// A node that still waited for inputs when the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// The node that waits for inputs.
    pub node: NodeId,
    /// The nodes whose outputs have arrived as inputs of the waiting node, in order of arrival.
    pub received: Vec<NodeId>,
    /// The nodes from which a delivery is still missing. A node with two edges to the waiting node
    /// may be listed twice.
    pub waiting_for: Vec<NodeId>,
}

impl Stall {
    /// Returns a localized message that names the inputs for which the node waits.
    pub fn to_message(&self) -> Message {
        let Stall { node, received, waiting_for } = self;
        message!("`{node}` waits for {}; it has received {}", join_names(waiting_for), join_names(received))
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_message())
    }
}

/// A failure of a node, which did not end the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The node that failed; it delivered no output.
    pub node: NodeId,
    /// The cause of the failure, as a category that programs can compare.
    pub kind: FailureKind,
    /// The text of the failure, such as the processor's error.
    pub message: String,
}

impl Failure {
    /// Returns the node and its failure as a localized message. The failure's own text is not
    /// translated.
    pub fn to_message(&self) -> Message {
        message!("`{}` failed: {}", self.node, self.message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_message())
    }
}

/// The categories of node failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The processor of the node returned an error.
    Error,
    /// The processor, the node's router or the merge of its inputs panicked.
    Panic,
    /// The processor exceeded the node's time limit.
    TimeLimit,
    /// The node's output or merged input exceeded the byte limit.
    SizeLimit,
    /// A child of a parallel node is itself a parallel node, which is not supported.
    NestedParallel,
    /// A child of a parallel node does not exist.
    UnknownNode,
}
