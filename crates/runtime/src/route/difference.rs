//! The difference between the decisions of two rule sets about the same message. Only what the
//! sender or the handler can observe is compared, such as the arguments.

use rulec::Decision;
use serde::Serialize;

/// The route that a decision selected, identified by the name of its table and the name of the
/// route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RoutePosition {
    /// Name of the route's table. If no route matched, name of the table where the decision
    /// started.
    pub table: String,
    /// Name of the route, or `default`; `None` if no route matched.
    pub route: Option<String>,
}

impl RoutePosition {
    fn from_decision(decision: &Decision) -> RoutePosition {
        let table =
            decision.path().last().map_or_else(|| decision.entry().to_owned(), |&table| table.to_owned());
        RoutePosition { table, route: decision.chosen().map(str::to_owned) }
    }
}

/// A part of a decision that the sender or the handler can observe. The decision log writes the
/// part's name in snake case, such as `route`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DecisionPart {
    Route,
    Handler,
    Args,
    Metadata,
}

/// How the decision of the shadow rules (which decide for comparison only) differs from the
/// decision of the active rules. The decision log writes the difference as the field `shadow`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DecisionDifference {
    #[serde(skip)]
    pub active_route: RoutePosition,
    generation: u64,
    #[serde(flatten)]
    pub shadow_route: RoutePosition,
    handler: Option<String>,
    differs: Vec<DecisionPart>,
}

impl DecisionDifference {
    /// Compares the decisions of the active and the shadow rules about one message.
    /// `shadow_decision` is `None` if the shadow rules could not decide, which counts as choosing
    /// no route. `generation` is the version number of the shadow rules. Returns `None` if the
    /// decisions are equal.
    pub fn between_decisions(
        active_decision: &Decision,
        shadow_decision: Option<&Decision>,
        generation: u64,
    ) -> Option<DecisionDifference> {
        let active_route = RoutePosition::from_decision(active_decision);
        let shadow_route = shadow_decision.map_or_else(
            || RoutePosition { table: active_decision.entry().to_owned(), route: None },
            RoutePosition::from_decision,
        );
        let differs = |is_same: fn(&Decision, &Decision) -> bool| {
            shadow_decision.is_none_or(|other| !is_same(active_decision, other))
        };
        let parts = [
            (DecisionPart::Route, active_route != shadow_route),
            (DecisionPart::Handler, active_decision.target() != shadow_decision.and_then(Decision::target)),
            (DecisionPart::Args, differs(|a, b| a.args() == b.args())),
            (DecisionPart::Metadata, differs(|a, b| a.metadata() == b.metadata())),
        ];
        let differs: Vec<DecisionPart> =
            parts.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect();
        let handler = shadow_decision.and_then(Decision::target).map(str::to_owned);
        (!differs.is_empty()).then_some(DecisionDifference {
            active_route,
            generation,
            shadow_route,
            handler,
            differs,
        })
    }

    /// True if the two decisions differ in `part`, such as the handler or the arguments.
    pub fn differs_in(&self, part: DecisionPart) -> bool {
        self.differs.contains(&part)
    }
}
