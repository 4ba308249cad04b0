//! Finds the earlier messages of the session of a replayed message, so that a decision about the
//! message can be repeated.

use super::{FileLine, Replay, ReplayResults, ReplayRow, UNKNOWN_NUMBER, line_fingerprint};
use crate::api::{EarlierDecision, EarlierMessage, MessageOf};
use crate::error::Answer;
use crate::snapshot::ProjectSnapshot;
use rulec_base::broken_invariant;
use rulec_report::log;
use serde_json::{Map, Value as Json};

/// Maximum number of earlier messages in a request. Also the maximum number of earlier messages
/// that are read again from the file for a row.
pub(crate) const MAX_EARLIER_MESSAGES: usize = 1000;

/// A message of a replay that was decided or observed.
pub(crate) struct ReplayedMessage {
    /// Number of the message's line in the replayed file, from 1.
    pub line_number: u64,
    /// The name of the entry (such as a table) that decided the message; `None` if the message was
    /// observed (recorded without a decision).
    pub entry_name: Option<String>,
    pub message: Json,
}

/// Returns a hash of a history key (such as a user id). Different keys can have the same hash.
pub(super) fn session_fingerprint(key: &str) -> u32 {
    line_fingerprint(key.as_bytes()).min(UNKNOWN_NUMBER - 1)
}

impl Replay {
    /// Returns the messages that were recorded before the message on line `line`, in the session of
    /// this message, oldest first. Private values are masked, and each message refers to its line.
    /// Messages of payloads have no decision. If two sessions have keys with the same hash,
    /// messages of the other session are included. Also returns the number of older messages that
    /// were omitted because there are too many.
    pub fn earlier_messages_of_line(&self, line: u64) -> Answer<(Vec<EarlierMessage>, usize)> {
        let row = self.row_of_line(line)?;
        let Some(rules) = self.snapshot.analysis.rules() else {
            broken_invariant!("a replay decides by rules without errors");
            return Ok((Vec::new(), 0));
        };
        if row.session_hash == UNKNOWN_NUMBER {
            return Ok((Vec::new(), 0));
        }
        let mut found: Vec<(FileLine, Option<EarlierDecision>)> = {
            let results = self.lock_results();
            let end = results.rows.partition_point(|row| row.file_line.line_number < line);
            let decided = results.rows[..end].iter().filter(|other| other.session_hash == row.session_hash);
            let observed =
                results.observed.iter().take_while(|observed| observed.file_line.line_number < line);
            let observed = observed.filter(|observed| observed.session_hash == row.session_hash);
            let is_entry = |row: &ReplayRow| rules.entry(results.name_at_index(row.entry_name_index)).is_ok();
            let decided = decided.map(|row| {
                (
                    row.file_line,
                    is_entry(row).then(|| recorded_decision(&results, row.recorded_chosen_and_target)),
                )
            });
            decided.chain(observed.map(|observed| (observed.file_line, None))).collect()
        };
        found.sort_by_key(|(place, _)| place.line_number);
        let older = found.len().saturating_sub(MAX_EARLIER_MESSAGES);
        let mut file = self.open_file()?;
        let mut messages = Vec::with_capacity(found.len() - older);
        for (place, decision) in found.drain(older..) {
            let (_, message) = self.mask_line(self.parse_line(&mut file, place)?);
            let Some(message) = message else { continue };
            let message = log::without_observed_mark(&message).unwrap_or(message);
            messages.push(EarlierMessage {
                message: serde_json::to_string(&message).unwrap_or_default(),
                row: Some(MessageOf { replay: self.id, line: place.line_number }),
                observed: decision.is_none(),
                decision,
            });
        }
        Ok((messages, older))
    }

    /// Calls `visit` with each message of the replay that was decided or observed, in the order of
    /// the file. Messages are not masked. If `is_wanted` is false for the number of a line, its
    /// message is neither read nor visited.
    pub fn visit_messages(
        &self,
        is_wanted: impl Fn(u64) -> bool,
        mut visit: impl FnMut(ReplayedMessage),
    ) -> Answer<()> {
        let mut lines: Vec<(FileLine, Option<String>)> = {
            let results = self.lock_results();
            let is_wanted = |line: &FileLine| is_wanted(line.line_number);
            let decided = results.rows.iter().filter(|row| is_wanted(&row.file_line));
            let decided = decided
                .map(|row| (row.file_line, Some(results.name_at_index(row.entry_name_index).to_owned())));
            let observed = results.observed.iter().map(|observed| (observed.file_line, None));
            decided.chain(observed.filter(|(line, _)| is_wanted(line))).collect()
        };
        lines.sort_by_key(|(line, _)| line.line_number);
        let mut file = self.open_file()?;
        for (line, entry_name) in lines {
            let (_, message) = self.parse_line(&mut file, line)?;
            let Some(mut message) = message else { continue };
            if entry_name.is_none() {
                message = log::without_observed_mark(&message).unwrap_or(message);
            }
            visit(ReplayedMessage { line_number: line.line_number, entry_name, message });
        }
        Ok(())
    }

    /// Returns the message on a line that was observed (recorded without a decision), without the
    /// field that marks it as observed. `None` if no message was observed on the line.
    pub(super) fn observed_message_of_line(&self, line: u64) -> Answer<Option<Json>> {
        let place = {
            let results = self.lock_results();
            let found =
                results.observed.binary_search_by_key(&line, |observed| observed.file_line.line_number);
            found.ok().map(|index| results.observed[index].file_line)
        };
        let Some(place) = place else { return Ok(None) };
        let (_, message) = self.parse_line(&mut self.open_file()?, place)?;
        Ok(message.as_ref().and_then(log::without_observed_mark))
    }
}

/// Returns the decision whose names have the indices in `names`: chosen statement, then handler.
fn recorded_decision(results: &ReplayResults, names: [u32; 2]) -> EarlierDecision {
    let [chosen, target] = names.map(|index| results.indexed_names.get(index as usize).cloned());
    EarlierDecision { chosen, target }
}

/// Splits the message on a line of a replay into the payload that `entry` validates, and the other
/// fields of the line. Returns the message unchanged if `entry` is not a payload kind, if the line
/// has no separate payload, or if the rules keep no history.
pub(crate) fn split_payload_line(
    snapshot: &ProjectSnapshot,
    entry: &str,
    message: Json,
) -> (Json, Option<Map<String, Json>>) {
    let rules = snapshot.analysis.rules().filter(|rules| rules.has_history());
    let payloads = rules.map_or(&[][..], |rules| &rules.program().payloads);
    if payloads.iter().all(|payload| *payload.name != *entry) {
        return (message, None);
    }
    match log::split_payload(&message) {
        Some((payload, inputs)) => (payload, Some(inputs)),
        None => (message, None),
    }
}
