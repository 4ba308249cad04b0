//! Stores histories on disk or at a server. [`DurableStore`] saves the recorded messages, which
//! rules read as `history`, in an SQLite database. So they survive the end of the process.
//! `SharedStore`, with the feature `shared`, saves them at a Redis server, for several processes.
//!
//! One thread owns the database. It writes the changes of all waiting calls in one transaction, so
//! that they share one wait for the disk (group commit). The messages of recently used keys are
//! also cached in memory. So a decision reads the database only for a key that is not cached.
//!
//! ```
//! use rulec::Rules;
//! use rulec_history_store::DurableStore;
//! use serde_json::json;
//! use std::sync::Arc;
//!
//! let rules = Rules::from_text(
//!     "input { tool: string, now: datetime }
//!      history keep 1h
//!      route again when previous.tool == tool -> deny
//!      default -> run",
//! )?;
//! let folder = tempfile::tempdir()?;
//! let call = json!({"tool": "search", "now": "2026-01-31T12:00:00Z"});
//! for expected in ["run", "deny"] {
//!     // Opened again, the store has what it acknowledged before.
//!     let store = Arc::new(DurableStore::open(folder.path())?);
//!     let mut session = rules.session().with_history(store);
//!     assert_eq!(session.decide_and_record(&call)?.target(), Some(expected));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod database;
mod element;
mod hash_key;
#[cfg(feature = "shared")]
mod shared;
mod writer;

pub use element::{StoreReport, StoredMessage};
#[cfg(feature = "shared")]
pub use shared::{SharedAddress, SharedStore};

use database::Database;
use rulec::history::{Changes, EventCache, Events, HashKey, Store, StoreError};
use std::path::Path;
use std::sync::{PoisonError, RwLock};
use writer::DatabaseThread;

/// Maximum number of history keys (such as user ids) whose messages are cached in memory.
const MAX_CACHED_KEYS: usize = 100_000;

/// A store that saves the recorded messages of each history key (such as a user id) in a folder on
/// disk. Only one store at a time can use a folder.
pub struct DurableStore {
    cache: EventCache,
    hash_key: HashKey,
    writer: DatabaseThread,
    /// Read-locked while a call uses the messages of a history key. Write-locked while messages are
    /// removed, so that no call reads them.
    exclusive_use_lock: RwLock<()>,
    /// Whether a call that records a message may return before the message is on disk.
    is_deferred: bool,
}

impl std::fmt::Debug for DurableStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DurableStore({} keys in memory)", self.cache.key_count())
    }
}

impl DurableStore {
    /// Opens the history store in a folder. Creates the folder if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be written, another store uses it, or its files are damaged.
    pub fn open(folder: &Path) -> Result<DurableStore, StoreError> {
        std::fs::create_dir_all(folder)
            .map_err(|error| StoreError(format!("{}: {error}", folder.display())))?;
        let database = Database::open(folder)?;
        let hash_key = hash_key::read_or_create_hash_key(folder, database.is_new())?;
        let writer = DatabaseThread::start(database)?;
        let (cache, exclusive_use_lock) = (EventCache::new(MAX_CACHED_KEYS), RwLock::default());
        Ok(DurableStore { cache, hash_key, writer, exclusive_use_lock, is_deferred: false })
    }

    /// True if the folder contains the database of a history store.
    pub fn exists(folder: &Path) -> bool {
        Database::database_path(folder).is_file()
    }

    /// Lets calls that record messages return before the messages are on disk;
    /// [`DurableStore::flush`] waits until they are. This is faster for a program that acknowledges
    /// many messages together.
    #[must_use]
    pub fn deferred(self) -> DurableStore {
        DurableStore { is_deferred: true, ..self }
    }

    /// Waits until the changes of all earlier calls are on disk. Only needed after `deferred`,
    /// which lets calls return earlier.
    ///
    /// # Errors
    /// If the changes of an earlier call cannot be written.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.writer.run_in_transaction(|_| Ok(()))
    }

    /// Calls `visit` with each recorded message, ordered by history key and time. If `key` is
    /// given, only the messages of this key are visited. Stops if `visit` returns false.
    ///
    /// # Errors
    /// If the messages cannot be read.
    pub fn for_each(
        &self,
        key: Option<&str>,
        mut visit: impl FnMut(StoredMessage) -> bool + Send + 'static,
    ) -> Result<(), StoreError> {
        let key = key.map(str::to_owned);
        self.writer.run_outside_transactions(move |database| database.for_each(key.as_deref(), &mut visit))
    }

    /// Checks the database for damage: its pages, and the format and time of each stored message.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn check(&self) -> Result<StoreReport, StoreError> {
        self.writer.run_outside_transactions(|database| database.check_integrity())
    }

    /// Removes the messages older than `before` (a time as RFC 3339 text) if it is given. Then
    /// returns unused space to the file system. Returns the number of removed messages.
    ///
    /// Waits until no call uses the messages of a history key. So do not call it from within
    /// [`Store::with_key`]: it would wait for ever.
    ///
    /// # Errors
    /// If `before` is not a time, or the database cannot be written.
    pub fn compact(&self, before: Option<&str>) -> Result<usize, StoreError> {
        let before = before.map(element::parse_time).transpose()?;
        let _alone = self.exclusive_use_lock.write().unwrap_or_else(PoisonError::into_inner);
        // Empties the cache, because its messages may be removed. Because of the lock, no call uses
        // them now.
        self.cache.clear();
        self.writer.run_outside_transactions(move |database| database.compact(before))
    }

    fn commit(&self, key: &str, changes: Changes, dropped: Option<String>) -> Result<(), StoreError> {
        let key = key.to_owned();
        let write = move |database: &mut Database| database.apply_changes(&key, &changes, dropped.as_deref());
        match self.is_deferred {
            true => self.writer.queue_for_transaction(write),
            false => self.writer.run_in_transaction(write),
        }
    }
}

impl Store for DurableStore {
    fn with_key(&self, key: &str, work: &mut dyn FnMut(&mut Events)) -> Result<(), StoreError> {
        let load = || {
            let (key, hash_key) = (key.to_owned(), self.hash_key);
            self.writer.run_in_transaction(move |database| database.load_events(&key, hash_key))
        };
        let _in_use = self.exclusive_use_lock.read().unwrap_or_else(PoisonError::into_inner);
        self.cache.with_key(key, load, |events| {
            work(events);
            let changes = events.take_changes();
            match changes == Changes::default() {
                true => Ok(()),
                false => self.commit(key, changes, events.dropped()),
            }
        })
    }
}
