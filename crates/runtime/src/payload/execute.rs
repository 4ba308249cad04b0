//! Runs plans, which are workflows that a language model writes. A plan is converted to a
//! [`Workflow`] whose nodes read and update the progress of the run. A node that already has an
//! output is not run again, so a run can resume where it stopped, even under a changed plan. A node
//! that fails requests a recovery decision (how to continue), and applies this decision. The
//! workflow receives the failure only if no recovery helps.

mod control;
mod step;

pub(super) use control::{CONDITION_KIND, LOOP_KIND};

use super::placeholders::PlaceholderScope;
use super::plan::{Plan, PlanError, PlanNode, RecoveryAction, RunProgress};
use super::usage::Usage;
use super::{Judges, NodeFailure};
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

/// A function that creates the processor of a node: the object that runs the node. The function is
/// called for every attempt to run the node, after the placeholders in the node's config are
/// filled.
pub(super) type ProcessorFactory =
    Arc<dyn Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync>;

/// What runs the nodes of one type: a processor of the program, or the engine itself.
#[derive(Clone)]
pub(super) enum NodeWork {
    /// A processor does the work of the node. The contained function creates the processor for each
    /// attempt.
    Processor(ProcessorFactory),
    /// The engine evaluates the node's condition.
    Condition,
    /// The engine repeats the node in the config field `body`, at most `max_rounds` times.
    Loop { max_rounds: u64 },
}

/// The settings shared by all runs of plans (workflows that a language model writes).
#[derive(Clone)]
pub(super) struct RunSettings {
    pub work_by_node_kind: HashMap<String, NodeWork>,
    /// Named values that placeholders in plans may refer to, such as `${API_KEY}`.
    pub placeholder_values: Map<String, Json>,
    /// Time limit of one attempt to run a node, if the node sets no time limit.
    pub node_time_limit: Duration,
    /// Time limit of a whole run of a plan. The plan itself can only shorten this limit; `None` for
    /// no limit.
    pub run_time_limit: Option<Duration>,
    /// Maximum number of attempts to run nodes in one run. Each round of a loop counts as an
    /// attempt.
    pub max_steps: u64,
    /// Maximum size of one node's output, in bytes of JSON.
    pub max_output_bytes: usize,
    /// Maximum number of recovery decisions (how to continue after a node's failure) that one run
    /// may request.
    pub max_recovery_requests: u64,
    /// Counts the HTTP requests of nodes, and adds up the costs that node outputs report, over all
    /// runs.
    pub usage: Arc<Usage>,
    /// Called with the serialized run after each node that succeeded; `None` if runs are not saved.
    pub save_callback: Option<SaveCallback>,
    /// Called after each attempt to run a node; `None` if the program set no callback.
    pub attempt_callback: Option<AttemptCallback>,
}

impl RunSettings {
    /// Returns `judges`, the payload validators, with the numbers that these settings add to their
    /// input `context`: HTTP requests and costs of nodes, and the maximum number of rounds of a
    /// loop.
    pub fn apply_to_judges(&self, judges: Judges) -> Judges {
        let judges = Judges { usage: Some(self.usage.clone()), ..judges };
        match self.work_by_node_kind.get(LOOP_KIND) {
            Some(NodeWork::Loop { max_rounds }) => judges.loops(*max_rounds),
            _ => judges,
        }
    }

    /// Returns these settings, in which the maximum number of rounds of a loop is reduced to
    /// `max_rounds` if it is greater. `None` changes nothing.
    pub fn with_max_rounds(self: &Arc<Self>, max_rounds: Option<u64>) -> Arc<Self> {
        let mut settings = self.clone();
        if let (Some(NodeWork::Loop { max_rounds: own }), Some(rounds)) =
            (self.work_by_node_kind.get(LOOP_KIND), max_rounds)
            && rounds < *own
        {
            let work = NodeWork::Loop { max_rounds: rounds };
            Arc::make_mut(&mut settings).work_by_node_kind.insert(LOOP_KIND.to_owned(), work);
        }
        settings
    }
}

/// A callback of the program that receives each finished attempt to run a node, for example to log
/// it.
pub(super) type AttemptCallback = Arc<dyn Fn(&Attempt) + Send + Sync>;

/// One finished attempt to run a node of a plan, as a callback or a log receives it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Attempt {
    /// Id of the node that the attempt ran.
    #[serde(rename = "node")]
    pub node_id: String,
    /// The type of the node that ran. If an alternative node replaced the failed node, the type of
    /// the alternative node.
    #[serde(rename = "type")]
    pub kind: String,
    /// Duration of the attempt, in milliseconds.
    pub milliseconds: u64,
    /// The reason why the attempt failed; `None` if the node has an output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A callback that receives a run as JSON, from which the run can be resumed.
type SaveCallback = Arc<dyn Fn(&Json) + Send + Sync>;

/// How a run of a plan (a workflow that a language model writes) ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum RunStatus {
    /// The run reached its end: each node has an output, was skipped, or did not run because no
    /// edge to it was taken.
    Completed,
    /// A node failed, and no recovery decision (how to continue after a failure) helped.
    Failed,
    /// A recovery decision (how to continue after a node's failure) ended the run.
    Aborted,
}

impl RunStatus {
    /// Returns the status as the rules read it in their input `context`, such as `COMPLETED`.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Completed => "COMPLETED",
            RunStatus::Failed => "FAILED",
            RunStatus::Aborted => "ABORTED",
        }
    }
}

/// The report of one run of a plan (a workflow that a language model writes).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunReport {
    /// Id of the workflow that ran.
    pub workflow_id: String,
    /// How the run ended.
    pub status: RunStatus,
    /// The reason why the run did not complete; `None` if the run completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The nodes' outputs by node id; an empty object for each skipped node.
    pub outputs: BTreeMap<String, Json>,
    /// Number of failed attempts of each node, by node id. A node may be listed although it
    /// recovered and has an output.
    pub failures: BTreeMap<String, u64>,
    /// Ids of the nodes that failed and were then skipped.
    pub skipped: Vec<String>,
    /// Ids of the nodes that did not run, because no edge to them was taken.
    pub unreached: Vec<String>,
}

/// The reason why a run ended before all its nodes had run: it was stopped, or its plan was
/// changed.
#[derive(Clone, Debug)]
enum EarlyEnd {
    /// The run was stopped: it ends with this status, for this reason.
    Stopped(RunStatus, String),
    /// The run starts again with a changed plan, and keeps the outputs that are still valid.
    Replanned,
}

/// A plan (a workflow that a language model wrote) and the state of its latest run. If a call of
/// [`PlanRun::run`] is cancelled, the state remains, so that the run can be resumed.
pub(super) struct PlanRun {
    pub workflow_id: String,
    state: Mutex<RunState>,
    /// Name of the run's status, such as `RUNNING`. The rules can read the status in the context of
    /// the payload validators.
    status_name: Mutex<&'static str>,
    /// Lock that a failed node holds while it requests a recovery decision (how to continue). So
    /// these requests happen one after another.
    recovery_lock: tokio::sync::Mutex<()>,
}

pub(super) struct RunState {
    pub plan: Plan,
    pub progress: RunProgress,
    early_end: Option<EarlyEnd>,
    /// Number of recovery decisions (how to continue after a node's failure) requested in this run.
    recovery_request_count: u64,
    /// Number of attempts to run nodes so far in this run. Each round of a loop counts as an
    /// attempt.
    attempt_count: u64,
    /// A failed node, and how to recover from its failure when the run resumes. Set by a recovery
    /// decision that arrived while the plan was not running; `None` otherwise.
    pub pending_recovery: Option<(String, RecoveryAction)>,
    deadline: Option<Instant>,
}

/// A function that is called when a node fails, and returns how to recover.
pub(super) type RecoveryFn = UserFunction<NodeFailure, RecoveryAnswer>;

/// The answer to a request for a recovery decision (how to continue after a node's failure).
pub(super) enum RecoveryAnswer {
    /// The rules accepted this recovery.
    Accepted(RecoveryAction),
    /// The rules rejected the decision and its fallback, if there is one. Contains the feedback for
    /// a language model. The rejection counts as another failure of the node.
    Rejected(String),
    /// No recovery decision was proposed, so the run fails.
    None,
}

/// A function that validates a plan (a workflow that a language model writes) by the rules. Returns
/// the plan with the rules' corrections. The error is feedback for the language model.
pub(super) type PlanValidator = Arc<dyn Fn(&Plan) -> Result<Plan, String> + Send + Sync>;

impl PlanRun {
    pub fn new(workflow_id: String, plan: Plan, progress: RunProgress) -> Arc<PlanRun> {
        let state = RunState {
            plan,
            progress,
            early_end: None,
            recovery_request_count: 0,
            attempt_count: 0,
            pending_recovery: None,
            deadline: None,
        };
        let (state, status_name) = (Mutex::new(state), Mutex::new("READY"));
        Arc::new(PlanRun { workflow_id, state, status_name, recovery_lock: tokio::sync::Mutex::default() })
    }

    pub fn status_name(&self) -> &'static str {
        *self.status_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_status_name(&self, status: &'static str) {
        *self.status_name.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    pub fn lock_state(&self) -> MutexGuard<'_, RunState> {
        // A panic under this lock leaves the state consistent, so a poisoned lock is still usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Discards the outputs of the latest run, so that the next run starts from the beginning with
    /// the run input `input`.
    pub fn restart(&self, input: Json) {
        self.lock_state().progress = RunProgress { input, ..RunProgress::default() };
    }

    /// Returns the state of the run as JSON, from which the run can be resumed later.
    pub fn to_json(&self) -> Json {
        let state = self.lock_state();
        json!({"workflow_id": self.workflow_id, "plan": state.plan.to_payload(), "progress": state.progress})
    }

    /// Runs the nodes of the plan that have no output yet, and returns a report of the whole run.
    pub async fn run(
        self: &Arc<PlanRun>,
        run_settings: &Arc<RunSettings>,
        recovery_fn: &RecoveryFn,
        plan_validator: &PlanValidator,
    ) -> RunReport {
        {
            let mut state = self.lock_state();
            (state.early_end, state.recovery_request_count, state.attempt_count) = (None, 0, 0);
            let limits = state.plan.time_limit().into_iter().chain(run_settings.run_time_limit);
            state.deadline = limits.min().map(|limit| Instant::now() + limit);
        }
        loop {
            let workflow = match self.build_workflow(run_settings, recovery_fn, plan_validator) {
                Ok(workflow) => workflow,
                Err(PlanError(reason)) => {
                    return self.make_report(RunStatus::Failed, Some(reason.to_string()));
                }
            };
            let report = workflow.run(Json::Null).await;
            let early_end = self.lock_state().early_end.take();
            match early_end {
                Some(EarlyEnd::Replanned) => {}
                Some(EarlyEnd::Stopped(status, reason)) => return self.make_report(status, Some(reason)),
                None => {
                    let first_failure = report.failures.first().map(ToString::to_string);
                    let status =
                        if first_failure.is_some() { RunStatus::Failed } else { RunStatus::Completed };
                    return self.make_report(status, first_failure);
                }
            }
        }
    }

    pub fn make_report(&self, status: RunStatus, reason: Option<String>) -> RunReport {
        let state = self.lock_state();
        let RunProgress { outputs, failures, mut skipped, mut unreached, .. } = state.progress.clone();
        // The order of the plan makes the report independent of which node ended first.
        let plan_position = |id: &String| state.plan.nodes.iter().position(|node| node.id == *id);
        skipped.sort_by_cached_key(plan_position);
        unreached.sort_by_cached_key(plan_position);
        let failures = failures.into_iter().map(|(node, (times, _))| (node, times)).collect();
        let workflow_id = self.workflow_id.clone();
        RunReport { workflow_id, status, reason, outputs, failures, skipped, unreached }
    }

    /// Converts the plan (a workflow that a language model wrote) to a [`Workflow`], whose nodes
    /// run as soon as they are ready. The [`Workflow`] delivers each output along every edge,
    /// without conditions. When a node runs, it evaluates the conditions of its incoming edges
    /// itself. Returns an error if a node cannot run, for example because its type is not
    /// registered.
    fn build_workflow(
        self: &Arc<PlanRun>,
        run_settings: &Arc<RunSettings>,
        recovery_fn: &RecoveryFn,
        plan_validator: &PlanValidator,
    ) -> Result<Workflow, PlanError> {
        let state = self.lock_state();
        let plan = &state.plan;
        check_node_kinds(plan, run_settings)?;
        let mut start = "(start)".to_owned();
        while plan.node(&start).is_some() {
            start = format!("({start})");
        }
        let targets = |id: &str| {
            let mut next: Vec<&str> = Vec::new();
            for edge in plan.edges.iter().filter(|edge| edge.source_id == id) {
                if !next.contains(&edge.target_id.as_str()) {
                    next.push(&edge.target_id);
                }
            }
            next
        };
        let roots = plan.nodes.iter().filter(|node| !plan.edges.iter().any(|edge| edge.target_id == node.id));
        let mut builder = Workflow::builder(start.as_str())
            .node(Node::new(start.as_str(), "").next(roots.map(|node| node.id.as_str())))
            .processor(start.as_str(), crate::workflow::from_fn(|input| async move { Ok(input) }))
            .step_limit(plan.nodes.len() + 1)
            .run_when_ready();
        for node in &plan.nodes {
            let step = PlanStep {
                node_id: node.id.clone(),
                plan_run: self.clone(),
                run_settings: run_settings.clone(),
                recovery_fn: recovery_fn.clone(),
                plan_validator: plan_validator.clone(),
            };
            builder = builder
                .node(Node::new(node.id.as_str(), node.kind.as_str()).next(targets(&node.id)))
                .processor(node.id.as_str(), Arc::new(step));
        }
        builder.build().map_err(|error| PlanError(error.to_message()))
    }
}

/// Checks that all nodes of a plan can run. Returns an error for the first node whose type is not
/// registered, or that is a `CONDITION` or `LOOP` with an invalid config.
pub(super) fn check_node_kinds(plan: &Plan, run_settings: &RunSettings) -> Result<(), PlanError> {
    plan.nodes.iter().try_for_each(|node| match run_settings.work_by_node_kind.get(&node.kind) {
        None => Err(unknown_kind_error(&node.kind, &node.id, run_settings)),
        Some(NodeWork::Processor(_)) => Ok(()),
        Some(NodeWork::Condition | NodeWork::Loop { .. }) => {
            control::check_control_config(node, run_settings)
        }
    })
}

fn unknown_kind_error(kind: &str, node: &str, run_settings: &RunSettings) -> PlanError {
    let mut known: Vec<&str> = run_settings.work_by_node_kind.keys().map(String::as_str).collect();
    known.sort_unstable();
    let known = comma_list(known);
    PlanError(message!(
        "no processor is registered for nodes of type `{kind}`, the type of `{node}`; there are {known}"
    ))
}

impl RunState {
    /// Returns the outputs of all nodes from which edges lead to the node `id`, directly or through
    /// other nodes. The keys are node ids. Other outputs are left out, because their presence would
    /// depend on the timing of concurrent nodes.
    fn predecessor_outputs<'s>(&'s self, id: &'s str) -> HashMap<&'s str, &'s Json> {
        let predecessors = self.plan.predecessor_ids(id).into_iter();
        predecessors.filter_map(|id| Some((id, self.progress.outputs.get(id)?))).collect()
    }

    /// Builds the message on which the condition of an edge to the node `target` is evaluated. The
    /// message has the fields of the source node's output, and the whole output as `output`. The
    /// output of each predecessor of `target` is available as `ID.output`.
    fn edge_condition_message(&self, target: &str, output: &Json) -> Json {
        let mut fields = output.as_object().cloned().unwrap_or_default();
        fields.insert("output".to_owned(), output.clone());
        let predecessor_outputs = self.predecessor_outputs(target).into_iter();
        fields.extend(predecessor_outputs.map(|(id, output)| (id.to_owned(), json!({"output": output}))));
        Json::Object(fields)
    }

    /// Computes the input of a node from the outputs of its direct predecessors. A node without
    /// incoming edges gets the input of the run. `None` if none of the node's incoming edges is
    /// taken.
    fn node_input(&self, id: &str) -> Option<Json> {
        let mut arrivals: Vec<Arrival> = Vec::new();
        let mut edges = self.plan.edges.iter().filter(|edge| edge.target_id == id).peekable();
        if edges.peek().is_none() {
            return Some(self.progress.input.clone());
        }
        for edge in edges {
            let Some(output) = self.progress.outputs.get(&edge.source_id) else { continue };
            let is_satisfied = |condition: &rulec::condition::Condition| {
                condition.holds(&self.edge_condition_message(id, output))
            };
            let has_arrived = arrivals.iter().any(|arrival| arrival.from == edge.source_id.as_str());
            if !has_arrived && edge.condition.as_ref().is_none_or(is_satisfied) {
                arrivals.push(Arrival { from: edge.source_id.as_str().into(), value: output.clone() });
            }
        }
        match arrivals.len() {
            0 => None,
            1 => arrivals.pop().map(|only| only.value),
            _ => Some(FirstValues.merge(&id.into(), arrivals)),
        }
    }

    /// Returns copies of the node and of its input in which the placeholders in the node's config
    /// and `input_mapping` are filled. Returns an error if a placeholder has no value.
    fn fill_placeholders(
        &self,
        node: &PlanNode,
        input: &Json,
        run_settings: &RunSettings,
    ) -> Result<(Node, Json), String> {
        let no_fields = Map::new();
        let input_fields = input.as_object().unwrap_or(&no_fields);
        let run_input = self.progress.input.as_object().unwrap_or(&no_fields);
        let plan_values = self.plan.placeholder_values().unwrap_or(&no_fields);
        let values = vec![input_fields, run_input, plan_values, &run_settings.placeholder_values];
        let ids: Vec<&str> = self.plan.nodes.iter().map(|node| node.id.as_str()).collect();
        let predecessor_outputs = self.predecessor_outputs(&node.id);
        let outputs = |id: &str| predecessor_outputs.get(id).copied();
        let mapped_input = match &node.input_mapping {
            None => None,
            Some(mapping) => {
                let scope = PlaceholderScope {
                    output_of_node: &outputs,
                    node_ids: ids.clone(),
                    value_maps: values.clone(),
                };
                Some(scope.fill_object(mapping, "input_mapping")?)
            }
        };
        let values = mapped_input.as_ref().into_iter().chain(values).collect();
        let config = PlaceholderScope { output_of_node: &outputs, node_ids: ids, value_maps: values }
            .fill_object(&node.config, "config")?;
        let filled_node = Node::new(node.id.as_str(), node.kind.as_str()).config(Json::Object(config));
        Ok((filled_node, mapped_input.map_or_else(|| input.clone(), Json::Object)))
    }

    /// Returns the output with the fields of the node's `output_mapping` added. An output that is
    /// not an object is replaced by these fields. In the mapping, `${output.x}` is a field of the
    /// node's own output. Returns an error if a placeholder has no value.
    fn apply_output_mapping(&self, node: &PlanNode, output: Json) -> Result<Json, String> {
        let Some(mapping) = &node.output_mapping else { return Ok(output) };
        let own_output = Map::from_iter([("output".to_owned(), output.clone())]);
        let ids = self.plan.nodes.iter().map(|node| node.id.as_str()).collect();
        let predecessor_outputs = self.predecessor_outputs(&node.id);
        let outputs = |id: &str| predecessor_outputs.get(id).copied();
        let scope =
            PlaceholderScope { output_of_node: &outputs, node_ids: ids, value_maps: vec![&own_output] };
        let mapped_fields = scope.fill_object(mapping, "output_mapping")?;
        let mut fields = output.as_object().cloned().unwrap_or_default();
        fields.extend(mapped_fields);
        Ok(Json::Object(fields))
    }

    fn record_failure(&mut self, node: &str, reason: String) {
        let (times, last_reason) = self.progress.failures.entry(node.to_owned()).or_default();
        *times += 1;
        *last_reason = reason;
    }

    fn record_output(&mut self, node: &str, output: Json) {
        self.progress.outputs.insert(node.to_owned(), output);
    }
}
