//! Runs conformance cases of payloads, of arbitration (the selection of one payload among several)
//! and of intents (labels for the user's wishes). The member `kind` of a case selects the function
//! to test.

use super::workflow;
use rulec::payload::{Judge, arbitrate};
use rulec::{Message, Rules};
use rulec_base::message;
use serde_json::{Map, Value as Json, json};

/// Runs one case about payloads, arbitration or intents with the bundled `rules`. `context` is the
/// JSON object that the rules read as `context`. The member `context_overrides` of a case replaces
/// single values of this object.
///
/// # Errors
/// Returns an error if the result differs from the expected one, or if the case is invalid.
pub fn run_case(rules: &Rules, case: &Json, context: &Json) -> Result<(), Message> {
    let expected = &case["expected"];
    let text = |key: &str| case[key].as_str().ok_or_else(|| message!("the case has no text `{key}`"));
    let actual = match text("kind")? {
        "payload" => judge_case(rules, case, text("decision_type")?, context)?,
        "arbitrate" => {
            let decisions =
                case["decisions"].as_array().ok_or_else(|| message!("the case has no decisions"))?;
            let id_and_type = |decision: &Json| {
                let part = |key: &str| decision[key].as_str().unwrap_or_default().to_owned();
                (part("id"), part("type"))
            };
            let decisions: Vec<(String, String)> = decisions.iter().map(id_and_type).collect();
            let result = arbitrate(rules, &decisions).map_err(|error| error.to_message())?;
            serde_json::to_value(result).map_err(serialization_error)?
        }
        "intent" => {
            let message = message_with_intent(text("intent")?, &case["facts"]);
            let entry = rules.entry(INTENTS_TABLE).map_err(|error| error.to_message())?;
            json!({"decision": entry.decide(&message).target()})
        }
        "intent_allows" => {
            let message = message_with_intent(text("intent")?, &Json::Null);
            let entry = rules.entry(INTENTS_TABLE).map_err(|error| error.to_message())?;
            json!({"allowed": entry.possible(&message).contains(&text("decision")?)})
        }
        other => return Err(message!("unknown kind of case `{other}`")),
    };
    describe_difference(expected, &actual).map_or(Ok(()), Err)
}

/// Name of the table in the bundled rules that maps each intent (a label for what the user wants)
/// to a decision.
const INTENTS_TABLE: &str = "intents";

fn message_with_intent(intent: &str, facts: &Json) -> Json {
    let mut message = facts.as_object().cloned().unwrap_or_default();
    message.insert("intent".to_owned(), json!(intent));
    Json::Object(message)
}

fn judge_case(rules: &Rules, case: &Json, decision_type: &str, context: &Json) -> Result<Json, Message> {
    let mut context = context.as_object().cloned().unwrap_or_default();
    if let Some(overrides) = case["context_overrides"].as_object() {
        context.extend(overrides.clone());
    }
    let mut payload = case["payload"].clone();
    if let Some(padding) = case["pad"].as_object() {
        let field = padding.get("field").and_then(Json::as_str).unwrap_or_default();
        let char = padding.get("char").and_then(Json::as_str).unwrap_or_default();
        let count = padding.get("count").and_then(Json::as_u64).unwrap_or(0);
        let padded = payload[field].as_str().unwrap_or_default().to_owned();
        payload[field] = json!(padded + &char.repeat(usize::try_from(count).unwrap_or(0)));
    }
    let mut judge = Judge::new(rules, decision_type)
        .and_then(|judge| judge.context(Json::Object(context)))
        .map_err(|error| error.to_message())?;
    if !case["options"].is_null() {
        judge = judge.options(case["options"].clone()).map_err(|error| error.to_message())?;
    }
    let judgement = judge.judge(&payload);
    serde_json::to_value(judgement).map_err(serialization_error)
}

fn serialization_error(error: serde_json::Error) -> Message {
    message!("this cannot be written as JSON: {error}")
}

/// Compares the actual with the expected result, and describes the first difference; `None` if
/// there is none. Numbers are compared by value. Members that only `actual` has are ignored, except
/// members that describe the validation, such as `violations` or `outcome`.
fn describe_difference(expected: &Json, actual: &Json) -> Option<Message> {
    let answer_keys = ["violations", "outcome", "corrections", "remaining", "corrected", "fallback"];
    let (Json::Object(expected_members), Json::Object(actual_members)) = (expected, actual) else {
        return Some(message!("expected {expected}, got {actual}"));
    };
    for (key, value) in expected_members {
        let given =
            actual_members.get(key).map(|value| reduce_to_rule_and_path(key, value)).unwrap_or(Json::Null);
        if !is_same_value(value, &given) {
            return Some(message!("`{key}`: expected {value}, got {given}"));
        }
    }
    let unexpected_key = answer_keys
        .iter()
        .find(|key| actual_members.contains_key(**key) && !expected_members.contains_key(**key));
    unexpected_key.map(|key| message!("`{key}`: expected no value, got {}", actual_members[*key]))
}

/// Prepares the member `key` of an actual result for comparison. If `key` is `violations` or
/// `remaining`, `value` is a list of violations: each is reduced to its rule and path. Any other
/// value is returned unchanged.
fn reduce_to_rule_and_path(key: &str, value: &Json) -> Json {
    match value {
        Json::Array(items) if key == "violations" || key == "remaining" => {
            let reduce_violation = |item: &Json| {
                let parts = ["rule", "path"].map(|part| (part.to_owned(), item[part].clone()));
                Json::Object(parts.into_iter().collect::<Map<String, Json>>())
            };
            Json::Array(items.iter().map(reduce_violation).collect())
        }
        other => other.clone(),
    }
}

/// True if two JSON values are equal. Numbers are compared by value, so that `1` equals `1.0`.
fn is_same_value(a: &Json, b: &Json) -> bool {
    workflow::first_difference(a, b, "").or_else(|| workflow::first_difference(b, a, "")).is_none()
}
