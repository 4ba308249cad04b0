//! Runs one node of a plan: its attempts, and the recovery from its failures.

use super::super::plan::{PlanNode, Recovery};
use super::{Ask, Ended, Judged, Run, RunSettings, RunStatus, State, check_kinds};
use crate::task;
use crate::workflow::{BoxFuture, Call, ProcessResult, Processor};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// One node of a plan within a run.
pub(super) struct Step {
    pub id: String,
    pub run: Arc<Run>,
    pub crew: Arc<RunSettings>,
    pub ask: Ask,
    pub judged: Judged,
}

impl Processor for Step {
    fn process<'a>(&'a self, _: &'a Call, _: Json) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move { self.step().await.map(|()| Json::Null).map_err(Into::into) })
    }
}

/// The error of a node that would start or continue after the run has ended.
const ENDED: &str = "the run has ended";

/// How often and with which pauses a node is attempted. The plan determines the first attempts;
/// recovery decisions determine the later ones.
struct Attempts {
    count: u64,
    pause: Duration,
    /// Whether there is a pause before the first attempt too.
    paused: bool,
    instead: Option<String>,
}

impl Step {
    async fn step(&self) -> Result<(), String> {
        let Some(input) = self.begin()? else { return Ok(()) };
        let mut order = {
            let mut state = self.run.state();
            let mine = state.order.take_if(|(node, _)| *node == self.id);
            mine.map(|(_, recovery)| recovery)
        };
        loop {
            let attempts = match self.follow(order.take()) {
                Ok(Some(attempts)) => Some(attempts),
                Ok(None) => return Ok(()),
                // The recovery cannot be executed, which counts as another failure.
                Err(why) if self.run.state().ended.is_none() => {
                    self.run.state().failed(&self.id, why);
                    None
                }
                Err(why) => return Err(why),
            };
            if let Some(attempts) = attempts
                && self.attempts(&attempts, &input).await
            {
                return Ok(());
            }
            order = Some(self.asked().await?);
        }
    }

    /// Returns the node's input. `None` if the node need not run: it has an output already, or no
    /// edge to it is taken.
    fn begin(&self) -> Result<Option<Json>, String> {
        let mut state = self.run.state();
        if state.ended.is_some() {
            return Err(ENDED.to_owned());
        }
        if state.progress.outputs.contains_key(&self.id) {
            return Ok(None);
        }
        state.progress.unreached.retain(|id| *id != self.id);
        let input = state.input(&self.id);
        if input.is_none() {
            state.progress.unreached.push(self.id.clone());
        }
        Ok(input)
    }

    /// Applies a recovery; without one, the plan's retry settings. Returns the attempts to make;
    /// `None` if the node is skipped.
    fn follow(&self, order: Option<Recovery>) -> Result<Option<Attempts>, String> {
        let mut state = self.run.state();
        if state.ended.is_some() {
            return Err(ENDED.to_owned());
        }
        match order {
            None => {
                let (retries, pause) =
                    state.plan.node(&self.id).map_or((0, Duration::ZERO), PlanNode::retries);
                Ok(Some(Attempts { count: retries + 1, pause, paused: false, instead: None }))
            }
            Some(Recovery::Retry { attempts, delay, changes, instead }) => {
                if !changes.is_empty() {
                    let mut changed = state.plan.clone();
                    changed.change(&self.id, &changes).map_err(|error| error.to_string())?;
                    state.plan = (self.judged)(&changed)?;
                }
                if let Some(other) = instead.as_ref().filter(|other| state.plan.node(other).is_none()) {
                    return Err(format!("the plan has no node `{other}` to take its place"));
                }
                Ok(Some(Attempts { count: attempts, pause: delay, paused: true, instead }))
            }
            Some(Recovery::Skip) => {
                state.progress.skipped.push(self.id.clone());
                state.done(&self.id, json!({}));
                Ok(None)
            }
            Some(Recovery::Abort) => {
                let why = format!("`{}` failed: {}", self.id, self.last(&state));
                state.ended = Some(Ended::Stopped(RunStatus::Aborted, why.clone()));
                Err(why)
            }
            Some(Recovery::Replan(payload)) => {
                let plan = state.plan.replanned(&payload).map_err(|error| error.to_string())?;
                let plan = (self.judged)(&plan)?;
                check_kinds(&plan, &self.crew).map_err(|error| error.to_string())?;
                let preserved = payload["preserve_nodes"].as_array();
                let State { plan: before, progress, .. } = &mut *state;
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
                state.ended = Some(Ended::Replanned);
                Err("the run goes on by another plan".to_owned())
            }
        }
    }

    fn last(&self, state: &State) -> String {
        state.progress.failures.get(&self.id).map_or_else(String::new, |(_, last)| last.clone())
    }

    /// Makes the attempts; true if one succeeded.
    async fn attempts(&self, attempts: &Attempts, input: &Json) -> bool {
        for attempt in 0..attempts.count {
            if attempt > 0 || attempts.paused {
                sleep(attempts.pause).await;
            }
            // The failure of another node may have ended the run in the meantime.
            if self.run.state().ended.is_some() {
                return false;
            }
            match self.attempt(attempts.instead.as_deref(), input).await {
                Ok(()) => {
                    if let Some(saving) = &self.crew.saving {
                        let saved = self.run.saved();
                        // The callback is user code, and its panics must not end the run.
                        let _ = task::caught(|| saving(&saved));
                    }
                    return true;
                }
                Err(why) => self.run.state().failed(&self.id, why),
            }
        }
        false
    }

    async fn attempt(&self, instead: Option<&str>, input: &Json) -> Result<(), String> {
        let (node, made, given, limit) = {
            let state = self.run.state();
            let id = instead.unwrap_or(&self.id);
            let node = state.plan.node(id).cloned().ok_or_else(|| format!("the plan has no node `{id}`"))?;
            let (made, given) = state.prepared(&node, input, &self.crew)?;
            let limit = node.time_limit().unwrap_or(self.crew.node_limit);
            let left = state.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err("the time for the whole plan is over".to_owned());
            }
            (node, made, given, left.map_or(limit, |left| limit.min(left)))
        };
        let factory =
            self.crew.kinds.get(&node.kind).ok_or_else(|| format!("nobody works on `{}`", node.kind))?;
        let processor = task::caught(|| factory(&made))?.map_err(|error| error.to_string())?;
        let call = Call::new(self.id.as_str().into());
        let ended = task::run(Some(limit), async move { processor.process(&call, given).await }).await;
        let output = ended.map_err(|broken| broken.to_string())?;
        let mut state = self.run.state();
        // The output belongs to the replaced plan: the node runs again under the new one.
        if matches!(state.ended, Some(Ended::Replanned)) {
            return Ok(());
        }
        let output = state.mapped(&node, output)?;
        state.done(&self.id, output);
        Ok(())
    }

    /// Requests a recovery for the node's failure.
    async fn asked(&self) -> Result<Recovery, String> {
        let _one_at_a_time = self.run.asking.lock().await;
        let failure = {
            let mut state = self.run.state();
            if state.ended.is_some() {
                return Err(ENDED.to_owned());
            }
            state.asked += 1;
            if state.asked > self.crew.recoveries {
                let why = format!(
                    "`{}` failed and {} recoveries were not enough: {}",
                    self.id,
                    self.crew.recoveries,
                    self.last(&state)
                );
                state.ended = Some(Ended::Stopped(RunStatus::Failed, why.clone()));
                return Err(why);
            }
            state.progress.failure(&self.run.id, &self.id)
        };
        match (self.ask)(failure).await {
            Ok(Some(recovery)) => Ok(recovery),
            _ => {
                let mut state = self.run.state();
                let why = format!("`{}` failed: {}", self.id, self.last(&state));
                state.ended.get_or_insert_with(|| Ended::Stopped(RunStatus::Failed, why.clone()));
                Err(why)
            }
        }
    }
}
