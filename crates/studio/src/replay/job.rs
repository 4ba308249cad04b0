//! The thread of a replay: reads the lines of the file, decides each message, and adds the result
//! rows in batches.

use super::decider::{MessageResult, ReplayDecider};
use super::{Replay, ReplayResults, Row, UNKNOWN_NUMBER};
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
const MAX_MISTAKES: usize = 20;
/// Interval between two progress updates.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);
/// Message fields that may contain the time of the message, in the order in which they are checked.
const TIME_FIELDS: [&str; 3] = ["now", "time", "timestamp"];

impl Replay {
    /// Decides every line of the file; a line without an entry of its own is decided by `entry`.
    /// Returns when the replay has ended.
    pub fn run(&self, entry: &str) {
        let ended = catch_unwind(AssertUnwindSafe(|| ReplayJob::run(self, entry)));
        match ended {
            Ok(Ok(true)) => self.finish(ReplayState::Done, None),
            Ok(Ok(false)) => self.finish(ReplayState::Cancelled, None),
            Ok(Err(why)) => self.fail(why),
            Err(_) => self.fail(message!(
                "the studio failed on one of the messages because of an internal error; please report it"
            )),
        }
    }

    /// Ends the replay in the state `failed`, for this reason.
    pub fn fail(&self, why: Message) {
        self.finish(ReplayState::Failed, Some(why));
    }

    fn finish(&self, state: ReplayState, failure: Option<Message>) {
        let elapsed = self.begun.elapsed();
        {
            let mut tally = self.lock_results();
            tally.elapsed = elapsed;
            tally.failure = failure;
        }
        self.progress.send_modify(|progress| progress.state = state);
    }
}

/// Length of a line that was read, and whether it exceeds the limit.
struct LineRead {
    /// Number of bytes of the line in the file, including the line break.
    bytes: u64,
    too_long: bool,
}

/// Reads a line into a buffer, without its line break; `None` at the end of the file.
fn next_line(reader: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Option<LineRead>> {
    buffer.clear();
    let limit = json::MAX_BYTES as u64 + 1;
    let mut bytes = reader.by_ref().take(limit).read_until(b'\n', buffer)? as u64;
    if bytes == 0 {
        return Ok(None);
    }
    let too_long = bytes == limit && !buffer.ends_with(b"\n");
    if too_long {
        bytes += reader.skip_until(b'\n')? as u64;
    }
    while buffer.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        buffer.pop();
    }
    Ok(Some(LineRead { bytes, too_long }))
}

struct ReplayJob<'r> {
    replay: &'r Replay,
    entry: &'r str,
    after: ReplayDecider<'r>,
    before: Option<ReplayDecider<'r>>,
    /// Results that are not yet merged into the results of the replay.
    batch: ReplayResults,
}

impl<'r> ReplayJob<'r> {
    /// Decides every line of the file; returns false if the replay was cancelled.
    fn run(replay: &'r Replay, entry: &'r str) -> Result<bool, Message> {
        let missing = |_| message!("the rules do not compile");
        let decider = |known: &'r crate::snapshot::ProjectSnapshot| {
            known.rules().map(|rules| ReplayDecider::new(known, rules)).map_err(missing)
        };
        let after = decider(&replay.known)?;
        let before = replay.before.as_deref().map(decider).transpose()?;
        let job = ReplayJob { replay, entry, after, before, batch: ReplayResults::default() };
        job.run_lines().map_err(|error| message!("`{}` cannot be read: {error}", replay.source.about.name))
    }

    fn run_lines(mut self) -> io::Result<bool> {
        let replay = self.replay;
        let mut reader = BufReader::with_capacity(1 << 20, File::open(&replay.source.path)?);
        let (mut offset, mut number, mut buffer, mut told) = (0, 0, Vec::new(), Instant::now());
        while let Some(read) = next_line(&mut reader, &mut buffer)? {
            number += 1;
            // Only the first line can have a byte order mark.
            let text =
                if number == 1 { buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&buffer) } else { &buffer };
            if read.too_long {
                self.refuse_line(number, message!("the line is longer than a message may be"));
            } else if !text.iter().all(u8::is_ascii_whitespace) {
                self.decide_line(offset, number, text);
            }
            offset += read.bytes;
            if told.elapsed() > PROGRESS_INTERVAL || replay.is_cancelled() {
                self.publish_rows(offset);
                told = Instant::now();
            }
            if replay.is_cancelled() {
                return Ok(false);
            }
        }
        self.publish_rows(offset);
        Ok(true)
    }

    fn refuse_line(&mut self, line: u64, message: Message) {
        self.batch.refused += 1;
        if self.batch.refusals.len() < MAX_MISTAKES {
            self.batch.refusals.push((line, message));
        }
    }

    fn decide_line(&mut self, offset: u64, number: u64, text: &[u8]) {
        let object = match json::parse_object_bytes(text) {
            Ok(object) => object,
            Err(error) => return self.refuse_line(number, self.replay.masked_error(error).to_message()),
        };
        let line = match self.replay.source.is_log {
            true => log::parse_decision(object)
                .map_or(ParsedLine::Message(Json::Null), ParsedLine::LoggedDecision),
            false => log::parse_line(object),
        };
        match line {
            ParsedLine::Message(Json::Null) => self.batch.foreign += 1,
            ParsedLine::Message(message) => {
                let time = TIME_FIELDS
                    .iter()
                    .find_map(|field| message.get(field)?.as_str().and_then(parse_milliseconds));
                self.decide_message(offset, number, &message, time);
            }
            ParsedLine::LoggedDecision(logged) => self.decide_logged(offset, number, &logged),
        }
    }

    fn decide_message(&mut self, offset: u64, line: u64, message: &Json, time: Option<f64>) {
        let Some(came) = self.after.decide(self.entry, message, self.before.is_some()) else { return };
        let entry = self.entry;
        let before = self.before.as_mut().map(|before| before.decide(entry, message, true));
        let flipped = before.as_ref().is_some_and(|before| is_different_result(before.as_ref(), &came));
        let before = before.map(|before| before.map_or_else(String::new, |before| before.key));
        self.add_row(DecidedMessage {
            offset,
            line,
            time,
            entry,
            key: &came.key,
            before: before.as_deref(),
            flipped,
            elapsed: None,
        });
    }

    fn decide_logged(&mut self, offset: u64, line: u64, logged: &LoggedDecision) {
        self.batch.is_log = true;
        if !self.after.has_entry(&logged.entry) {
            self.batch.foreign += 1;
            return;
        }
        let table = logged.path.last().unwrap_or(&logged.entry);
        let said = self.after.logged_key(table, logged.route.as_deref());
        let time = logged.time.as_deref().and_then(parse_milliseconds);
        let (elapsed, entry) = (logged.elapsed_us, &*logged.entry);
        let Some(message) = &logged.message else {
            self.batch.bare += 1;
            let before = Some(&*said);
            return self.add_row(DecidedMessage {
                offset,
                line,
                time,
                entry,
                key: &said,
                before,
                flipped: false,
                elapsed,
            });
        };
        if message.to_string().contains(MASK) {
            self.batch.masked += 1;
        }
        let Some(came) = self.after.decide(entry, message, self.before.is_some()) else { return };
        let otherwise = came.key != said;
        self.batch.otherwise += usize::from(otherwise);
        let compared = self.before.as_mut().map(|before| before.decide(entry, message, true));
        let (before, flipped) = match &compared {
            Some(before) => (
                before.as_ref().map_or("", |before| &*before.key),
                is_different_result(before.as_ref(), &came),
            ),
            None => (&*said, otherwise),
        };
        self.add_row(DecidedMessage {
            offset,
            line,
            time,
            entry,
            key: &came.key,
            before: Some(before),
            flipped,
            elapsed,
        });
    }

    fn add_row(&mut self, decided: DecidedMessage<'_>) {
        let batch = &mut self.batch;
        let (entry, key) = (batch.number_of_name(decided.entry), batch.number_of_name(decided.key));
        let before = decided.before.map_or(UNKNOWN_NUMBER, |before| batch.number_of_name(before));
        batch.flipped += usize::from(decided.flipped);
        batch.rows.push(Row {
            offset: decided.offset,
            line: decided.line,
            time: decided.time.unwrap_or(f64::NAN),
            entry,
            key,
            before,
            flipped: decided.flipped,
            elapsed: decided
                .elapsed
                .map_or(UNKNOWN_NUMBER, |elapsed| elapsed.min(u64::from(UNKNOWN_NUMBER - 1)) as u32),
        });
    }

    /// Merges the current batch of results into the results of the replay, and reports the
    /// progress. `read` is the number of bytes read.
    fn publish_rows(&mut self, read: u64) {
        let batch = mem::take(&mut self.batch);
        let mut tally = self.replay.lock_results();
        let numbers: Vec<u32> = batch.names.iter().map(|name| tally.number_of_name(name)).collect();
        let number = |number: u32| numbers.get(number as usize).copied().unwrap_or(UNKNOWN_NUMBER);
        tally.rows.extend(batch.rows.into_iter().map(|row| Row {
            entry: number(row.entry),
            key: number(row.key),
            before: number(row.before),
            ..row
        }));
        tally.refused += batch.refused;
        let room = MAX_MISTAKES - tally.refusals.len().min(MAX_MISTAKES);
        tally.refusals.extend(batch.refusals.into_iter().take(room));
        tally.foreign += batch.foreign;
        tally.bare += batch.bare;
        tally.masked += batch.masked;
        tally.otherwise += batch.otherwise;
        tally.flipped += batch.flipped;
        tally.is_log |= batch.is_log;
        let (messages, flipped) = (tally.rows.len(), tally.flipped);
        drop(tally);
        self.replay.progress.send_modify(|progress| {
            (progress.read, progress.messages, progress.flipped) = (read, messages, flipped);
        });
    }
}

/// A row of the replay before its names are replaced by indices.
struct DecidedMessage<'d> {
    offset: u64,
    line: u64,
    time: Option<f64>,
    entry: &'d str,
    key: &'d str,
    before: Option<&'d str>,
    flipped: bool,
    elapsed: Option<u64>,
}

/// True if the two results differ in the chosen statement or in a part that a service acts on. Also
/// true if `before` is `None`.
fn is_different_result(before: Option<&MessageResult>, after: &MessageResult) -> bool {
    before.is_none_or(|before| before.answer != after.answer || before.key != after.key)
}

fn parse_milliseconds(text: &str) -> Option<f64> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    Some((time.unix_timestamp_nanos() / 1_000_000) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_bytes() {
        let mut reader = BufReader::new(&b"a\r\n\nbc"[..]);
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        while let Some(read) = next_line(&mut reader, &mut buffer).expect("bytes can be read") {
            found.push((String::from_utf8_lossy(&buffer).into_owned(), read.bytes));
        }
        assert_eq!(found, [("a".to_owned(), 3), (String::new(), 1), ("bc".to_owned(), 2)]);
    }
}
