//! What decisions look at: a compiled base, and what was edited since. Edits leave the base as it is.
//! Each has a version; a decision sees those up to the version it began at, all or nothing, and holds
//! no lock while conditions run, so that a function they call may decide or edit as well.

use super::find::Finder;
use super::route::Route;
use super::texts::Places;
use crate::engine::Rules;
use crate::index::tombstones::Tombstones;
use crate::sema::hir::{RuleId, TableId, TableKind};
use hashbrown::HashMap;
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A compiled rule set with what is needed to edit it.
pub(super) struct Base {
    pub rules: Rules,
    /// The routes of each table that can hold, in the order they are tried.
    pub orders: Vec<Vec<RuleId>>,
    /// The routes of each table by name, disabled ones included.
    pub names: Vec<HashMap<Arc<str>, RuleId>>,
    /// Where the routes stand in the texts.
    pub places: Places,
}

/// Where a route stands among those of equal priority: a base route's own number, or one of
/// [`INSERTED`] and up.
pub(super) type Place = u64;
/// The first of the places behind all base routes.
pub(super) const INSERTED: Place = 1 << 32;

/// A route that came later.
pub(super) struct Entry {
    pub route: Arc<Route>,
    pub place: Place,
    /// So many routes of the base stand before it in its table.
    pub before: u32,
    /// The version from which on it is there.
    pub born: u32,
    /// The version from which on it is gone, 0 while it is there.
    dead: AtomicU32,
}

impl Entry {
    pub fn new(route: Arc<Route>, place: Place, before: u32, born: u32) -> Entry {
        Entry { route, place, before, born, dead: AtomicU32::new(0) }
    }

    /// Where it stands among its table's entries.
    pub fn order(&self) -> (TableId, Reverse<i64>, Place) {
        (self.route.table, Reverse(self.route.priority()), self.place)
    }

    /// Whether it is there as of a version.
    pub fn is_there(&self, version: u32) -> bool {
        let dead = self.dead.load(Ordering::Relaxed);
        self.born <= version && (dead == 0 || dead > version)
    }
}

/// A base with its edits.
pub(super) struct View {
    pub base: Base,
    removed: Tombstones,
    entries: Entries,
    /// Locked for some microseconds at a time.
    latest: RwLock<Latest>,
    edited: AtomicBool,
}

/// What an edit changes at once.
#[derive(Default)]
struct Latest {
    version: u32,
    finder: Finder,
}

/// The routes that came later and may hold for a message, as of a version, in the order they are tried,
/// table by table.
pub(super) struct Found<'v> {
    pub version: u32,
    pub entries: SmallVec<[&'v Entry; 8]>,
}

impl Base {
    /// A base of compiled rules.
    pub fn new(rules: Rules, places: Places) -> Base {
        let chunk = rules.bytecode().chunk();
        let orders = (0..chunk.tables.len()).map(|table| chunk.order(table).collect()).collect();
        Base { names: Base::names_of(&rules), orders, rules, places }
    }

    /// How many base routes that can hold stand before a route of that priority and place.
    pub fn before(&self, table: TableId, priority: i64, place: Place) -> u32 {
        let program = self.rules.program();
        let routes = self.orders.get(table.index()).map_or(&[][..], Vec::as_slice);
        let key = (Reverse(priority), place);
        let order = |id: RuleId| (Reverse(program.rules[id.index()].priority), Place::from(id.0));
        routes.partition_point(|route| order(*route) < key) as u32
    }

    /// A route's rank in its table; `None` when it can never hold.
    pub fn rank(&self, id: RuleId) -> Option<u32> {
        let rule = self.rules.program().rules.get(id.index())?;
        let rank = self.before(rule.table, rule.priority, Place::from(id.0));
        let routes = self.orders.get(rule.table.index())?;
        (*routes.get(rank as usize)? == id).then_some(rank)
    }

    /// The routes of each table by name.
    fn names_of(rules: &Rules) -> Vec<HashMap<Arc<str>, RuleId>> {
        let program = rules.program();
        let mut names: Vec<HashMap<Arc<str>, RuleId>> = vec![HashMap::new(); program.tables.len()];
        for (at, rule) in program.rules.iter().enumerate() {
            if program.tables[rule.table.index()].kind == TableKind::Routes {
                names[rule.table.index()].insert(rule.name.clone(), RuleId(at as u32));
            }
        }
        names
    }
}

impl View {
    pub fn new(base: Base) -> View {
        let removed = Tombstones::new(base.orders.iter().map(Vec::len));
        View {
            base,
            removed,
            entries: Entries::default(),
            latest: RwLock::default(),
            edited: AtomicBool::new(false),
        }
    }

    /// Whether anything was edited.
    pub fn is_edited(&self) -> bool {
        self.edited.load(Ordering::Acquire)
    }

    pub fn removed(&self) -> &Tombstones {
        &self.removed
    }

    /// All entries so far.
    pub fn entries(&self) -> impl Iterator<Item = (u32, &Entry)> {
        (0..).map_while(|at| Some((at, self.entries.get(at)?)))
    }

    /// The entry of that number.
    pub fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at)
    }

    /// The routes that came later and may hold for a message.
    pub fn find(&self, message: &Json, room: &mut Vec<u32>) -> Found<'_> {
        room.clear();
        let version = {
            let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
            latest.finder.find(message, room);
            latest.version
        };
        room.sort_unstable();
        room.dedup();
        let entries = room.iter().filter_map(|at| self.entries.get(*at));
        let mut entries: SmallVec<[&Entry; 8]> = entries.filter(|entry| entry.is_there(version)).collect();
        entries.sort_unstable_by_key(|entry| entry.order());
        Found { version, entries }
    }

    /// Makes edits seen, together, under a version greater than all before. Only one thread at a time
    /// edits.
    pub fn edit(&self, version: u32, gone: &[Gone], come: Vec<Entry>) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(come.len());
        for entry in come {
            numbers.extend(self.entries.push(entry));
        }
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        for at in &numbers {
            if let Some(entry) = self.entries.get(*at).filter(|entry| entry.route.can_hold) {
                latest.finder.insert(*at, entry.route.keys.as_deref());
            }
        }
        for gone in gone {
            match *gone {
                Gone::Entry(at) => {
                    if let Some(entry) = self.entries.get(at) {
                        entry.dead.store(version, Ordering::Relaxed);
                    }
                }
                Gone::Base(table, rank) => self.removed.remove(table, rank, version.into()),
            }
        }
        latest.version = version;
        drop(latest);
        self.edited.store(true, Ordering::Release);
        numbers
    }
}

/// What an edit takes away.
#[derive(Clone, Copy)]
pub(super) enum Gone {
    /// An entry.
    Entry(u32),
    /// The route of that rank of a table of the base.
    Base(TableId, u32),
}

/// A list that grows while others read it: chunks twice as large as the one before.
struct Entries {
    chunks: [OnceLock<Box<[OnceLock<Entry>]>>; CHUNKS],
    len: AtomicU32,
}

const CHUNKS: usize = 26;
/// The length of the first chunk.
const FIRST: u32 = 32;

impl Default for Entries {
    fn default() -> Entries {
        Entries { chunks: [const { OnceLock::new() }; CHUNKS], len: AtomicU32::new(0) }
    }
}

/// The chunk an element lies in, and where.
fn chunk_of(at: u32) -> (usize, usize) {
    let chunk = (at / FIRST + 1).ilog2();
    (chunk as usize, (at - FIRST * ((1 << chunk) - 1)) as usize)
}

impl Entries {
    fn get(&self, at: u32) -> Option<&Entry> {
        let (chunk, at) = chunk_of(at);
        self.chunks.get(chunk)?.get()?.get(at)?.get()
    }

    /// Appends; `None` when there is no room for any more. Only one thread at a time does.
    fn push(&self, entry: Entry) -> Option<u32> {
        let number = self.len.load(Ordering::Relaxed);
        let (chunk, at) = chunk_of(number);
        let length = (FIRST as usize) << chunk;
        let chunk = self.chunks.get(chunk)?;
        chunk.get_or_init(|| (0..length).map(|_| OnceLock::new()).collect()).get(at)?.set(entry).ok()?;
        self.len.store(number + 1, Ordering::Relaxed);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_each_other() {
        let mut expected = (0, 0);
        for at in 0..5000 {
            assert_eq!(chunk_of(at), expected);
            expected.1 += 1;
            if expected.1 == (FIRST as usize) << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }
}
