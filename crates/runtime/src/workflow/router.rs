//! Routers decide where an output goes. A router names targets; the engine looks them up. Whether an
//! edge is a loop-back is declared by the rule that takes it, never guessed from its position.

use super::node::NodeId;
use serde_json::Value;

/// Chooses among a node's next nodes by its output.
///
/// A `router NAME(output) { … }` of a rules file is one: `route` answers with the first rule that
/// matches, `routes` lists all of them.
pub trait ConditionalRouter: Send + Sync {
    /// Decides where this output goes. `next` are the node's next nodes, in order.
    fn route(&self, output: &Value, next: &[NodeId]) -> Route;

    /// Every answer that `route` can give, in order. It is read when the graph is built: the edges
    /// of a loop-back are left out of the join counts, and ways that exclude each other are found.
    fn routes(&self, next: &[NodeId]) -> Vec<Route>;
}

/// One answer of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The nodes that receive the output, one after the other.
    pub targets: Vec<Target>,
    /// The targets run at once, and what waits there is cleared.
    pub loopback: bool,
}

/// A node as a route names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// `next[i]`. Where there is no such node, every next node.
    Next(usize),
    /// Every next node.
    Every,
    /// A node by its name.
    Node(NodeId),
    /// The nodes whose names stand in a field of the output, as a list or as one text. The field is
    /// a path: `["plan", "next"]` is `output.plan.next`. Anything else in it names no node.
    Listed(Vec<String>),
}

impl Route {
    /// To these targets, not as a loop-back.
    pub fn to(targets: impl IntoIterator<Item = Target>) -> Self {
        Route { targets: targets.into_iter().collect(), loopback: false }
    }

    /// The same as a loop-back.
    #[must_use]
    pub fn looping_back(mut self) -> Self {
        self.loopback = true;
        self
    }

    /// The nodes it leads to for this output.
    pub(super) fn resolve(&self, next: &[NodeId], output: &Value) -> Vec<NodeId> {
        self.expand(next, |path| {
            let field = path.iter().try_fold(output, |value, name| value.get(name));
            match field {
                Some(Value::String(one)) => vec![one.as_str().into()],
                Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).map(Into::into).collect(),
                _ => Vec::new(),
            }
        })
    }

    /// The nodes it may lead to. What only an output can list is taken to be among the next nodes.
    pub(super) fn possible(&self, next: &[NodeId]) -> Vec<NodeId> {
        self.expand(next, |_| next.to_vec())
    }

    fn expand(&self, next: &[NodeId], listed: impl Fn(&[String]) -> Vec<NodeId>) -> Vec<NodeId> {
        let mut found = Vec::new();
        for target in &self.targets {
            match target {
                Target::Next(slot) => match next.get(*slot) {
                    Some(node) => found.push(node.clone()),
                    None => found.extend_from_slice(next),
                },
                Target::Every => found.extend_from_slice(next),
                Target::Node(node) => found.push(node.clone()),
                Target::Listed(path) => found.extend(listed(path)),
            }
        }
        found
    }
}

type Test = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// A router made of tests in Rust: the first that holds decides. Without `otherwise`, what no test
/// takes goes to every next node.
pub struct FirstMatch {
    rules: Vec<(Test, Route)>,
    otherwise: Route,
}

impl FirstMatch {
    /// No rule yet.
    pub fn new() -> Self {
        FirstMatch { rules: Vec::new(), otherwise: Route::to([Target::Every]) }
    }

    /// Outputs for which `test` holds go here.
    #[must_use]
    pub fn when(mut self, test: impl Fn(&Value) -> bool + Send + Sync + 'static, route: Route) -> Self {
        self.rules.push((Box::new(test), route));
        self
    }

    /// All other outputs go here.
    #[must_use]
    pub fn otherwise(mut self, route: Route) -> Self {
        self.otherwise = route;
        self
    }
}

impl Default for FirstMatch {
    fn default() -> Self {
        FirstMatch::new()
    }
}

impl ConditionalRouter for FirstMatch {
    fn route(&self, output: &Value, _: &[NodeId]) -> Route {
        let found = self.rules.iter().find(|(test, _)| test(output));
        found.map_or(&self.otherwise, |(_, route)| route).clone()
    }

    fn routes(&self, _: &[NodeId]) -> Vec<Route> {
        self.rules.iter().map(|(_, route)| route).chain([&self.otherwise]).cloned().collect()
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
