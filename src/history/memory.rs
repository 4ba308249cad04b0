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
        let events = lock(shard).use_key(key, self.max_keys_per_shard);
        work(&mut lock(&events));
        Ok(())
    }
}

impl Shard {
    /// Returns the events of a key, and marks the key as used. Removes the key that was used least
    /// recently if there are too many.
    fn use_key(&mut self, key: &str, max_keys: usize) -> Arc<Mutex<Events>> {
        self.last_use += 1;
        let number = self.last_use;
        let events = match self.events.entry(key.to_owned()) {
            Entry::Occupied(mut entry) => {
                entry.get_mut().last_use = number;
                Arc::clone(&entry.get().events)
            }
            Entry::Vacant(entry) => {
                let added = KeyEvents { events: Arc::default(), last_use: number };
                Arc::clone(&entry.insert(added).events)
            }
        };
        self.uses.push_back((key.to_owned(), number));
        while self.events.len() > max_keys {
            self.remove_oldest_use(true);
        }
        // Outdated entries must not outnumber the keys by far.
        while self.uses.len() > 2 * self.events.len() + 16 {
            self.remove_oldest_use(false);
        }
        events
    }

    /// Removes the oldest entry of `uses`. If it is not outdated, removes its key if `with_key`,
    /// and otherwise counts the entry as the newest.
    fn remove_oldest_use(&mut self, with_key: bool) {
        let Some((key, number)) = self.uses.pop_front() else { return };
        let Entry::Occupied(mut entry) = self.events.entry(key) else { return };
        match (entry.get().last_use == number, with_key) {
            (false, _) => {}
            (true, true) => drop(entry.remove()),
            (true, false) => {
                self.last_use += 1;
                entry.get_mut().last_use = self.last_use;
                self.uses.push_back((entry.key().clone(), self.last_use));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
