//! Routers decide where an output goes. A router names targets; the engine looks them up. Whether an
//! edge is a loop-back is declared by the rule that takes it, never guessed from its position.

use rulec_lang::graph::{NodeId, Route, Target};
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
