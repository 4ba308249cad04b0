//! Filters and sorts the rows of a replay, and reads their messages from the file again.

use super::history::split_payload_line;
use super::sums::{has_times, timeline_position};
use super::{FileLine, Replay, ReplayRow, UNKNOWN_NUMBER, line_fingerprint};
use crate::api::{self, AskRows, RowMessage, RowSort, Rows};
use crate::error::{Answer, RequestError};
use rulec::Rules;
use rulec_base::json::{self, JsonError};
use rulec_base::message;
use rulec_eval::trace::{MASK, mask_args};
use rulec_report::log::{self, ParsedLine};
use rulec_sema::hir::{Outcome, Program};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::sync::{Arc, PoisonError};

/// Maximum number of replay rows in one response.
const MAX_ROWS_PER_ANSWER: usize = 200;
/// Maximum number of characters in each part of a row's preview: the message's text, and its other
/// fields.
const MAX_PREVIEW_CHARS: usize = 240;
/// The UTF-8 byte order mark, with which some programs begin a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Fields of a logged decision that need no masking: they do not repeat values of the message, or
/// are masked elsewhere.
#[rustfmt::skip]
const LOG_FIELDS_WITHOUT_MASK: [&str; 26] = [
    "time", "generation", "entry", "route", "chosen", "branch", "default", "flow", "name", "pattern", "next", "loopback",
    "handler", "target", "path", "metadata", "requires", "missing_permissions", "missing_args", "elapsed_us", "attempts",
    "result", "line", "message", "context", "args",
];

impl Replay {
    /// Returns the requested part of the rows that match the filters of a request, in the requested
    /// order.
    pub fn rows(&self, request: &AskRows) -> Answer<Rows> {
        let matching = self.matching_row_indexes(request)?;
        let page = matching.iter().skip(request.offset).take(request.limit.min(MAX_ROWS_PER_ANSWER));
        let rows: Vec<ReplayRow> = {
            let results = self.lock_results();
            page.filter_map(|index| results.rows.get(*index as usize).copied()).collect()
        };
        let mut file = self.open_file()?;
        let rows = rows.into_iter().map(|row| self.to_api_row(row, &mut file)).collect::<Answer<_>>()?;
        Ok(Rows { total: matching.len(), rows })
    }

    /// Returns the indices of all rows that match a filter, in the requested order. The last result
    /// is cached, because the page requests the rows of one query in several parts.
    fn matching_row_indexes(&self, request: &AskRows) -> Answer<Arc<Vec<u32>>> {
        let filter = AskRows { offset: 0, limit: 0, ..request.clone() };
        let row_count = self.lock_results().rows.len();
        let cached = self.last_query.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((query, rows, matching)) = cached
            && query == filter
            && rows == row_count
        {
            return Ok(matching);
        }
        let (rows, names) = {
            let results = self.lock_results();
            (results.rows.clone(), results.indexed_names.clone())
        };
        let by_time = has_times(&rows);
        let name_index = |key: &String| {
            names.iter().position(|name| name == key).map_or(UNKNOWN_NUMBER, |index| index as u32)
        };
        let (key, older_key) = (filter.key.as_ref().map(name_index), filter.before.as_ref().map(name_index));
        let matches_filter = |index: usize| {
            let row = &rows[index];
            let position = timeline_position(index, row, by_time);
            key.is_none_or(|key| row.key_index == key)
                && older_key.is_none_or(|older_key| row.older_key_index == older_key)
                && (!filter.flipped || row.is_flipped)
                && filter.since.is_none_or(|since| position >= since)
                && filter.until.is_none_or(|until| position < until)
        };
        let mut matching: Vec<u32> =
            (0..rows.len() as u32).filter(|index| matches_filter(*index as usize)).collect();
        if let Some(text) = filter.text.as_deref().filter(|text| !text.is_empty()) {
            matching = self.rows_with_text(&rows, matching, text)?;
        }
        let name = |index: u32| names.get(index as usize).map_or("", String::as_str);
        let row_at = |index: &u32| &rows[*index as usize];
        match filter.sort {
            RowSort::Line => {}
            RowSort::Time => matching.sort_by(|a, b| row_at(a).time_ms.total_cmp(&row_at(b).time_ms)),
            RowSort::Route => {
                matching.sort_by(|a, b| name(row_at(a).key_index).cmp(name(row_at(b).key_index)))
            }
            RowSort::Before => {
                matching.sort_by(|a, b| name(row_at(a).older_key_index).cmp(name(row_at(b).older_key_index)))
            }
            // The value for an unknown time wraps to 0, the smallest value. So a descending order,
            // which shows the longest times first, lists unknown times last.
            RowSort::Elapsed => matching.sort_by_key(|index| row_at(index).elapsed_us.wrapping_add(1)),
        }
        if filter.descending {
            matching.reverse();
        }
        let matching = Arc::new(matching);
        let cached = Some((filter, rows.len(), matching.clone()));
        *self.last_query.lock().unwrap_or_else(PoisonError::into_inner) = cached;
        Ok(matching)
    }

    /// Returns the rows of `candidates` (row indices) whose line in the file contains the text,
    /// ignoring case. In a line with masked values, the text must also be in the line as it is
    /// shown. Otherwise a search could find out a masked value.
    fn rows_with_text(&self, rows: &[ReplayRow], candidates: Vec<u32>, text: &str) -> Answer<Vec<u32>> {
        let lowercase_text = text.to_lowercase();
        let mut file = self.open_file()?;
        let mut matching = Vec::new();
        for index in candidates {
            let place = rows[index as usize].file_line;
            let line = self.read_line(&mut file, place)?;
            let contains_text = |text: &str| text.to_lowercase().contains(&lowercase_text);
            if !contains_text(&String::from_utf8_lossy(&line)) {
                continue;
            }
            if self.masking_rules().is_some() {
                let parsed = self.parse_line(&mut file, place)?;
                let (logged, message) = self.mask_line(parsed.clone());
                let is_shown = |json: &Json| contains_text(&json.to_string());
                if parsed != (logged.clone(), message.clone())
                    && !is_shown(&logged)
                    && !message.as_ref().is_some_and(is_shown)
                {
                    continue;
                }
            }
            matching.push(index);
        }
        Ok(matching)
    }

    pub(super) fn open_file(&self) -> Answer<BufReader<File>> {
        let to_error = |error| {
            RequestError::missing(message!("`{}` cannot be read: {error}", self.source.description.name))
        };
        File::open(&self.source.path).map(|file| BufReader::with_capacity(64 << 10, file)).map_err(to_error)
    }

    /// Reads a line again, without its line break and byte order mark. Refuses a line that has
    /// changed since the replay.
    fn read_line(&self, file: &mut BufReader<File>, place: FileLine) -> Answer<Vec<u8>> {
        let to_error = |error| {
            RequestError::missing(message!("`{}` cannot be read: {error}", self.source.description.name))
        };
        // The next line usually follows the last one. A seek would discard the buffer, so there is
        // none in this case.
        let position = file.stream_position().map_err(to_error)?;
        file.seek_relative(place.byte_offset as i64 - position as i64).map_err(to_error)?;
        let mut line = Vec::new();
        file.by_ref()
            .take(json::MAX_MESSAGE_BYTES as u64 + 1)
            .read_until(b'\n', &mut line)
            .map_err(to_error)?;
        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            line.pop();
        }
        if line.starts_with(BYTE_ORDER_MARK) && place.line_number == 1 {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line_fingerprint(&line) == place.fingerprint { Ok(line) } else { Err(self.file_changed_error()) }
    }

    fn file_changed_error(&self) -> RequestError {
        RequestError::changed_file(message!(
            "`{}` has changed since it was replayed; replay it again",
            self.source.description.name
        ))
    }

    /// Reads a line of the replayed file again, and parses it. Returns the logged decision (null
    /// for a plain message), and the message if the line has one.
    pub(super) fn parse_line(
        &self,
        file: &mut BufReader<File>,
        place: FileLine,
    ) -> Answer<(Json, Option<Json>)> {
        let line = self.read_line(file, place)?;
        let object = json::parse_object_bytes(&line).map_err(|_| self.file_changed_error())?;
        let line_json = Json::Object(object.clone());
        let is_decision = self.source.is_log && !log::is_observed_line(&object);
        Ok(match (is_decision, log::parse_line(object.clone())) {
            (true, _) => (line_json, log::parse_decision_line(object).and_then(|logged| logged.message)),
            (false, ParsedLine::LoggedDecision(logged)) => (line_json, logged.message),
            (false, ParsedLine::Message(message) | ParsedLine::Observed(message)) => {
                (Json::Null, Some(message))
            }
            (false, ParsedLine::ServiceLine) => (line_json, None),
        })
    }

    /// Returns the rules, which define the private values that must be masked. `None` if nothing is
    /// masked: the replay shows private values, or the rules have no private fields.
    fn masking_rules(&self) -> Option<&Rules> {
        let rules = self.snapshot.analysis.rules()?;
        (!self.show_private && !rules.program().message_privacy().is_public()).then_some(rules)
    }

    /// Masks the private values of a parsed line, unless the replay shows private values. Another
    /// program or older rules may have written the log without masks.
    pub(super) fn mask_line(&self, (logged, message): (Json, Option<Json>)) -> (Json, Option<Json>) {
        let Some(rules) = self.masking_rules() else { return (logged, message) };
        let masked_message = message.as_ref().map(|message| rules.masked_message(message));
        let mut masked = rules.masked_message(&logged);
        // In a logged decision, these fields contain messages, whose private values must be masked
        // too.
        for field in ["message", "context"] {
            if let Some(value) = masked.get_mut(field) {
                *value = rules.masked_message(value);
            }
        }
        if let Some(args) = masked.get_mut("args") {
            *args = masked_args(rules.program(), &logged);
        }
        // Texts such as an error or explanation may quote any value of the message. Without private
        // values in the message, there is nothing to quote.
        if message.is_none() || masked_message != message {
            let fields = masked.as_object_mut().into_iter().flatten();
            for (_, value) in fields.filter(|(name, _)| !LOG_FIELDS_WITHOUT_MASK.contains(&name.as_str())) {
                *value = Json::from(MASK);
            }
        }
        (masked, masked_message)
    }

    /// Masks private keys in an error about a line's JSON, because such an error quotes keys. The
    /// keys of a `@private` dict may be secret. Returns the error unchanged if the replay shows
    /// private values.
    pub(super) fn masked_error(&self, error: JsonError) -> JsonError {
        match self.snapshot.analysis.rules() {
            Some(rules) if !self.show_private => rules.masked_error(error),
            _ => error,
        }
    }

    fn to_api_row(&self, row: ReplayRow, file: &mut BufReader<File>) -> Answer<api::Row> {
        let (logged, message) = self.mask_line(self.parse_line(file, row.file_line)?);
        let (text, fields) = preview_text_and_fields(&message.unwrap_or(logged));
        let results = self.lock_results();
        Ok(api::Row {
            line: row.file_line.line_number,
            time: Some(row.time_ms).filter(|time| !time.is_nan()),
            entry: results.name_at_index(row.entry_name_index).to_owned(),
            key: results.name_at_index(row.key_index).to_owned(),
            before: (row.older_key_index != UNKNOWN_NUMBER)
                .then(|| results.name_at_index(row.older_key_index).to_owned()),
            flipped: row.is_flipped,
            elapsed_us: (row.elapsed_us != UNKNOWN_NUMBER).then_some(u64::from(row.elapsed_us)),
            text,
            fields,
        })
    }

    pub(super) fn row_of_line(&self, line: u64) -> Answer<ReplayRow> {
        let results = self.lock_results();
        let search_result = results.rows.binary_search_by_key(&line, |row| row.file_line.line_number);
        let index = search_result
            .map_err(|_| RequestError::missing(message!("line {line} is not a message of this replay")))?;
        Ok(results.rows[index])
    }

    /// Returns the line numbers of at most `max_lines` messages that are evenly spaced over the
    /// replay.
    pub fn evenly_spaced_lines(&self, max_lines: usize) -> Vec<u64> {
        let results = self.lock_results();
        let step = results.rows.len().div_ceil(max_lines).max(1);
        results.rows.iter().step_by(step).map(|row| row.file_line.line_number).collect()
    }

    /// Returns the line numbers of sample messages: one for each of the `max_statements` statements
    /// that were chosen most often.
    pub fn one_line_per_statement(&self, max_statements: usize) -> Vec<u64> {
        let results = self.lock_results();
        let mut counts_and_lines: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
        for row in &results.rows {
            counts_and_lines.entry(row.key_index).or_insert((0, row.file_line.line_number)).0 += 1;
        }
        let mut lines: Vec<(usize, u64)> = counts_and_lines.into_values().collect();
        lines.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        lines.into_iter().take(max_statements).map(|(_, line)| line).collect()
    }

    /// Returns the name of the entry (such as a table) that decided the message on a line.
    pub fn entry_of_line(&self, line: u64) -> Answer<String> {
        let row = self.row_of_line(line)?;
        Ok(self.lock_results().name_at_index(row.entry_name_index).to_owned())
    }

    /// Returns the unmasked message on a line, to decide or to record it again.
    pub fn message_of_line(&self, line: u64) -> Answer<Json> {
        if let Some(observed) = self.observed_message_of_line(line)? {
            return Ok(observed);
        }
        let (_, message) = self.parse_line(&mut self.open_file()?, self.row_of_line(line)?.file_line)?;
        message.ok_or_else(|| RequestError::invalid(message!("the log contains no message at line {line}")))
    }

    /// Returns the masked message on a line, to show it to the user, with the earlier messages of
    /// its session.
    pub fn row_message_of_line(&self, line: u64) -> Answer<RowMessage> {
        let row = self.row_of_line(line)?;
        let (history, older) = self.earlier_messages_of_line(line)?;
        let (logged, message) = self.mask_line(self.parse_line(&mut self.open_file()?, row.file_line)?);
        let entry = self.lock_results().name_at_index(row.entry_name_index).to_owned();
        let pretty = |json: &Json| serde_json::to_string_pretty(json).ok();
        let (message, context) =
            match message.map(|message| split_payload_line(&self.snapshot, &entry, message)) {
                Some((message, context)) => {
                    (pretty(&message), context.map(Json::Object).as_ref().and_then(pretty))
                }
                None => (None, None),
            };
        Ok(RowMessage { entry, message, context, logged, history, older, gap: None })
    }
}

/// Returns the start of a message as two readable texts: its field `text`, and its other fields
/// with their paths and values.
pub(crate) fn preview_text_and_fields(message: &Json) -> (String, String) {
    let truncated = |text: &str| text.chars().take(MAX_PREVIEW_CHARS).collect::<String>();
    let fields = message.as_object().into_iter().flatten();
    let (mut text, mut others) = (String::new(), String::new());
    for (name, value) in fields {
        match value {
            Json::String(value) if name == "text" => text = truncated(value),
            _ => write_fields(name, value, &mut others),
        }
    }
    (text, truncated(&others))
}

/// Appends the path and the value at `path` to `out`. A record is written as its inner values, each
/// with its own path. Adds nothing more if `out` is already long enough for a preview.
fn write_fields(path: &str, value: &Json, out: &mut String) {
    if out.len() > 4 * MAX_PREVIEW_CHARS {
        return;
    }
    if let Json::Object(fields) = value
        && !fields.is_empty()
    {
        return fields.iter().for_each(|(name, inner)| write_fields(&format!("{path}.{name}"), inner, out));
    }
    if !out.is_empty() {
        out.push_str(" · ");
    }
    out.push_str(path);
    out.push(' ');
    match value {
        Json::String(text) => out.extend(text.chars().take(MAX_PREVIEW_CHARS)),
        other => out.extend(other.to_string().chars().take(MAX_PREVIEW_CHARS)),
    }
}

/// Returns the arguments of a logged decision. Values that come from `@private` fields are masked.
/// If the rules do not have the logged statement, all values are masked.
fn masked_args(program: &Program, logged: &Json) -> Json {
    let args = logged.get("args").and_then(Json::as_object).cloned().unwrap_or_default();
    let name_at = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
    let last_table = logged.get("path").and_then(Json::as_array).and_then(|path| path.last());
    let table_name = name_at(last_table.or(logged.get("entry")));
    let table = program.tables.iter().find(|table| Some(&*table.name) == table_name.as_deref());
    let outcome = table.and_then(|table| match name_at(logged.get("route"))?.as_str() {
        "default" => table.default.as_ref(),
        route => {
            let mut rules = table.evaluation_order.iter().map(|id| &program.rules[id.index()]);
            rules.find(|rule| *rule.name == *route).map(|rule| &rule.outcome)
        }
    });
    match outcome {
        Some(outcome @ Outcome::Handler { .. }) => Json::Object(mask_args(program, outcome, &args)),
        _ => args.into_iter().map(|(name, _)| (name, Json::from(MASK))).collect(),
    }
}
