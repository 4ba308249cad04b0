//! Workflows as the rules declare them: nodes, what each leads to, and the routers between them. The engines know
//! nothing of them; whoever runs or draws one reads it here.

use super::{Destination, ExprKind, Outcome, Program, TableId};
use rulec_base::codec::impl_codec;
use rulec_base::span::Span;
use rulec_lang::graph::{Route, Target, Vertex};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// A `workflow NAME { … }`. It begins at its first node.
#[derive(Clone, Debug)]
pub struct Workflow {
    pub name: Arc<str>,
    pub nodes: Vec<Node>,
    /// The fields that every node hands on from its input to its output.
    pub passthrough: Vec<Arc<str>>,
    pub span: Span,
    pub docs: Arc<str>,
}

/// A node of a workflow.
#[derive(Clone, Debug)]
pub struct Node {
    pub id: Arc<str>,
    /// The name under which its processor is registered; [`PARALLEL`] runs the next nodes side by side.
    pub kind: Arc<str>,
    pub config: Arc<Map<String, Json>>,
    /// The longest one run of its processor may take, in milliseconds.
    pub time_limit: Option<u64>,
    pub next: Vec<Arc<str>>,
    /// The router that decides which of them an output goes to.
    pub router: Option<TableId>,
    pub span: Span,
}

/// The largest workflow that is checked, in nodes, next nodes and targets: some checks take time in proportion to the
/// square of it.
pub const MAX_GRAPH: usize = 10_000;
/// The kind of the nodes that have no processor.
pub const PARALLEL: &str = "parallel";

impl_codec!(struct Workflow { name, nodes, passthrough, span, docs });
impl_codec!(struct Node { id, kind, config, time_limit, next, router, span });

impl Node {
    pub fn is_parallel(&self) -> bool {
        &*self.kind == PARALLEL
    }
}

impl Workflow {
    /// The number of nodes, next nodes, and targets that routers name for them, each counted as often as it is written.
    pub fn size(&self, program: &Program) -> usize {
        let targets =
            |table: TableId| -> usize {
                let rules =
                    program.tables[table.index()].order.iter().map(|id| &program.rules[id.index()].outcome);
                rules
                    .map(|outcome| {
                        if let Outcome::Next { destinations, .. } = outcome { destinations.len() } else { 0 }
                    })
                    .sum()
            };
        let mut known: HashMap<TableId, usize> = HashMap::new();
        let sizes = self.nodes.iter().map(|node| {
            let routed = node.router.map_or(0, |table| *known.entry(table).or_insert_with(|| targets(table)));
            1 + node.next.len() + routed.saturating_mul(node.next.len().max(1))
        });
        sizes.fold(0, usize::saturating_add)
    }

    /// Its nodes as a graph.
    pub fn vertices(&self, program: &Program) -> Vec<Vertex> {
        // Many nodes may share a router.
        let mut known: HashMap<TableId, Arc<[Route]>> = HashMap::new();
        let vertices = self.nodes.iter().map(|node| {
            let routes = node
                .router
                .map(|table| known.entry(table).or_insert_with(|| program.routes_of(table).into()).clone());
            let next = node.next.iter().cloned().map(Into::into).collect();
            Vertex::new(node.id.clone().into(), next, node.is_parallel(), routes)
        });
        vertices.collect()
    }
}

impl Program {
    pub fn workflow_named(&self, name: &str) -> Option<&Workflow> {
        self.workflows.iter().find(|workflow| &*workflow.name == name)
    }

    /// Every answer that a router can give, in the order it tries them.
    pub fn routes_of(&self, router: TableId) -> Vec<Route> {
        let rules = self.tables[router.index()].order.iter().map(|id| &self.rules[id.index()]);
        rules
            .filter_map(|rule| match &rule.outcome {
                Outcome::Next { destinations, loopback, .. } => {
                    let targets = destinations.iter().map(|destination| self.target_of(destination));
                    Some(Route { targets: targets.collect(), loopback: *loopback })
                }
                _ => None,
            })
            .collect()
    }

    fn target_of(&self, destination: &Destination) -> Target {
        match destination {
            Destination::All => Target::Every,
            Destination::At(slot) => Target::Next(*slot as usize),
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
