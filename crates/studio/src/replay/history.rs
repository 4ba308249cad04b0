//! Finds the earlier messages of the session of a replayed message, so that a decision about the
//! message can be repeated.

use super::{FileLine, Replay, UNKNOWN_NUMBER, line_fingerprint};
use crate::answers::history::{RequestEntry, request_history};
use crate::api::{EarlierDecision, EarlierMessage, MessageOf};
use crate::error::Answer;
use crate::keys::NO_STATEMENT;
use crate::state::Studio;
use rulec::Rules;
use rulec::history::Past;
use rulec_report::log;
use rulec_sema::hir::{Outcome, Program};
use serde_json::Value as Json;

/// Maximum number of earlier messages of a session that are read from the file again.
const MAX_EARLIER: usize = 1000;

/// The earlier messages of a replayed message.
#[derive(Default)]
pub(crate) struct EarlierMessages {
    /// The messages of the same session that the rules keep, oldest first.
    pub messages: Vec<EarlierMessage>,
    /// Number of still older messages of the session, which were not read.
    pub older: usize,
    /// The history that a decision about the replayed message reads.
    pub past: Past,
}

/// Returns a hash of the key of a history. Different keys can have the same hash.
pub(super) fn session_fingerprint(key: &str) -> u32 {
    line_fingerprint(key.as_bytes()).min(UNKNOWN_NUMBER - 1)
}

impl Replay {
    /// Returns the messages of the file that a decision about the message on a line could read as
    /// `history`. Their texts are masked, and they refer to their lines.
    pub fn earlier_messages(&self, studio: &Studio, line: u64) -> Answer<EarlierMessages> {
        let row = self.row_of_line(line)?;
        let Some(rules) = self.snapshot.analysis.rules.as_ref().filter(|rules| rules.has_history()) else {
            return Ok(EarlierMessages::default());
        };
        if row.session == UNKNOWN_NUMBER {
            return Ok(EarlierMessages::default());
        }
        let mut found: Vec<(FileLine, Option<String>)> = {
            let results = self.lock_results();
            let end = results.rows.partition_point(|row| row.place.number < line);
            let decided = results.rows[..end].iter().filter(|other| other.session == row.session);
            let observed = results.observed.iter().take_while(|observed| observed.place.number < line);
            let observed = observed.filter(|observed| observed.session == row.session);
            let decided = decided.map(|row| (row.place, Some(results.name_at_index(row.key).to_owned())));
            decided.chain(observed.map(|observed| (observed.place, None))).collect()
        };
        found.sort_by_key(|(place, _)| place.number);
        let older = found.len().saturating_sub(MAX_EARLIER);
        found.drain(..older);
        let (entry, subject) = (self.entry_of_line(line)?, self.message_of_line(line)?);
        let mut file = self.open_file()?;
        let mut messages = Vec::with_capacity(found.len());
        for (place, key) in found {
            let (_, message) = self.mask_line(self.parse_line(&mut file, place)?);
            let Some(message) = message else { continue };
            let message = log::observed_message(&message).unwrap_or(message);
            messages.push(EarlierMessage {
                message: serde_json::to_string(&message).unwrap_or_default(),
                row: Some(MessageOf { replay: self.id, line: place.number }),
                observed: key.is_none(),
                decision: key.and_then(|key| decision_of_key(rules, &key)),
            });
        }
        // A message whose key has the same hash is not read, and neither is one that has expired.
        let decides = rules.entry(&entry).ok();
        let of = RequestEntry { rules, name: &entry, entry: decides };
        let history = request_history(studio, of, &messages, &subject)?;
        let mut is_read = history.shown.messages.iter().map(|item| item.position.is_some());
        messages.retain(|_| is_read.next().unwrap_or(false));
        Ok(EarlierMessages { messages, older, past: history.past })
    }

    /// Returns the message that was observed on a line, without the mark. `None` if there is none.
    pub(super) fn observed_message_of_line(&self, line: u64) -> Answer<Option<Json>> {
        let place = {
            let results = self.lock_results();
            let found = results.observed.binary_search_by_key(&line, |observed| observed.place.number);
            found.ok().map(|index| results.observed[index].place)
        };
        let Some(place) = place else { return Ok(None) };
        let (_, message) = self.parse_line(&mut self.open_file()?, place)?;
        Ok(message.as_ref().and_then(log::observed_message))
    }
}

/// Returns the decision with the key of a statement, such as `routes/refunds`, as the history has
/// it. `None` for the verdict of a payload, which is no decision.
fn decision_of_key(rules: &Rules, key: &str) -> Option<EarlierDecision> {
    let (table, name) = key.split_once('/')?;
    let program = rules.program();
    if program.payloads.iter().any(|payload| *payload.name == *table) {
        return None;
    }
    if name == NO_STATEMENT {
        return Some(EarlierDecision { chosen: None, target: None });
    }
    Some(EarlierDecision { chosen: Some(name.to_owned()), target: handler_of(program, table, name) })
}

/// Returns the name of the handler to which a statement leads; `None` if it leads to none.
fn handler_of(program: &Program, table: &str, name: &str) -> Option<String> {
    let table = &program.tables[program.table_named(table)?.index()];
    let mut rules = table.order.iter().map(|id| &program.rules[id.index()]);
    let outcome = match rules.find(|rule| *rule.name == *name) {
        Some(rule) => &rule.outcome,
        None => table.default.as_ref()?,
    };
    match outcome {
        Outcome::Handler { name, .. } => Some(name.to_string()),
        _ => None,
    }
}
