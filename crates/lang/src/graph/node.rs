//! The nodes of a workflow, and the routes that select which nodes receive an output. The checks
//! read this data before a workflow runs. Nodes refer to each other by id.

use rulec_base::diag::{Arg, Argument, Message, comma_list};
use rulec_base::message;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The name of a workflow node. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// Returns the node's name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for NodeId {
    fn from(text: T) -> Self {
        NodeId(text.into())
    }
}

impl Deref for NodeId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for NodeId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for NodeId {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl Argument for NodeId {
    fn to_arg(&self) -> Arg {
        self.as_str().to_arg()
    }
}

/// Returns the names of the nodes in backticks, joined as in a sentence.
pub fn join_names(nodes: &[NodeId]) -> Message {
    let quoted = nodes.iter().map(|node| message!("`{node}`"));
    match nodes.len() {
        0 => message!("no node"),
        1 => comma_list(quoted),
        count => {
            message!(
                "{} and {}",
                comma_list(quoted.clone().take(count - 1)),
                comma_list(quoted.skip(count - 1))
            )
        }
    }
}

/// A node of a workflow graph, with its possible successors.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// Name of the node, unique in the graph.
    pub id: NodeId,
    /// The names of the next nodes, in the listed order.
    pub next: Vec<NodeId>,
    /// Whether the node runs its next nodes in parallel. A parallel node has no output of its own.
    pub is_parallel: bool,
    /// The routes: the possible results of the node's router. A router is a function that selects
    /// which nodes receive an output. `None` if every next node receives the output. The router of
    /// a parallel node is never called.
    pub routes: Option<Arc<[Route]>>,
    /// The targets of those routes (possible results of the node's router) that are declared as
    /// loop-backs, which lead to an earlier node.
    pub loop_back_targets: HashSet<NodeId>,
    /// The source of each incoming edge over which the node waits for an input, one entry per edge.
    /// Set by [`set_incoming_edges`], which leaves out loop-backs.
    pub incoming_sources: Vec<NodeId>,
}

impl Vertex {
    /// Creates a node. `parallel` means that the node runs its next nodes in parallel. `routes` are
    /// the possible results of its router; `None` if it has no router.
    pub fn new(id: NodeId, next: Vec<NodeId>, parallel: bool, routes: Option<Arc<[Route]>>) -> Vertex {
        let loop_back_routes =
            routes.iter().flat_map(|routes| &**routes).filter(|route| route.loopback && !parallel);
        let loop_backs = loop_back_routes.flat_map(|route| route.possible(&next)).collect();
        Vertex {
            id,
            next,
            is_parallel: parallel,
            routes,
            loop_back_targets: loop_backs,
            incoming_sources: Vec::new(),
        }
    }
}

/// Sets for each node the sources of its incoming edges. Loop-backs (edges to an earlier node) are
/// left out, because no node waits for them. `index_by_id` contains the index of each node in
/// `vertices`.
pub fn set_incoming_edges(vertices: &mut [Vertex], index_by_id: &HashMap<NodeId, usize>) {
    let mut edges = Vec::new();
    for vertex in &*vertices {
        let awaited = vertex.next.iter().filter(|target| !vertex.loop_back_targets.contains(*target));
        edges.extend(awaited.filter_map(|target| Some((vertex.id.clone(), *index_by_id.get(target)?))));
    }
    for (source, target) in edges {
        if let Some(vertex) = vertices.get_mut(target) {
            vertex.incoming_sources.push(source);
        }
    }
}

/// One result that a router can select: the nodes that receive an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The nodes that receive the output if the router selects this route (possible result), in
    /// order.
    pub targets: Vec<Target>,
    /// Whether the route is a loop-back, which leads to an earlier node. The targets of a loop-back
    /// run immediately and do not wait for other inputs. Inputs that they have already received are
    /// dropped.
    pub loopback: bool,
}

/// A target of a route: a next node by index, every next node, a node by name, or the nodes that
/// the output names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// The next node with this index in the list `next` of the node; every next node if the index
    /// is out of range.
    Next(usize),
    /// Every next node of the node whose router selects the route.
    Every,
    /// The node with this name.
    Node(NodeId),
    /// The nodes whose names are in a field of the output, as a list of texts or one text. The
    /// field is a path: `["plan", "next"]` is `output.plan.next`. Any other value names no node.
    Listed(Vec<String>),
}

impl Route {
    /// Creates a route (a possible result of a router) to these targets. The route is not a
    /// loop-back (a route to an earlier node).
    pub fn to(targets: impl IntoIterator<Item = Target>) -> Self {
        Route { targets: targets.into_iter().collect(), loopback: false }
    }

    /// Returns the same route (possible result of a router), but marked as a loop-back, which leads
    /// to an earlier node.
    #[must_use]
    pub fn looping_back(mut self) -> Self {
        self.loopback = true;
        self
    }

    /// Returns the nodes that the route (a possible result of a router) selects for this output.
    /// `next` are the next nodes of the router's node.
    pub fn resolve(&self, next: &[NodeId], output: &Value) -> Vec<NodeId> {
        self.targets_to_node_ids(next, |path| {
            let field = path.iter().try_fold(output, |value, name| value.get(name));
            match field {
                Some(Value::String(one)) => vec![one.as_str().into()],
                Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(Into::into).collect(),
                _ => Vec::new(),
            }
        })
    }

    /// Returns each node to which this result of a router may lead, whatever the output of the
    /// previous node is. `next` are the nodes that may follow. If the rules read the target from
    /// the output, any of them is possible.
    pub fn possible(&self, next: &[NodeId]) -> Vec<NodeId> {
        self.targets_to_node_ids(next, |_| next.to_vec())
    }

    fn targets_to_node_ids(
        &self,
        next: &[NodeId],
        read_listed: impl Fn(&[String]) -> Vec<NodeId>,
    ) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        for target in &self.targets {
            match target {
                Target::Next(slot) => match next.get(*slot) {
                    Some(node) => nodes.push(node.clone()),
                    None => nodes.extend_from_slice(next),
                },
                Target::Every => nodes.extend_from_slice(next),
                Target::Node(node) => nodes.push(node.clone()),
                Target::Listed(path) => nodes.extend(read_listed(path)),
            }
        }
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn targets_are_looked_up_among_the_next_nodes_and_in_the_output() {
        let listed = |path: &[&str]| Target::Listed(path.iter().map(|name| (*name).to_owned()).collect());
        let output = json!({"next": ["b", 7, "zzz", "b"], "plan": {"one": "a"}, "n": 5});
        let cases: Vec<(Vec<Target>, &[&str])> = vec![
            (vec![Target::Next(0)], &["a"]),
            (vec![Target::Next(1), Target::Next(0)], &["b", "a"]),
            (vec![Target::Next(2)], &["a", "b"]),
            (vec![Target::Every], &["a", "b"]),
            (vec![Target::Node("x".into())], &["x"]),
            (vec![listed(&["next"])], &["b", "zzz", "b"]),
            (vec![listed(&["plan", "one"])], &["a"]),
            (vec![listed(&["n"]), listed(&["gone"]), listed(&["plan", "gone"]), listed(&["n", "x"])], &[]),
            (vec![], &[]),
        ];
        for (targets, expected) in cases {
            let route = Route::to(targets);
            assert_eq!(route.resolve(&["a".into(), "b".into()], &output), expected, "{route:?}");
        }
    }
}
