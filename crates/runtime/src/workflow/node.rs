//! The nodes that a workflow is written down as, each with the nodes that come next.

pub use rulec_lang::graph::NodeId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// One node as its author wrote it. As JSON: `{"id", "type", "next", "parallel", "config",
/// "time_limit_ms"}`; all but `id` may be left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Node {
    /// Its name, unique in the workflow.
    pub id: NodeId,
    /// The name under which its processor is registered; the engine never reads it.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// The nodes its output may go to, in the order that `next[0]`, `next[1]` … mean.
    #[serde(default)]
    pub next: Vec<NodeId>,
    /// A parallel node has no processor: it runs its next nodes side by side.
    #[serde(default)]
    pub parallel: bool,
    /// The configuration that its processor's factory reads; the engine never does.
    #[serde(default)]
    pub config: Value,
    /// The longest one run of its processor may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_ms: Option<u64>,
}

impl Node {
    /// A plain node of a registered kind, with no next nodes.
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

    /// A node that runs `children` side by side.
    pub fn parallel<I: Into<NodeId>>(id: impl Into<NodeId>, children: impl IntoIterator<Item = I>) -> Self {
        let mut node = Node::new(id, "").next(children);
        node.parallel = true;
        node
    }

    /// The nodes its output may go to.
    #[must_use]
    pub fn next<I: Into<NodeId>>(mut self, next: impl IntoIterator<Item = I>) -> Self {
        self.next = next.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the configuration that its processor's factory reads.
    #[must_use]
    pub fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// The longest one run of its processor may take; a run that takes longer has failed.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self
    }
}
