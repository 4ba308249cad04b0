//! The plan of a workflow: its nodes numbered, each with all that belongs to it.

use super::merge::MergeStrategy;
use super::node::NodeId;
use super::processor::Processor;
use super::router::ConditionalRouter;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// The plan that the engine runs. Steps are numbered in the order their nodes were given.
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) numbers: HashMap<NodeId, usize>,
    pub(super) start: usize,
    pub(super) merge: Arc<dyn MergeStrategy>,
    pub(super) step_limit: usize,
}

pub(super) struct Step {
    pub(super) id: NodeId,
    pub(super) next: Vec<NodeId>,
    /// `None` for a parallel node.
    pub(super) processor: Option<Arc<dyn Processor>>,
    pub(super) given: Option<Arc<dyn ConditionalRouter>>,
    pub(super) time_limit: Option<Duration>,
    /// The targets of its declared loop-backs.
    pub(super) loop_backs: HashSet<NodeId>,
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
}

impl Plan {
    pub(super) fn find(&self, id: &NodeId) -> Option<(usize, &Step)> {
        let number = *self.numbers.get(id)?;
        Some((number, self.steps.get(number)?))
    }
}

/// Notes at each node where its counted edges come from.
pub(super) fn count_incoming(steps: &mut [Step], numbers: &HashMap<NodeId, usize>) {
    let mut edges = Vec::new();
    for step in &*steps {
        let counted = step.next.iter().filter(|to| !step.loop_backs.contains(*to));
        edges.extend(counted.filter_map(|to| Some((step.id.clone(), *numbers.get(to)?))));
    }
    for (from, to) in edges {
        if let Some(step) = steps.get_mut(to) {
            step.incoming.push(from);
        }
    }
}
