//! Validates a payload. The response contains the violated rules with the text ranges of the
//! violations, and the corrections as a diff.

use super::history::{RequestEntry, request_history};
use super::message::to_mistake;
use crate::api::{Correction, Decide, Decided, Judged, Mistake, Unchecked, Violation};
use crate::difference::diff_lines;
use crate::error::{Answer, RequestError};
use crate::language::localized;
use crate::state::Studio;
use crate::utf16::Utf16Offsets;
use rulec::Rules;
use rulec::history::Past;
use rulec::payload::{self, Judge};
use rulec_base::json;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::ops::Range;

pub(super) fn judge(
    studio: &Studio,
    rules: &Rules,
    request: &Decide,
    message: &Json,
    row_context: Option<Map<String, Json>>,
) -> Answer<Decided> {
    let values = match payload_context(rules, request.context.as_deref(), row_context) {
        Ok(values) => values,
        Err(mistake) => return Ok(Decided::Refused(mistake)),
    };
    let of = RequestEntry { rules, entry_name: &request.entry, entry: None };
    let history = request_history(studio, of, &request.history, &Json::Object(values.clone()))?;
    let judge = build_judge(rules, &request.entry, values, history.past)?;
    let show_private = studio.show_private;
    let judgement = judge.judge(message);
    let shown_payload = if show_private { message.clone() } else { judge.masked_payload(message) };
    let explanations = judge.why(message);
    let offsets = Utf16Offsets::new(&request.message);
    let to_violation = |violation: &payload::Violation| {
        let explanation = explanations.iter().find(|explanation| {
            explanation.violation.rule == violation.rule && explanation.violation.path == violation.path
        });
        let value_range = find_value_range(&request.message, &violation.path);
        Violation {
            rule: violation.rule.to_string(),
            path: violation.path.clone(),
            message: localized(&violation.message),
            repair: localized(&violation.repair),
            value: value_at_path(&shown_payload, &violation.path).cloned().unwrap_or_default(),
            start_utf16: value_range.as_ref().map(|value_range| offsets.to_utf16(value_range.start)),
            end_utf16: value_range.as_ref().map(|value_range| offsets.to_utf16(value_range.end)),
            why: explanation
                .map(|explanation| explanation.lines().iter().map(localized).collect::<Vec<_>>().join("\n")),
        }
    };
    let pretty = |json: &Json| serde_json::to_string_pretty(json).unwrap_or_default();
    let corrections = judgement.corrections();
    let remaining = if corrections.is_empty() { judgement.violations() } else { judgement.remaining() };
    let corrected = if show_private { judgement.corrected() } else { judgement.masked_correction() };
    let diff = corrected.map(|corrected| diff_lines(&pretty(&shown_payload), &pretty(corrected)));
    Ok(Decided::Payload(Judged {
        outcome: judgement.outcome().name().to_owned(),
        fallback: judgement.fallback().map(str::to_owned),
        violations: judgement.violations().iter().map(to_violation).collect(),
        remaining: remaining.iter().map(to_violation).collect(),
        warnings: judgement.warnings().iter().map(to_violation).collect(),
        unchecked: judgement
            .unchecked()
            .iter()
            .map(|item| Unchecked {
                rule: item.rule.to_string(),
                path: item.path.clone(),
                message: localized(&item.message),
            })
            .collect(),
        corrections: corrections
            .iter()
            .map(|item| Correction { kind: item.kind.to_owned(), path: item.path.clone() })
            .collect(),
        diff: diff.unwrap_or_default(),
        feedback: judgement.feedback(),
        history: history.shown_history,
    }))
}

/// Returns the context of a payload: values for the `input` that the rules declare. They are taken
/// from `row_context`, the other fields in the payload's row of a replay. Without `row_context`,
/// they are the JSON object in `context_text`; empty without a text.
///
/// # Errors
/// If `context_text` is not a JSON object.
pub(crate) fn payload_context(
    rules: &Rules,
    context_text: Option<&str>,
    row_context: Option<Map<String, Json>>,
) -> Result<Map<String, Json>, Mistake> {
    if let Some(mut values) = row_context {
        let input = rules.program().input.as_ref();
        values.retain(|name, _| input.is_none_or(|input| input.get(name).is_some()));
        return Ok(values);
    }
    let Some(text) = context_text.filter(|text| !text.trim().is_empty()) else { return Ok(Map::new()) };
    json::parse_object(text).map_err(|error| to_mistake(text, &rules.masked_error(error), true))
}

/// Returns a [`Judge`], which validates payloads of the kind `kind`. `values` are the values of the
/// inputs, and `past` is the history that the rules read.
///
/// # Errors
/// If the rules have no such payload kind, or if an input has a value of the wrong type.
pub(crate) fn build_judge(rules: &Rules, kind: &str, values: Map<String, Json>, past: Past) -> Answer<Judge> {
    let judge = Judge::new(rules, kind).map_err(|error| RequestError::missing(error.to_message()))?;
    let set = |judge: Judge, (name, value): (String, Json)| {
        judge.input(&name, value).map_err(|error| RequestError::invalid(error.to_message()))
    };
    values.into_iter().try_fold(judge.with_history(past), set)
}

/// Finds the byte range of a value in a JSON text. `path` is the path of the value, such as
/// `$.nodes[2]["x y"]`. `None` if the text has no value at the path.
fn find_value_range(text: &str, path: &str) -> Option<Range<usize>> {
    let mut value = text;
    let mut rest = path.strip_prefix('$')?;
    while !rest.is_empty() {
        let (step, after_step) = split_step(rest)?;
        rest = after_step;
        // A raw value borrows from the text that was parsed, so its address gives its position in
        // the text.
        let inner: &RawValue = match step {
            PathStep::Key(key) => {
                serde_json::from_str::<HashMap<String, &RawValue>>(value).ok()?.remove(&key)?
            }
            PathStep::Index(index) => {
                serde_json::from_str::<Vec<&RawValue>>(value).ok()?.get(index).copied()?
            }
        };
        value = inner.get();
    }
    let start = (value.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    Some(start..start + value.len())
}

/// Returns the value at a path, such as `$.nodes[2]["x y"]`; `None` if there is no such value.
fn value_at_path<'j>(json: &'j Json, path: &str) -> Option<&'j Json> {
    let (mut value, mut rest) = (json, path.strip_prefix('$')?);
    while !rest.is_empty() {
        let (step, after_step) = split_step(rest)?;
        rest = after_step;
        value = match step {
            PathStep::Key(key) => value.get(&key)?,
            PathStep::Index(index) => value.get(index)?,
        };
    }
    Some(value)
}

enum PathStep {
    Key(String),
    Index(usize),
}

/// Splits the first component, a key or an index, off a path. Returns the component and the rest of
/// the path. `None` if the path does not begin with a valid component.
fn split_step(path: &str) -> Option<(PathStep, &str)> {
    if let Some(name) = path.strip_prefix('.') {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        return Some((PathStep::Key(name[..end].to_owned()), &name[end..]));
    }
    let inner = path.strip_prefix('[')?;
    if inner.starts_with('"') {
        let mut keys = serde_json::Deserializer::from_str(inner).into_iter::<String>();
        let key = keys.next()?.ok()?;
        return Some((PathStep::Key(key), inner[keys.byte_offset()..].strip_prefix(']')?));
    }
    let (digits, after_bracket) = inner.split_once(']')?;
    Some((PathStep::Index(digits.parse().ok()?), after_bracket))
}

#[cfg(test)]
mod tests {
    use super::find_value_range;

    #[test]
    fn a_path_leads_to_a_place_in_the_text() {
        let text = r#"{"a": [1, {"x y": "é\"]"}], "b": {"c" : null}}"#;
        let at = |path: &str| find_value_range(text, path).map(|place| &text[place]);
        assert_eq!(at("$"), Some(text));
        assert_eq!(at("$.a[0]"), Some("1"));
        assert_eq!(at(r#"$.a[1]["x y"]"#), Some(r#""é\"]""#));
        assert_eq!(at("$.b.c"), Some("null"));
        for nowhere in ["$.z", "$.a[7]", "$.b.c.d", "a", "$["] {
            assert_eq!(at(nowhere), None, "{nowhere}");
        }
    }
}
