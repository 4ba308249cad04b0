//! A benchmark case: rules, a tree walker for the same rules, and messages in three mixes. A mix is
//! defined by the position of the first matching route. Before the timing starts, rules and walker
//! must give the same answers.

use super::messages::messages;
use super::rules::{self, Kind};
use super::walker::Walker;
use rulec::Rules;
use serde_json::Value as Json;

/// Rules, the tree walker for the same rules, and messages for both.
pub struct Case {
    pub rules: Rules,
    pub walker: Walker,
    /// Messages whose first matching route is in the first third of the routes.
    pub early: Vec<Json>,
    /// Messages whose first matching route is in the second half of the routes.
    pub late: Vec<Json>,
    /// Messages that no route matches.
    pub none: Vec<Json>,
}

/// Maximum number of messages in each mix.
const EACH: usize = 200;

impl Case {
    /// Creates `count` routes of the kind, and collects messages for each mix from many generated
    /// messages. With `declared`, the rules have an `input` block.
    pub fn new(count: usize, kind: Kind, declared: bool) -> Case {
        let routes = rules::routes(count, kind, 7);
        let source = rules::file(&routes, declared);
        let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let walker = Walker::new(&routes);
        let (mut early, mut late, mut none) = (Vec::new(), Vec::new(), Vec::new());
        for message in messages(60_000, &rules::phrases(&routes), 11) {
            let expected = walker.decide(&message);
            let decided = rules.decide(&message);
            let chosen = decided.chosen().filter(|_| !decided.is_default());
            assert_eq!(chosen, expected, "{message}\n{source}");
            let mix = match expected.and_then(|name| walker.rank(name)) {
                None => &mut none,
                Some(rank) if rank * 3 < count => &mut early,
                Some(rank) if rank * 2 >= count => &mut late,
                Some(_) => continue,
            };
            if mix.len() < EACH {
                mix.push(message);
            }
        }
        Case { rules, walker, early, late, none }
    }

    /// Returns the mixes with their names.
    pub fn mixes(&self) -> [(&'static str, &[Json]); 3] {
        [("early", &self.early), ("late", &self.late), ("none", &self.none)]
    }

    /// Returns the messages of all three mixes, in alternation.
    pub fn mixed(&self) -> Vec<Json> {
        let mixes = self.mixes().map(|(_, mix)| mix);
        (0..EACH).flat_map(|at| mixes.into_iter().filter_map(move |mix| mix.get(at).cloned())).collect()
    }
}
