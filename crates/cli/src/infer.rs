//! `rulec schema --from`: derives an `input` block from sample messages or from a JSON Schema.
//! Types that cannot be determined become `any`, which is checked at run time.

use super::stream;
use super::term::Term;
use super::{CliError, files, stdio};
use rulec_base::message;
use rulec_lang::value::parse_datetime;
use rulec_syntax::format::format;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum depth of nested references in a JSON Schema. Deeper or cyclic references become `any`.
const MAX_REFERENCE_DEPTH: usize = 16;
/// An object type with more keys than this is a dict, if each key occurs in less than half of the
/// samples.
const MAX_RECORD_KEYS: usize = 12;
/// Minimum number of sample objects for treating any key as rare. A JSON Schema counts as one
/// sample, because the schema names its properties.
const MIN_SAMPLES_FOR_RARE: usize = 3;
/// Maximum size of a JSON Schema in bytes.
const MAX_SCHEMA_BYTES: usize = 64 << 20;

/// The type inferred from sample values or from a schema.
#[derive(Clone, Debug, Default, PartialEq)]
enum InferredType {
    /// The type of a value that was null in every sample.
    #[default]
    Unknown,
    Plain(&'static str),
    List(Box<InferredType>),
    Dict(Box<InferredType>),
    Record(InferredRecord),
    Any,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct InferredRecord {
    /// Number of sample objects from which the record type was inferred.
    times: usize,
    fields: BTreeMap<String, InferredField>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct InferredField {
    ty: InferredType,
    /// Number of sample objects in which the field was present and not null.
    times: usize,
    /// Whether the JSON Schema requires the field.
    required: bool,
}

/// Returns the `input` block for the messages of a file, and the number of lines that are not
/// messages.
pub fn infer_input_block(path: &Path, term: &Term) -> Result<(String, usize), CliError> {
    let (bytes, name) = if path == Path::new("-") {
        (None, stdio::stdin_name())
    } else {
        (Some(files::read_file(path)), path.display().to_string())
    };
    // The file may be a single JSON value: one object over several lines, or a JSON Schema.
    let whole = match bytes {
        Some(Ok((bytes, _))) if bytes.len() < MAX_SCHEMA_BYTES => serde_json::from_slice::<Json>(&bytes).ok(),
        Some(Err(error)) if !path.is_file() => return Err(error),
        _ => None,
    };
    let (ty, refused) = match whole {
        Some(schema) if is_schema(&schema) => (type_of_schema(&schema, &schema, 0), 0),
        _ => {
            let mut all = InferredType::Unknown;
            let refused = stream::read_objects(
                path,
                term,
                |error| error,
                |_, message| {
                    let seen = type_of_sample(&Json::Object(message));
                    all = join_types(std::mem::take(&mut all), seen);
                },
            )?;
            (all, refused)
        }
    };
    let InferredType::Record(record) = ty else {
        return Err(CliError::error(message!(
            "`{name}` contains neither messages (JSON objects) nor a JSON Schema of a message"
        )));
    };
    let text = format!("input {}", record.to_source());
    let text = format(&text).map(|formatted| formatted.text).unwrap_or(text + "\n");
    Ok((text, refused))
}

/// True for a JSON Schema. A schema has a type and properties whose values are schemas; a message
/// may have fields of the same names.
fn is_schema(json: &Json) -> bool {
    let described = |key: &str| json.get(key).is_some_and(Json::is_object);
    json.get("$schema").is_some_and(Json::is_string)
        || json.get("type").and_then(Json::as_str) == Some("object") && described("properties")
        || json.get("$ref").is_some_and(Json::is_string) && (described("$defs") || described("definitions"))
}

/// Returns the type of a sample value.
fn type_of_sample(value: &Json) -> InferredType {
    match value {
        Json::Null => InferredType::Unknown,
        Json::Bool(_) => InferredType::Plain("bool"),
        Json::Number(number) if number.is_f64() => InferredType::Plain("float"),
        Json::Number(_) => InferredType::Plain("int"),
        Json::String(text) if parse_datetime(text).is_some() => InferredType::Plain("datetime"),
        Json::String(_) => InferredType::Plain("string"),
        Json::Array(items) => InferredType::List(Box::new(
            items.iter().map(type_of_sample).fold(InferredType::Unknown, join_types),
        )),
        Json::Object(map) => {
            let field = |value: &Json| InferredField {
                ty: type_of_sample(value),
                times: usize::from(!value.is_null()),
                required: false,
            };
            let fields = map.iter().map(|(key, value)| (key.clone(), field(value))).collect();
            InferredType::Record(InferredRecord { times: 1, fields })
        }
    }
}

/// Returns a type that covers the values of both types.
fn join_types(one: InferredType, other: InferredType) -> InferredType {
    match (one, other) {
        (InferredType::Unknown, ty) | (ty, InferredType::Unknown) => ty,
        (one, other) if one == other && !matches!(one, InferredType::Record(_)) => one,
        (InferredType::Plain(one), InferredType::Plain(other)) => {
            let numbers = |name| matches!(name, "int" | "float" | "number");
            let texts = |name| matches!(name, "string" | "datetime");
            match () {
                () if numbers(one) && numbers(other) => InferredType::Plain("number"),
                () if texts(one) && texts(other) => InferredType::Plain("string"),
                () => InferredType::Any,
            }
        }
        (InferredType::List(one), InferredType::List(other)) => {
            InferredType::List(Box::new(join_types(*one, *other)))
        }
        (InferredType::Dict(one), InferredType::Dict(other)) => {
            InferredType::Dict(Box::new(join_types(*one, *other)))
        }
        (InferredType::Record(mut one), InferredType::Record(other)) => {
            one.times += other.times;
            for (key, field) in other.fields {
                let known = one.fields.entry(key).or_default();
                known.ty = join_types(std::mem::take(&mut known.ty), field.ty);
                known.times += field.times;
                known.required &= field.required;
            }
            InferredType::Record(one)
        }
        _ => InferredType::Any,
    }
}

/// Returns the type that a JSON Schema describes.
fn type_of_schema(schema: &Json, root: &Json, depth: usize) -> InferredType {
    if depth > MAX_REFERENCE_DEPTH {
        return InferredType::Any;
    }
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        let found = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.map_or(InferredType::Any, |schema| type_of_schema(schema, root, depth + 1));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Json::Array(schemas)) = schema.get(key) {
            let types = schemas.iter().map(|schema| type_of_schema(schema, root, depth + 1));
            return types.fold(InferredType::Unknown, join_types);
        }
    }
    for key in ["const", "enum"] {
        match schema.get(key) {
            Some(Json::Array(values)) if key == "enum" => {
                return values.iter().map(type_of_sample).fold(InferredType::Unknown, join_types);
            }
            Some(value) if key == "const" => return type_of_sample(value),
            _ => {}
        }
    }
    let of = |name: &str| match name {
        "null" => InferredType::Unknown,
        "boolean" => InferredType::Plain("bool"),
        "integer" => InferredType::Plain("int"),
        "number" => InferredType::Plain("number"),
        "string" if schema.get("format").and_then(Json::as_str) == Some("date-time") => {
            InferredType::Plain("datetime")
        }
        "string" => InferredType::Plain("string"),
        "array" => InferredType::List(Box::new(
            schema.get("items").map_or(InferredType::Any, |items| type_of_schema(items, root, depth + 1)),
        )),
        "object" => type_of_object_schema(schema, root, depth),
        _ => InferredType::Any,
    };
    match schema.get("type") {
        Some(Json::String(name)) => of(name),
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).map(of).fold(InferredType::Unknown, join_types)
        }
        _ if schema.get("properties").is_some() => type_of_object_schema(schema, root, depth),
        _ => InferredType::Any,
    }
}

fn type_of_object_schema(schema: &Json, root: &Json, depth: usize) -> InferredType {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&none);
    if let (true, Some(values)) = (properties.is_empty(), schema.get("additionalProperties")) {
        return match values.is_object() {
            true => InferredType::Dict(Box::new(type_of_schema(values, root, depth + 1))),
            false => InferredType::Dict(Box::new(InferredType::Any)),
        };
    }
    if properties.is_empty() {
        return InferredType::Dict(Box::new(InferredType::Any));
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let field = |(name, property): (&String, &Json)| {
        let may_be_null = property
            .get("type")
            .and_then(Json::as_array)
            .is_some_and(|types| types.iter().any(|ty| ty == "null"));
        let required = required.contains(&name.as_str()) && !may_be_null;
        (
            name.clone(),
            InferredField {
                ty: type_of_schema(property, root, depth + 1),
                times: usize::from(required),
                required,
            },
        )
    };
    InferredType::Record(InferredRecord { times: 1, fields: properties.iter().map(field).collect() })
}

impl InferredType {
    fn to_source(&self) -> String {
        match self {
            InferredType::Unknown | InferredType::Any => "any".to_owned(),
            InferredType::Plain(name) => (*name).to_owned(),
            InferredType::List(element) => format!("list<{}>", element.to_source()),
            InferredType::Dict(value) => format!("dict<{}>", value.to_source()),
            InferredType::Record(record) => record.as_dict().unwrap_or_else(|| record.to_source()),
        }
    }
}

impl InferredRecord {
    fn to_source(&self) -> String {
        let fields = self.fields.iter().map(|(name, field)| {
            let mark = if field.times < self.times { "?" } else { "" };
            format!("{}{mark}: {}", quote_field_name(name), field.ty.to_source())
        });
        let fields = fields.collect::<Vec<_>>().join("\n");
        if fields.is_empty() { "dict<any>".to_owned() } else { format!("{{\n{fields}\n}}") }
    }

    /// Returns the dict type if the keys are data instead of field names, otherwise `None`. The
    /// keys are data if one is not a valid name, or if there are many keys and each is rare.
    fn as_dict(&self) -> Option<String> {
        let rare = self.fields.len() > MAX_RECORD_KEYS
            && self.times >= MIN_SAMPLES_FOR_RARE
            && self.fields.values().all(|field| field.times * 2 < self.times);
        let is_data = self.fields.is_empty() || self.fields.keys().any(|key| !is_field_name(key)) || rare;
        let value =
            || self.fields.values().map(|field| field.ty.clone()).fold(InferredType::Unknown, join_types);
        is_data.then(|| format!("dict<{}>", value().to_source()))
    }
}

fn is_field_name(key: &str) -> bool {
    let mut letters = key.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_')
}

/// Returns a field name, in backquotes if it is not a valid name. Reserved words need no
/// backquotes, because a colon follows the field name.
fn quote_field_name(name: &str) -> String {
    if is_field_name(name) { name.to_owned() } else { format!("`{name}`") }
}
