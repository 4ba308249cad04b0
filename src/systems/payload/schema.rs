//! The JSON Schema of a payload kind, from the same declarations its judge holds it against.

use super::{JudgeError, unknown_kind};
use crate::engine::Rules;
use crate::sema::hir::{Limits, Object, Payload, PayloadField, Shape};
use crate::ty::{Inner, Kind, KindSet, Ty};
use serde_json::{Map, Value as Json, json};

/// The JSON Schema (draft 2020-12) of a payload kind: fields, types, what is required, allowed
/// values, ranges. Every payload that is accepted as it is fits the schema; rules that look further
/// than one field are the judge's alone.
///
/// # Errors
/// When the rules have no payload kind of that name.
pub fn schema(rules: &Rules, kind: &str) -> Result<Json, JudgeError> {
    let program = rules.program();
    program.payload_named(kind).map(of).ok_or_else(|| unknown_kind(program, kind))
}

pub(super) fn of(payload: &Payload) -> Json {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(&*payload.name));
    if !payload.docs.is_empty() {
        schema.insert("description".to_owned(), json!(&*payload.docs));
    }
    object(&payload.object, &mut schema);
    Json::Object(schema)
}

fn object(object: &Object, schema: &mut Map<String, Json>) {
    schema.insert("type".to_owned(), json!("object"));
    let properties: Map<String, Json> =
        object.fields.iter().map(|declared| (declared.name.to_string(), field(declared))).collect();
    schema.insert("properties".to_owned(), Json::Object(properties));
    let required: Vec<&str> =
        object.fields.iter().filter(|field| !field.optional).map(|field| &*field.name).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if object.closed {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}

fn field(field: &PayloadField) -> Json {
    let mut schema = Map::new();
    if !field.docs.is_empty() {
        schema.insert("description".to_owned(), json!(&*field.docs));
    }
    match &field.shape {
        Shape::Plain(ty) => plain(ty, &mut schema),
        Shape::Object(inner) => object(inner, &mut schema),
        Shape::Objects(inner) => {
            let mut items = Map::new();
            object(inner, &mut items);
            schema.insert("type".to_owned(), json!("array"));
            schema.insert("items".to_owned(), Json::Object(items));
        }
    }
    if field.not_blank {
        // A character that is no blank, as `trim` sees blanks.
        schema.insert("pattern".to_owned(), json!("[^\\s\\u0085]"));
    }
    match &field.limits {
        Some(Limits::OneOf(values)) => {
            let mut values = values.clone();
            if field.nullable {
                values.push(Json::Null);
            }
            schema.insert("enum".to_owned(), Json::Array(values));
        }
        Some(Limits::Range { least, most, inclusive }) => {
            schema.insert("minimum".to_owned(), least.clone());
            let key = if *inclusive { "maximum" } else { "exclusiveMaximum" };
            schema.insert(key.to_owned(), most.clone());
        }
        None => {}
    }
    if field.nullable {
        with_null(&mut schema);
    } else if !schema.contains_key("type") {
        // Any value, but null is no value.
        schema.insert("not".to_owned(), json!({"type": "null"}));
    }
    if let Some(default) = &field.default {
        schema.insert("default".to_owned(), default.clone());
    }
    Json::Object(schema)
}

/// Allows null beside the type.
fn with_null(schema: &mut Map<String, Json>) {
    if let Some(ty) = schema.get_mut("type") {
        match ty.as_array_mut() {
            Some(types) => types.push(json!("null")),
            None => *ty = json!([ty.clone(), "null"]),
        }
    }
}

fn plain(ty: &Ty, schema: &mut Map<String, Json>) {
    if ty.kinds == KindSet::ALL {
        return;
    }
    let mut types: Vec<&str> = Vec::new();
    for kind in ty.kinds.iter() {
        let name = match kind {
            Kind::Bool => "boolean",
            Kind::Int => "integer",
            Kind::Float => "number",
            Kind::String | Kind::DateTime => "string",
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
    if ty.kinds == KindSet::DATETIME {
        schema.insert("format".to_owned(), json!("date-time"));
    }
    schema.insert("type".to_owned(), if types.len() == 1 { json!(types[0]) } else { json!(types) });
    if let Inner::Element(element) = &ty.inner
        && element.kinds != KindSet::ALL
    {
        let mut inner = Map::new();
        plain(element, &mut inner);
        let key = if ty.kinds == KindSet::LIST { "items" } else { "additionalProperties" };
        schema.insert(key.to_owned(), Json::Object(inner));
    }
}
