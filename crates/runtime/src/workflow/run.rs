//! One run of a workflow: delivers outputs, merges the inputs of joins (nodes with several incoming
//! edges), and follows loop-backs (edges to an earlier node).
//!
//! By default, the run is sequential and depth first, with an explicit stack. If a delivery makes
//! its target ready, the target runs before the next delivery, and so do all nodes that become
//! ready as a result. Only the children of a parallel node run concurrently. In a workflow that was
//! built with `run_when_ready`, all ready nodes run concurrently instead. Each processor runs as
//! its own task, which is aborted if the run is dropped.

use super::build::Workflow;
use super::merge::Arrival;
use super::node::NodeId;
use super::plan::{ExecutionPlan, PlanStep};
use super::processor::{Call, Processor};
use super::report::{Delivery, Failure, FailureKind, NodeError, Report, Stall};
use super::rounds::RoundCounter;
use crate::task::{self, TaskFailure};
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rulec_lang::graph::join_names;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::Instrument;

impl Workflow {
    /// Runs the workflow on `input`, inside a tokio runtime. Failures are listed in the report.
    ///
    /// The future may be dropped at any time: running processors are aborted, and the workflow
    /// itself is unaffected.
    pub async fn run(&self, input: Value) -> Report {
        self.begin(input).to_end().await
    }

    /// Starts a run that proceeds node by node, so that it can be saved between nodes.
    /// ```
    /// # use rulec_runtime::workflow::{Node, SavedRun, Workflow, from_fn};
    /// # use serde_json::{Value, json};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let flow = Workflow::builder("a")
    /// #     .node(Node::new("a", "echo").next(["b"]))
    /// #     .node(Node::new("b", "echo"))
    /// #     .kind("echo", |_| Ok(from_fn(|input: Value| async move { Ok(input) })))
    /// #     .build()?;
    /// let mut run = flow.begin(json!({ "text": "hello" }));
    /// run.step().await;
    /// let kept = serde_json::to_string(&run.save())?;
    /// // … later, in another process:
    /// let saved: SavedRun = serde_json::from_str(&kept)?;
    /// let report = flow.resume(saved)?.to_end().await;
    /// assert_eq!(report.executed, ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(&self, input: Value) -> Run {
        let start = self.plan.start_step().map(|step| ReadyNode { node: step.id.clone(), input });
        let state = RunState { pending: start, ..RunState::default() };
        Run { plan: self.plan.clone(), state, memory: HashMap::new() }
    }
}

/// One run of a workflow, which proceeds node by node, so that it can be saved between two nodes.
pub struct Run {
    pub(super) plan: Arc<ExecutionPlan>,
    pub(super) state: RunState,
    pub(super) memory: HashMap<NodeId, Arc<Mutex<Value>>>,
}

/// The state of a workflow run between two nodes, except the processors' memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RunState {
    /// The node that runs next; `None` if no node is ready.
    pending: Option<ReadyNode>,
    /// The outputs that are not delivered to all their receivers yet. The last one in the list is
    /// delivered next.
    stack: Vec<PendingOutput>,
    /// The inputs that have arrived at nodes which still wait for other inputs.
    waiting: BTreeMap<NodeId, Vec<Arrival>>,
    /// By node, the input that was merged last, if the node's merge strategy needs it in the next
    /// round.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    merged: BTreeMap<NodeId, Value>,
    rounds: RoundCounter,
    /// Nodes that failed and should run again. Such nodes run when no other node is left to run.
    again: VecDeque<ReadyNode>,
    /// The nodes that failed after they had started, with their inputs. Each number is the index of
    /// the node's failure in the report.
    failed: Vec<(usize, ReadyNode)>,
    pub(super) report: Report,
}

impl RunState {
    /// Returns a copy of the state for [`Run::save_changes`]. The report in the copy lacks the
    /// first `executed` nodes that ran and the first `deliveries` deliveries, because an earlier
    /// save contains them.
    pub(super) fn state_since(&self, executed: usize, deliveries: usize) -> RunState {
        let RunState { pending, stack, waiting, merged, rounds, again, failed, report } = self;
        let Report { stalled, limit_hit, failures, outputs, .. } = report;
        let (executed, deliveries) = (report.executed.get(executed..), report.deliveries.get(deliveries..));
        RunState {
            pending: pending.clone(),
            stack: stack.clone(),
            waiting: waiting.clone(),
            merged: merged.clone(),
            rounds: rounds.clone(),
            again: again.clone(),
            failed: failed.clone(),
            report: Report {
                executed: executed.map_or_else(Vec::new, <[_]>::to_vec),
                deliveries: deliveries.map_or_else(Vec::new, <[_]>::to_vec),
                stalled: stalled.clone(),
                limit_hit: *limit_hit,
                failures: failures.clone(),
                outputs: outputs.clone(),
            },
        }
    }
}

/// A node whose inputs have arrived, and the merged input on which it will run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ReadyNode {
    node: NodeId,
    input: Value,
}

/// An output of a node, and the nodes to which it is not delivered yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PendingOutput {
    from: NodeId,
    targets: VecDeque<NodeId>,
    output: Value,
    loop_back: bool,
}

/// One delivery that must be made next: the output of the node `from` to the node `to`.
struct PendingDelivery {
    from: NodeId,
    to: NodeId,
    value: Value,
    loop_back: bool,
}

impl Run {
    /// Runs all remaining nodes and returns the report.
    pub async fn to_end(mut self) -> Report {
        let start = self.plan.start_step().map(|step| step.id.clone());
        let span = tracing::info_span!(target: "rulec::workflow", "workflow", start = start.as_deref());
        async move {
            match self.plan.runs_when_ready {
                true => self.run_ready_nodes().await,
                false => while self.step().await {},
            }
            self.finish()
        }
        .instrument(span)
        .await
    }

    /// Runs the next node, or the children of a parallel node. Then delivers outputs until another
    /// node is ready. Returns false if no node was left to run, or if an earlier step reached the
    /// step limit.
    ///
    /// If the future is dropped before it completes, the run must not be used any more: resume from
    /// a saved run.
    pub async fn step(&mut self) -> bool {
        let Some(ready_node) = self.next_ready_node() else { return false };
        let plan = self.plan.clone();
        let jobs = self.prepare_node_jobs(&plan, ready_node).await;
        let results = join_all(jobs.into_iter().map(NodeJob::run_job)).await;
        let outgoing: Vec<Option<PendingOutput>> =
            results.into_iter().map(|result| self.finish_job(&plan, result)).collect();
        self.state.stack.extend(outgoing.into_iter().rev().flatten());
        if self.state.pending.is_none() {
            self.state.pending = self.next_ready_node();
        }
        true
    }

    /// Runs all remaining nodes, each as soon as its inputs have arrived, concurrently with others.
    async fn run_ready_nodes(&mut self) {
        let plan = self.plan.clone();
        let mut running = FuturesUnordered::new();
        loop {
            while let Some(ready_node) = self.next_ready_node() {
                running.extend(
                    self.prepare_node_jobs(&plan, ready_node).await.into_iter().map(NodeJob::run_job),
                );
            }
            let Some(result) = running.next().await else { return };
            let outgoing = self.finish_job(&plan, result);
            self.state.stack.extend(outgoing);
        }
    }

    /// Delivers outputs until a node is ready, and returns the node. If no output is left, returns
    /// a failed node that should run again. `None` if no such node exists, or if the step limit is
    /// reached.
    fn next_ready_node(&mut self) -> Option<ReadyNode> {
        if self.state.report.limit_hit {
            return None;
        }
        if let Some(ready_node) = self.state.pending.take() {
            return Some(ready_node);
        }
        while let Some(delivery) = self.next_delivery() {
            if let Some(ready_node) = self.deliver(delivery) {
                return Some(ready_node);
            }
        }
        self.state.again.pop_front()
    }

    /// Returns the report of the run up to its current state.
    pub fn report(&self) -> &Report {
        &self.state.report
    }

    /// Returns the node that runs next; `None` if no node is left to run.
    pub fn next_node(&self) -> Option<&NodeId> {
        self.state.pending.as_ref().map(|ready| &ready.node)
    }

    /// Schedules the nodes that failed after they had started: they will run again on the same
    /// inputs. Removes their failures from the report. Returns the number of scheduled nodes.
    pub fn retry_failed(&mut self) -> usize {
        let RunState { pending, again, failed, report, .. } = &mut self.state;
        let count = failed.len();
        // Removes from the end, so that the indices of earlier failures stay valid.
        for (failure_index, ready_node) in std::mem::take(failed).into_iter().rev() {
            if failure_index < report.failures.len() {
                report.failures.remove(failure_index);
            }
            again.push_front(ready_node);
        }
        if pending.is_none() {
            *pending = again.pop_front();
        }
        count
    }

    /// Takes the next delivery from the stack of outputs; `None` if the stack is empty. An output
    /// is removed from the stack before its last delivery, so that a chain or a loop of nodes needs
    /// only one stack entry.
    fn next_delivery(&mut self) -> Option<PendingDelivery> {
        let mut outgoing = self.state.stack.pop()?;
        let to = outgoing.targets.pop_front()?;
        let loop_back = outgoing.loop_back;
        if outgoing.targets.is_empty() {
            return Some(PendingDelivery { from: outgoing.from, to, value: outgoing.output, loop_back });
        }
        let (from, value) = (outgoing.from.clone(), outgoing.output.clone());
        self.state.stack.push(outgoing);
        Some(PendingDelivery { from, to, value, loop_back })
    }

    /// Delivers an output to its target node. If the target then has all its inputs, returns the
    /// target with its merged input; otherwise `None`.
    fn deliver(&mut self, delivery: PendingDelivery) -> Option<ReadyNode> {
        let PendingDelivery { from, to, value, loop_back } = delivery;
        let plan = self.plan.clone();
        let arrival = Arrival { from: from.clone(), value };
        let target = plan.find_step(&to);
        let waiting = &mut self.state.waiting;
        let ready_inputs = match target {
            None => None,
            Some(_) if loop_back => {
                waiting.remove(&to);
                Some(vec![arrival])
            }
            Some(step) => {
                let arrived = waiting.entry(to.clone()).or_default();
                arrived.push(arrival);
                let is_complete = arrived.len() >= step.incoming.len();
                is_complete.then(|| waiting.remove(&to).unwrap_or_default())
            }
        };
        let ready = target.is_none() || ready_inputs.is_some();
        tracing::debug!(target: "rulec::workflow", %from, %to, ready, loop_back, "deliver");
        if target.is_none() {
            tracing::warn!(target: "rulec::workflow", %from, %to, "no such node");
        }
        self.state.report.deliveries.push(Delivery { from, to: to.clone(), ready, loop_back });
        let mut inputs = ready_inputs?;
        if inputs.len() == 1 {
            return inputs.pop().map(|only| ReadyNode { node: to, input: only.value });
        }
        let PlanStep { merge_strategy: merge, keeps_merged_input: keeps_merged, .. } = target?;
        let previous = self.state.merged.get(&to);
        let merged = catch_node_panic(|| match previous {
            Some(previous) => merge.merge_again(&to, inputs, previous),
            None => merge.merge(&to, inputs),
        });
        match merged.and_then(|input| plan.check_size(input, "merged input")) {
            Ok(input) => {
                if *keeps_merged {
                    self.state.merged.insert(to.clone(), input.clone());
                }
                Some(ReadyNode { node: to, input })
            }
            Err(error) => {
                self.record_failure(&to, error);
                None
            }
        }
    }

    /// Returns the processor calls to make for a node, or for the children of a parallel node.
    /// Returns none if the calls would exceed the step limit; the node then stays pending.
    async fn prepare_node_jobs(
        &mut self,
        plan: &ExecutionPlan,
        ReadyNode { node, input }: ReadyNode,
    ) -> Vec<NodeJob> {
        // Yields to other tasks during a long run of processors that never wait. The run can be
        // cancelled here.
        tokio::task::consume_budget().await;
        let Some(step) = plan.find_step(&node) else { return Vec::new() };
        let (executed, failures) = (self.state.report.executed.len(), self.state.report.failures.len());
        let steps = if step.is_parallel() { self.parallel_children(plan, step) } else { vec![step] };
        if steps.len() > plan.step_limit.saturating_sub(executed) {
            // A resumed run with a higher limit runs the pending node again and records these
            // failures again.
            self.state.report.failures.truncate(failures);
            self.state.report.limit_hit = true;
            self.state.pending = Some(ReadyNode { node, input });
            tracing::warn!(target: "rulec::workflow", limit = plan.step_limit, node = %step.id, "step limit reached");
            return Vec::new();
        }
        let input = Arc::new(input);
        steps.into_iter().filter_map(|step| self.prepare_job(step, &input)).collect()
    }

    /// Returns those children of a parallel node that can run. The other children are recorded as
    /// failures.
    fn parallel_children<'p>(&mut self, plan: &'p ExecutionPlan, parent: &PlanStep) -> Vec<&'p PlanStep> {
        let mut children = Vec::new();
        for child in &parent.next {
            match plan.find_step(child) {
                Some(step) if !step.is_parallel() => children.push(step),
                Some(_) => {
                    let message = format!("a parallel node directly under the parallel node `{}`", parent.id);
                    self.record_failure(child, (FailureKind::NestedParallel, message));
                }
                None => {
                    let message = format!("the parallel node `{}` has no such child", parent.id);
                    self.record_failure(child, (FailureKind::UnknownNode, message));
                }
            }
        }
        children
    }

    fn prepare_job(&mut self, step: &PlanStep, delivered_input: &Arc<Value>) -> Option<NodeJob> {
        let processor = step.processor.clone()?;
        let mut input = Value::clone(delivered_input);
        if let Some(field) = processor.round_field() {
            self.state.rounds.enter_node(&step.id, field, &mut input);
        }
        tracing::debug!(target: "rulec::workflow", node = %step.id, "run");
        self.state.report.executed.push(step.id.clone());
        let memory = self.memory.entry(step.id.clone()).or_default().clone();
        let call = Call { node: step.id.clone(), memory };
        Some(NodeJob {
            processor,
            processor_call: call,
            delivered_input: delivered_input.clone(),
            input,
            time_limit: step.time_limit,
        })
    }

    /// Handles the result of a processor call: selects the receivers of the output, or records the
    /// failure. Returns the output to deliver, if any.
    fn finish_job(
        &mut self,
        plan: &ExecutionPlan,
        JobResult { node, delivered_input, result }: JobResult,
    ) -> Option<PendingOutput> {
        let step = plan.find_step(&node)?;
        let routed = result.and_then(|mut output| {
            output = plan.check_size(output, "output")?;
            pass_through_fields(&plan.passthrough_fields, &delivered_input, &mut output);
            let Some(router) = step.router() else { return Ok((output, step.next.clone(), false)) };
            let (targets, loop_back) = catch_node_panic(|| {
                let route = router.route(&output, &step.next);
                (route.resolve(&step.next, &output), route.loopback)
            })?;
            Ok((output, targets, loop_back))
        });
        let (mut output, targets, loop_back) = match routed {
            Ok(routed) => routed,
            Err(error) => {
                let ready_node = ReadyNode { node, input: Arc::unwrap_or_clone(delivered_input) };
                self.state.failed.push((self.state.report.failures.len(), ready_node));
                self.record_failure(&step.id, error);
                return None;
            }
        };
        if let Some(field) = step.processor.as_ref().and_then(|processor| processor.round_field()) {
            self.state.rounds.leave_node(&step.id, field, &mut output, loop_back);
        }
        if targets.is_empty() {
            self.state.report.outputs.insert(step.id.clone(), output);
            return None;
        }
        Some(PendingOutput { from: step.id.clone(), targets: targets.into(), output, loop_back })
    }

    fn record_failure(&mut self, node: &NodeId, (kind, message): NodeError) {
        tracing::warn!(target: "rulec::workflow", %node, ?kind, %message, "failed");
        self.state.report.failures.push(Failure { node: node.clone(), kind, message });
    }

    /// Ends the run at its current state. Returns the report, which lists the nodes that still wait
    /// for inputs.
    pub fn finish(self) -> Report {
        let RunState { waiting, mut report, .. } = self.state;
        for (id, arrivals) in waiting {
            let Some(step) = self.plan.find_step(&id) else { continue };
            let received: Vec<NodeId> = arrivals.into_iter().map(|arrival| arrival.from).collect();
            let mut waiting_for = step.incoming.clone();
            for from in &received {
                if let Some(index) = waiting_for.iter().position(|id| id == from) {
                    waiting_for.remove(index);
                }
            }
            tracing::warn!(target: "rulec::workflow", node = %step.id, waiting_for = %join_names(&waiting_for), "stalled");
            report.stalled.push(Stall { node: step.id.clone(), received, waiting_for });
        }
        report.stalled.sort_by(|a, b| a.node.cmp(&b.node));
        report
    }
}

/// Copies the fields named by `keys` from a node's input to its output, if the output lacks them.
fn pass_through_fields(keys: &[String], input: &Value, output: &mut Value) {
    let Value::Object(fields) = output else { return };
    for key in keys {
        if let Some(value) = input.get(key).filter(|_| !fields.contains_key(key)) {
            fields.insert(key.clone(), value.clone());
        }
    }
}

/// A processor call that can start: the processor, its input and its time limit.
struct NodeJob {
    processor: Arc<dyn Processor>,
    processor_call: Call,
    /// The node's input as it was delivered, without the round number of the current loop.
    delivered_input: Arc<Value>,
    /// The node's input for the processor, with the round number of the current loop.
    input: Value,
    time_limit: Option<Duration>,
}

/// The result of a finished processor call, with the node and its input as delivered.
struct JobResult {
    node: NodeId,
    delivered_input: Arc<Value>,
    result: Result<Value, NodeError>,
}

impl NodeJob {
    async fn run_job(self) -> JobResult {
        let NodeJob { processor, processor_call, delivered_input, input, time_limit: limit } = self;
        let node = processor_call.node.clone();
        let outcome =
            task::run_with_limit(limit, async move { processor.process(&processor_call, input).await }).await;
        let result = outcome.map_err(|failure| match failure {
            TaskFailure::Failed(error) => (FailureKind::Error, error),
            TaskFailure::TimedOut(limit) => {
                let limit = limit.as_millis();
                (FailureKind::TimeLimit, format!("it took longer than its limit of {limit} ms"))
            }
            TaskFailure::Panicked(message) => (FailureKind::Panic, format!("panicked: {message}")),
        });
        JobResult { node, delivered_input, result }
    }
}

/// Calls a function of the embedding program for a node, and converts a panic to a failure of the
/// node.
fn catch_node_panic<T>(call: impl FnOnce() -> T) -> Result<T, NodeError> {
    task::catch_panic(call).map_err(|panic| (FailureKind::Panic, panic))
}
