//! The nodes of a workflow definition. Each node names the nodes that may run after it.

pub use rulec_lang::graph::NodeId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// A node of a workflow definition. As JSON:
/// `{"id", "type", "next", "parallel", "config", "time_limit_ms"}`. All fields except `id` are
/// optional.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Node {
    /// Name of the node, unique in the workflow.
    pub id: NodeId,
    /// Kind of the node: the name under which the factory of its processor is registered. The
    /// engine uses the kind for nothing else.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// The possible next nodes. Routers refer to them by position, as `next[0]`, `next[1]` and so
    /// on.
    #[serde(default)]
    pub next: Vec<NodeId>,
    /// Whether the node is parallel: it has no processor and runs its next nodes concurrently.
    #[serde(default)]
    pub parallel: bool,
    /// The configuration for the processor's factory; the engine does not read it.
    #[serde(default)]
    pub config: Value,
    /// Time limit of one processor call, in milliseconds; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_ms: Option<u64>,
}

impl Node {
    /// Creates a node of a registered kind, without next nodes.
    pub fn new(id: impl Into<NodeId>, kind: impl Into<String>) -> Self {
        Node {
            id: id.into(),
            kind: kind.into(),
            next: Vec::new(),
            parallel: false,
            config: Value::Null,
            time_limit_ms: None,
        }
    }

    /// Creates a parallel node, which runs `children` concurrently.
    pub fn parallel<I: Into<NodeId>>(id: impl Into<NodeId>, children: impl IntoIterator<Item = I>) -> Self {
        let mut node = Node::new(id, "").next(children);
        node.parallel = true;
        node
    }

    /// Sets the possible next nodes, among which the node's router selects.
    #[must_use]
    pub fn next<I: Into<NodeId>>(mut self, next: impl IntoIterator<Item = I>) -> Self {
        self.next = next.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the configuration, which the factory of the node's processor reads.
    #[must_use]
    pub fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// Sets the time limit of one processor call; a call that exceeds it fails.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self
    }
}
