//! Stores a history (the recorded messages that rules read) in the tables of an SQLite database. So
//! the messages survive the end of the process. Only the thread in `writer` calls this code.

use crate::element::{
    StoreReport, StoredMessage, UnixTime, parse_element, parse_element_time, parse_time, read_events,
    to_stored_text,
};
use crate::hash_key::open_private_file;
use rulec::history::{Changes, Events, HashKey, StoreError};
use rulec_lang::history::AT_FIELD;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

const DATABASE_FILE: &str = "history.sqlite";
/// The version of the table format, which SQLite stores as `user_version`. A database with another
/// version is refused.
const DATABASE_FORMAT_VERSION: i64 = 1;

/// The SQL that creates the tables. The primary key of `event` sorts messages by history key (such
/// as a user id), then by time, and then by arrival.
const CREATE_TABLES: &str = "
CREATE TABLE event (
    key TEXT NOT NULL, seconds INTEGER NOT NULL, nanos INTEGER NOT NULL, arrival INTEGER NOT NULL,
    element TEXT NOT NULL, PRIMARY KEY (key, seconds, nanos, arrival)
) WITHOUT ROWID;
CREATE TABLE dropped (key TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE arrival (next INTEGER NOT NULL);
INSERT INTO arrival VALUES (0);
";

/// The SQLite database that stores a history: the recorded messages that rules read.
pub(crate) struct Database {
    connection: Connection,
    path: PathBuf,
    is_new: bool,
    /// Number that the next recorded message gets. It increases by one per message, and orders
    /// messages with the same time.
    next_arrival_number: i64,
    /// The error that broke the current transaction, so that it cannot be committed. `None` if
    /// there was no such error.
    transaction_error: Option<StoreError>,
}

impl Database {
    /// Returns the path of the database file in a folder.
    pub fn database_path(folder: &Path) -> PathBuf {
        folder.join(DATABASE_FILE)
    }

    /// Opens the database in a folder. Creates its file and tables if they do not exist.
    ///
    /// # Errors
    /// If the file cannot be used, another program uses it, or it has another format.
    pub fn open(folder: &Path) -> Result<Database, StoreError> {
        let path = Database::database_path(folder);
        let fail = |error: rusqlite::Error| database_error(&path, &error);
        // SQLite gives its write-ahead log the permissions of this file.
        open_private_file(&path).map_err(|error| StoreError(format!("{}: {error}", path.display())))?;
        let connection = Connection::open(&path).map_err(fail)?;
        // Holds the lock until the connection is closed. Otherwise two programs could both spend
        // the rest of a budget that rules count in the history.
        let settings = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; \
             PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT;";
        connection.execute_batch(settings).map_err(fail)?;
        let pragma =
            |name| connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0));
        // SQLite may keep an old setting without reporting an error, so both settings are checked.
        let journal = pragma("journal_mode").map_err(fail)?;
        let synchronous = pragma("synchronous").map_err(fail)?;
        if (&journal, &synchronous) != (&"wal".to_owned().into(), &2_i64.into()) {
            let path = path.display();
            return Err(StoreError(format!(
                "{path}: this file system does not support SQLite's write-ahead log; use another folder"
            )));
        }
        let format: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(fail)?;
        let is_new = format == 0;
        if is_new {
            let create =
                format!("BEGIN; {CREATE_TABLES} PRAGMA user_version = {DATABASE_FORMAT_VERSION}; COMMIT;");
            connection.execute_batch(&create).map_err(fail)?;
        } else if format != DATABASE_FORMAT_VERSION {
            let path = path.display();
            return Err(StoreError(format!(
                "{path} has the format {format}, and this version of rulec reads format {DATABASE_FORMAT_VERSION}"
            )));
        }
        let next = connection.query_row("SELECT next FROM arrival", [], |row| row.get(0));
        let next_arrival = next.map_err(fail)?;
        let has_events = "SELECT EXISTS (SELECT 1 FROM event)";
        let has_events: bool = connection.query_row(has_events, [], |row| row.get(0)).map_err(fail)?;
        Ok(Database {
            connection,
            path,
            is_new: !has_events,
            next_arrival_number: next_arrival,
            transaction_error: None,
        })
    }

    /// True if the database had no messages when it was opened.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    fn run_on_connection<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        work(&self.connection).map_err(|error| database_error(&self.path, &error))
    }

    /// Begins a transaction. Reports no error: if the transaction cannot begin, all work in it
    /// fails, and so does its commit.
    pub fn begin_transaction(&mut self) {
        self.roll_back();
        self.transaction_error =
            self.run_on_connection(|connection| connection.execute_batch("BEGIN IMMEDIATE")).err();
    }

    /// Runs `work` in a savepoint of the transaction. After an error, undoes only the changes of
    /// `work`. After some errors, such as a full disk, SQLite undoes the whole transaction. Then
    /// later work and the commit fail too.
    pub fn run_in_savepoint<T>(
        &mut self,
        work: impl FnOnce(&mut Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(error) = &self.transaction_error {
            return Err(error.clone());
        }
        let execute = |connection: &Connection, sql| connection.prepare_cached(sql)?.execute([]);
        let begun = self.run_on_connection(|connection| execute(connection, "SAVEPOINT work"));
        let result = begun.and_then(|_| work(self));
        let ended = self.run_on_connection(|connection| {
            if result.is_err() {
                execute(connection, "ROLLBACK TO work")?;
            }
            execute(connection, "RELEASE work")
        });
        if let Err(error) = ended {
            // An error of `work` is reported first, because it caused the failure of the savepoint.
            let cause = result.err().unwrap_or(error);
            self.transaction_error = Some(cause.clone());
            return Err(cause);
        }
        result
    }

    /// Commits the transaction, and waits until it is on disk. After an error, undoes all its
    /// changes.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        let next = self.next_arrival_number;
        let committed = match self.transaction_error.take() {
            Some(error) => Err(error),
            None => self.run_on_connection(|connection| {
                connection
                    .prepare_cached("UPDATE arrival SET next = ?1 WHERE next <> ?1")?
                    .execute([next])?;
                connection.execute_batch("COMMIT")
            }),
        };
        self.roll_back();
        committed
    }

    /// Undoes the open transaction, if there is one.
    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    /// Stores the `changes` of the recorded messages of one history key (such as a user id). Rules
    /// limit the number of messages of a key by `at most`. `dropped` is the time (RFC 3339) of the
    /// newest message that this limit removed; `None` if it removed none.
    pub fn apply_changes(
        &mut self,
        key: &str,
        changes: &Changes,
        dropped_time: Option<&str>,
    ) -> Result<(), StoreError> {
        for element in &changes.inserted {
            let (seconds, nanos) = parse_element_time(element)?;
            let arrival = self.next_arrival_number;
            self.next_arrival_number += 1;
            let row = params![key, seconds, nanos, arrival, to_stored_text(element)];
            self.run_on_connection(|connection| {
                connection.prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(row)
            })?;
        }
        if changes.removed == 0 {
            return Ok(());
        }
        let removed = i64::try_from(changes.removed).unwrap_or(i64::MAX);
        self.run_on_connection(|connection| {
            let delete = "DELETE FROM event WHERE key = ?1 AND (seconds, nanos, arrival) IN (\
                 SELECT seconds, nanos, arrival FROM event WHERE key = ?1 \
                 ORDER BY seconds, nanos, arrival LIMIT ?2)";
            connection.prepare_cached(delete)?.execute(params![key, removed])?;
            dropped_time.map_or(Ok(()), |dropped| store_dropped_time(connection, key, dropped))
        })
    }

    /// Reads all messages of a history key (such as a user id). `hash_key` is the secret key of the
    /// hashes that replace private texts in the messages.
    pub fn load_events(&mut self, key: &str, hash_key: HashKey) -> Result<Events, StoreError> {
        let (texts, dropped) = self.run_on_connection(|connection| {
            let select = "SELECT element FROM event WHERE key = ?1 ORDER BY seconds, nanos, arrival";
            let mut select = connection.prepare_cached(select)?;
            let texts = select.query_map([key], |row| row.get::<_, String>(0))?;
            let texts = texts.collect::<rusqlite::Result<Vec<String>>>()?;
            Ok((texts, newest_dropped_time(connection, key)?))
        })?;
        read_events(texts.iter().map(String::as_str), hash_key, dropped.as_deref())
    }

    /// Calls `visit` with each message of the database. If `key` is given, only with the messages
    /// of this history key. Stops when `visit` returns false.
    pub fn for_each(
        &mut self,
        key: Option<&str>,
        visit: &mut dyn FnMut(StoredMessage) -> bool,
    ) -> Result<(), StoreError> {
        self.for_each_row(key, &mut |key, _, element| {
            Ok(visit(StoredMessage { history_key: key, message: element? }))
        })
    }

    /// Calls `visit` with the history key, the time and the JSON object of each stored message.
    /// Stops when `visit` returns false.
    fn for_each_row(
        &mut self,
        key: Option<&str>,
        visit: &mut dyn FnMut(String, UnixTime, Result<Json, StoreError>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let fail = |error: rusqlite::Error| database_error(&self.path, &error);
        let select = "SELECT key, seconds, nanos, element FROM event WHERE ?1 IS NULL OR key = ?1 \
             ORDER BY key, seconds, nanos, arrival";
        let mut select = self.connection.prepare(select).map_err(fail)?;
        let mut rows = select.query([key]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            let read = || Ok((row.get(0)?, (row.get(1)?, row.get(2)?), row.get::<_, String>(3)?));
            let (key, at, text) = read().map_err(fail)?;
            if !visit(key, at, parse_element(&text))? {
                break;
            }
        }
        Ok(())
    }

    /// Checks the pages of the database file. Also checks that each message is valid JSON, and that
    /// its time equals the time columns of its row.
    pub fn check_integrity(&mut self) -> Result<StoreReport, StoreError> {
        let mut report = StoreReport::default();
        let found = self.run_on_connection(|connection| {
            let mut check = connection.prepare("PRAGMA integrity_check")?;
            let found = check.query_map([], |row| row.get::<_, String>(0))?;
            found.collect::<rusqlite::Result<Vec<String>>>()
        })?;
        report.problems.extend(found.into_iter().filter(|line| line != "ok"));
        let mut last_key = None;
        self.for_each_row(None, &mut |key, at, element| {
            report.message_count += 1;
            match element.and_then(|element| parse_element_time(&element)) {
                Ok(found) if found == at => {}
                Ok(_) => report.problems.push(format!("{key}: a message is not at the place of its time")),
                Err(StoreError(error)) => report.problems.push(format!("{key}: {error}")),
            }
            if last_key.as_ref() != Some(&key) {
                report.key_count += 1;
                last_key = Some(key);
            }
            Ok(true)
        })?;
        Ok(report)
    }

    /// Removes the messages older than `before`, if it is given, and returns unused space to the
    /// file system. Returns the number of removed messages. Must be called outside of transactions.
    pub fn compact(&mut self, before: Option<UnixTime>) -> Result<usize, StoreError> {
        let mut removed = 0;
        if let Some(before) = before {
            self.begin_transaction();
            let result = self.run_in_savepoint(|database| database.remove_messages_before(before));
            self.commit()?;
            removed = result?;
        }
        self.run_on_connection(|connection| {
            connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
        })?;
        Ok(removed)
    }

    /// Removes the messages older than a time. For each history key that loses messages, stores the
    /// time of its newest removed message in the table `dropped`.
    fn remove_messages_before(&mut self, (seconds, nanos): UnixTime) -> Result<usize, StoreError> {
        let newest = self.run_on_connection(|connection| {
            let select = "SELECT key, element FROM (SELECT key, element, row_number() OVER (\
                 PARTITION BY key ORDER BY seconds DESC, nanos DESC, arrival DESC) AS place \
                 FROM event WHERE (seconds, nanos) < (?1, ?2)) WHERE place = 1";
            let mut select = connection.prepare(select)?;
            let rows = select.query_map([seconds, i64::from(nanos)], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(String, String)>>>()
        })?;
        for (key, element) in newest {
            let element = parse_element(&element)?;
            let at = parse_element_time(&element)?;
            let dropped = self.run_on_connection(|connection| newest_dropped_time(connection, &key))?;
            if dropped.is_none_or(|dropped| parse_time(&dropped).is_ok_and(|dropped| dropped < at)) {
                let text = element[AT_FIELD].as_str().unwrap_or_default();
                self.run_on_connection(|connection| store_dropped_time(connection, &key, text))?;
            }
        }
        self.run_on_connection(|connection| {
            let delete = "DELETE FROM event WHERE (seconds, nanos) < (?1, ?2)";
            connection.execute(delete, params![seconds, nanos])
        })
    }
}

/// Returns the time of the newest message of a history key that was removed early, before the
/// period `keep` of the rules was over. Either the limit `at most` or a call of
/// [`Database::compact`] removed it. `None` if no message was removed early.
fn newest_dropped_time(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    let mut select = connection.prepare_cached("SELECT at FROM dropped WHERE key = ?1")?;
    select.query_row([key], |row| row.get(0)).optional()
}

fn store_dropped_time(connection: &Connection, key: &str, at: &str) -> rusqlite::Result<()> {
    let mut upsert = connection.prepare_cached("INSERT OR REPLACE INTO dropped VALUES (?1, ?2)")?;
    upsert.execute([key, at]).map(drop)
}

fn database_error(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.display();
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            StoreError(format!("{path}: another program uses this history"))
        }
        _ => StoreError(format!("{path}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record_message(database: &mut Database, key: &str) -> Result<(), StoreError> {
        let element = json!({"at": "2026-01-31T12:00:00Z"});
        let changes = Changes { inserted: vec![element], removed: 0 };
        database.run_in_savepoint(|database| database.apply_changes(key, &changes, None))
    }

    fn stored_keys(database: &mut Database) -> Vec<String> {
        let mut keys = Vec::new();
        let read = database.for_each(None, &mut |kept| {
            keys.push(kept.history_key);
            true
        });
        read.expect("it can be read");
        keys
    }

    fn temporary_database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path()).expect("it opens");
        // The first trigger makes SQLite undo the whole transaction, as a full disk may do.
        let triggers = "CREATE TRIGGER full BEFORE INSERT ON event WHEN new.key = 'full' \
             BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END; \
             CREATE TRIGGER bad BEFORE DELETE ON event WHEN old.key = 'bad' \
             BEGIN SELECT RAISE(ABORT, 'it stays'); END;";
        database.connection.execute_batch(triggers).expect("they fit");
        (folder, database)
    }

    #[test]
    fn a_transaction_that_sqlite_undoes_keeps_nothing() {
        let (_folder, mut database) = temporary_database();
        database.begin_transaction();
        assert_eq!(record_message(&mut database, "first"), Ok(()));
        let StoreError(error) = record_message(&mut database, "full").expect_err("it fails");
        assert!(error.contains("the disk is full"), "{error}");
        // Without a transaction, SQLite would commit this record at once, so it must not run.
        assert!(record_message(&mut database, "last").is_err());
        let StoreError(error) = database.commit().expect_err("it fails");
        assert!(error.contains("the disk is full"), "{error}");
        assert_eq!(stored_keys(&mut database), Vec::<String>::new());
        database.begin_transaction();
        assert_eq!(record_message(&mut database, "next"), Ok(()));
        assert_eq!(database.commit(), Ok(()));
        assert_eq!(stored_keys(&mut database), ["next"]);
    }

    #[test]
    fn failed_work_is_undone_alone() {
        let (_folder, mut database) = temporary_database();
        database.begin_transaction();
        assert_eq!(record_message(&mut database, "bad"), Ok(()));
        let element = json!({"at": "2026-01-31T12:00:01Z"});
        let changes = Changes { inserted: vec![element], removed: 1 };
        let StoreError(error) = database
            .run_in_savepoint(|database| database.apply_changes("bad", &changes, None))
            .expect_err("nothing is removed");
        assert!(error.contains("it stays"), "{error}");
        assert_eq!(record_message(&mut database, "good"), Ok(()));
        assert_eq!(database.commit(), Ok(()));
        assert_eq!(stored_keys(&mut database), ["bad", "good"]);
    }

    #[test]
    fn nothing_runs_without_a_transaction() {
        let (_folder, mut database) = temporary_database();
        database.connection.execute_batch("PRAGMA query_only = ON").expect("it is set");
        database.begin_transaction();
        database.connection.execute_batch("PRAGMA query_only = OFF").expect("it is set");
        let mut ran = false;
        let result = database.run_in_savepoint(|_| {
            ran = true;
            Ok(())
        });
        assert!(result.is_err() && !ran && database.commit().is_err());
    }

    #[test]
    fn an_element_without_a_time_is_an_error() {
        let (_folder, mut database) = temporary_database();
        database.begin_transaction();
        assert_eq!(record_message(&mut database, "ann"), Ok(()));
        assert_eq!(database.commit(), Ok(()));
        database.connection.execute("UPDATE event SET element = '{}'", []).expect("it is changed");
        let StoreError(error) = database.load_events("ann", HashKey::default()).expect_err("it is damaged");
        assert!(error.contains("has no time"), "{error}");
    }
}
