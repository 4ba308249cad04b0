//! Converts recorded messages to the JSON texts that a store saves, and back.

use rulec::history::{Events, HashKey, StoreError};
use rulec_base::json::{MAX_NESTING_DEPTH, parse_deep};
use rulec_lang::history::{AT_FIELD, POSITION_FIELD};
use rulec_lang::value::parse_datetime;
use serde_json::Value as Json;

/// Maximum nesting depth of a recorded message. Recording may add some levels to a message.
const MAX_ELEMENT_DEPTH: usize = MAX_NESTING_DEPTH + 8;

/// A recorded message that a store has saved, and its history key, such as a user id.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    /// The history key, as JSON. A text key thus begins with a quotation mark, and the text "1"
    /// differs from the number 1.
    pub history_key: String,
    /// A JSON object with the message fields that are recorded, the time, and the decision.
    pub message: Json,
}

/// The result of checking a store: the numbers of history keys and messages, and the damage that
/// was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreReport {
    /// The number of history keys (such as user ids) that have at least one message.
    pub key_count: usize,
    /// The number of messages of all history keys.
    pub message_count: usize,
    /// Descriptions of the damage that was found, in English.
    pub problems: Vec<String>,
}

/// A point in time: seconds since 1970 (UTC), and the nanoseconds within that second.
pub(crate) type UnixTime = (i64, u32);

/// Converts a recorded message to the JSON text that a store saves. The text does not contain the
/// message's position in the history, because the messages are numbered again when they are read.
pub(crate) fn to_stored_text(element: &Json) -> String {
    let mut element = element.clone();
    if let Json::Object(fields) = &mut element {
        fields.remove(POSITION_FIELD);
    }
    element.to_string()
}

/// Reads the recorded messages of a history key (such as a user id) from their texts, oldest first.
/// `hash_key` is the secret key of the hashes in the messages. `dropped_time` is the stored time of
/// the newest message that was removed early; see [`Events::dropped`].
///
/// # Errors
/// If a text is no JSON object or has no valid time. Such a message is not skipped, because a
/// missing message would change decisions.
pub(crate) fn read_events<'t>(
    texts: impl Iterator<Item = &'t str>,
    hash_key: HashKey,
    dropped_time: Option<&str>,
) -> Result<Events, StoreError> {
    let elements = texts.enumerate().map(|(position, text)| {
        let mut element = parse_element(text)?;
        parse_element_time(&element)?;
        element[POSITION_FIELD] = position.into();
        Ok(element)
    });
    let elements = elements.collect::<Result<Vec<Json>, StoreError>>()?;
    Ok(Events::from_elements(elements, hash_key).with_dropped(dropped_time).with_changes())
}

pub(crate) fn parse_element(text: &str) -> Result<Json, StoreError> {
    match parse_deep(text, MAX_ELEMENT_DEPTH) {
        Ok(element @ Json::Object(_)) => Ok(element),
        Ok(_) => Err(StoreError("a kept message is no object".to_owned())),
        Err(error) => Err(StoreError(format!("a kept message is no JSON: {error}"))),
    }
}

pub(crate) fn parse_element_time(element: &Json) -> Result<UnixTime, StoreError> {
    let at = element.get(AT_FIELD).and_then(Json::as_str);
    parse_time(at.ok_or_else(|| StoreError("a kept message has no time".to_owned()))?)
}

/// Parses a time in RFC 3339 format.
pub(crate) fn parse_time(text: &str) -> Result<UnixTime, StoreError> {
    let at = parse_datetime(text)
        .ok_or_else(|| StoreError(format!("`{text}` is no time such as 2026-01-31T12:00:00Z")))?;
    Ok((at.unix_timestamp(), at.nanosecond()))
}
