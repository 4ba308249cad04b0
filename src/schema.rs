//! Converts types of the rule language to JSON Schema, so that other tools can check messages and
//! arguments.

use rulec_base::broken_invariant;
use rulec_lang::ty::{InnerType, Kind, KindSet, RecordType, Ty};
use serde_json::{Map, Value as Json, json};

/// Returns the JSON Schema for the values of a type of the rule language.
pub(crate) fn type_schema(ty: &Ty) -> Json {
    if ty.kinds == KindSet::MESSAGE_KINDS {
        return json!({});
    }
    let mut types: Vec<&str> = Vec::new();
    // A decimal is a JSON number, or a string with the digits of a number.
    if ty.kinds.overlaps(KindSet::DECIMAL) {
        types.extend(["number", "string"]);
    }
    for kind in ty.kinds.without(KindSet::DECIMAL).iter() {
        let name = match kind {
            Kind::Bool => "boolean",
            Kind::Int => "integer",
            Kind::Float | Kind::Decimal => "number",
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
    if ty.kinds == KindSet::DATETIME {
        schema["format"] = json!("date-time");
    }
    if ty.kinds == KindSet::DECIMAL {
        schema["format"] = json!("decimal");
    }
    match &ty.inner {
        InnerType::Element(element) if element.kinds != KindSet::MESSAGE_KINDS => {
            let key = if ty.kinds == KindSet::LIST { "items" } else { "additionalProperties" };
            schema[key] = type_schema(element);
        }
        InnerType::Fields(record) => {
            let Json::Object(fields) = record_schema(record) else {
                broken_invariant!("the schema of a record is an object");
                return schema;
            };
            fields.into_iter().filter(|(key, _)| key != "type").for_each(|(key, value)| schema[key] = value);
        }
        InnerType::Values(values) => schema["enum"] = json!(values.values()),
        InnerType::Element(_) | InnerType::Unknown => {}
    }
    schema
}

/// Returns the JSON Schema of a record. Null counts as missing, so an optional field may be null.
/// Undeclared fields are allowed.
pub(crate) fn record_schema(record: &RecordType) -> Json {
    let properties = record.fields.iter().map(|field| {
        let mut schema = type_schema(&field.ty);
        if field.is_optional {
            allow_null(&mut schema);
        } else if schema.get("type").is_none() {
            // A required field without a type allows any value except null.
            schema["not"] = json!({"type": "null"});
        }
        (field.name.to_string(), schema)
    });
    let mut schema = json!({"type": "object", "properties": properties.collect::<Map<String, Json>>()});
    let required: Vec<&str> =
        record.fields.iter().filter(|field| !field.is_optional).map(|field| &*field.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Changes a schema so that it accepts null: adds null to `type` and to the list of allowed values.
/// A schema with neither already accepts null.
pub(crate) fn allow_null(schema: &mut Json) {
    match schema.get_mut("type") {
        Some(Json::Array(types)) => types.push(json!("null")),
        Some(ty) => *ty = json!([ty.clone(), "null"]),
        None => {}
    }
    if let Some(Json::Array(values)) = schema.get_mut("enum") {
        values.push(Json::Null);
    }
}
