//! The JSON Schema of a payload kind, derived from the declarations that validation uses.

mod variants;

use super::{JudgeError, unknown_kind_error};
use crate::engine::Rules;
use rulec_lang::ty::{InnerType, Kind, KindSet, Ty};
use rulec_sema::hir::{Limits, Object, Payload, PayloadField, Shape};
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
    if let Some(version) = &payload.version {
        schema["$comment"] = json!(format!("version {version}"));
    }
    schema
}

fn object_schema(object: &Object) -> Json {
    let properties: Map<String, Json> =
        object.fields.iter().map(|declared| (declared.name.to_string(), field_schema(declared))).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    let required: Vec<&str> =
        object.fields.iter().filter(|field| !field.optional).map(|field| &*field.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if object.closed {
        schema["additionalProperties"] = json!(false);
    }
    schema
}

fn field_schema(field: &PayloadField) -> Json {
    let mut schema = match &field.shape {
        Shape::Plain(ty) => type_schema(ty),
        Shape::Object(inner) => object_schema(inner),
        Shape::Objects(inner) => json!({"type": "array", "items": object_schema(inner)}),
    };
    if !field.docs.is_empty() {
        schema["description"] = json!(&*field.docs);
    }
    if field.not_blank {
        // The pattern is a non-blank character, by the same definition of blank as `trim`.
        schema["pattern"] = json!("[^\\s\\u0085]");
    }
    match &field.limits {
        Some(Limits::OneOf(values)) => {
            schema["enum"] = values.iter().cloned().chain(field.nullable.then_some(Json::Null)).collect();
        }
        Some(Limits::Range { least, most, inclusive }) => {
            schema["minimum"] = least.clone();
            schema[if *inclusive { "maximum" } else { "exclusiveMaximum" }] = most.clone();
        }
        None => {}
    }
    if let Some(value) = &field.exactly {
        schema["const"] = value.clone();
    }
    match schema.get_mut("type") {
        Some(Json::Array(types)) if field.nullable => types.push(json!("null")),
        Some(ty) if field.nullable => *ty = json!([ty.clone(), "null"]),
        // A field without a type allows any value, but null counts as missing.
        None if !field.nullable && field.exactly.is_none() => schema["not"] = json!({"type": "null"}),
        _ => {}
    }
    if let Some(default) = &field.default {
        schema["default"] = default.clone();
    }
    schema
}

/// Returns the JSON Schema for values of a type.
pub(crate) fn type_schema(ty: &Ty) -> Json {
    if ty.kinds == KindSet::ALL {
        return json!({});
    }
    let mut types: Vec<&str> = Vec::new();
    for kind in ty.kinds.iter() {
        let name = match kind {
            Kind::Bool => "boolean",
            Kind::Int => "integer",
            Kind::Float => "number",
            Kind::String | Kind::DateTime | Kind::Version => "string",
            Kind::List => "array",
            Kind::Dict => "object",
        };
        if !types.contains(&name) {
            types.push(name);
        }
    }
    if types.contains(&"number") {
        types.retain(|name| *name != "integer");
    }
    let mut schema = json!({"type": if types.len() == 1 { json!(types[0]) } else { json!(types) }});
    if let Some(values) = ty.values() {
        schema["enum"] = json!(values.values());
    }
    if ty.kinds == KindSet::DATETIME {
        schema["format"] = json!("date-time");
    }
    if let InnerType::Element(element) = &ty.inner
        && element.kinds != KindSet::ALL
    {
        let key = if ty.kinds == KindSet::LIST { "items" } else { "additionalProperties" };
        schema[key] = type_schema(element);
    }
    schema
}
