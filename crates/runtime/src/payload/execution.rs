//! Built-in execution of decisions about plans: plans become workflows, which are run, changed and
//! resumed.

use super::coordinator::Coordinator;
use super::execute::{Ask, Judged, Run, RunReport, RunStatus, check_kinds};
use super::plan::{Plan, PlanError, Progress, REPLAN, Recovery};
use super::{DecisionEvent, Handled, Judges, NodeFailure, Proposal, Validated};
use crate::task;
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use thiserror::Error;

/// The payload kind of a whole plan.
const PLAN: &str = "create_workflow_plan";
/// The payload kind of a plan with one node.
const NODE: &str = "create_node";

/// The error for an unknown workflow id.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct UnknownWorkflow(pub String);

impl UnknownWorkflow {
    /// Returns the error as a localized message.
    pub fn to_message(&self) -> Message {
        message!("there is no workflow `{}`", self.0)
    }
}

/// The result of executing a decision, and the report if the decision ran a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Acted {
    pub result: Option<Result<Json, String>>,
    pub report: Option<RunReport>,
}

impl Coordinator {
    /// Executes an accepted decision.
    pub(super) async fn act(self, decision: Validated) -> Acted {
        let kind = decision.decision.kind.clone();
        if let Some(handler) = self.inner.handlers.get(&kind) {
            let answer = task::call(None, handler, decision).await;
            let result = answer.map_err(|broken| broken.to_string());
            return Acted { result: Some(result), report: None };
        }
        let payload = decision.payload();
        let ran = match &*kind {
            PLAN => self.plan(Plan::read(payload)).await,
            NODE => self.plan(Plan::of_node(payload)).await,
            "execute_workflow" => match self.named(payload) {
                Ok(run) => {
                    run.restart(payload["input_params"].clone());
                    Ok(Some(self.run(&run).await))
                }
                Err(error) => Err(error),
            },
            "modify_node" => self.modify(payload),
            "error_recovery" | REPLAN => self.recover_run(&kind, payload).await,
            _ => Ok(None),
        };
        match ran {
            Ok(report) => Acted { result: report.as_ref().map(outcome), report },
            Err(error) => Acted { result: Some(Err(error)), report: None },
        }
    }

    /// Checks that an accepted plan can run. Returns an error if a node type is not registered or a
    /// condition does not compile.
    pub(super) fn can_run(&self, decision: &Validated) -> Result<(), PlanError> {
        let plan = match &*decision.decision.kind {
            kind if self.inner.handlers.contains_key(kind) => return Ok(()),
            PLAN => Plan::read(decision.payload()),
            NODE => Plan::of_node(decision.payload()),
            _ => return Ok(()),
        };
        check_kinds(&plan?, &self.inner.crew)
    }

    /// Stores a plan as a new workflow and runs it.
    async fn plan(&self, plan: Result<Plan, PlanError>) -> Result<Option<RunReport>, String> {
        let plan = plan.map_err(|error| error.to_string())?;
        let run = {
            let mut workflows = self.workflows();
            let mut number = workflows.len() + 1;
            let known = |id: &String| workflows.contains_key(id) || self.judges().knows(id);
            while known(&format!("workflow_{number}")) {
                number += 1;
            }
            let run = Run::new(format!("workflow_{number}"), plan, Progress::default());
            workflows.insert(run.id.clone(), run.clone());
            run
        };
        Ok(Some(self.run(&run).await))
    }

    fn modify(&self, payload: &Json) -> Result<Option<RunReport>, String> {
        let id = payload["node_id"].as_str().unwrap_or_default();
        let runs: Vec<Arc<Run>> = self.workflows().values().cloned().collect();
        let Some(run) = runs.into_iter().find(|run| run.state().plan.node(id).is_some()) else {
            return Err(format!("no workflow that was made here has a node `{id}`"));
        };
        let mut plan = run.state().plan.clone();
        let updates = payload["updates"].as_object().cloned().unwrap_or_default();
        plan.change(id, &updates).map_err(|error| error.to_string())?;
        run.state().plan = judged(&self.judges(), &plan)?;
        self.tell(&run, "READY");
        Ok(None)
    }

    /// Resumes a stopped run by a recovery decision that was made outside the run.
    async fn recover_run(&self, kind: &str, payload: &Json) -> Result<Option<RunReport>, String> {
        let run = self.named(payload)?;
        let recovery = Recovery::read(kind, payload).ok_or("the payload says no recovery")?;
        if recovery == Recovery::Abort {
            self.tell(&run, RunStatus::Aborted.name());
            let why = payload["failure_reason"].as_str().unwrap_or("it was aborted").to_owned();
            return Ok(Some(run.report(RunStatus::Aborted, Some(why))));
        }
        let failed = {
            let state = run.state();
            let open = |id: &&String| !state.progress.outputs.contains_key(*id);
            state.progress.failures.keys().find(open).cloned()
        };
        let node = payload["failed_node_id"].as_str().map(str::to_owned).or(failed);
        let node = node.ok_or("no node of the workflow has failed")?;
        {
            let mut state = run.state();
            state.progress.outputs.remove(&node);
            state.order = Some((node, recovery));
        }
        Ok(Some(self.run(&run).await))
    }

    fn named(&self, payload: &Json) -> Result<Arc<Run>, String> {
        let id = payload["workflow_id"].as_str().unwrap_or_default();
        let found = self.workflows().get(id).cloned();
        found
            .ok_or_else(|| format!("the workflow `{id}` was not made here; register a handler for this kind"))
    }

    /// Runs a workflow from where it stopped, and keeps its status in the judges' context up to
    /// date.
    async fn run(&self, run: &Arc<Run>) -> RunReport {
        self.tell(run, "RUNNING");
        // This status is reported if the future is dropped. It is replaced when the run ends.
        let mut ending = FinalReport { coordinator: self, run, status: "INTERRUPTED" };
        let (coordinator, id) = (self.clone(), run.id.clone());
        let judged: Judged = Arc::new(move |plan: &Plan| {
            let plan = judged(&coordinator.judges(), plan)?;
            coordinator.know(&id, plan.described("RUNNING"));
            Ok(plan)
        });
        let report = run.run(&self.inner.crew, &self.asking(), &judged).await;
        ending.status = report.status.name();
        report
    }

    /// Returns the function that publishes a node's failure, and returns the recovery from the
    /// resulting decision.
    fn asking(&self) -> Ask {
        let coordinator = self.clone();
        task::boxed(
            move |failure: NodeFailure| {
                let coordinator = coordinator.clone();
                async move {
                    let handled = coordinator.publish(failure).await;
                    Ok::<_, task::BoxError>(handled.into_iter().rev().find_map(recovery))
                }
            },
            |answer| answer,
        )
    }

    /// Sets a workflow's status, in the run and in the judges' context.
    fn tell(&self, run: &Run, status: &'static str) {
        run.is_now(status);
        let described = run.state().plan.described(status);
        self.know(&run.id, described);
    }

    /// Adds or updates a workflow in the judges' context.
    fn know(&self, id: &str, described: Json) {
        self.inner.judges.rcu(|judges| judges.knowing(id, described.clone()));
    }

    /// Returns the judges with all of the coordinator's workflows in their context.
    pub(super) fn knowing_all(&self, judges: Judges) -> Judges {
        let workflows = self.workflows();
        workflows.values().fold(judges, |judges, run| {
            let described = run.state().plan.described(run.status());
            judges.knowing(&run.id, described)
        })
    }

    pub(super) fn workflows(&self) -> MutexGuard<'_, HashMap<String, Arc<Run>>> {
        self.inner.workflows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a workflow's plan and progress as JSON to store; `None` if the workflow is unknown.
    pub fn saved(&self, workflow: &str) -> Option<Json> {
        let run = self.workflows().get(workflow).cloned();
        run.map(|run| run.saved())
    }

    /// Restores a saved workflow, which replaces one with the same id. The workflow's plan is
    /// validated again. Returns the workflow's id.
    ///
    /// # Errors
    /// If the JSON is not a saved workflow, or its plan is rejected.
    pub fn restore(&self, saved: &Json) -> Result<String, PlanError> {
        let id =
            saved["workflow_id"].as_str().ok_or_else(|| PlanError(message!("there is no `workflow_id`")))?;
        let plan = judged(&self.judges(), &Plan::read(&saved["plan"])?)
            .map_err(|feedback| PlanError(Message::verbatim(feedback)))?;
        let progress: Progress = serde_json::from_value(saved["progress"].clone())
            .map_err(|error| PlanError(message!("the progress cannot be read: {error}")))?;
        let run = Run::new(id.to_owned(), plan, progress);
        self.tell(&run, "READY");
        self.workflows().insert(id.to_owned(), run);
        Ok(id.to_owned())
    }

    /// Resumes a workflow where its latest run stopped. Nodes that already have an output are not
    /// run again.
    ///
    /// # Errors
    /// If there is no such workflow.
    pub async fn resume(&self, workflow: &str) -> Result<RunReport, UnknownWorkflow> {
        let run = self.workflows().get(workflow).cloned();
        let run = run.ok_or_else(|| UnknownWorkflow(workflow.to_owned()))?;
        Ok(self.run(&run).await)
    }
}

/// A guard that, when it is dropped, writes a run's status to the judges' context. So the status is
/// correct even if the run is cancelled.
struct FinalReport<'r> {
    coordinator: &'r Coordinator,
    run: &'r Run,
    status: &'static str,
}

impl Drop for FinalReport<'_> {
    fn drop(&mut self) {
        self.coordinator.tell(self.run, self.status);
    }
}

impl Judges {
    fn knows(&self, workflow: &str) -> bool {
        self.context.as_ref().is_some_and(|context| !context["workflows"][workflow].is_null())
    }
}

/// Validates a plan and returns it as corrected by the rules. The error is feedback for a language
/// model. If the rules declare no plans, the plan is accepted.
fn judged(judges: &Judges, plan: &Plan) -> Result<Plan, String> {
    if judges.get(PLAN).is_none() {
        return Ok(plan.clone());
    }
    match judges.judge(Proposal::new(PLAN, plan.payload())) {
        DecisionEvent::Validated(accepted) => {
            let accepted = Plan::read(accepted.payload()).map_err(|error| error.to_string())?;
            Ok(accepted.with_retries_of(plan))
        }
        DecisionEvent::Rejected(rejected) => Err(rejected.feedback),
        _ => Err("the plan was not judged".to_owned()),
    }
}

/// Returns the recovery that an accepted decision requests. `None` if the event is not an accepted
/// recovery.
fn recovery(handled: Handled) -> Option<Recovery> {
    match handled.event? {
        DecisionEvent::Validated(validated) => Recovery::read(&validated.decision.kind, validated.payload()),
        _ => None,
    }
}

fn outcome(report: &RunReport) -> Result<Json, String> {
    match &report.reason {
        None => Ok(json!(report)),
        Some(why) => Err(why.clone()),
    }
}
