//! Built-in execution of decisions about plans, which are workflows that a language model writes.
//! Such decisions create, run, change and resume a workflow.

use super::coordinator::Coordinator;
use super::execute::{
    LOOP_KIND, PlanRun, PlanValidator, RecoveryAnswer, RecoveryFn, RunReport, RunStatus, check_node_kinds,
};
use super::plan::{Plan, PlanError, REPLAN_KIND, RecoveryAction, RunProgress};
use super::usage::Usage;
use super::{DecisionEvent, Handled, Judges, NodeFailure, Proposal, Validated};
use crate::task;
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use thiserror::Error;

/// The payload kind of a plan, which is a workflow that a language model writes.
const PLAN_KIND: &str = "create_workflow_plan";
/// The payload kind that describes a single node, which is executed as a workflow of one node.
const NODE_KIND: &str = "create_node";

/// The error of a call that names an unknown workflow; contains the id that the call named.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct UnknownWorkflow(pub String);

impl UnknownWorkflow {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        message!("there is no workflow `{}`", self.0)
    }
}

/// The result of executing a decision. It includes the report of the run if the decision ran a
/// workflow.
#[derive(Clone, Debug, Default)]
pub(super) struct ExecutionResult {
    /// The handler's answer or the run's report. `None` if decisions of this kind are only
    /// published.
    pub result: Option<Result<Json, String>>,
    pub report: Option<RunReport>,
}

impl Coordinator {
    /// Executes an accepted decision. Calls the registered handler of its kind. Without a handler,
    /// this method executes decisions about plans (workflows that a language model writes); it does
    /// nothing for decisions of other kinds.
    pub(super) async fn execute(self, decision: Validated) -> ExecutionResult {
        let kind = decision.decision.kind.clone();
        if let Some(handler) = self.inner.handlers.get(&kind) {
            let answer = task::call_function(None, handler, decision).await;
            let result = answer.map_err(|failure| failure.to_string());
            return ExecutionResult { result: Some(result), report: None };
        }
        let payload = decision.payload();
        let ran = match &*kind {
            PLAN_KIND => self.start_plan(Plan::from_payload(payload)).await,
            NODE_KIND => self.start_plan(Plan::from_node_payload(payload)).await,
            "execute_workflow" => match self.find_run(payload) {
                Ok(run) => {
                    run.restart(payload["input_params"].clone());
                    Ok(Some(self.run_workflow(&run).await))
                }
                Err(error) => Err(error),
            },
            "modify_node" => self.modify_workflow(payload),
            "error_recovery" | REPLAN_KIND => self.recover_run(&kind, payload).await,
            _ => Ok(None),
        };
        match ran {
            Ok(report) => ExecutionResult { result: report.as_ref().map(report_to_result), report },
            Err(error) => ExecutionResult { result: Some(Err(error)), report: None },
        }
    }

    /// Checks that an accepted plan (a workflow that a language model writes) can run. Returns an
    /// error if a node type is not registered or a condition does not compile.
    pub(super) fn check_runnable(&self, decision: &Validated) -> Result<(), PlanError> {
        let plan = match &*decision.decision.kind {
            kind if self.inner.handlers.contains_key(kind) => return Ok(()),
            PLAN_KIND => Plan::from_payload(decision.payload()),
            NODE_KIND => Plan::from_node_payload(decision.payload()),
            _ => return Ok(()),
        };
        self.validate_runnable_plan(plan?).map(drop)
    }

    /// Checks that a plan can run, and validates the bodies of its loops by the rules. The
    /// validation of the payload itself does not include these bodies. Returns the plan with
    /// corrected bodies. The error is the reason why the plan is refused.
    fn validate_runnable_plan(&self, plan: Plan) -> Result<Plan, PlanError> {
        check_node_kinds(&plan, &self.inner.run_settings)?;
        if plan.nodes.iter().all(|node| node.kind != LOOP_KIND) {
            return Ok(plan);
        }
        validate_plan(&self.judges(), &plan).map_err(|feedback| PlanError(Message::verbatim(feedback)))
    }

    /// Stores a plan as a new workflow and runs it. Returns the report of the run, always as
    /// `Some`. Returns the reason as an error if `plan` is an error or the plan cannot run.
    async fn start_plan(&self, plan: Result<Plan, PlanError>) -> Result<Option<RunReport>, String> {
        let plan =
            plan.and_then(|plan| self.validate_runnable_plan(plan)).map_err(|error| error.to_string())?;
        let run = {
            let mut workflows = self.lock_workflows();
            let mut number = workflows.len() + 1;
            let is_taken = |id: &String| workflows.contains_key(id) || self.judges().has_workflow(id);
            while is_taken(&format!("workflow_{number}")) {
                number += 1;
            }
            let run = PlanRun::new(format!("workflow_{number}"), plan, RunProgress::default());
            workflows.insert(run.workflow_id.clone(), run.clone());
            run
        };
        Ok(Some(self.run_workflow(&run).await))
    }

    fn modify_workflow(&self, payload: &Json) -> Result<Option<RunReport>, String> {
        let id = payload["node_id"].as_str().unwrap_or_default();
        let runs: Vec<Arc<PlanRun>> = self.lock_workflows().values().cloned().collect();
        let Some(run) = runs.into_iter().find(|run| run.lock_state().plan.node(id).is_some()) else {
            return Err(format!("no workflow that was made here has a node `{id}`"));
        };
        let mut plan = run.lock_state().plan.clone();
        let updates = payload["updates"].as_object().cloned().unwrap_or_default();
        plan.change_node(id, &updates).map_err(|error| error.to_string())?;
        run.lock_state().plan = validate_plan(&self.judges(), &plan)?;
        self.set_run_status(&run, "READY");
        Ok(None)
    }

    /// Applies a recovery decision (how to continue after a node's failure) that arrives while the
    /// plan is not running. Resumes the run, unless the decision aborts the run. Returns the report
    /// of the run, always as `Some`. Returns an error if, for example, the workflow is unknown.
    async fn recover_run(&self, kind: &str, payload: &Json) -> Result<Option<RunReport>, String> {
        let run = self.find_run(payload)?;
        let recovery = RecoveryAction::from_payload(kind, payload).ok_or("the payload says no recovery")?;
        if recovery == RecoveryAction::Abort {
            self.set_run_status(&run, RunStatus::Aborted.name());
            let reason = payload["failure_reason"].as_str().unwrap_or("it was aborted").to_owned();
            return Ok(Some(run.make_report(RunStatus::Aborted, Some(reason))));
        }
        let failed_node = {
            let state = run.lock_state();
            let is_unfinished = |id: &&String| !state.progress.outputs.contains_key(*id);
            state.progress.failures.keys().find(is_unfinished).cloned()
        };
        let node = payload["failed_node_id"].as_str().map(str::to_owned).or(failed_node);
        let node = node.ok_or("no node of the workflow has failed")?;
        {
            let mut state = run.lock_state();
            state.progress.outputs.remove(&node);
            state.pending_recovery = Some((node, recovery));
        }
        Ok(Some(self.run_workflow(&run).await))
    }

    fn find_run(&self, payload: &Json) -> Result<Arc<PlanRun>, String> {
        let id = payload["workflow_id"].as_str().unwrap_or_default();
        let run = self.lock_workflows().get(id).cloned();
        run.ok_or_else(|| format!("the workflow `{id}` was not made here; register a handler for this kind"))
    }

    /// Runs the nodes of a workflow that have no output yet. Updates the workflow's status in the
    /// context of the payload validators.
    async fn run_workflow(&self, run: &Arc<PlanRun>) -> RunReport {
        self.set_run_status(run, "RUNNING");
        // The status that is reported if the future is dropped. At the end of the run, another
        // status replaces it.
        let mut status_on_drop = StatusOnDrop { coordinator: self, run, status_name: "INTERRUPTED" };
        let (coordinator, id) = (self.clone(), run.workflow_id.clone());
        let plan_validator: PlanValidator = Arc::new(move |plan: &Plan| {
            let plan = validate_plan(&coordinator.judges(), plan)?;
            coordinator.add_workflow_to_context(&id, plan.to_context("RUNNING"));
            Ok(plan)
        });
        let run_settings = self.inner.run_settings.with_max_rounds(self.judges().max_loop_rounds());
        let report = run.run(&run_settings, &self.recovery_fn(), &plan_validator).await;
        status_on_drop.status_name = report.status.name();
        report
    }

    /// Returns a function that requests a recovery for a failed node. The function publishes the
    /// failure as an event, so that the program's recovery strategy proposes a decision. If several
    /// recovery decisions are accepted, the function returns the recovery of the last one.
    fn recovery_fn(&self) -> RecoveryFn {
        let coordinator = self.clone();
        task::box_function(
            move |failure: NodeFailure| {
                let coordinator = coordinator.clone();
                async move {
                    let handled = coordinator.publish(failure).await;
                    Ok::<_, task::BoxError>(recovery_answer(&handled))
                }
            },
            |answer| answer,
        )
    }

    /// Sets a workflow's status in the run, and in the input `context` of the payload validators.
    fn set_run_status(&self, run: &PlanRun, status: &'static str) {
        run.set_status_name(status);
        let description = run.lock_state().plan.to_context(status);
        self.add_workflow_to_context(&run.workflow_id, description);
    }

    /// Adds the description of a workflow to the context of the payload validators, or replaces the
    /// description if the workflow is already there.
    fn add_workflow_to_context(&self, id: &str, description: Json) {
        self.inner.judges.rcu(|judges| judges.with_workflow_in_context(id, description.clone()));
    }

    /// Returns `judges`, the payload validators, with a description of each of the coordinator's
    /// workflows added to their context.
    pub(super) fn with_all_workflows(&self, judges: Judges) -> Judges {
        let workflows = self.lock_workflows();
        workflows.values().fold(judges, |judges, run| {
            let description = run.lock_state().plan.to_context(run.status_name());
            judges.with_workflow_in_context(&run.workflow_id, description)
        })
    }

    pub(super) fn lock_workflows(&self) -> MutexGuard<'_, HashMap<String, Arc<PlanRun>>> {
        self.inner.workflows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a workflow's plan and the progress of its run as JSON to store; `None` if the
    /// workflow is unknown.
    pub fn saved(&self, workflow: &str) -> Option<Json> {
        let run = self.lock_workflows().get(workflow).cloned();
        run.map(|run| run.to_json())
    }

    /// Restores a workflow from the JSON of [`Coordinator::saved`], and replaces an existing
    /// workflow with the same id. The workflow's plan is validated again. Returns the workflow's
    /// id.
    ///
    /// # Errors
    /// If the JSON is not a saved workflow, or its plan is rejected.
    pub fn restore(&self, saved: &Json) -> Result<String, PlanError> {
        let id =
            saved["workflow_id"].as_str().ok_or_else(|| PlanError(message!("there is no `workflow_id`")))?;
        let plan = validate_plan(&self.judges(), &Plan::from_payload(&saved["plan"])?)
            .map_err(|feedback| PlanError(Message::verbatim(feedback)))?;
        let progress: RunProgress = serde_json::from_value(saved["progress"].clone())
            .map_err(|error| PlanError(message!("the progress cannot be read: {error}")))?;
        let run = PlanRun::new(id.to_owned(), plan, progress);
        self.set_run_status(&run, "READY");
        self.lock_workflows().insert(id.to_owned(), run);
        Ok(id.to_owned())
    }

    /// Resumes a workflow where its latest run stopped. Nodes that already have an output are not
    /// run again.
    ///
    /// # Errors
    /// If there is no such workflow.
    pub async fn resume(&self, workflow: &str) -> Result<RunReport, UnknownWorkflow> {
        let run = self.lock_workflows().get(workflow).cloned();
        let run = run.ok_or_else(|| UnknownWorkflow(workflow.to_owned()))?;
        Ok(self.run_workflow(&run).await)
    }
}

/// A guard for a run: on drop, it writes the status of the run to the input `context` of the
/// payload validators. So the status is correct even if the run is cancelled.
struct StatusOnDrop<'r> {
    coordinator: &'r Coordinator,
    run: &'r PlanRun,
    status_name: &'static str,
}

impl Drop for StatusOnDrop<'_> {
    fn drop(&mut self) {
        self.coordinator.set_run_status(self.run, self.status_name);
    }
}

impl Judges {
    fn has_workflow(&self, workflow: &str) -> bool {
        self.context.as_ref().is_some_and(|context| !context["workflows"][workflow].is_null())
    }
}

/// Validates a plan (a workflow that a language model writes) by the rules, including the bodies of
/// its loops. Returns the plan with the rules' corrections. The error is a text from which a
/// language model can correct the plan. If the rules declare no payload kind for plans, the plan is
/// accepted unchanged.
///
/// The validation ignores what the coordinator counted (HTTP requests and costs), because the
/// counts may include nodes of this plan that already ran. A rule that counts the rounds of a loop
/// sees the requests of its body once more in the separate body, so these are subtracted.
fn validate_plan(judges: &Judges, plan: &Plan) -> Result<Plan, String> {
    if judges.get(PLAN_KIND).is_none() {
        return Ok(plan.clone());
    }
    let usage = Usage::with_repeated_requests(plan.http_body_count());
    let judges = Judges { usage: Some(Arc::new(usage)), ..judges.clone() };
    match judges.judge(Proposal::new(PLAN_KIND, plan.to_payload_with_bodies())) {
        DecisionEvent::Validated(plan_with_corrections) => {
            let plan_with_corrections =
                plan.plan_with_bodies(plan_with_corrections.payload()).map_err(|error| error.to_string())?;
            Ok(plan_with_corrections.with_retry_settings_of(plan))
        }
        DecisionEvent::Rejected(rejected) => Err(rejected.feedback),
        _ => Err("the plan was not judged".to_owned()),
    }
}

/// Finds the answer to a recovery request in the events that followed a node's failure. The last
/// accepted recovery is the answer. If no recovery was accepted, the answer is the feedback of the
/// last rejected decision. The answer is [`RecoveryAnswer::None`] if no decision was proposed. It
/// is also `None` if the recovery strategy failed, so that the strategy is not called again.
fn recovery_answer(handled: &[Handled]) -> RecoveryAnswer {
    let events = || handled.iter().rev().filter_map(|handled| handled.event.as_ref());
    let accepted = events().find_map(|event| match event {
        DecisionEvent::Validated(validated) => {
            RecoveryAction::from_payload(&validated.decision.kind, validated.payload())
        }
        _ => None,
    });
    if let Some(recovery) = accepted {
        return RecoveryAnswer::Accepted(recovery);
    }
    let rejected = || {
        events().filter_map(|event| match event {
            DecisionEvent::Rejected(rejected) => Some(rejected),
            _ => None,
        })
    };
    match rejected().next() {
        Some(last) if rejected().all(|rejected| rejected.judgement.is_some()) => {
            RecoveryAnswer::Rejected(last.feedback.clone())
        }
        _ => RecoveryAnswer::None,
    }
}

fn report_to_result(report: &RunReport) -> Result<Json, String> {
    match &report.reason {
        None => Ok(json!(report)),
        Some(reason) => Err(reason.clone()),
    }
}
