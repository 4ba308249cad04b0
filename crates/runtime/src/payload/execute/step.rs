//! Runs one node of a plan: its attempts, and the recovery from its failures.

use super::super::plan::{PlanNode, RecoveryAction};
use super::{EarlyEnd, PlanRun, PlanValidator, RecoveryFn, RunSettings, RunState, RunStatus, check_kinds};
use crate::task;
use crate::workflow::{BoxFuture, Call, ProcessResult, Processor};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// One node of a plan (a workflow that a language model writes), as the processor that the workflow
/// engine calls for the node.
pub(super) struct PlanStep {
    pub id: String,
    pub run: Arc<PlanRun>,
    pub run_settings: Arc<RunSettings>,
    pub recovery_fn: RecoveryFn,
    pub plan_validator: PlanValidator,
}

impl Processor for PlanStep {
    fn process<'a>(&'a self, _: &'a Call, _: Json) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move { self.run_step().await.map(|()| Json::Null).map_err(Into::into) })
    }
}

/// The error of a node that starts or continues although the run has ended.
const RUN_ENDED_ERROR: &str = "the run has ended";

/// A series of attempts to run a node: the number of attempts, and the pause between two attempts.
/// The plan determines the first series. After a failure, a recovery decision may determine another
/// series.
struct AttemptSeries {
    count: u64,
    pause: Duration,
    /// Whether the pause also precedes the first attempt.
    pauses_first: bool,
    alternative_node: Option<String>,
}

impl PlanStep {
    async fn run_step(&self) -> Result<(), String> {
        let Some(input) = self.take_input()? else { return Ok(()) };
        let mut pending_recovery = {
            let mut state = self.run.lock_state();
            let own_recovery = state.pending_recovery.take_if(|(node, _)| *node == self.id);
            own_recovery.map(|(_, recovery)| recovery)
        };
        loop {
            let attempts = match self.apply_recovery(pending_recovery.take()) {
                Ok(Some(attempts)) => Some(attempts),
                Ok(None) => return Ok(()),
                // The recovery cannot be executed, which counts as another failure.
                Err(reason) if self.run.lock_state().early_end.is_none() => {
                    self.run.lock_state().record_failure(&self.id, reason);
                    None
                }
                Err(reason) => return Err(reason),
            };
            if let Some(attempts) = attempts
                && self.make_attempts(&attempts, &input).await
            {
                return Ok(());
            }
            pending_recovery = Some(self.request_recovery().await?);
        }
    }

    /// Returns the node's input. `None` if the node need not run: either the node already has an
    /// output, or no edge to the node is taken.
    fn take_input(&self) -> Result<Option<Json>, String> {
        let mut state = self.run.lock_state();
        if state.early_end.is_some() {
            return Err(RUN_ENDED_ERROR.to_owned());
        }
        if state.progress.outputs.contains_key(&self.id) {
            return Ok(None);
        }
        state.progress.unreached.retain(|id| *id != self.id);
        let input = state.node_input(&self.id);
        if input.is_none() {
            state.progress.unreached.push(self.id.clone());
        }
        Ok(input)
    }

    /// Changes the run as a recovery decision requires. Without a decision, the plan's retry
    /// settings apply. Returns the attempts to make; `None` if the node is skipped.
    fn apply_recovery(&self, recovery: Option<RecoveryAction>) -> Result<Option<AttemptSeries>, String> {
        let mut state = self.run.lock_state();
        if state.early_end.is_some() {
            return Err(RUN_ENDED_ERROR.to_owned());
        }
        match recovery {
            None => {
                let (retries, pause) =
                    state.plan.node(&self.id).map_or((0, Duration::ZERO), PlanNode::retries);
                Ok(Some(AttemptSeries {
                    count: retries + 1,
                    pause,
                    pauses_first: false,
                    alternative_node: None,
                }))
            }
            Some(RecoveryAction::Retry { attempts, delay, changes, alternative_node }) => {
                if !changes.is_empty() {
                    let mut changed_plan = state.plan.clone();
                    changed_plan.change_node(&self.id, &changes).map_err(|error| error.to_string())?;
                    state.plan = (self.plan_validator)(&changed_plan)?;
                }
                if let Some(node_id) =
                    alternative_node.as_ref().filter(|node_id| state.plan.node(node_id).is_none())
                {
                    return Err(format!("the plan has no node `{node_id}` to take its place"));
                }
                Ok(Some(AttemptSeries {
                    count: attempts,
                    pause: delay,
                    pauses_first: true,
                    alternative_node,
                }))
            }
            Some(RecoveryAction::Skip) => {
                state.progress.skipped.push(self.id.clone());
                state.record_output(&self.id, json!({}));
                Ok(None)
            }
            Some(RecoveryAction::Abort) => {
                let reason = format!("`{}` failed: {}", self.id, self.last_failure(&state));
                state.early_end = Some(EarlyEnd::Stopped(RunStatus::Aborted, reason.clone()));
                Err(reason)
            }
            Some(RecoveryAction::Replan(payload)) => {
                let plan = state.plan.with_changes(&payload).map_err(|error| error.to_string())?;
                let plan = (self.plan_validator)(&plan)?;
                check_kinds(&plan, &self.run_settings).map_err(|error| error.to_string())?;
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

    fn last_failure(&self, state: &RunState) -> String {
        state.progress.failures.get(&self.id).map_or_else(String::new, |(_, last)| last.clone())
    }

    /// Attempts to run the node until an attempt succeeds, no attempts are left, or the run has
    /// ended. Returns true if an attempt succeeded.
    async fn make_attempts(&self, attempts: &AttemptSeries, input: &Json) -> bool {
        for attempt in 0..attempts.count {
            if attempt > 0 || attempts.pauses_first {
                sleep(attempts.pause).await;
            }
            // The failure of another node may have ended the run in the meantime.
            if self.run.lock_state().early_end.is_some() {
                return false;
            }
            match self.make_attempt(attempts.alternative_node.as_deref(), input).await {
                Ok(()) => {
                    if let Some(saving) = &self.run_settings.saving {
                        let saved = self.run.to_json();
                        // The callback is user code, and its panics must not end the run.
                        let _ = task::catch_panic(|| saving(&saved));
                    }
                    return true;
                }
                Err(reason) => self.run.lock_state().record_failure(&self.id, reason),
            }
        }
        false
    }

    async fn make_attempt(&self, alternative_node: Option<&str>, input: &Json) -> Result<(), String> {
        let (node, filled_node, node_input, limit) = {
            let state = self.run.lock_state();
            let id = alternative_node.unwrap_or(&self.id);
            let node = state.plan.node(id).cloned().ok_or_else(|| format!("the plan has no node `{id}`"))?;
            let (filled_node, node_input) = state.fill_placeholders(&node, input, &self.run_settings)?;
            let limit = node.time_limit().unwrap_or(self.run_settings.node_limit);
            let remaining = state.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if remaining.is_some_and(|remaining| remaining.is_zero()) {
                return Err("the time for the whole plan is over".to_owned());
            }
            (node, filled_node, node_input, remaining.map_or(limit, |remaining| limit.min(remaining)))
        };
        let factory = self
            .run_settings
            .kinds
            .get(&node.kind)
            .ok_or_else(|| format!("nobody works on `{}`", node.kind))?;
        let processor = task::catch_panic(|| factory(&filled_node))?.map_err(|error| error.to_string())?;
        self.run_settings.usage.count_attempt(&node.kind);
        let call = Call::new(self.id.as_str().into());
        let result =
            task::run_with_limit(Some(limit), async move { processor.process(&call, node_input).await })
                .await;
        let output = result.map_err(|broken| broken.to_string())?;
        self.run_settings.usage.count_cost(&output);
        let mut state = self.run.lock_state();
        // The output belongs to the replaced plan. The node runs again under the new plan.
        if matches!(state.early_end, Some(EarlyEnd::Replanned)) {
            return Ok(());
        }
        let output = state.map_output(&node, output)?;
        state.record_output(&self.id, output);
        Ok(())
    }

    /// Requests a recovery decision for the node's failure. If no decision is accepted, ends the
    /// run and returns the reason as an error.
    async fn request_recovery(&self) -> Result<RecoveryAction, String> {
        let _one_at_a_time = self.run.recovery_lock.lock().await;
        let failure = {
            let mut state = self.run.lock_state();
            if state.early_end.is_some() {
                return Err(RUN_ENDED_ERROR.to_owned());
            }
            state.recovery_requests += 1;
            if state.recovery_requests > self.run_settings.recoveries {
                let reason = format!(
                    "`{}` failed and {} recoveries were not enough: {}",
                    self.id,
                    self.run_settings.recoveries,
                    self.last_failure(&state)
                );
                state.early_end = Some(EarlyEnd::Stopped(RunStatus::Failed, reason.clone()));
                return Err(reason);
            }
            state.progress.node_failure(&self.run.id, &self.id)
        };
        match (self.recovery_fn)(failure).await {
            Ok(Some(recovery)) => Ok(recovery),
            _ => {
                let mut state = self.run.lock_state();
                let reason = format!("`{}` failed: {}", self.id, self.last_failure(&state));
                state.early_end.get_or_insert_with(|| EarlyEnd::Stopped(RunStatus::Failed, reason.clone()));
                Err(reason)
            }
        }
    }
}
