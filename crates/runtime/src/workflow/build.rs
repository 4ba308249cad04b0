//! Builds a runnable workflow from nodes, processors and routers, and checks its graph.

use super::merge::{FirstValues, MergeStrategy};
use super::node::{Node, NodeId};
use super::plan::{ExecutionPlan, PlanStep};
use super::processor::{ProcessError, Processor};
use super::router::ConditionalRouter;
use rulec_base::diag::{Message, join_lines};
use rulec_base::message;
use rulec_lang::graph::{self, Finding, FindingKind, Severity, Target, Vertex};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Default maximum number of processor calls in one run of a workflow. The limit ends loops that
/// never exit.
pub(crate) const DEFAULT_STEP_LIMIT: usize = 10_000;

/// Default limit for one input or output of a node, in bytes of JSON. The limit is far above the
/// text that a language model can read, and small compared with a server's memory.
pub(crate) const DEFAULT_BYTE_LIMIT: usize = 16 << 20;

type ProcessorFactory = Box<dyn Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync>;

/// A workflow that is ready to run. Cheap to clone. One workflow can run many times, also
/// concurrently.
#[derive(Clone)]
pub struct Workflow {
    pub(super) plan: Arc<ExecutionPlan>,
    findings: Arc<[Finding]>,
}

impl Workflow {
    /// Starts building a workflow whose first node is `start`.
    pub fn builder(start: impl Into<NodeId>) -> WorkflowBuilder {
        WorkflowBuilder {
            start: start.into(),
            nodes: Vec::new(),
            factories: HashMap::new(),
            processors: HashMap::new(),
            routers: HashMap::new(),
            merge_strategy: Arc::new(FirstValues),
            node_merge_strategies: HashMap::new(),
            step_limit: DEFAULT_STEP_LIMIT,
            byte_limit: DEFAULT_BYTE_LIMIT,
            passthrough_fields: Vec::new(),
            runs_when_ready: false,
        }
    }

    /// Returns the warnings that the check of the workflow's graph found. If the workflow was built
    /// by [`build_unchecked`](WorkflowBuilder::build_unchecked), the list includes errors too.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl fmt::Debug for Workflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.plan.steps.iter().map(|step| (&step.id, &step.next))).finish()
    }
}

/// The nodes, processors, routers and limits from which a [`Workflow`] is built.
pub struct WorkflowBuilder {
    start: NodeId,
    nodes: Vec<Node>,
    factories: HashMap<String, ProcessorFactory>,
    processors: HashMap<NodeId, Arc<dyn Processor>>,
    routers: HashMap<NodeId, Arc<dyn ConditionalRouter>>,
    merge_strategy: Arc<dyn MergeStrategy>,
    /// Merge strategies of single nodes, set by [`WorkflowBuilder::merge_at`]. Such a strategy
    /// overrides the strategy of the whole workflow for its node.
    node_merge_strategies: HashMap<NodeId, Arc<dyn MergeStrategy>>,
    step_limit: usize,
    byte_limit: usize,
    passthrough_fields: Vec<String>,
    runs_when_ready: bool,
}

impl WorkflowBuilder {
    /// Adds a node to the workflow. The order of the calls is the order of the nodes.
    #[must_use]
    pub fn node(mut self, node: Node) -> Self {
        self.nodes.push(node);
        self
    }

    /// Adds several nodes to the workflow, in their order.
    #[must_use]
    pub fn nodes(mut self, nodes: impl IntoIterator<Item = Node>) -> Self {
        self.nodes.extend(nodes);
        self
    }

    /// Registers a node kind: a name, and the factory that creates the processor of a node of this
    /// kind. The factory is called once per node.
    #[must_use]
    pub fn kind(
        mut self,
        kind: impl Into<String>,
        factory: impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync + 'static,
    ) -> Self {
        self.factories.insert(kind.into(), Box::new(factory));
        self
    }

    /// Sets the processor of one node, which overrides the factory of its kind.
    #[must_use]
    pub fn processor(mut self, node: impl Into<NodeId>, processor: Arc<dyn Processor>) -> Self {
        self.processors.insert(node.into(), processor);
        self
    }

    /// Sets the router of a node, which selects the next nodes that receive the node's outputs.
    #[must_use]
    pub fn router(self, node: impl Into<NodeId>, router: impl ConditionalRouter + 'static) -> Self {
        self.shared_router(node, Arc::new(router))
    }

    /// Like [`WorkflowBuilder::router`], but for a router that several nodes share.
    #[must_use]
    pub fn shared_router(mut self, node: impl Into<NodeId>, router: Arc<dyn ConditionalRouter>) -> Self {
        self.routers.insert(node.into(), router);
        self
    }

    /// Sets how the inputs of a node with several incoming edges are merged. Default:
    /// [`FirstValues`].
    #[must_use]
    pub fn merge(mut self, strategy: impl MergeStrategy + 'static) -> Self {
        self.merge_strategy = Arc::new(strategy);
        self
    }

    /// Sets how the inputs of one node are merged, which overrides [`WorkflowBuilder::merge`].
    #[must_use]
    pub fn merge_at(mut self, node: impl Into<NodeId>, strategy: impl MergeStrategy + 'static) -> Self {
        self.node_merge_strategies.insert(node.into(), Arc::new(strategy));
        self
    }

    /// Names fields that every node passes on, for example a session id. If a node's output is an
    /// object without such a field, the field is copied from the node's input.
    #[must_use]
    pub fn passthrough(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.passthrough_fields.extend(keys.into_iter().map(Into::into));
        self
    }

    /// Sets the maximum number of processor calls in one run of the workflow, after which the run
    /// ends. Default: 10,000.
    #[must_use]
    pub fn step_limit(mut self, steps: usize) -> Self {
        self.step_limit = steps;
        self
    }

    /// Sets the maximum size of one output of a node and of one merged input, in bytes of JSON. A
    /// node that exceeds the limit fails. Default: 16 MiB.
    #[must_use]
    pub fn byte_limit(mut self, bytes: usize) -> Self {
        self.byte_limit = bytes;
        self
    }

    /// Makes every node run as soon as it is ready, concurrently with other nodes. With this
    /// setting, nodes finish in no fixed order.
    #[must_use]
    pub(crate) fn run_when_ready(mut self) -> Self {
        self.runs_when_ready = true;
        self
    }

    /// Builds the workflow and checks its graph.
    ///
    /// # Errors
    /// If the check of the graph finds errors. Warnings are no errors; [`Workflow::findings`]
    /// returns them.
    pub fn build(self) -> Result<Workflow, BuildError> {
        let workflow = self.assemble_plan()?;
        if workflow.findings().iter().any(|finding| finding.severity == Severity::Error) {
            return Err(BuildError { findings: workflow.findings().to_vec() });
        }
        Ok(workflow)
    }

    /// Builds the workflow even if the check of its graph finds errors.
    ///
    /// # Errors
    /// If the start node is missing, a node has no processor, or two nodes have the same name. Also
    /// if a processor, router or merge strategy is given for an unknown node.
    pub fn build_unchecked(self) -> Result<Workflow, BuildError> {
        self.assemble_plan()
    }

    fn assemble_plan(mut self) -> Result<Workflow, BuildError> {
        let mut findings = Vec::new();
        let mut steps: Vec<PlanStep> = Vec::with_capacity(self.nodes.len());
        let mut step_indices = HashMap::with_capacity(self.nodes.len());
        for node in std::mem::take(&mut self.nodes) {
            if step_indices.contains_key(&node.id) {
                let message = message!("there are two nodes `{}`", node.id);
                findings.push(Finding::new(FindingKind::DuplicateNode, vec![node.id], message));
                continue;
            }
            step_indices.insert(node.id.clone(), steps.len());
            // If a step cannot be built, later steps get wrong indices. The indices do not matter,
            // because the whole workflow is then not built.
            match self.build_step(node) {
                Ok(step) => steps.push(step),
                Err(finding) => findings.push(finding),
            }
        }
        let start = step_indices.get(&self.start).copied();
        if start.is_none() {
            let message = message!("the workflow starts at `{}`, which is not a node", self.start);
            findings.push(Finding::new(FindingKind::UnknownStart, vec![self.start.clone()], message));
        }
        let mut unknown_nodes: Vec<&NodeId> = self
            .processors
            .keys()
            .chain(self.routers.keys())
            .chain(self.node_merge_strategies.keys())
            .filter(|id| !step_indices.contains_key(*id))
            .collect();
        unknown_nodes.sort();
        unknown_nodes.dedup();
        findings.extend(unknown_nodes.into_iter().map(|id| {
            let message = message!("a processor, router or merge is given for `{id}`, which is not a node");
            Finding::new(FindingKind::UnknownNode, vec![id.clone()], message)
        }));
        let Some(start) = start.filter(|_| findings.is_empty()) else { return Err(BuildError { findings }) };
        let mut vertices: Vec<Vertex> = steps.iter().map(PlanStep::to_vertex).collect();
        graph::set_incoming_edges(&mut vertices, &step_indices);
        let findings = graph::check_graph(&vertices, &step_indices, start);
        let targets: Vec<Vec<usize>> =
            vertices.iter().map(|vertex| possible_targets(vertex, &step_indices)).collect();
        for (number, (step, vertex)) in steps.iter_mut().zip(vertices).enumerate() {
            step.incoming = vertex.incoming_sources;
            // Only a join merges inputs. For other nodes, no cycle is searched, because the
            // search may visit the whole graph.
            step.keeps_merged_input = step.incoming.len() > 1
                && step.merge_strategy.keeps_previous()
                && is_on_cycle(&targets, number);
        }
        let passthrough = self.passthrough_fields;
        let (step_limit, byte_limit) = (self.step_limit, self.byte_limit);
        let runs_when_ready = self.runs_when_ready;
        let plan = Arc::new(ExecutionPlan {
            steps,
            step_indices,
            start_index: start,
            step_limit,
            byte_limit,
            passthrough_fields: passthrough,
            runs_when_ready,
        });
        Ok(Workflow { plan, findings: findings.into() })
    }

    fn build_step(&self, node: Node) -> Result<PlanStep, Finding> {
        let id = &node.id;
        let no_processor = |message| Finding::new(FindingKind::NoProcessor, vec![id.clone()], message);
        let processor = match (node.parallel, self.processors.get(id), self.factories.get(&node.kind)) {
            (true, _, _) => None,
            (false, Some(processor), _) => Some(processor.clone()),
            (false, None, Some(factory)) => Some(factory(&node).map_err(|error| {
                let localized = error.downcast_ref::<Message>().cloned();
                let error = localized.unwrap_or_else(|| Message::verbatim(error.to_string()));
                no_processor(message!("the processor of `{id}` cannot be created: {error}"))
            })?),
            (false, None, None) => {
                let kind = &node.kind;
                return Err(no_processor(message!(
                    "`{id}` has no processor because its kind `{kind}` is not registered"
                )));
            }
        };
        Ok(PlanStep {
            builder_router: self.routers.get(&node.id).cloned(),
            merge_strategy: self.node_merge_strategies.get(&node.id).unwrap_or(&self.merge_strategy).clone(),
            id: node.id,
            kind: node.kind,
            next: node.next,
            processor,
            time_limit: node.time_limit_ms.map(Duration::from_millis),
            incoming: Vec::new(),
            keeps_merged_input: false,
        })
    }
}

/// Returns the indexes of the nodes that may receive an output of the node `vertex`. `step_indices`
/// has the index of each node. If the output itself may name the receivers, these are all nodes.
fn possible_targets(vertex: &Vertex, step_indices: &HashMap<NodeId, usize>) -> Vec<usize> {
    let routes = vertex.routes.iter().flat_map(|routes| &**routes);
    if routes.clone().flat_map(|route| &route.targets).any(|target| matches!(target, Target::Listed(_))) {
        // The output may name any node.
        return (0..step_indices.len()).collect();
    }
    let routed = routes.flat_map(|route| route.possible(&vertex.next));
    let targets: BTreeSet<NodeId> = vertex.next.iter().cloned().chain(routed).collect();
    targets.iter().filter_map(|target| step_indices.get(target).copied()).collect()
}

/// True if a path leads from the node with the index `number` back to this node. `targets` contains
/// for each node the indexes of the nodes that may receive its output.
fn is_on_cycle(targets: &[Vec<usize>], number: usize) -> bool {
    let (mut seen, mut pending) = (vec![false; targets.len()], targets[number].clone());
    while let Some(next) = pending.pop() {
        if next == number {
            return true;
        }
        if !std::mem::replace(&mut seen[next], true) {
            pending.extend(&targets[next]);
        }
    }
    false
}

/// The reason why a workflow cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct BuildError {
    findings: Vec<Finding>,
}

impl BuildError {
    /// Returns everything that the check of the workflow found, including warnings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the errors that prevent the building as one localized message, one per line.
    pub fn to_message(&self) -> Message {
        let errors = self.findings.iter().filter(|finding| finding.severity == Severity::Error);
        join_lines(&errors.map(Finding::to_message).collect::<Vec<_>>())
    }
}
