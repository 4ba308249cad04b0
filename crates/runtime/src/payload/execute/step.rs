//! Runs one node of a plan: its attempts, and the recovery from its failures.

use super::super::plan::{PlanNode, RecoveryAction};
use super::{EarlyEnd, PlanRun, PlanValidator, RecoveryFn, RunSettings, RunState, RunStatus, check_kinds};
use crate::task;
use crate::workflow::{BoxFuture, Call, ProcessResult, Processor};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// One node of a plan within a run: the processor that the workflow calls for this node.
pub(super) struct PlanStep {
    pub id: String,
    pub run: Arc<PlanRun>,
    pub crew: Arc<RunSettings>,
    pub ask: RecoveryFn,
    pub judged: PlanValidator,
}

impl Processor for PlanStep {
    fn process<'a>(&'a self, _: &'a Call, _: Json) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move { self.run_step().await.map(|()| Json::Null).map_err(Into::into) })
    }
}

/// The error of a node that would start or continue after the run has ended.
const RUN_ENDED_ERROR: &str = "the run has ended";

/// A series of attempts to run a node: their number, and the pause between them. The plan
/// determines the first series; each recovery decision determines another series.
struct AttemptPlan {
    count: u64,
    pause: Duration,
    /// Whether the pause also precedes the first attempt.
    paused: bool,
    instead: Option<String>,
}

impl PlanStep {
    async fn run_step(&self) -> Result<(), String> {
        let Some(input) = self.take_input()? else { return Ok(()) };
        let mut order = {
            let mut state = self.run.lock_state();
            let mine = state.order.take_if(|(node, _)| *node == self.id);
            mine.map(|(_, recovery)| recovery)
        };
        loop {
            let attempts = match self.apply_recovery(order.take()) {
                Ok(Some(attempts)) => Some(attempts),
                Ok(None) => return Ok(()),
                // The recovery cannot be executed, which counts as another failure.
                Err(why) if self.run.lock_state().ended.is_none() => {
                    self.run.lock_state().record_failure(&self.id, why);
                    None
                }
                Err(why) => return Err(why),
            };
            if let Some(attempts) = attempts
                && self.make_attempts(&attempts, &input).await
            {
                return Ok(());
            }
            order = Some(self.request_recovery().await?);
        }
    }

    /// Returns the node's input. `None` if the node need not run: either the node already has an
    /// output, or no edge to the node is taken.
    fn take_input(&self) -> Result<Option<Json>, String> {
        let mut state = self.run.lock_state();
        if state.ended.is_some() {
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

    /// Applies a recovery decision to the run. If there is no decision, the plan's retry settings
    /// apply. Returns the attempts to make at the node; `None` if the node is skipped.
    fn apply_recovery(&self, order: Option<RecoveryAction>) -> Result<Option<AttemptPlan>, String> {
        let mut state = self.run.lock_state();
        if state.ended.is_some() {
            return Err(RUN_ENDED_ERROR.to_owned());
        }
        match order {
            None => {
                let (retries, pause) =
                    state.plan.node(&self.id).map_or((0, Duration::ZERO), PlanNode::retries);
                Ok(Some(AttemptPlan { count: retries + 1, pause, paused: false, instead: None }))
            }
            Some(RecoveryAction::Retry { attempts, delay, changes, instead }) => {
                if !changes.is_empty() {
                    let mut changed = state.plan.clone();
                    changed.change_node(&self.id, &changes).map_err(|error| error.to_string())?;
                    state.plan = (self.judged)(&changed)?;
                }
                if let Some(other) = instead.as_ref().filter(|other| state.plan.node(other).is_none()) {
                    return Err(format!("the plan has no node `{other}` to take its place"));
                }
                Ok(Some(AttemptPlan { count: attempts, pause: delay, paused: true, instead }))
            }
            Some(RecoveryAction::Skip) => {
                state.progress.skipped.push(self.id.clone());
                state.record_output(&self.id, json!({}));
                Ok(None)
            }
            Some(RecoveryAction::Abort) => {
                let why = format!("`{}` failed: {}", self.id, self.last_failure(&state));
                state.ended = Some(EarlyEnd::Stopped(RunStatus::Aborted, why.clone()));
                Err(why)
            }
            Some(RecoveryAction::Replan(payload)) => {
                let plan = state.plan.with_changes(&payload).map_err(|error| error.to_string())?;
                let plan = (self.judged)(&plan)?;
                check_kinds(&plan, &self.crew).map_err(|error| error.to_string())?;
                let preserved = payload["preserve_nodes"].as_array();
                let RunState { plan: before, progress, .. } = &mut *state;
                progress.outputs.retain(|id, _| {
                    let same = plan
                        .node(id)
                        .zip(before.node(id))
                        .is_some_and(|(a, b)| a.kind == b.kind && a.config == b.config);
                    same && preserved.is_none_or(|ids| ids.iter().any(|known| known == id))
                });
                progress.skipped.retain(|id| progress.outputs.contains_key(id));
                progress.unreached.clear();
                *before = plan;
                state.ended = Some(EarlyEnd::Replanned);
                Err("the run goes on by another plan".to_owned())
            }
        }
    }

    fn last_failure(&self, state: &RunState) -> String {
        state.progress.failures.get(&self.id).map_or_else(String::new, |(_, last)| last.clone())
    }

    /// Attempts the node until an attempt succeeds, the attempts are used up, or the run has ended.
    /// Returns true if an attempt succeeded.
    async fn make_attempts(&self, attempts: &AttemptPlan, input: &Json) -> bool {
        for attempt in 0..attempts.count {
            if attempt > 0 || attempts.paused {
                sleep(attempts.pause).await;
            }
            // The failure of another node may have ended the run in the meantime.
            if self.run.lock_state().ended.is_some() {
                return false;
            }
            match self.make_attempt(attempts.instead.as_deref(), input).await {
                Ok(()) => {
                    if let Some(saving) = &self.crew.saving {
                        let saved = self.run.to_json();
                        // The callback is user code, and its panics must not end the run.
                        let _ = task::catch_panic(|| saving(&saved));
                    }
                    return true;
                }
                Err(why) => self.run.lock_state().record_failure(&self.id, why),
            }
        }
        false
    }

    async fn make_attempt(&self, instead: Option<&str>, input: &Json) -> Result<(), String> {
        let (node, made, given, limit) = {
            let state = self.run.lock_state();
            let id = instead.unwrap_or(&self.id);
            let node = state.plan.node(id).cloned().ok_or_else(|| format!("the plan has no node `{id}`"))?;
            let (made, given) = state.fill_placeholders(&node, input, &self.crew)?;
            let limit = node.time_limit().unwrap_or(self.crew.node_limit);
            let left = state.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err("the time for the whole plan is over".to_owned());
            }
            (node, made, given, left.map_or(limit, |left| limit.min(left)))
        };
        let factory =
            self.crew.kinds.get(&node.kind).ok_or_else(|| format!("nobody works on `{}`", node.kind))?;
        let processor = task::catch_panic(|| factory(&made))?.map_err(|error| error.to_string())?;
        let call = Call::new(self.id.as_str().into());
        let ended =
            task::run_with_limit(Some(limit), async move { processor.process(&call, given).await }).await;
        let output = ended.map_err(|broken| broken.to_string())?;
        let mut state = self.run.lock_state();
        // The output belongs to the replaced plan: the node runs again under the new one.
        if matches!(state.ended, Some(EarlyEnd::Replanned)) {
            return Ok(());
        }
        let output = state.map_output(&node, output)?;
        state.record_output(&self.id, output);
        Ok(())
    }

    /// Requests a recovery for the node's failure. If there is no recovery, ends the run and
    /// returns the reason as an error.
    async fn request_recovery(&self) -> Result<RecoveryAction, String> {
        let _one_at_a_time = self.run.asking.lock().await;
        let failure = {
            let mut state = self.run.lock_state();
            if state.ended.is_some() {
                return Err(RUN_ENDED_ERROR.to_owned());
            }
            state.asked += 1;
            if state.asked > self.crew.recoveries {
                let why = format!(
                    "`{}` failed and {} recoveries were not enough: {}",
                    self.id,
                    self.crew.recoveries,
                    self.last_failure(&state)
                );
                state.ended = Some(EarlyEnd::Stopped(RunStatus::Failed, why.clone()));
                return Err(why);
            }
            state.progress.node_failure(&self.run.id, &self.id)
        };
        match (self.ask)(failure).await {
            Ok(Some(recovery)) => Ok(recovery),
            _ => {
                let mut state = self.run.lock_state();
                let why = format!("`{}` failed: {}", self.id, self.last_failure(&state));
                state.ended.get_or_insert_with(|| EarlyEnd::Stopped(RunStatus::Failed, why.clone()));
                Err(why)
            }
        }
    }
}
