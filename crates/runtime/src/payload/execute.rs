//! Runs of plans. A plan becomes a [`Workflow`], whose nodes look at what the run has so far: a node that has put
//! out something hands it on as it is, so that a run goes on where it was left, also under a changed plan. A node
//! that fails asks what to do, and does it, before the workflow hears of it.

use super::NodeFailure;
use super::fill::Scope;
use super::plan::{Plan, PlanError, PlanNode, Progress, Recovery};
use crate::task::{self, Broken, Function};
use crate::workflow::{
    Arrival, BoxFuture, Call, FirstValues, MergeStrategy, Node, ProcessError, ProcessResult, Processor,
    Workflow,
};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Makes the processor of a node; asked for every attempt, with the placeholders of its config filled.
pub(super) type Factory = Arc<dyn Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync>;

/// Whatever runs of plans have in common: who does the work, and who is asked.
#[derive(Clone)]
pub(super) struct Crew {
    pub kinds: HashMap<String, Factory>,
    /// The values that placeholders may name.
    pub values: Map<String, Json>,
    /// The time for an attempt where the node sets none.
    pub node_limit: Duration,
    /// The failures that may be asked about in one run.
    pub recoveries: u64,
    /// Told of each run after each of its nodes.
    pub saving: Option<Arc<dyn Fn(&Json) + Send + Sync>>,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum RunStatus {
    /// Every node that was reached has put out something, or was skipped.
    Completed,
    /// A node failed, and nothing helped.
    Failed,
    /// A recovery ended it.
    Aborted,
}

impl RunStatus {
    /// As it is written in the context of judges.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Completed => "COMPLETED",
            RunStatus::Failed => "FAILED",
            RunStatus::Aborted => "ABORTED",
        }
    }
}

/// The report of a run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunReport {
    /// The workflow.
    pub workflow_id: String,
    /// The end of the run.
    pub status: RunStatus,
    /// Why it did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The output of each node that ran, and an empty object for each that was skipped.
    pub outputs: BTreeMap<String, Json>,
    /// How often each node has failed, those that recovered among them.
    pub failures: BTreeMap<String, u64>,
    /// The nodes that were skipped because they failed.
    pub skipped: Vec<String>,
    /// The nodes that no taken edge led to.
    pub unreached: Vec<String>,
}

/// Why a run stopped before its end.
#[derive(Clone, Debug)]
enum Ended {
    Stopped(RunStatus, String),
    Replanned,
}

/// A plan with its latest run. What happens to it survives whoever ran it.
pub(super) struct Run {
    pub id: String,
    state: Mutex<State>,
}

pub(super) struct State {
    pub plan: Plan,
    pub progress: Progress,
    ended: Option<Ended>,
    /// The failures that were asked about.
    asked: u64,
    /// What to do first about a node, decided outside of the run.
    pub order: Option<(String, Recovery)>,
    deadline: Option<Instant>,
}

/// Says what to do about a failure; none when nobody knows.
pub(super) type Ask = Function<NodeFailure, Option<Recovery>>;
/// Says whether a plan may be run; an error is the feedback.
pub(super) type Judged = Arc<dyn Fn(&Plan) -> Result<Plan, String> + Send + Sync>;

impl Run {
    pub fn new(id: String, plan: Plan, progress: Progress) -> Arc<Run> {
        let state = State { plan, progress, ended: None, asked: 0, order: None, deadline: None };
        Arc::new(Run { id, state: Mutex::new(state) })
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held but what leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins anew, with another input.
    pub fn restart(&self, input: Json) {
        self.state().progress = Progress { input, ..Progress::default() };
    }

    /// Everything there is to know, to go on with later.
    pub fn saved(&self) -> Json {
        let state = self.state();
        json!({"workflow_id": self.id, "plan": state.plan.payload(), "progress": state.progress})
    }

    /// Runs it to its end, from where it was left.
    pub async fn run(self: &Arc<Run>, crew: &Arc<Crew>, ask: &Ask, judged: &Judged) -> RunReport {
        {
            let mut state = self.state();
            (state.ended, state.asked) = (None, 0);
            state.deadline = state.plan.time_limit().map(|limit| Instant::now() + limit);
        }
        loop {
            let workflow = match self.workflow(crew, ask, judged) {
                Ok(workflow) => workflow,
                Err(PlanError(why)) => return self.report(RunStatus::Failed, Some(why)),
            };
            let report = workflow.run(Json::Null).await;
            let ended = self.state().ended.take();
            match ended {
                Some(Ended::Replanned) => {}
                Some(Ended::Stopped(status, why)) => return self.report(status, Some(why)),
                None => {
                    let first = report.failures.first().map(ToString::to_string);
                    let status = if first.is_some() { RunStatus::Failed } else { RunStatus::Completed };
                    return self.report(status, first);
                }
            }
        }
    }

    fn report(&self, status: RunStatus, reason: Option<String>) -> RunReport {
        let Progress { outputs, failures, skipped, unreached, .. } = self.state().progress.clone();
        let failures = failures.into_iter().map(|(node, (times, _))| (node, times)).collect();
        RunReport { workflow_id: self.id.clone(), status, reason, outputs, failures, skipped, unreached }
    }

    /// The plan as a workflow. Every edge delivers; a node itself sees which of its edges are taken.
    fn workflow(
        self: &Arc<Run>,
        crew: &Arc<Crew>,
        ask: &Ask,
        judged: &Judged,
    ) -> Result<Workflow, PlanError> {
        let state = self.state();
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
            .step_limit(plan.nodes.len() + 1);
        for node in &plan.nodes {
            let step = Step {
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
        builder.build().map_err(|error| PlanError(error.to_string()))
    }
}

/// Says which kinds of nodes nobody works on.
pub(super) fn check_kinds(plan: &Plan, crew: &Crew) -> Result<(), PlanError> {
    match plan.nodes.iter().find(|node| !crew.kinds.contains_key(&node.kind)) {
        None => Ok(()),
        Some(node) => {
            let mut known: Vec<&str> = crew.kinds.keys().map(String::as_str).collect();
            known.sort_unstable();
            let PlanNode { id, kind, .. } = node;
            let known = known.join(", ");
            Err(PlanError(format!(
                "nobody works on nodes of type `{kind}`, which `{id}` is; there are {known}"
            )))
        }
    }
}

impl State {
    /// The values of an edge's condition: the fields of its source's output, `output` for all of it, and each
    /// node's under its id.
    fn facts(&self, output: &Json) -> Json {
        let mut facts = output.as_object().cloned().unwrap_or_default();
        facts.insert("output".to_owned(), output.clone());
        facts
            .extend(self.progress.outputs.iter().map(|(id, output)| (id.clone(), json!({"output": output}))));
        Json::Object(facts)
    }

    /// What a node gets; none when no edge that leads to it is taken.
    fn input(&self, id: &str) -> Option<Json> {
        let mut arrivals: Vec<Arrival> = Vec::new();
        let mut edges = self.plan.edges.iter().filter(|edge| edge.to == id).peekable();
        if edges.peek().is_none() {
            return Some(self.progress.input.clone());
        }
        for edge in edges {
            let Some(output) = self.progress.outputs.get(&edge.from) else { continue };
            let holds = |condition: &rulec::condition::Condition| condition.holds(&self.facts(output));
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

    /// A node as its factory gets it, and its input.
    fn prepared(&self, node: &PlanNode, input: &Json, crew: &Crew) -> Result<(Node, Json), String> {
        let nothing = Map::new();
        let fields = input.as_object().unwrap_or(&nothing);
        let run = self.progress.input.as_object().unwrap_or(&nothing);
        let env = self.plan.values().unwrap_or(&nothing);
        let values = vec![fields, run, env, &crew.values];
        let ids: Vec<&str> = self.plan.nodes.iter().map(|node| node.id.as_str()).collect();
        let outputs = |id: &str| self.progress.outputs.get(id);
        let given = match &node.input_mapping {
            None => None,
            Some(mapping) => {
                let scope = Scope { outputs: &outputs, ids: ids.clone(), values: values.clone() };
                Some(scope.fill(mapping, "input_mapping")?)
            }
        };
        let values = given.as_ref().into_iter().chain(values).collect();
        let config = Scope { outputs: &outputs, ids, values }.fill(&node.config, "config")?;
        let made = Node::new(node.id.as_str(), node.kind.as_str()).config(Json::Object(config));
        Ok((made, given.map_or_else(|| input.clone(), Json::Object)))
    }

    /// The output with what `output_mapping` names; there `${output.x}` is the node's own.
    fn mapped(&self, node: &PlanNode, output: Json) -> Result<Json, String> {
        let Some(mapping) = &node.output_mapping else { return Ok(output) };
        let own = Map::from_iter([("output".to_owned(), output.clone())]);
        let ids = self.plan.nodes.iter().map(|node| node.id.as_str()).collect();
        let outputs = |id: &str| self.progress.outputs.get(id);
        let scope = Scope { outputs: &outputs, ids, values: vec![&own] };
        let named = scope.fill(mapping, "output_mapping")?;
        let mut fields = output.as_object().cloned().unwrap_or_default();
        fields.extend(named);
        Ok(Json::Object(fields))
    }

    fn failed(&mut self, node: &str, reason: String) {
        let (times, last) = self.progress.failures.entry(node.to_owned()).or_default();
        *times += 1;
        *last = reason;
    }

    fn done(&mut self, node: &str, output: Json) {
        self.progress.outputs.insert(node.to_owned(), output);
    }
}

/// A node of a plan within a run.
struct Step {
    id: String,
    run: Arc<Run>,
    crew: Arc<Crew>,
    ask: Ask,
    judged: Judged,
}

impl Processor for Step {
    fn process<'a>(&'a self, _: &'a Call, _: Json) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move { self.step().await.map(|()| Json::Null).map_err(Into::into) })
    }
}

/// The attempts at a node that follow from a decision, or from its plan at first.
struct Attempts {
    count: u64,
    pause: Duration,
    /// True when there is a pause before the first as well.
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
                // What was asked for cannot be done, which is one failure more.
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

    /// The node's input; none when there is nothing to do.
    fn begin(&self) -> Result<Option<Json>, String> {
        let mut state = self.run.state();
        if state.ended.is_some() {
            return Err("the run has ended".to_owned());
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

    /// Does what was decided; the attempts that follow from it, none when the node is done with.
    fn follow(&self, order: Option<Recovery>) -> Result<Option<Attempts>, String> {
        let mut state = self.run.state();
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

    /// Tries; true when it worked.
    async fn attempts(&self, attempts: &Attempts, input: &Json) -> bool {
        for attempt in 0..attempts.count {
            if attempt > 0 || attempts.paused {
                sleep(attempts.pause).await;
            }
            match self.attempt(attempts.instead.as_deref(), input).await {
                Ok(()) => {
                    if let Some(saving) = &self.crew.saving {
                        let saved = self.run.saved();
                        // Somebody else's code: what it does wrong costs no run.
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
        let output = ended.map_err(|broken| match broken {
            Broken::Failed(error) => error,
            Broken::TimedOut(limit) => format!("it took longer than {limit:?}"),
            Broken::Panicked(message) => format!("it panicked: {message}"),
        })?;
        let mut state = self.run.state();
        let output = state.mapped(&node, output)?;
        state.done(&self.id, output);
        Ok(())
    }

    /// Asks what to do about the failure.
    async fn asked(&self) -> Result<Recovery, String> {
        let failure = {
            let mut state = self.run.state();
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
                state.ended = Some(Ended::Stopped(RunStatus::Failed, why.clone()));
                Err(why)
            }
        }
    }
}
