//! Declared workflows: nodes, their successors, and the routers between them. Programs that run or
//! draw a workflow use these types; the engines that make decisions do not.

use super::{Destination, ExprKind, Outcome, Program, TableId};
use rulec_base::codec::impl_codec;
use rulec_base::span::Span;
use rulec_lang::graph::{Route, Target, Vertex};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// A declared workflow `workflow NAME { … }`, which starts at its first node.
#[derive(Clone, Debug)]
pub struct Workflow {
    pub name: Arc<str>,
    pub nodes: Vec<Node>,
    /// The fields that every node copies from its input to its output.
    pub passthrough: Vec<Arc<str>>,
    pub span: Span,
    pub docs: Arc<str>,
}

/// A node of a workflow: the processor that it runs, its settings, and the nodes that may run next.
#[derive(Clone, Debug)]
pub struct Node {
    pub id: Arc<str>,
    /// The name of the registered processor that runs the node. [`PARALLEL_KIND`] has no processor:
    /// the next nodes run in parallel.
    pub processor_kind: Arc<str>,
    pub config: Arc<Map<String, Json>>,
    /// The time limit of one run of the processor, in milliseconds; `None` means no limit.
    pub time_limit_ms: Option<u64>,
    /// How several inputs are merged into one; `None` for the default of the program that runs the
    /// workflow.
    pub merge: Option<Merge>,
    pub next_nodes: Vec<Arc<str>>,
    /// The router that selects among `next`; `None` if the node has no router.
    pub router: Option<TableId>,
    pub span: Span,
}

/// How the inputs of a node are merged where several edges meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// `merge first`: for each key, the value of the first input that has it. Also contains each
    /// whole input, under the keys `branch_0`, `branch_1` and so on.
    First,
    /// `merge latest`: for each key, the value of the last input that has it.
    Latest,
    /// `merge append`: for each key, the list of the values of all inputs.
    Append,
    /// `merge by node`: each whole input, under the id of the node whose output it is.
    ByNode,
}

/// The maximum size of a workflow, as [`Workflow::graph_size`] counts it. Larger workflows are
/// errors, because some checks take time quadratic in the size.
pub const MAX_GRAPH_SIZE: usize = 10_000;
/// The kind of nodes that run no processor and only start their next nodes in parallel.
pub const PARALLEL_KIND: &str = "parallel";

impl_codec!(struct Workflow { name, nodes, passthrough, span, docs });
impl_codec!(enum Merge { 0 First, 1 Latest, 2 Append, 3 ByNode });
impl_codec!(struct Node { id, processor_kind, config, time_limit_ms, merge, next_nodes, router, span });

impl Merge {
    /// All variants, each with the words that select it in rules.
    pub const NAMES: [(&str, Merge); 4] = [
        ("first", Merge::First),
        ("latest", Merge::Latest),
        ("append", Merge::Append),
        ("by node", Merge::ByNode),
    ];
}

impl Node {
    pub fn is_parallel(&self) -> bool {
        &*self.processor_kind == PARALLEL_KIND
    }
}

impl Workflow {
    /// Returns the size of the workflow, to compare with [`MAX_GRAPH_SIZE`]: an upper bound for the
    /// number of its nodes and edges. Each node adds 1 and the number of its next nodes.
    ///
    /// A node with a router adds more for each target in the router's rules: the number of its next
    /// nodes, because one target may select all of them, but at least 1.
    pub fn graph_size(&self, program: &Program) -> usize {
        let count_targets =
            |table: TableId| -> usize {
                let rules = program.tables[table.index()]
                    .evaluation_order
                    .iter()
                    .map(|id| &program.rules[id.index()].outcome);
                rules
                    .map(|outcome| {
                        if let Outcome::Next { destinations, .. } = outcome { destinations.len() } else { 0 }
                    })
                    .sum()
            };
        let mut target_counts: HashMap<TableId, usize> = HashMap::new();
        let sizes = self.nodes.iter().map(|node| {
            let router_targets = node
                .router
                .map_or(0, |table| *target_counts.entry(table).or_insert_with(|| count_targets(table)));
            1 + node.next_nodes.len() + router_targets.saturating_mul(node.next_nodes.len().max(1))
        });
        sizes.fold(0, usize::saturating_add)
    }

    /// Returns the workflow's nodes as the vertices of a graph.
    pub fn to_vertices(&self, program: &Program) -> Vec<Vertex> {
        // Cached, because many nodes may share a router.
        let mut routes_by_router: HashMap<TableId, Arc<[Route]>> = HashMap::new();
        let vertices = self.nodes.iter().map(|node| {
            let routes = node.router.map(|table| {
                routes_by_router.entry(table).or_insert_with(|| program.routes_of(table).into()).clone()
            });
            let next = node.next_nodes.iter().cloned().map(Into::into).collect();
            Vertex::new(node.id.clone().into(), next, node.is_parallel(), routes)
        });
        vertices.collect()
    }
}

impl Program {
    pub fn workflow_named(&self, name: &str) -> Option<&Workflow> {
        self.workflows.iter().find(|workflow| &*workflow.name == name)
    }

    /// Returns every outcome of a router (which nodes it may select next), in evaluation order.
    pub fn routes_of(&self, router: TableId) -> Vec<Route> {
        let rules = self.tables[router.index()].evaluation_order.iter().map(|id| &self.rules[id.index()]);
        rules
            .filter_map(|rule| match &rule.outcome {
                Outcome::Next { destinations, leads_back: loopback, .. } => {
                    let targets = destinations.iter().map(|destination| self.graph_target(destination));
                    Some(Route { targets: targets.collect(), loopback: *loopback })
                }
                _ => None,
            })
            .collect()
    }

    fn graph_target(&self, destination: &Destination) -> Target {
        match destination {
            Destination::All => Target::Every,
            Destination::At(index) => Target::Next(*index as usize),
            Destination::Node(id) => Target::Node((&**id).into()),
            Destination::Named(value) => Target::Listed(match self.value(*value).kind {
                ExprKind::Slot(slot) => {
                    self.slots[slot.index()].path.iter().skip(1).map(ToString::to_string).collect()
                }
                _ => Vec::new(),
            }),
        }
    }
}
