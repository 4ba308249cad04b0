//! Runs one node of a plan (a workflow that a language model writes): the attempts to run the node,
//! and the recovery from its failures.

use super::super::plan::{PlanNode, RecoveryAction};
use super::control::{LoopSettings, evaluate_condition, without_control_fields};
use super::{
    Attempt, EarlyEnd, NodeWork, PlanRun, PlanValidator, ProcessorFactory, RecoveryAnswer, RecoveryFn,
    RunSettings, RunState, RunStatus, check_node_kinds, unknown_kind_error,
};
use crate::task;
use crate::workflow::{BoxFuture, Call, ProcessResult, Processor, json_size};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The processor of one node of a plan (a workflow that a language model writes): the object that
/// the workflow engine calls to run the node.
pub(super) struct PlanStep {
    pub node_id: String,
    pub plan_run: Arc<PlanRun>,
    pub run_settings: Arc<RunSettings>,
    pub recovery_fn: RecoveryFn,
    pub plan_validator: PlanValidator,
}

impl Processor for PlanStep {
    fn process<'a>(&'a self, _: &'a Call, _: Json) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move { self.run_step().await.map(|()| Json::Null).map_err(Into::into) })
    }
}

/// The error of a node that starts or continues after the run has ended.
const RUN_ENDED_ERROR: &str = "the run has ended";

/// A series of attempts to run a node: their number, and the pause between two of them. The plan
/// determines the first series. After a failure, a recovery decision may determine another series.
struct AttemptSeries {
    attempt_count: u64,
    pause: Duration,
    /// Whether there is also a pause before the first attempt.
    pauses_before_first: bool,
    alternative_node_id: Option<String>,
}

impl PlanStep {
    async fn run_step(&self) -> Result<(), String> {
        let Some(input) = self.take_input()? else { return Ok(()) };
        let mut pending_recovery = {
            let mut state = self.plan_run.lock_state();
            let own_recovery = state.pending_recovery.take_if(|(node, _)| *node == self.node_id);
            own_recovery.map(|(_, recovery)| recovery)
        };
        loop {
            let attempts = match self.apply_recovery(pending_recovery.take()) {
                Ok(Some(attempts)) => Some(attempts),
                Ok(None) => return Ok(()),
                // The recovery cannot be executed, which counts as another failure.
                Err(reason) if self.plan_run.lock_state().early_end.is_none() => {
                    self.plan_run.lock_state().record_failure(&self.node_id, reason);
                    None
                }
                Err(reason) => return Err(reason),
            };
            if let Some(attempts) = attempts
                && self.make_attempts(&attempts, &input).await
            {
                return Ok(());
            }
            while pending_recovery.is_none() {
                pending_recovery = self.request_recovery().await?;
            }
        }
    }

    /// Returns the node's input. `None` if the node must not run: either the node already has an
    /// output, or no edge to the node is taken.
    fn take_input(&self) -> Result<Option<Json>, String> {
        let mut state = self.plan_run.lock_state();
        if state.early_end.is_some() {
            return Err(RUN_ENDED_ERROR.to_owned());
        }
        if state.progress.outputs.contains_key(&self.node_id) {
            return Ok(None);
        }
        state.progress.unreached.retain(|id| *id != self.node_id);
        let input = state.node_input(&self.node_id);
        if input.is_none() {
            state.progress.unreached.push(self.node_id.clone());
        }
        Ok(input)
    }

    /// Applies a recovery decision (how to continue after a failure) to the run, and returns the
    /// attempts to make next. Returns `None` if the decision skips the node. If `recovery` is
    /// `None`, returns the attempts that the plan's retry settings allow. Returns an error if the
    /// decision ends the run or cannot be applied.
    fn apply_recovery(&self, recovery: Option<RecoveryAction>) -> Result<Option<AttemptSeries>, String> {
        let mut state = self.plan_run.lock_state();
        if state.early_end.is_some() {
            return Err(RUN_ENDED_ERROR.to_owned());
        }
        match recovery {
            None => {
                let (retries, pause) = state
                    .plan
                    .node(&self.node_id)
                    .map_or((0, Duration::ZERO), PlanNode::retry_count_and_pause);
                Ok(Some(AttemptSeries {
                    attempt_count: retries + 1,
                    pause,
                    pauses_before_first: false,
                    alternative_node_id: None,
                }))
            }
            Some(RecoveryAction::Retry { attempts, delay, changes, alternative_node }) => {
                if !changes.is_empty() {
                    let mut changed_plan = state.plan.clone();
                    changed_plan.change_node(&self.node_id, &changes).map_err(|error| error.to_string())?;
                    state.plan = (self.plan_validator)(&changed_plan)?;
                }
                if let Some(node_id) =
                    alternative_node.as_ref().filter(|node_id| state.plan.node(node_id).is_none())
                {
                    return Err(format!("the plan has no node `{node_id}` to take its place"));
                }
                Ok(Some(AttemptSeries {
                    attempt_count: attempts,
                    pause: delay,
                    pauses_before_first: true,
                    alternative_node_id: alternative_node,
                }))
            }
            Some(RecoveryAction::Skip) => {
                state.progress.skipped.push(self.node_id.clone());
                state.record_output(&self.node_id, json!({}));
                Ok(None)
            }
            Some(RecoveryAction::Abort) => {
                let reason = format!("`{}` failed: {}", self.node_id, self.last_failure_reason(&state));
                state.early_end = Some(EarlyEnd::Stopped(RunStatus::Aborted, reason.clone()));
                Err(reason)
            }
            Some(RecoveryAction::Replan(payload)) => {
                let plan = state.plan.with_changes(&payload).map_err(|error| error.to_string())?;
                let plan = (self.plan_validator)(&plan)?;
                check_node_kinds(&plan, &self.run_settings).map_err(|error| error.to_string())?;
                let preserved = payload["preserve_nodes"].as_array();
                let RunState { plan: before, progress, .. } = &mut *state;
                progress.outputs.retain(|id, _| {
                    let is_unchanged = plan
                        .node(id)
                        .zip(before.node(id))
                        .is_some_and(|(a, b)| a.kind == b.kind && a.config == b.config);
                    is_unchanged
                        && preserved.is_none_or(|ids| ids.iter().any(|preserved_id| preserved_id == id))
                });
                progress.skipped.retain(|id| progress.outputs.contains_key(id));
                progress.unreached.clear();
                *before = plan;
                state.early_end = Some(EarlyEnd::Replanned);
                Err("the run goes on by another plan".to_owned())
            }
        }
    }

    fn last_failure_reason(&self, state: &RunState) -> String {
        state.progress.failures.get(&self.node_id).map_or_else(String::new, |(_, last)| last.clone())
    }

    /// Attempts to run the node until an attempt succeeds, no attempts are left, or the run has
    /// ended. Returns true if an attempt succeeded.
    async fn make_attempts(&self, attempts: &AttemptSeries, input: &Json) -> bool {
        for attempt in 0..attempts.attempt_count {
            if attempt > 0 || attempts.pauses_before_first {
                sleep(attempts.pause).await;
            }
            // The failure of another node may have ended the run in the meantime.
            if self.plan_run.lock_state().early_end.is_some() {
                return false;
            }
            match self.make_reported_attempt(attempts.alternative_node_id.as_deref(), input).await {
                Ok(()) => {
                    if let Some(saving) = &self.run_settings.save_callback {
                        let saved = self.plan_run.to_json();
                        // The callback is user code, and its panics must not end the run.
                        let _ = task::catch_panic(|| saving(&saved));
                    }
                    return true;
                }
                Err(reason) => self.plan_run.lock_state().record_failure(&self.node_id, reason),
            }
        }
        false
    }

    /// Makes one attempt to run the node, or `alternative_node` in its place. Passes the duration
    /// and the error of the attempt to the program's callback.
    async fn make_reported_attempt(
        &self,
        alternative_node: Option<&str>,
        input: &Json,
    ) -> Result<(), String> {
        let began = Instant::now();
        let result = self.make_attempt(alternative_node, input).await;
        if let Some(on_attempt) = &self.run_settings.attempt_callback {
            let id = alternative_node.unwrap_or(&self.node_id);
            let kind = self.plan_run.lock_state().plan.node(id).map(|node| node.kind.clone());
            let attempt = Attempt {
                node_id: self.node_id.clone(),
                kind: kind.unwrap_or_default(),
                milliseconds: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
                error: result.as_ref().err().cloned(),
            };
            // The callback is user code, and its panics must not end the run.
            let _ = task::catch_panic(|| on_attempt(&attempt));
        }
        result
    }

    async fn make_attempt(&self, alternative_node: Option<&str>, input: &Json) -> Result<(), String> {
        let (node, limit) = {
            let state = self.plan_run.lock_state();
            let id = alternative_node.unwrap_or(&self.node_id);
            let node = state.plan.node(id).cloned().ok_or_else(|| format!("the plan has no node `{id}`"))?;
            let limit = node.time_limit().unwrap_or(self.run_settings.node_time_limit);
            let remaining = state.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if remaining.is_some_and(|remaining| remaining.is_zero()) {
                return Err("the time for the whole plan is over".to_owned());
            }
            (node, remaining.map_or(limit, |remaining| limit.min(remaining)))
        };
        let output = match self.node_work(&node.kind)? {
            NodeWork::Processor(factory) => self.call_processor(factory, &node, input, limit).await?,
            NodeWork::Condition => {
                self.count_attempt()?;
                evaluate_condition(&self.plan_run.lock_state(), &node, input)?
            }
            NodeWork::Loop { max_rounds } => self.run_rounds(&node, input, *max_rounds, limit).await?,
        };
        let mut state = self.plan_run.lock_state();
        // The output belongs to the replaced plan. The node runs again under the new plan.
        if matches!(state.early_end, Some(EarlyEnd::Replanned)) {
            return Ok(());
        }
        let output = state.apply_output_mapping(&node, output)?;
        self.check_output_size(&output)?;
        state.record_output(&self.node_id, output);
        Ok(())
    }

    /// Creates the processor of a node and runs it once, after the placeholders of the node are
    /// filled. Returns the processor's output, or the reason why the attempt failed.
    async fn call_processor(
        &self,
        factory: &ProcessorFactory,
        node: &PlanNode,
        input: &Json,
        limit: Duration,
    ) -> Result<Json, String> {
        self.count_attempt()?;
        let (filled_node, node_input) =
            self.plan_run.lock_state().fill_placeholders(node, input, &self.run_settings)?;
        let processor = task::catch_panic(|| factory(&filled_node))?.map_err(|error| error.to_string())?;
        self.run_settings.usage.count_attempt(&node.kind);
        let call = Call::new(self.node_id.as_str().into());
        let result =
            task::run_with_limit(Some(limit), async move { processor.process(&call, node_input).await })
                .await;
        let output = result.map_err(|broken| broken.to_string())?;
        self.run_settings.usage.add_cost(&output);
        self.check_output_size(&output)?;
        Ok(output)
    }

    /// Runs the body of a loop once per round. Each round counts as one attempt. Placeholders in
    /// the body may refer to the round's `item` and `index`, and to `last`, the output of the round
    /// before. Returns an object with the number of rounds and the outputs. An error if the loop
    /// would continue after `max_rounds` rounds, or takes longer than `limit`.
    async fn run_rounds(
        &self,
        node: &PlanNode,
        input: &Json,
        max_rounds: u64,
        limit: Duration,
    ) -> Result<Json, String> {
        let deadline = Instant::now() + limit;
        let (filled_node, input) = {
            let state = self.plan_run.lock_state();
            state.fill_placeholders(&without_control_fields(node), input, &self.run_settings)?
        };
        let settings = LoopSettings::read(node, &filled_node.config)?;
        let NodeWork::Processor(factory) = self.node_work(&settings.body.kind)? else {
            return Err(format!("a loop cannot repeat a node of type `{}`", settings.body.kind));
        };
        let rounds = settings.rounds_within(max_rounds)?;
        let mut results: Vec<Json> = Vec::new();
        for index in 0..rounds {
            if index == max_rounds {
                return Err(format!(
                    "the loop still goes on after {max_rounds} rounds, and no more are allowed"
                ));
            }
            if self.plan_run.lock_state().early_end.is_some() {
                return Err(RUN_ENDED_ERROR.to_owned());
            }
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Err(format!("the loop took longer than {limit:?}, at round {index}"));
            }
            let round_input = settings.round_input(&input, index, results.last());
            let body_limit = settings.body.time_limit().map_or(remaining, |own| own.min(remaining));
            let called = self.call_processor(factory, &settings.body, &round_input, body_limit).await;
            let output = called.map_err(|error| format!("round {index}: {error}"))?;
            let continues = settings.should_continue(&self.plan_run.lock_state(), &round_input, &output);
            results.push(output);
            if !continues {
                break;
            }
        }
        Ok(json!({"rounds": results.len(), "last": results.last(), "results": results}))
    }

    /// Returns how nodes of the type `kind` run. Returns an error if the type is not registered.
    fn node_work(&self, kind: &str) -> Result<&NodeWork, String> {
        let work = self.run_settings.work_by_node_kind.get(kind);
        work.ok_or_else(|| unknown_kind_error(kind, &self.node_id, &self.run_settings).to_string())
    }

    /// Counts one attempt to run a node, or one round of a loop. Returns an error if the run has
    /// already made all allowed attempts.
    fn count_attempt(&self) -> Result<(), String> {
        let mut state = self.plan_run.lock_state();
        let limit = self.run_settings.max_steps;
        if state.attempt_count >= limit {
            return Err(format!("the run has taken {limit} steps, and no more are allowed"));
        }
        state.attempt_count += 1;
        Ok(())
    }

    fn check_output_size(&self, output: &Json) -> Result<(), String> {
        let (size, limit) = (json_size(output), self.run_settings.max_output_bytes);
        match size <= limit {
            true => Ok(()),
            false => {
                Err(format!("its output has {size} bytes, and the limit is {limit}; let it return less"))
            }
        }
    }

    /// Requests a recovery decision: how to continue after the node's failure. If the rules reject
    /// the decision, records another failure and returns `None`. If there is no decision, or no
    /// more may be requested, ends the run and returns the reason as an error.
    async fn request_recovery(&self) -> Result<Option<RecoveryAction>, String> {
        let _one_at_a_time = self.plan_run.recovery_lock.lock().await;
        let failure = {
            let mut state = self.plan_run.lock_state();
            if state.early_end.is_some() {
                return Err(RUN_ENDED_ERROR.to_owned());
            }
            state.recovery_request_count += 1;
            if state.recovery_request_count > self.run_settings.max_recovery_requests {
                let reason = format!(
                    "`{}` failed and {} recoveries were not enough: {}",
                    self.node_id,
                    self.run_settings.max_recovery_requests,
                    self.last_failure_reason(&state)
                );
                state.early_end = Some(EarlyEnd::Stopped(RunStatus::Failed, reason.clone()));
                return Err(reason);
            }
            state.progress.node_failure(&self.plan_run.workflow_id, &self.node_id)
        };
        match (self.recovery_fn)(failure).await {
            Ok(RecoveryAnswer::Accepted(recovery)) => Ok(Some(recovery)),
            Ok(RecoveryAnswer::Rejected(feedback)) => {
                self.plan_run.lock_state().record_failure(&self.node_id, feedback);
                Ok(None)
            }
            Ok(RecoveryAnswer::None) | Err(_) => {
                let mut state = self.plan_run.lock_state();
                let reason = format!("`{}` failed: {}", self.node_id, self.last_failure_reason(&state));
                state.early_end.get_or_insert_with(|| EarlyEnd::Stopped(RunStatus::Failed, reason.clone()));
                Err(reason)
            }
        }
    }
}
