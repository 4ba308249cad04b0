//! One run of a workflow: deliveries, joins, loop-backs.
//!
//! Sequential and depth first, by an explicit stack: a delivery that makes its target ready runs it
//! and all its consequences before the next delivery. Only the children of a parallel node run side
//! by side. A processor runs as a task of its own; dropping the run ends it.

use super::build::Workflow;
use super::merge::Arrival;
use super::node::NodeId;
use super::plan::{Plan, Step};
use super::processor::{Call, Processor};
use super::report::{Delivery, Failure, FailureKind, Report, Stall, names};
use super::rounds::Rounds;
use crate::task::{self, Broken};
use futures_util::future::join_all;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::vec::IntoIter;
use tracing::{Instrument, debug, info_span, warn};

impl Workflow {
    /// Runs the workflow on an input, within a tokio runtime. What fails is in the report.
    ///
    /// The future may be dropped at any time: what was running ends, and the workflow is as it was.
    pub async fn run(&self, input: Value) -> Report {
        let plan = &*self.plan;
        let span = info_span!("workflow", start = plan.steps.get(plan.start).map(|step| step.id.as_str()));
        let run = Run {
            plan,
            stack: Vec::new(),
            waiting: BTreeMap::new(),
            memory: HashMap::new(),
            rounds: Rounds::default(),
            report: Report::default(),
        };
        run.all(input).instrument(span).await
    }
}

struct Run<'p> {
    plan: &'p Plan,
    stack: Vec<Outgoing>,
    waiting: BTreeMap<usize, Vec<Arrival>>,
    memory: HashMap<usize, Arc<Mutex<Value>>>,
    rounds: Rounds,
    report: Report,
}

struct Outgoing {
    from: NodeId,
    targets: IntoIter<NodeId>,
    output: Value,
    loop_back: bool,
}

struct Parcel {
    from: NodeId,
    to: NodeId,
    value: Value,
    loop_back: bool,
}

type NodeError = (FailureKind, String);

impl Run<'_> {
    async fn all(mut self, input: Value) -> Report {
        self.enter(self.plan.start, input).await;
        while !self.report.limit_hit {
            let Some(parcel) = self.next_parcel() else { break };
            if let Some((number, input)) = self.deliver(parcel) {
                self.enter(number, input).await;
            }
        }
        self.finish()
    }

    /// The next delivery. An output leaves the stack with its last target, so that a chain or a loop
    /// needs one place on it.
    fn next_parcel(&mut self) -> Option<Parcel> {
        let mut outgoing = self.stack.pop()?;
        let to = outgoing.targets.next()?;
        let loop_back = outgoing.loop_back;
        if outgoing.targets.as_slice().is_empty() {
            return Some(Parcel { from: outgoing.from, to, value: outgoing.output, loop_back });
        }
        let (from, value) = (outgoing.from.clone(), outgoing.output.clone());
        self.stack.push(outgoing);
        Some(Parcel { from, to, value, loop_back })
    }

    /// Hands a value over; the node to run now, with its input.
    fn deliver(&mut self, parcel: Parcel) -> Option<(usize, Value)> {
        let Parcel { from, to, value, loop_back } = parcel;
        let plan = self.plan;
        let arrival = Arrival { from: from.clone(), value };
        let target = plan.find(&to);
        let run = match target {
            None => None,
            Some((number, _)) if loop_back => {
                self.waiting.remove(&number);
                Some((number, vec![arrival]))
            }
            Some((number, step)) => {
                let arrived = self.waiting.entry(number).or_default();
                arrived.push(arrival);
                let full = arrived.len() >= step.incoming.len();
                full.then(|| (number, self.waiting.remove(&number).unwrap_or_default()))
            }
        };
        let ready = target.is_none() || run.is_some();
        debug!(%from, %to, ready, loop_back, "deliver");
        if target.is_none() {
            warn!(%from, %to, "no such node");
        }
        self.report.deliveries.push(Delivery { from, to, ready, loop_back });
        let (number, mut inputs) = run?;
        if inputs.len() == 1 {
            return inputs.pop().map(|only| (number, only.value));
        }
        let id = &plan.steps.get(number)?.id;
        match guarded(|| plan.merge.merge(id, inputs)) {
            Ok(merged) => Some((number, merged)),
            Err(error) => {
                self.fail(id, error);
                None
            }
        }
    }

    /// Runs a node, or the children of a parallel one, and puts their outputs on their way.
    async fn enter(&mut self, number: usize, input: Value) {
        // A long run of processors that never wait must let others have their turn, and can be
        // cancelled here.
        tokio::task::consume_budget().await;
        let Some(step) = self.plan.steps.get(number) else { return };
        let numbers = if step.is_parallel() { self.children(step) } else { vec![number] };
        if numbers.len() > self.plan.step_limit.saturating_sub(self.report.executed.len()) {
            self.report.limit_hit = true;
            warn!(limit = self.plan.step_limit, node = %step.id, "step limit reached");
            return;
        }
        let inputs = std::iter::repeat_n(input, numbers.len());
        let jobs: Vec<Job> =
            numbers.iter().zip(inputs).filter_map(|(number, input)| self.job(*number, input)).collect();
        let results = join_all(jobs.into_iter().map(Job::run)).await;
        let outgoing: Vec<Option<Outgoing>> =
            numbers.into_iter().zip(results).map(|(number, result)| self.settle(number, result)).collect();
        self.stack.extend(outgoing.into_iter().rev().flatten());
    }

    /// The children of a parallel node that can run; those that cannot have failed.
    fn children(&mut self, parent: &Step) -> Vec<usize> {
        let mut found = Vec::new();
        for child in &parent.next {
            match self.plan.find(child) {
                Some((number, step)) if !step.is_parallel() => found.push(number),
                Some(_) => {
                    let message = format!("a parallel node directly under the parallel node `{}`", parent.id);
                    self.fail(child, (FailureKind::NestedParallel, message));
                }
                None => {
                    let message = format!("the parallel node `{}` has no such child", parent.id);
                    self.fail(child, (FailureKind::UnknownNode, message));
                }
            }
        }
        found
    }

    fn job(&mut self, number: usize, mut input: Value) -> Option<Job> {
        let step = self.plan.steps.get(number)?;
        let processor = step.processor.clone()?;
        if let Some(field) = processor.round_field() {
            self.rounds.enter(number, field, &mut input);
        }
        debug!(node = %step.id, "run");
        self.report.executed.push(step.id.clone());
        let memory = self.memory.entry(number).or_default().clone();
        Some(Job { processor, call: Call { node: step.id.clone(), memory }, input, limit: step.time_limit })
    }

    fn settle(&mut self, number: usize, result: Result<Value, NodeError>) -> Option<Outgoing> {
        let step = self.plan.steps.get(number)?;
        let routed = result.and_then(|output| {
            let Some(router) = step.router() else { return Ok((output, step.next.clone(), false)) };
            let (targets, loop_back) = guarded(|| {
                let route = router.route(&output, &step.next);
                (route.resolve(&step.next, &output), route.loopback)
            })?;
            Ok((output, targets, loop_back))
        });
        let (mut output, targets, loop_back) = match routed {
            Ok(routed) => routed,
            Err(error) => {
                self.fail(&step.id, error);
                return None;
            }
        };
        if let Some(field) = step.processor.as_ref().and_then(|processor| processor.round_field()) {
            self.rounds.leave(number, field, &mut output, loop_back);
        }
        if targets.is_empty() {
            self.report.outputs.insert(step.id.clone(), output);
            return None;
        }
        Some(Outgoing { from: step.id.clone(), targets: targets.into_iter(), output, loop_back })
    }

    fn fail(&mut self, node: &NodeId, (kind, message): NodeError) {
        warn!(%node, ?kind, %message, "failed");
        self.report.failures.push(Failure { node: node.clone(), kind, message });
    }

    fn finish(mut self) -> Report {
        for (number, arrivals) in std::mem::take(&mut self.waiting) {
            let Some(step) = self.plan.steps.get(number) else { continue };
            let received: Vec<NodeId> = arrivals.into_iter().map(|arrival| arrival.from).collect();
            let mut waiting_for = step.incoming.clone();
            for from in &received {
                if let Some(place) = waiting_for.iter().position(|id| id == from) {
                    waiting_for.remove(place);
                }
            }
            warn!(node = %step.id, waiting_for = %names(&waiting_for), "stalled");
            self.report.stalled.push(Stall { node: step.id.clone(), received, waiting_for });
        }
        self.report.stalled.sort_by(|a, b| a.node.cmp(&b.node));
        self.report
    }
}

struct Job {
    processor: Arc<dyn Processor>,
    call: Call,
    input: Value,
    limit: Option<Duration>,
}

impl Job {
    async fn run(self) -> Result<Value, NodeError> {
        let Job { processor, call, input, limit } = self;
        let ended = task::run(limit, async move { processor.process(&call, input).await }).await;
        ended.map_err(|broken| match broken {
            Broken::Failed(error) => (FailureKind::Error, error),
            Broken::TimedOut(limit) => {
                let limit = limit.as_millis();
                (FailureKind::TimeLimit, format!("it took longer than its limit of {limit} ms"))
            }
            Broken::Panicked(message) => (FailureKind::Panic, format!("panicked: {message}")),
        })
    }
}

/// Calls code of the embedding program.
fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, NodeError> {
    task::caught(call).map_err(|panic| (FailureKind::Panic, panic))
}
