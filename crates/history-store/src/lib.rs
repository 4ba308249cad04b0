//! A history on disk. [`DurableStore`] keeps the earlier messages, which rules read as `history`,
//! in an SQLite database, so that they survive the process.
//!
//! One thread owns the database. It writes the changes of all waiting calls in one transaction, so
//! that they share one wait for the disk (group commit). The messages of the keys that were used
//! last are also in memory, so a decision reads the database only for a new key.
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
mod hash_key;
mod writer;

pub use database::{Kept, Report};

use database::Database;
use rulec::history::{Changes, EventCache, Events, HashKey, Store, StoreError};
use std::path::Path;
use std::sync::{PoisonError, RwLock};
use writer::Writer;

/// The number of keys whose messages are in memory too.
const CACHED_KEYS: usize = 100_000;

/// Keeps the earlier messages of each key in a folder on disk. One store at a time may use a
/// folder.
pub struct DurableStore {
    cache: EventCache,
    hash_key: HashKey,
    writer: Writer,
    /// Locked for writing while messages are removed that a call could have read.
    in_use: RwLock<()>,
    /// Whether a call returns before its changes are on disk.
    deferred: bool,
}

impl std::fmt::Debug for DurableStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DurableStore({} keys in memory)", self.cache.key_count())
    }
}

impl DurableStore {
    /// Opens the history in a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be written, another store uses it, or its files are damaged.
    pub fn open(folder: &Path) -> Result<DurableStore, StoreError> {
        std::fs::create_dir_all(folder)
            .map_err(|error| StoreError(format!("{}: {error}", folder.display())))?;
        let database = Database::open(folder)?;
        let hash_key = hash_key::read_or_create(folder, database.is_new())?;
        let writer = Writer::start(database)?;
        let (cache, in_use) = (EventCache::new(CACHED_KEYS), RwLock::default());
        Ok(DurableStore { cache, hash_key, writer, in_use, deferred: false })
    }

    /// True if a folder has a history.
    pub fn exists(folder: &Path) -> bool {
        Database::path(folder).is_file()
    }

    /// Makes calls return before their changes are on disk. They are there after
    /// [`DurableStore::flush`]. A program that acknowledges many messages together is faster so.
    #[must_use]
    pub fn deferred(self) -> DurableStore {
        DurableStore { deferred: true, ..self }
    }

    /// Waits until all changes of earlier calls are on disk.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.writer.call(|_| Ok(()))
    }

    /// Calls `visit` with each kept message, or only with the messages of one key, ordered by key
    /// and time. Stops if `visit` returns false.
    ///
    /// # Errors
    /// If the messages cannot be read.
    pub fn for_each(
        &self,
        key: Option<&str>,
        mut visit: impl FnMut(Kept) -> bool + Send + 'static,
    ) -> Result<(), StoreError> {
        let key = key.map(str::to_owned);
        self.writer.call_alone(move |database| database.for_each(key.as_deref(), &mut visit))
    }

    /// Checks the database and each message.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn check(&self) -> Result<Report, StoreError> {
        self.writer.call_alone(|database| database.check())
    }

    /// Removes the messages whose time is before `before` (RFC 3339 text), if it is given, and
    /// gives unused space back to the file system. Returns the number of removed messages. Waits
    /// until no call uses a history, so do not call it while a history is used.
    ///
    /// # Errors
    /// If `before` is no time, or the database cannot be written.
    pub fn compact(&self, before: Option<&str>) -> Result<usize, StoreError> {
        let before = before.map(database::parse_time).transpose()?;
        let _alone = self.in_use.write().unwrap_or_else(PoisonError::into_inner);
        // No key is in use, so all are loaded again.
        self.cache.clear();
        self.writer.call_alone(move |database| database.compact(before))
    }

    fn commit(&self, key: &str, changes: Changes, dropped: Option<String>) -> Result<(), StoreError> {
        let key = key.to_owned();
        let write = move |database: &mut Database| database.apply(&key, &changes, dropped.as_deref());
        match self.deferred {
            true => self.writer.send(write),
            false => self.writer.call(write),
        }
    }
}

impl Store for DurableStore {
    fn with_key(&self, key: &str, work: &mut dyn FnMut(&mut Events)) -> Result<(), StoreError> {
        let load = || {
            let (key, hash_key) = (key.to_owned(), self.hash_key);
            self.writer.call(move |database| database.load(&key, hash_key))
        };
        let _in_use = self.in_use.read().unwrap_or_else(PoisonError::into_inner);
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
