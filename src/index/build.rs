//! Building the index of a rule set: which key each route is found by, and which routes only bits
//! can narrow down.
//!
//! A key must be necessary for its routes and rare. Of the ways a condition offers, the cheapest is
//! taken: how likely a message holds the key, times how many routes could be found by it. Judging a
//! literal by the whole rule set instead of by its length is what keeps posting lists short.

use super::atom::{Atom, Atoms, SetId};
use super::block::Block;
use super::estimate;
use super::lens::Class;
use super::limits::{Limiter, Limits};
use super::scan::Scanner;
use super::{Guard, Index, Key, LensIndex, Lists, Posted, Posting, SubjectIndex, TableIndex};
use crate::bytecode::Chunk;
use crate::sema::normal::{CondId, NCond, NRoute, Normal};
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
    /// By the bits of the values it looks at, those of each of its alternatives.
    Bits(Vec<Limits>),
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
    finish(&builder, tables, keys)
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
    /// The atoms of each set.
    sets: Vec<&'n [Atom]>,
    /// For each set how many routes could be found by it.
    used: Vec<u32>,
}

impl<'n> Builder<'n> {
    pub(super) fn new(normal: &'n Normal, atoms: &'n Atoms<'n>) -> Builder<'n> {
        let mut builder =
            Builder { normal, atoms, sets: atoms.atoms_of_sets(), used: vec![0; atoms.likelihood.len()] };
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
            let alternatives = self.limiter().alternatives(route.cond);
            return match alternatives.is_empty() {
                false => Access::Bits(alternatives),
                true if likelihood < USELESS => Access::Keys(best),
                true => Access::Always,
            };
        }
        let alternatives = self.limiter().alternatives(route.cond);
        if alternatives.is_empty() { Access::Always } else { Access::Bits(alternatives) }
    }

    fn limiter(&self) -> Limiter<'n> {
        Limiter::new(self.normal, self.atoms)
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
                Access::Bits(alternatives) => {
                    indexed += 0.1 * estimate::condition(self.normal, route.cond);
                    root.extend(alternatives.into_iter().map(|limits| (rank, limits)));
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
        let mut table = TableIndex { root, linear, indexed, ..TableIndex::default() };
        for (ranks, set) in postings.into_iter().zip(sets) {
            let posting = self.posting(ranks, set, routes, &mut table.posted);
            table.postings.push(posting);
        }
        table
    }

    /// The routes of one key, each with what limits it besides.
    fn posting(&self, ranks: Vec<u32>, key: SetId, routes: &[NRoute], posted: &mut Vec<Posted>) -> Posting {
        let mut limited: Vec<(u32, Limits)> = Vec::new();
        for rank in ranks {
            let mut alternatives = self.limiter().alternatives(routes[rank as usize].cond);
            if alternatives.is_empty() {
                alternatives.push(Limits::new());
            }
            limited.extend(alternatives.into_iter().map(|limits| (rank, limits)));
        }
        if limited.len() >= BLOCK_FROM {
            let block = Block::new(&limited);
            if !block.columns.is_empty() {
                return Posting::Block(Box::new(block));
            }
        }
        let start = posted.len() as u32;
        let told = self.lens_of(key);
        posted.extend(
            limited.into_iter().map(|(rank, limits)| Posted { rank, guards: self.guards(limits, told) }),
        );
        Posting::List { start, end: posted.len() as u32 }
    }

    /// The lens whose class is all that a key says.
    fn lens_of(&self, key: SetId) -> Option<u32> {
        match self.sets[key as usize] {
            [Atom::Class(lens, _)] => Some(*lens),
            _ => None,
        }
    }

    /// The limits that rule a route out most often, but for those that the lens of its key tells.
    fn guards(&self, limits: Limits, told: Option<u32>) -> [Guard; 2] {
        let mut best = [(1.0, Guard::NONE); 2];
        for (lens, ranges) in limits.into_iter().filter(|(lens, _)| Some(*lens) != told) {
            let (Some((from, _)), Some((_, to))) = (ranges.first(), ranges.last()) else {
                // It never holds.
                return [Guard { lens, from: 0, to: 0 }, Guard::NONE];
            };
            let classes = &self.atoms.lenses[lens as usize].classes;
            let mut next = (classes.share(*from, *to), Guard { lens, from: *from, to: *to });
            for kept in &mut best {
                if next.0 < kept.0 {
                    std::mem::swap(kept, &mut next);
                }
            }
        }
        best.map(|(_, guard)| guard)
    }
}

/// Turns what was found into what is looked up.
fn finish(builder: &Builder<'_>, mut tables: Vec<TableIndex>, keys: Keys) -> Index {
    let atoms = builder.atoms;
    let mut literal_keys: Vec<Vec<(u32, u32)>> = vec![Vec::new(); atoms.subjects.len()];
    let mut class_keys: Vec<Vec<(Class, u32)>> = vec![Vec::new(); atoms.lenses.len()];
    let mut element_keys: Vec<HashMap<Box<str>, Vec<u32>, foldhash::fast::FixedState>> = Vec::new();
    element_keys.resize_with(atoms.lenses.len(), HashMap::default);
    for ((table, set), key) in &keys.numbers {
        let info = &mut tables[*table as usize];
        for atom in builder.sets[*set as usize] {
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
