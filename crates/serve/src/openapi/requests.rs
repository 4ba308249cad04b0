//! The schemas of requests in the OpenAPI document.

use super::object_schema;
use crate::limits::{MAX_AUTHZEN_QUESTIONS, MAX_WORKFLOW_STEPS};
use serde_json::{Value as Json, json};

/// Returns the schema of an object with further keywords of JSON Schema, such as `if` and `then`.
/// `rules` is an object with these keywords.
fn with_keywords(mut schema: Json, rules: Json) -> Json {
    if let (Json::Object(schema), Json::Object(rules)) = (&mut schema, rules) {
        schema.extend(rules);
    }
    schema
}

/// Returns the schema of a field that may also be null. Null means that the field is missing.
fn nullable_schema(mut schema: Json) -> Json {
    let kind = schema["type"].take();
    schema["type"] = json!([kind, "null"]);
    schema
}

/// Returns the schemas of a question of AuthZEN, and of a request with several questions.
fn evaluation_schemas() -> (Json, Json) {
    let (text, any_object) = (json!({ "type": "string" }), json!({ "type": "object" }));
    let maybe_object = nullable_schema(any_object.clone());
    let part = object_schema(json!({ "type!": text, "id!": text, "properties": any_object }), false);
    let action = object_schema(json!({ "name!": text, "properties": any_object }), false);
    let evaluation = object_schema(
        json!({ "subject!": part, "action!": action, "resource!": part, "context": maybe_object }),
        false,
    );
    // An invalid field makes only its own question fail, so the request may contain it.
    let question =
        object_schema(json!({ "subject": {}, "action": {}, "resource": {}, "context": {} }), false);
    let semantics = ["execute_all", "deny_on_first_deny", "permit_on_first_permit"];
    let options =
        nullable_schema(object_schema(json!({ "evaluations_semantic": { "enum": semantics } }), false));
    let questions = |least: u32, most: usize| json!({ "type": "array", "items": question, "minItems": least, "maxItems": most });
    let several = object_schema(
        json!({ "evaluations!": questions(1, MAX_AUTHZEN_QUESTIONS), "options": options }),
        false,
    );
    let none = object_schema(json!({ "evaluations": questions(0, 0), "options": options }), false);
    let evaluations = json!({ "anyOf": [several, { "allOf": [evaluation, none] }] });
    (evaluation, evaluations)
}

/// Returns the schemas of all requests by their names.
pub(super) fn request_schemas() -> Json {
    let text = json!({ "type": "string" });
    let flag = json!({ "type": "boolean", "default": false });
    let any_object = json!({ "type": "object" });
    let name = nullable_schema(
        json!({ "type": "string", "description": "The rules; optional if the service has one rule set" }),
    );
    let entry = nullable_schema(
        json!({ "type": "string", "description": "The table, choice, router or flow set that decides" }),
    );
    let language = json!({ "type": ["string", "null"], "enum": ["en", "zh", null] });
    let number = json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX });
    let generation = nullable_schema(number.clone());
    let (maybe_text, maybe_object) = (nullable_schema(text.clone()), nullable_schema(any_object.clone()));
    let list = |items: &Json| json!({ "type": "array", "items": items });
    let edit = |action: &str| {
        object_schema(json!({ format!("{action}!"): text, "table": maybe_text, "file": maybe_text }), true)
    };
    let edit = json!({ "oneOf": [edit("insert"), edit("replace"), edit("remove")] });
    let (evaluation, evaluations) = evaluation_schemas();
    let judge = object_schema(
        json!({
            "rules": name, "payload!": any_object, "context": maybe_object, "options": maybe_object, "strict": flag,
            "message": maybe_object, "record": flag
        }),
        true,
    );
    let records = object_schema(json!({ "record!": { "const": true } }), false);
    let with_message = object_schema(json!({ "message!": any_object }), false);
    json!({
        "DecideRequest": object_schema(json!({
            "rules": name, "entry": entry, "message!": any_object,
            "explain": flag, "matched": flag, "analysis": flag, "why_not": maybe_text, "record": flag
        }), true),
        "FlowsRequest": object_schema(json!({
            "rules": name, "entry": { "type": "null" }, "message!": any_object, "explain": flag, "matched": flag,
            "analysis": flag, "why_not": maybe_text, "record": flag
        }), true),
        "BatchRequest": object_schema(json!({
            "rules": name, "entry": entry, "messages!": list(&json!({})),
            "explain": flag, "matched": flag, "analysis": flag, "record": flag
        }), true),
        "JudgeRequest": with_keywords(judge, json!({ "if": records, "then": with_message })),
        "WorkflowRequest": object_schema(json!({
            "rules": name, "input": maybe_object, "resume": maybe_object, "retry_failed": flag,
            "step_limit": { "type": ["integer", "null"], "minimum": 0, "maximum": MAX_WORKFLOW_STEPS }
        }), true),
        "AnalyzeRequest": object_schema(json!({ "rules": name, "message!": any_object }), true),
        "ObserveRequest": object_schema(json!({ "rules": name, "message!": any_object }), true),
        "TestRequest": object_schema(json!({
            "rules": name, "explain": flag, "language": language, "generation": generation
        }), true),
        "WhyRequest": object_schema(json!({
            "rules": name, "entry": entry, "message!": any_object, "language": language, "generation": generation,
            "why_not": maybe_text
        }), true),
        "EditRequest": object_schema(json!({ "edits!": list(&edit) }), true),
        "RollbackRequest": object_schema(json!({ "generation!": number }), true),
        "ShadowRequest": object_schema(json!({ "text": maybe_text, "edits": list(&edit) }), true),
        "OpaRequest": object_schema(json!({ "input": any_object }), false),
        "Evaluation": evaluation,
        "Evaluations": evaluations,
        "RpcRequest": with_keywords(
            object_schema(json!({ "jsonrpc": {}, "method": text, "id": {}, "params": {}, "result": {}, "error": {} }), false),
            json!({ "anyOf": [{ "required": ["method"] }, { "required": ["result"] }, { "required": ["error"] }] })
        )
    })
}
