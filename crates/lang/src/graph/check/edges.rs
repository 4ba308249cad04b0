//! Converts a workflow to a graph of the library petgraph, so that the checks can use its
//! algorithms. Nodes are identified by their index, and the edges are the paths that outputs can
//! take.

use super::super::node::{NodeId, Route, Target, Vertex};
use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::algo::{astar, has_path_connecting, kosaraju_scc};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Bfs, Dfs, EdgeFiltered};
use std::collections::{HashMap, HashSet};
use std::iter::successors;

/// Whether an edge of the graph is a loop-back, an edge to an earlier node that no join waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EdgeKind {
    Forward,
    LoopBack,
}

pub(super) struct WorkflowGraph<'s> {
    pub(super) vertices: &'s [Vertex],
    index_by_id: &'s HashMap<NodeId, usize>,
    pub(super) start_index: usize,
    edges: DiGraph<(), EdgeKind>,
    /// The predecessor of each reachable node on a shortest path from the start.
    predecessors: HashMap<usize, usize>,
}

impl<'s> WorkflowGraph<'s> {
    pub(super) fn new(vertices: &'s [Vertex], index_by_id: &'s HashMap<NodeId, usize>, start: usize) -> Self {
        let mut edges = DiGraph::with_capacity(vertices.len(), vertices.len());
        for _ in vertices {
            edges.add_node(());
        }
        let mut graph =
            WorkflowGraph { vertices, index_by_id, start_index: start, edges, predecessors: HashMap::new() };
        for (source, vertex) in vertices.iter().enumerate() {
            // The traversals of petgraph visit the last added edge first, but paths should be tried
            // in the listed order.
            for target in graph.successors(source).into_iter().rev() {
                let edge = if vertex.loop_back_targets.contains(&vertices[target].id) {
                    EdgeKind::LoopBack
                } else {
                    EdgeKind::Forward
                };
                graph.edges.update_edge(NodeIndex::new(source), NodeIndex::new(target), edge);
            }
        }
        let mut bfs = Bfs::new(&graph.edges, NodeIndex::new(start));
        while let Some(node) = bfs.next(&graph.edges) {
            for target in graph.edges.neighbors(node).filter(|target| target.index() != start) {
                graph.predecessors.entry(target.index()).or_insert(node.index());
            }
        }
        graph
    }

    pub(super) fn node_id(&self, vertex_index: usize) -> NodeId {
        self.vertices[vertex_index].id.clone()
    }

    pub(super) fn vertex_index(&self, id: &NodeId) -> Option<usize> {
        self.index_by_id.get(id).copied()
    }

    /// Returns the possible results of the router of the node with index `vertex_index`. `None`
    /// without a router, and for a parallel node, whose router is never called.
    pub(super) fn routes_of_vertex(&self, vertex_index: usize) -> Option<&'s [Route]> {
        let vertex = &self.vertices[vertex_index];
        vertex.routes.as_deref().filter(|_| !vertex.is_parallel)
    }

    pub(super) fn route_targets(&self, vertex_index: usize, route: &Route) -> Vec<usize> {
        route
            .possible(&self.vertices[vertex_index].next)
            .iter()
            .filter_map(|id| self.vertex_index(id))
            .collect()
    }

    pub(super) fn successors(&self, vertex_index: usize) -> Vec<usize> {
        match self.routes_of_vertex(vertex_index) {
            None => self.vertices[vertex_index].next.iter().filter_map(|id| self.vertex_index(id)).collect(),
            Some(routes) => routes.iter().flat_map(|route| self.route_targets(vertex_index, route)).collect(),
        }
    }

    pub(super) fn is_reachable(&self, vertex_index: usize) -> bool {
        vertex_index == self.start_index || self.predecessors.contains_key(&vertex_index)
    }

    pub(super) fn unreachable_nodes(&self) -> impl Iterator<Item = usize> {
        (0..self.vertices.len()).filter(|vertex_index| !self.is_reachable(*vertex_index))
    }

    /// True if the targets of a reachable router are read from the output, and so are known only at
    /// run time. Any node may then receive the output, so a fault of a join (node with several
    /// inputs) is only a warning.
    pub(super) fn has_runtime_targets(&self) -> bool {
        let is_open = |route: &Route| route.targets.iter().any(|target| matches!(target, Target::Listed(_)));
        let mut reachable = (0..self.vertices.len()).filter(|vertex_index| self.is_reachable(*vertex_index));
        reachable.any(|vertex_index| {
            self.routes_of_vertex(vertex_index).is_some_and(|routes| routes.iter().any(is_open))
        })
    }

    /// True if outputs of `source` can reach `target`, or if both are the same node.
    pub(super) fn has_path(&self, source: usize, target: usize) -> bool {
        has_path_connecting(&self.edges, NodeIndex::new(source), NodeIndex::new(target), None)
    }

    /// Returns the shortest path from the start to a node, or only the node if there is no path.
    pub(super) fn shortest_path_to(&self, vertex_index: usize) -> Vec<NodeId> {
        let reversed_path =
            successors(Some(vertex_index), |vertex_index| self.predecessors.get(vertex_index).copied());
        let mut path: Vec<NodeId> = reversed_path.map(|vertex_index| self.node_id(vertex_index)).collect();
        path.reverse();
        path
    }

    /// Finds groups of nodes that wait for each other (strongly connected components), and returns
    /// one cycle for each group. The first node of a cycle is repeated at its end.
    pub(super) fn cycles(&self) -> Vec<Vec<NodeId>> {
        let mut waiting_graph = DiGraph::<(), ()>::with_capacity(self.vertices.len(), self.vertices.len());
        for _ in self.vertices {
            waiting_graph.add_node(());
        }
        for (source, vertex) in self.vertices.iter().enumerate() {
            let listed_targets = vertex.next.iter().filter_map(|id| self.vertex_index(id));
            for target in listed_targets.chain(self.successors(source)) {
                if !vertex.loop_back_targets.contains(&self.vertices[target].id) {
                    waiting_graph.update_edge(NodeIndex::new(source), NodeIndex::new(target), ());
                }
            }
        }
        // Tarjan's algorithm in petgraph is recursive and could overflow the stack on a long chain
        // of nodes.
        let mut cycles: Vec<Vec<usize>> = kosaraju_scc(&waiting_graph)
            .into_iter()
            .filter(|component| {
                component.len() > 1 || component.iter().any(|node| waiting_graph.contains_edge(*node, *node))
            })
            .filter_map(|component| {
                let first = component.iter().copied().min()?;
                let paths = waiting_graph.neighbors(first).filter_map(|second| {
                    astar(&waiting_graph, second, |node| node == first, |_| 1, |_| 0).map(|(_, path)| path)
                });
                let shortest = paths.min_by_key(Vec::len)?;
                Some([first].into_iter().chain(shortest).map(NodeIndex::index).collect())
            })
            .collect();
        cycles.sort();
        cycles
            .into_iter()
            .map(|cycle| cycle.into_iter().map(|vertex_index| self.node_id(vertex_index)).collect())
            .collect()
    }

    /// Returns the nodes that are reachable from the sources without a loop-back (an edge to an
    /// earlier node). The sources are included.
    pub(super) fn reachable_by_forward_edges(&self, sources: &[usize]) -> HashSet<usize> {
        let forward = EdgeFiltered::from_fn(&self.edges, |edge| *edge.weight() == EdgeKind::Forward);
        let mut reachable = HashSet::new();
        for source in sources {
            let mut dfs = Dfs::new(&forward, NodeIndex::new(*source));
            while let Some(node) = dfs.next(&forward) {
                reachable.insert(node.index());
            }
        }
        reachable
    }

    /// Returns the nodes that may run more than once, or may receive more than one input over the
    /// same edge. Every other node runs at most once. The result contains:
    ///
    /// - The targets of loop-backs, which repeat them.
    /// - Targets that a route or a parallel node names twice.
    /// - Targets that are not among the next nodes of their source, and so do not wait for its
    ///   outputs.
    /// - The successors of a parallel node's child that has several incoming edges. The parallel
    ///   node runs this child at once, although it also waits for inputs over the other edges.
    /// - All nodes that receive output from these nodes.
    pub(super) fn repeatable_nodes(&self) -> HashSet<usize> {
        let mut repeatable = Vec::new();
        for (source, vertex) in
            self.vertices.iter().enumerate().filter(|(vertex_index, _)| self.is_reachable(*vertex_index))
        {
            repeatable.extend(vertex.loop_back_targets.iter().filter_map(|id| self.vertex_index(id)));
            let is_unlisted = |target: &usize| !vertex.next.contains(&self.vertices[*target].id);
            repeatable.extend(self.successors(source).into_iter().filter(is_unlisted));
            let target_lists: Vec<Vec<usize>> = match self.routes_of_vertex(source) {
                Some(routes) => routes.iter().map(|route| self.route_targets(source, route)).collect(),
                None if vertex.is_parallel => vec![self.successors(source)],
                None => Vec::new(),
            };
            for mut targets in target_lists {
                targets.sort_unstable();
                repeatable.extend(targets.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]));
            }
            // A parallel node runs its child even if the child also waits for other inputs.
            for child in self.successors(source).into_iter().filter(|_| vertex.is_parallel) {
                if self.vertices[child].incoming_sources.len() > 1 {
                    repeatable.extend(self.successors(child));
                }
            }
        }
        self.reachable_by_forward_edges(&repeatable)
    }

    /// Returns the dominators: the nodes that every path from the start to a node passes.
    pub(super) fn dominators(&self) -> Dominators<NodeIndex> {
        simple_fast(&self.edges, NodeIndex::new(self.start_index))
    }
}
