//! Runs plans. A plan becomes a [`Workflow`] whose nodes read and update the progress of the run. A
//! node that already has an output is not run again, so a run can resume where it stopped, even
//! under a changed plan. When a node fails, it requests a recovery decision and applies it. The
//! workflow receives the failure only if no recovery helps.

mod step;

use super::NodeFailure;
use super::placeholders::PlaceholderScope;
use super::plan::{Plan, PlanError, PlanNode, RecoveryAction, RunProgress};
use crate::task::UserFunction;
use crate::workflow::{Arrival, FirstValues, MergeStrategy, Node, ProcessError, Processor, Workflow};
use rulec_base::diag::comma_list;
use rulec_base::message;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use step::PlanStep;
use tokio::time::Instant;

/// Creates the processor that does the work of a node. Called for every attempt, after the
/// placeholders in the node's config are filled.
pub(super) type ProcessorFactory =
    Arc<dyn Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync>;

/// The settings shared by all runs of plans.
#[derive(Clone)]
pub(super) struct RunSettings {
    pub kinds: HashMap<String, ProcessorFactory>,
    /// Values that placeholders in plans may name.
    pub values: Map<String, Json>,
    /// Time limit of one attempt at a node that sets no time limit.
    pub node_limit: Duration,
    /// Maximum number of recovery requests per run.
    pub recoveries: u64,
    /// Called after each node with the serialized run.
    pub saving: Option<SaveCallback>,
}

/// A callback that receives a run as JSON, from which the run can be resumed.
type SaveCallback = Arc<dyn Fn(&Json) + Send + Sync>;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum RunStatus {
    /// Every node that was reached has an output or was skipped.
    Completed,
    /// A node failed, and no recovery helped.
    Failed,
    /// A recovery decision aborted the run.
    Aborted,
}

impl RunStatus {
    /// Returns the status as the rules' input `context` shows it, such as `COMPLETED`.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Completed => "COMPLETED",
            RunStatus::Failed => "FAILED",
            RunStatus::Aborted => "ABORTED",
        }
    }
}

/// The report of a plan's run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunReport {
    /// Id of the workflow.
    pub workflow_id: String,
    /// How the run ended.
    pub status: RunStatus,
    /// Why the run did not complete; `None` if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Outputs by node id; an empty object for each skipped node.
    pub outputs: BTreeMap<String, Json>,
    /// Number of failed attempts by node id, including nodes that recovered.
    pub failures: BTreeMap<String, u64>,
    /// Nodes that were skipped after a failure.
    pub skipped: Vec<String>,
    /// Nodes that did not run, because no edge to them was taken.
    pub unreached: Vec<String>,
}

/// Why a run stopped early.
#[derive(Clone, Debug)]
enum EarlyEnd {
    Stopped(RunStatus, String),
    Replanned,
}

/// A plan and its latest run. Both outlive a cancelled call of [`PlanRun::run`].
pub(super) struct PlanRun {
    pub id: String,
    state: Mutex<RunState>,
    /// The run's status as the payload validators' context shows it, such as `RUNNING`.
    status: Mutex<&'static str>,
    /// Lock that a node holds while it requests a recovery, so that requests happen one after
    /// another.
    asking: tokio::sync::Mutex<()>,
}

pub(super) struct RunState {
    pub plan: Plan,
    pub progress: RunProgress,
    ended: Option<EarlyEnd>,
    /// Number of recovery requests in this run.
    asked: u64,
    /// A failed node, and the recovery to apply to it when the run resumes. The recovery comes from
    /// a decision that was made outside the run.
    pub order: Option<(String, RecoveryAction)>,
    deadline: Option<Instant>,
}

/// A function that requests a recovery for a node's failure. Returns `None` if there is no
/// recovery.
pub(super) type RecoveryFn = UserFunction<NodeFailure, Option<RecoveryAction>>;
/// A function that validates a plan and returns it with corrections. The error is feedback for a
/// language model.
pub(super) type PlanValidator = Arc<dyn Fn(&Plan) -> Result<Plan, String> + Send + Sync>;

impl PlanRun {
    pub fn new(id: String, plan: Plan, progress: RunProgress) -> Arc<PlanRun> {
        let state = RunState { plan, progress, ended: None, asked: 0, order: None, deadline: None };
        let asking = tokio::sync::Mutex::default();
        Arc::new(PlanRun { id, state: Mutex::new(state), status: Mutex::new("READY"), asking })
    }

    pub fn status(&self) -> &'static str {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_status(&self, status: &'static str) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    pub fn lock_state(&self) -> MutexGuard<'_, RunState> {
        // Code under this lock keeps the state consistent even if it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Discards all progress, so that the next run starts from the beginning with this input.
    pub fn restart(&self, input: Json) {
        self.lock_state().progress = RunProgress { input, ..RunProgress::default() };
    }

    /// Returns the run as JSON, to be resumed later.
    pub fn to_json(&self) -> Json {
        let state = self.lock_state();
        json!({"workflow_id": self.id, "plan": state.plan.to_payload(), "progress": state.progress})
    }

    /// Runs the plan to its end, from where it stopped.
    pub async fn run(
        self: &Arc<PlanRun>,
        crew: &Arc<RunSettings>,
        ask: &RecoveryFn,
        judged: &PlanValidator,
    ) -> RunReport {
        {
            let mut state = self.lock_state();
            (state.ended, state.asked) = (None, 0);
            state.deadline = state.plan.time_limit().map(|limit| Instant::now() + limit);
        }
        loop {
            let workflow = match self.build_workflow(crew, ask, judged) {
                Ok(workflow) => workflow,
                Err(PlanError(why)) => return self.make_report(RunStatus::Failed, Some(why.to_string())),
            };
            let report = workflow.run(Json::Null).await;
            let ended = self.lock_state().ended.take();
            match ended {
                Some(EarlyEnd::Replanned) => {}
                Some(EarlyEnd::Stopped(status, why)) => return self.make_report(status, Some(why)),
                None => {
                    let first = report.failures.first().map(ToString::to_string);
                    let status = if first.is_some() { RunStatus::Failed } else { RunStatus::Completed };
                    return self.make_report(status, first);
                }
            }
        }
    }

    pub fn make_report(&self, status: RunStatus, reason: Option<String>) -> RunReport {
        let state = self.lock_state();
        let RunProgress { outputs, failures, mut skipped, mut unreached, .. } = state.progress.clone();
        // Sorted in the plan's order, independent of which node ended first.
        let place = |id: &String| state.plan.nodes.iter().position(|node| node.id == *id);
        skipped.sort_by_cached_key(place);
        unreached.sort_by_cached_key(place);
        let failures = failures.into_iter().map(|(node, (times, _))| (node, times)).collect();
        RunReport { workflow_id: self.id.clone(), status, reason, outputs, failures, skipped, unreached }
    }

    /// Converts the plan to a workflow whose nodes run as soon as they are ready. The workflow
    /// delivers each output along every edge, without conditions. The step of each node then
    /// evaluates which of its incoming edges are taken.
    fn build_workflow(
        self: &Arc<PlanRun>,
        crew: &Arc<RunSettings>,
        ask: &RecoveryFn,
        judged: &PlanValidator,
    ) -> Result<Workflow, PlanError> {
        let state = self.lock_state();
        let plan = &state.plan;
        check_kinds(plan, crew)?;
        let mut start = "(start)".to_owned();
        while plan.node(&start).is_some() {
            start = format!("({start})");
        }
        let targets = |id: &str| {
            let mut next: Vec<&str> = Vec::new();
            for edge in plan.edges.iter().filter(|edge| edge.from == id) {
                if !next.contains(&edge.to.as_str()) {
                    next.push(&edge.to);
                }
            }
            next
        };
        let roots = plan.nodes.iter().filter(|node| !plan.edges.iter().any(|edge| edge.to == node.id));
        let mut builder = Workflow::builder(start.as_str())
            .node(Node::new(start.as_str(), "").next(roots.map(|node| node.id.as_str())))
            .processor(start.as_str(), crate::workflow::from_fn(|input| async move { Ok(input) }))
            .step_limit(plan.nodes.len() + 1)
            .run_when_ready();
        for node in &plan.nodes {
            let step = PlanStep {
                id: node.id.clone(),
                run: self.clone(),
                crew: crew.clone(),
                ask: ask.clone(),
                judged: judged.clone(),
            };
            builder = builder
                .node(Node::new(node.id.as_str(), node.kind.as_str()).next(targets(&node.id)))
                .processor(node.id.as_str(), Arc::new(step));
        }
        builder.build().map_err(|error| PlanError(error.to_message()))
    }
}

/// Returns an error if a node's type is not registered.
pub(super) fn check_kinds(plan: &Plan, crew: &RunSettings) -> Result<(), PlanError> {
    match plan.nodes.iter().find(|node| !crew.kinds.contains_key(&node.kind)) {
        None => Ok(()),
        Some(node) => {
            let mut known: Vec<&str> = crew.kinds.keys().map(String::as_str).collect();
            known.sort_unstable();
            let PlanNode { id, kind, .. } = node;
            let known = comma_list(known);
            Err(PlanError(message!(
                "no processor is registered for nodes of type `{kind}`, the type of `{id}`; there are {known}"
            )))
        }
    }
}

impl RunState {
    /// Returns the outputs of a node's predecessors. Outputs of other nodes are left out, because
    /// their presence would depend on the timing of concurrent nodes.
    fn outputs_before<'s>(&'s self, id: &'s str) -> HashMap<&'s str, &'s Json> {
        let before = self.plan.predecessors(id).into_iter();
        before.filter_map(|id| Some((id, self.progress.outputs.get(id)?))).collect()
    }

    /// Builds the message that an edge's condition is evaluated on. The message has the fields of
    /// the source node's output, and the whole output as `output`. The output of each predecessor
    /// of `target` is available as `ID.output`.
    fn edge_message(&self, target: &str, output: &Json) -> Json {
        let mut facts = output.as_object().cloned().unwrap_or_default();
        facts.insert("output".to_owned(), output.clone());
        let before = self.outputs_before(target).into_iter();
        facts.extend(before.map(|(id, output)| (id.to_owned(), json!({"output": output}))));
        Json::Object(facts)
    }

    /// Computes the input of a node; `None` if none of the node's incoming edges is taken.
    fn node_input(&self, id: &str) -> Option<Json> {
        let mut arrivals: Vec<Arrival> = Vec::new();
        let mut edges = self.plan.edges.iter().filter(|edge| edge.to == id).peekable();
        if edges.peek().is_none() {
            return Some(self.progress.input.clone());
        }
        for edge in edges {
            let Some(output) = self.progress.outputs.get(&edge.from) else { continue };
            let holds =
                |condition: &rulec::condition::Condition| condition.holds(&self.edge_message(id, output));
            let known = arrivals.iter().any(|arrival| arrival.from == edge.from.as_str());
            if !known && edge.condition.as_ref().is_none_or(holds) {
                arrivals.push(Arrival { from: edge.from.as_str().into(), value: output.clone() });
            }
        }
        match arrivals.len() {
            0 => None,
            1 => arrivals.pop().map(|only| only.value),
            _ => Some(FirstValues.merge(&id.into(), arrivals)),
        }
    }

    /// Returns the node and its input, with the placeholders in the node's config and
    /// `input_mapping` filled.
    fn fill_placeholders(
        &self,
        node: &PlanNode,
        input: &Json,
        crew: &RunSettings,
    ) -> Result<(Node, Json), String> {
        let nothing = Map::new();
        let fields = input.as_object().unwrap_or(&nothing);
        let run = self.progress.input.as_object().unwrap_or(&nothing);
        let env = self.plan.placeholder_values().unwrap_or(&nothing);
        let values = vec![fields, run, env, &crew.values];
        let ids: Vec<&str> = self.plan.nodes.iter().map(|node| node.id.as_str()).collect();
        let before = self.outputs_before(&node.id);
        let outputs = |id: &str| before.get(id).copied();
        let given = match &node.input_mapping {
            None => None,
            Some(mapping) => {
                let scope = PlaceholderScope { outputs: &outputs, ids: ids.clone(), values: values.clone() };
                Some(scope.fill_object(mapping, "input_mapping")?)
            }
        };
        let values = given.as_ref().into_iter().chain(values).collect();
        let config =
            PlaceholderScope { outputs: &outputs, ids, values }.fill_object(&node.config, "config")?;
        let made = Node::new(node.id.as_str(), node.kind.as_str()).config(Json::Object(config));
        Ok((made, given.map_or_else(|| input.clone(), Json::Object)))
    }

    /// Adds the fields of the node's `output_mapping` to the output. In the mapping, `${output.x}`
    /// is a field of the node's own output.
    fn map_output(&self, node: &PlanNode, output: Json) -> Result<Json, String> {
        let Some(mapping) = &node.output_mapping else { return Ok(output) };
        let own = Map::from_iter([("output".to_owned(), output.clone())]);
        let ids = self.plan.nodes.iter().map(|node| node.id.as_str()).collect();
        let before = self.outputs_before(&node.id);
        let outputs = |id: &str| before.get(id).copied();
        let scope = PlaceholderScope { outputs: &outputs, ids, values: vec![&own] };
        let named = scope.fill_object(mapping, "output_mapping")?;
        let mut fields = output.as_object().cloned().unwrap_or_default();
        fields.extend(named);
        Ok(Json::Object(fields))
    }

    fn record_failure(&mut self, node: &str, reason: String) {
        let (times, last) = self.progress.failures.entry(node.to_owned()).or_default();
        *times += 1;
        *last = reason;
    }

    fn record_output(&mut self, node: &str, output: Json) {
        self.progress.outputs.insert(node.to_owned(), output);
    }
}
