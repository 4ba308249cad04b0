//! The access path of each route of a table: by a key, or by a bitmap index on its values.
//!
//! A key must be necessary for its routes, and rare. A condition may offer several keys; the
//! cheapest is taken. Its cost is the probability that a message has the key, times the number of
//! routes that could use the key. Judging a literal by the whole rule set, and not by its length,
//! keeps posting lists short. An attribute that would be looked up in every message for the keys of
//! few routes is not worth its cost; these routes get another access path.

use super::attribute::Class;
use super::cost;
use super::index_terms::{Atom, Atoms, SetId};
use super::ranges::{RangeAnalysis, ValueRanges};
use rulec_sema::normal::{CondId, NCond, NRoute, Normal};
use std::collections::{BTreeMap, BTreeSet};

/// A key of lower probability is always taken, without considering bits.
const RARE: f64 = 0.01;
/// A key of this or a higher probability is not selective.
const USELESS: f64 = 0.5;
/// Maximum number of key choices that are collected for one condition. Bound on compile time, not
/// tuned: a condition may have a hundred thousand parts.
const MAX_WAYS: usize = 64;
/// From this number of routes on, an attribute is looked up for their keys in any case.
/// Measured in benches/notes/access-paths.md, "Keys with few routes".
const MANY: usize = 64;
/// In tables with fewer routes, lookups for few keys are not avoided.
const FEW_ROUTES: usize = 32;
/// Tables that look up more texts and values than this read the fields that a message has.
/// Measured in benches/notes/access-paths.md, "Keys with few routes".
const FEW_VALUES: usize = 24;

/// Probability that a column of bits is read; earlier columns may already rule out all routes.
/// Measured in benches/notes/access-paths.md, "Keys with few routes".
const ASKED: f64 = 0.5;

/// True if a table with this number of texts and values reads the fields that a message has,
/// instead of looking up each.
pub(super) fn goes_over_fields(texts: usize, values: usize) -> bool {
    texts + values > FEW_VALUES
}

/// A key choice for a condition: sets of atoms, at least one of which is true if the condition is
/// true.
pub(super) type Way = Vec<SetId>;

/// The access path of a route.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Access {
    /// By keys, of which a message must have one.
    Keys(Way),
    /// By the bitmap columns of the values that the route tests, for each of the route's
    /// alternatives.
    Bits(Vec<ValueRanges>),
    /// Nothing rules the route out.
    Always,
}

impl Access {
    fn keys(&self) -> &[SetId] {
        if let Access::Keys(way) = self { way } else { &[] }
    }

    /// Returns the attributes whose bits are read for the route; some may repeat.
    fn of_bits(&self) -> impl Iterator<Item = u32> {
        let alternatives = if let Access::Bits(alternatives) = self { &alternatives[..] } else { &[] };
        alternatives.iter().flatten().map(|(value, _)| *value)
    }
}

/// Chooses the access paths of routes.
pub(super) struct Accesses<'n> {
    normal: &'n Normal,
    atoms: &'n Atoms<'n>,
    sets: Vec<&'n [Atom]>,
    pub ranges: RangeAnalysis<'n>,
    /// For each set, the number of routes that could use it as a key.
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

    /// Returns the access path of each route of a table.
    pub fn of_table(&self, routes: &[NRoute]) -> Vec<Access> {
        let mut chosen: Vec<(Access, f64)> = routes.iter().map(|route| self.access(route, &[])).collect();
        self.look_less_up(routes, &mut chosen);
        chosen.into_iter().map(|(access, _)| access).collect()
    }

    /// Avoids attributes that are looked up for the keys of few routes. The routes get other access
    /// paths, if these are cheaper.
    fn look_less_up(&self, routes: &[NRoute], chosen: &mut [(Access, f64)]) {
        let mut found_by: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let (mut in_bits, mut subjects) = (BTreeSet::new(), BTreeSet::new());
        for (at, (access, _)) in chosen.iter().enumerate() {
            subjects.extend(self.subjects(access.keys()));
            self.values(access.keys()).for_each(|value| found_by.entry(value).or_default().push(at));
            in_bits.extend(access.of_bits());
        }
        // If the message's fields are read one by one, an absent value costs little; and few routes
        // are tried in order.
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

    /// Returns the attributes that are looked up for keys; some may repeat.
    fn values(&self, way: &[SetId]) -> impl Iterator<Item = u32> {
        way.iter().flat_map(|set| self.sets[*set as usize]).filter_map(|atom| match atom {
            Atom::Class(value, _) | Atom::Element(value, _) => Some(*value),
            Atom::Literal(..) => None,
        })
    }

    /// Returns the subjects whose texts are scanned for keys; some may repeat.
    fn subjects(&self, way: &[SetId]) -> impl Iterator<Item = u32> {
        way.iter().flat_map(|set| self.sets[*set as usize]).filter_map(|atom| match atom {
            Atom::Literal(subject, _) => Some(*subject),
            Atom::Class(..) | Atom::Element(..) => None,
        })
    }

    /// Collects the key choices for a condition.
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
            // Negations and loops over elements have no key.
            NCond::Test { want: false, .. } | NCond::Not(_) | NCond::Each { .. } | NCond::Const(_) => {}
        }
    }

    fn likelihood(&self, way: &Way) -> f64 {
        way.iter().map(|set| self.atoms.likelihood[*set as usize]).sum::<f64>().min(1.0)
    }

    /// Returns the cost of a key choice: for each set, its probability times the number of its
    /// routes.
    fn cost(&self, way: &Way) -> f64 {
        let cost =
            |set: &SetId| self.atoms.likelihood[*set as usize] * f64::from(1 + self.used[*set as usize]);
        way.iter().map(cost).sum()
    }

    /// Returns the cheapest access path of a route that uses no key of the attributes in
    /// `given_up`, and its estimated cost per message in nanoseconds.
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
        // The values that are not in the key narrow the routes down with either access path.
        let tried = share * (cost::TRY + cost::condition(self.normal, route.cond));
        let (by_key, by_bits) = (likelihood * (cost::GUARD + tried), cost::BITS + tried);
        match best.filter(|_| likelihood < USELESS) {
            Some(best) if alternatives.is_empty() || by_key < by_bits => {
                // If the key tests a value, `share` already includes the key's selectivity.
                let is_value = |set: &SetId| matches!(self.sets[*set as usize], [Atom::Class(..)]);
                let told = !alternatives.is_empty() && best.iter().all(is_value);
                let cost = if told { likelihood * cost::GUARD + tried } else { by_key };
                (Access::Keys(best), cost)
            }
            _ if !alternatives.is_empty() => (Access::Bits(alternatives), by_bits),
            _ => (Access::Always, tried),
        }
    }

    /// Returns the share of messages that the value ranges of a route's alternatives let pass.
    fn share(&self, alternatives: &[ValueRanges]) -> f64 {
        let of = |(attribute, ranges): &(u32, Vec<(Class, Class)>)| -> f64 {
            let shares = &self.atoms.attributes[*attribute as usize].shares;
            ranges.iter().map(|(from, to)| shares.between(*from, *to)).sum()
        };
        let all = alternatives.iter().map(|ranges| ranges.iter().map(of).product::<f64>());
        all.sum::<f64>().min(1.0)
    }
}
