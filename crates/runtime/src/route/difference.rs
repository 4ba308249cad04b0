//! The visible difference between two decisions of one message.

use rulec::Decision;
use serde::Serialize;

/// The route that was selected for a message, and the route's table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RoutePosition {
    /// Name of the route's table. If no route matched, name of the entry table.
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
/// part's name in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DecisionPart {
    Route,
    Handler,
    Args,
    Metadata,
}

/// How the shadow rules' decision of a message differs from the active rules' decision. The
/// decision log writes the difference as the field `shadow`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Difference {
    #[serde(skip)]
    pub from: RoutePosition,
    generation: u64,
    #[serde(flatten)]
    pub to: RoutePosition,
    handler: Option<String>,
    differs: Vec<DecisionPart>,
}

impl Difference {
    /// Compares `decided`, the decision of the active rules, with `instead`, the decision of the
    /// shadow rules. `instead` is `None` if the shadow rules could not decide. Returns `None` if
    /// the decisions are equal.
    pub fn between(decided: &Decision, instead: Option<&Decision>, generation: u64) -> Option<Difference> {
        let from = RoutePosition::from_decision(decided);
        let to = instead.map_or_else(
            || RoutePosition { table: decided.entry().to_owned(), route: None },
            RoutePosition::from_decision,
        );
        let differs =
            |same: fn(&Decision, &Decision) -> bool| instead.is_none_or(|other| !same(decided, other));
        let parts = [
            (DecisionPart::Route, from != to),
            (DecisionPart::Handler, decided.target() != instead.and_then(Decision::target)),
            (DecisionPart::Args, differs(|a, b| a.args() == b.args())),
            (DecisionPart::Metadata, differs(|a, b| a.metadata() == b.metadata())),
        ];
        let differs: Vec<DecisionPart> =
            parts.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect();
        let handler = instead.and_then(Decision::target).map(str::to_owned);
        (!differs.is_empty()).then_some(Difference { from, generation, to, handler, differs })
    }

    /// True if the decisions differ in this part.
    pub fn differs_in(&self, part: DecisionPart) -> bool {
        self.differs.contains(&part)
    }
}
