//! The thread of a replay: reads the lines of the file, decides each message, and adds the result
//! rows in batches.

use super::decider::{MessageResult, ReplayDecider};
use super::history::session_fingerprint;
use super::{FileLine, ObservedLine, Replay, ReplayResults, ReplayRow, UNKNOWN_NUMBER, line_fingerprint};
use crate::api::ReplayState;
use rulec::Message;
use rulec_base::json;
use rulec_base::message;
use rulec_eval::trace::MASK;
use rulec_report::log::{self, LoggedDecision, ParsedLine};
use serde_json::Value as Json;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Maximum number of invalid lines whose error message is kept.
const MAX_LINE_ERRORS: usize = 20;
/// Minimum time between two progress updates of a replay.
const MIN_PROGRESS_INTERVAL: Duration = Duration::from_millis(50);
/// Message fields that may contain the time of the message, in the order in which they are checked.
const MESSAGE_TIME_FIELDS: [&str; 3] = ["now", "time", "timestamp"];

impl Replay {
    /// Decides every line of the file and returns when the replay has ended. A line of a decision
    /// log names the entry (such as a table) that decides it; `entry` decides all other lines.
    pub fn run(&self, entry: &str) {
        let result = catch_unwind(AssertUnwindSafe(|| ReplayJob::run(self, entry)));
        match result {
            Ok(Ok(true)) => self.finish(ReplayState::Done, None),
            Ok(Ok(false)) => self.finish(ReplayState::Cancelled, None),
            Ok(Err(reason)) => self.fail(reason),
            Err(_) => self.fail(message!(
                "the studio failed on one of the messages because of an internal error; please report it"
            )),
        }
    }

    /// Ends the replay in the state `failed`. `reason` is shown to the user.
    pub fn fail(&self, reason: Message) {
        self.finish(ReplayState::Failed, Some(reason));
    }

    fn finish(&self, state: ReplayState, failure: Option<Message>) {
        let elapsed = self.start_time.elapsed();
        {
            let mut results = self.lock_results();
            results.elapsed = elapsed;
            results.failure = failure;
        }
        self.progress.send_modify(|progress| progress.state = state);
    }
}

/// Length of a line that was read, and whether the line is longer than a message may be.
struct LineRead {
    /// Number of bytes of the line in the file, including the line break.
    byte_count: u64,
    is_too_long: bool,
}

/// Reads a line into a buffer, without its line break; `None` at the end of the file. If the line
/// is longer than a message may be, the buffer contains only its start.
fn next_line(reader: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Option<LineRead>> {
    buffer.clear();
    let limit = json::MAX_MESSAGE_BYTES as u64 + 1;
    let mut bytes = reader.by_ref().take(limit).read_until(b'\n', buffer)? as u64;
    if bytes == 0 {
        return Ok(None);
    }
    let is_too_long = bytes == limit && !buffer.ends_with(b"\n");
    if is_too_long {
        bytes += reader.skip_until(b'\n')? as u64;
    }
    while buffer.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        buffer.pop();
    }
    Ok(Some(LineRead { byte_count: bytes, is_too_long }))
}

struct ReplayJob<'r> {
    replay: &'r Replay,
    default_entry: &'r str,
    decider: ReplayDecider<'r>,
    older_decider: Option<ReplayDecider<'r>>,
    /// Results that are not yet added to the results of the replay, because each addition needs a
    /// lock.
    unpublished_results: ReplayResults,
}

impl<'r> ReplayJob<'r> {
    /// Decides every line of the file. A line that names no entry is decided by `entry`, such as a
    /// table. Returns false if the replay was cancelled, and an error if the rules do not compile
    /// or the file cannot be read.
    fn run(replay: &'r Replay, entry: &'r str) -> Result<bool, Message> {
        let not_compiled = |_| message!("the rules do not compile");
        let to_decider = |snapshot: &'r crate::snapshot::ProjectSnapshot| {
            snapshot.rules().map(|rules| ReplayDecider::new(snapshot, rules)).map_err(not_compiled)
        };
        let decider = to_decider(&replay.snapshot)?;
        let older_decider = replay.older_snapshot.as_deref().map(to_decider).transpose()?;
        let job = ReplayJob {
            replay,
            default_entry: entry,
            decider,
            older_decider,
            unpublished_results: ReplayResults::default(),
        };
        job.run_lines()
            .map_err(|error| message!("`{}` cannot be read: {error}", replay.source.description.name))
    }

    fn run_lines(mut self) -> io::Result<bool> {
        let replay = self.replay;
        let mut reader = BufReader::with_capacity(1 << 20, File::open(&replay.source.path)?);
        let (mut offset, mut number, mut buffer, mut last_update) = (0, 0, Vec::new(), Instant::now());
        while let Some(line) = next_line(&mut reader, &mut buffer)? {
            number += 1;
            // Only the first line can have a byte order mark.
            let text =
                if number == 1 { buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&buffer) } else { &buffer };
            if line.is_too_long {
                self.record_invalid_line(number, message!("the line is longer than a message may be"));
            } else if !text.iter().all(u8::is_ascii_whitespace) {
                self.decide_line(
                    FileLine {
                        byte_offset: offset,
                        line_number: number,
                        fingerprint: line_fingerprint(text),
                    },
                    text,
                );
            }
            offset += line.byte_count;
            if last_update.elapsed() > MIN_PROGRESS_INTERVAL || replay.is_cancelled() {
                self.publish_rows(offset);
                last_update = Instant::now();
            }
            if replay.is_cancelled() {
                return Ok(false);
            }
        }
        self.publish_rows(offset);
        Ok(true)
    }

    fn record_invalid_line(&mut self, line: u64, message: Message) {
        self.unpublished_results.invalid_line_count += 1;
        if self.unpublished_results.line_errors.len() < MAX_LINE_ERRORS {
            self.unpublished_results.line_errors.push((line, message));
        }
    }

    fn decide_line(&mut self, place: FileLine, text: &[u8]) {
        let object = match json::parse_object_bytes(text) {
            Ok(object) => object,
            Err(error) => {
                return self
                    .record_invalid_line(place.line_number, self.replay.masked_error(error).to_message());
            }
        };
        let line = match self.replay.source.is_log && !log::is_observed_line(&object) {
            true if log::is_service_line(&object) => ParsedLine::ServiceLine,
            true => log::parse_decision_line(object)
                .map_or(ParsedLine::Message(Json::Null), ParsedLine::LoggedDecision),
            false => log::parse_line(object),
        };
        if self.record_if_observed(place, &line) {
            return;
        }
        match line {
            ParsedLine::Message(Json::Null) => self.unpublished_results.unknown_entry_count += 1,
            ParsedLine::Message(message) => {
                let time = MESSAGE_TIME_FIELDS
                    .iter()
                    .find_map(|field| message.get(field)?.as_str().and_then(parse_milliseconds));
                self.decide_message(place, &message, time);
            }
            ParsedLine::LoggedDecision(logged) => self.decide_logged(place, &logged),
            // An observed message has no effect without a history.
            ParsedLine::Observed(_) | ParsedLine::ServiceLine => {}
        }
    }

    /// Records a message that is marked as observed, in the history of each version of the rules.
    /// Returns false for other messages, and if no version keeps a history.
    fn record_if_observed(&mut self, place: FileLine, line: &ParsedLine) -> bool {
        let message = match line {
            ParsedLine::Message(message) | ParsedLine::Observed(message) => Some(message),
            ParsedLine::LoggedDecision(logged) => logged.message.as_ref(),
            ParsedLine::ServiceLine => None,
        };
        let deciders = || std::iter::once(&self.decider).chain(&self.older_decider);
        if !deciders().any(ReplayDecider::has_history) {
            return false;
        }
        let Some(observed) = message.and_then(log::without_observed_mark) else { return false };
        deciders().for_each(|decider| decider.observe(&observed));
        let session = self.session_hash(&observed);
        self.unpublished_results.observed.push(ObservedLine { file_line: place, session_hash: session });
        true
    }

    /// Returns a hash of the history key (such as a user id) under which a message is recorded;
    /// [`UNKNOWN_NUMBER`] if it is not recorded.
    fn session_hash(&self, message: &Json) -> u32 {
        let key = self.decider.history_key(message);
        key.map_or(UNKNOWN_NUMBER, |key| session_fingerprint(&key))
    }

    fn decide_message(&mut self, place: FileLine, message: &Json, time: Option<f64>) {
        let entry = self.default_entry;
        let Some((result, older_result)) = self.decide_with_both_versions(place, entry, message) else {
            return;
        };
        let flipped = older_result.as_ref().is_some_and(|older| is_different_result(older.as_ref(), &result));
        let older_key = older_result.map(|older| older.map_or_else(String::new, |older| older.statement_key));
        self.add_row(DecidedMessage {
            file_line: place,
            time_ms: time,
            entry_name: entry,
            statement_key: &result.statement_key,
            older_key: older_key.as_deref(),
            is_flipped: flipped,
            elapsed_us: None,
            message: Some(message),
            result: Some(&result),
        });
    }

    fn decide_logged(&mut self, place: FileLine, logged: &LoggedDecision) {
        self.unpublished_results.is_log = true;
        if !self.decider.has_entry(&logged.entry_name) {
            self.unpublished_results.unknown_entry_count += 1;
            return;
        }
        let table = logged.searched_tables.last().unwrap_or(&logged.entry_name);
        let logged_key = self.decider.logged_key(table, logged.route.as_deref());
        let time = logged.time.as_deref().and_then(parse_milliseconds);
        let (elapsed, entry) = (logged.elapsed_us, &*logged.entry_name);
        let Some(message) = &logged.message else {
            self.unpublished_results.without_message_count += 1;
            let older_key = Some(&*logged_key);
            return self.add_row(DecidedMessage {
                file_line: place,
                time_ms: time,
                entry_name: entry,
                statement_key: &logged_key,
                older_key,
                is_flipped: false,
                elapsed_us: elapsed,
                message: None,
                result: None,
            });
        };
        if message.to_string().contains(MASK) {
            self.unpublished_results.masked_message_count += 1;
        }
        let Some((result, older_result)) = self.decide_with_both_versions(place, entry, message) else {
            return;
        };
        let differs_from_log = result.statement_key != logged_key;
        self.unpublished_results.changed_from_log_count += usize::from(differs_from_log);
        let (older_key, flipped) = match &older_result {
            Some(older) => (
                older.as_ref().map_or("", |older| &*older.statement_key),
                is_different_result(older.as_ref(), &result),
            ),
            None => (&*logged_key, differs_from_log),
        };
        self.add_row(DecidedMessage {
            file_line: place,
            time_ms: time,
            entry_name: entry,
            statement_key: &result.statement_key,
            older_key: Some(older_key),
            is_flipped: flipped,
            elapsed_us: elapsed,
            message: Some(message),
            result: Some(&result),
        });
    }

    /// Decides a message with both versions of the rules. The first result comes from the newer
    /// version, the second from the older version.
    ///
    /// Returns `None` if the newer version cannot decide the message; an error is recorded for the
    /// line. The second result is `None` without an older version, and `Some(None)` if the older
    /// version cannot decide the message.
    fn decide_with_both_versions(
        &mut self,
        place: FileLine,
        entry: &str,
        message: &Json,
    ) -> Option<(MessageResult, Option<Option<MessageResult>>)> {
        let older = self.older_decider.as_mut();
        let older = older.map(|decider| decider.decide(entry, message, true).unwrap_or_default());
        match self.decider.decide(entry, message, older.is_some()) {
            Ok(result) => Some((result?, older)),
            Err(error) => {
                self.record_invalid_line(place.line_number, error.to_message());
                None
            }
        }
    }

    fn add_row(&mut self, decided: DecidedMessage<'_>) {
        let is_recorded = decided.result.is_some_and(|result| result.is_passed_to_history);
        let session = decided.message.filter(|_| is_recorded);
        let session = session.map_or(UNKNOWN_NUMBER, |message| self.session_hash(message));
        let batch = &mut self.unpublished_results;
        let (entry, key) =
            (batch.index_of_name(decided.entry_name), batch.index_of_name(decided.statement_key));
        let older_key = decided.older_key.map_or(UNKNOWN_NUMBER, |key| batch.index_of_name(key));
        let decision = decided.result.and_then(|result| result.decision.as_ref());
        let names = decision.map_or([None; 2], |made| [made.chosen.as_deref(), made.target.as_deref()]);
        let recorded_chosen_and_target =
            names.map(|name| name.map_or(UNKNOWN_NUMBER, |name| batch.index_of_name(name)));
        batch.flipped_count += usize::from(decided.is_flipped);
        let is_unrecorded = session == UNKNOWN_NUMBER && decided.message.is_some();
        batch.unrecorded_count += usize::from(is_unrecorded && self.decider.has_history());
        batch.rows.push(ReplayRow {
            file_line: decided.file_line,
            time_ms: decided.time_ms.unwrap_or(f64::NAN),
            entry_name_index: entry,
            key_index: key,
            older_key_index: older_key,
            is_flipped: decided.is_flipped,
            elapsed_us: decided
                .elapsed_us
                .map_or(UNKNOWN_NUMBER, |elapsed| elapsed.min(u64::from(UNKNOWN_NUMBER - 1)) as u32),
            session_hash: session,
            recorded_chosen_and_target,
        });
    }

    /// Merges the current batch of results into the results of the replay, and reports the
    /// progress. `bytes_read` is the number of bytes of the file that were read so far.
    fn publish_rows(&mut self, bytes_read: u64) {
        let batch = mem::take(&mut self.unpublished_results);
        let mut results = self.replay.lock_results();
        let name_indexes: Vec<u32> =
            batch.indexed_names.iter().map(|name| results.index_of_name(name)).collect();
        let index_of =
            |batch_index: u32| name_indexes.get(batch_index as usize).copied().unwrap_or(UNKNOWN_NUMBER);
        results.rows.extend(batch.rows.into_iter().map(|row| ReplayRow {
            entry_name_index: index_of(row.entry_name_index),
            key_index: index_of(row.key_index),
            older_key_index: index_of(row.older_key_index),
            recorded_chosen_and_target: row.recorded_chosen_and_target.map(index_of),
            ..row
        }));
        results.observed.extend(batch.observed);
        results.unrecorded_count += batch.unrecorded_count;
        results.invalid_line_count += batch.invalid_line_count;
        let remaining = MAX_LINE_ERRORS - results.line_errors.len().min(MAX_LINE_ERRORS);
        results.line_errors.extend(batch.line_errors.into_iter().take(remaining));
        results.unknown_entry_count += batch.unknown_entry_count;
        results.without_message_count += batch.without_message_count;
        results.masked_message_count += batch.masked_message_count;
        results.changed_from_log_count += batch.changed_from_log_count;
        results.flipped_count += batch.flipped_count;
        results.is_log |= batch.is_log;
        let (messages, flipped) = (results.rows.len(), results.flipped_count);
        drop(results);
        self.replay.progress.send_modify(|progress| {
            (progress.read, progress.messages, progress.flipped) = (bytes_read, messages, flipped);
        });
    }
}

/// A row of the replay, before the names in the row are replaced by indices.
struct DecidedMessage<'d> {
    file_line: FileLine,
    time_ms: Option<f64>,
    entry_name: &'d str,
    statement_key: &'d str,
    older_key: Option<&'d str>,
    is_flipped: bool,
    elapsed_us: Option<u64>,
    /// The decided message; `None` if the log does not contain it.
    message: Option<&'d Json>,
    /// The result of the newer version of the rules; `None` without a message.
    result: Option<&'d MessageResult>,
}

/// True if the row of a message must be marked as changed: the chosen statement differs, or a part
/// of the decision that a program acts on, such as the target. Also true if the older rules could
/// not decide the message (`older` is `None`).
fn is_different_result(older: Option<&MessageResult>, newer: &MessageResult) -> bool {
    older.is_none_or(|older| older.answer != newer.answer || older.statement_key != newer.statement_key)
}

fn parse_milliseconds(text: &str) -> Option<f64> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    Some((time.unix_timestamp_nanos() / 1_000_000) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_read_with_its_length() {
        let mut reader = BufReader::new(&b"a\r\n\nbc"[..]);
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        while let Some(read) = next_line(&mut reader, &mut buffer).expect("bytes can be read") {
            found.push((String::from_utf8_lossy(&buffer).into_owned(), read.byte_count));
        }
        assert_eq!(found, [("a".to_owned(), 3), (String::new(), 1), ("bc".to_owned(), 2)]);
    }
}
