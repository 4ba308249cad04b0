//! Building the index of a rule set: which key each route is found by, and which routes only bits
//! can narrow down.
//!
//! A key must be necessary for its routes and rare. Of the ways a condition offers, the cheapest is
//! taken: how likely a message holds the key, times how many routes could be found by it. Judging a
//! literal by the whole rule set instead of by its length is what keeps posting lists short.

use super::atom::{Atom, Atoms, SetId};
use super::block::{Block, Limits, Ranges};
use super::estimate;
use super::lens::{Class, MISSING};
use super::scan::Scanner;
use super::{Index, Key, LensIndex, Lists, Posting, SubjectIndex, TableIndex};
use crate::bytecode::Chunk;
use crate::sema::normal::{CondId, NCond, NRoute, Normal};
use crate::value::Tri;
use hashbrown::HashMap;

/// From how many routes on a posting list becomes a block with bits of its own.
const BLOCK_FROM: usize = 48;
/// A key that more than one in so many messages holds is not used where bits can tell as well.
const COMMON: f64 = 0.04;
/// A key that this share of messages holds tells nothing.
const USELESS: f64 = 0.5;
/// Conditions with more ways than this to be found are not searched to the end.
const MAX_WAYS: usize = 64;

/// One way to find a route: sets of which one holds whenever its condition does.
pub(super) type Way = Vec<SetId>;

/// How a route is found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Access {
    /// By keys, of which a message must hold one.
    Keys(Way),
    /// By the bits of the values it looks at.
    Bits(Limits),
    /// Nothing rules it out.
    Always,
}

/// Builds the index of a program.
pub fn build(normal: &Normal, chunk: &Chunk) -> Index {
    let atoms = Atoms::of(chunk);
    let builder = Builder::new(normal, &atoms);
    let mut keys = Keys::default();
    let tables = normal.tables.iter().enumerate();
    let tables = tables.map(|(table, routes)| builder.table(table as u32, routes, &mut keys)).collect();
    finish(&atoms, tables, keys)
}

/// The keys that are used.
#[derive(Default)]
struct Keys {
    keys: Vec<Key>,
    /// The key of each table and set.
    numbers: HashMap<(u32, SetId), u32, foldhash::fast::FixedState>,
}

pub(super) struct Builder<'n> {
    normal: &'n Normal,
    atoms: &'n Atoms<'n>,
    /// For each set how many routes could be found by it.
    used: Vec<u32>,
}

impl<'n> Builder<'n> {
    pub(super) fn new(normal: &'n Normal, atoms: &'n Atoms<'n>) -> Builder<'n> {
        let mut builder = Builder { normal, atoms, used: vec![0; atoms.likelihood.len()] };
        let mut ways = Vec::new();
        for route in normal.tables.iter().flatten() {
            ways.clear();
            builder.ways(route.cond, &mut ways);
            for set in ways.iter().flatten() {
                builder.used[*set as usize] += 1;
            }
        }
        builder
    }

    /// The ways in which a condition can be found.
    pub(super) fn ways(&self, cond: CondId, into: &mut Vec<Way>) {
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
            // What is definitely false has no key, nor has a walk over elements.
            NCond::Test { want: false, .. } | NCond::Each { .. } | NCond::Const(_) => {}
        }
    }

    fn likelihood(&self, way: &Way) -> f64 {
        way.iter().map(|set| self.atoms.likelihood[*set as usize]).sum::<f64>().min(1.0)
    }

    /// What following a way costs: how often, times how many routes could be found by it.
    fn cost(&self, way: &Way) -> f64 {
        let cost =
            |set: &SetId| self.atoms.likelihood[*set as usize] * f64::from(1 + self.used[*set as usize]);
        way.iter().map(cost).sum()
    }

    /// How a route is best found.
    pub(super) fn access(&self, route: &NRoute) -> Access {
        let mut ways = Vec::new();
        self.ways(route.cond, &mut ways);
        let best = ways.into_iter().min_by(|a, b| self.cost(a).total_cmp(&self.cost(b)));
        let likelihood = best.as_ref().map_or(1.0, |best| self.likelihood(best));
        if let Some(best) = best {
            if likelihood <= COMMON {
                return Access::Keys(best);
            }
            let limits = self.limits(route.cond);
            return match limits.is_empty() {
                false => Access::Bits(limits),
                true if likelihood < USELESS => Access::Keys(best),
                true => Access::Always,
            };
        }
        let limits = self.limits(route.cond);
        if limits.is_empty() { Access::Always } else { Access::Bits(limits) }
    }

    fn table(&self, table: u32, routes: &[NRoute], keys: &mut Keys) -> TableIndex {
        let mut postings: Vec<Vec<u32>> = Vec::new();
        let mut sets: Vec<SetId> = Vec::new();
        let mut root = Vec::new();
        let mut indexed = 0.0;
        for (rank, route) in routes.iter().enumerate() {
            let rank = rank as u32;
            match self.access(route) {
                Access::Keys(way) => {
                    for set in way {
                        let next = keys.keys.len() as u32;
                        let key = *keys.numbers.entry((table, set)).or_insert(next);
                        if key == next {
                            keys.keys.push(Key { table, posting: postings.len() as u32 });
                            postings.push(Vec::new());
                            sets.push(set);
                        }
                        postings[keys.keys[key as usize].posting as usize].push(rank);
                    }
                }
                Access::Bits(limits) => {
                    indexed += 0.1 * estimate::condition(self.normal, route.cond);
                    root.push((rank, limits));
                }
                Access::Always => {
                    indexed += estimate::condition(self.normal, route.cond);
                    root.push((rank, Limits::new()));
                }
            }
        }
        for (set, ranks) in sets.iter().zip(&postings) {
            indexed += self.atoms.likelihood[*set as usize] * ranks.len() as f64 * estimate::TRY;
        }
        let root = Block::new(&root);
        indexed += root.words() as f64 * root.columns.len() as f64 * estimate::WORD;
        let linear = estimate::linear(self.normal, routes.iter().map(|route| route.cond));
        let postings = postings.into_iter().map(|ranks| self.posting(ranks, routes)).collect();
        TableIndex { postings, root, linear, indexed, ..TableIndex::default() }
    }

    fn posting(&self, ranks: Vec<u32>, routes: &[NRoute]) -> Posting {
        if ranks.len() < BLOCK_FROM {
            return Posting::List(ranks.into());
        }
        let limited: Vec<(u32, Limits)> =
            ranks.iter().map(|rank| (*rank, self.limits(routes[*rank as usize].cond))).collect();
        let block = Block::new(&limited);
        if block.columns.is_empty() { Posting::List(ranks.into()) } else { Posting::Block(Box::new(block)) }
    }

    /// What single lenses say about a condition: where each part that looks through one may hold.
    fn limits(&self, cond: CondId) -> Limits {
        let mut parts: Vec<(u32, Vec<CondId>)> = Vec::new();
        let mut add = |part: CondId| {
            if let Some(lens) = self.only_lens(part) {
                match parts.iter_mut().find(|(known, _)| *known == lens) {
                    Some((_, parts)) => parts.push(part),
                    None => parts.push((lens, vec![part])),
                }
            }
        };
        match self.normal.cond(cond) {
            NCond::And(all) => all.iter().for_each(|part| add(*part)),
            _ => add(cond),
        }
        let limits = parts.into_iter().map(|(lens, parts)| (lens, self.ranges(lens, &parts)));
        limits.collect()
    }

    /// The one lens that all tests of a condition look through.
    fn only_lens(&self, cond: CondId) -> Option<u32> {
        match self.normal.cond(cond) {
            NCond::Test { pred, .. } => match self.atoms.simple(pred.0) {
                // A long list has more classes than bits can tell apart.
                Some((simple, lens)) if simple.texts().count() <= 32 => Some(*lens),
                _ => None,
            },
            NCond::And(parts) | NCond::Or(parts) => {
                let mut lenses = parts.iter().map(|part| self.only_lens(*part));
                let first = lenses.next()??;
                lenses.all(|lens| lens == Some(first)).then_some(first)
            }
            _ => None,
        }
    }

    fn ranges(&self, lens: u32, parts: &[CondId]) -> Ranges {
        let mut changes = vec![MISSING];
        parts.iter().for_each(|part| self.changes(*part, &mut changes));
        changes.sort_unstable();
        changes.dedup();
        let classes = &self.atoms.lenses[lens as usize].classes;
        let end = classes.end();
        let mut ranges = Ranges::new();
        for (at, from) in changes.iter().enumerate() {
            let to = changes.get(at + 1).copied().unwrap_or(end);
            if *from >= to || parts.iter().any(|part| self.holds(lens, *part, *from) == Some(false)) {
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
                if let Some((simple, lens)) = self.atoms.simple(pred.0) {
                    self.atoms.lenses[*lens as usize].classes.changes(simple, into);
                }
            }
            NCond::And(parts) | NCond::Or(parts) => parts.iter().for_each(|part| self.changes(*part, into)),
            _ => {}
        }
    }

    /// Whether a condition that looks through one lens holds for a class; `None` when that depends on
    /// more than the class.
    fn holds(&self, lens: u32, cond: CondId, class: Class) -> Option<bool> {
        let all = |parts: &[CondId], short: bool| {
            let mut known = Some(!short);
            for part in parts {
                match self.holds(lens, *part, class) {
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
                let answer = self.atoms.lenses[lens as usize].classes.answer(simple, class)?;
                Some(answer == Tri::from(*want))
            }
            NCond::And(parts) => all(parts, false),
            NCond::Or(parts) => all(parts, true),
            NCond::Const(value) => Some(*value),
            NCond::Each { .. } => None,
        }
    }
}

/// Turns what was found into what is looked up.
fn finish(atoms: &Atoms<'_>, mut tables: Vec<TableIndex>, keys: Keys) -> Index {
    let by_number = atoms.atoms_of_sets();
    let mut literal_keys: Vec<Vec<(u32, u32)>> = vec![Vec::new(); atoms.subjects.len()];
    let mut class_keys: Vec<Vec<(Class, u32)>> = vec![Vec::new(); atoms.lenses.len()];
    let mut element_keys: Vec<HashMap<Box<str>, Vec<u32>, foldhash::fast::FixedState>> = Vec::new();
    element_keys.resize_with(atoms.lenses.len(), HashMap::default);
    for ((table, set), key) in &keys.numbers {
        let info = &mut tables[*table as usize];
        for atom in by_number[*set as usize] {
            match atom {
                Atom::Literal(subject, literal) => {
                    literal_keys[*subject as usize].push((*literal, *key));
                    info.subjects.push(*subject);
                }
                Atom::Class(lens, class) => {
                    class_keys[*lens as usize].push((*class, *key));
                    info.lenses.push(*lens);
                }
                Atom::Element(lens, text) => {
                    element_keys[*lens as usize].entry(text.clone()).or_default().push(*key);
                    info.lenses.push(*lens);
                }
            }
        }
    }
    for table in &mut tables {
        for list in [&mut table.subjects, &mut table.lenses] {
            list.sort_unstable();
            list.dedup();
        }
        let looks = table.lenses.len() + table.root.columns.len();
        table.indexed +=
            estimate::PROBE + table.subjects.len() as f64 * estimate::SCAN + looks as f64 * estimate::LOOK;
    }
    let mut first = 0;
    let subjects = atoms.subjects.iter().zip(literal_keys).map(|(subject, keys)| {
        let mut literals: Vec<(&Box<str>, &u32)> = subject.literals.iter().collect();
        literals.sort_unstable_by_key(|(_, number)| **number);
        let built = SubjectIndex {
            operand: subject.operand,
            fold: subject.fold,
            plain: subject.plain,
            modes: subject.modes.clone(),
            scanner: Scanner::from_literals(literals.iter().map(|(literal, _)| literal.as_bytes())),
            first,
            keys: Lists::new(literals.len(), keys),
        };
        first += literals.len() as u32;
        built
    });
    let subjects = subjects.collect();
    let mut lenses = Vec::new();
    for ((lens, keys), elements) in atoms.lenses.iter().zip(class_keys).zip(element_keys) {
        lenses.push(LensIndex {
            operand: lens.operand,
            mode: lens.mode,
            classes: lens.classes.clone(),
            keys: Lists::new(lens.classes.end() as usize, keys),
            elements: elements.into_iter().map(|(text, keys)| (text, keys.into())).collect(),
        });
    }
    Index {
        subjects,
        lenses,
        tables,
        keys: keys.keys,
        literals: atoms.literals.clone(),
        literal_count: first,
    }
}
