//! The compiled workflow that the engine runs: numbered nodes with their processors, routers and
//! edges.

use super::merge::MergeStrategy;
use super::node::NodeId;
use super::processor::Processor;
use super::report::{FailureKind, NodeError};
use super::router::ConditionalRouter;
use rulec_lang::graph::Vertex;
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The compiled workflow that the engine runs. Its steps are numbered in the order in which the
/// nodes were added.
pub(super) struct ExecutionPlan {
    pub(super) steps: Vec<PlanStep>,
    pub(super) step_indices: HashMap<NodeId, usize>,
    pub(super) start_index: usize,
    pub(super) step_limit: usize,
    pub(super) byte_limit: usize,
    /// The fields that nodes copy from their inputs to their outputs.
    pub(super) passthrough_fields: Vec<String>,
    /// Whether every node runs as soon as it is ready, concurrently with other nodes. If false,
    /// nodes run one after another.
    pub(super) runs_when_ready: bool,
}

/// One node of a compiled workflow.
pub(super) struct PlanStep {
    pub(super) id: NodeId,
    pub(super) kind: String,
    pub(super) next: Vec<NodeId>,
    /// The processor that does the work of the node; `None` for a parallel node.
    pub(super) processor: Option<Arc<dyn Processor>>,
    pub(super) builder_router: Option<Arc<dyn ConditionalRouter>>,
    /// The strategy that merges the inputs if several edges lead to the node.
    pub(super) merge_strategy: Arc<dyn MergeStrategy>,
    pub(super) time_limit: Option<Duration>,
    /// Source nodes of the incoming edges, without loop-backs; a node with two edges to this node
    /// is listed twice. The node runs when it has received as many inputs as it has such edges.
    pub(super) incoming: Vec<NodeId>,
    /// Whether the run keeps the merged input of the node for the next round. True if the merge
    /// strategy needs this input, and a path leads from the node back to itself.
    pub(super) keeps_merged_input: bool,
}

impl PlanStep {
    pub(super) fn is_parallel(&self) -> bool {
        self.processor.is_none()
    }

    /// Returns the router that selects the receivers of the node's outputs. `None` if every next
    /// node receives the outputs, and for a parallel node, which has no output.
    pub(super) fn router(&self) -> Option<&dyn ConditionalRouter> {
        let processor = self.processor.as_ref()?;
        self.builder_router.as_deref().or_else(|| processor.router())
    }

    /// Converts the node to a vertex for the graph check. A parallel node must not have a router.
    /// If it has one, the vertex includes the router, so that the check reports this mistake.
    pub(super) fn to_vertex(&self) -> Vertex {
        let router = if self.is_parallel() { self.builder_router.as_deref() } else { self.router() };
        let routes = router.map(|router| router.routes(&self.next).into());
        Vertex::new(self.id.clone(), self.next.clone(), self.is_parallel(), routes)
    }
}

impl ExecutionPlan {
    pub(super) fn find_step(&self, id: &NodeId) -> Option<&PlanStep> {
        self.steps.get(*self.step_indices.get(id)?)
    }

    pub(super) fn start_step(&self) -> Option<&PlanStep> {
        self.steps.get(self.start_index)
    }
}

impl ExecutionPlan {
    /// Returns the value, or an error if it is larger than the byte limit. `what` names the value
    /// in the error's text, such as `output`.
    pub(super) fn check_size(&self, value: Value, what: &str) -> Result<Value, NodeError> {
        let (size, limit) = (json_size(&value), self.byte_limit);
        if size <= limit {
            return Ok(value);
        }
        let message = format!(
            "its {what} has {size} bytes, and the limit is {limit}; let nodes return less, or merge in another way"
        );
        Err((FailureKind::SizeLimit, message))
    }
}

/// Returns the number of bytes of the value as compact JSON.
pub(crate) fn json_size(value: &Value) -> usize {
    struct ByteCounter(usize);
    impl io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = ByteCounter(0);
    // Neither writing to the counter nor serializing a JSON value can fail.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}
