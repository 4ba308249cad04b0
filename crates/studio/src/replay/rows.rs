//! Filters and sorts the rows of a replay, and reads their messages from the file again.

use super::sums::{has_times, row_time};
use super::{Replay, Row, UNKNOWN_NUMBER};
use crate::api::{self, AskRows, RowMessage, RowSort, Rows};
use crate::error::{Answer, RequestError};
use rulec_base::json::{self, JsonError};
use rulec_base::message;
use rulec_report::log::{self, ParsedLine};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::sync::{Arc, PoisonError};

/// Maximum number of rows in a response.
const MAX_ROWS: usize = 200;
/// Maximum number of characters in the preview of a row.
const MAX_TEXT_CHARS: usize = 240;

impl Replay {
    /// Returns one page of the rows that match a filter, in the requested order.
    pub fn rows(&self, asked: &AskRows) -> Answer<Rows> {
        let found = self.find_rows(asked)?;
        let wanted = found.iter().skip(asked.offset).take(asked.limit.min(MAX_ROWS));
        let rows: Vec<Row> = {
            let tally = self.lock_results();
            wanted.filter_map(|at| tally.rows.get(*at as usize).copied()).collect()
        };
        let mut file = self.open_file()?;
        let rows = rows.into_iter().map(|row| self.to_api_row(row, &mut file)).collect::<Answer<_>>()?;
        Ok(Rows { total: found.len(), rows })
    }

    /// Returns the indices of all rows that match a filter, in the requested order. The last result
    /// is cached, because the page requests the rows of one query in several parts.
    fn find_rows(&self, asked: &AskRows) -> Answer<Arc<Vec<u32>>> {
        let filter = AskRows { offset: 0, limit: 0, ..asked.clone() };
        let known = self.lock_results().rows.len();
        let kept = self.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((of, rows, found)) = kept
            && of == filter
            && rows == known
        {
            return Ok(found);
        }
        let (rows, names) = {
            let tally = self.lock_results();
            (tally.rows.clone(), tally.names.clone())
        };
        let timed = has_times(&rows);
        let number =
            |key: &String| names.iter().position(|name| name == key).map_or(UNKNOWN_NUMBER, |at| at as u32);
        let (key, before) = (filter.key.as_ref().map(number), filter.before.as_ref().map(number));
        let fits = |row: &Row| {
            let at = row_time(row, timed);
            key.is_none_or(|key| row.key == key)
                && before.is_none_or(|before| row.before == before)
                && (!filter.flipped || row.flipped)
                && filter.since.is_none_or(|since| at >= since)
                && filter.until.is_none_or(|until| at < until)
        };
        let mut found: Vec<u32> = (0..rows.len() as u32).filter(|at| fits(&rows[*at as usize])).collect();
        if let Some(text) = filter.text.as_deref().filter(|text| !text.is_empty()) {
            found = self.rows_with_text(&rows, found, text)?;
        }
        let name = |number: u32| names.get(number as usize).map_or("", String::as_str);
        let of = |at: &u32| &rows[*at as usize];
        match filter.sort {
            RowSort::Line => {}
            RowSort::Time => found.sort_by(|a, b| of(a).time.total_cmp(&of(b).time)),
            RowSort::Route => found.sort_by(|a, b| name(of(a).key).cmp(name(of(b).key))),
            RowSort::Before => found.sort_by(|a, b| name(of(a).before).cmp(name(of(b).before))),
            // The value for an unknown time wraps to 0. So unknown times come last in descending
            // order, which shows the longest times first.
            RowSort::Elapsed => found.sort_by_key(|at| of(at).elapsed.wrapping_add(1)),
        }
        if filter.descending {
            found.reverse();
        }
        let found = Arc::new(found);
        let kept = Some((filter, rows.len(), found.clone()));
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(found)
    }

    /// Returns the indices in `among` whose rows have a line with the text in the file, ignoring
    /// case.
    fn rows_with_text(&self, rows: &[Row], among: Vec<u32>, text: &str) -> Answer<Vec<u32>> {
        let wanted = text.to_lowercase();
        let mut file = self.open_file()?;
        let mut found = Vec::new();
        for at in among {
            let line = self.read_line(&mut file, rows[at as usize].offset)?;
            if String::from_utf8_lossy(&line).to_lowercase().contains(&wanted) {
                found.push(at);
            }
        }
        Ok(found)
    }

    fn open_file(&self) -> Answer<BufReader<File>> {
        let refused =
            |error| RequestError::missing(message!("`{}` cannot be read: {error}", self.source.about.name));
        File::open(&self.source.path).map(|file| BufReader::with_capacity(64 << 10, file)).map_err(refused)
    }

    fn read_line(&self, file: &mut BufReader<File>, offset: u64) -> Answer<Vec<u8>> {
        let refused =
            |error| RequestError::missing(message!("`{}` cannot be read: {error}", self.source.about.name));
        // Consecutive lines need no seek, which would discard the buffer.
        let now = file.stream_position().map_err(refused)?;
        file.seek_relative(offset as i64 - now as i64).map_err(refused)?;
        let mut line = Vec::new();
        file.by_ref().take(json::MAX_BYTES as u64 + 1).read_until(b'\n', &mut line).map_err(refused)?;
        Ok(line)
    }

    /// Reads and parses the line at a byte offset. Returns the logged decision (null for a plain
    /// message), and the message if there is one.
    fn parse_line(&self, file: &mut BufReader<File>, offset: u64) -> Answer<(Json, Option<Json>)> {
        let line = self.read_line(file, offset)?;
        let changed = |_| {
            RequestError::changed(message!(
                "`{}` has changed since it was replayed; replay it again",
                self.source.about.name
            ))
        };
        let bytes = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        let object = json::parse_object_bytes(bytes).map_err(changed)?;
        let whole = Json::Object(object.clone());
        Ok(match (self.source.is_log, log::parse_line(object.clone())) {
            (true, _) => (whole, log::parse_decision(object).and_then(|logged| logged.message)),
            (false, ParsedLine::LoggedDecision(logged)) => (whole, logged.message),
            (false, ParsedLine::Message(message)) => (Json::Null, Some(message)),
        })
    }

    /// Masks a message's private values, unless the replay shows private values.
    fn mask_private(&self, message: &Json) -> Json {
        match &self.known.analysis.rules {
            Some(rules) if !self.show_private => rules.masked_message(message),
            _ => message.clone(),
        }
    }

    /// Masks the private keys that an error names, unless the replay shows private values.
    pub(super) fn masked_error(&self, error: JsonError) -> JsonError {
        match &self.known.analysis.rules {
            Some(rules) if !self.show_private => rules.masked_error(error),
            _ => error,
        }
    }

    fn to_api_row(&self, row: Row, file: &mut BufReader<File>) -> Answer<api::Row> {
        let (logged, message) = self.parse_line(file, row.offset)?;
        let shown = message.map_or(logged, |message| self.mask_private(&message));
        let preview: String = shown.to_string().chars().take(MAX_TEXT_CHARS).collect();
        let tally = self.lock_results();
        Ok(api::Row {
            line: row.line,
            time: Some(row.time).filter(|time| !time.is_nan()),
            entry: tally.name_of_number(row.entry).to_owned(),
            key: tally.name_of_number(row.key).to_owned(),
            before: (row.before != UNKNOWN_NUMBER).then(|| tally.name_of_number(row.before).to_owned()),
            flipped: row.flipped,
            elapsed_us: (row.elapsed != UNKNOWN_NUMBER).then_some(u64::from(row.elapsed)),
            preview,
        })
    }

    fn row_of_line(&self, line: u64) -> Answer<Row> {
        let tally = self.lock_results();
        let found = tally.rows.binary_search_by_key(&line, |row| row.line);
        let at = found
            .map_err(|_| RequestError::missing(message!("line {line} is not a message of this replay")))?;
        Ok(tally.rows[at])
    }

    /// Returns the line numbers of at most `most` messages that are evenly spaced over the replay.
    pub fn evenly_spaced_lines(&self, most: usize) -> Vec<u64> {
        let tally = self.lock_results();
        let step = tally.rows.len().div_ceil(most).max(1);
        tally.rows.iter().step_by(step).map(|row| row.line).collect()
    }

    /// Returns one line number for each of the `most` statements that are chosen most often. The
    /// line's message chose the statement.
    pub fn one_line_per_statement(&self, most: usize) -> Vec<u64> {
        let tally = self.lock_results();
        let mut first: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
        for row in &tally.rows {
            first.entry(row.key).or_insert((0, row.line)).0 += 1;
        }
        let mut lines: Vec<(usize, u64)> = first.into_values().collect();
        lines.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        lines.into_iter().take(most).map(|(_, line)| line).collect()
    }

    /// Returns the name of the entry that decided the message on a line.
    pub fn entry_of_line(&self, line: u64) -> Answer<String> {
        let row = self.row_of_line(line)?;
        Ok(self.lock_results().name_of_number(row.entry).to_owned())
    }

    /// Returns the unmasked message on a line, to decide it again.
    pub fn message_of_line(&self, line: u64) -> Answer<Json> {
        let (_, message) = self.parse_line(&mut self.open_file()?, self.row_of_line(line)?.offset)?;
        message.ok_or_else(|| RequestError::invalid(message!("the log contains no message at line {line}")))
    }

    /// Returns the masked message on a line, to show it to the user.
    pub fn row_message_of_line(&self, line: u64) -> Answer<RowMessage> {
        let row = self.row_of_line(line)?;
        let (mut logged, message) = self.parse_line(&mut self.open_file()?, row.offset)?;
        let message = message.map(|message| self.mask_private(&message));
        if let (Some(field), Some(message)) = (logged.get_mut("message"), &message) {
            *field = message.clone();
        }
        let entry = self.lock_results().name_of_number(row.entry).to_owned();
        let message = message.and_then(|message| serde_json::to_string_pretty(&message).ok());
        Ok(RowMessage { entry, message, logged })
    }
}
