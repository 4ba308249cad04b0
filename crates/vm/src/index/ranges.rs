//! Value ranges of conditions. For each attribute (a value that conditions read), these are the
//! ranges of equivalence classes for which a condition may be true.
//!
//! The contract: a condition is never true for a message with a class outside the ranges. So the
//! ranges can exclude a route before its condition is evaluated, but they cannot select a route.

use super::attribute::{ClassId, MISSING_CLASS};
use super::index_terms::IndexAtoms;
use hashbrown::HashMap;
use rulec_lang::value::Tri;
use rulec_sema::normal::{CondId, NormalCond, NormalForm};
use std::cell::RefCell;

/// Ascending ranges of class ids for which a condition may be true; the end of each range is
/// exclusive. A class has the values that no predicate distinguishes.
pub type ClassRanges = Vec<(ClassId, ClassId)>;

/// For each attribute (message value) that restricts a condition, the ranges of classes for which
/// the condition may be true. An attribute occurs at most once.
pub type ValueRanges = Vec<(u32, ClassRanges)>;

/// Maximum number of operands of an `or` that splits a condition into alternatives, one for each
/// operand. Each alternative has its own value ranges.
/// Compared with other values in benches/notes/constants.md.
const MAX_OR_ALTERNATIVES: usize = 4;
/// Maximum number of texts in a predicate such as `x in [...]` that still restricts the ranges of a
/// value. With more texts, a bitmap would need too many classes.
/// Compared with other values in benches/notes/constants.md.
const MAX_LISTED_TEXTS: usize = 32;

/// The results of a condition on one attribute, as pairs of a class and a result, in ascending
/// order. A result holds from its class up to the class of the next pair. It is `None` if values of
/// one class may give different results.
type ResultsByClass = Vec<(ClassId, Option<bool>)>;

/// Computes and caches value ranges: for each message value, the ranges for which a condition may
/// be true.
#[derive(Debug)]
pub struct RangeAnalysis<'n> {
    normal: &'n NormalForm,
    atoms: &'n IndexAtoms<'n>,
    /// Cache of the class ranges. The key is the list of those operands of a condition that read
    /// the same attribute (value of the message). Many rules have such operands in common, so there
    /// are few keys.
    ranges_by_operands: RefCell<HashMap<Box<[CondId]>, ClassRanges, foldhash::fast::FixedState>>,
}

impl<'n> RangeAnalysis<'n> {
    /// Creates the analysis for the conditions of a program.
    pub fn new(normal: &'n NormalForm, atoms: &'n IndexAtoms<'n>) -> RangeAnalysis<'n> {
        RangeAnalysis { normal, atoms, ranges_by_operands: RefCell::default() }
    }

    /// Splits a condition into alternatives and returns the value ranges of each. If the condition
    /// is true, the message is within the ranges of at least one alternative.
    ///
    /// Most conditions have one alternative; an `or` over different attributes has several. The
    /// result is empty if there is an alternative that no attribute restricts.
    pub fn split_alternatives(&self, cond: CondId) -> Vec<ValueRanges> {
        let conjuncts = self.conjuncts(cond);
        let split_part =
            conjuncts.iter().enumerate().find_map(|(at, part)| Some((at, self.limiting_disjuncts(*part)?)));
        let alternatives: Vec<ValueRanges> = match split_part {
            Some((at, disjuncts)) => {
                let disjunct_ranges = |disjunct: &CondId| {
                    let other_parts = conjuncts.iter().enumerate().filter(|(other, _)| *other != at);
                    let mut alternative_parts: Vec<CondId> = other_parts.map(|(_, part)| *part).collect();
                    alternative_parts.extend(self.conjuncts(*disjunct));
                    self.value_ranges(&alternative_parts)
                };
                disjuncts.iter().map(disjunct_ranges).collect()
            }
            None => vec![self.value_ranges(&conjuncts)],
        };
        if alternatives.iter().any(Vec::is_empty) { Vec::new() } else { alternatives }
    }

    /// Returns the operands of an `and`; for any other condition, only the condition itself.
    fn conjuncts(&self, cond: CondId) -> Vec<CondId> {
        match self.normal.cond(cond) {
            NormalCond::And(parts) => parts.to_vec(),
            _ => vec![cond],
        }
    }

    /// Returns the operands of an `or` over several attributes (message values), if there are few
    /// operands and each restricts the values of an attribute. `None` for any other condition.
    fn limiting_disjuncts(&self, part: CondId) -> Option<&'n [CondId]> {
        let NormalCond::Or(disjuncts) = self.normal.cond(part) else { return None };
        let is_limited =
            |part: &CondId| self.conjuncts(*part).iter().any(|part| self.single_attribute(*part).is_some());
        let is_splittable = disjuncts.len() <= MAX_OR_ALTERNATIVES
            && self.single_attribute(part).is_none()
            && disjuncts.iter().all(is_limited);
        is_splittable.then_some(disjuncts)
    }

    /// Returns, for each message value, the ranges for which all of the given conditions may be
    /// true.
    fn value_ranges(&self, all: &[CondId]) -> ValueRanges {
        let mut by_attribute: Vec<(u32, Vec<CondId>)> = Vec::new();
        for part in all {
            if let Some(attribute) = self.single_attribute(*part) {
                match by_attribute.iter_mut().find(|(known, _)| *known == attribute) {
                    Some((_, parts)) => parts.push(*part),
                    None => by_attribute.push((attribute, vec![*part])),
                }
            }
        }
        by_attribute
            .into_iter()
            .map(|(attribute, parts)| (attribute, self.cached_ranges(attribute, &parts)))
            .collect()
    }

    /// Returns the attribute (message value) that all predicates of a condition read. `None` if the
    /// predicates read several attributes, or if one of the predicates restricts no attribute.
    fn single_attribute(&self, cond: CondId) -> Option<u32> {
        match self.normal.cond(cond) {
            NormalCond::Predicate { pred, .. } => match self.atoms.class_predicate(pred.0) {
                Some((simple, attribute)) if simple.texts().count() <= MAX_LISTED_TEXTS => Some(*attribute),
                _ => None,
            },
            NormalCond::Not(inner) => self.single_attribute(*inner),
            NormalCond::And(parts) | NormalCond::Or(parts) => {
                let mut attributes = parts.iter().map(|part| self.single_attribute(*part));
                let first = attributes.next()??;
                attributes.all(|attribute| attribute == Some(first)).then_some(first)
            }
            _ => None,
        }
    }

    /// Returns the ranges of an attribute's classes for which all of the conditions `parts` may be
    /// true. Precondition: the conditions read only this attribute (a message value).
    fn cached_ranges(&self, attribute: u32, parts: &[CondId]) -> ClassRanges {
        if let Some(known) = self.ranges_by_operands.borrow().get(parts) {
            return known.clone();
        }
        let ranges = self.find_ranges(attribute, parts);
        self.ranges_by_operands.borrow_mut().insert(parts.into(), ranges.clone());
        ranges
    }

    fn find_ranges(&self, attribute: u32, parts: &[CondId]) -> ClassRanges {
        let results = self.combine(attribute, parts, false);
        let class_count = self.atoms.attributes[attribute as usize].classes.class_count();
        let ends = results.iter().skip(1).map(|(next, _)| *next).chain([class_count]);
        let ranges = results.iter().zip(ends);
        let may_hold =
            |from: ClassId, end: ClassId, holds| (holds != Some(false) && from < end).then_some((from, end));
        let mut merged = ClassRanges::new();
        for (from, end) in ranges.filter_map(|((from, holds), end)| may_hold(*from, end, *holds)) {
            match merged.last_mut() {
                Some((_, last)) if *last == from => *last = end,
                _ => merged.push((from, end)),
            }
        }
        merged
    }

    /// Returns the results of a condition on one attribute for all equivalence classes.
    fn results_by_class(&self, attribute: u32, cond: CondId) -> ResultsByClass {
        match self.normal.cond(cond) {
            NormalCond::Predicate { pred, want } => match self.atoms.class_predicate(pred.0) {
                Some((simple, _)) => {
                    let results = self.atoms.attributes[attribute as usize].classes.results_by_class(simple);
                    let holds = |result: Tri| result == Tri::from(*want);
                    results.into_iter().map(|(class, result)| (class, result.map(holds))).collect()
                }
                None => vec![(MISSING_CLASS, None)],
            },
            NormalCond::And(parts) => self.combine(attribute, parts, false),
            NormalCond::Or(parts) => self.combine(attribute, parts, true),
            NormalCond::Not(inner) => {
                let results = self.results_by_class(attribute, *inner);
                results.into_iter().map(|(class, holds)| (class, holds.map(|holds| !holds))).collect()
            }
            NormalCond::Const(value) => vec![(MISSING_CLASS, Some(*value))],
            NormalCond::Each { .. } => vec![(MISSING_CLASS, None)],
        }
    }

    /// Returns the results of several conditions that are joined by `or`, if `short` is true, or by
    /// `and`, if it is false. `short` is the result of one condition that decides the whole.
    ///
    /// One pass over the sorted bounds of all conditions counts the conditions with each result. So
    /// the time grows with the number of constants, not with its square.
    fn combine(&self, attribute: u32, parts: &[CondId], short: bool) -> ResultsByClass {
        let results = parts.iter().enumerate().flat_map(|(part, cond)| {
            let results = self.results_by_class(attribute, *cond);
            results.into_iter().map(move |(class, holds)| (class, part, holds))
        });
        let mut changes: Vec<(ClassId, usize, Option<bool>)> = results.collect();
        changes.sort_unstable_by_key(|(class, part, _)| (*class, *part));
        let mut current = vec![Some(!short); parts.len()];
        let (mut deciding, mut open) = (0_usize, 0_usize);
        let mut combined = vec![(MISSING_CLASS, Some(!short))];
        for (class, part, holds) in changes {
            let before = std::mem::replace(&mut current[part], holds);
            deciding = deciding + usize::from(holds == Some(short)) - usize::from(before == Some(short));
            open = open + usize::from(holds.is_none()) - usize::from(before.is_none());
            let whole = match (deciding, open) {
                (0, 0) => Some(!short),
                (0, _) => None,
                _ => Some(short),
            };
            match combined.last_mut() {
                Some((last, result)) if *last == class => *result = whole,
                _ => combined.push((class, whole)),
            }
        }
        combined
    }
}
