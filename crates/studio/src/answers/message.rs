//! Reads the message of a request, or reports the error in its JSON.

use crate::api::{MessageOf, Mistake};
use crate::error::Answer;
use crate::language::language;
use crate::snapshot::ProjectSnapshot;
use crate::state::Studio;
use crate::utf16::Utf16Offsets;
use rulec::payload::Judge;
use rulec::{JsonError, Rules};
use rulec_report::log;
use serde_json::{Map, Value as Json};

/// Returns the message that a request is about: the parsed `text`, or the message of the row `row`
/// of a replay. Values of private fields are not masked, because the server needs them to decide
/// the message. `Err` means that the replay or its row cannot be read. `Ok(Err(mistake))` describes
/// invalid JSON in `text`, which the page shows at its place. `entry` is the table or payload kind
/// that decides; the error shows none of its private keys.
pub(crate) fn request_message(
    studio: &Studio,
    rules: &Rules,
    entry: &str,
    text: &str,
    row: Option<&MessageOf>,
) -> Answer<Result<Json, Mistake>> {
    if let Some(row) = row {
        return Ok(Ok(studio.replay(row.replay)?.message_of_line(row.line)?));
    }
    let masked = |error| match Judge::new(rules, entry) {
        Ok(judge) => judge.masked_error(error),
        Err(_) => error,
    };
    let message = rules.parse_message(text.as_bytes());
    Ok(message.map(Json::Object).map_err(|error| to_mistake(text, &masked(error), false)))
}

/// Splits the message on a line of a replay into the payload that `entry` judges, and the fields
/// next to it. Returns other messages unchanged. Only rules that keep a history read such lines.
pub(crate) fn split_payload_line(
    snapshot: &ProjectSnapshot,
    entry: &str,
    message: Json,
) -> (Json, Option<Map<String, Json>>) {
    let rules = snapshot.analysis.rules.as_ref().filter(|rules| rules.has_history());
    let payloads = rules.map_or(&[][..], |rules| &rules.program().payloads);
    if payloads.iter().all(|payload| *payload.name != *entry) {
        return (message, None);
    }
    match log::split_payload(&message) {
        Some((payload, inputs)) => (payload, Some(inputs)),
        None => (message, None),
    }
}

pub(super) fn to_mistake(text: &str, error: &JsonError, in_context: bool) -> Mistake {
    let error = error.localized(language());
    Mistake {
        message: error.message().to_owned(),
        help: error.help().map(str::to_owned),
        code: error.kind().code().to_string(),
        line: error.line(),
        column: error.column(),
        at: Utf16Offsets::new(text).to_utf16(error.offset()),
        in_context,
    }
}
