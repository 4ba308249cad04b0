//! The way in which each route of a table is found: by a key, or by bits of its values.
//!
//! A key must be necessary for its routes and rare. Of the ways a condition offers, the cheapest is
//! taken: how likely a message holds the key, times how many routes could be found by it. Judging a
//! literal by the whole rule set instead of by its length is what keeps posting lists short. A value that would be looked
//! up in every message for the keys of few routes is not worth that: these are found otherwise.

use super::atom::{Atom, Atoms, SetId};
use super::attribute::Class;
use super::cost;
use super::ranges::{RangeAnalysis, ValueRanges};
use rulec_sema::normal::{CondId, NCond, NRoute, Normal};
use std::collections::{BTreeMap, BTreeSet};

/// A key that fewer messages hold is taken, whatever bits can tell.
const RARE: f64 = 0.01;
/// A key that this share of messages holds tells nothing.
const USELESS: f64 = 0.5;
/// Conditions with more ways than this to be found are not searched to the end.
const MAX_WAYS: usize = 64;
/// A value that keys of so many routes ask for is looked up in any case.
const MANY: usize = 64;
/// A table of fewer routes is seldom looked up.
const FEW_ROUTES: usize = 32;
/// A table that looks up more texts and values than this goes over the fields that a message has.
const FEW_VALUES: usize = 24;

/// The share of messages for which the bits of a value are asked: those before may leave no route over.
const ASKED: f64 = 0.5;

/// True when a table that looks up so many texts and values goes over the fields that a message has.
pub(super) fn goes_over_fields(texts: usize, values: usize) -> bool {
    texts + values > FEW_VALUES
}

/// One way to find a route: sets of which one holds whenever its condition does.
pub(super) type Way = Vec<SetId>;

/// The way in which a route is found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Access {
    /// By keys, of which a message must hold one.
    Keys(Way),
    /// By the bits of the values it looks at, those of each of its alternatives.
    Bits(Vec<ValueRanges>),
    /// Nothing rules it out.
    Always,
}

impl Access {
    fn keys(&self) -> &[SetId] {
        if let Access::Keys(way) = self { way } else { &[] }
    }

    /// The values whose bits tell of a route, some twice.
    fn of_bits(&self) -> impl Iterator<Item = u32> {
        let alternatives = if let Access::Bits(alternatives) = self { &alternatives[..] } else { &[] };
        alternatives.iter().flatten().map(|(value, _)| *value)
    }
}

/// Chooses how routes are found.
pub(super) struct Accesses<'n> {
    normal: &'n Normal,
    atoms: &'n Atoms<'n>,
    sets: Vec<&'n [Atom]>,
    pub ranges: RangeAnalysis<'n>,
    /// For each set how many routes could be found by it.
    used: Vec<u32>,
}

impl<'n> Accesses<'n> {
    pub fn new(normal: &'n Normal, atoms: &'n Atoms<'n>) -> Accesses<'n> {
        let mut accesses = Accesses {
            normal,
            atoms,
            sets: atoms.atoms_of_sets(),
            ranges: RangeAnalysis::new(normal, atoms),
            used: vec![0; atoms.likelihood.len()],
        };
        let mut ways = Vec::new();
        for route in normal.tables.iter().flatten() {
            ways.clear();
            accesses.ways(route.cond, &mut ways);
            for set in ways.iter().flatten() {
                accesses.used[*set as usize] += 1;
            }
        }
        accesses
    }

    /// The way in which each route of a table is found.
    pub fn of_table(&self, routes: &[NRoute]) -> Vec<Access> {
        let mut chosen: Vec<(Access, f64)> = routes.iter().map(|route| self.access(route, &[])).collect();
        self.look_less_up(routes, &mut chosen);
        chosen.into_iter().map(|(access, _)| access).collect()
    }

    /// Finds routes in other ways where a value is looked up for the keys of so few that this is cheaper.
    fn look_less_up(&self, routes: &[NRoute], chosen: &mut [(Access, f64)]) {
        let mut found_by: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let (mut in_bits, mut subjects) = (BTreeSet::new(), BTreeSet::new());
        for (at, (access, _)) in chosen.iter().enumerate() {
            subjects.extend(self.subjects(access.keys()));
            self.values(access.keys()).for_each(|value| found_by.entry(value).or_default().push(at));
            in_bits.extend(access.of_bits());
        }
        // A value that the message lacks costs little where its fields are gone over, and few routes are tried in order.
        if goes_over_fields(subjects.len(), found_by.len()) || routes.len() < FEW_ROUTES {
            return;
        }
        let mut order: Vec<u32> = found_by.keys().copied().collect();
        order.sort_by_key(|value| found_by[value].len());
        let mut given_up = Vec::new();
        for value in order {
            let found = &found_by[&value];
            if found.len() >= MANY {
                return;
            }
            given_up.push(value);
            let others: Vec<(Access, f64)> =
                found.iter().map(|at| self.access(&routes[*at], &given_up)).collect();
            let asked = |value: &u32| in_bits.contains(value) || found_by.contains_key(value);
            let new: BTreeSet<u32> = others.iter().flat_map(|(access, _)| access.of_bits()).collect();
            let new = new.iter().filter(|value| !asked(value)).count();
            let left = if in_bits.contains(&value) { ASKED } else { 0.0 };
            let saved = (1.0 - left) * cost::VALUE;
            let before: f64 = found.iter().map(|at| chosen[*at].1).sum();
            let after: f64 = others.iter().map(|(_, cost)| cost).sum();
            let always = others.iter().any(|(access, _)| *access == Access::Always);
            if always || after + new as f64 * ASKED * cost::VALUE >= before + saved {
                given_up.pop();
                continue;
            }
            for (at, other) in found_by.remove(&value).unwrap_or_default().into_iter().zip(others) {
                self.values(other.0.keys()).for_each(|value| found_by.entry(value).or_default().push(at));
                in_bits.extend(other.0.of_bits());
                chosen[at] = other;
            }
        }
    }

    /// The values that are looked up for keys, some twice.
    fn values(&self, way: &[SetId]) -> impl Iterator<Item = u32> {
        way.iter().flat_map(|set| self.sets[*set as usize]).filter_map(|atom| match atom {
            Atom::Class(value, _) | Atom::Element(value, _) => Some(*value),
            Atom::Literal(..) => None,
        })
    }

    /// The subjects whose texts are scanned for keys, some twice.
    fn subjects(&self, way: &[SetId]) -> impl Iterator<Item = u32> {
        way.iter().flat_map(|set| self.sets[*set as usize]).filter_map(|atom| match atom {
            Atom::Literal(subject, _) => Some(*subject),
            Atom::Class(..) | Atom::Element(..) => None,
        })
    }

    /// The ways in which a condition can be found.
    fn ways(&self, cond: CondId, into: &mut Vec<Way>) {
        if into.len() >= MAX_WAYS {
            return;
        }
        match self.normal.cond(cond) {
            NCond::Test { pred, want: true } => {
                into.extend(self.atoms.sets(pred.0).iter().map(|set| vec![*set]));
            }
            NCond::And(parts) => parts.iter().for_each(|part| self.ways(*part, into)),
            NCond::Or(parts) => {
                let mut way = Way::new();
                for part in parts {
                    let mut ways = Vec::new();
                    self.ways(*part, &mut ways);
                    match ways.into_iter().min_by(|a, b| self.likelihood(a).total_cmp(&self.likelihood(b))) {
                        Some(best) => way.extend(best),
                        None => return,
                    }
                }
                way.sort_unstable();
                way.dedup();
                into.push(way);
            }
            // What must not hold has no key, nor has a walk over elements.
            NCond::Test { want: false, .. } | NCond::Not(_) | NCond::Each { .. } | NCond::Const(_) => {}
        }
    }

    fn likelihood(&self, way: &Way) -> f64 {
        way.iter().map(|set| self.atoms.likelihood[*set as usize]).sum::<f64>().min(1.0)
    }

    /// The cost of following a way: how often, times how many routes could be found by it.
    fn cost(&self, way: &Way) -> f64 {
        let cost =
            |set: &SetId| self.atoms.likelihood[*set as usize] * f64::from(1 + self.used[*set as usize]);
        way.iter().map(cost).sum()
    }

    /// The way in which a route is found without keys of some values, and what it costs a message: a guess in nanoseconds.
    fn access(&self, route: &NRoute, given_up: &[u32]) -> (Access, f64) {
        let mut ways = Vec::new();
        self.ways(route.cond, &mut ways);
        ways.retain(|way| self.values(way).all(|value| !given_up.contains(&value)));
        let best = ways.into_iter().min_by(|a, b| self.cost(a).total_cmp(&self.cost(b)));
        let likelihood = best.as_ref().map_or(1.0, |best| self.likelihood(best));
        let alternatives = match likelihood <= RARE {
            true => Vec::new(),
            false => self.ranges.alternatives(route.cond),
        };
        let share = if alternatives.is_empty() { 1.0 } else { self.share(&alternatives) };
        // Values that are not in its key narrow a route down either way.
        let tried = share * (cost::TRY + cost::condition(self.normal, route.cond));
        let (by_key, by_bits) = (likelihood * (cost::GUARD + tried), cost::BITS + tried);
        match best.filter(|_| likelihood < USELESS) {
            Some(best) if alternatives.is_empty() || by_key < by_bits => {
                // The share tells of a key that is a value already.
                let is_value = |set: &SetId| matches!(self.sets[*set as usize], [Atom::Class(..)]);
                let told = !alternatives.is_empty() && best.iter().all(is_value);
                let cost = if told { likelihood * cost::GUARD + tried } else { by_key };
                (Access::Keys(best), cost)
            }
            _ if !alternatives.is_empty() => (Access::Bits(alternatives), by_bits),
            _ => (Access::Always, tried),
        }
    }

    /// The share of messages that the values of a route's alternatives leave over.
    fn share(&self, alternatives: &[ValueRanges]) -> f64 {
        let of = |(attribute, ranges): &(u32, Vec<(Class, Class)>)| -> f64 {
            let shares = &self.atoms.attributes[*attribute as usize].shares;
            ranges.iter().map(|(from, to)| shares.of(*from, *to)).sum()
        };
        let all = alternatives.iter().map(|ranges| ranges.iter().map(of).product::<f64>());
        all.sum::<f64>().min(1.0)
    }
}
