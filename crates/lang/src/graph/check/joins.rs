//! Finds joins (nodes with several incoming edges) that wait for inputs that cannot arrive.

use super::super::node::{NodeId, join_names};
use super::edges::Graph;
use super::{Finding, FindingKind, Severity, dedup_nodes};
use petgraph::graph::NodeIndex;
use rulec_base::{broken_invariant, message};
use std::collections::{BTreeMap, HashSet};

/// Checks every join (every node with more than one incoming edge) and adds its faults to
/// `findings`.
pub(super) fn check_joins(graph: &Graph<'_>, findings: &mut Vec<Finding>) {
    let open = graph.has_open_routes();
    let run_by_parallel = children_of_parallels(graph);
    let repeated = graph.repeatable_nodes();
    let dominators = graph.dominators();
    let choices = (0..graph.steps.len()).any(|number| graph.routes(number).is_some());
    for (join, step) in graph.steps.iter().enumerate() {
        if step.incoming.len() < 2 || !graph.is_reachable(join) || join == graph.start {
            continue;
        }
        let id = &step.id;
        // A target that is read from an output may be any node. If a node delivers more than once,
        // the second delivery may replace another node's missing one. In both cases the finding is
        // only a warning.
        let several = |number: &usize| repeated.contains(number);
        let feeds = || step.incoming.iter().filter_map(|from| graph.number(from));
        let doubtful = open || several(&join) || feeds().any(|from| several(&from));
        let severity = if doubtful { Severity::Warning } else { Severity::Error };
        let mut add = |kind, message| {
            findings.push(Finding { severity, ..Finding::new(kind, graph.path_to(join), message) });
        };
        if let Some(parallel) =
            run_by_parallel.iter().find(|(_, child)| *child == join).map(|(parent, _)| parent)
        {
            let parallel = graph.id(*parallel);
            let others: Vec<NodeId> =
                step.incoming.iter().filter(|from| **from != parallel).cloned().collect();
            if !others.is_empty() {
                let others = join_names(&dedup_nodes(&others));
                let message = message!(
                    "`{id}` is run by the parallel node `{parallel}`, so its input from {others} is never \
                    processed"
                );
                add(FindingKind::JoinNeverFills, message);
            }
            continue;
        }
        let sources: Vec<usize> = feeds().collect();
        let (alive, dead): (Vec<usize>, Vec<usize>) = sources
            .into_iter()
            .partition(|from| graph.is_reachable(*from) && graph.successors(*from).contains(&join));
        if !dead.is_empty() {
            let dead: Vec<NodeId> = dead.into_iter().map(|from| graph.id(from)).collect();
            let message = message!(
                "`{id}` waits for {}, but can never receive output from there",
                join_names(&dedup_nodes(&dead))
            );
            add(FindingKind::JoinNeverFills, message);
            continue;
        }
        // Find a router whose choice excludes some of the branches. The router dominates these
        // branches, so no other node can feed them.
        let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for from in alive.into_iter().filter(|_| choices) {
            for before in dominators.dominators(NodeIndex::new(from)).into_iter().flatten() {
                if graph.routes(before.index()).is_some() {
                    behind.entry(before.index()).or_default().push(from);
                }
            }
        }
        let excluding = behind
            .into_iter()
            .find(|(chooser, behind)| behind.len() > 1 && !some_route_feeds(graph, *chooser, behind, join));
        if let Some((chooser, behind)) = excluding {
            let behind: Vec<NodeId> = behind.into_iter().map(|from| graph.id(from)).collect();
            let message = message!(
                "`{id}` waits for {}, but no route of `{}` leads to all of them",
                join_names(&dedup_nodes(&behind)),
                graph.id(chooser)
            );
            add(FindingKind::ExclusiveJoin, message);
        }
    }
}

/// True if the router of the node `chooser` has a route for which every source delivers its output
/// to the join.
fn some_route_feeds(graph: &Graph<'_>, chooser: usize, sources: &[usize], join: usize) -> bool {
    let Some(routes) = graph.routes(chooser) else {
        broken_invariant!("a node that chooses among the sources has routes");
        return true;
    };
    routes.iter().any(|route| {
        let targets = graph.route_targets(chooser, route);
        let reached: HashSet<usize> = graph.reachable_by_forward_edges(&targets);
        sources
            .iter()
            .all(|from| if *from == chooser { targets.contains(&join) } else { reached.contains(from) })
    })
}

fn children_of_parallels(graph: &Graph<'_>) -> Vec<(usize, usize)> {
    let parallels = (0..graph.steps.len()).filter(|number| graph.steps[*number].parallel);
    let reached = parallels.filter(|number| graph.is_reachable(*number));
    reached
        .flat_map(|number| graph.successors(number).into_iter().map(move |child| (number, child)))
        .collect()
}
