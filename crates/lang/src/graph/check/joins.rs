//! Finds joins (nodes with several incoming edges) that wait for inputs that cannot arrive.

use super::super::node::{NodeId, join_names};
use super::edges::WorkflowGraph;
use super::{Finding, FindingKind, Severity, distinct_nodes};
use petgraph::graph::NodeIndex;
use rulec_base::{broken_invariant, message};
use std::collections::{BTreeMap, HashSet};

/// Checks every join (every node with more than one incoming edge) and adds its faults to
/// `findings`.
pub(super) fn check_joins(graph: &WorkflowGraph<'_>, findings: &mut Vec<Finding>) {
    let has_open_routes = graph.has_runtime_targets();
    let run_by_parallel = parallel_child_pairs(graph);
    let repeatable = graph.repeatable_nodes();
    let dominators = graph.dominators();
    let has_router =
        (0..graph.vertices.len()).any(|vertex_index| graph.routes_of_vertex(vertex_index).is_some());
    for (join, vertex) in graph.vertices.iter().enumerate() {
        if vertex.incoming_sources.len() < 2 || !graph.is_reachable(join) || join == graph.start_index {
            continue;
        }
        let id = &vertex.id;
        // A target that is read from an output may be any node. If a node delivers twice, the join
        // may take its second output for another node's missing output. In both cases the finding
        // is only a warning.
        let may_repeat = |vertex_index: &usize| repeatable.contains(vertex_index);
        let source_indices =
            || vertex.incoming_sources.iter().filter_map(|source| graph.vertex_index(source));
        let is_uncertain =
            has_open_routes || may_repeat(&join) || source_indices().any(|source| may_repeat(&source));
        let severity = if is_uncertain { Severity::Warning } else { Severity::Error };
        let mut add = |kind, message| {
            findings.push(Finding { severity, ..Finding::new(kind, graph.shortest_path_to(join), message) });
        };
        if let Some(parallel) =
            run_by_parallel.iter().find(|(_, child)| *child == join).map(|(parent, _)| parent)
        {
            let parallel = graph.node_id(*parallel);
            let others: Vec<NodeId> =
                vertex.incoming_sources.iter().filter(|source| **source != parallel).cloned().collect();
            if !others.is_empty() {
                let others = join_names(&distinct_nodes(&others));
                let message = message!(
                    "`{id}` is run by the parallel node `{parallel}`, so its input from {others} is never \
                    processed"
                );
                add(FindingKind::JoinNeverFills, message);
            }
            continue;
        }
        let sources: Vec<usize> = source_indices().collect();
        let (delivering, blocked): (Vec<usize>, Vec<usize>) = sources
            .into_iter()
            .partition(|source| graph.is_reachable(*source) && graph.successors(*source).contains(&join));
        if !blocked.is_empty() {
            let blocked: Vec<NodeId> = blocked.into_iter().map(|source| graph.node_id(source)).collect();
            let message = message!(
                "`{id}` waits for {}, but can never receive output from there",
                join_names(&distinct_nodes(&blocked))
            );
            add(FindingKind::JoinNeverFills, message);
            continue;
        }
        // Find a router whose choice excludes some of the branches. The router dominates these
        // branches: every path to them passes the router, so no other node can feed them.
        let mut dominated_sources: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for source in delivering.into_iter().filter(|_| has_router) {
            for dominator in dominators.dominators(NodeIndex::new(source)).into_iter().flatten() {
                if graph.routes_of_vertex(dominator.index()).is_some() {
                    dominated_sources.entry(dominator.index()).or_default().push(source);
                }
            }
        }
        let exclusion = dominated_sources.into_iter().find(|(router_node, dominated_sources)| {
            dominated_sources.len() > 1
                && !routes_all_sources_to_join(graph, *router_node, dominated_sources, join)
        });
        if let Some((router_node, dominated_sources)) = exclusion {
            let dominated_sources: Vec<NodeId> =
                dominated_sources.into_iter().map(|source| graph.node_id(source)).collect();
            let message = message!(
                "`{id}` waits for {}, but no route of `{}` leads to all of them",
                join_names(&distinct_nodes(&dominated_sources)),
                graph.node_id(router_node)
            );
            add(FindingKind::ExclusiveJoin, message);
        }
    }
}

/// True if the router of `router_node` has a route for which every node in `sources` delivers its
/// output to `join`. The join is a node that waits for several inputs.
fn routes_all_sources_to_join(
    graph: &WorkflowGraph<'_>,
    router_node: usize,
    sources: &[usize],
    join: usize,
) -> bool {
    let Some(routes) = graph.routes_of_vertex(router_node) else {
        broken_invariant!("a node that chooses among the sources has routes");
        return true;
    };
    routes.iter().any(|route| {
        let targets = graph.route_targets(router_node, route);
        let reachable: HashSet<usize> = graph.reachable_by_forward_edges(&targets);
        sources.iter().all(|source| {
            if *source == router_node { targets.contains(&join) } else { reachable.contains(source) }
        })
    })
}

fn parallel_child_pairs(graph: &WorkflowGraph<'_>) -> Vec<(usize, usize)> {
    let parallels =
        (0..graph.vertices.len()).filter(|vertex_index| graph.vertices[*vertex_index].is_parallel);
    let reachable = parallels.filter(|vertex_index| graph.is_reachable(*vertex_index));
    reachable
        .flat_map(|vertex_index| {
            graph.successors(vertex_index).into_iter().map(move |child| (vertex_index, child))
        })
        .collect()
}
