//! The difference between two decisions of one message, as far as its sender would notice.

use rulec::Decision;
use serde::Serialize;

/// A place where messages end: a route in its table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The table; the entry for messages without a route.
    pub table: String,
    /// The route's name, or `default`; `None` for messages without a route.
    pub route: Option<String>,
}

impl Place {
    fn of(decision: &Decision) -> Place {
        let table =
            decision.path().last().map_or_else(|| decision.entry().to_owned(), |&table| table.to_owned());
        Place { table, route: decision.chosen().map(str::to_owned) }
    }
}

/// The parts of a decision that its sender or its handler would notice. In the decision log they go by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Route,
    Handler,
    Args,
    Metadata,
}

/// A decision that is another than the one that counts. In the decision log it is a part of the message's line.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Difference {
    #[serde(skip)]
    pub from: Place,
    generation: u64,
    #[serde(flatten)]
    pub to: Place,
    handler: Option<String>,
    differs: Vec<Part>,
}

impl Difference {
    /// The difference between the decision that counts and the other one, which rules of this generation made; `None` when
    /// they are alike.
    pub fn between(decided: &Decision, instead: Option<&Decision>, generation: u64) -> Option<Difference> {
        let from = Place::of(decided);
        let to = instead.map_or_else(|| Place { table: decided.entry().to_owned(), route: None }, Place::of);
        let differs =
            |same: fn(&Decision, &Decision) -> bool| instead.is_none_or(|other| !same(decided, other));
        let parts = [
            (Part::Route, from != to),
            (Part::Handler, decided.target() != instead.and_then(Decision::target)),
            (Part::Args, differs(|a, b| a.args() == b.args())),
            (Part::Metadata, differs(|a, b| a.metadata() == b.metadata())),
        ];
        let differs: Vec<Part> =
            parts.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect();
        let handler = instead.and_then(Decision::target).map(str::to_owned);
        (!differs.is_empty()).then_some(Difference { from, generation, to, handler, differs })
    }

    /// True when they differ in this part.
    pub fn is_in(&self, part: Part) -> bool {
        self.differs.contains(&part)
    }
}
