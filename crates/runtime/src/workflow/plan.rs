//! The plan of a workflow: its nodes numbered, each with all that belongs to it.

use super::merge::MergeStrategy;
use super::node::NodeId;
use super::processor::Processor;
use super::router::ConditionalRouter;
use rulec_lang::graph::Vertex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The plan that the engine runs. Steps are numbered in the order their nodes were given.
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) numbers: HashMap<NodeId, usize>,
    pub(super) start: usize,
    pub(super) merge: Arc<dyn MergeStrategy>,
    pub(super) step_limit: usize,
    /// The fields that nodes hand on from their inputs to their outputs.
    pub(super) passthrough: Vec<String>,
    /// Every node runs as soon as it is ready, beside all others, and not one after the other.
    pub(super) at_once: bool,
}

pub(super) struct Step {
    pub(super) id: NodeId,
    pub(super) kind: String,
    pub(super) next: Vec<NodeId>,
    /// `None` for a parallel node.
    pub(super) processor: Option<Arc<dyn Processor>>,
    pub(super) given: Option<Arc<dyn ConditionalRouter>>,
    pub(super) time_limit: Option<Duration>,
    /// The origins of its counted edges: one entry for each.
    pub(super) incoming: Vec<NodeId>,
}

impl Step {
    pub(super) fn is_parallel(&self) -> bool {
        self.processor.is_none()
    }

    /// The router that decides where its outputs go. A parallel node has no output of its own.
    pub(super) fn router(&self) -> Option<&dyn ConditionalRouter> {
        let processor = self.processor.as_ref()?;
        self.given.as_deref().or_else(|| processor.router())
    }

    /// The node as its graph is judged. The router of a parallel node is told too, so that it can be found fault with.
    pub(super) fn vertex(&self) -> Vertex {
        let router = if self.is_parallel() { self.given.as_deref() } else { self.router() };
        let routes = router.map(|router| router.routes(&self.next).into());
        Vertex::new(self.id.clone(), self.next.clone(), self.is_parallel(), routes)
    }
}

impl Plan {
    pub(super) fn find(&self, id: &NodeId) -> Option<&Step> {
        self.steps.get(*self.numbers.get(id)?)
    }

    pub(super) fn start(&self) -> Option<&Step> {
        self.steps.get(self.start)
    }
}
