//! A cache in memory of the recorded messages (events) of recently used history keys. Messages that
//! are not used for a while are encoded as bytes, to save memory.

use super::pack::{pack_events, unpack_events};
use super::{Events, StoreError};
use hashbrown::HashTable;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The number of shards of a cache, each with its own lock. Calls for keys in different shards do
/// not wait for each other.
const CACHE_SHARD_COUNT: usize = 64;
/// The default maximum number of messages in a cache that are not packed (encoded as bytes).
const DEFAULT_UNPACKED_MESSAGES: usize = 262_144;

/// A cache in memory of the recorded messages (events) of recently used history keys. If there are
/// too many keys, removes the events of the least recently used key. A store that also saves the
/// events elsewhere loads them again when they are needed. Any other store loses them.
pub struct EventCache {
    shards: Vec<Mutex<CacheShard>>,
    hasher: RandomState,
    max_keys_per_shard: usize,
    max_unpacked: usize,
    /// The number of messages in memory that are not packed, of all shards.
    unpacked_count: AtomicUsize,
}

#[derive(Default)]
struct CacheShard {
    keys: KeyTable,
    /// The uses of all history keys (such as user ids), which show which key was least recently
    /// used.
    key_uses: KeyUseQueue,
    /// The uses of the history keys that may have unpacked messages (messages that are not encoded
    /// as bytes).
    unpacked_uses: KeyUseQueue,
    /// The number of messages in memory that are not packed (encoded as bytes).
    unpacked_count: usize,
    last_use_number: u64,
}

/// A history key, such as a user id, with its hash. A call computes the hash once, to select the
/// shard and to find the key in it.
#[derive(Clone, Copy)]
struct HashedKey<K> {
    text: K,
    hash: u64,
}

/// The history keys of a shard, each with its events (recorded messages).
#[derive(Default)]
struct KeyTable(HashTable<HistoryKeyEvents>);

/// A queue of uses of history keys (such as user ids), oldest first. Each entry has the key, and
/// the sequence number of the use. An entry is outdated if its key was used again later.
#[derive(Default)]
struct KeyUseQueue(VecDeque<(HashedKey<Arc<str>>, u64)>);

/// The events (recorded messages) of a history key, in one of three states.
#[derive(Default)]
enum CachedEvents {
    /// The recorded messages (events) of the history key are not in memory.
    #[default]
    Absent,
    Events(Events),
    /// The recorded messages (events) of the history key, encoded as bytes to save memory.
    Packed(Box<[u8]>),
}

/// The events (recorded messages) of a history key, and the number of unpacked events that the
/// counts of the shard contain.
#[derive(Default)]
struct CountedEvents {
    events: CachedEvents,
    /// The number of messages of this key that are not packed (encoded as bytes). The counts of the
    /// shard contain this number.
    counted: usize,
}

/// The events (recorded messages) of a history key. A call holds the lock while it uses the events,
/// so that calls for the same key run one after another.
type LockedEvents = Arc<Mutex<CountedEvents>>;

struct HistoryKeyEvents {
    key: HashedKey<Arc<str>>,
    events: LockedEvents,
    /// Sequence number of the key's last use, from which the least recently used key is found.
    last_use_number: u64,
    /// The number of messages of this key that are not packed (encoded as bytes); 0 if the events
    /// are packed.
    unpacked_count: usize,
}

impl EventCache {
    /// Creates a cache for at most `max_keys` history keys, such as user ids (rounded up to a
    /// multiple of 64).
    pub fn new(max_keys: usize) -> EventCache {
        EventCache {
            shards: (0..CACHE_SHARD_COUNT).map(|_| Mutex::default()).collect(),
            hasher: RandomState::default(),
            max_keys_per_shard: max_keys.div_ceil(CACHE_SHARD_COUNT).max(1),
            max_unpacked: DEFAULT_UNPACKED_MESSAGES,
            unpacked_count: AtomicUsize::new(0),
        }
    }

    /// Sets the number of messages from which on messages are packed. Packing encodes the messages
    /// of less recently used keys as bytes. Packed messages take much less memory, but reading them
    /// takes some microseconds longer. At most twice this number of messages are not packed.
    #[must_use]
    pub fn unpacked(self, messages: usize) -> EventCache {
        EventCache { max_unpacked: messages, ..self }
    }

    /// Returns the number of history keys whose events (recorded messages) are in memory.
    pub fn key_count(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).keys.0.len()).sum()
    }

    /// Removes the events (recorded messages) of all history keys that no call uses at the moment.
    /// Removed events are loaded again when they are needed.
    pub fn clear(&self) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.keys.0.retain(|used| !used.is_idle());
            let count = shard.keys.0.iter().map(|used| used.unpacked_count).sum();
            shard.set_unpacked_count(count, self);
        }
    }

    /// True if recorded messages must be packed (encoded as bytes), because too many are not.
    fn is_full(&self) -> bool {
        self.unpacked_count.load(Ordering::Relaxed) > self.max_unpacked
    }

    /// Calls `work` with the recorded messages (events) of a history key, such as a user id. Calls
    /// for the same key run one after another. If the messages are not in memory, calls `load`
    /// first.
    ///
    /// # Errors
    /// The error of `load` or `work`. After an error of `work`, drops the events from memory,
    /// because they may have unsaved changes.
    pub fn with_key(
        &self,
        key: &str,
        load: impl FnOnce() -> Result<Events, StoreError>,
        work: impl FnOnce(&mut Events) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let key = HashedKey { text: key, hash: self.hasher.hash_one(key) };
        let shard = self.shard_of(key);
        let locked = lock(shard).use_key(key);
        let (result, is_counted) = {
            let mut kept = lock(&locked);
            (kept.events.with_events(load, work), kept.is_counted())
        };
        drop(locked);
        // Most calls only read, or replace as many messages as they add.
        if !is_counted || self.is_full() {
            lock(shard).end_use(key, self);
        }
        result
    }

    /// Returns the shard of a key. The table of the shard uses the low bits of the hash, so the
    /// shard is selected by other bits.
    fn shard_of<K>(&self, key: HashedKey<K>) -> &Mutex<CacheShard> {
        &self.shards[(key.hash >> 32) as usize % CACHE_SHARD_COUNT]
    }
}

impl CountedEvents {
    /// True if the counts of the shard contain these events, so that a call that ends has nothing
    /// to count. False without events, because the key is then removed.
    fn is_counted(&self) -> bool {
        !self.events.is_empty() && self.events.unpacked_count() == self.counted
    }
}

impl CachedEvents {
    fn with_events(
        &mut self,
        load: impl FnOnce() -> Result<Events, StoreError>,
        work: impl FnOnce(&mut Events) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match self {
            CachedEvents::Absent => *self = CachedEvents::Events(load()?),
            CachedEvents::Packed(bytes) => *self = CachedEvents::Events(unpack_events(bytes)),
            CachedEvents::Events(_) => {}
        }
        let result = match self {
            CachedEvents::Events(events) => work(events),
            CachedEvents::Absent | CachedEvents::Packed(_) => Ok(()),
        };
        if result.is_err() {
            *self = CachedEvents::Absent;
        }
        result
    }

    fn unpacked_count(&self) -> usize {
        match self {
            CachedEvents::Events(events) => events.elements().len(),
            CachedEvents::Absent | CachedEvents::Packed(_) => 0,
        }
    }

    /// True if no events (recorded messages) of the key are in memory, so that removing the key
    /// loses nothing.
    fn is_empty(&self) -> bool {
        match self {
            CachedEvents::Absent => true,
            CachedEvents::Events(events) => events.elements().is_empty(),
            CachedEvents::Packed(_) => false,
        }
    }
}

impl KeyTable {
    fn get<K: AsRef<str>>(&self, key: &HashedKey<K>) -> Option<&HistoryKeyEvents> {
        self.0.find(key.hash, |used| *used.key.text == *key.text.as_ref())
    }

    fn get_mut<K: AsRef<str>>(&mut self, key: &HashedKey<K>) -> Option<&mut HistoryKeyEvents> {
        self.0.find_mut(key.hash, |used| *used.key.text == *key.text.as_ref())
    }

    /// Returns the entry of a key; adds one without events if there is none.
    fn get_or_add(&mut self, key: HashedKey<&str>) -> &mut HistoryKeyEvents {
        let is_same = |used: &HistoryKeyEvents| *used.key.text == *key.text;
        let entry = self.0.entry(key.hash, is_same, |used| used.key.hash);
        entry.or_insert_with(|| HistoryKeyEvents::new(key)).into_mut()
    }

    fn remove<K: AsRef<str>>(&mut self, key: &HashedKey<K>) -> Option<HistoryKeyEvents> {
        let found = self.0.find_entry(key.hash, |used| *used.key.text == *key.text.as_ref());
        found.ok().map(|found| found.remove().0)
    }
}

impl CacheShard {
    /// Returns the events (recorded messages) of a history key, and records the use of the key.
    fn use_key(&mut self, key: HashedKey<&str>) -> LockedEvents {
        self.last_use_number += 1;
        let used = self.keys.get_or_add(key);
        used.last_use_number = self.last_use_number;
        self.key_uses.push_use(&used.key, self.last_use_number);
        self.unpacked_uses.push_use(&used.key, self.last_use_number);
        let events = Arc::clone(&used.events);
        let unpacked_keys = self.unpacked_count.min(self.keys.0.len());
        self.key_uses.trim_outdated_uses(&self.keys, self.keys.0.len());
        self.unpacked_uses.trim_outdated_uses(&self.keys, unpacked_keys);
        events
    }

    fn set_unpacked_count(&mut self, count: usize, cache: &EventCache) {
        // The number of all shards may be outdated for a moment, but no change is lost.
        cache.unpacked_count.fetch_add(count.wrapping_sub(self.unpacked_count), Ordering::Relaxed);
        self.unpacked_count = count;
    }

    /// Ends the use of a history key. Removes the key if it has no events. Then removes the least
    /// recently used keys if there are more keys than `cache` allows. If there are more unpacked
    /// messages than `cache` allows, packs the events of the least recently used keys (encodes them
    /// as bytes).
    fn end_use(&mut self, key: HashedKey<&str>, cache: &EventCache) {
        if let Some(used) = self.keys.get_mut(&key) {
            // Another call that holds the lock counts the events itself when it ends.
            let counts = try_lock(&used.events).map(|mut kept| {
                kept.counted = kept.events.unpacked_count();
                (kept.counted, kept.events.is_empty())
            });
            if let Some((count, is_empty)) = counts {
                let is_removed = is_empty && used.is_idle();
                let sum = self.unpacked_count + count - std::mem::replace(&mut used.unpacked_count, count);
                self.set_unpacked_count(sum, cache);
                if is_removed {
                    self.keys.remove(&key);
                }
            }
        }
        while self.keys.0.len() > cache.max_keys_per_shard {
            let Some(oldest) = self.key_uses.pop_idle_key(&self.keys) else { break };
            if let Some(removed) = self.keys.remove(&oldest) {
                self.set_unpacked_count(self.unpacked_count - removed.unpacked_count, cache);
            }
        }
        // A shard with many messages packs none while the cache has room for them.
        let share = cache.max_unpacked.div_ceil(CACHE_SHARD_COUNT);
        while self.unpacked_count > share && cache.is_full() {
            let Some(oldest) = self.unpacked_uses.pop_idle_key(&self.keys) else { break };
            let Some(used) = self.keys.get_mut(&oldest) else { break };
            if *oldest.text == *key.text {
                // The key that was just used stays unpacked.
                let number = used.last_use_number;
                self.unpacked_uses.0.push_back((oldest, number));
                break;
            }
            let packed = std::mem::take(&mut used.unpacked_count);
            used.pack();
            self.set_unpacked_count(self.unpacked_count - packed, cache);
        }
    }
}

impl KeyUseQueue {
    /// Adds a use of a history key to the end of the queue. Replaces the last entry of the queue if
    /// it has the same key.
    fn push_use(&mut self, key: &HashedKey<Arc<str>>, number: u64) {
        match self.0.back_mut() {
            Some((last_key, last_number)) if Arc::ptr_eq(&last_key.text, &key.text) => *last_number = number,
            _ => self.0.push_back((key.clone(), number)),
        }
    }

    /// Removes and returns the least recently used key that no call uses at the moment. Removing a
    /// key in use would be wrong: another call would then create a second copy of its events.
    fn pop_idle_key(&mut self, keys: &KeyTable) -> Option<HashedKey<Arc<str>>> {
        for _ in 0..self.0.len() {
            let (key, number) = self.0.pop_front()?;
            match keys.get(&key) {
                Some(used) if used.last_use_number != number => {}
                Some(used) if used.is_idle() => return Some(key),
                Some(_) => self.0.push_back((key, number)),
                None => {}
            }
        }
        None
    }

    /// Removes the outdated entries if they are more than half of the queue. `keys` shows which
    /// entries are outdated. `current` is the maximum number of other entries.
    fn trim_outdated_uses(&mut self, keys: &KeyTable, current: usize) {
        if self.0.len() > 2 * current + 16 {
            self.0.retain(|(key, number)| keys.get(key).is_some_and(|used| used.last_use_number == *number));
        }
    }
}

impl HistoryKeyEvents {
    fn new(key: HashedKey<&str>) -> HistoryKeyEvents {
        let key = HashedKey { text: key.text.into(), hash: key.hash };
        HistoryKeyEvents { key, events: Arc::default(), last_use_number: 0, unpacked_count: 0 }
    }

    /// True if no call uses the events (recorded messages) of this key at the moment.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.events) == 1
    }

    /// Packs the events (encodes the recorded messages as bytes). Must be called only while no call
    /// uses them.
    fn pack(&self) {
        let mut kept = lock(&self.events);
        if let CachedEvents::Events(events) = &kept.events {
            *kept = CountedEvents { events: CachedEvents::Packed(pack_events(events)), counted: 0 };
        }
    }
}

/// Locks a mutex; `None` if another thread holds it.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::HashKey;
    use serde_json::json;

    #[test]
    fn a_call_that_ends_late_does_not_remove_the_messages_of_another() {
        let cache = EventCache::new(64);
        let load = || Ok(Events::new(HashKey::default()));
        let record = |events: &mut Events| {
            let element = json!({"#": 0, "at": "2026-01-31T12:00:00Z"});
            *events = Events::from_elements(vec![element], HashKey::default());
            Ok(())
        };
        // The first call finds no messages, and stops before it ends the use of the key.
        let ann = HashedKey { text: "ann", hash: cache.hasher.hash_one("ann") };
        let shard = cache.shard_of(ann);
        let locked = lock(shard).use_key(ann);
        lock(&locked).events.with_events(load, |_| Ok(())).expect("it loads");
        cache.with_key("ann", load, record).expect("it is recorded");
        drop(locked);
        lock(shard).end_use(ann, &cache);
        let mut count = 0;
        let read = |events: &mut Events| {
            count = events.elements().len();
            Ok(())
        };
        cache.with_key("ann", load, read).expect("it is there");
        assert_eq!((count, lock(shard).unpacked_count), (1, 1));
        // A key without messages is not kept.
        cache.with_key("bob", load, |_| Ok(())).expect("it loads");
        assert_eq!(cache.key_count(), 1);
    }

    /// Regression test: a few keys with many messages in one shard were packed by turns, although
    /// the other shards had none.
    #[test]
    fn a_shard_packs_nothing_while_the_cache_has_room() {
        const MESSAGES: usize = 9;
        let cache = EventCache::new(6_400).unpacked(MESSAGES * CACHE_SHARD_COUNT);
        let record = |key: &str| {
            let load = || Ok(Events::new(HashKey::default()));
            let recorded = cache.with_key(key, load, |events| {
                let element = |position: usize| json!({"#": position, "at": "2026-01-31T12:00:00Z"});
                *events = Events::from_elements((0..MESSAGES).map(element).collect(), HashKey::default());
                Ok(())
            });
            recorded.expect("it is recorded");
        };
        let shard_of = |key: &str| (cache.hasher.hash_one(key) >> 32) as usize % CACHE_SHARD_COUNT;
        let keys_of = |shard: usize, count: usize| -> Vec<String> {
            let keys = (0..).map(|number| format!("user {number}"));
            keys.filter(|key| shard_of(key) == shard).take(count).collect()
        };
        let keys = keys_of(0, 5);
        keys.iter().for_each(|key| record(key));
        assert_eq!(lock(&cache.shards[0]).unpacked_count, 5 * MESSAGES);
        // Now the cache gets more messages than it may have unpacked.
        (1..CACHE_SHARD_COUNT).flat_map(|shard| keys_of(shard, 1)).for_each(|key| record(&key));
        assert!(cache.is_full());
        record(&keys[0]);
        assert_eq!(lock(&cache.shards[0]).unpacked_count, MESSAGES);
        let counts = cache.shards.iter().map(|shard| lock(shard).unpacked_count);
        assert_eq!(counts.sum::<usize>(), cache.unpacked_count.load(Ordering::Relaxed));
        cache.clear();
        assert_eq!((cache.key_count(), cache.unpacked_count.load(Ordering::Relaxed)), (0, 0));
    }
}
