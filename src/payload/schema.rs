//! The JSON Schema of a payload kind (one `payload` statement), derived from the declarations that
//! validation uses.

mod variants;

use super::{JudgeError, unknown_kind_error};
use crate::engine::Rules;
use crate::schema::{allow_null, type_schema};
use rulec_sema::hir::{AllowedValues, FieldShape, ObjectSchema, Payload, PayloadField};
use serde_json::{Map, Value as Json, json};

/// Returns the JSON Schema (draft 2020-12) of a payload kind: fields, types, required fields,
/// allowed values and ranges. Requirements that depend on another field's value use `if` and
/// `then`. Every payload that is accepted unchanged matches the schema. Rules that a schema cannot
/// express are not part of the schema.
///
/// # Errors
/// If the rules have no such payload kind.
pub fn schema(rules: &Rules, kind: &str) -> Result<Json, JudgeError> {
    let program = rules.program();
    let payload = program.payload_named(kind).ok_or_else(|| unknown_kind_error(program, kind))?;
    Ok(build_schema(rules, payload))
}

pub(super) fn build_schema(rules: &Rules, payload: &Payload) -> Json {
    let mut schema = object_schema(&payload.object);
    variants::add_variants(&mut schema, rules, payload);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(&*payload.name);
    if !payload.docs.is_empty() {
        schema["description"] = json!(&*payload.docs);
    }
    if let Some(version) = &payload.payload_version {
        schema["$comment"] = json!(format!("version {version}"));
    }
    schema
}

fn object_schema(object: &ObjectSchema) -> Json {
    let properties: Map<String, Json> =
        object.fields.iter().map(|declared| (declared.name.to_string(), field_schema(declared))).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    let required: Vec<&str> =
        object.fields.iter().filter(|field| !field.is_optional).map(|field| &*field.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if object.is_closed {
        schema["additionalProperties"] = json!(false);
    }
    schema
}

fn field_schema(field: &PayloadField) -> Json {
    let mut schema = match &field.shape {
        FieldShape::Plain(ty) => type_schema(ty),
        FieldShape::Object(inner) => object_schema(inner),
        FieldShape::Objects(inner) => json!({"type": "array", "items": object_schema(inner)}),
    };
    if !field.docs.is_empty() {
        schema["description"] = json!(&*field.docs);
    }
    if field.forbids_blank {
        // The pattern requires one character that `str::trim` would not remove.
        schema["pattern"] = json!("[^\\s\\u0085]");
    }
    match &field.allowed_values {
        Some(AllowedValues::OneOf(values)) => {
            schema["enum"] = json!(values);
        }
        Some(AllowedValues::Range {
            lower_bound: least,
            upper_bound: most,
            includes_upper_bound: inclusive,
        }) => {
            schema["minimum"] = least.clone();
            schema[if *inclusive { "maximum" } else { "exclusiveMaximum" }] = most.clone();
        }
        None => {}
    }
    if let Some(value) = &field.only_value {
        schema["const"] = value.clone();
    }
    if field.is_nullable {
        allow_null(&mut schema);
    } else if schema.get("type").is_none() && field.only_value.is_none() {
        // A field without a type allows any value, but null counts as missing.
        schema["not"] = json!({"type": "null"});
    }
    if let Some(default) = &field.default {
        schema["default"] = default.clone();
    }
    schema
}
