//! A store that has a history (recorded messages) only in memory, for a bounded number of history
//! keys. The history is lost when the process ends.

use super::{EventCache, Events, HashKey, Store, StoreError};

/// A [`Store`] that has the recorded messages of each history key in memory. If there are too many
/// keys, removes the messages of the least recently used key.
pub struct MemoryStore {
    cache: EventCache,
    hash_key: HashKey,
}

impl MemoryStore {
    /// The maximum number of history keys (such as user ids) in a store that
    /// [`MemoryStore::default`] creates.
    pub const DEFAULT_KEYS: usize = 1_000_000;

    /// Creates a store for at most `max_keys` history keys, such as user ids (rounded up to a
    /// multiple of 64).
    pub fn new(max_keys: usize) -> MemoryStore {
        MemoryStore { cache: EventCache::new(max_keys), hash_key: HashKey::random() }
    }

    /// Sets the number of messages from which on messages of less recently used keys are packed
    /// (encoded as bytes); see [`EventCache::unpacked`].
    #[must_use]
    pub fn unpacked(self, messages: usize) -> MemoryStore {
        MemoryStore { cache: self.cache.unpacked(messages), ..self }
    }

    /// Returns the number of history keys that have messages.
    pub fn key_count(&self) -> usize {
        self.cache.key_count()
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
        let load = || Ok(Events::new(self.hash_key));
        self.cache.with_key(key, load, |events| {
            work(events);
            Ok(())
        })
    }
}
