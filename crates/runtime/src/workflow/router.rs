//! Routers select the next nodes that receive a node's output. A router returns a [`Route`], and
//! the engine resolves the targets of the route to nodes. The route declares whether it is a
//! loop-back (an edge to an earlier node). The engine never infers loop-backs from the order of the
//! nodes.

use rulec_lang::graph::{NodeId, Route, Target};
use serde_json::Value;

/// Selects among a node's next nodes, given the node's output.
///
/// A `router NAME(output) { … }` of a rules file implements this trait: `route` returns the route
/// of the first matching rule, and `routes` lists the routes of all rules.
pub trait ConditionalRouter: Send + Sync {
    /// Selects the nodes that receive this output. `next` lists the node's next nodes, in order.
    fn route(&self, output: &Value, next: &[NodeId]) -> Route;

    /// Selects the nodes that receive this output, and returns their ids. `all_next_ids` lists the
    /// node's next nodes, in order.
    fn next_nodes(&self, output: &Value, all_next_ids: &[NodeId]) -> Vec<NodeId> {
        self.route(output, all_next_ids).resolve(all_next_ids, output)
    }

    /// Returns every possible result of `route`, in order. Called when the workflow is built, to
    /// find mutually exclusive paths and loop-backs (edges to an earlier node) in the graph. A node
    /// with several incoming edges does not wait for loop-backs.
    fn routes(&self, next: &[NodeId]) -> Vec<Route>;
}

type Predicate = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// A router of Rust predicates: the first predicate that is true for a node's output selects the
/// route. Without `otherwise`, an output that no predicate matches is sent to every next node.
pub struct FirstMatch {
    rules: Vec<(Predicate, Route)>,
    otherwise: Route,
}

impl FirstMatch {
    /// Creates a router without predicates; see [`FirstMatch::when`].
    pub fn new() -> Self {
        FirstMatch { rules: Vec::new(), otherwise: Route::to([Target::Every]) }
    }

    /// Adds a predicate: outputs for which `test` is true are sent to `route`, unless an earlier
    /// predicate is true.
    #[must_use]
    pub fn when(mut self, test: impl Fn(&Value) -> bool + Send + Sync + 'static, route: Route) -> Self {
        self.rules.push((Box::new(test), route));
        self
    }

    /// Sets the route of all outputs for which no predicate is true.
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
        let matching_rule = self.rules.iter().find(|(test, _)| test(output));
        matching_rule.map_or(&self.otherwise, |(_, route)| route).clone()
    }

    fn routes(&self, _: &[NodeId]) -> Vec<Route> {
        self.rules.iter().map(|(_, route)| route).chain([&self.otherwise]).cloned().collect()
    }
}
