//! Stores a history at a Redis server, for several processes.
//!
//! The state of a history key (such as a user id) has a version. A call reads the messages of the
//! key, decides, and sends its changes with the version that it has read. A script at the server
//! makes the changes only if the version is still the same (compare and set). Otherwise the call
//! reads the messages again, and makes a new decision. Suppose that rules limit a sum over the
//! history, such as the money that a user spends. Then two processes cannot both spend the rest of
//! this budget.
//!
//! A connection can break between the request and its answer. The call then sends the same request
//! again. For the last versions, the server remembers the ids of the changes that made them. So it
//! recognizes a request that it has already carried out.

mod address;
mod server;

pub use address::SharedAddress;

use crate::element::{
    self, StoreReport, StoredMessage, parse_element, parse_element_time, read_events, to_stored_text,
};
use crate::hash_key;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use redis::{Client, Script, ScriptInvocation};
use rulec::history::{Changes, EventCache, Events, HashKey, Store, StoreError};
use rulec_lang::history::AT_FIELD;
use server::{RedisServer, WriteFailure};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of history keys (such as user ids) whose messages are cached in memory.
const MAX_CACHED_KEYS: usize = 100_000;
/// The version of the format in which a history is stored at the server.
const STORE_FORMAT_VERSION: &str = "1";
/// The Redis key of the set that contains the names of all histories at the server.
const HISTORY_NAMES_KEY: &str = "rulec::histories";
/// For each history key (such as a user id), the server remembers the ids of this number of latest
/// changes. By its id, it recognizes a change that is sent again, and does not make it twice.
const MAX_REMEMBERED_WRITERS: u64 = 64;
/// Maximum time for which a call tries again while other processes change the messages of the same
/// history key.
const MAX_CONFLICT_RETRY_TIME: Duration = Duration::from_secs(8);
/// The longest pause before a call tries again, after another process changed the same history key
/// during its last attempt.
const MAX_RETRY_PAUSE: Duration = Duration::from_millis(16);
/// The number of characters before the JSON text of a stored message. They are its nanoseconds and
/// its arrival number, which order the messages of the same second.
const SORT_PREFIX_CHARS: usize = 25;
/// The number of Redis keys that one `SCAN` request asks for.
const KEYS_PER_SCAN: usize = 1_000;
/// The characters of a history's name that are written as `%XX` in the keys at the server.
const CHARS_ENCODED_IN_KEY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');
/// The characters of a history's name that are written as `%XX` in an address.
const CHARS_ENCODED_IN_ADDRESS: &AsciiSet = &CONTROLS.add(b' ').add(b'#').add(b'%').add(b'@');

/// A store that saves the recorded messages of each history key at a Redis server. Several
/// processes can share the history. Calls wait for the server, for some seconds at most.
pub struct SharedStore {
    cache: EventCache,
    hash_key: HashKey,
    server: RedisServer,
    scripts: RedisScripts,
    /// The text with which all Redis keys of this history begin.
    redis_key_prefix: String,
    /// A random text that no other store has. Each change that this store sends has an id (the
    /// *writer* of the new version), which begins with this text.
    instance_id: String,
    /// The number of changes that this store has sent.
    sent_change_count: AtomicU64,
}

struct RedisScripts {
    load: Script,
    commit: Script,
}

impl RedisScripts {
    fn new() -> RedisScripts {
        RedisScripts {
            load: Script::new(include_str!("shared/load.lua")),
            commit: Script::new(include_str!("shared/commit.lua")),
        }
    }
}

/// The messages of a history key, as the server has sent them.
struct LoadedEvents {
    events: Events,
    /// The version of the history key's state, and the id of the change that made this version (its
    /// *writer*).
    state_stamp: String,
}

impl std::fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedStore({} keys in memory, {})", self.cache.key_count(), self.server.shown_address())
    }
}

impl SharedStore {
    /// Opens the history with the name in the address. Creates it if it does not exist.
    ///
    /// # Errors
    /// If the address has no name, the server cannot be used, or its history has another format.
    /// Also if the server may remove messages when its memory is full.
    pub fn open(address: &SharedAddress) -> Result<SharedStore, StoreError> {
        SharedStore::connect(address, true)
    }

    /// Opens the history with the name in the address. Without a name, opens the only history at
    /// the server.
    ///
    /// # Errors
    /// The errors of [`SharedStore::open`], or if there is no such history.
    pub fn open_existing(address: &SharedAddress) -> Result<SharedStore, StoreError> {
        if address.name().is_some() {
            return SharedStore::connect(address, false);
        }
        let place = address.server_address();
        let names = SharedStore::history_names(address)?;
        match &names[..] {
            [] => Err(StoreError(format!("{place}: the server has no history"))),
            [name] => SharedStore::connect(&address.clone().with_name(name), false),
            names => {
                let names =
                    names.iter().map(|name| utf8_percent_encode(name, CHARS_ENCODED_IN_ADDRESS).to_string());
                Err(StoreError(format!(
                    "{place}: the server has several histories; write one of their names after `#`: {}",
                    names.collect::<Vec<_>>().join(", ")
                )))
            }
        }
    }

    /// Returns the names of all histories at the server.
    ///
    /// # Errors
    /// If the server cannot be used.
    pub fn history_names(address: &SharedAddress) -> Result<Vec<String>, StoreError> {
        let names: BTreeSet<String> = connect(address)?
            .read_with_retry(|connection| redis::cmd("SMEMBERS").arg(HISTORY_NAMES_KEY).query(connection))?;
        Ok(names.into_iter().collect())
    }

    fn connect(address: &SharedAddress, creates_if_missing: bool) -> Result<SharedStore, StoreError> {
        let server = connect(address)?;
        let place = server.shown_address().to_owned();
        let name = address.name().ok_or_else(|| {
            StoreError(format!("{place}: the history has no name; write one after `#`, as in {place}#guard"))
        })?;
        // Encoded, a name contains no colon. So no key of one history belongs to another one.
        let encoded = utf8_percent_encode(name, CHARS_ENCODED_IN_KEY);
        let mut store = SharedStore {
            cache: EventCache::new(MAX_CACHED_KEYS),
            hash_key: HashKey::random(),
            server,
            scripts: RedisScripts::new(),
            redis_key_prefix: format!("rulec:{encoded}:"),
            instance_id: hash_key::to_hex_digits(HashKey::random()),
            sent_change_count: AtomicU64::new(0),
        };
        store.check_eviction_policy()?;
        store.read_settings(name, creates_if_missing)?;
        Ok(store)
    }

    /// Fails if the server may remove messages when its memory is full. A server that does not
    /// report its settings is not checked.
    fn check_eviction_policy(&self) -> Result<(), StoreError> {
        let info: String = self.server.read_with_retry(|connection| {
            match redis::cmd("INFO").arg("memory").query(connection) {
                // The user of the address may lack the right to `INFO`.
                Err(error) if error.code() == Some("NOPERM") => Ok(String::new()),
                result => result,
            }
        })?;
        let setting = |name: &str| info.lines().find_map(|line| line.trim().strip_prefix(name));
        let (limit, policy) = (setting("maxmemory:"), setting("maxmemory_policy:"));
        match policy {
            Some(policy) if policy.starts_with("allkeys") && limit != Some("0") => {
                let place = self.server.shown_address();
                Err(StoreError(format!(
                    "{place}: with `maxmemory-policy {policy}` the server removes messages, and budgets would be \
                     spent again; set `maxmemory-policy noeviction`"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Reads the settings of the history: its format, and the secret key of its hashes. If the
    /// history does not exist, creates it if `creates_if_missing` is true, otherwise returns an
    /// error.
    fn read_settings(&mut self, name: &str, creates_if_missing: bool) -> Result<(), StoreError> {
        let settings_key = self.redis_key_prefix.trim_end_matches(':').to_owned();
        let place = self.server.shown_address().to_owned();
        let script = Script::new(include_str!("shared/open.lua"));
        let open = |new_key: &str| {
            let mut call = script.key(&settings_key);
            call.key(HISTORY_NAMES_KEY).arg(name).arg(STORE_FORMAT_VERSION).arg(new_key);
            self.server.read_with_retry(|connection| call.invoke::<(String, String)>(connection))
        };
        let mut found = open("")?;
        if found.0.is_empty() {
            if !creates_if_missing {
                return Err(StoreError(format!("{place}: the server has no history `{name}`")));
            }
            if let Some(key) = self.history_keys()?.first() {
                return Err(StoreError(format!(
                    "{place}: the history `{name}` has messages of `{key}`, but its settings `{settings_key}` are \
                     missing, and without them private texts are not found again; restore them"
                )));
            }
            found = open(&hash_key::to_hex_digits(HashKey::random()))?;
        }
        let (format, digits) = found;
        if format != STORE_FORMAT_VERSION {
            return Err(StoreError(format!(
                "{place}: the history `{name}` has the format {format}, and this version of rulec reads format {STORE_FORMAT_VERSION}"
            )));
        }
        self.hash_key = hash_key::parse_hex_digits(&digits).ok_or_else(|| {
            StoreError(format!(
                "{place}: `hash_key` of `{settings_key}` is not a key of 32 hexadecimal digits"
            ))
        })?;
        Ok(())
    }

    /// Calls `visit` with each recorded message, ordered by key and time. If `key` is given, only
    /// with the messages of this key. Stops if `visit` returns false.
    ///
    /// # Errors
    /// If the messages cannot be read.
    pub fn for_each(
        &self,
        key: Option<&str>,
        mut visit: impl FnMut(StoredMessage) -> bool,
    ) -> Result<(), StoreError> {
        let keys = match key {
            Some(key) => BTreeSet::from([key.to_owned()]),
            None => self.history_keys()?,
        };
        for key in keys {
            for (text, _) in self.stored_messages(&key)? {
                let message = self.with_error_context(&key, parse_element(strip_sort_prefix(&text)))?;
                if !visit(StoredMessage { history_key: key.clone(), message }) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Checks the format and the time of each message.
    ///
    /// # Errors
    /// If the messages cannot be read.
    pub fn check(&self) -> Result<StoreReport, StoreError> {
        let mut report = StoreReport::default();
        for key in self.history_keys()? {
            let messages = self.stored_messages(&key)?;
            report.key_count += usize::from(!messages.is_empty());
            report.message_count += messages.len();
            for (text, score) in messages {
                let found =
                    parse_element(strip_sort_prefix(&text)).and_then(|element| parse_element_time(&element));
                match found {
                    Ok((seconds, nanos))
                        if score.parse() == Ok(seconds) && text.starts_with(&format!("{nanos:09}")) => {}
                    Ok(_) => {
                        report.problems.push(format!("{key}: a message is not at the place of its time"))
                    }
                    Err(StoreError(error)) => report.problems.push(format!("{key}: {error}")),
                }
            }
        }
        Ok(report)
    }

    /// Removes the messages older than `before`, a time as RFC 3339 text, if it is given. Returns
    /// the number of removed messages. Other processes may use the history in the meantime.
    ///
    /// # Errors
    /// If `before` is not a time, or the server cannot be used. Some messages may be removed then.
    pub fn compact(&self, before: Option<&str>) -> Result<usize, StoreError> {
        let Some(before) = before.map(element::parse_time).transpose()? else { return Ok(0) };
        let mut removed = 0;
        for key in self.history_keys()? {
            removed += self.retry_on_conflict(&key, || {
                let LoadedEvents { events, state_stamp: stamp } =
                    self.load_if_changed(&key, None)?.ok_or_else(|| self.no_answer_error())?;
                let is_old = |element: &&_| parse_element_time(element).is_ok_and(|at| at < before);
                let old: Vec<_> = events.elements().iter().take_while(is_old).collect();
                let Some(newest) = old.last() else { return Ok(Some(0)) };
                let newest = newest[AT_FIELD].as_str().unwrap_or_default();
                let at = |text: &str| element::parse_time(text).ok();
                let dropped = events.dropped().filter(|dropped| at(dropped) > at(newest));
                let changes = Changes { inserted: Vec::new(), removed: old.len() };
                let dropped = dropped.unwrap_or_else(|| newest.to_owned());
                Ok(self.commit(&key, &stamp, &changes, Some(&dropped))?.map(|_| old.len()))
            })?;
        }
        Ok(removed)
    }

    /// Returns all history keys (such as user ids) that ever had messages.
    fn history_keys(&self) -> Result<BTreeSet<String>, StoreError> {
        let prefix = self.redis_state_key("");
        let (mut keys, mut cursor) = (BTreeSet::new(), 0_u64);
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("{prefix}*")).arg("COUNT").arg(KEYS_PER_SCAN);
            let (next, found): (u64, Vec<String>) =
                self.server.read_with_retry(|connection| scan.query(connection))?;
            keys.extend(found.iter().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned));
            if next == 0 {
                return Ok(keys);
            }
            cursor = next;
        }
    }

    /// Returns the messages of a history key: the stored text of each message, and its time in
    /// seconds since 1970, as text.
    fn stored_messages(&self, key: &str) -> Result<Vec<(String, String)>, StoreError> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.redis_messages_key(key)).arg(0).arg(-1).arg("WITHSCORES");
        self.server.read_with_retry(|connection| range.query(connection))
    }

    fn redis_state_key(&self, key: &str) -> String {
        format!("{}state:{key}", self.redis_key_prefix)
    }

    fn redis_messages_key(&self, key: &str) -> String {
        format!("{}messages:{key}", self.redis_key_prefix)
    }

    fn script_invocation<'s>(&self, script: &'s Script, key: &str) -> ScriptInvocation<'s> {
        let mut call = script.key(self.redis_state_key(key));
        call.key(self.redis_messages_key(key));
        call
    }

    /// Reads the messages of a history key. `None` if the state of the key still has the stamp
    /// `known`, so that the messages have not changed.
    fn load_if_changed(&self, key: &str, known: Option<&str>) -> Result<Option<LoadedEvents>, StoreError> {
        let mut call = self.script_invocation(&self.scripts.load, key);
        call.arg(known.unwrap_or_default());
        let (stamp, dropped, has_changed, texts): (String, String, bool, Vec<String>) =
            self.server.read_with_retry(|connection| call.invoke(connection))?;
        if !has_changed {
            return Ok(None);
        }
        let dropped = Some(dropped.as_str()).filter(|dropped| !dropped.is_empty());
        let texts = texts.iter().map(|text| strip_sort_prefix(text));
        let mut events = self.with_error_context(key, read_events(texts, self.hash_key, dropped))?;
        events.set_stamp(&stamp);
        Ok(Some(LoadedEvents { events, state_stamp: stamp }))
    }

    fn load_all(&self, key: &str) -> Result<Events, StoreError> {
        self.load_if_changed(key, None)?.map(|loaded| loaded.events).ok_or_else(|| self.no_answer_error())
    }

    fn no_answer_error(&self) -> StoreError {
        StoreError(format!("{}: the server has answered without messages", self.server.shown_address()))
    }

    /// Adds the history key and the address of the server to an error in `result`. The error is
    /// about a stored message of this key.
    fn with_error_context<T>(&self, key: &str, result: Result<T, StoreError>) -> Result<T, StoreError> {
        let place = self.server.shown_address();
        result.map_err(|StoreError(error)| StoreError(format!("{place}: the key {key}: {error}")))
    }

    /// Changes the messages of a history key, if its state still has the stamp `read_stamp`.
    /// `dropped` is the time of the newest message that was removed early; see [`Events::dropped`].
    /// Returns the new stamp. `None` if another process has changed the messages in between.
    ///
    /// # Errors
    /// If the server cannot be used. If the server does not answer, it is unknown whether the
    /// changes were made.
    fn commit(
        &self,
        key: &str,
        read_stamp: &str,
        changes: &Changes,
        dropped_time: Option<&str>,
    ) -> Result<Option<String>, StoreError> {
        let number = self.sent_change_count.fetch_add(1, Ordering::Relaxed);
        let writer = format!("{}-{number}", self.instance_id);
        let (version, last_writer) = read_stamp.split_once(' ').unwrap_or((read_stamp, ""));
        let dropped = dropped_time.filter(|_| changes.removed > 0).unwrap_or_default();
        let mut call = self.script_invocation(&self.scripts.commit, key);
        call.arg(version).arg(last_writer).arg(&writer);
        call.arg(changes.removed).arg(dropped).arg(MAX_REMEMBERED_WRITERS);
        for element in &changes.inserted {
            let (seconds, nanos) = parse_element_time(element)?;
            call.arg(seconds).arg(format!("{nanos:09}")).arg(to_stored_text(element));
        }
        let unsure = |reason: &str| {
            StoreError(format!("{reason}; the message may be recorded, so do not repeat the decision"))
        };
        let server = &self.server;
        match server.write_with_retry(|connection, sent| Ok((call.invoke::<i64>(connection)?, sent))) {
            Ok((1, _)) => {
                let version = version.parse::<u64>().unwrap_or(0) + 1;
                Ok(Some(format!("{version} {writer}")))
            }
            Ok((-1, true)) => Err(unsure(&format!("{}: the connection broke", server.shown_address()))),
            Ok(_) => Ok(None),
            Err(WriteFailure::NotDone(error)) => Err(error),
            Err(WriteFailure::Unknown(StoreError(error))) => Err(unsure(&error)),
        }
    }

    /// Calls `attempt` until it returns a value, for at most [`MAX_CONFLICT_RETRY_TIME`]. `attempt`
    /// returns `None` if another process has changed the key during the attempt.
    fn retry_on_conflict<T>(
        &self,
        key: &str,
        mut attempt: impl FnMut() -> Result<Option<T>, StoreError>,
    ) -> Result<T, StoreError> {
        let end = Instant::now() + MAX_CONFLICT_RETRY_TIME;
        let mut longest = Duration::from_micros(250);
        loop {
            if let Some(done) = attempt()? {
                return Ok(done);
            }
            if Instant::now() > end {
                let place = self.server.shown_address();
                return Err(StoreError(format!(
                    "{place}: other programs change the history of {key} all the time; nothing was recorded"
                )));
            }
            // A random pause lets another process finish first.
            let random = u32::from(HashKey::random().to_bytes()[0]);
            std::thread::sleep(longest * random / 256);
            longest = (longest * 2).min(MAX_RETRY_PAUSE);
        }
    }
}

/// Returns the JSON text of a stored message, without the prefix that sorts the messages.
fn strip_sort_prefix(stored: &str) -> &str {
    stored.get(SORT_PREFIX_CHARS..).unwrap_or_default()
}

fn connect(address: &SharedAddress) -> Result<RedisServer, StoreError> {
    let place = address.server_address();
    match Client::open(address.connection_info.clone()) {
        Ok(client) => Ok(RedisServer::new(client, place)),
        Err(error) => Err(StoreError(format!("{place}: {error}"))),
    }
}

impl Store for SharedStore {
    fn with_key(&self, key: &str, work: &mut dyn FnMut(&mut Events)) -> Result<(), StoreError> {
        let is_fresh = Cell::new(false);
        let load = || {
            is_fresh.set(true);
            self.load_all(key)
        };
        self.cache.with_key(key, load, |events| {
            self.retry_on_conflict(key, || {
                // Another process may have changed the key since its messages were cached.
                if !is_fresh.replace(false)
                    && let Some(LoadedEvents { events: newer, .. }) =
                        self.load_if_changed(key, events.stamp())?
                {
                    *events = newer;
                }
                work(events);
                let changes = events.take_changes();
                if changes == Changes::default() {
                    return Ok(Some(()));
                }
                let read_stamp = events.stamp().unwrap_or_default().to_owned();
                let committed = self.commit(key, &read_stamp, &changes, events.dropped().as_deref())?;
                let Some(stamp) = committed else {
                    // The events have changes that the server has refused, so they are read again.
                    events.set_stamp("");
                    return Ok(None);
                };
                events.set_stamp(&stamp);
                Ok(Some(()))
            })
        })
    }
}
