//! A `router` of a rules file as a [`ConditionalRouter`]: workflows decide where outputs go without
//! a line of Rust.

use super::node::NodeId;
use super::router::{ConditionalRouter, Route, Target};
use rulec::internals::sema::hir::{
    Destination, ExprKind, NEXT, OUTPUT, Outcome, Program, TableId, TableKind,
};
use rulec::{Rules, UnknownEntry};
use serde_json::{Value, json};

/// A `router NAME(output) { … }` of a rule set.
#[derive(Clone, Debug)]
pub struct RulesRouter {
    rules: Rules,
    table: TableId,
    routes: Vec<Route>,
}

impl RulesRouter {
    /// The router of that name.
    ///
    /// # Errors
    /// When the rules have none.
    pub fn new(rules: &Rules, name: &str) -> Result<RulesRouter, UnknownEntry> {
        let table = rules.entry_of_kind(name, TableKind::Router)?.id();
        Ok(RulesRouter { rules: rules.clone(), table, routes: routes(rules.program(), table) })
    }
}

impl ConditionalRouter for RulesRouter {
    fn route(&self, output: &Value, next: &[NodeId]) -> Route {
        let next: Vec<&str> = next.iter().map(|id| &**id).collect();
        let message = json!({ OUTPUT: output, NEXT: next });
        let decision = self.rules.table(self.table).decide(&message);
        match decision.next() {
            Some(next) => Route {
                targets: next.nodes.iter().map(|id| Target::Node(id.as_str().into())).collect(),
                loopback: next.loopback,
            },
            None => Route::to([Target::Every]),
        }
    }

    fn routes(&self, _: &[NodeId]) -> Vec<Route> {
        self.routes.clone()
    }
}

/// The answers a router can give, as it is written.
fn routes(program: &Program, table: TableId) -> Vec<Route> {
    let rules = program.tables[table.index()].order.iter().map(|id| &program.rules[id.index()]);
    rules
        .filter_map(|rule| match &rule.outcome {
            Outcome::Next { destinations, loopback, .. } => {
                let targets = destinations.iter().map(|destination| match destination {
                    Destination::All => Target::Every,
                    Destination::At(slot) => Target::Next(*slot as usize),
                    Destination::Node(id) => Target::Node((&**id).into()),
                    Destination::Named(value) => Target::Listed(match program.value(*value).kind {
                        ExprKind::Slot(slot) => {
                            program.slots[slot.index()].path.iter().skip(1).map(ToString::to_string).collect()
                        }
                        _ => Vec::new(),
                    }),
                });
                Some(Route { targets: targets.collect(), loopback: *loopback })
            }
            _ => None,
        })
        .collect()
}
