//! Runs that are saved between two nodes and resumed later, in another process if need be.

use super::build::Workflow;
use super::node::NodeId;
use super::plan::Plan;
use super::run::{Run, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

const FORMAT: u32 = 1;

/// A run between two of its nodes, as plain data. It holds the inputs and outputs that are on their way, so keep it
/// where they may be kept.
///
/// Nodes that ran after it was saved run again when it is resumed: one whose work must not be done twice has to know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedRun {
    format: u32,
    start: NodeId,
    /// Each node's kind and where it may lead, in words.
    graph: BTreeMap<NodeId, String>,
    /// The memory of processors.
    memory: BTreeMap<NodeId, Value>,
    state: State,
}

/// Why a saved run cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// Another version of the program has saved it.
    #[error("the run was saved in the format {found}, and this is format {FORMAT}; begin it anew")]
    Format {
        /// The format of the saved run.
        found: u32,
    },
    /// The workflow's graph is not the one that the run is of.
    #[error("the saved run is of another graph: {difference}; begin it anew, or resume it by its own rules")]
    OtherGraph {
        /// The first difference.
        difference: String,
    },
}

impl Run {
    /// The run as it is now, to go on from there by [`Workflow::resume`].
    pub fn save(&self) -> SavedRun {
        let kept = |value: &Arc<Mutex<Value>>| value.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let memory = self.memory.iter().map(|(node, value)| (node.clone(), kept(value)));
        SavedRun {
            format: FORMAT,
            start: self.plan.start().map_or_else(|| "".into(), |step| step.id.clone()),
            graph: described(&self.plan),
            memory: memory.filter(|(_, value)| !value.is_null()).collect(),
            state: self.state.clone(),
        }
    }
}

impl Workflow {
    /// Goes on with a saved run. The settings of nodes, their time limits, the conditions of routers and the step
    /// limit may have changed since, so that what went wrong can be put right; the graph may not.
    ///
    /// # Errors
    /// When the run is of another graph: other nodes, kinds, next nodes, or answers of routers.
    pub fn resume(&self, saved: SavedRun) -> Result<Run, ResumeError> {
        let SavedRun { format, start, graph, memory, mut state } = saved;
        if format != FORMAT {
            return Err(ResumeError::Format { found: format });
        }
        let here = described(&self.plan);
        let nodes: BTreeSet<&NodeId> = here.keys().chain(graph.keys()).collect();
        let difference = nodes.into_iter().find_map(|node| match (graph.get(node), here.get(node)) {
            (Some(then), Some(now)) if then == now => None,
            (Some(_), Some(_)) => Some(format!("the node `{node}` is of another kind or leads elsewhere")),
            (Some(_), None) => Some(format!("the node `{node}` is gone")),
            (None, _) => Some(format!("the node `{node}` is new")),
        });
        let moved = || {
            let now = self.plan.start().filter(|step| step.id != start)?;
            Some(format!("it began at `{start}`, and this begins at `{}`", now.id))
        };
        if let Some(difference) = difference.or_else(moved) {
            return Err(ResumeError::OtherGraph { difference });
        }
        // A limit that was reached may be a higher one now.
        state.report.limit_hit = false;
        let memory: HashMap<NodeId, Arc<Mutex<Value>>> =
            memory.into_iter().map(|(node, value)| (node, Arc::new(Mutex::new(value)))).collect();
        Ok(Run { plan: self.plan.clone(), state, memory })
    }
}

fn described(plan: &Plan) -> BTreeMap<NodeId, String> {
    let one = |step: &super::plan::Step| {
        let kind = if step.is_parallel() { "parallel" } else { &step.kind };
        let next: Vec<&str> = step.next.iter().map(NodeId::as_str).collect();
        let routes = step.router().map(|router| router.routes(&step.next));
        let by = routes.iter().flatten().map(|route| format!("; {route:?}")).collect::<String>();
        (step.id.clone(), format!("{kind} -> {}{by}", next.join(", ")))
    };
    plan.steps.iter().map(one).collect()
}
