//! Checks a workflow before it runs, and reports each fault with the nodes concerned.
//!
//! A *join* is a node with several incoming edges; it waits for an input over each edge. A
//! *loop-back* is an edge that leads back to an earlier node; joins do not wait for loop-backs.

mod edges;
mod joins;

use super::node::{NodeId, Route, Target, Vertex, join_names};
use edges::WorkflowGraph;
use rulec_base::diag::Message;
use rulec_base::message;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Whether a fault in a workflow prevents the workflow from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A warning: the workflow is suspicious, but it can be built.
    Warning,
    /// An error: the workflow cannot run, or not as it is written.
    Error,
}

/// The kinds of faults that a workflow can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// Two nodes have the same name.
    DuplicateNode,
    /// The workflow's start node does not exist.
    UnknownStart,
    /// A processor or a router is assigned to a node that does not exist. A processor does the work
    /// of a node; a router selects the receivers of its output.
    UnknownNode,
    /// A node has no processor (the code that does its work), or the program's function that
    /// creates the processor failed.
    NoProcessor,
    /// A node lists a next node that does not exist.
    UnknownNext,
    /// A route (a possible result of a node's router) names a target node that does not exist.
    UnknownTarget,
    /// A route (a possible result of a node's router) names an index that is outside the node's
    /// list `next`. Such a route selects every next node.
    MissingTarget,
    /// A parallel node (a node that runs its next nodes in parallel) is a child (a next node) of
    /// another parallel node.
    NestedParallel,
    /// The nodes of a cycle wait for each other. No edge of the cycle is declared a loop-back (an
    /// edge that no node waits for).
    CycleWithoutLoopBack,
    /// A router has a loop-back (an edge back to an earlier node), but no way out of the loop.
    /// Either its node has only one next node, or every route (possible result of the router) is a
    /// loop-back.
    LoopWithoutExit,
    /// A join (a node that waits for several inputs) has an incoming edge over which no input can
    /// ever arrive.
    JoinNeverFills,
    /// A join (a node that waits for several inputs) waits for branches of which only one can run.
    ExclusiveJoin,
    /// No path leads from the start to a node.
    Unreachable,
    /// A route (a possible result of a node's router) names a target that is not among the node's
    /// next nodes. The target therefore does not wait for outputs of that node.
    UnlistedTarget,
    /// A node lists the same next node twice.
    RepeatedNext,
    /// A parallel node (a node that runs its next nodes in parallel) has no children (next nodes).
    EmptyParallel,
    /// A parallel node (a node that runs its next nodes in parallel) has a router; the router is
    /// never called.
    IdleRouter,
    /// A loop-back (an edge back to an earlier node) leads to a node from which no path leads back
    /// to the source of the loop-back.
    LoopBackOutsideLoop,
    /// Two routes (possible results of a router) use the same edge, but only one of them declares
    /// the edge a loop-back. A loop-back leads back to an earlier node.
    MixedLoopBack,
}

impl FindingKind {
    /// Returns the stable name of this kind of fault, such as `duplicate-node`. Users see the name
    /// in brackets in the message about the fault.
    pub fn name(self) -> &'static str {
        self.name_and_help().0
    }

    /// Returns advice on how to correct this kind of fault. The message about the fault ends with
    /// this advice.
    pub fn help(self) -> Message {
        self.name_and_help().1
    }

    /// Returns the usual severity of this kind of fault. A check may report a lower severity if it
    /// cannot be certain.
    fn severity(self) -> Severity {
        use FindingKind::*;
        match self {
            Unreachable | UnlistedTarget | RepeatedNext | EmptyParallel | IdleRouter
            | LoopBackOutsideLoop | MixedLoopBack => Severity::Warning,
            _ => Severity::Error,
        }
    }

    fn name_and_help(self) -> (&'static str, Message) {
        use FindingKind::*;
        match self {
            DuplicateNode => ("duplicate-node", message!("rename one of them")),
            UnknownStart => ("unknown-start", message!("let the workflow start at one of its nodes")),
            UnknownNode => ("unknown-node", message!("add the node, or correct the name")),
            NoProcessor => {
                ("no-processor", message!("register the kind of the node, or give the node a processor"))
            }
            UnknownNext => ("unknown-next", message!("add the node, or correct the name")),
            UnknownTarget => ("unknown-target", message!("add the node, or correct the name in the router")),
            MissingTarget => (
                "missing-target",
                message!("give the node enough next nodes, or let the route lead elsewhere"),
            ),
            NestedParallel => {
                ("nested-parallel", message!("list the inner children under the outer parallel node"))
            }
            CycleWithoutLoopBack => (
                "cycle-without-loopback",
                message!("write `loopback` in the router, on the edge that closes the cycle"),
            ),
            LoopWithoutExit => {
                ("loop-without-exit", message!("give the node a second next node and a route to it"))
            }
            JoinNeverFills => {
                ("join-never-fills", message!("remove the edge, or let its source send a value along it"))
            }
            ExclusiveJoin => (
                "exclusive-join",
                message!("let one of the branches end elsewhere, or give each branch its own node"),
            ),
            Unreachable => ("unreachable", message!("add an edge to the node, or remove the node")),
            UnlistedTarget => ("unlisted-target", message!("add the target to the node's next nodes")),
            RepeatedNext => ("repeated-next", message!("list it only once")),
            EmptyParallel => ("empty-parallel", message!("give the parallel node children")),
            IdleRouter => {
                ("idle-router", message!("use the router on the node's children or on the node before it"))
            }
            LoopBackOutsideLoop => {
                ("loopback-outside-loop", message!("remove `loopback`: the edge closes no loop"))
            }
            MixedLoopBack => {
                ("mixed-loopback", message!("use one edge to continue and another edge to loop back"))
            }
        }
    }
}

/// A fault that was found in a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The fault, as one of a fixed list of kinds, such as two nodes with one name.
    pub kind: FindingKind,
    /// Whether the fault prevents the workflow from running (an error), or is only suspicious (a
    /// warning).
    pub severity: Severity,
    /// The faulty node; `None` if the fault is a name that no node has.
    pub node: Option<NodeId>,
    /// The path from the start to the fault; for a cycle, the path around the cycle.
    pub path: Vec<NodeId>,
    /// A localized sentence that describes the fault and names the nodes concerned.
    pub message: Message,
}

impl Finding {
    /// Creates a finding. The last node of `path` is the faulty node.
    pub fn new(kind: FindingKind, path: Vec<NodeId>, message: Message) -> Self {
        Finding { kind, severity: kind.severity(), node: path.last().cloned(), path, message }
    }

    /// Returns advice on how to correct the fault, as a localized message.
    pub fn help(&self) -> Message {
        self.kind.help()
    }

    /// Returns everything about the fault as a localized message: its severity, kind, description,
    /// path and remedy.
    pub fn to_message(&self) -> Message {
        let severity = match self.severity {
            Severity::Error => message!("error"),
            Severity::Warning => message!("warning"),
        };
        let (kind, help) = (self.kind.name(), self.help());
        let fault = message!("{severity}[{kind}]: {}", self.message);
        match &self.path[..] {
            [] | [_] => message!("{fault}; {help}"),
            path => {
                let path: Vec<&str> = path.iter().map(NodeId::as_str).collect();
                message!("{fault}; path: {}; {help}", path.join(" → "))
            }
        }
    }

    /// True if the fault lies in a route (a possible result) of the node's router. The diagnostic
    /// about the fault then also marks the router.
    pub fn is_about_routes(&self) -> bool {
        use FindingKind::*;
        let kinds = [
            UnknownTarget,
            MissingTarget,
            UnlistedTarget,
            LoopWithoutExit,
            MixedLoopBack,
            LoopBackOutsideLoop,
            IdleRouter,
        ];
        kinds.contains(&self.kind)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_message())
    }
}

/// Checks a workflow graph and returns its faults. Precondition: `set_incoming_edges` has set the
/// incoming edges of its nodes. `start` is the index of the start node.
pub fn check_graph(vertices: &[Vertex], index_by_id: &HashMap<NodeId, usize>, start: usize) -> Vec<Finding> {
    let graph = WorkflowGraph::new(vertices, index_by_id, start);
    let mut findings = Vec::new();
    for vertex_index in 0..vertices.len() {
        check_next_nodes(&graph, vertex_index, &mut findings);
        check_routes(&graph, vertex_index, &mut findings);
    }
    let cycles = graph.cycles();
    let waits_for_itself = !cycles.is_empty();
    for cycle in cycles {
        let message = message!(
            "the cycle of {} has no edge that is declared as a loop-back",
            join_names(&distinct_nodes(&cycle))
        );
        findings.push(Finding::new(FindingKind::CycleWithoutLoopBack, cycle, message));
    }
    for vertex_index in graph.unreachable_nodes() {
        let id = graph.node_id(vertex_index);
        let message = message!("no path leads from `{}` to `{id}`", graph.node_id(start));
        findings.push(Finding::new(FindingKind::Unreachable, vec![id], message));
    }
    // If a cycle waits for itself, its joins never receive all inputs. The finding about the cycle
    // is enough, so joins are not checked.
    if !waits_for_itself {
        joins::check_joins(&graph, &mut findings);
    }
    findings
}

fn distinct_nodes(nodes: &[NodeId]) -> Vec<NodeId> {
    let mut distinct = HashSet::new();
    nodes.iter().filter(|id| distinct.insert(*id)).cloned().collect()
}

fn check_next_nodes(graph: &WorkflowGraph<'_>, vertex_index: usize, findings: &mut Vec<Finding>) {
    let vertex = &graph.vertices[vertex_index];
    let id = &vertex.id;
    let mut add = |kind, next: Option<&NodeId>, message| {
        let path = graph.shortest_path_to(vertex_index).into_iter().chain(next.cloned()).collect();
        findings.push(Finding { node: Some(id.clone()), ..Finding::new(kind, path, message) });
    };
    for (index, next) in vertex.next.iter().enumerate() {
        if vertex.next[..index].contains(next) {
            let message = message!("`{next}` is listed more than once among the next nodes of `{id}`");
            add(FindingKind::RepeatedNext, Some(next), message);
            continue;
        }
        match graph.vertex_index(next) {
            None => {
                let message = message!("`{id}` leads to `{next}`, which is not a node");
                add(FindingKind::UnknownNext, Some(next), message);
            }
            Some(child) if vertex.is_parallel && graph.vertices[child].is_parallel => {
                let message =
                    message!("the parallel node `{next}` is a direct child of the parallel node `{id}`");
                add(FindingKind::NestedParallel, Some(next), message);
            }
            Some(_) => {}
        }
    }
    if vertex.is_parallel && vertex.next.is_empty() {
        add(FindingKind::EmptyParallel, None, message!("the parallel node `{id}` has no children"));
    }
    if vertex.is_parallel && vertex.routes.is_some() {
        let message = message!("the router of the parallel node `{id}` is never evaluated");
        add(FindingKind::IdleRouter, None, message);
    }
}

fn check_routes(graph: &WorkflowGraph<'_>, vertex_index: usize, findings: &mut Vec<Finding>) {
    let vertex = &graph.vertices[vertex_index];
    let Some(routes) = graph.routes_of_vertex(vertex_index) else { return };
    let id = &vertex.id;
    let mut add =
        |kind, message| findings.push(Finding::new(kind, graph.shortest_path_to(vertex_index), message));
    let has_loop_back = routes.iter().any(|route| route.loopback);
    let always_loops_back = has_loop_back && routes.iter().all(|route| route.loopback);
    if let [only] = vertex.next.as_slice()
        && has_loop_back
    {
        let message = message!("the loop `{id}` has one next node, `{only}`: it cannot both repeat and end");
        add(FindingKind::LoopWithoutExit, message);
    } else {
        if always_loops_back {
            let message = message!("every route of the loop `{id}` loops back");
            add(FindingKind::LoopWithoutExit, message);
        }
        if let Some(slot) = first_index_out_of_range(routes, vertex.next.len()) {
            let has = vertex.next.len();
            let message = message!(
                "a route of `{id}` leads to `next[{slot}]`, but of its {has} next nodes the first is `next[0]` \
                and the last `next[{}]`",
                has.saturating_sub(1)
            );
            add(FindingKind::MissingTarget, message);
        }
    }
    let mut named_targets: Vec<&NodeId> = routes
        .iter()
        .flat_map(|route| &route.targets)
        .filter_map(|target| if let Target::Node(node) = target { Some(node) } else { None })
        .collect();
    named_targets.sort();
    named_targets.dedup();
    for target in named_targets {
        if graph.vertex_index(target).is_none() {
            let message = message!("a route of `{id}` leads to `{target}`, which is not a node");
            add(FindingKind::UnknownTarget, message);
        } else if !vertex.next.contains(target) {
            let message =
                message!("a route of `{id}` leads to `{target}`, which is not among its next nodes");
            add(FindingKind::UnlistedTarget, message);
        }
    }
    let forward_targets: HashSet<NodeId> = routes
        .iter()
        .filter(|route| !route.loopback)
        .flat_map(|route| route.possible(&vertex.next))
        .collect();
    let mut loop_back_targets: Vec<&NodeId> = vertex.loop_back_targets.iter().collect();
    loop_back_targets.sort();
    for target in loop_back_targets {
        let Some(target_index) = graph.vertex_index(target) else { continue };
        // If there is only one next node, every route leads there, and another finding reports the
        // loop.
        if forward_targets.contains(target) && vertex.next.len() != 1 {
            let message =
                message!("the edge from `{id}` to `{target}` is a loop-back in one route but not in another");
            add(FindingKind::MixedLoopBack, message);
        }
        if !graph.has_path(target_index, vertex_index) {
            let message = message!("`{id}` loops back to `{target}`, but no path leads from there to `{id}`");
            add(FindingKind::LoopBackOutsideLoop, message);
        }
    }
}

/// Returns the first index that a route (a possible result of a router) names but that is outside
/// the list of next nodes. `None` if all indexes are inside. `next_count` is the length of the
/// list.
fn first_index_out_of_range(routes: &[Route], next_count: usize) -> Option<usize> {
    let targets = routes.iter().flat_map(|route| &route.targets);
    targets
        .filter_map(|target| if let Target::Next(slot) = target { Some(*slot) } else { None })
        .find(|index| *index >= next_count)
}
