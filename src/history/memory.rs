//! A history in memory, bounded by a number of keys.

use super::{Events, Store, StoreError};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of parts of a store. Calls for keys in different parts do not wait for each other.
const SHARDS: usize = 64;

/// Keeps the earlier messages of each key in memory. If there are too many keys, the events of the
/// key that was used least recently are removed.
pub struct MemoryStore {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    max_keys_per_shard: usize,
}

#[derive(Default)]
struct Shard {
    events: HashMap<String, KeyEvents>,
    /// The keys with the number of their use, oldest first. An entry is outdated if the key was
    /// used again later.
    uses: VecDeque<(String, u64)>,
    last_use: u64,
}

struct KeyEvents {
    /// The lock ensures that one decision for a key follows another.
    events: Arc<Mutex<Events>>,
    /// The number of the last use of the key.
    last_use: u64,
}

impl MemoryStore {
    /// The number of keys that [`MemoryStore::default`] keeps.
    pub const DEFAULT_KEYS: usize = 1_000_000;

    /// Creates a store for at most `max_keys` keys (rounded up to a multiple of 64).
    pub fn new(max_keys: usize) -> MemoryStore {
        MemoryStore {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::default(),
            max_keys_per_shard: max_keys.div_ceil(SHARDS).max(1),
        }
    }

    /// Returns the number of keys with events.
    pub fn key_count(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).events.len()).sum()
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new(MemoryStore::DEFAULT_KEYS)
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryStore({} keys)", self.key_count())
    }
}

impl Store for MemoryStore {
    fn with_key(&self, key: &str, work: &mut dyn FnMut(&mut Events)) -> Result<(), StoreError> {
        let shard = &self.shards[self.hasher.hash_one(key) as usize % SHARDS];
        let events = lock(shard).use_key(key);
        let is_empty = {
            let mut events = lock(&events);
            work(&mut events);
            events.elements().is_empty()
        };
        drop(events);
        lock(shard).end_use(key, is_empty, self.max_keys_per_shard);
        Ok(())
    }
}

impl Shard {
    /// Returns the events of a key, and marks the key as used.
    fn use_key(&mut self, key: &str) -> Arc<Mutex<Events>> {
        self.last_use += 1;
        let number = self.last_use;
        self.uses.push_back((key.to_owned(), number));
        let added = || KeyEvents { events: Arc::default(), last_use: number };
        let used = self.events.entry(key.to_owned()).or_insert_with(added);
        used.last_use = number;
        Arc::clone(&used.events)
    }

    /// Removes a key that is still without events (`is_empty`), and the keys that were used least
    /// recently if there are too many.
    fn end_use(&mut self, key: &str, is_empty: bool, max_keys: usize) {
        if is_empty && self.events.get(key).is_some_and(KeyEvents::is_idle) {
            self.events.remove(key);
        }
        // A key in use is not removed: its events must not be kept twice.
        for _ in 0..self.uses.len() {
            if self.events.len() <= max_keys {
                break;
            }
            let Some((key, number)) = self.uses.pop_front() else { break };
            match self.events.entry(key) {
                Entry::Occupied(entry) if entry.get().last_use != number => {}
                Entry::Occupied(entry) if entry.get().is_idle() => drop(entry.remove()),
                Entry::Occupied(entry) => self.uses.push_back((entry.key().clone(), number)),
                Entry::Vacant(_) => {}
            }
        }
        // Outdated entries must not outnumber the keys by far.
        if self.uses.len() > 2 * self.events.len() + 16 {
            let events = &self.events;
            self.uses.retain(|(key, number)| events.get(key).is_some_and(|used| used.last_use == *number));
        }
    }
}

impl KeyEvents {
    /// True if no decision uses the events.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.events) == 1
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
