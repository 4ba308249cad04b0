//! Reads the message of a request, or reports the error in its JSON.

use crate::api::{MessageOf, Mistake};
use crate::error::Answer;
use crate::language::current_language;
use crate::state::Studio;
use crate::utf16::Utf16Offsets;
use rulec::payload::Judge;
use rulec::{JsonError, Rules};
use serde_json::Value as Json;

/// Returns the message that a request is about: the parsed `message_text`, or the message of the
/// row `row` of a replay. Values of private fields are not masked, because the server needs them to
/// decide the message. `entry_name` is the table or payload kind that decides.
///
/// `Err` means that the replay or its row cannot be read. `Ok(Err(mistake))` describes invalid JSON
/// in `message_text`; the page shows this error at its position. The description does not quote
/// keys that the payload kind declares as private.
pub(crate) fn request_message(
    studio: &Studio,
    rules: &Rules,
    entry_name: &str,
    message_text: &str,
    row: Option<&MessageOf>,
) -> Answer<Result<Json, Mistake>> {
    if let Some(row) = row {
        return Ok(Ok(studio.replay(row.replay)?.message_of_line(row.line)?));
    }
    let masked = |error| match Judge::new(rules, entry_name) {
        Ok(judge) => judge.masked_error(error),
        Err(_) => error,
    };
    let message = rules.parse_message(message_text.as_bytes());
    Ok(message.map(Json::Object).map_err(|error| to_mistake(message_text, &masked(error), false)))
}

pub(super) fn to_mistake(text: &str, error: &JsonError, in_context: bool) -> Mistake {
    let error = error.localized(current_language());
    Mistake {
        message: error.message().to_owned(),
        help: error.help().map(str::to_owned),
        code: error.kind().code().to_string(),
        line: error.line(),
        column: error.column(),
        utf16_offset: Utf16Offsets::new(text).to_utf16(error.offset()),
        in_context,
    }
}
