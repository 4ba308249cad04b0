//! Shadow rules, to try new rules with real messages. They decide every message in addition to the
//! active rules, but no handler runs for their decisions. Their differences from the active rules
//! are counted per route, until they become active or are removed.

use super::build::RouterError;
use super::difference::{DecisionDifference, DecisionPart, RoutePosition};
use super::warning::Warning;
use super::{ActiveRules, Router, RouterShared, Swapped};
use rulec::{Decision, LiveRules};
use rulec_base::diag::{Message, comma_list};
use rulec_base::message;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of route pairs whose differences are counted separately. A pair is the route of
/// the active rules and the route of the shadow rules. The limit is needed because edits can add
/// new routes without end.
const MAX_COUNTED_PAIRS: usize = 10_000;

/// Rules that decide every message only to compare their decisions with the decisions of the active
/// rules.
pub(super) struct ShadowRules {
    validated_rules: ActiveRules,
    counts: Mutex<ShadowCounts>,
}

#[derive(Default)]
struct ShadowCounts {
    message_count: u64,
    different_count: u64,
    differences_by_pair: BTreeMap<(RoutePosition, RoutePosition), Differences>,
}

/// Counts for one pair of routes: the route that the active rules selected, and the route that the
/// shadow rules selected. Each count is the number of messages whose decisions differ in one
/// respect, such as the handler. One message may count several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// Number of messages whose two decisions differ in any respect.
    pub messages: u64,
    /// Number of messages for which the two decisions select different handlers.
    pub handler: u64,
    /// Number of messages for which the two decisions compute different arguments.
    pub args: u64,
    /// Number of messages for which the two decisions have different metadata.
    pub metadata: u64,
}

/// Counts of the differences for one pair of routes. The two routes may be equal, for example if
/// only the arguments differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PairStats {
    /// The route that the active rules selected.
    pub from: RoutePosition,
    /// The route that the shadow rules selected.
    pub to: RoutePosition,
    /// Counts of the messages whose two decisions differ, in total, by handler, by arguments and by
    /// metadata.
    pub differences: Differences,
}

/// Counts of the messages that the shadow rules would have decided differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShadowStats {
    /// Version number (generation) of the shadow rules.
    pub generation: u64,
    /// Number of messages that both the active and the shadow rules decided.
    pub messages: u64,
    /// Number of messages that the active and the shadow rules decided differently.
    pub different: u64,
    /// The pairs of routes with differences, the most frequent first. At most 10,000 pairs are
    /// listed; later ones are counted only in `different`.
    pub pairs: Vec<PairStats>,
}

/// The generations (version numbers) of a router's active rules, and of the rules that can become
/// active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Generations {
    /// Generation (version number) of the active rules.
    pub in_force: u64,
    /// Generation of the shadow rules, which decide for comparison only; `None` if there are none.
    pub shadow: Option<u64>,
    /// Generations of the earlier rules that the router stores for [`Router::roll_back`], the
    /// latest first.
    pub previous: Vec<u64>,
}

/// The reason why a rule set was not made active. The active rules then stay unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum SwitchError {
    /// There are no shadow rules that could become active.
    NoShadow,
    /// The shadow rules have another generation (version number) than the caller named, for example
    /// because another caller replaced them.
    OtherShadow {
        /// The generation (version number) that the caller named.
        asked: u64,
        /// The generation (version number) of the current shadow rules.
        is: u64,
    },
    /// The router stores no earlier rule set of this generation (version number). The rule set was
    /// never active, is no longer stored, or was edited since.
    NotKept {
        /// The generation (version number) that the caller named.
        asked: u64,
        /// The generations (version numbers) of the stored earlier rule sets, the latest first.
        kept: Vec<u64>,
    },
    /// The rules lack the table where decisions start, or one of their targets has no handler.
    #[error(transparent)]
    Router(#[from] RouterError),
}

impl SwitchError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            SwitchError::NoShadow => {
                message!("no rules are in the shadow; put some there: `router.shadow(rules)`")
            }
            SwitchError::OtherShadow { asked, is } => message!(
                "generation {asked} is not in the shadow, which is now generation {is}; look at its differences first"
            ),
            SwitchError::NotKept { asked, kept } => match &kept[..] {
                [] => message!(
                    "generation {asked} is not kept; no rules were replaced yet, or the router keeps none"
                ),
                kept => message!("generation {asked} is not kept; kept are {}", comma_list(kept)),
            },
            SwitchError::Router(error) => error.to_message(),
        }
    }
}

impl ShadowRules {
    fn lock_counts(&self) -> MutexGuard<'_, ShadowCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides a message again with the shadow rules. Counts and returns the difference from
    /// `active_decision`, the decision of the active rules. Returns `None` if the decisions are
    /// equal.
    pub async fn compare_decision(
        &self,
        shared: &RouterShared,
        active_decision: &Decision,
        message: &Json,
    ) -> Option<DecisionDifference> {
        let rules = &self.validated_rules.rules;
        // The result is `None` if an edit has removed the entry table from the shadow rules.
        let shadow_decision = rulec::decide_async(|| shared.decide(rules, message)).await.ok();
        let generation = shadow_decision.as_ref().map_or_else(|| rules.generation(), Decision::generation);
        let difference =
            DecisionDifference::between_decisions(active_decision, shadow_decision.as_ref(), generation);
        let counts = &mut *self.lock_counts();
        counts.message_count += 1;
        let difference = difference?;
        counts.different_count += 1;
        let pair = (difference.active_route.clone(), difference.shadow_route.clone());
        if counts.differences_by_pair.len() < MAX_COUNTED_PAIRS
            || counts.differences_by_pair.contains_key(&pair)
        {
            let count = counts.differences_by_pair.entry(pair).or_default();
            count.messages += 1;
            count.handler += u64::from(difference.differs_in(DecisionPart::Handler));
            count.args += u64::from(difference.differs_in(DecisionPart::Args));
            count.metadata += u64::from(difference.differs_in(DecisionPart::Metadata));
        }
        Some(difference)
    }

    fn stats(&self) -> ShadowStats {
        let counts = self.lock_counts();
        let to_pair_stats = |((from, to), differences): (&(RoutePosition, RoutePosition), &Differences)| {
            PairStats { from: from.clone(), to: to.clone(), differences: *differences }
        };
        let mut pairs: Vec<PairStats> = counts.differences_by_pair.iter().map(to_pair_stats).collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.differences.messages));
        ShadowStats {
            generation: self.validated_rules.rules.generation(),
            messages: counts.message_count,
            different: counts.different_count,
            pairs,
        }
    }
}

impl Router {
    /// Sets the shadow rules, and replaces earlier shadow rules. After this call, the shadow rules
    /// also decide every message: on the caller's task, after the decision of the active rules. A
    /// shadow decision calls no handler, but it calls the program's functions that the rules use.
    ///
    /// Differences from the active rules are counted per route; see [`Router::shadow_stats`]. The
    /// decision log also records the difference in the line of each message that differs.
    ///
    /// # Errors
    /// If the rules could not become active, because they lack the entry table or one of their
    /// targets has no handler.
    pub fn shadow(&self, rules: impl Into<LiveRules>) -> Result<Vec<Warning>, RouterError> {
        let checked = self.validate(rules.into())?;
        let (generation, warnings) = (checked.rules.generation(), checked.warnings.clone());
        let _switching = self.lock_previous_rules();
        self.shared
            .shadow_rules
            .store(Some(Arc::new(ShadowRules { validated_rules: checked, counts: Mutex::default() })));
        tracing::info!(target: "rulec::router", generation, "rules decide in the shadow");
        Ok(warnings)
    }

    /// Returns the counts of the differences between the active and the shadow rules. `None` if
    /// there are no shadow rules.
    pub fn shadow_stats(&self) -> Option<ShadowStats> {
        self.shared.shadow_rules.load().as_ref().map(|shadow| shadow.stats())
    }

    /// Removes the shadow rules, and returns the counts of their differences from the active rules.
    /// `None` if there were no shadow rules.
    pub fn end_shadow(&self) -> Option<ShadowStats> {
        let _switching = self.lock_previous_rules();
        self.shared.shadow_rules.swap(None).map(|shadow| shadow.stats())
    }

    /// Makes the shadow rules active. The caller names their generation (version number), so that
    /// the call fails if another caller has replaced the shadow rules.
    ///
    /// # Errors
    /// If there are no shadow rules, if they have another generation, or if they no longer pass the
    /// checks of [`Router::swap`]. The shadow rules passed these checks before, but may have been
    /// edited since.
    pub fn promote(&self, generation: u64) -> Result<Swapped, SwitchError> {
        let mut previous = self.lock_previous_rules();
        let shadow = self.shared.shadow_rules.load_full().ok_or(SwitchError::NoShadow)?;
        let shadow_generation = shadow.validated_rules.rules.generation();
        if shadow_generation != generation {
            return Err(SwitchError::OtherShadow { asked: generation, is: shadow_generation });
        }
        let next = self.validate(shadow.validated_rules.rules.clone())?;
        self.shared.shadow_rules.store(None);
        Ok(self.activate(next, &mut previous))
    }

    /// Makes the earlier rule set of this generation (version number) active again.
    /// [`Router::generations`] returns the generations that the router stores, and
    /// [`RouterBuilder::keep`](super::RouterBuilder::keep) sets their number.
    ///
    /// # Errors
    /// If no rule set of this generation is stored, or if the rule set no longer passes the checks
    /// of [`Router::swap`]. The rule set passed these checks before, but may have been edited
    /// since.
    pub fn roll_back(&self, generation: u64) -> Result<Swapped, SwitchError> {
        let mut previous = self.lock_previous_rules();
        let Some(rules) = previous.get(generation) else {
            return Err(SwitchError::NotKept { asked: generation, kept: previous.generations() });
        };
        let next = self.validate(rules)?;
        previous.forget_generation(generation);
        Ok(self.activate(next, &mut previous))
    }

    /// Returns the generations (version numbers) of the active, shadow and earlier rules.
    pub fn generations(&self) -> Generations {
        let previous = self.lock_previous_rules();
        Generations {
            in_force: self.rules().generation(),
            shadow: self
                .shared
                .shadow_rules
                .load()
                .as_ref()
                .map(|shadow| shadow.validated_rules.rules.generation()),
            previous: previous.generations(),
        }
    }
}
