//! The events of the keys that were used last, in memory.

use super::{Events, StoreError};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of parts of a cache. Calls for keys in different parts do not wait for each other.
const SHARDS: usize = 64;

/// Keeps the events of the keys that were used last in memory. If there are too many keys, the
/// events of the key that was used least recently are removed. A store in memory then loses them,
/// another store loads them again.
pub struct EventCache {
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

/// The events of a key; `None` if they are not loaded. The lock ensures that one decision for a key
/// follows another.
type LockedEvents = Arc<Mutex<Option<Events>>>;

struct KeyEvents {
    events: LockedEvents,
    /// The number of the last use of the key.
    last_use: u64,
}

impl EventCache {
    /// Creates a cache for at most `max_keys` keys (rounded up to a multiple of 64).
    pub fn new(max_keys: usize) -> EventCache {
        EventCache {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::default(),
            max_keys_per_shard: max_keys.div_ceil(SHARDS).max(1),
        }
    }

    /// Returns the number of keys with events in memory.
    pub fn key_count(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).events.len()).sum()
    }

    /// Removes the events of all keys that no call uses, so that they are loaded again.
    pub fn clear(&self) {
        self.shards.iter().for_each(|shard| lock(shard).events.retain(|_, used| !used.is_idle()));
    }

    /// Calls `work` with the events of a key. No other call for the same key runs at the same time.
    /// Calls `load` before, if the events are not in memory.
    ///
    /// # Errors
    /// The errors of `load` and `work`. After an error of `work`, the events are loaded again.
    pub fn with_key(
        &self,
        key: &str,
        load: impl FnOnce() -> Result<Events, StoreError>,
        work: impl FnOnce(&mut Events) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let shard = &self.shards[self.hasher.hash_one(key) as usize % SHARDS];
        let locked = lock(shard).use_key(key);
        let result = with_events(&mut lock(&locked), load, work);
        let is_empty = lock(&locked).as_ref().is_none_or(|events| events.elements().is_empty());
        drop(locked);
        lock(shard).end_use(key, is_empty, self.max_keys_per_shard);
        result
    }
}

fn with_events(
    loaded: &mut Option<Events>,
    load: impl FnOnce() -> Result<Events, StoreError>,
    work: impl FnOnce(&mut Events) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let events = match loaded {
        Some(events) => events,
        None => loaded.insert(load()?),
    };
    let result = work(events);
    if result.is_err() {
        *loaded = None;
    }
    result
}

impl Shard {
    /// Returns the events of a key, and marks the key as used.
    fn use_key(&mut self, key: &str) -> LockedEvents {
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
