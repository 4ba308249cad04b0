//! Converts the earlier messages of a request to the history that a decision reads. The messages
//! are recorded in a store in memory, as `rulec run --history` records them.

use super::message::request_message;
use crate::api::{EarlierDecision, EarlierMessage, History, HistoryItem};
use crate::error::{Answer, RequestError, verbatim_message};
use crate::handle::check_not_cancelled;
use crate::language::localized;
use crate::replay::{MAX_EARLIER_MESSAGES, Replay, preview_text_and_fields, to_earlier_decision};
use crate::state::Studio;
use rulec::history::{MemoryStore, Past, RecordError};
use rulec::{Entry, Rules};
use rulec_base::message;
use rulec_lang::value::parse_datetime;
use serde_json::Value as Json;
use time::OffsetDateTime;

/// The earlier messages of a request, recorded in a history.
#[derive(Default)]
pub(crate) struct RequestHistory {
    /// The part of the history that the decision can read.
    pub past: Past,
    /// What the response says about each earlier message.
    pub shown_history: History,
    /// The messages that the decision can read, oldest first.
    pub recorded: Vec<RecordedMessage>,
    /// Number of recorded messages that the decision cannot read. The rules limit the age and the
    /// number of messages, so the oldest ones were removed. If the decided message has no history
    /// key, all messages count as removed.
    pub removed_count: usize,
}

/// An earlier message that a decision can read.
pub(crate) struct RecordedMessage {
    pub message: Json,
    pub recorded_at: OffsetDateTime,
    /// The decision about the message; `None` if the message was observed (recorded without a
    /// decision).
    pub decision: Option<EarlierDecision>,
    /// Index of the message among the earlier messages of the request.
    message_index: usize,
}

/// The entry (such as a table) to which a request refers.
#[derive(Clone, Copy)]
pub(crate) struct RequestEntry<'r> {
    pub rules: &'r Rules,
    pub entry_name: &'r str,
    /// The table, choice or router that decides. `None` for payloads, whose messages are recorded
    /// without a decision.
    pub entry: Option<Entry<'r>>,
}

/// Records the earlier messages of a request in a store in memory, and returns the history that a
/// decision about `message` reads.
pub(crate) fn request_history(
    studio: &Studio,
    requested_entry: RequestEntry<'_>,
    earlier: &[EarlierMessage],
    message: &Json,
) -> Answer<RequestHistory> {
    let rules = requested_entry.rules;
    if !rules.has_history() {
        return Ok(RequestHistory::default());
    }
    let count = earlier.len();
    if count > MAX_EARLIER_MESSAGES {
        return Err(RequestError::invalid(message!(
            "a request has at most {MAX_EARLIER_MESSAGES} earlier messages, but this one has {count}"
        )));
    }
    let key = rules.history_key(message);
    let mut shown: Vec<HistoryItem> = Vec::with_capacity(earlier.len());
    let mut parsed: Vec<(Option<OffsetDateTime>, usize, Json)> = Vec::with_capacity(earlier.len());
    for (index, one) in earlier.iter().enumerate() {
        let mut item = HistoryItem { decision: one.decision.clone(), ..HistoryItem::default() };
        match request_message(studio, rules, requested_entry.entry_name, &one.message, one.row.as_ref()) {
            Ok(Ok(message)) => {
                let at = message.get("now").and_then(Json::as_str).and_then(parse_datetime);
                item.time = at.map(|at| (at.unix_timestamp_nanos() / 1_000_000) as f64);
                let visible =
                    if studio.show_private { message.clone() } else { rules.masked_message(&message) };
                (item.text, item.fields) = preview_text_and_fields(&visible);
                parsed.push((at, index, message));
            }
            Ok(Err(mistake)) => item.unread = Some(mistake.message),
            // The replay may no longer be stored. The other messages are still read.
            Err(refused) => item.unread = Some(refused.body.message),
        }
        shown.push(item);
    }
    // The sort is stable: messages of the same time keep their order.
    parsed.sort_by_key(|(at, ..)| *at);
    let store = MemoryStore::default();
    let mut recorded = Vec::with_capacity(parsed.len());
    for (at, index, message) in parsed {
        // Each message may be decided with all messages before it, which takes long.
        check_not_cancelled()?;
        let item = &mut shown[index];
        if key.is_some() && rules.history_key(&message).is_some_and(|own| Some(own) != key) {
            item.unread = Some(localized(&message!("the message has another key of the history")));
            continue;
        }
        match record_earlier_message(requested_entry, &store, &message, &earlier[index]) {
            Ok(decision) => {
                item.decision = decision.clone();
                recorded.extend(at.map(|at| RecordedMessage {
                    message,
                    recorded_at: at,
                    decision,
                    message_index: index,
                }));
            }
            Err(error) => item.unread = Some(localized(&error.to_message())),
        }
    }
    let store_error = |error: rulec::history::StoreError| RequestError::broken(verbatim_message(error));
    let past = rules.past(&store, message).map_err(store_error)?;
    // The history keeps only the newest messages, so the missing ones are the oldest.
    let removed = recorded.len().saturating_sub(past.elements().len());
    for (position, one) in recorded.iter().enumerate() {
        let item = &mut shown[one.message_index];
        match position.checked_sub(removed) {
            Some(_) => item.position = Some(position),
            None if key.is_none() => {
                item.unread = Some(localized(&message!("the message at hand has no key of the history")));
            }
            None => item.unread = Some(localized(&message!("the rules no longer keep the message"))),
        }
    }
    recorded.drain(..removed);
    let gap = past.gap().map(|gap| localized(&gap.to_message()));
    Ok(RequestHistory {
        past,
        shown_history: History { messages: shown, gap },
        recorded,
        removed_count: removed,
    })
}

/// Returns the history for the decision about line `line` of a replay. `session_messages` contains
/// the earlier messages of the same session. The history is empty if `session_messages` is empty,
/// or if the rules do not compile.
pub(crate) fn replayed_history(
    studio: &Studio,
    replay: &Replay,
    line: u64,
    session_messages: &[EarlierMessage],
) -> Answer<RequestHistory> {
    let Some(rules) = replay.snapshot.analysis.rules().filter(|_| !session_messages.is_empty()) else {
        return Ok(RequestHistory::default());
    };
    let (name, message) = (replay.entry_of_line(line)?, replay.message_of_line(line)?);
    let requested_entry = RequestEntry { rules, entry_name: &name, entry: rules.entry(&name).ok() };
    request_history(studio, requested_entry, session_messages, &message)
}

/// Records an earlier message, and returns the decision about it: the decision in the request or,
/// if the request has none, the decision of the rules. `None` if the message is observed (recorded
/// without a decision).
fn record_earlier_message(
    requested_entry: RequestEntry<'_>,
    store: &MemoryStore,
    message: &Json,
    earlier: &EarlierMessage,
) -> Result<Option<EarlierDecision>, RecordError> {
    match (&earlier.decision, requested_entry.entry) {
        (None, Some(entry)) if !earlier.observed => {
            let decision = entry.decide_and_record(store, message)?;
            Ok(Some(to_earlier_decision(&decision)))
        }
        (Some(decision), _) if !earlier.observed => {
            let names = [decision.chosen.as_deref(), decision.target.as_deref()];
            requested_entry.rules.record_names(store, message, names)?;
            Ok(Some(decision.clone()))
        }
        _ => requested_entry.rules.observe(store, message).map(|()| None),
    }
}
