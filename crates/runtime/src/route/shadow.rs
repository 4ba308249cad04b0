//! Rules beside those in force: they decide every message as well, and nobody acts on it. What they would have done
//! otherwise is counted by route, until they are put in force or taken away.

use super::build::{RouterError, Warning};
use super::difference::{Difference, Part, Place};
use super::{Active, Router, Shared, Swapped};
use rulec::{Decision, LiveRules};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most pairs of routes that are counted one by one.
const MAX_PAIRS: usize = 10_000;

/// Rules that decide beside those in force.
pub(super) struct Shadow {
    active: Active,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    messages: u64,
    different: u64,
    pairs: BTreeMap<(Place, Place), Differences>,
}

/// The messages that took one route, and would have taken another or done something else by it. One message may differ
/// in several ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// All of them.
    pub messages: u64,
    /// Those that another handler would have got.
    pub handler: u64,
    /// Those whose handler would have got other arguments.
    pub args: u64,
    /// Those with other metadata.
    pub metadata: u64,
}

/// The differences from one route to another, which may be the same by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PairStats {
    /// The route that the rules in force chose.
    pub from: Place,
    /// The one that the shadow chose.
    pub to: Place,
    /// The number of messages, and in what they differ.
    pub differences: Differences,
}

/// The messages that rules beside those in force would have decided otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShadowStats {
    /// The generation of the shadow.
    pub generation: u64,
    /// The messages that both decided.
    pub messages: u64,
    /// Those decided otherwise.
    pub different: u64,
    /// Each pair of routes between which messages differ, the most frequent first. Beyond ten thousand, pairs are counted in
    /// `different` alone.
    pub pairs: Vec<PairStats>,
}

/// The generations that a router can put in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Generations {
    /// The one that decides.
    pub in_force: u64,
    /// The one that decides beside it.
    pub shadow: Option<u64>,
    /// Those that were in force before and are kept, the latest first.
    pub previous: Vec<u64>,
}

/// The reason for which a generation was not put in force. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SwitchError {
    /// No rules decide beside those in force.
    #[error("no rules are in the shadow; put some there: `router.shadow(rules)`")]
    NoShadow,
    /// The rules in the shadow are others by now.
    #[error(
        "generation {asked} is not in the shadow, which is generation {is} by now; look at its differences first"
    )]
    OtherShadow {
        /// The generation asked for.
        asked: u64,
        /// The one in the shadow.
        is: u64,
    },
    /// These rules were never in force, or are not kept any more, or were edited since.
    #[error("generation {asked} is not kept{}", known(kept))]
    NotKept {
        /// The generation asked for.
        asked: u64,
        /// Those that are kept, the latest first.
        kept: Vec<u64>,
    },
    /// The rules do not fit the router.
    #[error(transparent)]
    Router(#[from] RouterError),
}

fn known(kept: &[u64]) -> String {
    let kept: Vec<String> = kept.iter().map(u64::to_string).collect();
    match kept.is_empty() {
        true => "; no rules were replaced yet, or the router was built with `keep(0)`".to_owned(),
        false => format!("; kept are {}", kept.join(", ")),
    }
}

impl Shadow {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides a message again, and counts in what that is another decision.
    pub fn observe(&self, shared: &Shared, decided: &Decision, message: &Json) -> Option<Difference> {
        let rules = &self.active.rules;
        // An edit may have removed the entry from the shadow, which then decides nothing.
        let instead = shared.decide(rules, message).ok();
        let generation = instead.as_ref().map_or_else(|| rules.generation(), Decision::generation);
        let difference = Difference::between(decided, instead.as_ref(), generation);
        let tally = &mut *self.tally();
        tally.messages += 1;
        let difference = difference?;
        tally.different += 1;
        let pair = (difference.from.clone(), difference.to.clone());
        if tally.pairs.len() < MAX_PAIRS || tally.pairs.contains_key(&pair) {
            let count = tally.pairs.entry(pair).or_default();
            count.messages += 1;
            count.handler += u64::from(difference.is_in(Part::Handler));
            count.args += u64::from(difference.is_in(Part::Args));
            count.metadata += u64::from(difference.is_in(Part::Metadata));
        }
        Some(difference)
    }

    fn stats(&self) -> ShadowStats {
        let tally = self.tally();
        let pair = |((from, to), differences): (&(Place, Place), &Differences)| PairStats {
            from: from.clone(),
            to: to.clone(),
            differences: *differences,
        };
        let mut pairs: Vec<PairStats> = tally.pairs.iter().map(pair).collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.differences.messages));
        ShadowStats {
            generation: self.active.rules.generation(),
            messages: tally.messages,
            different: tally.different,
            pairs,
        }
    }
}

impl Router {
    /// Puts rules beside those in force: from now on they decide every message as well, on the caller's task and after the
    /// decision that counts. No handler hears of it; their host functions are called. What they would have done otherwise is counted by route
    /// ([`Router::shadow_stats`]), and stands in the decision log's lines of the messages that differ. Rules that were in
    /// the shadow before leave it.
    ///
    /// # Errors
    /// When the rules could not be put in force: the entry is not among them, or a target has no handler.
    pub fn shadow(&self, rules: impl Into<LiveRules>) -> Result<Vec<Warning>, RouterError> {
        let active = self.validated(rules.into())?;
        let (generation, warnings) = (active.rules.generation(), active.warnings.clone());
        let _switching = self.switching();
        self.shared.shadow.store(Some(Arc::new(Shadow { active, tally: Mutex::default() })));
        tracing::info!(target: "rulec::router", generation, "rules decide in the shadow");
        Ok(warnings)
    }

    /// Tells what the rules in the shadow would have done otherwise so far; `None` when there are none.
    pub fn shadow_stats(&self) -> Option<ShadowStats> {
        self.shared.shadow.load().as_ref().map(|shadow| shadow.stats())
    }

    /// Takes the rules in the shadow away, and tells what they would have done otherwise.
    pub fn end_shadow(&self) -> Option<ShadowStats> {
        let _switching = self.switching();
        self.shared.shadow.swap(None).map(|shadow| shadow.stats())
    }

    /// Puts the rules of the shadow in force. Their generation is named, so that nobody promotes what another has put there meanwhile.
    ///
    /// # Errors
    /// When the shadow is another or there is none, and when its rules were edited so that they do not fit any more.
    pub fn promote(&self, generation: u64) -> Result<Swapped, SwitchError> {
        let mut previous = self.switching();
        let shadow = self.shared.shadow.load_full().ok_or(SwitchError::NoShadow)?;
        let is = shadow.active.rules.generation();
        if is != generation {
            return Err(SwitchError::OtherShadow { asked: generation, is });
        }
        let next = self.validated(shadow.active.rules.clone())?;
        self.shared.shadow.store(None);
        Ok(self.put_in_force(next, &mut previous))
    }

    /// Puts rules in force again that were before: a generation of [`Router::generations`]. How many are kept says
    /// [`RouterBuilder::keep`](super::RouterBuilder::keep).
    ///
    /// # Errors
    /// When it is not kept, and when its rules were edited so that they do not fit any more.
    pub fn roll_back(&self, generation: u64) -> Result<Swapped, SwitchError> {
        let mut previous = self.switching();
        let Some(rules) = previous.get(generation) else {
            return Err(SwitchError::NotKept { asked: generation, kept: previous.generations() });
        };
        let next = self.validated(rules)?;
        previous.forget(generation);
        Ok(self.put_in_force(next, &mut previous))
    }

    /// The generations that this router can put in force.
    pub fn generations(&self) -> Generations {
        let previous = self.switching();
        Generations {
            in_force: self.rules().generation(),
            shadow: self.shared.shadow.load().as_ref().map(|shadow| shadow.active.rules.generation()),
            previous: previous.generations(),
        }
    }
}
