//! Selects the access path of each route of a table: by keys, or by a bitmap index on the values
//! that its condition tests.
//!
//! Every message that matches a route must have at least one of its keys (facts such as a literal
//! in a text). Keys should be rare. A condition may offer several keys, of which the cheapest is
//! taken. A key's cost is the probability that a message has the key, times the number of routes
//! that could use the key. This number is counted over the whole rule set, which keeps posting
//! lists short. Some attributes would be looked up in every message only for the keys of few
//! routes. If this is not worth its cost, these routes get another access path.

use super::attribute::ClassId;
use super::cost;
use super::index_terms::{IndexAtom, IndexAtoms, SetId};
use super::ranges::{RangeAnalysis, ValueRanges};
use rulec_sema::normal::{CondId, NCond, NRoute, Normal};
use std::collections::{BTreeMap, BTreeSet};

/// Probability that a message has a key up to which the key is always used, without considering a
/// bitmap.
const MAX_KEY_ONLY_PROBABILITY: f64 = 0.01;
/// Probability that a message has a key from which the key is not selective enough to be used.
const MIN_USELESS_PROBABILITY: f64 = 0.5;
/// Maximum number of key choices that are collected for one condition. Bound on compile time, not
/// tuned: a condition may have a hundred thousand operands.
const MAX_KEY_CHOICES: usize = 64;
/// Minimum number of routes whose keys need an attribute for which the attribute is always looked
/// up.
/// Measured in benches/notes/access-paths.md, "Keys with few routes".
const MIN_ROUTES_FOR_LOOKUP: usize = 64;
/// Minimum number of routes in a table for which the lookup of attributes for the keys of few
/// routes is avoided.
const MIN_ROUTES_TO_AVOID_LOOKUPS: usize = 32;
/// Maximum number of texts and values that a table looks up one by one. With more, it iterates over
/// the fields of the message instead.
/// Measured in benches/notes/access-paths.md, "Keys with few routes".
const MAX_SEPARATE_LOOKUPS: usize = 24;

/// Assumed probability that a bitmap column is read. It may not be read, because earlier columns
/// may already exclude all routes.
/// Measured in benches/notes/access-paths.md, "Keys with few routes".
const COLUMN_READ_PROBABILITY: f64 = 0.5;

/// True if a table that looks up this number of texts and values iterates over the fields of the
/// message instead.
pub(super) fn iterates_message_fields(texts: usize, values: usize) -> bool {
    texts + values > MAX_SEPARATE_LOOKUPS
}

/// One possible choice of keys for a condition: sets of atoms (facts about a message). If the
/// condition is true, the message has an atom of at least one of the sets.
pub(super) type KeyChoice = Vec<SetId>;

/// The access path of a route.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RouteAccess {
    /// Access by keys; every message that matches the route has at least one of them.
    Keys(KeyChoice),
    /// Access by a bitmap index. Contains the value ranges of each alternative of the route's
    /// condition, outside which the alternative cannot be true.
    Bits(Vec<ValueRanges>),
    /// No access path: the route is evaluated for every message, because neither keys nor values
    /// exclude it.
    Always,
}

impl RouteAccess {
    fn key_sets(&self) -> &[SetId] {
        if let RouteAccess::Keys(way) = self { way } else { &[] }
    }

    /// Returns the attributes whose bitmap columns are read for the route. The same attribute may
    /// occur several times.
    fn bitmap_attributes(&self) -> impl Iterator<Item = u32> {
        let alternatives = if let RouteAccess::Bits(alternatives) = self { &alternatives[..] } else { &[] };
        alternatives.iter().flatten().map(|(value, _)| *value)
    }
}

/// Selection of an access path for each route of a rule set.
pub(super) struct AccessSelection<'n> {
    normal: &'n Normal,
    atoms: &'n IndexAtoms<'n>,
    sets: Vec<&'n [IndexAtom]>,
    pub ranges: RangeAnalysis<'n>,
    /// For each set of atoms, the number of key choices of routes in which the set occurs.
    used: Vec<u32>,
}

impl<'n> AccessSelection<'n> {
    pub fn new(normal: &'n Normal, atoms: &'n IndexAtoms<'n>) -> AccessSelection<'n> {
        let mut accesses = AccessSelection {
            normal,
            atoms,
            sets: atoms.atoms_by_set(),
            ranges: RangeAnalysis::new(normal, atoms),
            used: vec![0; atoms.likelihood.len()],
        };
        let mut ways = Vec::new();
        for route in normal.tables.iter().flatten() {
            ways.clear();
            accesses.collect_key_choices(route.cond, &mut ways);
            for set in ways.iter().flatten() {
                accesses.used[*set as usize] += 1;
            }
        }
        accesses
    }

    /// Returns the access path of each route of a table.
    pub fn table_access_paths(&self, routes: &[NRoute]) -> Vec<RouteAccess> {
        let mut chosen: Vec<(RouteAccess, f64)> =
            routes.iter().map(|route| self.cheapest_access(route, &[])).collect();
        self.avoid_rare_lookups(routes, &mut chosen);
        chosen.into_iter().map(|(access, _)| access).collect()
    }

    /// Gives routes another access path if this is cheaper, and if an attribute that only few
    /// routes need is then not looked up.
    fn avoid_rare_lookups(&self, routes: &[NRoute], chosen: &mut [(RouteAccess, f64)]) {
        let mut found_by: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let (mut in_bits, mut subjects) = (BTreeSet::new(), BTreeSet::new());
        for (at, (access, _)) in chosen.iter().enumerate() {
            subjects.extend(self.scanned_subjects(access.key_sets()));
            self.looked_up_attributes(access.key_sets())
                .for_each(|value| found_by.entry(value).or_default().push(at));
            in_bits.extend(access.bitmap_attributes());
        }
        // If the fields of the message are iterated, an absent value costs little. A table with few
        // routes tries them in order anyway.
        if iterates_message_fields(subjects.len(), found_by.len())
            || routes.len() < MIN_ROUTES_TO_AVOID_LOOKUPS
        {
            return;
        }
        let mut order: Vec<u32> = found_by.keys().copied().collect();
        order.sort_by_key(|value| found_by[value].len());
        let mut given_up = Vec::new();
        for value in order {
            let found = &found_by[&value];
            if found.len() >= MIN_ROUTES_FOR_LOOKUP {
                return;
            }
            given_up.push(value);
            let others: Vec<(RouteAccess, f64)> =
                found.iter().map(|at| self.cheapest_access(&routes[*at], &given_up)).collect();
            let asked = |value: &u32| in_bits.contains(value) || found_by.contains_key(value);
            let new: BTreeSet<u32> =
                others.iter().flat_map(|(access, _)| access.bitmap_attributes()).collect();
            let new = new.iter().filter(|value| !asked(value)).count();
            let left = if in_bits.contains(&value) { COLUMN_READ_PROBABILITY } else { 0.0 };
            let saved = (1.0 - left) * cost::VALUE_LOOKUP_NS;
            let before: f64 = found.iter().map(|at| chosen[*at].1).sum();
            let after: f64 = others.iter().map(|(_, cost)| cost).sum();
            let always = others.iter().any(|(access, _)| *access == RouteAccess::Always);
            if always
                || after + new as f64 * COLUMN_READ_PROBABILITY * cost::VALUE_LOOKUP_NS >= before + saved
            {
                given_up.pop();
                continue;
            }
            for (at, other) in found_by.remove(&value).unwrap_or_default().into_iter().zip(others) {
                self.looked_up_attributes(other.0.key_sets())
                    .for_each(|value| found_by.entry(value).or_default().push(at));
                in_bits.extend(other.0.bitmap_attributes());
                chosen[at] = other;
            }
        }
    }

    /// Returns the attributes that are looked up for a choice of keys. The same attribute may occur
    /// several times.
    fn looked_up_attributes(&self, way: &[SetId]) -> impl Iterator<Item = u32> {
        way.iter().flat_map(|set| self.sets[*set as usize]).filter_map(|atom| match atom {
            IndexAtom::Class(value, _) | IndexAtom::Element(value, _) => Some(*value),
            IndexAtom::Literal(..) => None,
        })
    }

    /// Returns the subjects whose texts are scanned for a choice of keys. The same subject may
    /// occur several times.
    fn scanned_subjects(&self, way: &[SetId]) -> impl Iterator<Item = u32> {
        way.iter().flat_map(|set| self.sets[*set as usize]).filter_map(|atom| match atom {
            IndexAtom::Literal(subject, _) => Some(*subject),
            IndexAtom::Class(..) | IndexAtom::Element(..) => None,
        })
    }

    /// Collects all possible choices of keys for a condition.
    fn collect_key_choices(&self, cond: CondId, into: &mut Vec<KeyChoice>) {
        if into.len() >= MAX_KEY_CHOICES {
            return;
        }
        match self.normal.cond(cond) {
            NCond::Test { pred, want: true } => {
                into.extend(self.atoms.atom_sets(pred.0).iter().map(|set| vec![*set]));
            }
            NCond::And(parts) => parts.iter().for_each(|part| self.collect_key_choices(*part, into)),
            NCond::Or(parts) => {
                let mut way = KeyChoice::new();
                for part in parts {
                    let mut ways = Vec::new();
                    self.collect_key_choices(*part, &mut ways);
                    match ways
                        .into_iter()
                        .min_by(|a, b| self.key_probability(a).total_cmp(&self.key_probability(b)))
                    {
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

    fn key_probability(&self, way: &KeyChoice) -> f64 {
        way.iter().map(|set| self.atoms.likelihood[*set as usize]).sum::<f64>().min(1.0)
    }

    /// Returns the estimated cost of a choice of keys: the sum over its sets of the set's
    /// probability times the number of routes that could use the set.
    fn key_cost(&self, way: &KeyChoice) -> f64 {
        let cost =
            |set: &SetId| self.atoms.likelihood[*set as usize] * f64::from(1 + self.used[*set as usize]);
        way.iter().map(cost).sum()
    }

    /// Returns the cheapest access path of a route, and its estimated cost per message in
    /// nanoseconds. Keys that need an attribute in `given_up` are not considered.
    fn cheapest_access(&self, route: &NRoute, given_up: &[u32]) -> (RouteAccess, f64) {
        let mut ways = Vec::new();
        self.collect_key_choices(route.cond, &mut ways);
        ways.retain(|way| self.looked_up_attributes(way).all(|value| !given_up.contains(&value)));
        let best = ways.into_iter().min_by(|a, b| self.key_cost(a).total_cmp(&self.key_cost(b)));
        let likelihood = best.as_ref().map_or(1.0, |best| self.key_probability(best));
        let alternatives = match likelihood <= MAX_KEY_ONLY_PROBABILITY {
            true => Vec::new(),
            false => self.ranges.split_alternatives(route.cond),
        };
        let share = if alternatives.is_empty() { 1.0 } else { self.matching_share(&alternatives) };
        // Value ranges narrow the routes down with either access path: as guards of a key, or as
        // bits.
        let tried = share * (cost::ROUTE_TRY_NS + cost::condition(self.normal, route.cond));
        let (by_key, by_bits) =
            (likelihood * (cost::GUARD_CHECK_NS + tried), cost::BITMAP_NS_PER_ROUTE + tried);
        match best.filter(|_| likelihood < MIN_USELESS_PROBABILITY) {
            Some(best) if alternatives.is_empty() || by_key < by_bits => {
                // If the key tests a value, `share` already includes the key's selectivity.
                let is_value = |set: &SetId| matches!(self.sets[*set as usize], [IndexAtom::Class(..)]);
                let told = !alternatives.is_empty() && best.iter().all(is_value);
                let cost = if told { likelihood * cost::GUARD_CHECK_NS + tried } else { by_key };
                (RouteAccess::Keys(best), cost)
            }
            _ if !alternatives.is_empty() => (RouteAccess::Bits(alternatives), by_bits),
            _ => (RouteAccess::Always, tried),
        }
    }

    /// Returns the estimated fraction of messages that are within the value ranges of at least one
    /// alternative.
    fn matching_share(&self, alternatives: &[ValueRanges]) -> f64 {
        let of = |(attribute, ranges): &(u32, Vec<(ClassId, ClassId)>)| -> f64 {
            let shares = &self.atoms.attributes[*attribute as usize].shares;
            ranges.iter().map(|(from, to)| shares.share_between(*from, *to)).sum()
        };
        let all = alternatives.iter().map(|ranges| ranges.iter().map(of).product::<f64>());
        all.sum::<f64>().min(1.0)
    }
}
