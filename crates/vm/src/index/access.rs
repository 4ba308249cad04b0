//! Selects the access path of each route of a table: by keys, or by a bitmap index on the values
//! that its condition reads. A *subject* is a text of the message that is scanned for literals. An
//! *attribute* is a value of the message whose equivalence class is looked up.
//!
//! Every message that matches a route must have at least one of its keys (facts such as a literal
//! in a text). Keys should be rare. A condition may offer several keys; the cheapest is selected.
//! The cost of a key is the probability that a message has the key, times the number of routes that
//! could use it. All routes of the rule set count, so a key that many routes could use is avoided,
//! and posting lists stay short. Some attributes would be looked up in every message only for the
//! keys of few routes. If such a lookup costs more than it saves, these routes get another access
//! path.

use super::attribute::ClassId;
use super::cost;
use super::index_terms::{AtomSetId, IndexAtom, IndexAtoms};
use super::ranges::{RangeAnalysis, ValueRanges};
use hashbrown::HashMap;
use rulec_sema::normal::{CondId, NormalCond, NormalForm, NormalRule};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A key is used without comparing its cost with a bitmap if at most this fraction of messages has
/// the key. Such a key already excludes its routes for nearly all messages.
/// Compared with other values in benches/notes/constants.md.
const MAX_KEY_ONLY_PROBABILITY: f64 = 0.01;
/// A key (a fact by which routes are found) is not used if at least this fraction of messages has
/// it. Such a key would exclude its routes for too few messages.
/// Compared with other values in benches/notes/constants.md.
const MIN_USELESS_PROBABILITY: f64 = 0.5;
/// Maximum number of possible choices of keys that are collected for one condition. The limit
/// bounds the compile time and is not tuned: a condition may have a hundred thousand operands.
const MAX_KEY_CHOICES: usize = 64;
/// An attribute (a value of the message) is always looked up if at least this number of routes have
/// keys that need it.
///
/// Measured in benches/notes/access-paths.md, "Keys with few routes".
const MIN_ROUTES_FOR_LOOKUP: usize = 64;
/// Minimum number of routes of a table in which the lookup of a rarely needed attribute (a value of
/// the message) is avoided. A smaller table tries its routes in order anyway, so the choice matters
/// little.
/// Compared with other values in benches/notes/constants.md.
const MIN_ROUTES_TO_AVOID_LOOKUPS: usize = 32;
/// Maximum number of texts and values of a table that are looked up one by one. For a table with
/// more, a decision iterates over the fields of the message instead.
/// Measured in benches/notes/access-paths.md, "Keys with few routes".
const MAX_SEPARATE_LOOKUPS: usize = 24;

/// Assumed probability that a lookup reads a column of a bitmap index (the bits for one message
/// value). A column is not read if earlier columns already exclude all routes.
///
/// Measured in benches/notes/access-paths.md, "Keys with few routes".
const COLUMN_READ_PROBABILITY: f64 = 0.5;

/// Assumed fraction of the routes of a bitmap index that the bitmap does not exclude.
/// Compared with other values in benches/notes/constants.md.
pub(super) const PASSING_ROUTE_SHARE: f64 = 0.1;

/// True if decisions by a table iterate once over the fields of the message to find the values that
/// the table reads. If false, they look up each of these texts and values separately, which is done
/// only for a few.
pub(super) fn iterates_message_fields(text_count: usize, value_count: usize) -> bool {
    text_count + value_count > MAX_SEPARATE_LOOKUPS
}

/// One possible choice of keys for a condition. A key is the id of a set of atoms (facts about a
/// message). A message has the key if it has an atom of the set. If the condition is true, the
/// message has at least one of the keys.
pub(super) type KeyChoice = Vec<AtomSetId>;

/// The access path of a route: how the index finds the route.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RouteAccess {
    /// Access by keys (facts about a message); every message that matches the route has at least
    /// one of them.
    Keys(KeyChoice),
    /// Access by a bitmap index. The route's condition is split into alternatives. The list has the
    /// value ranges of each alternative, outside which the alternative cannot be true.
    Bits(Vec<ValueRanges>),
    /// The index cannot find the route: its condition is evaluated for every message, because no
    /// key and no bitmap index can exclude it.
    Always,
}

impl RouteAccess {
    fn key_sets(&self) -> &[AtomSetId] {
        if let RouteAccess::Keys(key_choice) = self { key_choice } else { &[] }
    }

    /// Returns the attributes (message values) whose bitmap columns are read for the route. The
    /// same attribute may occur several times.
    fn bitmap_attributes(&self) -> impl Iterator<Item = u32> {
        let bitmap_alternatives =
            if let RouteAccess::Bits(alternatives) = self { &alternatives[..] } else { &[] };
        bitmap_alternatives.iter().flatten().map(|(value, _)| *value)
    }
}

/// Selects for each route of a rule set how it is found: by keys, by a bitmap index, or not by the
/// index at all.
pub(super) struct AccessPathSelector<'n> {
    normal: &'n NormalForm,
    atoms: &'n IndexAtoms<'n>,
    atoms_by_set: Vec<&'n [IndexAtom]>,
    pub ranges: RangeAnalysis<'n>,
    /// For each set of atoms (facts about a message), in how many possible choices of keys the set
    /// occurs, counted over all routes.
    set_use_counts: Vec<u32>,
    /// The best choice of keys of each disjunction seen so far; `None` if the disjunction has no
    /// keys. Cached, because many routes may share a disjunction, such as a `def` with a thousand
    /// operands.
    disjunction_choices: RefCell<HashMap<CondId, Option<KeyChoice>, foldhash::fast::FixedState>>,
}

impl<'n> AccessPathSelector<'n> {
    pub fn new(normal: &'n NormalForm, atoms: &'n IndexAtoms<'n>) -> AccessPathSelector<'n> {
        let mut selector = AccessPathSelector {
            normal,
            atoms,
            atoms_by_set: atoms.atoms_by_set(),
            ranges: RangeAnalysis::new(normal, atoms),
            set_use_counts: vec![0; atoms.probability_by_set.len()],
            disjunction_choices: RefCell::default(),
        };
        let mut key_choices = Vec::new();
        for route in normal.tables.iter().flatten() {
            key_choices.clear();
            selector.collect_key_choices(route.cond, &mut key_choices);
            for set in key_choices.iter().flatten() {
                selector.set_use_counts[*set as usize] += 1;
            }
        }
        selector
    }

    /// Returns the access path of each route of a table.
    pub fn table_access_paths(&self, routes: &[NormalRule]) -> Vec<RouteAccess> {
        let mut selected: Vec<(RouteAccess, f64)> =
            routes.iter().map(|route| self.cheapest_access_path(route, &[])).collect();
        self.avoid_rare_lookups(routes, &mut selected);
        selected.into_iter().map(|(access, _)| access).collect()
    }

    /// Avoids the lookup of an attribute (message value) that only few routes need: gives these
    /// routes another access path if the total cost is then lower. `selected` has the access path
    /// of each route, with its cost in nanoseconds.
    fn avoid_rare_lookups(&self, routes: &[NormalRule], selected: &mut [(RouteAccess, f64)]) {
        let mut routes_by_attribute: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let (mut bitmap_attributes, mut subjects) = (BTreeSet::new(), BTreeSet::new());
        for (position, (access, _)) in selected.iter().enumerate() {
            subjects.extend(self.subjects_of_keys(access.key_sets()));
            self.attributes_of_keys(access.key_sets())
                .for_each(|value| routes_by_attribute.entry(value).or_default().push(position));
            bitmap_attributes.extend(access.bitmap_attributes());
        }
        // If the fields of the message are iterated, an absent value costs little. A table with few
        // routes tries them in order anyway.
        if iterates_message_fields(subjects.len(), routes_by_attribute.len())
            || routes.len() < MIN_ROUTES_TO_AVOID_LOOKUPS
        {
            return;
        }
        let mut attributes_by_use: Vec<u32> = routes_by_attribute.keys().copied().collect();
        attributes_by_use.sort_by_key(|value| routes_by_attribute[value].len());
        let mut given_up = Vec::new();
        for value in attributes_by_use {
            let positions = &routes_by_attribute[&value];
            if positions.len() >= MIN_ROUTES_FOR_LOOKUP {
                return;
            }
            given_up.push(value);
            let replacements: Vec<(RouteAccess, f64)> = positions
                .iter()
                .map(|position| self.cheapest_access_path(&routes[*position], &given_up))
                .collect();
            let is_read =
                |value: &u32| bitmap_attributes.contains(value) || routes_by_attribute.contains_key(value);
            let added_attributes: BTreeSet<u32> =
                replacements.iter().flat_map(|(access, _)| access.bitmap_attributes()).collect();
            let added_count = added_attributes.iter().filter(|value| !is_read(value)).count();
            let remaining_reads =
                if bitmap_attributes.contains(&value) { COLUMN_READ_PROBABILITY } else { 0.0 };
            let saved_cost = (1.0 - remaining_reads) * cost::VALUE_LOOKUP_NS;
            let old_cost: f64 = positions.iter().map(|position| selected[*position].1).sum();
            let new_cost: f64 = replacements.iter().map(|(_, cost)| cost).sum();
            let loses_path = replacements.iter().any(|(access, _)| *access == RouteAccess::Always);
            if loses_path
                || new_cost + added_count as f64 * COLUMN_READ_PROBABILITY * cost::VALUE_LOOKUP_NS
                    >= old_cost + saved_cost
            {
                given_up.pop();
                continue;
            }
            for (position, replacement) in
                routes_by_attribute.remove(&value).unwrap_or_default().into_iter().zip(replacements)
            {
                self.attributes_of_keys(replacement.0.key_sets())
                    .for_each(|value| routes_by_attribute.entry(value).or_default().push(position));
                bitmap_attributes.extend(replacement.0.bitmap_attributes());
                selected[position] = replacement;
            }
        }
    }

    /// Returns the attributes (message values) that must be looked up to find these keys. The same
    /// attribute may occur several times.
    fn attributes_of_keys(&self, key_choice: &[AtomSetId]) -> impl Iterator<Item = u32> {
        key_choice.iter().flat_map(|set| self.atoms_by_set[*set as usize]).filter_map(|atom| match atom {
            IndexAtom::Class(value, _) | IndexAtom::Element(value, _) => Some(*value),
            IndexAtom::Literal(..) => None,
        })
    }

    /// Returns the subjects (message texts) that must be scanned to find these keys. The same
    /// subject may occur several times.
    fn subjects_of_keys(&self, key_choice: &[AtomSetId]) -> impl Iterator<Item = u32> {
        key_choice.iter().flat_map(|set| self.atoms_by_set[*set as usize]).filter_map(|atom| match atom {
            IndexAtom::Literal(subject, _) => Some(*subject),
            IndexAtom::Class(..) | IndexAtom::Element(..) => None,
        })
    }

    /// Collects the possible choices of keys (required facts) for a condition, up to
    /// [`MAX_KEY_CHOICES`].
    fn collect_key_choices(&self, cond: CondId, into: &mut Vec<KeyChoice>) {
        if into.len() >= MAX_KEY_CHOICES {
            return;
        }
        match self.normal.cond(cond) {
            NormalCond::Predicate { pred, want: true } => {
                into.extend(self.atoms.atom_sets(pred.0).iter().map(|set| vec![*set]));
            }
            NormalCond::And(parts) => parts.iter().for_each(|part| self.collect_key_choices(*part, into)),
            NormalCond::Or(parts) => {
                let known = self.disjunction_choices.borrow().get(&cond).cloned();
                let choice = known.unwrap_or_else(|| {
                    let choice = self.best_key_choice_of_disjunction(parts);
                    self.disjunction_choices.borrow_mut().insert(cond, choice.clone());
                    choice
                });
                into.extend(choice);
            }
            // Negations and loops over elements have no key.
            NormalCond::Predicate { want: false, .. }
            | NormalCond::Not(_)
            | NormalCond::Each { .. }
            | NormalCond::Const(_) => {}
        }
    }

    /// Returns the choice of keys for a disjunction: the most selective choice of each operand.
    /// `None` if an operand has no keys.
    fn best_key_choice_of_disjunction(&self, operands: &[CondId]) -> Option<KeyChoice> {
        let mut key_choice = KeyChoice::new();
        for operand in operands {
            let mut operand_choices = Vec::new();
            self.collect_key_choices(*operand, &mut operand_choices);
            let by_probability = |a: &KeyChoice, b: &KeyChoice| {
                self.probability_of_keys(a).total_cmp(&self.probability_of_keys(b))
            };
            key_choice.extend(operand_choices.into_iter().min_by(by_probability)?);
        }
        key_choice.sort_unstable();
        key_choice.dedup();
        Some(key_choice)
    }

    /// Returns the estimated probability that the condition of a route with this access path is
    /// evaluated in a decision.
    pub fn candidate_probability(&self, access: &RouteAccess) -> f64 {
        match access {
            RouteAccess::Keys(key_choice) => self.probability_of_keys(key_choice),
            RouteAccess::Bits(_) => PASSING_ROUTE_SHARE,
            RouteAccess::Always => 1.0,
        }
    }

    /// Returns the estimated fraction of messages that have one of the keys (required facts).
    fn probability_of_keys(&self, key_choice: &KeyChoice) -> f64 {
        key_choice.iter().map(|set| self.atoms.probability_by_set[*set as usize]).sum::<f64>().min(1.0)
    }

    /// Returns the estimated cost of a choice of keys, a sum over its sets of atoms (facts about a
    /// message). The cost of a set is its probability times the number of routes that could use the
    /// set.
    fn cost_of_keys(&self, key_choice: &KeyChoice) -> f64 {
        let set_cost = |set: &AtomSetId| {
            self.atoms.probability_by_set[*set as usize] * f64::from(1 + self.set_use_counts[*set as usize])
        };
        key_choice.iter().map(set_cost).sum()
    }

    /// Returns the cheapest access path of a route, and its estimated cost per message in
    /// nanoseconds. Keys that need a value (attribute) in `given_up` are not considered.
    fn cheapest_access_path(&self, route: &NormalRule, given_up: &[u32]) -> (RouteAccess, f64) {
        let mut key_choices = Vec::new();
        self.collect_key_choices(route.cond, &mut key_choices);
        key_choices.retain(|keys| self.attributes_of_keys(keys).all(|value| !given_up.contains(&value)));
        let best_choice =
            key_choices.into_iter().min_by(|a, b| self.cost_of_keys(a).total_cmp(&self.cost_of_keys(b)));
        let likelihood =
            best_choice.as_ref().map_or(1.0, |best_choice| self.probability_of_keys(best_choice));
        let alternatives = match likelihood <= MAX_KEY_ONLY_PROBABILITY {
            true => Vec::new(),
            false => self.ranges.split_alternatives(route.cond),
        };
        let matching_share =
            if alternatives.is_empty() { 1.0 } else { self.share_of_matching_messages(&alternatives) };
        // Value ranges narrow the routes down with either access path: as guards of a key, or as
        // bits.
        let evaluation_cost =
            matching_share * (cost::ROUTE_TRY_NS + cost::condition_cost_ns(self.normal, route.cond));
        let (cost_of_keys, bitmap_cost) = (
            likelihood * (cost::GUARD_CHECK_NS + evaluation_cost),
            cost::BITMAP_NS_PER_ROUTE + evaluation_cost,
        );
        match best_choice.filter(|_| likelihood < MIN_USELESS_PROBABILITY) {
            Some(best_choice) if alternatives.is_empty() || cost_of_keys < bitmap_cost => {
                // If the key is a class of a value, `matching_share` includes the key's
                // selectivity.
                let is_class =
                    |set: &AtomSetId| matches!(self.atoms_by_set[*set as usize], [IndexAtom::Class(..)]);
                let share_includes_key = !alternatives.is_empty() && best_choice.iter().all(is_class);
                let cost = if share_includes_key {
                    likelihood * cost::GUARD_CHECK_NS + evaluation_cost
                } else {
                    cost_of_keys
                };
                (RouteAccess::Keys(best_choice), cost)
            }
            _ if !alternatives.is_empty() => (RouteAccess::Bits(alternatives), bitmap_cost),
            _ => (RouteAccess::Always, evaluation_cost),
        }
    }

    /// Returns the estimated fraction of messages for which a condition may be true: the messages
    /// within the value ranges of at least one alternative of the condition.
    fn share_of_matching_messages(&self, alternatives: &[ValueRanges]) -> f64 {
        let attribute_share = |(attribute, ranges): &(u32, Vec<(ClassId, ClassId)>)| -> f64 {
            let shares = &self.atoms.attributes[*attribute as usize].shares;
            ranges.iter().map(|(from, to)| shares.share_between(*from, *to)).sum()
        };
        let alternative_shares =
            alternatives.iter().map(|ranges| ranges.iter().map(attribute_share).product::<f64>());
        alternative_shares.sum::<f64>().min(1.0)
    }
}
