//! Saves a run of a workflow between two nodes, to resume it later, possibly in another process.

use super::build::Workflow;
use super::node::NodeId;
use super::plan::ExecutionPlan;
use super::report::Report;
use super::run::{Run, RunState};
use rulec_base::diag::Message;
use rulec_base::message;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

const FORMAT_VERSION: u32 = 1;

/// The state of a workflow run between two of its nodes, as plain data. The data contains inputs
/// and outputs of nodes, which may be confidential, so store the data safely.
///
/// Nodes that ran after the save run again on resume. A processor whose work must not be repeated
/// has to detect the repetition itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedRun {
    format: u32,
    start: NodeId,
    /// The kind, next nodes and routes of each node as text, by node id. On resume, the text is
    /// compared with the workflow's current graph.
    graph: BTreeMap<NodeId, String>,
    /// The values that processors store between their calls, by node id; see
    /// [`Call::memory`](super::Call::memory).
    memory: BTreeMap<NodeId, Value>,
    state: RunState,
}

/// The changes of a run after an earlier save: [`SavedRun::apply`] adds them to the earlier save.
/// The changes contain the current state of the run, and the part of its history after the earlier
/// save. So a long run can be saved after each node without writing its whole history each time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedChanges {
    since: SavePoint,
    memory: BTreeMap<NodeId, Value>,
    state: RunState,
}

/// A position in the history of a run. The part of the history before this position is already
/// saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavePoint {
    /// Number of nodes that had run when the run was saved.
    executed: usize,
    /// Number of times that the output of a node had been delivered to another node when the run
    /// was saved.
    deliveries: usize,
}

impl SavedRun {
    /// Adds changes that were saved later in the same run. Several changes must be added in the
    /// order in which they were saved.
    ///
    /// # Errors
    /// If earlier changes of the run are missing. This save is then unchanged.
    pub fn apply(&mut self, changes: SavedChanges) -> Result<(), ResumeError> {
        let SavedChanges { since, memory, mut state } = changes;
        let report = &self.state.report;
        if since.executed > report.executed.len() || since.deliveries > report.deliveries.len() {
            return Err(ResumeError::MissingChanges);
        }
        let Report { mut executed, mut deliveries, .. } = std::mem::take(&mut self.state.report);
        executed.truncate(since.executed);
        executed.append(&mut state.report.executed);
        deliveries.truncate(since.deliveries);
        deliveries.append(&mut state.report.deliveries);
        (state.report.executed, state.report.deliveries) = (executed, deliveries);
        self.memory = memory;
        self.state = state;
        Ok(())
    }
}

/// The reason why a saved workflow run cannot be resumed or continued with later changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum ResumeError {
    /// The run was saved in a format that this version of the library cannot read.
    Format {
        /// Number of the format in which the run was saved.
        found: u32,
    },
    /// The graph of the workflow differs from the graph with which the run was saved.
    OtherGraph {
        /// The first difference between the saved graph and the current one.
        difference: Message,
    },
    /// Changes of the run cannot be added, because earlier changes are missing.
    MissingChanges,
}

impl ResumeError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            ResumeError::Format { found } => {
                message!(
                    "the run was saved in the format {found}, and this is format {FORMAT}; start it again",
                    FORMAT = FORMAT_VERSION
                )
            }
            ResumeError::MissingChanges => {
                message!("earlier changes of the run are missing; apply all its changes in their order")
            }
            ResumeError::OtherGraph { difference } => message!(
                "the saved run is of another graph: {difference}; start it again, or resume it with its own rules"
            ),
        }
    }
}

impl Run {
    /// Returns the current state of the run as data from which [`Workflow::resume`] continues.
    pub fn save(&self) -> SavedRun {
        SavedRun {
            format: FORMAT_VERSION,
            start: self.plan.start_step().map_or_else(|| "".into(), |step| step.id.clone()),
            graph: describe_nodes(&self.plan),
            memory: self.clone_memory(),
            state: self.state.clone(),
        }
    }

    /// Returns the changes of the run after the earlier save `since`. The size of the result does
    /// not depend on the number of nodes that ran before `since`.
    pub fn save_changes(&self, since: SavePoint) -> SavedChanges {
        let state = self.state.state_since(since.executed, since.deliveries);
        SavedChanges { since, memory: self.clone_memory(), state }
    }

    /// Returns the current position in the run's history, for [`save_changes`](Run::save_changes).
    pub fn save_point(&self) -> SavePoint {
        let report = &self.state.report;
        SavePoint { executed: report.executed.len(), deliveries: report.deliveries.len() }
    }

    /// Returns the values that the nodes' processors store between their calls, by node id.
    fn clone_memory(&self) -> BTreeMap<NodeId, Value> {
        let lock_and_clone =
            |value: &Arc<Mutex<Value>>| value.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let memory = self.memory.iter().map(|(node, value)| (node.clone(), lock_and_clone(value)));
        memory.filter(|(_, value)| !value.is_null()).collect()
    }
}

impl Workflow {
    /// Resumes a saved run. The workflow's graph must be the same as when the run was saved. Node
    /// settings, time limits, router conditions and the step limit may have changed, so that errors
    /// can be corrected.
    ///
    /// # Errors
    /// If the run has another graph: other nodes, kinds, next nodes, routes, or another start node.
    /// Also if the run was saved in another format.
    pub fn resume(&self, saved: SavedRun) -> Result<Run, ResumeError> {
        let SavedRun { format, start, graph, memory, mut state } = saved;
        if format != FORMAT_VERSION {
            return Err(ResumeError::Format { found: format });
        }
        let current_graph = describe_nodes(&self.plan);
        let nodes: BTreeSet<&NodeId> = current_graph.keys().chain(graph.keys()).collect();
        let difference =
            nodes.into_iter().find_map(|node| match (graph.get(node), current_graph.get(node)) {
                (Some(saved_node), Some(current_node)) if saved_node == current_node => None,
                (Some(_), Some(_)) => {
                    Some(message!("the node `{node}` is of another kind or leads elsewhere"))
                }
                (Some(_), None) => Some(message!("the node `{node}` is gone")),
                (None, _) => Some(message!("the node `{node}` is new")),
            });
        let start_difference = || {
            let current_node = self.plan.start_step().filter(|step| step.id != start)?;
            Some(message!("it began at `{start}`, and this begins at `{}`", current_node.id))
        };
        if let Some(difference) = difference.or_else(start_difference) {
            return Err(ResumeError::OtherGraph { difference });
        }
        // The workflow may now have a higher step limit.
        state.report.limit_hit = false;
        let memory: HashMap<NodeId, Arc<Mutex<Value>>> =
            memory.into_iter().map(|(node, value)| (node, Arc::new(Mutex::new(value)))).collect();
        Ok(Run { plan: self.plan.clone(), state, memory })
    }
}

fn describe_nodes(plan: &ExecutionPlan) -> BTreeMap<NodeId, String> {
    let describe = |step: &super::plan::PlanStep| {
        let kind = if step.is_parallel() { "parallel" } else { &step.kind };
        let next: Vec<&str> = step.next.iter().map(NodeId::as_str).collect();
        let routes = step.router().map(|router| router.routes(&step.next));
        let routes_text = routes.iter().flatten().map(|route| format!("; {route:?}")).collect::<String>();
        (step.id.clone(), format!("{kind} -> {}{routes_text}", next.join(", ")))
    };
    plan.steps.iter().map(describe).collect()
}
