//! The tables of the history in SQLite.

use rulec::history::{Changes, Events, HashKey, StoreError};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const FILE: &str = "history.sqlite";
/// The version of the tables, kept as SQLite's `user_version`.
const FORMAT: i64 = 1;
/// The key of an element whose position in the history is not kept.
const POSITION_FIELD: &str = "#";
const TIME_FIELD: &str = "at";

/// The messages of a key are sorted by time, and those of one time by the number of their arrival.
const TABLES: &str = "
CREATE TABLE event (
    key TEXT NOT NULL, seconds INTEGER NOT NULL, nanos INTEGER NOT NULL, arrival INTEGER NOT NULL,
    element TEXT NOT NULL, PRIMARY KEY (key, seconds, nanos, arrival)
) WITHOUT ROWID;
CREATE TABLE dropped (key TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE arrival (next INTEGER NOT NULL);
INSERT INTO arrival VALUES (0);
";

/// A message in a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The key: a text begins with a quote.
    pub key: String,
    /// The kept fields, the time and the decision.
    pub element: Json,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of keys with messages.
    pub keys: usize,
    /// The number of messages.
    pub messages: usize,
    /// What is wrong, in English.
    pub problems: Vec<String>,
}

/// A moment: seconds since 1970, and nanoseconds.
pub(crate) type Moment = (i64, u32);

/// The database of a history.
pub(crate) struct Database {
    connection: Connection,
    path: PathBuf,
    is_new: bool,
    /// The number of the next message.
    next_arrival: i64,
}

impl Database {
    /// Opens the database in a folder, or creates it.
    pub fn open(folder: &Path) -> Result<Database, StoreError> {
        let path = folder.join(FILE);
        let fail = |error: rusqlite::Error| named_error(&path, &error);
        let connection = Connection::open(&path).map_err(fail)?;
        // The lock stays until the connection is closed, so that two programs cannot both spend the
        // rest of a budget.
        let settings = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; \
             PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT;";
        connection.execute_batch(settings).map_err(fail)?;
        let format: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(fail)?;
        let is_new = format == 0;
        if is_new {
            let create = format!("BEGIN; {TABLES} PRAGMA user_version = {FORMAT}; COMMIT;");
            connection.execute_batch(&create).map_err(fail)?;
        } else if format != FORMAT {
            let path = path.display();
            return Err(StoreError(format!(
                "{path} has the format {format}, and this version of rulec reads format {FORMAT}"
            )));
        }
        let next = connection.query_row("SELECT next FROM arrival", [], |row| row.get(0));
        let next_arrival = next.map_err(fail)?;
        let has_events = "SELECT EXISTS (SELECT 1 FROM event)";
        let has_events: bool = connection.query_row(has_events, [], |row| row.get(0)).map_err(fail)?;
        Ok(Database { connection, path, is_new: !has_events, next_arrival })
    }

    /// True if the database had no messages when it was opened.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        work(&self.connection).map_err(|error| named_error(&self.path, &error))
    }

    pub fn begin(&mut self) -> Result<(), StoreError> {
        self.run(|connection| connection.execute_batch("BEGIN IMMEDIATE"))
    }

    /// Writes the transaction to disk. After an error, its changes are undone.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        let next = self.next_arrival;
        let committed = self.run(|connection| {
            connection.prepare_cached("UPDATE arrival SET next = ?1 WHERE next <> ?1")?.execute([next])?;
            connection.execute_batch("COMMIT")
        });
        if committed.is_err() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        committed
    }

    /// Applies changes to the messages of a key. `dropped` is the time of the newest message that
    /// the bound `at most` removed.
    pub fn apply(&mut self, key: &str, changes: &Changes, dropped: Option<&str>) -> Result<(), StoreError> {
        for element in &changes.inserted {
            let (seconds, nanos) = time_of(element)?;
            let arrival = self.next_arrival;
            self.next_arrival += 1;
            let mut element = element.clone();
            if let Json::Object(fields) = &mut element {
                fields.remove(POSITION_FIELD);
            }
            let row = params![key, seconds, nanos, arrival, element.to_string()];
            self.run(|connection| {
                connection.prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(row)
            })?;
        }
        if changes.removed == 0 {
            return Ok(());
        }
        let removed = i64::try_from(changes.removed).unwrap_or(i64::MAX);
        self.run(|connection| {
            let delete = "DELETE FROM event WHERE key = ?1 AND (seconds, nanos, arrival) IN (\
                 SELECT seconds, nanos, arrival FROM event WHERE key = ?1 \
                 ORDER BY seconds, nanos, arrival LIMIT ?2)";
            connection.prepare_cached(delete)?.execute(params![key, removed])?;
            if let Some(dropped) = dropped {
                let upsert = "INSERT OR REPLACE INTO dropped VALUES (?1, ?2)";
                connection.prepare_cached(upsert)?.execute([key, dropped])?;
            }
            Ok(())
        })
    }

    /// Returns the messages of a key.
    pub fn load(&mut self, key: &str, hash_key: HashKey) -> Result<Events, StoreError> {
        let (texts, dropped) = self.run(|connection| {
            let select = "SELECT element FROM event WHERE key = ?1 ORDER BY seconds, nanos, arrival";
            let mut select = connection.prepare_cached(select)?;
            let texts = select.query_map([key], |row| row.get::<_, String>(0))?;
            let texts = texts.collect::<rusqlite::Result<Vec<String>>>()?;
            let mut dropped = connection.prepare_cached("SELECT at FROM dropped WHERE key = ?1")?;
            Ok((texts, dropped.query_row([key], |row| row.get::<_, String>(0)).optional()?))
        })?;
        let elements = texts.iter().enumerate().map(|(position, text)| {
            let mut element = parse_element(text)?;
            element[POSITION_FIELD] = position.into();
            Ok(element)
        });
        let elements = elements.collect::<Result<Vec<Json>, StoreError>>()?;
        Ok(Events::from_elements(elements, hash_key).with_dropped(dropped.as_deref()).with_changes())
    }

    /// Calls `visit` with each message, or with the messages of one key, until it returns false.
    pub fn for_each(
        &mut self,
        key: Option<&str>,
        visit: &mut dyn FnMut(Kept) -> bool,
    ) -> Result<(), StoreError> {
        self.for_each_row(key, &mut |key, _, element| Ok(visit(Kept { key, element: element? })))
    }

    /// Calls `visit` with the key, the time and the element of each row, until it returns false.
    fn for_each_row(
        &mut self,
        key: Option<&str>,
        visit: &mut dyn FnMut(String, Moment, Result<Json, StoreError>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let fail = |error: rusqlite::Error| named_error(&self.path, &error);
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

    /// Checks the pages of the database and each message.
    pub fn check(&mut self) -> Result<Report, StoreError> {
        let mut report = Report::default();
        let found = self.run(|connection| {
            let mut check = connection.prepare("PRAGMA integrity_check")?;
            let found = check.query_map([], |row| row.get::<_, String>(0))?;
            found.collect::<rusqlite::Result<Vec<String>>>()
        })?;
        report.problems.extend(found.into_iter().filter(|line| line != "ok"));
        let mut last_key = None;
        self.for_each_row(None, &mut |key, at, element| {
            report.messages += 1;
            match element.and_then(|element| time_of(&element)) {
                Ok(found) if found == at => {}
                Ok(_) => report.problems.push(format!("{key}: a message is not at the place of its time")),
                Err(StoreError(error)) => report.problems.push(format!("{key}: {error}")),
            }
            if last_key.as_ref() != Some(&key) {
                report.keys += 1;
                last_key = Some(key);
            }
            Ok(true)
        })?;
        Ok(report)
    }

    /// Removes older messages and unused space. Returns the number of removed messages.
    pub fn compact(&mut self, before: Option<Moment>) -> Result<usize, StoreError> {
        let removed = match before {
            Some((seconds, nanos)) => self.run(|connection| {
                let delete = "DELETE FROM event WHERE (seconds, nanos) < (?1, ?2)";
                connection.execute(delete, params![seconds, nanos])
            })?,
            None => 0,
        };
        // Space is freed outside the transaction of the writer.
        self.commit()?;
        self.run(|connection| connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);"))?;
        self.begin()?;
        Ok(removed)
    }
}

fn named_error(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.display();
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            StoreError(format!("{path}: another program uses this history"))
        }
        _ => StoreError(format!("{path}: {error}")),
    }
}

fn parse_element(text: &str) -> Result<Json, StoreError> {
    match serde_json::from_str(text) {
        Ok(element @ Json::Object(_)) => Ok(element),
        Ok(_) => Err(StoreError("a kept message is no object".to_owned())),
        Err(error) => Err(StoreError(format!("a kept message is no JSON: {error}"))),
    }
}

fn time_of(element: &Json) -> Result<Moment, StoreError> {
    let at = element.get(TIME_FIELD).and_then(Json::as_str);
    parse_time(at.ok_or_else(|| StoreError("a kept message has no time".to_owned()))?)
}

/// Reads a time in the format of RFC 3339.
pub(crate) fn parse_time(text: &str) -> Result<Moment, StoreError> {
    let at = OffsetDateTime::parse(text, &Rfc3339)
        .map_err(|_| StoreError(format!("`{text}` is no time such as 2026-01-31T12:00:00Z")))?;
    Ok((at.unix_timestamp(), at.nanosecond()))
}
