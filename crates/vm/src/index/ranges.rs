//! The ranges of single values in which a condition may hold: for each attribute, its classes.
//!
//! The contract: a condition never holds for a message of which some value's class lies outside. So
//! what limits a route may rule it out before it is tried, never in.

use super::atom::Atoms;
use super::attribute::{Class, MISSING};
use hashbrown::HashMap;
use rulec_lang::value::Tri;
use rulec_sema::normal::{CondId, NCond, Normal};
use std::cell::RefCell;

/// The ranges of classes in which a condition may hold, in order.
pub type Ranges = Vec<(Class, Class)>;

/// The ranges of the attributes for one condition: each at most once.
pub type ValueRanges = Vec<(u32, Ranges)>;

/// A condition with more alternatives than these is not taken apart.
const MAX_ALTERNATIVES: usize = 4;
/// A longer list has more classes than bits can tell apart.
const LONG_LIST: usize = 32;

/// Finds the ranges of conditions.
#[derive(Debug)]
pub struct RangeAnalysis<'n> {
    normal: &'n Normal,
    atoms: &'n Atoms<'n>,
    /// The ranges of parts that look through one attribute: rules share few tests of values.
    known: RefCell<HashMap<Box<[CondId]>, Ranges, foldhash::fast::FixedState>>,
}

impl<'n> RangeAnalysis<'n> {
    /// For the conditions of a program.
    pub fn new(normal: &'n Normal, atoms: &'n Atoms<'n>) -> RangeAnalysis<'n> {
        RangeAnalysis { normal, atoms, known: RefCell::default() }
    }

    /// The ranges of the alternatives of a condition: it holds only within those of one of them. Most
    /// have one; one that asks for this of one value or that of another has more. None where nothing
    /// ranges it.
    pub fn alternatives(&self, cond: CondId) -> Vec<ValueRanges> {
        let parts = self.parts(cond);
        let split = parts.iter().enumerate().find_map(|(at, part)| Some((at, self.disjuncts(*part)?)));
        let found: Vec<ValueRanges> = match split {
            Some((at, disjuncts)) => {
                let alternative = |disjunct: &CondId| {
                    let others = parts.iter().enumerate().filter(|(other, _)| *other != at);
                    let mut all: Vec<CondId> = others.map(|(_, part)| *part).collect();
                    all.extend(self.parts(*disjunct));
                    self.value_ranges(&all)
                };
                disjuncts.iter().map(alternative).collect()
            }
            None => vec![self.value_ranges(&parts)],
        };
        if found.iter().any(Vec::is_empty) { Vec::new() } else { found }
    }

    /// The conditions that must all hold for a condition to hold.
    fn parts(&self, cond: CondId) -> Vec<CondId> {
        match self.normal.cond(cond) {
            NCond::And(parts) => parts.to_vec(),
            _ => vec![cond],
        }
    }

    /// The alternatives of a part that looks at several values, where each is limited.
    fn disjuncts(&self, part: CondId) -> Option<&'n [CondId]> {
        let NCond::Or(disjuncts) = self.normal.cond(part) else { return None };
        let limited =
            |part: &CondId| self.parts(*part).iter().any(|part| self.only_attribute(*part).is_some());
        let splits = disjuncts.len() <= MAX_ALTERNATIVES
            && self.only_attribute(part).is_none()
            && disjuncts.iter().all(limited);
        splits.then_some(disjuncts)
    }

    /// The ranges of parts that must all hold.
    fn value_ranges(&self, all: &[CondId]) -> ValueRanges {
        let mut by_attribute: Vec<(u32, Vec<CondId>)> = Vec::new();
        for part in all {
            if let Some(attribute) = self.only_attribute(*part) {
                match by_attribute.iter_mut().find(|(known, _)| *known == attribute) {
                    Some((_, parts)) => parts.push(*part),
                    None => by_attribute.push((attribute, vec![*part])),
                }
            }
        }
        by_attribute
            .into_iter()
            .map(|(attribute, parts)| (attribute, self.ranges(attribute, &parts)))
            .collect()
    }

    /// The one attribute that all tests of a condition look through.
    fn only_attribute(&self, cond: CondId) -> Option<u32> {
        match self.normal.cond(cond) {
            NCond::Test { pred, .. } => match self.atoms.simple(pred.0) {
                Some((simple, attribute)) if simple.texts().count() <= LONG_LIST => Some(*attribute),
                _ => None,
            },
            NCond::Not(inner) => self.only_attribute(*inner),
            NCond::And(parts) | NCond::Or(parts) => {
                let mut attributes = parts.iter().map(|part| self.only_attribute(*part));
                let first = attributes.next()??;
                attributes.all(|attribute| attribute == Some(first)).then_some(first)
            }
            _ => None,
        }
    }

    /// The ranges of parts that all look through one attribute.
    fn ranges(&self, attribute: u32, parts: &[CondId]) -> Ranges {
        if let Some(known) = self.known.borrow().get(parts) {
            return known.clone();
        }
        let ranges = self.find_ranges(attribute, parts);
        self.known.borrow_mut().insert(parts.into(), ranges.clone());
        ranges
    }

    fn find_ranges(&self, attribute: u32, parts: &[CondId]) -> Ranges {
        let mut changes = vec![MISSING];
        parts.iter().for_each(|part| self.changes(*part, &mut changes));
        changes.sort_unstable();
        changes.dedup();
        let classes = &self.atoms.attributes[attribute as usize].classes;
        let end = classes.end();
        let mut ranges = Ranges::new();
        for (at, from) in changes.iter().enumerate() {
            let to = changes.get(at + 1).copied().unwrap_or(end);
            if *from >= to || parts.iter().any(|part| self.holds(attribute, *part, *from) == Some(false)) {
                continue;
            }
            match ranges.last_mut() {
                Some((_, last)) if last == from => *last = to,
                _ => ranges.push((*from, to)),
            }
        }
        ranges
    }

    fn changes(&self, cond: CondId, into: &mut Vec<Class>) {
        match self.normal.cond(cond) {
            NCond::Test { pred, .. } => {
                if let Some((simple, attribute)) = self.atoms.simple(pred.0) {
                    self.atoms.attributes[*attribute as usize].classes.changes(simple, into);
                }
            }
            NCond::And(parts) | NCond::Or(parts) => parts.iter().for_each(|part| self.changes(*part, into)),
            NCond::Not(inner) => self.changes(*inner, into),
            _ => {}
        }
    }

    /// The truth, for a class, of a condition that looks through one attribute; `None` when it depends on
    /// more than the class.
    fn holds(&self, attribute: u32, cond: CondId, class: Class) -> Option<bool> {
        let all = |parts: &[CondId], short: bool| {
            let mut known = Some(!short);
            for part in parts {
                match self.holds(attribute, *part, class) {
                    Some(holds) if holds == short => return Some(short),
                    Some(_) => {}
                    None => known = None,
                }
            }
            known
        };
        match self.normal.cond(cond) {
            NCond::Test { pred, want } => {
                let (simple, _) = self.atoms.simple(pred.0)?;
                let answer = self.atoms.attributes[attribute as usize].classes.answer(simple, class)?;
                Some(answer == Tri::from(*want))
            }
            NCond::And(parts) => all(parts, false),
            NCond::Or(parts) => all(parts, true),
            NCond::Not(inner) => self.holds(attribute, *inner, class).map(|holds| !holds),
            NCond::Const(value) => Some(*value),
            NCond::Each { .. } => None,
        }
    }
}
