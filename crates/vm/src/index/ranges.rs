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
        let mut class_bounds = vec![MISSING_CLASS];
        parts.iter().for_each(|part| self.collect_class_bounds(*part, &mut class_bounds));
        class_bounds.sort_unstable();
        class_bounds.dedup();
        let classes = &self.atoms.attributes[attribute as usize].classes;
        let class_count = classes.class_count();
        let mut ranges = ClassRanges::new();
        for (at, from) in class_bounds.iter().enumerate() {
            let end_class = class_bounds.get(at + 1).copied().unwrap_or(class_count);
            if *from >= end_class
                || parts.iter().any(|part| self.result_for_class(attribute, *part, *from) == Some(false))
            {
                continue;
            }
            match ranges.last_mut() {
                Some((_, last)) if last == from => *last = end_class,
                _ => ranges.push((*from, end_class)),
            }
        }
        ranges
    }

    fn collect_class_bounds(&self, cond: CondId, into: &mut Vec<ClassId>) {
        match self.normal.cond(cond) {
            NormalCond::Predicate { pred, .. } => {
                if let Some((simple, attribute)) = self.atoms.class_predicate(pred.0) {
                    self.atoms.attributes[*attribute as usize].classes.collect_class_bounds(simple, into);
                }
            }
            NormalCond::And(parts) | NormalCond::Or(parts) => {
                parts.iter().for_each(|part| self.collect_class_bounds(*part, into))
            }
            NormalCond::Not(inner) => self.collect_class_bounds(*inner, into),
            _ => {}
        }
    }

    /// Returns true if a condition on one attribute is true for all values of an equivalence class,
    /// and false if it is true for none. `None` if values of the class may give different results.
    fn result_for_class(&self, attribute: u32, cond: CondId, class: ClassId) -> Option<bool> {
        let combine = |parts: &[CondId], short: bool| {
            let mut result = Some(!short);
            for part in parts {
                match self.result_for_class(attribute, *part, class) {
                    Some(holds) if holds == short => return Some(short),
                    Some(_) => {}
                    None => result = None,
                }
            }
            result
        };
        match self.normal.cond(cond) {
            NormalCond::Predicate { pred, want } => {
                let (simple, _) = self.atoms.class_predicate(pred.0)?;
                let test_result =
                    self.atoms.attributes[attribute as usize].classes.result_for_class(simple, class)?;
                Some(test_result == Tri::from(*want))
            }
            NormalCond::And(parts) => combine(parts, false),
            NormalCond::Or(parts) => combine(parts, true),
            NormalCond::Not(inner) => self.result_for_class(attribute, *inner, class).map(|holds| !holds),
            NormalCond::Const(value) => Some(*value),
            NormalCond::Each { .. } => None,
        }
    }
}
